#!/usr/bin/env python3
"""Speaks the protocol of README.md and computes nothing: for trying versus.py, and its test.

Speeds vary by --noise around what is asked, from a seed, in virtual time: no test takes
longer than its line. --probes 1,1,0.5 halves every third probe; --die 4 ends at the 4th test.
"""
import argparse
import random
import sys

import serve

PEAKS = {"fma_avx2_f32_GFLOPs": 200.0, "int8_avx2_maddubs_paired_GOPs": 450.0, "int8_avx2_madd16_GOPs": 300.0,
         "fma_avx512_f32_GFLOPs": None}
READ_GBS = 20.0


class Fake:
    def __init__(self, a):
        self.a, self.random, self.probes, self.tests = a, random.Random(a.seed), 0, 0

    def vary(self, value):
        return value * self.random.uniform(1 - self.a.noise, 1 + self.a.noise)

    def probe(self, command):
        key = next((k for k in PEAKS if k.rsplit("_", 1)[0] == command.get("peak") and PEAKS[k]), None)
        if key is None:
            raise serve.CommandError(f"peak {command.get('peak')!r} is not known")
        now = self.a.probes[self.probes % len(self.a.probes)]
        self.probes += 1
        return {"peak": command["peak"], "read_GBs": self.vary(READ_GBS) * now, "peak_Gs": self.vary(PEAKS[key]) * now}

    def handle(self, command):
        test = command["test"]
        if test == "roofline":
            return {"threads": 1, "array_mib": 1, "read_best_GBs": READ_GBS, **PEAKS}
        if test == "probe":
            return self.probe(command)
        if test not in ("pp", "tg"):
            raise serve.CommandError(f"test {test!r} is not known")
        self.tests += 1
        if self.tests == self.a.die:
            sys.exit(3)
        tokens = serve.integer(command, "n", 0, 1, 1 << 20) * serve.integer(command, "seqs", 1, 1, 256)
        seconds = tokens / self.vary(self.a.pp if test == "pp" else self.a.tg)
        return serve.repeat(lambda: (tokens, seconds), command.get("min_s", 0))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pp", type=float, default=100.0, help="prompt tokens a second")
    ap.add_argument("--tg", type=float, default=10.0, help="generated tokens a second")
    ap.add_argument("--noise", type=float, default=0.0)
    ap.add_argument("--probes", type=lambda text: [float(x) for x in text.split(",")], default=[1.0])
    ap.add_argument("--die", type=int, default=0)
    ap.add_argument("--isa", default="avx2")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    answers = serve.quiet_stdout()
    serve.loop({"engine": "fake", "version": "fake 1", "isa": a.isa}, Fake(a).handle, answers)


if __name__ == "__main__":
    main()
