#!/usr/bin/env python3
"""convert_hf.py HF_FOLDER OUT BENCH_DIR - an f32 llama folder of Hugging Face form as a GGUF file.

For golden models that exist as folders only. Without numpy OUT is an empty file, which the test
takes as a reason to skip. GGUF wants the rows of q and k permuted: rope turns neighbouring pairs
there, and (i, i + d/2) in Transformers."""
import json
import os
import struct
import sys

folder, out, bench = sys.argv[1:]
sys.path.insert(0, bench)
import gguf  # noqa: E402

try:
    import numpy as np
except ImportError:
    open(out, "w").close()
    sys.exit(0)

config = json.load(open(os.path.join(folder, "config.json")))
raw = open(os.path.join(folder, "model.safetensors"), "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + n])


def load(name):
    begin, end = header[name]["data_offsets"]
    return np.frombuffer(raw, np.float32, (end - begin) // 4, 8 + n + begin).reshape(header[name]["shape"])


def pairs(w, heads):
    d = w.shape[0] // heads
    return w.reshape(heads, 2, d // 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
for i in range(config["num_hidden_layers"]):
    for ours, theirs in (("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"),
                         ("attn_v", "self_attn.v_proj"), ("attn_output", "self_attn.o_proj"),
                         ("ffn_norm", "post_attention_layernorm"), ("ffn_gate", "mlp.gate_proj"),
                         ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj")):
        names["blk.%d.%s" % (i, ours)] = "model.layers.%d.%s" % (i, theirs)

file = gguf.Header()
file.add("general.architecture", gguf.STRING, "llama")
file.add("general.name", gguf.STRING, os.path.basename(os.path.dirname(folder)))
for key, value in (("block_count", config["num_hidden_layers"]), ("context_length", config["max_position_embeddings"]),
                   ("embedding_length", config["hidden_size"]), ("feed_forward_length", config["intermediate_size"]),
                   ("attention.head_count", heads), ("attention.head_count_kv", kv_heads),
                   ("attention.key_length", config["head_dim"]), ("attention.value_length", config["head_dim"]),
                   ("rope.dimension_count", config["head_dim"])):
    file.add("llama." + key, gguf.U32, value)
file.add("llama.attention.layer_norm_rms_epsilon", gguf.F32, config["rms_norm_eps"])
file.add("llama.rope.freq_base", gguf.F32, config["rope_theta"])
scaling = config.get("rope_scaling")
if scaling:
    file.add("llama.rope.scaling.type", gguf.STRING, scaling["type"])
    file.add("llama.rope.scaling.factor", gguf.F32, scaling["factor"])

data = []
for ours, theirs in names.items():
    w = load(theirs + ".weight")
    if ours.endswith("attn_q"):
        w = pairs(w, heads)
    if ours.endswith("attn_k"):
        w = pairs(w, kv_heads)
    file.add_tensor(gguf.Tensor(ours + ".weight", w.shape, "F32"))
    data.append(np.ascontiguousarray(w).tobytes())
with open(out, "wb") as f:
    f.write(file.bytes())
    for block in data:
        f.write(block + bytes(-len(block) % gguf.ALIGN))
