#!/usr/bin/env python3
"""trace_cost.py ON OFF MODEL - what a trace that is switched off costs a decode step.

ON and OFF are decode_steps programs of a build with -Dtrace=on and one with -Dtrace=off. valgrind
counts instructions of 4 and 12 steps of each, on the AVX2 kernels; the difference is 8 steps.
Fails when a step of ON takes over 0.1 % more."""
import os
import re
import subprocess
import sys


def instructions(program, model, steps):
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, model, str(steps)],
        capture_output=True, text=True, env=dict(os.environ, SLUICE_CPU="avx2"))
    total = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not total:
        sys.exit("valgrind failed on %s:\n%s" % (program, run.stderr))
    return int(total.group(1))


def step(program, model):
    return (instructions(program, model, 12) - instructions(program, model, 4)) / 8


on, off, model = sys.argv[1:]
with_trace, without = step(on, model), step(off, model)
more = 100 * (with_trace / without - 1)
print("instructions of a decode step: %.0f with the trace built in and switched off, %.0f without it (%+.4f %%)"
      % (with_trace, without, more))
sys.exit(more > 0.1)
