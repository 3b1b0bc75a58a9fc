#!/usr/bin/env python3
"""Small tokenizers of every make, trained on the spot by `tokenizers` and `sentencepiece`, which then judge ours.

    python3 tests/tokenizer/trained.py SLUICE [--texts N] [--seed S] [--only NAME]

Each step that a tokenizer.json may hold and each switch of a SentencePiece model occurs in some of them.
"""
import argparse
import io
import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

pypi.need(*pypi.TOKENIZERS)
import sentencepiece  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers as N, pre_tokenizers as P, processors, trainers  # noqa: E402

import published  # noqa: E402
from published import CL100K, KIMI, Json, Spm  # noqa: E402
from texts import SENTENCES  # noqa: E402

CORPUS = [s.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r") for s in SENTENCES for _ in range(3)]
CORPUS += (Path(__file__).resolve().parent.parent / "data" / "smollm2" / "perplexity" / "text.txt").read_text().split("\n")[:400]
ADDED = [
    AddedToken("<s>", special=True, normalized=False),
    AddedToken("</s>", special=True, normalized=False),
    AddedToken("<|im_start|>", special=True, normalized=False),
    AddedToken("<|im_start|>user", special=True, normalized=False),
    AddedToken("<think>", special=False, normalized=False),
    AddedToken("<left>", special=False, normalized=False, lstrip=True),
    AddedToken("<right>", special=True, normalized=False, rstrip=True),
    AddedToken("<both>", special=True, normalized=False, lstrip=True, rstrip=True),
    AddedToken("word", special=False, normalized=False, single_word=True),
    AddedToken("Größe", special=False, normalized=True),
    AddedToken("fox jumps", special=False, normalized=True, rstrip=True),
]


def split(pattern, behavior="isolated", invert=False):
    return P.Split(Regex(pattern), behavior, invert)


def byte_level(prefix=False, regex=False):
    return P.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def seq(*steps):
    return P.Sequence(list(steps))


LLAMA_DECODER = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
GEMMA_DECODER = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
DEEPSEEK = seq(split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"),
               split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
                     "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"), byte_level())  # fmt: skip
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def byte_makes():
    """name -> normalizer, pre-tokenizer; BPE over GPT-2's alphabet"""
    yield "gpt2", None, byte_level(regex=True)
    yield "gpt2-prefix", None, byte_level(prefix=True, regex=True)
    yield "smollm", None, seq(P.Digits(True), byte_level(regex=True))
    yield "qwen", N.NFC(), seq(split(CL100K.replace("{1,3}", "")), byte_level())
    yield "llama3", None, seq(split(CL100K), byte_level())
    yield "kimi", None, seq(split(KIMI), byte_level())
    yield "deepseek", N.Sequence([]), DEEPSEEK
    yield "falcon", None, seq(P.Punctuation("contiguous"), byte_level(regex=True), P.Digits(False), split("[0-9][0-9][0-9]"))
    yield "bloom", None, seq(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), byte_level())
    yield "claude", N.NFKC(), byte_level(regex=True)
    yield "bytes-first", None, seq(byte_level(), split(r"\p{L}+"), P.Digits(True))
    yield "prefix-each", None, seq(P.WhitespaceSplit(), byte_level(prefix=True, regex=True))
    for behavior, invert in itertools.product(BEHAVIORS, [False, True]):
        yield f"split-{behavior}{'-invert' if invert else ''}", None, seq(split(r"\s+|\p{N}+|[aeiou]", behavior, invert), byte_level())
    for behavior in BEHAVIORS:
        yield f"punctuation-{behavior}", None, seq(P.Punctuation(behavior), byte_level())
    yield "literal", None, seq(P.Split(" ", "merged_with_next"), P.CharDelimiterSplit("e"), byte_level())
    yield "whitespace", N.Lowercase(), seq(P.Whitespace(), byte_level())
    yield "nfd", N.NFD(), byte_level(regex=True)
    yield "nfkd-strip", N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase(), N.Strip()]), byte_level(regex=True)
    yield "nmt-replace", N.Sequence([N.Nmt(), N.Replace(Regex(r"\s{2,}"), " "), N.Replace("``", '"'), N.Prepend("x")]), byte_level(regex=True)
    yield "fixed", None, seq(P.FixedLength(5), byte_level())


def char_makes():
    """name -> normalizer, pre-tokenizer, decoder; models over characters"""
    yield "llama2", N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), None, LLAMA_DECODER
    yield "gemma", N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), GEMMA_DECODER
    for scheme, cut in itertools.product(["first", "always", "never"], [True, False]):
        yield (f"metaspace-{scheme}{'-split' if cut else ''}", None, P.Metaspace(prepend_scheme=scheme, split=cut),
               decoders.Metaspace(prepend_scheme=scheme, split=cut))  # fmt: skip
    yield "xlm", N.NFKC(), seq(P.WhitespaceSplit(), P.Metaspace()), decoders.Metaspace()
    yield "plain", N.Lowercase(), P.Whitespace(), None


def train(model, trainer, normalizer, pre, decoder):
    tok = Tokenizer(model)
    if normalizer:
        tok.normalizer = normalizer
    if pre:
        tok.pre_tokenizer = pre
    if decoder:
        tok.decoder = decoder
    tok.train_from_iterator(CORPUS, trainer)
    return tok


def finished(tok, path, change=lambda data: None):
    tok.add_tokens(ADDED[4:])
    tok.add_special_tokens(ADDED[:4] + [t for t in ADDED[4:] if t.special])
    data = json.loads(tok.to_str())
    change(data)
    path.write_text(json.dumps(data, ensure_ascii=False))
    return Json(path)


def with_bytes(data):
    """byte_fallback needs the 256 byte tokens; a trainer makes none."""
    model = data["model"]
    if isinstance(model["vocab"], dict):
        keep = {t: i for t, i in model["vocab"].items() if i < 1000}
        model["vocab"] = {f"<0x{b:02X}>": 20000 + b for b in range(256)} | keep
        model["merges"] = [m for m in model["merges"] if "".join(m) in keep]
        known = model["vocab"]
    else:
        model["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        known = {piece: i for i, (piece, _) in enumerate(model["vocab"])}
    # The library numbers what the model has not behind the model's tokens, whatever the file says.
    size = len(model["vocab"])
    for t in data["added_tokens"]:
        t["id"] = known.get(t["content"], size)
        size += t["id"] == size
    model["byte_fallback"] = True


def judges(place):
    alphabet = P.ByteLevel.alphabet()
    for name, normalizer, pre in byte_makes():
        def byte_bpe(name=name, normalizer=normalizer, pre=pre):
            trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False)
            tok = train(models.BPE(ignore_merges=name == "llama3"), trainer, normalizer, pre, decoders.ByteLevel())
            return finished(tok, place / f"{name}.json")
        yield name, byte_bpe
    for name, normalizer, pre, decoder in char_makes():
        def char_bpe(normalizer=normalizer, pre=pre, decoder=decoder, name=name, fuse=False, fallback=False):
            trainer = trainers.BpeTrainer(vocab_size=1000, special_tokens=["<unk>"], limit_alphabet=200, show_progress=False)
            tok = train(models.BPE(unk_token="<unk>", fuse_unk=fuse), trainer, normalizer, pre, decoder)
            return finished(tok, place / f"bpe-{name}-{fuse}-{fallback}.json", with_bytes if fallback else lambda d: None)
        yield f"bpe-{name}", char_bpe
        yield f"bpe-{name}-fuse", lambda make=char_bpe: make(fuse=True)
        yield f"bpe-{name}-bytes", lambda make=char_bpe: make(fallback=True)

        def unigram(normalizer=normalizer, pre=pre, decoder=decoder, name=name, fallback=False):
            trainer = trainers.UnigramTrainer(vocab_size=700, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
            tok = train(models.Unigram(), trainer, normalizer, pre, decoder)
            return finished(tok, place / f"unigram-{name}-{fallback}.json", with_bytes if fallback else lambda d: None)
        yield f"unigram-{name}", unigram
        yield f"unigram-{name}-bytes", lambda make=unigram: make(fallback=True)
    for kind, rule in itertools.product(["bpe", "unigram"], ["nmt_nfkc", "identity", "nfkc_cf"]):
        for k, switches in enumerate([
            {}, {"byte_fallback": True}, {"remove_extra_whitespaces": False}, {"add_dummy_prefix": False, "byte_fallback": True},
            {"treat_whitespace_as_suffix": True}, {"user_defined_symbols": ["<sep>", "▁▁", "fox", "12"], "byte_fallback": True},
            {"remove_extra_whitespaces": False, "split_digits": True, "allow_whitespace_only_pieces": True, "byte_fallback": True},
            {"split_by_whitespace": False}, {"control_symbols": ["<ctl>"], "unk_surface": " U ", "unk_id": 3, "bos_id": 0, "eos_id": 1, "pad_id": 2},
        ]):  # fmt: skip
            def spm(kind=kind, rule=rule, switches=switches, k=k):
                out = io.BytesIO()
                sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, vocab_size=900, model_type=kind,
                    normalization_rule_name=rule, character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, **switches)  # fmt: skip
                path = place / f"spm-{kind}-{rule}-{k}.model"
                path.write_bytes(out.getvalue())
                return Spm(path)
            yield f"spm-{kind}-{rule}-{k}", spm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("--texts", type=int, default=200, help="for each tokenizer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="tokenizers whose name holds this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one in N of them")
    args = parser.parse_args()
    args.sluice, args.points = shutil.which(args.sluice) or args.sluice, False
    bad = n = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, make in itertools.islice(judges(Path(tmp)), 0, None, args.every):
            if args.only and not any(part in name for part in args.only):
                continue
            judge = make()
            for path in list(judge.files.values()):
                judge.files = {"tokenizer.json" if path.suffix == ".json" else "tokenizer.model": path}
            bad += published.check(name, judge, args) > 0
            n += 1
    print(f"{n} tokenizers, {bad} with differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
