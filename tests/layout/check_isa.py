#!/usr/bin/env python3
"""check_isa.py BUILD ISA... - no wide register outside the libraries of an ISA.

Code that every CPU runs must be plain x86-64: one AVX instruction in it, say from an inline
function of a header that a kernel folder also includes, would crash older CPUs. Each ISA has
its widest register; the objects of BUILD/src are disassembled and held against it. ISA...
are those whose kernels this build has. A library named lib*_avx2.a is of that ISA.

  all others      no ymm, zmm, tmm, no VEX form of an SSE instruction
  *_avx2          ymm somewhere (or this test sees nothing), no zmm, no tmm
  *_avx512        zmm somewhere, no tmm
  *_amx           tmm somewhere in the kernels
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIP = 77
VEX = re.compile(r"\tv\w+\s+.*%xmm")
MUST = {"avx2": re.compile(r"%ymm"), "avx512": re.compile(r"%zmm"), "amx": re.compile(r"%tmm")}
MAY_NOT = {"avx2": re.compile(r"%[zt]mm"), "avx512": re.compile(r"%tmm"), "amx": re.compile(r"(?!)")}
WIDE = re.compile(r"%[yzt]mm")


def disassembly(objects):
    """(object, function, line) of every instruction."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", *map(str, objects)],
                          capture_output=True, text=True, check=True).stdout
    where, function = "?", "?"
    for line in text.splitlines():
        if line.endswith(":") and line.startswith("0"):
            function = line.split("<")[-1].rstrip(">:")
        elif ":     file format" in line:
            where = line.split(":")[0]
        elif "\t" in line:
            yield where, function, line


def first_hits(objects, *patterns):
    """One line for each function that has an instruction like that."""
    hits = {}
    for where, function, line in disassembly(objects):
        if any(p.search(line) for p in patterns):
            hits.setdefault((where, function), line.strip())
    return [f"{where}: {function}: {line}" for (where, function), line in hits.items()]


def main(build, isas):
    if not shutil.which("objdump"):
        print("skipped: no objdump")
        return SKIP
    objects = sorted(Path(build, "src").glob("**/*.o"))
    if any(o.read_bytes().find(b".gnu.lto_") >= 0 or o.read_bytes()[:2] == b"BC" for o in objects[:1]):
        print("skipped: objects for link-time optimisation hold no machine code")
        return SKIP
    of_isa = {isa: [o for o in objects if o.parent.name.endswith(f"_{isa}.a.p")] for isa in MUST}
    plain = [o for o in objects if not any(o in mine for mine in of_isa.values())]
    errors = first_hits(plain, WIDE, VEX) if plain else [f"{build}/src holds no objects"]
    for isa, mine in of_isa.items():
        if mine:
            errors += first_hits(mine, MAY_NOT[isa])
        kernels = [o for o in mine if o.parent.name == f"libkernels_{isa}.a.p"]
        if isa in isas and not (kernels and first_hits(kernels, MUST[isa])):
            errors.append(f"kernels_{isa}: {len(kernels)} objects, none with {MUST[isa].pattern}")
    for e in errors:
        print(e)
    print(f"{len(objects)} objects, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
