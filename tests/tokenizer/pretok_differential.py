#!/usr/bin/env python3
"""Pre-tokenizers against the `tokenizers` library (Oniguruma, Unicode 16): the pieces must be equal.

    python3 tests/tokenizer/pretok_differential.py BUILD_DIR [--patterns N] [--texts N] [--seed S] [--only PART]

Parts: `names` (every published pre-tokenizer, as its tokenizer.json has it, by the name in GGUF files
too), `steps` (random sequences of steps), `patterns` (random patterns, small texts). A pattern that
is refused by one side is not compared; refusals of ours that the library has none for are counted.
The libraries come from PyPI into the cache of tests/support/pypi.py.
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
from texts import all_points, random_text  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--patterns", type=int, default=3000)
parser.add_argument("--texts", type=int, default=400, help="for each published pre-tokenizer")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", choices=["names", "steps", "patterns"])
args = parser.parse_args()

from tokenizers import Regex, pre_tokenizers as pt  # noqa: E402

ALPHABET = {}  # GPT-2's: character -> byte
_next = 0x100
for _b in range(256):
    if 0x21 <= _b <= 0x7E or (_b >= 0xA1 and _b != 0xAD):
        ALPHABET[chr(_b)] = _b
    else:
        ALPHABET[chr(_next)] = _b
        _next += 1

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def cl100k(digits):
    return CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES


def words(but, suffix):
    upper, lower = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}" + but, r"\p{Ll}\p{Lm}\p{Lo}\p{M}" + but
    head = r"[^\r\n\p{L}\p{N}]?"
    return f"{head}[{upper}]*[{lower}]+{suffix}|{head}[{upper}]+[{lower}]*{suffix}"


def o200k(digits):
    return words("", CONTRACTIONS + "?") + "|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES


def split(pattern, behavior="isolated", invert=False):
    return {"kind": "split", "pattern": pattern, "regex": True, "behavior": behavior, "invert": invert}


def digits(individual):
    return {"kind": "split", "pattern": r"\p{rust_numeric}", "regex": True, "behavior": "isolated" if individual else "contiguous", "as": "digits"}


def punctuation(behavior):
    return {"kind": "split", "pattern": r"\p{rust_punctuation}", "regex": True, "behavior": behavior, "as": "punctuation"}


WHITESPACE = {"kind": "split", "pattern": r"\p{rust_word}+|[^\p{rust_word}\s]+", "regex": True, "behavior": "removed", "invert": True, "as": "whitespace"}
BYTES = {"kind": "byte_level"}
DEEPSEEK = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"""
KANA = "[一-龥぀-ゟ゠-ヿ]+"
BROADLY = "[一-龥ࠀ-一가-퟿]+"
KIMI = r"[\p{Han}]+|" + words(r"&&[^\p{Han}]", CONTRACTIONS + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
GPT4O_TIKTOKEN = words("", CONTRACTIONS + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K_TIKTOKEN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
# name in GGUF files or None, steps as in the models' tokenizer.json
PUBLISHED = [
    ("gpt-2", [split(GPT2), BYTES]),
    ("smollm", [digits(True), split(GPT2), BYTES]),
    ("qwen2", [split(cl100k(r"\p{N}")), BYTES]),
    ("llama-bpe", [split(cl100k(r"\p{N}{1,3}")), BYTES]),
    ("gpt-4o", [split(GPT4O_TIKTOKEN), BYTES]),
    ("tekken", [split(words("", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES), BYTES]),
    ("kimi-k2", [split(KIMI)]),
    ("deepseek-v3", [split(r"\p{N}{1,3}"), split(KANA), split(DEEPSEEK + r"[\r\n]*" + SPACES), BYTES]),
    ("deepseek-coder", [split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(BROADLY), digits(True), BYTES]),
    ("falcon", [punctuation("contiguous"), split(GPT2), BYTES, digits(False), split("[0-9][0-9][0-9]")]),
    ("bloom", [split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), BYTES]),
    ("viking", [split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), digits(True), BYTES]),
    ("bailingmoe", [split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"), BYTES]),
    ("exaone-moe", [split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"), BYTES]),
    ("qwen35", [split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES), BYTES]),
    ("superbpe", [split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))"), BYTES]),
    ("tiny_aya", [split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(o200k(r"\p{N}{1,3}")), BYTES]),
    ("chameleon", [split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split(r"([\t\n]|    |  )"), digits(True),
                   punctuation("isolated"), split(GPT2), BYTES]),
    ("afmoe", [split(r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|\z))"),
               split("[一-鿿㐀-䶿\uf900-\ufaff぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+".replace("เ", "\u0e00")), split(DEEPSEEK + r"[\r\n]*" + SPACES), BYTES]),
    ("default", [split(r"[\p{P}\$\+<=>\^~\|]+"), split(GPT2), split(r"\p{N}+"), split("[0-9][0-9][0-9]")]),
    (None, [split(CL100K_TIKTOKEN), BYTES]),  # what the library makes of tiktoken's own pattern
    (None, [{"kind": "metaspace", "text": "▁", "prepend": "always"},
            {"kind": "split", "pattern": "▁", "regex": False, "behavior": "merged_with_next", "as": "skip"}]),
    (None, [{"kind": "prefix_space"}, split(GPT2), BYTES]),
    (None, [WHITESPACE, punctuation("isolated")]),
]  # fmt: skip


def reference(steps):
    """The same in the library, where a METASPACE brings its split along."""
    parts = []
    for i, s in enumerate(steps):
        kind = s.get("as", s["kind"])
        if kind == "skip":
            continue
        if kind == "digits":
            parts.append(pt.Digits(individual_digits=s["behavior"] == "isolated"))
        elif kind == "punctuation":
            parts.append(pt.Punctuation(s["behavior"]))
        elif kind == "whitespace":
            parts.append(pt.Whitespace())
        elif kind == "split":
            parts.append(pt.Split(Regex(s["pattern"]) if s["regex"] else s["pattern"], s["behavior"], s.get("invert", False)))
        elif kind == "byte_level":
            parts.append(pt.ByteLevel(add_prefix_space=False, use_regex=False))
        elif kind == "prefix_space":
            # A step of its own there is none: Metaspace with a space as its mark prepends one.
            parts.append(pt.Metaspace(" ", prepend_scheme="always", split=False))
        elif kind == "metaspace":
            with_split = i + 1 < len(steps) and steps[i + 1].get("as") == "skip"
            parts.append(pt.Metaspace(s["text"], prepend_scheme=s["prepend"], split=with_split))
        elif kind == "chunks":
            parts.append(pt.FixedLength(s["length"]))
    return pt.Sequence(parts), any(s["kind"] == "byte_level" for s in steps)


def wanted(made, text):
    sequence, alphabet = made
    try:
        pieces = [p for p, _ in sequence.pre_tokenize_str(text)]
    except BaseException as e:  # a panic of Rust's: the engine gave up on this text
        if isinstance(e, KeyboardInterrupt):
            raise
        return None
    return [bytes(ALPHABET[c] for c in p) for p in pieces] if alphabet else [p.encode() for p in pieces]


class Driver:
    """The program; all questions go in at once."""

    def __init__(self):
        self.lines = []

    def ask(self, value):
        self.lines.append(json.dumps(value))

    def answers(self):
        path = os.path.join(args.build, "tests", "tokenizer", "pretok_lines")
        run = subprocess.run([path], input="".join(f"{line}\n" for line in self.lines), capture_output=True, text=True)
        out = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
        if run.returncode != 0 or len(out) != len(self.lines):
            sys.exit(f"{path}: status {run.returncode}, {len(out)} answers to {len(self.lines)} lines: {run.stderr[-2000:]}")
        self.lines = []
        return out


def as_bytes(answer):
    if not isinstance(answer, list):
        return answer
    return [bytes(p) if isinstance(p, list) else p.encode() for p in answer]


def compare(cases):
    """cases: (question, reference or None, texts). Numbers of compared and of differing texts, and our lone refusals."""
    driver, compared, bad, gave_up, refused = Driver(), 0, 0, 0, {}
    for question, _, texts in cases:
        driver.ask(question)
        for t in texts:
            driver.ask(t)
    out = iter(driver.answers())
    for question, made, texts in cases:
        verdict = next(out)
        got = [as_bytes(next(out)) for _ in texts]
        if made is None:
            continue
        if verdict is not None:
            what = verdict["error"].split(": ", 1)[-1]
            refused.setdefault(what.split(" ", 2)[-1], []).append(question)
            if verdict["code"] == "SL_ENOMEM" or "pcre2" in what:
                bad += 1
                print(f"  {json.dumps(question)}: {verdict}")
            continue
        for t, g in zip(texts, got):
            want = wanted(made, t)
            if isinstance(g, dict) and "too many steps" in g["error"]:
                gave_up += 1
                continue
            if want is None:
                continue
            compared += 1
            if g != want:
                bad += 1
                if bad <= 8:
                    print(f"  {json.dumps(question, ensure_ascii=False)}\n  on {t[:200]!a}\n  got  {str(g)[:300]}\n  want {str(want)[:300]}")
    if gave_up > compared / 200:
        bad += 1
    if gave_up:
        print(f"  gave up on {gave_up} of {compared + gave_up} texts")
    return compared, bad, refused


def part_names():
    failed = 0
    for name, steps in PUBLISHED:
        rng = random.Random(f"{args.seed} {name}")
        texts = [random_text(rng, ["<s>"]) for _ in range(args.texts)] + all_points(rng)
        made = reference(steps)
        cases = [({"steps": steps}, made, texts)] + ([({"name": name}, made, texts)] if name else [])
        compared, bad, refused = compare(cases)
        print(f"{name or 'no name'}: {compared} texts, {bad} differ" + "".join(f"; refused: {r}" for r in refused), flush=True)
        failed += bad + len(refused)
    return failed


BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def random_steps(rng):
    steps = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.random()
        if roll < 0.55:
            s = split(random_pattern(rng, 1), rng.choice(BEHAVIORS), rng.random() < 0.3)
            steps.append(s)
        elif roll < 0.65:
            steps.append({"kind": "split", "pattern": rng.choice([" ", "a", "ab", ".", "▁", "\n", "中"]), "regex": False, "behavior": rng.choice(BEHAVIORS)})
        elif roll < 0.72:
            steps.append(rng.choice([digits(True), digits(False), punctuation(rng.choice(BEHAVIORS)), WHITESPACE]))
        elif roll < 0.8:
            steps.append({"kind": "chunks", "length": rng.randint(1, 7)})
        elif not any(s["kind"] == "byte_level" for s in steps):
            steps.append(rng.choice([BYTES, {"kind": "metaspace", "text": "▁", "prepend": rng.choice(["always", "never"])}, {"kind": "prefix_space"}]))
    return steps


def part_steps():
    rng = random.Random(f"{args.seed} steps")
    cases = []
    for _ in range(args.patterns // 2):
        steps = random_steps(rng)
        try:
            made = reference(steps)
        except Exception:  # the package raises nothing more precise
            continue
        cases.append(({"steps": steps}, made, [small_text(rng) for _ in range(6)]))
    compared, bad, refused = compare(cases)
    print(f"steps: {len(cases)} lists, {compared} texts, {bad} differ, {sum(map(len, refused.values()))} refused")
    return bad


LETTERS = list("abcABCskKSI") + list(" \n\r\t'1239.,-_") + ["é", "É", "ſ", "\u212a", "中", "國", "か", "ß", "\u0301", "½", "Σ", "ς", "σ", "ǆ", "ǅ", "İ", "\u3000", "\u0085"]
PLAIN = list("abcsk") + ["é", "中", " ", "1", "'", "K", "σ"]
SETS = [r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\h", r"\p{L}", r"\p{Lu}", r"\p{Ll}", r"\P{L}", r"\p{^N}", r"\p{N}", r"\p{Han}", r"\p{M}",
        r"\p{P}", r"\p{Greek}", r"\p{Alpha}", r"\p{Lt}", r"\p{Zs}", r"\p{White_Space}", r"\p{Latin}", r"\p{Word}"]  # fmt: skip
POSIX = ["alpha", "digit", "space", "punct", "upper", "lower", "alnum", "word", "xdigit", "graph", "print", "cntrl", "blank", "^alpha", "^space"]


def random_class(rng, depth):
    items = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.random()
        if roll < 0.35:
            items.append(rng.choice(PLAIN))
        elif roll < 0.5:
            low, high = sorted(rng.sample(["a", "c", "k", "s", "z", "é", "σ", "中", "國"], 2))
            items.append(f"{low}-{high}")
        elif roll < 0.7:
            items.append(rng.choice(SETS))
        elif roll < 0.78:
            items.append(f"[:{rng.choice(POSIX)}:]")
        elif roll < 0.88 and depth > 0:
            items.append(random_class(rng, depth - 1))
        elif items and depth > 0:
            items.append("&&")
            items.append(random_class(rng, depth - 1) if rng.random() < 0.6 else rng.choice(SETS))
        else:
            items.append(rng.choice([r"\n", r"\r", r"\\", r"\]", r"\-", r"\x{4e2d}", r"\u00e9", r"\x41"]))
    return "[" + ("^" if rng.random() < 0.3 else "") + "".join(items) + "]"


def random_atom(rng, depth):
    roll = rng.random()
    if roll < 0.3:
        return rng.choice(PLAIN)
    if roll < 0.45:
        return rng.choice(SETS)
    if roll < 0.5:
        return "."
    if roll < 0.7:
        return random_class(rng, 2)
    if roll < 0.74:
        return rng.choice([r"\n", r"\t", r"\x{4e2d}", r"\u00e9", r"\x41", r"\.", r"\'", r"\-"])
    if roll < 0.79 or depth == 0:
        return rng.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z"])
    if roll < 0.86:
        return f"({random_pattern(rng, depth - 1)})"
    if roll < 0.93:
        return rng.choice(["(?:%s)", "(?:%s)", "(?i:%s)", "(?m:%s)", "(?i-m:%s)", "(?>%s)", "(?<n>%s)"]) % random_pattern(rng, depth - 1)
    if roll < 0.97:
        return rng.choice(["(?=%s)", "(?!%s)"]) % random_pattern(rng, depth - 1)
    return rng.choice(["(?<=%s)", "(?<!%s)"]) % "".join(rng.choice(PLAIN + SETS) for _ in range(rng.randint(1, 2)))


def random_sequence(rng, depth):
    out = []
    for _ in range(rng.randint(1, 4)):
        atom = random_atom(rng, depth)
        quantifier = ""
        if rng.random() < 0.45 and atom not in ("^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z") and not atom.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            quantifier = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "{0}"]) + rng.choice(["", "", "", "?", "+"])
        out.append(atom + quantifier)
    if rng.random() < 0.06:
        out.insert(rng.randint(0, len(out)), rng.choice(["(?i)", "(?m)", "(?-i)"]))
    return "".join(out)


def random_pattern(rng, depth):
    return "|".join(random_sequence(rng, depth) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))


def small_text(rng):
    if rng.random() < 0.15:
        return random_text(rng, [])[:60]
    return "".join(rng.choice(LETTERS) * rng.choice([1, 1, 1, 2, 5]) for _ in range(rng.randint(1, 14)))


def part_patterns():
    rng = random.Random(f"{args.seed} patterns")
    cases, theirs = [], 0
    for _ in range(args.patterns):
        steps = [split(random_pattern(rng, 2), rng.choice(BEHAVIORS), rng.random() < 0.2)]
        try:
            made = reference(steps)
        except Exception:  # the package raises nothing more precise
            theirs += 1
            continue
        cases.append(({"steps": steps}, made, [small_text(rng) for _ in range(12)]))
    compared, bad, refused = compare(cases)
    print(f"patterns: {len(cases)} and {theirs} that the library refuses; {compared} texts, {bad} differ; only we refuse:")
    for what, questions in sorted(refused.items(), key=lambda kv: -len(kv[1])):
        print(f"  {len(questions)} times: {what}")
    return bad


def main():
    parts = {"names": part_names, "steps": part_steps, "patterns": part_patterns}
    failed = sum(part() for name, part in parts.items() if args.only in (None, name))
    sys.exit(1 if failed else 0)


main()
