"""What programs that are linked with the library depend on, against the record of it in abi.txt.

Run with --write to make the record anew; docs/abi.md says what a change of it means.
"""
import platform
import re
import sys
import unittest

import scratch
from scratch import CC, SOURCE, WORK, place, run

RECORD = SOURCE / "tests/install/abi.txt"


def preprocessed():
    """All that the public headers say, without what they include from elsewhere."""
    source = WORK / "headers.c"
    source.write_text("".join(f"#include <sluice/{h.name}>\n" for h in sorted(place("includedir", "sluice").iterdir())),
                      encoding="utf-8")
    ours, text = False, ""
    for line in run(*CC, "-E", "-I", place("includedir"), source).stdout.splitlines():
        if line.startswith("# "):
            ours = "/sluice/" in line.split('"')[1]
        elif ours:
            text += line + "\n"
    return re.sub(r"\s+", " ", text.replace("_Bool", "bool"))


def functions(text):
    """name -> declaration"""
    marked = re.findall(r'__attribute__\(\(visibility\("default"\)\)\) ([^;]*?\b(sl_\w+)\([^;]*\));', text)
    return {name: declaration for declaration, name in marked}


def fields(body):
    """(declaration, name) of each field: `const char *a, *b` are two."""
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = re.match(r"(.*?)((?:\**\w+(?:\[\w*\])*(?:, )?)+)$", declaration).groups()
        for name in names.split(", "):
            yield f"{kind}{name}", re.search(r"\w+", name)[0]


def measured(text):
    """Sizes, offsets and values, told by a program."""
    lines = []
    for name, body in re.findall(r"typedef struct (sl_\w+) \{ (.*?) \} \1;", text):
        lines.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
        lines += [f'printf("    %zu {declaration}\\n", offsetof({name}, {field}));' for declaration, field in fields(body)]
    for name, body in re.findall(r"\benum ((?:sl_\w+ )?)\{ (.*?),? \}", text):
        lines.append(f'puts("enum {name.strip() or "without a name"}");')
        lines += [f'printf("    %d {value}\\n", (int){value});' for value in re.findall(r"\bSL_\w+", re.sub(r"= [^,]*", "", body))]
    source = WORK / "measure.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n" + "".join(
        f"#include <sluice/{h.name}>\n" for h in place("includedir", "sluice").iterdir()) +
        "int main(void)\n{\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")
    run(*CC, "-I", place("includedir"), "-o", WORK / "measure", source)
    return run(WORK / "measure").stdout


def exported():
    """name -> version of all that the shared library shows."""
    library = place("libdir", "libsluice.so")
    found = re.findall(r"(?m) [TDBRVWiu] (\w+)(?:@@?(\S+))?$", run("nm", "-D", "--defined-only", library).stdout)
    return dict(found)


def record():
    text = preprocessed()
    node = sorted(set(exported().values()))
    callbacks = re.findall(r"typedef (?!struct|enum)([^;{}]*\));", text)
    return ("# What programs linked with libsluice.so depend on, on 64-bit Linux. Made by test_abi.py --write.\n"
            f"version {' '.join(node)}\n" + measured(text) +
            "".join(sorted(f"callback {c}\n" for c in callbacks)) +
            "".join(f"function {d}\n" for _, d in sorted(functions(text).items())))


@unittest.skipUnless(scratch.SHARED, "built without the shared library")
class Abi(unittest.TestCase):
    maxDiff = None

    def test_exports(self):
        """What the headers declare and nothing else, all of one version."""
        there = exported()
        self.assertEqual(sorted(there), sorted(functions(preprocessed())))
        self.assertEqual(len(set(there.values())), 1)
        soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", place("libdir", "libsluice.so")).stdout)[1]
        self.assertEqual(soname, "libsluice.so." + next(iter(there.values())).removeprefix("SLUICE_"))

    @unittest.skipUnless(platform.machine() in ("x86_64", "aarch64"), "the record is of 64-bit machines")
    def test_record(self):
        self.assertEqual(record(), RECORD.read_text(encoding="utf-8"),
                         "\nThe interface of programs changed: docs/abi.md says what that means. If it is meant: "
                         f"python3 {__file__} --write")

    def test_static(self):
        """Names of the static library cannot meet those of a program."""
        names = re.findall(r"(?m)^\w+ [TDBRVWC] (\S+)$", run("nm", "-g", "--defined-only", place("libdir", "libsluice.a")).stdout)
        self.assertGreater(len(names), 100)
        foreign = [n for n in names if not n.startswith(("sl_", "__asan", "__odr_asan", "asan."))]
        self.assertEqual(foreign, [])


if __name__ == "__main__":
    if "--write" in sys.argv:
        scratch.install()
        RECORD.write_text(record(), encoding="utf-8")
    else:
        scratch.main()
