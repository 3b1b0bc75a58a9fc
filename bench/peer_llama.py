"""What the peers of llama.cpp's family have in common: their environment, made on first use, and an engine behind the
line protocol of README.md on top of their C interface.

As llama-bench counts: random tokens, llama_decode alone is timed, no sampling, no text. A prompt is one call (its last
position gives logits); generation is one call per step with logits for every sequence.
"""
import argparse
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass

import serve

KV_TYPES = {"f32": 0, "f16": 1, "int8": 8, "bf16": 30}  # 8: q8_0, a scale for each 32 numbers
CONTEXTS = 2  # kept alive: a prompt test and a generation test take turns
UBATCH = 512


@dataclass(frozen=True)
class Package:
    """A peer as it comes from PyPI."""
    engine: str   # "llama.cpp"
    package: str  # "llama-cpp-python"
    module: str   # what Python imports
    version: str
    cmake: dict   # isa -> options to compile it with; None: the published wheel is for that isa
    script: str

    def environment(self, isa):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return os.path.join(cache, "sluice", "peers", f"{self.engine}-{self.version}-{isa}")

    def is_in(self, venv):
        python = os.path.join(venv, "bin", "python")
        code = f"import {self.module}, sys; sys.exit({self.module}.__version__ != '{self.version}')"
        return os.path.exists(python) and subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL).returncode == 0

    def install(self, venv, isa):
        python, requirement = os.path.join(venv, "bin", "python"), f"{self.package}=={self.version}"
        options = self.cmake[isa]
        env, how = dict(os.environ), ["--only-binary", self.package]
        if options is not None:
            how = ["--no-binary", self.package]
            env.update(CMAKE_ARGS=" ".join([*options, "-DCMAKE_BUILD_TYPE=Release"]),
                       CMAKE_BUILD_PARALLEL_LEVEL=str(len(os.sched_getaffinity(0))))
        print(f"installing {requirement} for {isa} in {venv}: once" + (", about 10 minutes" if options else ""), file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, stdout=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *how, requirement], check=True, env=env, stdout=sys.stderr)
        if not self.is_in(venv):
            sys.exit(f"{venv}: {requirement} was installed but cannot be imported")

    def enter(self, venv, isa):
        """Run again inside the environment that has the peer, making it first where it lacks."""
        if os.path.realpath(sys.prefix) == os.path.realpath(venv):
            return
        if not self.is_in(venv):
            self.install(venv, isa)
        python = os.path.join(venv, "bin", "python")
        os.execv(python, [python, *sys.argv])


class Context:
    """One context of the library, sized for one kind of test, with a batch to fill."""

    def __init__(self, engine, n_ctx, seqs, batch):
        self.library, L = engine.library, engine.library.L
        p = L.llama_context_default_params()
        p.n_ctx, p.n_seq_max, p.n_batch, p.n_ubatch = n_ctx, seqs, batch, min(batch, UBATCH)
        p.n_threads = p.n_threads_batch = engine.threads
        p.type_k = p.type_v = KV_TYPES[engine.kv]
        self.library.adjust(p, seqs)
        self.handle = L.llama_init_from_model(engine.model, p)
        if not self.handle:
            raise serve.CommandError(f"no context for {n_ctx} tokens")
        self.batch, self.capacity = L.llama_batch_init(batch, 0, 1), batch
        self.depth = 0  # tokens that every sequence holds before a generation test
        self.random = random.Random(1)
        self.n_vocab = engine.n_vocab

    def close(self):
        self.library.L.llama_batch_free(self.batch)
        self.library.L.llama_free(self.handle)

    def decode(self, places, want_logits):
        """One call; places: (position, sequence) of each token; want_logits(i) for token i.
        Returns its seconds, which filling the batch from Python is no part of."""
        b = self.batch
        b.n_tokens = len(places)
        for i, (position, sequence) in enumerate(places):
            b.token[i] = self.random.randrange(self.n_vocab)
            b.pos[i], b.n_seq_id[i], b.seq_id[i][0] = position, 1, sequence
            b.logits[i] = want_logits(i)
        t0 = time.perf_counter()
        rc = self.library.L.llama_decode(self.handle, b)
        self.library.synchronize(self.handle)
        seconds = time.perf_counter() - t0
        if rc:
            raise serve.CommandError(f"llama_decode returned {rc}")
        return seconds

    def prompt(self, n, sequence=0):
        seconds = 0.0
        for start in range(0, n, self.capacity):
            m = min(self.capacity, n - start)
            last = n - start - 1  # of the whole prompt, if it lies in this call
            seconds += self.decode([(start + i, sequence) for i in range(m)], lambda i: i == last)
        return seconds

    def rewind(self, seqs, depth):
        """Bring every sequence to exactly `depth` tokens; what is there already is kept."""
        if depth != self.depth or depth == 0:
            self.library.clear(self.handle)
            for s in range(seqs if depth else 0):
                self.prompt(depth, s)
            self.depth = depth
            return
        for s in range(seqs):
            self.library.truncate(self.handle, s, depth)


class Engine:
    def __init__(self, library, path, threads, kv):
        self.library, self.threads, self.kv = library, threads, kv
        L = library.L
        L.llama_backend_init()
        t0 = time.perf_counter()
        self.model = L.llama_model_load_from_file(path.encode(), L.llama_model_default_params())
        self.load_s = time.perf_counter() - t0
        if not self.model:
            sys.exit(f"{path}: the peer cannot load it")
        self.n_vocab = L.llama_vocab_n_tokens(L.llama_model_get_vocab(self.model))
        self.contexts = {}  # what it was made for -> Context, oldest use first

    def context(self, n_ctx, seqs, batch):
        key = (n_ctx, seqs, batch)
        c = self.contexts.pop(key, None)
        if c is None:
            while len(self.contexts) >= CONTEXTS:
                self.contexts.pop(next(iter(self.contexts))).close()
            c = Context(self, n_ctx, seqs, batch)
        self.contexts[key] = c
        return c

    def pp(self, n, min_s):
        c = self.context(n, 1, n)

        def once():
            c.rewind(1, 0)
            return n, c.prompt(n)
        return serve.repeat(once, min_s)

    def tg(self, n, depth, seqs, min_s):
        c = self.context((depth + n) * seqs, seqs, UBATCH)

        def once():
            c.rewind(seqs, depth)
            return n * seqs, sum(c.decode([(depth + i, s) for s in range(seqs)], lambda _: True) for i in range(n))
        return serve.repeat(once, min_s)

    def handle(self, command):
        test, min_s = command["test"], command.get("min_s", 0)
        if not isinstance(min_s, (int, float)) or not 0 <= min_s <= 3600:
            raise serve.CommandError(f"min_s: {min_s!r}, 0 to 3600 expected")
        if test == "pp":
            return self.pp(serve.integer(command, "n", 512, 1, 1 << 20), min_s)
        if test == "tg":
            return self.tg(serve.integer(command, "n", 64, 1, 1 << 20), serve.integer(command, "depth", 0, 0, 1 << 20),
                           serve.integer(command, "seqs", 1, 1, 256), min_s)
        raise serve.CommandError(f"test {test!r}: pp or tg expected")


def main(package, make_library, text):
    """The program of a peer. make_library() is called inside the environment; what it returns has L, the functions of
    the C interface that both peers have under one name, and those that differ: adjust(params, seqs), clear(context),
    truncate(context, sequence, depth), synchronize(context), system_info()."""
    ap = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--kv", default="f16", choices=sorted(KV_TYPES))
    ap.add_argument("--isa", default="avx2", choices=sorted(package.cmake))
    ap.add_argument("--venv", help=f"an environment that has {package.package} already, or where to make it")
    a = ap.parse_args()
    package.enter(a.venv or package.environment(a.isa), a.isa)
    answers = serve.quiet_stdout()
    library = make_library()
    engine = Engine(library, a.model, a.threads, a.kv)
    serve.loop({"engine": package.engine, "version": f"{package.package} {package.version}", "isa": a.isa,
                "build": library.system_info(), "model": a.model, "threads": a.threads, "kv": a.kv,
                "load_s": round(engine.load_s, 3)}, engine.handle, answers)
