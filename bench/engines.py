"""Engines behind the line protocol of README.md: how ours and each peer are started, and how one is spoken to."""
import json
import os
import shlex
import subprocess
import sys

import peer_ikllama
import peer_llamacpp

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {"llamacpp": peer_llamacpp.PACKAGE, "ik": peer_ikllama.PACKAGE}


class Failure(Exception):
    pass


class Engine:
    """A process that answers one JSON line per JSON line."""

    def __init__(self, role, argv, env=None):
        self.role, self.argv, self.env = role, argv, dict(os.environ, **(env or {}))
        self.start()

    def start(self):
        try:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env)
        except OSError as e:
            raise Failure(f"{self.role}: {self.argv[0]}: {e.strerror}") from e
        self.hello = self.receive()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.role} ended with status {self.process.wait()}: {shlex.join(self.argv)}")
        try:
            answer = json.loads(line)
        except json.JSONDecodeError as e:
            raise Failure(f"{self.role} answered no JSON: {line.strip()!r}") from e
        if "error" in answer:
            raise Failure(f"{self.role}: {answer['error']}")
        return answer

    def ask(self, command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() says how it ended
        return self.receive()

    def restart_if_ended(self):
        """A peer that aborted in one test can do others."""
        if self.process.poll() is not None:
            self.close()
            self.start()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def add_options(ap):
    """What versus.py and report.py have in common."""
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--kv", default="f16", choices=["bf16", "f16", "f32", "int8"], help="int8: q8_0 in the peers")
    ap.add_argument("--act", default="auto", choices=("auto", "f32", "int8"))
    ap.add_argument("--isa", default="avx2", choices=("avx2", "native"),
                    help="what the peers are built for; avx2 also sets SLUICE_CPU=avx2")
    ap.add_argument("--repack", action="store_true", help="ours with a copy of the weights whose rows are interleaved")
    ap.add_argument("--fill", default="tokens", choices=("tokens", "random"),
                    help="how ours reaches a depth: by reading tokens, or by random keys and values")
    ap.add_argument("--venv", help="an environment that has llama.cpp, or where to make it")
    ap.add_argument("--venv-ik", help="the same for ik_llama.cpp")
    ap.add_argument("--ours", help="another command in sluice's place")


def ours_env(a):
    return {"SLUICE_CPU": "avx2"} if a.isa == "avx2" else {}


def huge_pages():
    """Of the model's file too, so that every engine that maps it reads huge pages; ours is started first."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as f:
            return [] if "[never]" in f.read() else ["--huge-pages", "thp"]
    except OSError:
        return []


def ours_argv(a, model, quiet=False):
    if a.ours:
        return shlex.split(a.ours)
    return [a.sluice, "bench", model, "--serve-lines", "--threads", str(a.threads), "--kv-type", a.kv, "--act", a.act,
            "--fill", a.fill, *(["--repack"] if a.repack else []), *huge_pages(), *(["-q"] if quiet else [])]


def peer_venv(a, key):
    return {"llamacpp": a.venv, "ik": a.venv_ik}[key] or PEERS[key].environment(a.isa)


def peer_argv(a, key, model):
    package = PEERS[key]
    if a.isa not in package.cmake:
        raise Failure(f"{package.engine} is there for --isa {' or '.join(package.cmake)} alone")
    return [sys.executable, os.path.abspath(package.script), model, "--threads", str(a.threads), "--kv", a.kv, "--isa", a.isa,
            "--venv", peer_venv(a, key)]


def shell_line(argv, env):
    return " ".join([*(f"{k}={v}" for k, v in env.items()), shlex.join(argv)])
