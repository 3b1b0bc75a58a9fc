#!/usr/bin/env python3
"""Keeps llama.cpp loaded with one model and answers speed tests, one line each.

  peer_llamacpp.py MODEL.gguf [--threads N] [--kv f16] [--isa avx2|native] [--venv DIR]

The protocol is that of README.md: {"test": "pp", "n": 512}, {"test": "tg", "n": 64,
"depth": 0, "seqs": 1}. As llama-bench counts: random tokens, llama_decode alone is timed,
no sampling, no text. A prompt is one call (its last position gives logits); generation is
one call per step with logits for every sequence.

llama.cpp comes from PyPI's llama-cpp-python at the version below, compiled here on first
use (about 10 minutes on 2 cores) into a virtual environment of its own per --isa, under
$XDG_CACHE_HOME/sluice/peers. `avx2` leaves AVX-512 out: the peer for SLUICE_CPU=avx2.
"""
import argparse
import ctypes
import os
import random
import subprocess
import sys
import time

import serve

VERSION = "0.3.36"
CMAKE = {
    "native": ["-DGGML_NATIVE=ON"],
    "avx2": ["-DGGML_NATIVE=OFF", "-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON",
             "-DGGML_BMI2=ON", "-DGGML_AVX512=OFF"],
}
KV_TYPES = {"f32": 0, "f16": 1, "q8_0": 8, "bf16": 30}
CONTEXTS = 2  # kept alive: a prompt test and a generation test take turns
UBATCH = 512


def cache_dir():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sluice", "peers")


def can_import(python):
    code = f"import llama_cpp, sys; sys.exit(llama_cpp.__version__ != '{VERSION}')"
    return os.path.exists(python) and subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def enter_venv(venv, isa):
    """Run again inside the environment that has llama.cpp, making it first where it lacks."""
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return
    python = os.path.join(venv, "bin", "python")
    if not can_import(python):
        print(f"building llama-cpp-python {VERSION} for {isa} in {venv}: once, about 10 minutes", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, stdout=sys.stderr)
        env = dict(os.environ, CMAKE_ARGS=" ".join([*CMAKE[isa], "-DCMAKE_BUILD_TYPE=Release"]),
                   CMAKE_BUILD_PARALLEL_LEVEL=str(len(os.sched_getaffinity(0))))
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python",
                        f"llama-cpp-python=={VERSION}"], check=True, env=env, stdout=sys.stderr)
        if not can_import(python):
            sys.exit(f"{venv}: llama-cpp-python {VERSION} was installed but cannot be imported")
    os.execv(python, [python, *sys.argv])


class Context:
    """One llama.cpp context, sized for one kind of test, with a batch to fill."""

    def __init__(self, engine, n_ctx, seqs, batch):
        L, self.L = engine.L, engine.L
        p = L.llama_context_default_params()
        p.n_ctx, p.n_seq_max, p.n_batch, p.n_ubatch = n_ctx, seqs, batch, min(batch, UBATCH)
        p.n_threads = p.n_threads_batch = engine.threads
        p.type_k = p.type_v = KV_TYPES[engine.kv]
        p.no_perf = True
        self.handle = L.llama_init_from_model(engine.model, p)
        if not self.handle:
            raise serve.CommandError(f"llama.cpp makes no context for {n_ctx} tokens")
        self.memory = L.llama_get_memory(self.handle)
        self.batch, self.capacity = L.llama_batch_init(batch, 0, 1), batch
        self.depth = 0  # tokens that every sequence holds before a generation test
        self.random = random.Random(1)
        self.n_vocab = engine.n_vocab

    def close(self):
        self.L.llama_batch_free(self.batch)
        self.L.llama_free(self.handle)

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
        rc = self.L.llama_decode(self.handle, b)
        self.L.llama_synchronize(self.handle)
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
            self.L.llama_memory_clear(self.memory, False)
            for s in range(seqs if depth else 0):
                self.prompt(depth, s)
            self.depth = depth
            return
        for s in range(seqs):
            self.L.llama_memory_seq_rm(self.memory, s, depth, -1)


class Engine:
    def __init__(self, path, threads, kv):
        import llama_cpp as L
        self.L, self.threads, self.kv = L, threads, kv
        self.silence = L.llama_log_callback(lambda level, text, data: None)  # kept: C holds the pointer
        L.llama_log_set(self.silence, ctypes.c_void_p(0))
        L.llama_backend_init()
        t0 = time.perf_counter()
        self.model = L.llama_model_load_from_file(path.encode(), L.llama_model_default_params())
        self.load_s = time.perf_counter() - t0
        if not self.model:
            sys.exit(f"{path}: llama.cpp cannot load it")
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


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--kv", default="f16", choices=sorted(KV_TYPES))
    ap.add_argument("--isa", default="native", choices=sorted(CMAKE))
    ap.add_argument("--venv", help="an environment that has llama-cpp-python already, or where to make it")
    a = ap.parse_args()
    enter_venv(a.venv or os.path.join(cache_dir(), f"llama.cpp-{VERSION}-{a.isa}"), a.isa)
    answers = serve.quiet_stdout()
    engine = Engine(a.model, a.threads, a.kv)
    system = engine.L.llama_print_system_info().decode(errors="replace").strip()
    serve.loop({"engine": "llama.cpp", "version": f"llama-cpp-python {VERSION}", "isa": a.isa, "build": system,
                "model": a.model, "threads": a.threads, "kv": a.kv, "load_s": round(engine.load_s, 3)},
               engine.handle, answers)


if __name__ == "__main__":
    main()
