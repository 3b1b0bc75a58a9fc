#!/usr/bin/env python3
"""check_layers.py [ROOT] - who may include whom, held against every #include line.

The table is that of docs/design.md, "Layers". A wrong arrow is reported with both files.
--self-test builds small trees with one wrong arrow each and wants each one found.
"""
import re
import sys
import tempfile
from pathlib import Path

# folder of src/ -> what it may include besides itself: folders, or single headers.
# api is include/sluice/; base, sluice/status.h and sluice/buffer.h are everybody's (added below).
KERNEL_BASE = {"base/num.h", "base/cpu.h", "base/tensor.h"}
ALLOWED = {
    "base": set(),
    "trace": set(),
    "quant": set(),
    "tokenizer": set(),
    "comm": set(),
    "graph": {"quant"},
    "formats": {"quant", "tokenizer/tokenizer.h", "tokenizer/vocab.h"},
    "chat": {"tokenizer"},
    "text": {"api", "chat", "formats", "tokenizer"},
    "kernels": KERNEL_BASE | {"quant"},
    "module": {"graph", "kernels", "quant", "comm", "formats/weights.h", "trace"},
    "models": {"graph", "module", "formats", "quant"},
    "executor": {"api", "models", "module", "graph", "formats", "text/text.h", "tokenizer", "comm", "kernels", "trace"},
    "server": {"api", "trace"},
    "measure": {"api", "executor", "kernels", "trace"},
    "cli": {"api", "measure", "server"},
}
FOR_ALL = {"base", "sluice/status.h", "sluice/buffer.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def allowed(folder):
    return ALLOWED[folder] if folder == "kernels" else ALLOWED[folder] | FOR_ALL


def find(root, source, name):
    """The included file, relative to root: beside the source, or under src/ or include/."""
    for place in (source.parent, root / "src", root / "include"):
        if (place / name).is_file():
            return (place / name).resolve().relative_to(root)
    # A header that the build makes belongs to the folder whose meson.build names it.
    meson = source.parent / "meson.build"
    if meson.is_file() and f"'{name}'" in meson.read_text(encoding="utf-8"):
        return (source.parent / name).relative_to(root)
    return None


def wrong_arrow(root, source, name):
    """What is wrong with this #include, or None."""
    here = source.relative_to(root)
    if ".." in Path(name).parts:
        return f'{here}: "{name}": name headers from src/ or include/, without ..'
    target = find(root, source, name)
    if target is None:
        return f'{here}: "{name}" is neither beside it nor under src/ or include/'
    if here.parts[0] == "include":
        return None if target.parts[0] == "include" else f"{here} includes {target}: public headers see only each other"
    folder = here.parts[1]
    if target.parts[0] == "include":
        layer, header = "api", "/".join(target.parts[1:])
    else:
        layer, header = target.parts[1], "/".join(target.parts[1:])
    if header.endswith("_in.h") and layer != folder:
        return f"{here} includes {target}: a header named *_in.h is its own folder's"
    may = allowed(folder)
    if layer == folder or layer in may or header in may:
        return None
    return f"{here} includes {target}: {folder} may see {', '.join(sorted(may)) or 'nothing else'}"


def check(root):
    root = root.resolve()
    problems = []
    for source in sorted([*root.glob("src/**/*.[ch]"), *root.glob("include/**/*.h")]):
        parts = source.relative_to(root).parts
        if parts[0] == "src" and (len(parts) < 3 or parts[1] not in ALLOWED):
            problems.append(f"{source.relative_to(root)}: not in a folder of the layer table")
            continue
        for name in INCLUDE.findall(source.read_text(encoding="utf-8")):
            if problem := wrong_arrow(root, source, name):
                problems.append(problem)
    return problems


def self_test():
    headers = ["src/base/mem.h", "src/base/num.h", "src/kernels/kernels.h", "src/executor/run.h", "src/graph/graph.h",
               "src/formats/weights.h", "src/formats/gguf.h", "src/module/linear_in.h", "src/trace/trace.h",
               "src/tokenizer/vocab.h", "src/text/append_in.h", "include/sluice/sluice.h", "include/sluice/status.h"]
    right = {"src/module/linear.c": ["kernels/kernels.h", "formats/weights.h", "linear_in.h", "sluice/status.h"],
             "src/kernels/avx2/norm.c": ["base/num.h", "kernels/kernels.h"],
             "src/cli/run.c": ["sluice/sluice.h", "base/mem.h"]}
    wrong = {"src/models/llama.c": "kernels/kernels.h", "src/base/pool.c": "trace/trace.h",
             "src/kernels/scalar/norm.c": "base/mem.h", "src/module/norm.c": "formats/gguf.h",
             "src/cli/bench.c": "executor/run.h", "src/executor/plan.c": "module/linear_in.h",
             "src/graph/plan.c": "../base/mem.h", "src/trace/x.c": "base/nowhere.h",
             "include/sluice/more.h": "base/mem.h", "src/extra/x.c": "base/mem.h",
             "src/tokenizer/bpe.c": "sluice/sluice.h", "src/cli/parse.c": "tokenizer/vocab.h",
             "src/executor/x.c": "text/append_in.h"}
    for culprit, header in [(None, None), *wrong.items()]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {name: [] for name in headers} | right | ({culprit: [header]} if culprit else {})
            for name, includes in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("".join(f'#include "{i}"\n' for i in includes), encoding="utf-8")
            found = check(root)
        if culprit is None:
            assert not found, found
        else:
            assert len(found) == 1 and culprit in found[0], (culprit, found)
    print(f"{len(wrong)} wrong arrows, each found")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
        sys.exit(0)
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "every #include follows the layer table")
    sys.exit(1 if found else 0)
