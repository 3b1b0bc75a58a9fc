#!/usr/bin/env python3
"""headers_alone.py ROOT c|c++ COMPILER... - each header compiles with nothing before it.

c: all of src/ and include/ as C17 with GNU extensions. c++: include/ as C++17, since
programs in C++ link the library too. All headers go through one compiler run each; those of
include/ with every warning that a program's own flags may switch on.
"""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main():
    root, language, compiler = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if not compiler:
        print("no C++ compiler here")
        return 77
    standard = {"c": "gnu17", "c++": "c++17"}[language]
    folders = {"c": ["include", "src"], "c++": ["include"]}[language]
    headers = [h for folder in folders for h in sorted((root / folder).glob("**/*.h"))]
    strict = ["-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef"]
    # A header of an instruction set is compiled with that folder's flags.
    isa_flags = {"avx2": ["-mavx2", "-mfma", "-mf16c"]}

    def compile_alone(header):
        parts = header.relative_to(root).parts
        flags = strict if parts[0] == "include" else next((f for isa, f in isa_flags.items() if isa in parts), [])
        # Twice, so that the include guard is seen too.
        return subprocess.run(
            [*compiler, *flags, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-DSL_TRACE=1",
             "-DSL_HAVE_AVX2=1", "-fsyntax-only", "-I", root / "include", "-I", root / "src", "-x", language, "-"],
            input=f'#include "{header.resolve()}"\n' * 2, text=True, capture_output=True, check=False)

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(compile_alone, headers))
    bad = [(h, r) for h, r in zip(headers, runs) if r.returncode]
    for header, run in bad:
        print(f"{header.relative_to(root)} does not compile alone as {language}:\n{run.stderr}")
    print(f"{len(headers) - len(bad)} of {len(headers)} headers compile alone as {language}")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
