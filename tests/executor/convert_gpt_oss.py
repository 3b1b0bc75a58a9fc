#!/usr/bin/env python3
"""convert_gpt_oss.py HF_FOLDER OUT BENCH_DIR - a gpt_oss folder as the GGUF file that llama.cpp's converter makes of it.

Experts are floats, inputs first, or 4-bit blocks beside their scales. GGUF keeps outputs first, gate and up apart, and in a
block of MXFP4 the scale's exponent before 16 bytes of which byte i holds the elements i and i + 16; in the folder those are
2i and 2i + 1. Without numpy OUT is an empty file, which the test takes as a reason to skip."""
import json
import os
import struct
import sys

folder, out, bench = sys.argv[1:4]
sys.path.insert(0, bench)
import gguf  # noqa: E402

try:
    import numpy as np
except ImportError:
    open(out, "w").close()
    sys.exit(0)

gguf.TYPES["MXFP4"] = (39, 32, 17)
config = json.load(open(os.path.join(folder, "config.json")))
raw = open(os.path.join(folder, "model.safetensors"), "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + n])


def load(name):
    begin, end = header[name]["data_offsets"]
    kind = {"F32": np.float32, "BF16": np.uint16, "U8": np.uint8}[header[name]["dtype"]]
    v = np.frombuffer(raw[8 + n + begin:8 + n + end], kind).reshape(header[name]["shape"])
    return (v.astype(np.uint32) << 16).view(np.float32) if kind == np.uint16 else v


def blocks_of(name):
    """uint8 [E][rows][17 * blocks]"""
    q, e = load(name + "_blocks"), load(name + "_scales")
    q = np.stack([q & 15, q >> 4], axis=-1).reshape(*q.shape[:3], 32)
    q = np.concatenate([e[..., None], q[..., :16] | q[..., 16:] << 4], axis=-1).astype(np.uint8)
    return q.reshape(*q.shape[:2], -1)


tensors = {}
for ours, theirs in (("token_embd.weight", "model.embed_tokens.weight"), ("output_norm.weight", "model.norm.weight"),
                     ("output.weight", "lm_head.weight")):
    tensors[ours] = load(theirs)
for i in range(config["num_hidden_layers"]):
    b, l = f"blk.{i}.", f"model.layers.{i}."
    for ours, theirs in (("attn_norm.weight", "input_layernorm.weight"), ("attn_sinks.weight", "self_attn.sinks"),
                         ("post_attention_norm.weight", "post_attention_layernorm.weight"),
                         ("ffn_gate_inp.weight", "mlp.router.weight"), ("ffn_gate_inp.bias", "mlp.router.bias")):
        tensors[b + ours] = load(l + theirs)
    for ours, theirs in (("attn_q", "q_proj"), ("attn_k", "k_proj"), ("attn_v", "v_proj"), ("attn_output", "o_proj")):
        for kind in (".weight", ".bias"):
            tensors[b + ours + kind] = load(l + "self_attn." + theirs + kind)
    x = l + "mlp.experts."
    for name, parts in (("gate_up_proj", ("gate", "up")), ("down_proj", ("down",))):
        whole = load(x + name).swapaxes(1, 2) if x + name in header else blocks_of(x + name)
        for part, ours in enumerate(parts):
            tensors[b + f"ffn_{ours}_exps.weight"] = whole[:, part::len(parts)]
            tensors[b + f"ffn_{ours}_exps.bias"] = load(x + name + "_bias")[:, part::len(parts)]

arch, scaling = "gpt-oss", config["rope_scaling"]
file = gguf.Header()
file.add("general.architecture", gguf.STRING, arch)
file.add("general.name", gguf.STRING, "tiny gpt-oss")
for key, value in (("block_count", config["num_hidden_layers"]), ("context_length", config["max_position_embeddings"]),
                   ("embedding_length", config["hidden_size"]), ("feed_forward_length", config["intermediate_size"]),
                   ("expert_feed_forward_length", config["intermediate_size"]), ("expert_count", config["num_local_experts"]),
                   ("expert_used_count", config["num_experts_per_tok"]), ("attention.head_count", config["num_attention_heads"]),
                   ("attention.head_count_kv", config["num_key_value_heads"]), ("attention.key_length", config["head_dim"]),
                   ("attention.value_length", config["head_dim"]), ("attention.sliding_window", config["sliding_window"]),
                   ("rope.scaling.original_context_length", scaling["original_max_position_embeddings"])):
    file.add(f"{arch}.{key}", gguf.U32, value)
file.add(f"{arch}.attention.layer_norm_rms_epsilon", gguf.F32, config["rms_norm_eps"])
file.add(f"{arch}.rope.freq_base", gguf.F32, config["rope_theta"])
file.add(f"{arch}.rope.scaling.type", gguf.STRING, scaling["rope_type"])
file.add(f"{arch}.rope.scaling.factor", gguf.F32, scaling["factor"])

data = []
for name, w in tensors.items():
    packed = w.dtype == np.uint8
    shape = (*w.shape[:2], w.shape[2] // 17 * 32) if packed else w.shape
    file.add_tensor(gguf.Tensor(name, shape, "MXFP4" if packed else "F32"))
    data.append(np.ascontiguousarray(w).tobytes())
with open(out, "wb") as f:
    f.write(file.bytes())
    for block in data:
        f.write(block + bytes(-len(block) % gguf.ALIGN))
