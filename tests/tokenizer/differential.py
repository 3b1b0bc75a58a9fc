#!/usr/bin/env python3
"""Random texts against the `tokenizers` library: ids must be equal, for every pre-tokenizer.

    python3 tests/tokenizer/differential.py BUILD_DIR MODEL.gguf [--texts N] [--seed S] [--pre NAME]

Two vocabularies: MODEL's, and one in which any two bytes merge, so that a piece cut at another
place gives other ids. The first call makes a venv in BUILD_DIR.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

PACKAGES = ["tokenizers==0.23.3", "gguf==0.19.0"]

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("model")
parser.add_argument("--texts", type=int, default=2000, help="for each pre-tokenizer")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--pre", help="only this pre-tokenizer")
args = parser.parse_args()

try:
    import gguf
    import tokenizers
except ImportError:
    venv = os.path.join(args.build, "venv-tokenizers")
    python = os.path.join(venv, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        raise
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True)
    os.execv(python, [python, *sys.argv])

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers as pt  # noqa: E402


def cl100k(digits):
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def split(*patterns):
    return [pt.Split(Regex(p), "isolated") for p in patterns]


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# As the models' own tokenizer.json has it; ByteLevel brings GPT-2's pattern with it.
PRE = {
    "gpt-2": ([pt.ByteLevel(add_prefix_space=False, use_regex=True)], False),
    "smollm": ([pt.Digits(individual_digits=True), pt.ByteLevel(add_prefix_space=False, use_regex=True)], False),
    "qwen2": (split(cl100k(r"\p{N}")), False),
    "llama-bpe": (split(cl100k(r"\p{N}{1,3}")), True),
    "dbrx": (split(cl100k(r"\p{N}{1,3}")), False),
    "default": (split(r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"), False),
}


def from_model(path):
    """tokens, merges, control tokens"""
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    return tokens, merges, [t for t, k in zip(tokens, kinds) if k == 3]


def pairs():
    alphabet = sorted(pt.ByteLevel.alphabet())
    merges = [(a, b) for a in alphabet for b in alphabet]
    random.Random(5).shuffle(merges)
    specials = ["<s>", "<|im_start|>", "<|im_start|>user", "<think>"]
    return specials + alphabet + [a + b for a, b in merges], merges, specials


def reference(vocabulary, name):
    tokens, merges, specials = vocabulary
    parts, ignore_merges = PRE[name]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges, ignore_merges=ignore_merges))
    if not any(isinstance(p, pt.ByteLevel) for p in parts):
        parts = parts + [pt.ByteLevel(add_prefix_space=False, use_regex=False)]
    tok.pre_tokenizer = pt.Sequence(parts)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in specials])
    return tok


def neutral_json(tok, path):
    """The driver wants the plain vocabulary apart from the added tokens."""
    data = json.loads(tok.to_str())
    for added in data["added_tokens"]:
        data["model"]["vocab"].pop(added["content"], None)
    data["model"]["merges"] = [m if isinstance(m, list) else m.split(" ") for m in data["model"]["merges"]]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f)


BLOCKS = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x180, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x700, 0x8FF), (0x900, 0xDFF), (0xE00, 0xEFF), (0xF00, 0x109F), (0x10A0, 0x13FF), (0x1400, 0x167F),
    (0x1680, 0x18FF), (0x1900, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF), (0x2C00, 0x2FFF), (0x3000, 0x30FF), (0x3100, 0x33FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xF900, 0xFFFD), (0x10000, 0x10FFF),
    (0x11000, 0x123FF), (0x12400, 0x16FFF), (0x17000, 0x1B2FF), (0x1BC00, 0x1D7FF), (0x1D800, 0x1EFFF), (0x1F000, 0x1FAFF),
    (0x20000, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF), (0x0, 0x1F), (0x0, 0x10FFFF),
]  # fmt: skip
WORDS = (
    "the of and Hello world's don't I'LL it'S we'Re 'ſ 'ſt K's naïve 12 3456 1.5e3 x2 foo.bar() __x__ https://x.y "
    "<b> -> (x):\n  \n \n\n \r\n \t  … — '' \u00a0 \u3000 \u180e \u200b \u2028 ½ Ⅷ ² 数据 東京 안녕 привет สวัสดี 🙂 👩‍👩‍👧 é"
).split(" ") + [" ", "  ", "\n", "\t", "\x85", "$+<=>^~|`", "١٢٣", "𝟘𝟙"]


def random_char(rng, block):
    while True:
        c = rng.randint(*block)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def random_text(rng, specials):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(["", " "]).join(rng.choice(WORDS) for _ in range(rng.randint(1, 40)))
    blocks = rng.sample(BLOCKS, rng.randint(1, 4))
    out = []
    for _ in range(rng.randint(1, 60)):
        roll = rng.random()
        if roll < 0.15:
            out.append(rng.choice([" ", "  ", "\n", "\r\n", "\t", "\u00a0", "'", "1", "22"]))
        elif roll < 0.25:
            out.append(rng.choice(WORDS))
        elif roll < 0.28 and specials:
            token = rng.choice(specials)
            out.append(token[: rng.randint(1, len(token))] if rng.random() < 0.4 else token)
        elif roll < 0.32:
            out.append(random_char(rng, rng.choice(blocks)) * rng.randint(2, 80))
        else:
            out.append(random_char(rng, rng.choice(blocks)))
    return "".join(out)


def all_points(rng):
    """Every code point once, in random order: no class of ours may differ anywhere."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rng.shuffle(points)
    return ["".join(map(chr, points[i : i + 4096])) for i in range(0, len(points), 4096)]


def differences(tok, name, texts):
    driver = os.path.join(args.build, "tests", "tokenizer", "tok_lines")
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "tokenizer.json")
        neutral_json(tok, path)
        lines = "".join(json.dumps(t) + "\n" for t in texts)
        run = subprocess.run([driver, path, name], input=lines, capture_output=True, text=True)
    got = [[int(i) for i in line.split()] for line in run.stdout.split("\n")[:-1]]
    if run.returncode != 0 or len(got) != len(texts):
        sys.exit(f"{driver} {name}: status {run.returncode}, {len(got)} lines for {len(texts)} texts: {run.stderr}")
    want = [e.ids for e in tok.encode_batch(texts, add_special_tokens=False)]
    bad = [i for i in range(len(texts)) if got[i] != want[i]]
    print(f"{name}: {len(texts)} texts, {sum(map(len, want))} ids, {len(bad)} texts differ", flush=True)
    for i in bad[:3]:
        at = next((k for k, (a, b) in enumerate(zip(got[i], want[i])) if a != b), min(len(got[i]), len(want[i])))
        print(f"  {texts[i][:300]!a}\n  from id {at}: got {got[i][at:at + 12]}, want {want[i][at:at + 12]}")
        print(f"  want text: {tok.decode(want[i][max(0, at - 3):at + 6])!a}")
    return len(bad)


def main():
    failed = 0
    for what, vocabulary in (("model", from_model(args.model)), ("pairs", pairs())):
        for name in [args.pre] if args.pre else PRE:
            rng = random.Random(f"{args.seed} {what} {name}")
            texts = [random_text(rng, vocabulary[2]) for _ in range(args.texts)]
            if what == "pairs":
                texts += all_points(rng)
            print(end=f"{what}, ")
            failed += differences(reference(vocabulary, name), name, texts)
    sys.exit(1 if failed else 0)


main()
