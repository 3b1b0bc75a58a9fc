#!/usr/bin/env python3
"""Random texts against the `tokenizers` library: ids must be equal, for every pre-tokenizer.

    python3 tests/tokenizer/differential.py BUILD_DIR MODEL.gguf [--texts N] [--seed S] [--pre NAME]

Two vocabularies: MODEL's, and one in which any two bytes merge, so that a piece cut at another
place gives other ids. The libraries come from PyPI into the cache of tests/support/pypi.py.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

pypi.need(*pypi.TOKENIZERS)
import gguf  # noqa: E402
from texts import all_points, random_text  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("model")
parser.add_argument("--texts", type=int, default=2000, help="for each pre-tokenizer")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--pre", help="only this pre-tokenizer")
args = parser.parse_args()

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers as pt  # noqa: E402


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
    if name == "qwen2":
        tok.normalizer = normalizers.NFC()
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in specials])
    return tok


def differences(tok, name, texts):
    driver = os.path.join(args.build, "sluice")
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "tokenizer.json")
        tok.save(path)
        lines = "".join(json.dumps(t) + "\n" for t in texts)
        command = [driver, "tokenize", path, "--jsonl", "--no-special", "--override-pretokenizer", name]
        run = subprocess.run(command, input=lines, capture_output=True, text=True)
    got = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
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
