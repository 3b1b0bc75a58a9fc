#!/usr/bin/env python3
"""convert_hf.py HF_FOLDER OUT BENCH_DIR [GOLDEN] - an f32 llama-like folder of Hugging Face form as a GGUF file.

For golden models that exist as folders only: llama, mistral with its window, and qwen2. Without numpy OUT is an empty file,
which the test takes as a reason to skip. GGUF wants the rows of q and k of a llama permuted: rope turns neighbouring pairs
there, and (i, i + d/2) in Transformers. qwen2 has an architecture of its own, without that.

With GOLDEN, a folder to be made, the model becomes a llama, whose matrices may all have biases: they are added to the
others too, and GOLDEN/golden gets what dense_reference.py computes from them, once that has shown that it agrees with the
folder's own golden."""
import json
import math
import os
import struct
import sys

folder, out, bench = sys.argv[1:4]
sys.path.insert(0, bench)
import gguf  # noqa: E402

try:
    import numpy as np
    import dense_reference
except ImportError:
    open(out, "w").close()
    sys.exit(0)

config = json.load(open(os.path.join(folder, "config.json")))
raw = open(os.path.join(folder, "model.safetensors"), "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + n])
heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
width = config.get("head_dim", config["hidden_size"] // heads)
config["head_dim"] = width


def load(name):
    begin, end = header[name]["data_offsets"]
    return np.frombuffer(raw, np.float32, (end - begin) // 4, 8 + n + begin).reshape(header[name]["shape"])


def pairs(w, heads):
    d = w.shape[0] // heads
    return w.reshape(heads, 2, d // 2, -1).swapaxes(1, 2).reshape(w.shape)


def llama3_divisors(scaling):
    """How Llama 3 stretches each frequency; source: Transformers, modeling_rope_utils.py."""
    context, factor = scaling["original_max_position_embeddings"], scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = context / (2 * math.pi * config["rope_theta"] ** (np.arange(0, width, 2) / width))
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).astype(np.float32)


tensors = {"token_embd.weight": load("model.embed_tokens.weight"), "output_norm.weight": load("model.norm.weight")}
if "lm_head.weight" in header:
    tensors["output.weight"] = load("lm_head.weight")
for i in range(config["num_hidden_layers"]):
    for ours, theirs in (("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"),
                         ("attn_v", "self_attn.v_proj"), ("attn_output", "self_attn.o_proj"),
                         ("ffn_norm", "post_attention_layernorm"), ("ffn_gate", "mlp.gate_proj"),
                         ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj")):
        for kind in ("weight", "bias"):
            if f"model.layers.{i}.{theirs}.{kind}" in header:
                tensors[f"blk.{i}.{ours}.{kind}"] = load(f"model.layers.{i}.{theirs}.{kind}")
if len(sys.argv) > 4:
    dense_reference.check(tensors, config, folder)
    random = np.random.default_rng(1)
    for i in range(config["num_hidden_layers"]):
        for name in ("attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            tensors[f"blk.{i}.{name}.bias"] = random.standard_normal(tensors[f"blk.{i}.{name}.weight"].shape[0]).astype(np.float32)
    dense_reference.write_golden(tensors, config, folder, sys.argv[4])

scaling = config.get("rope_scaling") or {}
kind = scaling.get("rope_type", scaling.get("type"))
arch = "qwen2" if config["model_type"] == "qwen2" and len(sys.argv) <= 4 else "llama"
file = gguf.Header()
file.add("general.architecture", gguf.STRING, arch)
file.add("general.name", gguf.STRING, os.path.basename(os.path.dirname(folder)))
for key, value in (("block_count", config["num_hidden_layers"]), ("context_length", config["max_position_embeddings"]),
                   ("embedding_length", config["hidden_size"]), ("feed_forward_length", config["intermediate_size"]),
                   ("attention.head_count", heads), ("attention.head_count_kv", kv_heads),
                   ("attention.key_length", width), ("attention.value_length", width), ("rope.dimension_count", width)):
    file.add(f"{arch}.{key}", gguf.U32, value)
file.add(f"{arch}.attention.layer_norm_rms_epsilon", gguf.F32, config["rms_norm_eps"])
file.add(f"{arch}.rope.freq_base", gguf.F32, config["rope_theta"])
if config.get("sliding_window"):
    file.add(f"{arch}.attention.sliding_window", gguf.U32, config["sliding_window"])
if kind == "llama3":
    tensors["rope_freqs.weight"] = llama3_divisors(scaling)
elif kind:
    file.add(f"{arch}.rope.scaling.type", gguf.STRING, kind)
    file.add(f"{arch}.rope.scaling.factor", gguf.F32, scaling["factor"])

data = []
for name, w in tensors.items():
    if ".attn_q." in name and arch == "llama":
        w = pairs(w, heads)
    if ".attn_k." in name and arch == "llama":
        w = pairs(w, kv_heads)
    file.add_tensor(gguf.Tensor(name, w.shape, "F32"))
    data.append(np.ascontiguousarray(w).tobytes())
with open(out, "wb") as f:
    f.write(file.bytes())
    for block in data:
        f.write(block + bytes(-len(block) % gguf.ALIGN))
