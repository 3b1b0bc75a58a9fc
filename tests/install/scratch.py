"""A scratch root with the package installed in it, and what is in there."""
import atexit
import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Without Meson's environment: by hand, with build/ in the source folder.
BUILD = Path(os.environ.get("BUILD", "build")).resolve()
SOURCE = Path(__file__).resolve().parents[2]
CC = [word for word in shlex.split(os.environ.get("CC", "cc")) if os.path.basename(word) != "ccache"]
CXX = shlex.split(os.environ.get("CXX", "c++"))
SANITIZED = os.environ.get("SANITIZE", "none") != "none"
SHARED = (BUILD / "src/libsluice.so").exists()
LLAMA = SOURCE / "tests/data/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf"

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
ROOT = Path(_folder.name, "root")
WORK = Path(_folder.name, "work")  # where a user stands

_options = {o["name"]: o["value"] for o in json.loads(
    subprocess.run(["meson", "introspect", "--buildoptions", str(BUILD)], check=True, capture_output=True).stdout)}


def place(option, *more):
    """Where a folder of the installation ("libdir") is in the scratch root."""
    return Path(f"{ROOT}/{Path(_options['prefix'], _options[option], *more)}")


def run(*command, env=None, code=0, **more):
    """Run as a user who has nothing but the package, in an empty folder."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(WORK), "LC_ALL": "C.UTF-8", **(env or {})}
    r = subprocess.run([str(c) for c in command], cwd=WORK, env=clean, capture_output=True, text=True, timeout=300,
                       check=False, stdin=subprocess.DEVNULL, **more)
    if code is not None and r.returncode != code:
        raise AssertionError(f"exit {r.returncode}, not {code}: {shlex.join(map(str, command))}\n{r.stdout}{r.stderr}")
    return r


def options_of_help(command):
    """["-n, --n-predict N", ...] as --help prints them, and nothing of their texts."""
    rows = [line for line in run(SLUICE, command, "--help").stdout.splitlines() if line.startswith("  -") or
            line.startswith("      --")]
    return [row.strip().split("  ")[0] for row in rows]


def commands():
    text = run(SLUICE, "--help").stdout
    return [line.split()[0] for line in text[text.index("\nCommands:\n") + 11:].split("\n\n")[0].splitlines()]


needs_linker = unittest.skipIf(SANITIZED, "a library with sanitizers does not link into a plain program")


def install():
    WORK.mkdir()
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", ROOT], check=True,
                   stdout=subprocess.DEVNULL)


def main():
    install()
    program = unittest.main(argv=sys.argv[:1], exit=False)
    skipped = program.result.skipped
    for test, reason in skipped:
        print(f"skipped: {test}: {reason}")
    if skipped and len(skipped) == program.result.testsRun:
        sys.exit(77)
    sys.exit(not program.result.wasSuccessful())


SLUICE = place("bindir", "sluice")
