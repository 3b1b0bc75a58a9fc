#!/usr/bin/env python3
"""check_lists.py ROOT - what is a list in one file and a folder elsewhere must agree.

  every .c of src/ and tests/ is named by a meson.build of its folder or above
  every tests/ folder with a meson.build is in the list of tests/meson.build
  every header of include/ is installed, every page of man/ is made
  every dependency() of a meson.build has a Debian package in tools/packages.txt

Lists in C need no test here: they are X-macros, and what is missing does not link.
"""
import re
import sys
from pathlib import Path


def unbuilt_sources(root):
    """Sources that no build file names: 'norm.c', or 'scalar/norm.c' from a folder above, or by
    the stem in a foreach over names ('mem' for test_mem.c)."""
    for source in sorted([*root.glob("src/**/*.c"), *root.glob("tests/**/*.c")]):
        stem = source.stem.removeprefix("test_").removeprefix("fuzz_")
        for folder in source.parents:
            if folder == root:
                yield f"{source.relative_to(root)}: no meson.build names it"
                break
            build = folder / "meson.build"
            if not build.is_file():
                continue
            text = build.read_text(encoding="utf-8")
            names = [f"'{source.relative_to(folder)}'"]
            if folder == source.parent and "foreach" in text:
                names += [f"'{stem}'", f"'{source.stem}'"]
            if any(name in text for name in names):
                break


def unlisted_test_folders(root):
    text = (root / "tests/meson.build").read_text(encoding="utf-8")
    for build in sorted(root.glob("tests/*/meson.build")):
        if f"'{build.parent.name}'" not in text:
            yield f"{build.relative_to(root)}: tests/meson.build does not list {build.parent.name}"


def unpackaged_dependencies(root):
    """Optional ones (required: of a feature) do not count."""
    packages = (root / "tools/packages.txt").read_text(encoding="utf-8")
    builds = [root / "meson.build", *sorted(root.glob("src/**/meson.build")), *sorted(root.glob("tests/**/meson.build"))]
    for build in builds:
        for name, rest in re.findall(r"dependency\('([^']+)'([^)]*)", build.read_text(encoding="utf-8")):
            if name != "threads" and "required" not in rest and not re.search(rf"\bpc:{re.escape(name)}\s", packages):
                yield f"{build.relative_to(root)}: dependency('{name}') has no package in tools/packages.txt"


def left_out_of_the_package(root):
    for folder, pattern, suffix in (("include", "**/*.h", ""), ("man", "*.scd.in", ".scd.in")):
        text = (root / folder / "meson.build").read_text(encoding="utf-8")
        for path in sorted((root / folder).glob(pattern)):
            if f"'{str(path.relative_to(root / folder)).removesuffix(suffix)}'" not in text:
                yield f"{path.relative_to(root)}: {folder}/meson.build does not name it"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    checks = (unbuilt_sources, unlisted_test_folders, left_out_of_the_package, unpackaged_dependencies)
    found = [problem for check in checks for problem in check(root)]
    print("\n".join(found) if found else "lists and folders agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
