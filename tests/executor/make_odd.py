#!/usr/bin/env python3
"""make_odd.py [moe-|heads-]TYPE[+TYPE] OUT BENCH_DIR - the random model of odd sizes that the bitwise test runs on, with experts
if asked for; or a small one whose heads, 20 wide, and words are no multiples of 8. The second type is that of the embedding and the head.

Without numpy OUT is an empty file, which the test takes as a reason to skip."""
import subprocess
import sys

kind, out, bench = sys.argv[1:]
try:
    import numpy  # noqa: F401
except ImportError:
    open(out, "w").close()
    sys.exit(0)
experts = kind.startswith("moe-")
matrices, _, ends = kind.removeprefix("moe-").removeprefix("heads-").partition("+")
shape = ["--shape", ("odd-moe" if experts else "odd") + ("-k" if "_K" in kind else "")]
if kind.startswith("heads-"):
    shape = ["--hidden", "160", "--heads", "8", "--kv-heads", "2", "--head-dim", "20", "--ffn", "352", "--tied", "no", "--ctx", "512"]
subprocess.run([sys.executable, bench + "/make_gguf.py", *shape, "--type", matrices,
                "--embd-type", ends or matrices, "-o", out], check=True, stdout=subprocess.DEVNULL)
