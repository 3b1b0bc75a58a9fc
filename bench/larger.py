#!/usr/bin/env python3
"""A model larger than its memory: how fast it generates without --prefetch and with it, and who waits for the disk.

  make_gguf.py --arch qwen3moe --hidden 1024 --layers 24 --heads 8 --kv-heads 2 --head-dim 128 --ffn 512 --vocab 4096 \\
      --tied yes --experts 128 --used 8 --expert-ffn 512 --type Q4_0 -o moe.gguf
  larger.py moe.gguf                     half of its size, in a memory cgroup (v1 or v2; needs root)
  larger.py moe.gguf --limit 1G -n 64

Each engine runs in a cgroup with that limit, after the file's pages have been dropped from the page cache. One JSON
object on stdout: of each, tokens per second (median of the runs), faults of a token that read from the disk, by the
threads that compute and by those that read ahead, and MB of a token from the device. Their ratio is that machine's and
that disk's, whose read-ahead (KiB) is told beside it. Exit status 75: no such group can be made here.
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys

from memory_group import Group

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SECTOR = 512
NOT_HERE = 75


def size(text):
    m = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not m:
        raise argparse.ArgumentTypeError(f"{text!r}: a size like 1G or 600M expected")
    return int(m[1]) * UNITS[m[2]]


def drop_cache(path):
    """Pages that were read outside of the group would not count in it."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def device_of(path):
    """Folder in /sys of the disk that a file is on, or None (overlays, networks)."""
    dev = os.stat(path).st_dev
    folder = f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}"
    if not os.path.exists(folder):
        return None
    folder = os.path.realpath(folder)
    return folder if os.path.exists(folder + "/queue") else os.path.dirname(folder)


def read_bytes(device):
    if not device:
        return 0
    with open(device + "/stat", encoding="ascii") as f:
        return int(f.read().split()[2]) * SECTOR


def faults(pid):
    """Faults that took the disk so far: (threads that compute, those that read ahead)."""
    count = [0, 0]
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with open(path, encoding="ascii") as f:
            text = f.read()
        name, fields = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        count[name == "sluice-ahead"] += int(fields[9])
    return count


class Engine:
    """`sluice bench --serve-lines` in the group."""

    def __init__(self, args, group, prefetch):
        command = [args.sluice, "bench", args.model, "--serve-lines", "--threads", str(args.threads), "--prefetch", prefetch]
        # pylint: disable=subprocess-popen-preexec-fn
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, preexec_fn=group.enter)
        self.hello = self.process.stdout.readline()

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or "{}")
        if "tok_s" not in answer:
            raise RuntimeError(f"{answer} {self.process.stderr.read()}")
        return answer

    def end(self):
        """What it said on stderr."""
        said = self.process.communicate()[1]
        if self.process.returncode:
            raise RuntimeError(f"status {self.process.returncode}: {said}")
        return said


def measure(args, group, prefetch):
    device = device_of(args.model)
    drop_cache(args.model)
    engine = Engine(args, group, prefetch)
    runs = []
    try:
        engine.ask(test="tg", n=args.n)
        for _ in range(args.runs):
            before, disk = faults(engine.process.pid), read_bytes(device)
            tok_s = engine.ask(test="tg", n=args.n)["tok_s"]
            after = faults(engine.process.pid)
            runs.append((tok_s, (after[0] - before[0]) / args.n, (after[1] - before[1]) / args.n,
                         (read_bytes(device) - disk) / args.n / 1e6))
    finally:
        said = engine.end()
    tok_s, computing, ahead, mb = (round(statistics.median(column), 3) for column in zip(*runs))
    return {"tok_s": tok_s, "faults_computing": computing, "faults_ahead": ahead, "disk_mb": mb,
            "warning": next((line for line in said.splitlines() if "to be had" in line), None)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--limit", type=size, help="of the group (default: half of the file)")
    ap.add_argument("--sluice", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/sluice"))
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("-n", type=int, default=32, help="tokens of a run (default %(default)s)")
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--with", dest="word", default="on", choices=("on", "auto"), help="what is held against off")
    args = ap.parse_args()
    limit = args.limit or os.path.getsize(args.model) // 2
    group = Group(limit)
    if not group.path:
        print("larger.py: no memory cgroup can be made here (not root, or cgroupfs is read-only)", file=sys.stderr)
        return NOT_HERE
    device = device_of(args.model)
    out = {"model": os.path.basename(args.model), "file_bytes": os.path.getsize(args.model), "limit_bytes": limit}
    if device:
        with open(device + "/queue/read_ahead_kb", encoding="ascii") as f:
            out["disk"] = {"name": os.path.basename(device), "read_ahead_kb": int(f.read())}
    try:
        out["off"] = measure(args, group, "off")
        out["on"] = measure(args, group, args.word)
    finally:
        group.remove()
    out["ratio"] = round(out["on"]["tok_s"] / out["off"]["tok_s"], 2)
    print(json.dumps(out, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
