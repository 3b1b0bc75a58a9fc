#!/usr/bin/env python3
"""Writes GGUF models with random weights, in the shapes of real models or in odd ones.

Their text is noise. They exist to measure speed on a real model's sizes without its
download, and to test on shapes that no small real model has.

  make_gguf.py --shape qwen3-0.6b --type Q4_0 -o qwen3-0.6b-q4_0.gguf
  make_gguf.py --shape odd --type Q8_0 --arch qwen3 -o odd.gguf
  make_gguf.py --hidden 512 --layers 2 --heads 8 --kv-heads 2 --head-dim 64 --ffn 1376 -o small.gguf

The same options and seed give the same file, byte for byte. Every tensor has a random
stream of its own (named after it), drawn 16 bits at a time and looked up in a table of
65,536 Gaussian quantiles in the stored type, so making a file costs about as much as
writing it, and memory stays at a few tens of MB.

Scales, so that values stay near 1 through any depth: weights have standard deviation
1 / sqrt(columns), the two that write to the residual stream a further 1 / sqrt(2 layers);
norms are 1 +- 0.05; logits have standard deviation of about LOGIT_STD.

Needs numpy. One JSON object on stdout says what was written.
"""
import argparse
import json
import os
import sys
import zlib
from statistics import NormalDist

import gguf

try:
    import numpy as np
except ImportError:
    sys.exit("make_gguf.py needs numpy: apt-get install python3-numpy, or pip install numpy")

SHAPES = {
    "qwen3-0.6b": dict(arch="qwen3", hidden=1024, layers=28, heads=16, kv_heads=8, head_dim=128,
                       ffn=3072, vocab=151936, tied=True),
    "qwen3-4b": dict(arch="qwen3", hidden=2560, layers=36, heads=32, kv_heads=8, head_dim=128,
                     ffn=9728, vocab=151936, tied=True),
    "qwen3-30b-a3b": dict(arch="qwen3moe", hidden=2048, layers=48, heads=32, kv_heads=4, head_dim=128,
                          ffn=6144, vocab=151936, tied=False, experts=128, used=8, expert_ffn=768),
    # Wide enough for every kernel's main loop, and no size a multiple of a vector's or a
    # tile's: 33 and 89 blocks of 32, 11 query heads on one KV head, 1,003 words.
    "odd": dict(arch="llama", hidden=1056, layers=3, heads=11, kv_heads=1, head_dim=96,
                ffn=2848, vocab=1003, tied=False),
    # The same for types of super-blocks: rows of 5, 3 and 11 of them, 12 query heads on one KV head.
    "odd-k": dict(arch="llama", hidden=1280, layers=2, heads=12, kv_heads=1, head_dim=64,
                  ffn=2816, vocab=1003, tied=False),
    # Experts 11 blocks of 32 wide, 3 of 13 for a token; for types of super-blocks 1 wide.
    "odd-moe": dict(arch="qwen3moe", hidden=1056, layers=3, heads=11, kv_heads=1, head_dim=96,
                    ffn=2848, vocab=1003, tied=False, experts=13, used=3, expert_ffn=352),
    "odd-moe-k": dict(arch="qwen3moe", hidden=1280, layers=2, heads=12, kv_heads=1, head_dim=64,
                      ffn=2816, vocab=1003, tied=False, experts=13, used=3, expert_ffn=256),
}
LOGIT_STD = 2.5
IQ4_VALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
CHUNK = 1 << 22  # values made at a time


# ---- random values in the stored types -------------------------------------------------

def quantiles():
    """65,536 equally likely values of the standard normal distribution, from low to high: a
    random 16-bit index makes a random normal number."""
    half = np.array([NormalDist().inv_cdf((i + 0.5) / 65536) for i in range(32768)], np.float32)
    return np.concatenate([half, -half[::-1]])


def to_bf16(v):
    bits = v.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


class Tables:
    """What a 16-bit random number becomes, per stored type."""

    def __init__(self):
        self.gauss = quantiles()
        # Integers of a block for unit-variance data: the largest of 32 normal values is about
        # 2.1 (half the time) and goes to the end of the range.
        self.q8 = np.clip(np.rint(self.gauss * (127 / 2.1)), -127, 127).astype(np.int8)
        nibble = np.clip(np.rint(self.gauss[128::256] * (8 / 2.1)), -8, 7).astype(np.int8) + 8
        byte = np.arange(65536)
        self.q4 = (nibble[byte & 255] | nibble[byte >> 8] << 4).astype(np.uint8)
        # Whole numbers of 5 and 6 bits, and the codes of IQ4_NL, one for each random number
        self.q5 = (np.clip(np.rint(self.gauss * (16 / 2.1)), -16, 15) + 16).astype(np.uint8)
        self.q6 = (np.clip(np.rint(self.gauss * (32 / 2.1)), -32, 31) + 32).astype(np.uint8)
        self.iq4 = np.abs(self.gauss[:, None] * (127 / 2.1) - np.array(IQ4_VALUES, np.float32)).argmin(axis=1).astype(np.uint8)
        self.small = (38 + (np.arange(65536) % 26)).astype(np.uint8)  # a scale of 6 bits, from 38 to 63
        q = np.concatenate([(self.q4 & 15), (self.q4 >> 4)]).astype(np.float64)
        # What remains of mean and deviation after clipping and rounding
        self.q4_mean, self.q4_std = q.mean(), q.std()
        self.q8_std = self.q8.astype(np.float64).std()
        # Block scales vary by a fifth and take either sign, as quantisers write them
        spread = 0.8 + 0.4 * (np.arange(65536) >> 1) / 32768
        self.scale = (spread * np.where(np.arange(65536) & 1, 1, -1)).astype(np.float32)

    def block_scale(self, bits, std):
        return (self.scale[bits] * np.float32(std)).astype(np.float16)


def bytes_of(numbers):
    """Of one number per row."""
    return numbers.reshape(-1, 1).view(np.uint8)


def nibbles(q, half):
    """Runs of 2 * half numbers: the first half in low nibbles, the second in high ones."""
    q = q.reshape(-1, 2, half) & 15
    return q[:, 0] | q[:, 1] << 4


def encode_k(tables, draw, blocks, std, five):
    """Q4_K and Q5_K: w = d * scale * q - dmin * minimum; the minimum is the scale's equal and dmin takes the mean out."""
    q = tables.q5[draw(blocks * 256)] if five else tables.q4[draw(blocks * 128)]
    mean, dev = (tables.q5.mean(), tables.q5.std()) if five else (tables.q4_mean, tables.q4_std)
    small = tables.small[draw(blocks * 8)].reshape(-1, 8)
    rms = np.sqrt((tables.small.astype(np.float64) ** 2).mean())
    d = tables.block_scale(draw(blocks), std / (dev * rms))
    packed = np.empty((blocks, 12), np.uint8)
    packed[:, :4] = packed[:, 4:8] = small[:, :4] | (small[:, 4:] >> 4) << 6
    packed[:, 8:] = (small[:, 4:] & 15) * 17
    parts = [bytes_of(d), bytes_of((d.astype(np.float32) * np.float32(mean)).astype(np.float16)), packed]
    if five:
        q = q.reshape(blocks, 8, 32)
        parts.append((((q >> 4) & 1) << np.arange(8, dtype=np.uint8)[None, :, None]).sum(axis=1, dtype=np.uint8))
        q = nibbles(q, 32)
    return np.concatenate([*parts, q.reshape(blocks, 128)], axis=1)


def encode_q6_k(tables, draw, blocks, std):
    q = tables.q6[draw(blocks * 256)].reshape(blocks, 2, 4, 32)  # halves of four groups
    sign = draw(blocks * 16)
    scale = (2 * tables.small[sign].astype(np.int8) * np.where(sign & 256, 1, -1).astype(np.int8)).reshape(blocks, 16)
    rms = np.sqrt((4 * tables.small.astype(np.float64) ** 2).mean())
    d = tables.block_scale(draw(blocks), std / (rms * tables.q6.astype(np.float64).std()))
    low = (q[:, :, :2] & 15) | (q[:, :, 2:] & 15) << 4
    high = ((q >> 4) << np.array([0, 2, 4, 6], np.uint8)[None, None, :, None]).sum(axis=2, dtype=np.uint8)
    return np.concatenate([low.reshape(blocks, 128), high.reshape(blocks, 64), scale.view(np.uint8), bytes_of(d)], axis=1)


def encode_q5_0(tables, draw, blocks, std):
    q = tables.q5[draw(blocks * 32)].reshape(blocks, 32)
    d = tables.block_scale(draw(blocks), std / tables.q5.astype(np.float64).std())
    return np.concatenate([bytes_of(d), np.packbits(q >> 4, axis=1, bitorder="little"), nibbles(q, 16)], axis=1)


def encode_iq4_nl(tables, draw, blocks, std):
    q = tables.iq4[draw(blocks * 32)]
    d = tables.block_scale(draw(blocks), std / np.array(IQ4_VALUES, np.float64)[tables.iq4].std())
    return np.concatenate([bytes_of(d), nibbles(q, 16)], axis=1)


def encode(tables, kind, draw, n, std):
    """n random values as stored bytes."""
    if kind == "F32":
        return tables.gauss[draw(n)] * np.float32(std)
    if kind == "F16":
        return (tables.gauss * np.float32(std)).astype(np.float16)[draw(n)]
    if kind == "BF16":
        return to_bf16(tables.gauss * np.float32(std))[draw(n)]
    if kind in ("Q4_K", "Q5_K"):
        return encode_k(tables, draw, n // 256, std, kind == "Q5_K")
    if kind == "Q6_K":
        return encode_q6_k(tables, draw, n // 256, std)
    blocks = n // 32
    if kind == "Q5_0":
        return encode_q5_0(tables, draw, blocks, std)
    if kind == "IQ4_NL":
        return encode_iq4_nl(tables, draw, blocks, std)
    if kind == "Q8_0":
        out = np.empty((blocks, 34), np.uint8)
        out[:, :2] = tables.block_scale(draw(blocks), std / tables.q8_std).view(np.uint8).reshape(-1, 2)
        out[:, 2:] = tables.q8[draw(n)].view(np.uint8).reshape(-1, 32)
        return out
    lead = 2 if kind == "Q4_0" else 4
    out = np.empty((blocks, lead + 16), np.uint8)
    d = tables.block_scale(draw(blocks), std / tables.q4_std)
    out[:, :2] = d.view(np.uint8).reshape(-1, 2)
    if kind == "Q4_1":  # w = d * q + m: m takes the mean out
        m = (d.astype(np.float32) * np.float32(-tables.q4_mean)).astype(np.float16)
        out[:, 2:4] = m.view(np.uint8).reshape(-1, 2)
    out[:, lead:] = tables.q4[draw(n // 2)].reshape(-1, 16)
    return out


def stream(seed, name):
    """A function draw(n): n random 16-bit numbers. numpy promises the raw stream of a bit
    generator to stay the same, but not what its distributions make of it."""
    bits = np.random.SFC64(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
    return lambda n: bits.random_raw((n + 3) // 4).view(np.uint16)[:n]


# ---- the model -------------------------------------------------------------------------

def tensor_list(s, kind, embd_kind):
    """(tensor, standard deviation or None for a norm), in file order."""
    width, q_rows, kv_rows = s["hidden"], s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"]
    to_residual = (2 * s["layers"]) ** -0.5
    head_std = LOGIT_STD * width ** -0.5
    out = []

    def matrix(name, rows, cols, gain=1.0):
        out.append((gguf.Tensor(name, (rows, cols), kind), gain * cols ** -0.5))

    def norm(name, n):
        out.append((gguf.Tensor(name, (n,), "F32"), None))

    out.append((gguf.Tensor("token_embd.weight", (s["vocab"], width), embd_kind), head_std if s["tied"] else 1.0))
    for i in range(s["layers"]):
        p = f"blk.{i}."
        norm(p + "attn_norm.weight", width)
        matrix(p + "attn_q.weight", q_rows, width)
        matrix(p + "attn_k.weight", kv_rows, width)
        matrix(p + "attn_v.weight", kv_rows, width)
        if s["arch"] != "llama":
            norm(p + "attn_q_norm.weight", s["head_dim"])
            norm(p + "attn_k_norm.weight", s["head_dim"])
        matrix(p + "attn_output.weight", width, q_rows, to_residual)
        norm(p + "ffn_norm.weight", width)
        if s["arch"] == "qwen3moe":
            n, inner = s["experts"], s["expert_ffn"]
            out.append((gguf.Tensor(p + "ffn_gate_inp.weight", (n, width), "F32"), 2 * width ** -0.5))
            for name, rows, cols, gain in (("gate", inner, width, 1.0), ("up", inner, width, 1.0), ("down", width, inner, to_residual)):
                out.append((gguf.Tensor(p + f"ffn_{name}_exps.weight", (n, rows, cols), kind), gain * cols ** -0.5))
            continue
        matrix(p + "ffn_gate.weight", s["ffn"], width)
        matrix(p + "ffn_up.weight", s["ffn"], width)
        matrix(p + "ffn_down.weight", width, s["ffn"], to_residual)
    norm("output_norm.weight", width)
    if not s["tied"]:
        out.append((gguf.Tensor("output.weight", (s["vocab"], width), embd_kind), head_std))
    return out


def byte_letters():
    """The letter that stands for each byte in byte-level BPE (GPT-2's table): printable
    Latin-1 stands for itself, the other 68 bytes take the letters from U+0100 on."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(0x100 + others.index(b)) for b in range(256)]


def toy_vocabulary(n):
    """(tokens, kinds, merges): an end token, the bytes, pairs of small letters, unused fillers."""
    normal, control, unused = 1, 3, 5
    if n < 257:
        sys.exit(f"a vocabulary of {n}: at least 257 for the bytes and an end token")
    tokens, kinds = ["<|end|>", *byte_letters()], [control] + [normal] * 256
    small = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [(a, b) for a in small for b in small][:n - 257]
    tokens += [a + b for a, b in pairs]
    kinds += [normal] * len(pairs)
    fill = range(len(tokens), n)
    tokens += [f"<|unused {i}|>" for i in fill]
    kinds += [unused] * len(fill)
    return tokens, kinds, [f"{a} {b}" for a, b in pairs]


def header(s, name, kind, tensors):
    h, arch = gguf.Header(), s["arch"]
    h.add("general.architecture", gguf.STRING, arch)
    h.add("general.name", gguf.STRING, name)
    h.add("general.description", gguf.STRING, "random weights")
    h.add("general.file_type", gguf.U32, gguf.FILE_TYPES[kind])
    if kind.startswith(("Q", "IQ")):
        h.add("general.quantization_version", gguf.U32, 2)
    for key, value in (("block_count", s["layers"]), ("context_length", s["ctx"]),
                       ("embedding_length", s["hidden"]), ("feed_forward_length", s["ffn"]),
                       ("attention.head_count", s["heads"]), ("attention.head_count_kv", s["kv_heads"]),
                       ("attention.key_length", s["head_dim"]), ("attention.value_length", s["head_dim"]),
                       ("rope.dimension_count", s["head_dim"]), ("vocab_size", s["vocab"])):
        h.add(f"{arch}.{key}", gguf.U32, value)
    if arch == "qwen3moe":
        for key, value in (("count", s["experts"]), ("used_count", s["used"]), ("feed_forward_length", s["expert_ffn"])):
            h.add(f"{arch}.expert_{key}", gguf.U32, value)
    h.add(f"{arch}.attention.layer_norm_rms_epsilon", gguf.F32, 1e-6)
    h.add(f"{arch}.rope.freq_base", gguf.F32, s["rope_base"])
    tokens, kinds, merges = toy_vocabulary(s["vocab"])
    h.add("tokenizer.ggml.model", gguf.STRING, "gpt2")
    h.add("tokenizer.ggml.pre", gguf.STRING, s["pre"])
    h.add_array("tokenizer.ggml.tokens", gguf.STRING, tokens)
    h.add_array("tokenizer.ggml.token_type", gguf.I32, kinds)
    h.add_array("tokenizer.ggml.merges", gguf.STRING, merges)
    h.add("tokenizer.ggml.bos_token_id", gguf.U32, 0)
    h.add("tokenizer.ggml.eos_token_id", gguf.U32, 0)
    h.add("tokenizer.ggml.add_bos_token", gguf.BOOL, False)
    for t, _ in tensors:
        h.add_tensor(t)
    return h


def write_data(f, tensors, seed):
    tables = Tables()
    for t, std in tensors:
        draw = stream(seed, t.name)
        left = t.elements
        while left:
            n = min(left, CHUNK)
            if std is None:
                data = 1 + np.float32(0.05) * tables.gauss[draw(n)]
            else:
                data = encode(tables, t.type, draw, n, std)
            f.write(memoryview(np.ascontiguousarray(data)).cast("B"))
            left -= n
        f.write(bytes(-t.bytes % gguf.ALIGN))


def shape_of(a):
    s = dict(SHAPES[a.shape]) if a.shape else dict(arch="llama", hidden=256, layers=2, heads=4, kv_heads=2,
                                                   head_dim=64, ffn=672, vocab=1003, tied=True)
    for key in ("arch", "hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "vocab"):
        if getattr(a, key) is not None:
            s[key] = getattr(a, key)
    if a.tied is not None:
        s["tied"] = a.tied == "yes"
    if s["arch"] == "qwen3moe":
        for key, default in (("experts", 8), ("used", 2), ("expert_ffn", s["ffn"] // 4)):
            given = getattr(a, key)
            s[key] = given if given is not None else s.get(key, default)
        if not 1 <= s["used"] <= s["experts"] or s["expert_ffn"] < 1:
            sys.exit(f"{s['used']} of {s['experts']} experts of width {s['expert_ffn']}")
    s.update(ctx=a.ctx, rope_base=a.rope_base, pre=a.pre)
    if any(s[k] < 1 for k in ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "ctx")):
        sys.exit("every size must be at least 1")
    if s["heads"] % s["kv_heads"]:
        sys.exit(f"{s['heads']} heads are no multiple of {s['kv_heads']} KV heads")
    if s["head_dim"] % 2:
        sys.exit(f"head_dim {s['head_dim']}: rope turns pairs, so it must be even")
    return s


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--shape", choices=sorted(SHAPES))
    ap.add_argument("--type", default="Q4_0", choices=sorted(gguf.TYPES), help="of all matrices")
    ap.add_argument("--embd-type", choices=sorted(gguf.TYPES), help="of the embedding and the head; default: as --type")
    ap.add_argument("--arch", choices=("llama", "qwen3", "qwen3moe"))
    for opt in ("hidden", "layers", "heads", "kv-heads", "head-dim", "ffn", "vocab", "experts", "used", "expert-ffn"):
        ap.add_argument("--" + opt, type=int)
    ap.add_argument("--tied", choices=("yes", "no"), help="the head is the embedding")
    ap.add_argument("--ctx", type=int, default=40960)
    ap.add_argument("--rope-base", type=float, default=1e6)
    ap.add_argument("--pre", default="default", help="tokenizer.ggml.pre")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("-o", "--out", required=True)
    a = ap.parse_args()
    s = shape_of(a)
    tensors = tensor_list(s, a.type, a.embd_type or a.type)
    try:
        head = header(s, f"random {a.shape or 'model'} {a.type}", a.type, tensors).bytes()
    except ValueError as e:
        sys.exit(str(e))
    part = a.out + ".part"  # a half-written file never has the final name
    with open(part, "wb") as f:
        f.write(head)
        write_data(f, tensors, a.seed)
    os.replace(part, a.out)
    print(json.dumps({"file": a.out, "parameters": sum(t.elements for t, _ in tensors),
                      "weight_bytes": sum(t.bytes for t, _ in tensors)}))


if __name__ == "__main__":
    main()
