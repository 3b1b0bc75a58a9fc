"""What the tests of the program share: running it, its data, the default model."""
import array
import fcntl
import functools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

SLUICE = os.environ["SLUICE"]
DATA = os.environ["TEST_DATA"]
LLAMA = f"{DATA}/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf"
SMOLLM2 = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                       "sluice/models/SmolLM2-135M-Instruct.Q4_1.gguf")
SANITIZED = os.environ.get("SANITIZE", "none") != "none"
EXACT = ["--act", "f32", "--kv-type", "f32"]

needs_smollm2 = unittest.skipUnless(os.path.exists(SMOLLM2), "the default model is not here: tools/fetch-model.sh")


class Result:
    def __init__(self, process, args):
        self.args, self.code, self.out, self.err = args, process.returncode, process.stdout, process.stderr

    @property
    def text(self):
        return self.out.decode()

    @property
    def errors(self):
        return self.err.decode()

    @property
    def json(self):
        return json.loads(self.out)


def sluice(*args, stdin=b"", env=None, timeout=300, **more):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    args = [SLUICE, *map(str, args)]
    process = subprocess.run(args, input=stdin, capture_output=True, timeout=timeout,
                             env=dict(os.environ, **(env or {})), check=False, **more)
    return Result(process, args)


def good(*args, **more):
    """Run; anything but exit 0 is a failure of the test."""
    r = sluice(*args, **more)
    if r.code != 0:
        raise AssertionError(f"exit {r.code}: {' '.join(r.args)}\n{r.errors}")
    return r


@functools.cache
def scalar():
    """Whether plain C kernels are all that this build, this CPU or SLUICE_CPU leaves."""
    return good("info", LLAMA, "--json").json["engine"]["isa"] == "scalar"


def ordinary():
    """Whether speed is that of a program that people run, in which a model of real size can be waited for."""
    return not SANITIZED and not scalar()


def ids_text(ids):
    return ",".join(map(str, ids))


def read_npy(path):
    """(rows, cols, array of floats) of an f32 .npy of version 1.0 with two dimensions."""
    with open(path, "rb") as f:
        raw = f.read()
    assert raw[:8] == b"\x93NUMPY\x01\x00", raw[:8]
    length = int.from_bytes(raw[8:10], "little")
    header = raw[10:10 + length].decode()
    assert (10 + length) % 64 == 0 and header.endswith("\n"), header
    assert "'descr': '<f4'" in header and "'fortran_order': False" in header, header
    rows, cols = map(int, re.search(r"'shape': \((\d+), (\d+)\)", header).groups())
    values = array.array("f")
    values.frombytes(raw[10 + length:])
    assert len(values) == rows * cols, (len(values), rows, cols)
    return rows, cols, values


def load_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def load_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def until_it_catches(pid, signal_number):
    """Wait until a process has a handler of its own for a signal."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            mask = int(re.search(r"(?m)^SigCgt:\s*(\w+)", f.read())[1], 16)
        if mask >> (signal_number - 1) & 1:
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} does not catch signal {signal_number}")


class Terminal:
    """The program on a terminal of its own: 24 rows, wide enough that nothing is left out, no history and no ~/.editrc.
    `redirect`: as the shell has it, "2> FILE". `ignored`: signals, as after nohup."""

    def __init__(self, *args, env=None, columns=200, redirect="", ignored=()):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self._run(args, env, columns, redirect, ignored)
        self.seen = b""

    @classmethod
    def _run(cls, args, env, columns, redirect, ignored):
        try:
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
            os.environ.pop("NO_COLOR", None)
            os.environ.update({"TERM": "xterm", "HOME": "", "XDG_STATE_HOME": "", **(env or {})})
            cls._size(0, columns)
            if redirect:
                os.execv("/bin/sh", ["sh", "-c", f'exec "$@" {redirect}', "sh", SLUICE, *map(str, args)])
            os.execv(SLUICE, [SLUICE, *map(str, args)])
        finally:
            os._exit(127)  # never on into the tests

    @staticmethod
    def _size(fd, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def resize(self, columns):
        self._size(self.fd, columns)

    def read(self, seconds):
        """What comes within that time, to `seen`; False: it has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 4096)
        except OSError:
            data = b""
        self.seen += data
        return bool(data)

    def until(self, text, seconds=int(os.environ.get("SECONDS_MAX", 120))):
        """Read until `text` came (and forget all up to it)."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} did not come; {self.seen[-2000:]!r}")
            if not self.read(max(0, end - time.monotonic())):
                raise AssertionError(f"ended before {text!r}; {self.seen[-2000:]!r}")
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, data):
        os.write(self.fd, data)

    def wait(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    """Run the tests of the calling file; 77 when every one of them was skipped."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped:
        print("skipped:", "; ".join(sorted({reason for _, reason in result.skipped})))
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
