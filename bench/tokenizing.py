#!/usr/bin/env python3
"""How fast tokenizers load and run, and what memory they take, beside the libraries they were made for.

    python3 bench/tokenizing.py SLUICE [--only NAME] [--rounds N] [--size CHARACTERS]

The vocabularies are those of tests/tokenizer/published.py, the English text is Python's own documentation.
Times of sluice are whole runs of `sluice tokenize` less a run on no text; memory is its peak less that of the
run on no text, by byte of text: reading the text (1) and keeping the ids (up to 4) are in it.
"""
import argparse
import os
import pydoc_data.topics
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "tokenizer"))
import published  # noqa: E402

ENGLISH = "\n".join(pydoc_data.topics.topics.values())


def run(args, folder, path):
    """Seconds and peak resident bytes of one run."""
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(args.sluice, [args.sluice, "tokenize", folder, "--no-special", "-f", path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"sluice tokenize {folder} -f {path}: status {status}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def median(args, folder, path):
    runs = [run(args, folder, path) for _ in range(args.rounds)]
    return statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)


def peer_speed(judge, text, rounds):
    """MB/s of the library on one thread; None where a run has no end in sight."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        judge.encode([text], False)
        times.append(time.perf_counter() - start)
    return len(text.encode()) / statistics.median(times) / 1e6


def main():
    os.environ["RAYON_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("--only", action="append", choices=list(published.JUDGES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=5_000_000, help="characters of the texts without a break")
    args = parser.parse_args()
    n = args.size
    texts = {
        "letters": "abcdefghij" * (n // 10),
        "one letter": "a" * n,
        "spaces": " " * n,
        "Han": "\u5929\u5730\u7384\u9ec4\u5b87" * (n // 5),
        "marks": "\u0301" * n,
    }
    english = ENGLISH * (20_000_000 // len(ENGLISH.encode()))
    print("| vocabulary | load, s | English, MB/s | library, MB/s | " + " | ".join(f"{k}, s (B/B)" for k in texts) + " |")
    print("| --- " * (4 + len(texts)) + "|")
    for name in args.only or published.JUDGES:
        judge = published.JUDGES[name]()
        with tempfile.TemporaryDirectory() as tmp:
            folder = published.folder_of(judge, Path(tmp))
            path = Path(tmp) / "text"
            path.write_text("")
            load_s, load_bytes = median(args, folder, path)
            path.write_text(english)
            seconds, _ = median(args, folder, path)
            cells = [f"{load_s:.3f}", f"{len(english.encode()) / (seconds - load_s) / 1e6:.1f}", f"{peer_speed(judge, ENGLISH, args.rounds):.1f}"]
            for text in texts.values():
                path.write_text(text)
                seconds, peak = run(args, folder, path)
                cells.append(f"{seconds - load_s:.2f} ({(peak - load_bytes) / len(text.encode()):.0f})")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
