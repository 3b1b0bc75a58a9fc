#!/usr/bin/env python3
"""Writes a random qwen3_moe model as a Hugging Face folder, its matrices quantised in one of the forms that repositories
ship, or not at all; or as GGUF. The same options and seed give the same weights whatever the form: 4 bits, one half-float
scale for each group, w = scale * (q - 8). So answers may be compared across forms, and speed on real sizes.

  make_hf.py --form gptq -o folder                           a small one
  make_hf.py --shape qwen3-30b-a3b --layers 6 --form ct -o folder
  make_hf.py --form gguf -o model.gguf                       Q4_0, which repeats the scale for each 32

Forms: f32 (the values), gptq, awq, ct (compressed-tensors, pack-quantized), gguf. Matrices are made one by one; memory
stays at a few of them. The vocabulary is the bytes and made-up words, so that an answer is a text. Needs numpy."""
import argparse
import json
import os
import struct
import zlib

import numpy as np

import gguf
from make_gguf import SHAPES, byte_letters

SMALL = dict(hidden=256, layers=2, heads=4, kv_heads=2, head_dim=64, ffn=512, vocab=320, experts=6, used=2, expert_ffn=128)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
DTYPES = {np.dtype(np.float32): "F32", np.dtype(np.float16): "F16", np.dtype(np.int32): "I32"}


def random(seed, name):
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def quantised(seed, name, rows, cols, group, gain):
    """(q [rows][cols] of 0..15, scale [rows][cols / group] of halves)"""
    r = random(seed, name)
    q = np.clip(np.rint(r.standard_normal((rows, cols), np.float32) * 2.6 + 8), 0, 15).astype(np.uint32)
    spread = r.uniform(0.5, 1.5, (rows, -(-cols // group))).astype(np.float32)
    return q, (gain * cols ** -0.5 / 2.6 * spread).astype(np.float16)


def packed(values):
    """8 neighbours of the last dimension in a word, from the lowest bits on."""
    v = values.reshape(*values.shape[:-1], -1, 8).astype(np.uint32)
    return np.bitwise_or.reduce(v << np.arange(0, 32, 4, dtype=np.uint32), axis=-1).astype(np.uint32).view(np.int32)


def gptq(q, scale):
    zeros = np.full(scale.T.shape, 7)
    return {"qweight": packed(q).T, "qzeros": packed(zeros), "scales": scale.T}


def awq(q, scale):
    order = lambda v: v.reshape(v.shape[0], -1, 8)[:, :, AWQ_ORDER].reshape(v.shape)
    return {"qweight": packed(order(q.T)), "qzeros": packed(np.full(scale.T.shape, 8)), "scales": scale.T}


def ct(q, scale):
    return {"weight_packed": packed(q), "weight_scale": scale, "weight_shape": np.array(q.shape, np.int32)}


def values(q, scale):
    group = -(-q.shape[1] // scale.shape[1])
    wide = np.repeat(scale.astype(np.float32), group, axis=1)[:, :q.shape[1]]
    return wide * (q.astype(np.float32) - 8)


def q4_0(q, scale):
    """Blocks of 32: the scale, then nibbles, those of the second half high."""
    rows, cols = q.shape
    d = np.repeat(scale, -(-cols // scale.shape[1]) // 32, axis=1)[:, :cols // 32]
    n = q.reshape(rows, cols // 32, 2, 16)
    nibbles = (n[:, :, 0] | n[:, :, 1] << 4).astype(np.uint8)
    return np.concatenate([d[:, :, None].view(np.uint8), nibbles], axis=2)


def matrices(s):
    """(name, name in GGUF, rows, cols, gain) of what is quantised"""
    q_rows, kv_rows = s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"]
    residual = (2 * s["layers"]) ** -0.5
    for i in range(s["layers"]):
        a, b = f"model.layers.{i}.self_attn.", f"blk.{i}.attn_"
        yield a + "q_proj", b + "q", q_rows, s["hidden"], 1.0
        yield a + "k_proj", b + "k", kv_rows, s["hidden"], 1.0
        yield a + "v_proj", b + "v", kv_rows, s["hidden"], 1.0
        yield a + "o_proj", b + "output", s["hidden"], q_rows, residual
        for kind, rows, cols, gain in (("gate", s["expert_ffn"], s["hidden"], 1.0), ("up", s["expert_ffn"], s["hidden"], 1.0),
                                       ("down", s["hidden"], s["expert_ffn"], residual)):
            for e in range(s["experts"]):
                yield f"model.layers.{i}.mlp.experts.{e}.{kind}_proj", f"blk.{i}.ffn_{kind}_exps", rows, cols, gain


def floats(s, seed):
    """(name, name in GGUF, values) of what is not"""
    def norm(n, name):
        return 1 + np.float32(0.05) * random(seed, name).standard_normal(n, np.float32)

    def table(name, rows, std):
        return np.float32(std) * random(seed, name).standard_normal((rows, s["hidden"]), np.float32)

    yield "model.embed_tokens", "token_embd", table("embed", s["vocab"], 1.0)
    for i in range(s["layers"]):
        p, g = f"model.layers.{i}.", f"blk.{i}."
        for name, theirs, n in (("input_layernorm", "attn_norm", s["hidden"]), ("post_attention_layernorm", "ffn_norm", s["hidden"]),
                                ("self_attn.q_norm", "attn_q_norm", s["head_dim"]), ("self_attn.k_norm", "attn_k_norm", s["head_dim"])):
            yield p + name, g + theirs, norm(n, p + name)
        yield p + "mlp.gate", g + "ffn_gate_inp", table(p + "mlp.gate", s["experts"], 2 * s["hidden"] ** -0.5)
    yield "model.norm", "output_norm", norm(s["hidden"], "norm")
    yield "lm_head", "output", table("head", s["vocab"], 2.5 * s["hidden"] ** -0.5)


def config(s, form, group):
    c = {"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "decoder_sparse_step": 1, "head_dim": s["head_dim"],
         "hidden_act": "silu", "hidden_size": s["hidden"], "intermediate_size": s["ffn"], "max_position_embeddings": 4096,
         "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": s["expert_ffn"], "norm_topk_prob": True,
         "num_attention_heads": s["heads"], "num_experts": s["experts"], "num_experts_per_tok": s["used"],
         "num_hidden_layers": s["layers"], "num_key_value_heads": s["kv_heads"], "rms_norm_eps": 1e-6, "rope_theta": 1e6,
         "tie_word_embeddings": False, "torch_dtype": "float16", "vocab_size": s["vocab"], "eos_token_id": 0}
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": group}
    quantization = {
        "gptq": {"quant_method": "gptq", "bits": 4, "group_size": group, "desc_act": False, "sym": True, "lm_head": False,
                 "checkpoint_format": "gptq"},
        "awq": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True},
        "ct": {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed",
               "ignore": ["lm_head", "re:.*mlp.gate$"],
               "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}},
    }
    return c | ({"quantization_config": quantization[form]} if form in quantization else {})


def vocabulary(n):
    """An end, the bytes, and words that no text becomes, since nothing is merged."""
    return ["<|end|>", *byte_letters(), *(f"\u0120w{i}" for i in range(257, n))]


def tokenizer(n):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": 0, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {token: i for i, token in enumerate(vocabulary(n))}, "merges": []}}


def write_folder(s, form, group, seed, out):
    make = {"gptq": gptq, "awq": awq, "ct": ct, "f32": lambda q, d: {"weight": values(q, d)}}[form]
    os.makedirs(out, exist_ok=True)
    header, end, body = {}, 0, os.path.join(out, "body")
    with open(body, "wb") as f:
        def put(name, v):
            nonlocal end
            v = np.ascontiguousarray(v)
            header[name] = {"dtype": DTYPES[v.dtype], "shape": v.shape, "data_offsets": [end, end + v.nbytes]}
            end += v.nbytes
            f.write(memoryview(v).cast("B"))

        for name, _, v in floats(s, seed):
            put(name + ".weight", v)
        for name, _, rows, cols, gain in matrices(s):
            for part, v in make(*quantised(seed, name, rows, cols, group, gain)).items():
                put(f"{name}.{part}", v)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(out, "model.safetensors"), "wb") as f, open(body, "rb") as b:
        f.write(struct.pack("<Q", len(text)) + text)
        while block := b.read(1 << 24):
            f.write(block)
    os.remove(body)
    with open(os.path.join(out, "config.json"), "w") as f:
        json.dump(config(s, form, group), f, indent=1)
    with open(os.path.join(out, "tokenizer.json"), "w") as f:
        json.dump(tokenizer(s["vocab"]), f)


def write_gguf(s, group, seed, out):
    h, arch = gguf.Header(), "qwen3moe"
    h.add("general.architecture", gguf.STRING, arch)
    for key, value in (("block_count", s["layers"]), ("context_length", 4096), ("embedding_length", s["hidden"]),
                       ("feed_forward_length", s["ffn"]), ("attention.head_count", s["heads"]),
                       ("attention.head_count_kv", s["kv_heads"]), ("attention.key_length", s["head_dim"]),
                       ("attention.value_length", s["head_dim"]), ("rope.dimension_count", s["head_dim"]),
                       ("vocab_size", s["vocab"]), ("expert_count", s["experts"]), ("expert_used_count", s["used"]),
                       ("expert_feed_forward_length", s["expert_ffn"])):
        h.add(f"{arch}.{key}", gguf.U32, value)
    h.add(f"{arch}.attention.layer_norm_rms_epsilon", gguf.F32, 1e-6)
    h.add(f"{arch}.rope.freq_base", gguf.F32, 1e6)
    h.add("tokenizer.ggml.model", gguf.STRING, "gpt2")
    h.add("tokenizer.ggml.pre", gguf.STRING, "gpt-2")
    h.add_array("tokenizer.ggml.tokens", gguf.STRING, vocabulary(s["vocab"]))
    h.add_array("tokenizer.ggml.token_type", gguf.I32, [3] + [1] * (s["vocab"] - 1))
    h.add_array("tokenizer.ggml.merges", gguf.STRING, [])
    h.add("tokenizer.ggml.eos_token_id", gguf.U32, 0)
    h.add("tokenizer.ggml.add_bos_token", gguf.BOOL, False)
    shapes = {}
    for _, name, rows, cols, _ in matrices(s):
        shapes[name] = (s["experts"], rows, cols) if "exps" in name else (rows, cols)
    for _, name, v in floats(s, seed):
        h.add_tensor(gguf.Tensor(name + ".weight", v.shape, "F32"))
    for name, shape in shapes.items():
        h.add_tensor(gguf.Tensor(name + ".weight", shape, "Q4_0"))
    with open(out, "wb") as f:
        f.write(h.bytes())
        for _, _, v in floats(s, seed):
            f.write(v.tobytes() + bytes(-v.nbytes % gguf.ALIGN))
        for name, _, rows, cols, gain in matrices(s):  # experts of a matrix one behind the other
            f.write(q4_0(*quantised(seed, name, rows, cols, group, gain)).tobytes())
            f.write(bytes(-f.tell() % gguf.ALIGN) if ".experts." not in name else b"")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--shape", choices=[k for k, v in SHAPES.items() if v["arch"] == "qwen3moe"])
    ap.add_argument("--layers", type=int)
    ap.add_argument("--group", type=int, default=128)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--form", choices=("f32", "gptq", "awq", "ct", "gguf"), required=True)
    ap.add_argument("-o", "--out", required=True)
    a = ap.parse_args()
    s = SMALL | (SHAPES[a.shape] if a.shape else {})
    s["layers"] = a.layers or s["layers"]
    if a.group % 32:
        ap.error(f"groups of {a.group}: no multiple of 32")
    if a.form == "gguf":
        write_gguf(s, a.group, a.seed, a.out)
    else:
        write_folder(s, a.form, a.group, a.seed, a.out)


if __name__ == "__main__":
    main()
