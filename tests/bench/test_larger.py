#!/usr/bin/env python3
"""A mixture of experts twice the memory of its cgroup: it generates, and --prefetch takes the waiting for the disk from
the threads that compute. Speeds are told, not judged: disks differ."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
NOT_HERE = 75
SHAPE = ("--arch qwen3moe --hidden 512 --layers 5 --heads 4 --kv-heads 2 --head-dim 128 --ffn 512 --vocab 1024 --tied yes "
         "--experts 64 --used 6 --expert-ffn 512 --type Q8_0").split()  # 250 MiB, 24 of them for a token


def fail_or_skip(run):
    if run.returncode == NOT_HERE:
        print(f"SKIPPED: {run.stderr.strip()}")
        sys.exit(77)
    raise AssertionError(f"status {run.returncode}: {run.stderr}")


class Larger(unittest.TestCase):
    def test_twice_the_memory(self):
        # Not in /tmp, which may be memory itself.
        with tempfile.TemporaryDirectory(dir=os.environ["BUILD_FOLDER"]) as folder:
            model = f"{folder}/moe.gguf"
            made = subprocess.run([sys.executable, BENCH / "make_gguf.py", *SHAPE, "-o", model], capture_output=True,
                                  text=True, check=False)
            if "needs numpy" in made.stderr:
                print("SKIPPED: numpy is not installed")
                sys.exit(77)
            self.assertEqual(made.returncode, 0, made.stderr)
            run = subprocess.run([sys.executable, BENCH / "larger.py", model, "--sluice", os.environ["SLUICE"], "-n", "6",
                                  "--runs", "1", "--with", "auto"], capture_output=True, text=True, check=False)
            if run.returncode:
                fail_or_skip(run)
            r = json.loads(run.stdout)
            print(run.stdout)
            self.assertRegex(r["on"]["warning"], r"weights [\d.]+ MiB, [\d.]+ MiB to be had .*: parts are read from disk "
                                                 r"for each token.*ahead")
            if r["off"]["faults_computing"] < 1:
                print("SKIPPED: the group's limit kept nothing out of memory")
                sys.exit(77)
            self.assertLessEqual(r["on"]["faults_computing"], 0.2 * r["off"]["faults_computing"])


if __name__ == "__main__":
    unittest.main()
