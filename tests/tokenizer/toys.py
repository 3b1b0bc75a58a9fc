#!/usr/bin/env python3
"""Toy vocabularies in the neutral form with what the reference libraries make of texts and ids: one JSON
object a line, for test_models.

    python3 tests/tokenizer/toys.py FILE [--seed S] [--rounds N] [--texts N] [--rule nmt_nfkc_cf]

FILE.table becomes the table of SentencePiece's normaliser. tests/data/tokenizer/toys.jsonl is this program's
output for the defaults. The vocabularies are random and their letters few, so that equal ranks, equal scores
and unknown characters come up often. With --check PROGRAM that (a test_models) is run on the result.
"""
import argparse
import io
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

pypi.need(*pypi.TOKENIZERS)
import sentencepiece  # noqa: E402
import tiktoken  # noqa: E402
from sentencepiece import sentencepiece_model_pb2 as pb  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers as N  # noqa: E402

LETTERS = ["a", "b", "c", "é", "漢", "▁", "😀", "d"]
RARE = ["x", "ß", "字", "\u0301", "\n", "\x00"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def words(rng, letters, n, longest=8):
    """n different texts, each put together from two shorter ones."""
    have = list(letters)
    for _ in range(n * 4):
        text = rng.choice(have) + rng.choice(have)
        if len(text) <= longest and text not in have:
            have.append(text)
        if len(have) >= len(letters) + n:
            break
    return have


def plain_text(rng, letters, rare, n=24):
    return "".join(rng.choice(rare) if rng.random() < 0.12 else rng.choice(letters) for _ in range(rng.randint(0, n)))


def long_text(rng, letters, rare):
    unit = plain_text(rng, letters, rare, 6)
    return plain_text(rng, letters, rare, 120) + unit * rng.randint(1, 30)


def some_texts(rng, letters, rare, n):
    return ["", letters[0]] + [plain_text(rng, letters, rare) for _ in range(n)] + [long_text(rng, letters, rare) for _ in range(2)]


# ---- tokenizers ------------------------------------------------------------------------------


def hf_cases(tok, texts, special=True):
    """Some flags and texts make the library panic: white space taken twice."""
    tok.encode_special_tokens = not special
    cases = []
    for t in texts:
        try:
            cases.append({"text": t, "ids": tok.encode(t, add_special_tokens=False).ids, "special": special})
        except BaseException as e:
            if type(e).__name__ != "PanicException":
                raise
    return cases


def hf_merges(rng, n_texts):
    letters = rng.sample(LETTERS, rng.randint(2, 6))
    tokens = words(rng, letters, rng.randint(3, 20))
    pairs = [(t[:k], t[k:]) for t in tokens for k in range(1, len(t)) if t[:k] in tokens and t[k:] in tokens]
    rng.shuffle(pairs)
    merges = pairs[: rng.randint(1, len(pairs))] if pairs else []
    unk = "<unk>" if rng.random() < 0.6 else None
    fallback = rng.random() < 0.5
    flags = {"fuse_unk": rng.random() < 0.5, "byte_fallback": fallback, "whole_pieces": rng.random() < 0.3}
    tokens = ([unk] if unk else []) + tokens + (rng.sample(BYTES, 200) if fallback and rng.random() < 0.4 else BYTES if fallback else [])
    vocab = {t: i for i, t in enumerate(tokens)}
    model = models.BPE(vocab=vocab, merges=merges, unk_token=unk, fuse_unk=flags["fuse_unk"], byte_fallback=fallback,
                       ignore_merges=flags["whole_pieces"])  # fmt: skip
    kinds = ["unknown" if t == unk else "byte" if t in BYTES else "normal" for t in tokens]
    tok = Tokenizer(model)
    return {"text": "chars", "model": "merges", "tokens": tokens, "kinds": kinds, "merges": merges, "flags": [k for k, on in flags.items() if on],
            "unk": 0 if unk else -1, "cases": hf_cases(tok, some_texts(rng, letters, RARE, n_texts))}  # fmt: skip


def hf_unigram(rng, n_texts):
    letters = rng.sample(LETTERS, rng.randint(2, 6))
    tokens = words(rng, letters, rng.randint(3, 20))
    if rng.random() < 0.5:
        tokens.remove(rng.choice(letters))
    fallback = rng.random() < 0.5
    tokens = ["<unk>"] + tokens + (BYTES if fallback else [])
    scores = [0.0] + [rng.choice([-1.0, -2.0, -1.5, -round(rng.uniform(0, 5), 3)]) for _ in tokens[1:]]
    tok = Tokenizer(models.Unigram(list(zip(tokens, scores)), unk_id=0, byte_fallback=fallback))
    kinds = ["unknown" if i == 0 else "byte" if t in BYTES else "normal" for i, t in enumerate(tokens)]
    return {"text": "chars", "model": "unigram", "tokens": tokens, "kinds": kinds, "scores": scores, "unk": 0,
            "flags": ["double_scores", "fuse_unk"] + (["byte_fallback"] if fallback else []),
            "cases": hf_cases(tok, some_texts(rng, letters, RARE, n_texts))}  # fmt: skip


def bytes_vocabulary(normalizer):
    """A tokenizer whose ids are the bytes of the normalised text."""
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(BYTES)}, merges=[], byte_fallback=True))
    tok.normalizer = normalizer
    return tok, {"text": "chars", "model": "merges", "tokens": list(BYTES), "kinds": ["byte"] * 256, "merges": [],
                 "flags": ["byte_fallback"], "unk": -1}  # fmt: skip


ODD = list("aA zZÀé漢字Ａ\u0301\u0316\u0323\u0345ﬁ①½ﬀÅΣσςİIßẞǅ가ᄀ\u1161\u11a8각한\u1100 \u00a0\u3000\u2028\t\n\r\x01\x7f\x85\u200b\u200d\ufeff\ufffd\u2581▁豈ｶﾞ\u0958\u1e9b\u0f73") + [
    "\U00011938", "\U00011935", "\U00011930", "\u07fd", "\U0001e4ec", "\u32ff", "\ua7f2", "\U0001d15e", "\ufb1d", "\u1cf2"]  # fmt: skip


def odd_text(rng):
    out = []
    for _ in range(rng.randint(0, 16)):
        roll = rng.random()
        c = rng.randint(0x80, 0x10FFFF) if roll < 0.1 else rng.randint(0x300, 0x1FFF) if roll < 0.3 else 0
        out.append(chr(c) if c and not 0xD800 <= c < 0xE000 else rng.choice(ODD))
    return "".join(out)


RULES = [("Ａ", "A"), ("ﬁ", "fi"), ("\u200b", ""), ("\u3000", " "), ("\u00a0", " "), ("①", "1"), ("½", "1/2"), ("é", "é"), ("é", "É"), ("A", "a"), ("漢字", "kanji"),
         ("\t", " "), ("字", "  x "), ("\u1100\u1161", "가"), ("ﾞ", "\u3099"), ("ｶﾞ", "ガ"), ("\u0301", "'")]  # fmt: skip


def charsmap(rule):
    """A table as sentencepiece compiles it, of one of its own rules or of those above."""
    model, how = io.BytesIO(), {"normalization_rule_name": rule}
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as f:
        if not rule:
            for a, b in RULES:
                f.write(" ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n")
            f.flush()
            how = {"normalization_rule_tsv": f.name}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d e f g h"] * 20), model_writer=model, vocab_size=12,
                                                 model_type="unigram", hard_vocab_limit=False, minloglevel=9, **how)  # fmt: skip
    proto = pb.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


TABLE = b""
NORMALISED = ["\xa0", "\t", "é", "½"]  # what tables have a rule for
NEW_MARKS = ["\u0301", "\u0897", "\u1acf", "\u1aeb", "\U00010efc"]  # of Unicode 1 to 17


def norm_step(rng):
    kind = rng.choice(["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip", "strip_accents", "nmt", "prepend", "replace", "charsmap"])
    simple = {"nfc": N.NFC, "nfd": N.NFD, "nfkc": N.NFKC, "nfkd": N.NFKD, "lowercase": N.Lowercase, "strip_accents": N.StripAccents, "nmt": N.Nmt}
    if kind in simple:
        return simple[kind](), {"kind": kind}
    if kind == "strip":
        left, right = rng.random() < 0.7, rng.random() < 0.7
        return N.Strip(left, right), {"kind": kind, "left": left, "right": right}
    if kind == "prepend":
        return N.Prepend("▁"), {"kind": kind, "text": "▁"}
    if kind == "charsmap":
        return N.Precompiled(TABLE), {"kind": kind, "table": True}
    pattern, text = rng.choice([(" ", "▁"), ("a", ""), ("aa", "b"), ("▁▁", "▁"), ("é", "e")])
    return N.Replace(pattern, text), {"kind": kind, "pattern": pattern, "text": text}


def hf_normalizers(rng, n_texts):
    steps = [norm_step(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    tok, out = bytes_vocabulary(N.Sequence([s for s, _ in steps]) if len(steps) > 1 else steps[0][0])
    texts = [odd_text(rng) for _ in range(n_texts)]
    return out | {"norms": [n for _, n in steps], "cases": hf_cases(tok, texts)}


def hf_charsmap(rng, n_texts):
    tok, out = bytes_vocabulary(N.Precompiled(TABLE))
    texts = [odd_text(rng) for _ in range(n_texts)] + ["".join(begin + mark for begin in NORMALISED for mark in NEW_MARKS)]
    return out | {"norms": [{"kind": "charsmap", "table": True}], "cases": hf_cases(tok, texts)}


def hf_added(rng, n_texts):
    lower = rng.random() < 0.5
    tok, out = bytes_vocabulary(N.Lowercase() if lower else None)
    pool = ["ab", "abc", "a", "<s>", "<s>x", "B", "AB", "é", "word", "  ", "\n", "s>", "bca"]
    added, looked_for = [], set()
    for content in rng.sample(pool, rng.randint(1, 7)):
        flags = {k: rng.random() < 0.3 for k in ("special", "normalized", "lstrip", "rstrip", "single_word")}
        found = (content.lower() if lower and flags["normalized"] else content, flags["normalized"])
        if found in looked_for:
            continue  # of two that look alike in the text the library takes either, by the order of a hash table
        looked_for.add(found)
        (tok.add_special_tokens if flags["special"] else tok.add_tokens)([AddedToken(content, **flags)])
        out["tokens"].append(content)
        out["kinds"].append("control" if flags["special"] else "user")
        added.append({"id": 256 + len(added), **flags})
    letters = ["a", "b", "c", "<s>", "AB", " ", "\n", "é", "word", "x", "_", "\u0301", "\u3000", "1", ">", "A", "B", "C"]
    texts = ["".join(rng.choice(letters) for _ in range(rng.randint(0, 14))) for _ in range(n_texts)]
    cases = hf_cases(tok, texts) + hf_cases(tok, texts[: n_texts // 2], special=False)
    return out | {"norms": [{"kind": "lowercase"}] if lower else [], "added": added, "cases": cases}


def decode_step(rng, kind):
    if kind == "replace":
        pattern, text = rng.choice([("▁", " "), ("a", ""), ("ab", "c"), ("é", "e")])
        return decoders.Replace(pattern, text), {"kind": kind, "pattern": pattern, "text": text}
    if kind == "strip":
        c, start = rng.choice([" ", "a"]), rng.randint(0, 2)
        return decoders.Strip(c, start, 0), {"kind": kind, "pattern": c, "start": start, "stop": 0}
    if kind == "metaspace":
        scheme = rng.choice(["always", "never", "first"])
        return decoders.Metaspace("▁", scheme), {"kind": kind, "pattern": "▁", "strip_first": scheme != "never"}
    if kind == "byte_fallback":
        return decoders.ByteFallback(), {"kind": kind}
    if kind == "byte_level":
        return decoders.ByteLevel(), {"kind": kind}
    return decoders.Fuse(), {"kind": "fuse"}


ORDERS = [[], ["metaspace"], ["replace", "byte_fallback", "fuse", "strip"], ["replace", "byte_fallback", "fuse"], ["byte_level"], ["strip"],
          ["byte_fallback", "metaspace"], ["replace", "replace", "strip"], ["fuse", "strip"], ["byte_fallback", "fuse", "strip"]]  # fmt: skip


def hf_decoders(rng, n_texts):
    steps = [decode_step(rng, k) for k in rng.choice(ORDERS)]
    tokens = ["a", "b", "▁", "▁a", "▁▁", " ", "ab", "aab", "é", "▁é", "Ġa", "Ċ", "âĤ", "¬", "漢", "a▁b"] + BYTES
    added = ["<s>", "é▁", "Ġ", "<x y>", "▁<t>"]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=[]))
    if steps:
        tok.decoder = decoders.Sequence([s for s, _ in steps])
    tok.add_special_tokens([AddedToken(t, special=True) for t in added[:2]])
    tok.add_tokens([AddedToken(t) for t in added[2:]])
    n = len(tokens) + len(added)
    kinds = ["byte" if t in BYTES else "normal" for t in tokens] + ["control"] * 2 + ["user"] * 3
    cases = []
    for _ in range(n_texts):
        ids = []
        for _ in range(rng.randint(0, 10)):
            roll = rng.random()
            if roll < 0.15:
                ids += [16 + b for b in rng.choice(["é", "漢", "😀", "A"]).encode()]
            elif roll < 0.25:
                ids.append(16 + rng.randrange(256))
            else:
                ids.append(rng.choice([rng.randrange(16), rng.randrange(16 + 256, n)]))
        for special in (True, False):
            text = tok.decode(ids, skip_special_tokens=not special)
            if not (steps and any(s["kind"] == "byte_fallback" for _, s in steps) and "\ufffd" in text):
                cases.append({"ids": ids, "special": special, "decoded": text})
            # A run of bytes with one bad byte comes out as nothing but U+FFFD there; ours keeps what is whole.
    return {"text": "chars", "model": "merges", "tokens": tokens + added, "kinds": kinds, "merges": [], "unk": -1,
            "added": [{"id": len(tokens) + i, "special": i < 2} for i in range(len(added))],
            "decoders": [d for _, d in steps], "cases": cases}  # fmt: skip


# ---- sentencepiece and tiktoken ---------------------------------------------------------------


def sentencepiece_toy(rng, n_texts, bpe):
    letters = rng.sample(LETTERS, rng.randint(2, 6))
    if "▁" not in letters:
        letters.append("▁")
    tokens = words(rng, letters, rng.randint(3, 24))
    gone = [t for t in tokens if rng.random() < 0.1]
    tokens = [t for t in tokens if t not in gone] or ["a"]
    fallback = rng.random() < 0.4
    pieces = [("<unk>", 0.0, "unknown"), ("<s>", 0.0, "control"), ("</s>", 0.0, "control")]
    if fallback:
        pieces += [(b, 0.0, "byte") for b in BYTES]
    with_unused = rng.random() < 0.4
    for t in tokens:
        roll = rng.random()
        kind = "unused" if with_unused and roll < 0.25 else "user" if roll > 0.92 else "normal"
        pieces.append((t, rng.choice([-1.0, -2.0, -3.0, -round(rng.uniform(0, 5), 2)]), kind))
    numbers = {"normal": 1, "unknown": 2, "control": 3, "user": 4, "unused": 5, "byte": 6}
    proto = pb.ModelProto()
    for text, score, kind in pieces:
        p = proto.pieces.add()
        p.piece, p.score, p.type = text, score, numbers[kind]
    if not any(k == "normal" for _, _, k in pieces):
        return None
    proto.trainer_spec.model_type = 2 if bpe else 1
    proto.trainer_spec.byte_fallback = fallback
    suffix = rng.random() < 0.2
    proto.trainer_spec.treat_whitespace_as_suffix = suffix
    norm = {"kind": "sentencepiece", "space_suffix": suffix, "table": rng.random() < 0.4}
    spec = proto.normalizer_spec
    spec.name = "toy"
    spec.precompiled_charsmap = TABLE if norm["table"] else b""
    norm["dummy_prefix"] = spec.add_dummy_prefix = rng.random() < 0.6
    norm["remove_extra"] = spec.remove_extra_whitespaces = rng.random() < 0.5
    norm["escape_spaces"] = spec.escape_whitespaces = rng.random() < 0.9
    try:
        sp = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    except RuntimeError:
        return None
    rare = RARE[:-1] + [" ", "  ", "Ａ", "ﬁ", "\u200b", "<s>"] # a NUL ends the library's own search
    texts = some_texts(rng, letters + [" "], rare, n_texts)
    return {"text": "chars", "model": "scores" if bpe else "unigram", "tokens": [p[0] for p in pieces], "scores": [p[1] for p in pieces],
            "kinds": [p[2] for p in pieces], "unk": 0, "flags": ["fuse_unk"] + (["byte_fallback"] if fallback else []), "norms": [norm],
            "cases": [{"text": t, "ids": sp.encode(t), "special": False} for t in texts]}  # fmt: skip


def tiktoken_toy(rng, n_texts):
    letters = [bytes([b]) for b in rng.sample(range(0, 256), 5)]
    have = [bytes([b]) for b in range(256)]
    rng.shuffle(have)
    pool = list(letters)
    for _ in range(rng.randint(2, 30)):
        t = rng.choice(pool) + rng.choice(pool)
        if t not in have and len(t) < 40:
            have.append(t)
            pool.append(t)
    tail = have[256:]
    rng.shuffle(tail) # a long token may have a lower rank than its parts
    have[256:] = tail
    enc = tiktoken.Encoding("toy", pat_str=r"(?s).+", mergeable_ranks={t: i for i, t in enumerate(have)}, special_tokens={"<s>": len(have)})
    cases = []
    for _ in range(n_texts):
        raw = b"".join(rng.choice(letters) for _ in range(rng.choice([3, 10, 30, 200])))
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raw = bytes(b & 0x7F for b in raw)
            text = raw.decode()
        cases.append({"text": text, "ids": enc.encode(text, disallowed_special=()), "special": False})
    return {"text": "bytes", "model": "ranks", "tokens": [{"hex": t.hex()} for t in have] + ["<s>"], "kinds": ["normal"] * len(have) + ["control"],
            "unk": -1, "added": [{"id": len(have), "special": True}], "cases": cases}  # fmt: skip


MAKERS = {
    "merges": hf_merges,
    "unigram": hf_unigram,
    "normalizers": hf_normalizers,
    "charsmap": hf_charsmap,
    "added": hf_added,
    "decoders": hf_decoders,
    "sentencepiece bpe": lambda rng, n: sentencepiece_toy(rng, n, True),
    "sentencepiece unigram": lambda rng, n: sentencepiece_toy(rng, n, False),
    "tiktoken": tiktoken_toy,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--texts", type=int, default=6)
    parser.add_argument("--rule", help="the normaliser's table is that of this rule of sentencepiece")
    parser.add_argument("--only")
    parser.add_argument("--check")
    args = parser.parse_args()
    global TABLE
    TABLE = charsmap(args.rule)
    Path(args.file + ".table").write_bytes(TABLE)
    with open(args.file, "w", encoding="utf-8") as f:
        for name, make in MAKERS.items():
            if args.only and args.only != name:
                continue
            for i in range(args.rounds):
                toy = make(random.Random(f"{args.seed} {name} {i}"), args.texts)
                if toy:
                    f.write(json.dumps({"name": f"{name} {i}"} | toy, ensure_ascii=True) + "\n")
    if args.check:
        sys.exit(subprocess.run([args.check, args.file]).returncode)


main()
