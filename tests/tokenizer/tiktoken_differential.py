#!/usr/bin/env python3
"""Patterns in Rust's dialect against PyPI tiktoken (fancy-regex), which is what such vocabularies are
run by: the pieces must be equal. The package shows ids and no pieces, so the vocabulary has every
pair of bytes as a token: a text cut elsewhere has other ids.

    python3 tests/tokenizer/tiktoken_differential.py BUILD_DIR [--patterns N] [--texts N] [--seed S]

The libraries come from PyPI into the cache of tests/support/pypi.py. What is between matches is dropped by tiktoken.
"""
import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("RUST_BACKTRACE", "0")

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

pypi.need(*pypi.TOKENIZERS)
import tiktoken  # noqa: E402
from texts import all_points, random_text  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--patterns", type=int, default=2000)
parser.add_argument("--texts", type=int, default=400, help="for each published pattern")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]*[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]+" + CONTRACTIONS + "?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]+[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]*" + CONTRACTIONS + "?")  # fmt: skip
NOT_HAN = r"&&[^\p{Han}]"
PUBLISHED = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": WORDS % ("", "", "", "") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama3": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "kimi": r"[\p{Han}]+|" + WORDS % ((NOT_HAN,) * 4) + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
RANKS = {bytes([b]): b for b in range(256)}
pairs = [bytes([a, b]) for a in range(256) for b in range(256)]
random.Random(5).shuffle(pairs)
RANKS |= {pair: 256 + i for i, pair in enumerate(pairs)}


def encoding(pattern):
    return tiktoken.Encoding("pairs", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})


def merged(piece):
    """The ids of one piece: the best pair of single bytes first."""
    parts = [bytes([b]) for b in piece]
    while True:
        best = min(((RANKS[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if len(a) == len(b) == 1), default=None)
        if best is None:
            return [RANKS[p] for p in parts]
        parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]


def compare(what, cases):
    lines = []
    for pattern, _, texts in cases:
        lines.append({"steps": [{"kind": "split", "pattern": pattern, "regex": True, "rust": True, "behavior": "removed", "invert": True}]})
        lines += texts
    path = os.path.join(args.build, "tests", "tokenizer", "pretok_lines")
    run = subprocess.run([path], input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
    if run.returncode != 0 or len(answers) != len(lines):
        sys.exit(f"{path}: status {run.returncode}, {len(answers)} answers to {len(lines)} lines: {run.stderr[-2000:]}")
    out = iter(answers)
    compared, bad, refused = 0, 0, {}
    for pattern, enc, texts in cases:
        verdict = next(out)
        got = [next(out) for _ in texts]
        if verdict is not None:
            refused.setdefault(verdict["error"].split(": ", 1)[-1].split(" ", 2)[-1], []).append(pattern)
            continue
        for text, pieces in zip(texts, got):
            try:
                want = enc.encode_ordinary(text)
            except BaseException as e:  # a panic of Rust's: too much backtracking
                if isinstance(e, KeyboardInterrupt):
                    raise
                continue
            if isinstance(pieces, dict):
                continue
            compared += 1
            ids = [i for p in pieces for i in merged(p.encode() if isinstance(p, str) else bytes(p))]
            if ids != want:
                bad += 1
                if bad <= 6:
                    print(f"  {pattern}\n  on {text[:200]!a}\n  got {pieces[:40]!a}\n  ids {ids[:40]}\n  want {want[:40]}")
    print(f"{what}: {compared} texts, {bad} differ" + "".join(f"; refused {len(r)} times: {why}" for why, r in refused.items()), flush=True)
    return bad


LETTERS = list("abcABCskKS \n\r\t'129.,-_") + ["é", "ſ", "\u212a", "中", "か", "ß", "ẞ", "\u0301", "½", "Σ", "ς", "σ", "ǆ", "İ", "\u3000", "\u200d", "ŉ"]
PLAIN = list("abcsk") + ["é", "中", " ", "1", "'", "K", "σ", "ß"]
SETS = [r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\h", r"\p{L}", r"\p{Lu}", r"\p{Ll}", r"\P{L}", r"\pL", r"\p{N}", r"\p{Han}", r"\p{M}",
        r"\p{P}", r"\p{Script=Greek}", r"\p{Alphabetic}", r"\p{gc=Lt}", r"\p{White_Space}"]  # fmt: skip


def random_class(rng, depth):
    items = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.random()
        if roll < 0.4:
            items.append(rng.choice(PLAIN))
        elif roll < 0.5:
            items.append(rng.choice(["a-k", "a-z", "é-中", "σ-中"]))
        elif roll < 0.75:
            items.append(rng.choice(SETS))
        elif roll < 0.8:
            items.append(f"[:{rng.choice(['alpha', 'punct', 'space', '^upper', 'word'])}:]")
        elif depth > 0:
            items.append(random_class(rng, depth - 1) if roll < 0.9 or not items else "&&" + random_class(rng, depth - 1))
    return "[" + ("^" if rng.random() < 0.3 else "") + ("".join(items) or "a") + "]"


def random_pattern(rng, depth):
    alternatives = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        out = []
        for _ in range(rng.randint(1, 4)):
            roll, atom = rng.random(), None
            if roll < 0.35:
                atom = rng.choice(PLAIN)
            elif roll < 0.5:
                atom = rng.choice(SETS + ["."])
            elif roll < 0.7:
                atom = random_class(rng, 2)
            elif roll < 0.92 and depth > 0:
                atom = rng.choice(["(%s)", "(?:%s)", "(?i:%s)", "(?s:%s)", "(?m:%s)", "(?>%s)"]) % random_pattern(rng, depth - 1)
            elif depth > 0 and roll < 0.96:
                out.append(rng.choice(["(?=%s)", "(?!%s)"]) % random_pattern(rng, 0))
            else:
                out.append(rng.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", "(?i)", "(?s)", "(?<=a)", "(?<!é|k)"]))
            if atom:
                out.append(atom + (rng.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}"]) + rng.choice(["", "", "?", "+"]) if rng.random() < 0.4 else ""))
        alternatives.append("".join(out))
    return "|".join(alternatives)


def main():
    failed = 0
    for name, pattern in PUBLISHED.items():
        rng = random.Random(f"{args.seed} {name}")
        failed += compare(name, [(pattern, encoding(pattern), [random_text(rng, []) for _ in range(args.texts)] + all_points(rng))])
    rng = random.Random(f"{args.seed} patterns")
    cases = []
    for _ in range(args.patterns):
        pattern = random_pattern(rng, 2)
        try:
            enc = encoding(pattern)
        except BaseException as e:  # the library refuses it
            if isinstance(e, KeyboardInterrupt):
                raise
            continue
        cases.append((pattern, enc, ["".join(rng.choice(LETTERS) * rng.choice([1, 1, 2, 4]) for _ in range(rng.randint(1, 14))) for _ in range(8)]))
    failed += compare(f"{len(cases)} patterns", cases)
    sys.exit(1 if failed else 0)


main()
