"""Checkpoints as large as published ones that take no place on the disk: headers, and holes for the weights."""
import json
import os
import struct
import sys

from cli import DATA

sys.path.insert(0, os.environ["BENCH_FOLDER"])
import gguf  # noqa: E402


def write_shards(folder, layers, experts, width=1024, expert_width=128, shards=61):
    """A Kimi-K2 with so many layers and experts: a folder with an index. Returns (tensors, bytes)."""
    with open(f"{DATA}/hf/kimi_k2/f32/config.json", encoding="utf-8") as f:
        config = json.load(f)
    config.update(num_hidden_layers=layers, n_routed_experts=experts, hidden_size=width, moe_intermediate_size=expert_width,
                  torch_dtype="bfloat16")
    tensors = [("model.embed_tokens.weight", (256, width)), ("model.norm.weight", (width,)), ("lm_head.weight", (256, width))]
    for i in range(layers):
        rows = [("input_layernorm", (width,)), ("post_attention_layernorm", (width,)), ("self_attn.q_a_proj", (32, width)),
                ("self_attn.q_a_layernorm", (32,)), ("self_attn.q_b_proj", (96, 32)), ("self_attn.kv_a_layernorm", (32,)),
                ("self_attn.kv_a_proj_with_mqa", (40, width)), ("self_attn.kv_b_proj", (128, 32)),
                ("self_attn.o_proj", (width, 64))]
        blocks = [("mlp", 96)] if i == 0 else [("mlp.shared_experts", expert_width)]
        blocks += [(f"mlp.experts.{e}", expert_width) for e in range(experts)] if i else []
        for name, inner in blocks:
            rows += [(f"{name}.gate_proj", (inner, width)), (f"{name}.up_proj", (inner, width)),
                     (f"{name}.down_proj", (width, inner))]
        tensors += [(f"model.layers.{i}.{name}.weight", shape) for name, shape in rows]
        if i:
            tensors += [(f"model.layers.{i}.mlp.gate.weight", (experts, width)),
                        (f"model.layers.{i}.mlp.gate.e_score_correction_bias", (experts,))]
    os.makedirs(folder)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    weight_map, total = {}, 0
    for s in range(shards):
        name = f"model-{s + 1:05d}-of-{shards:05d}.safetensors"
        header, at = {}, 0
        for tensor, shape in tensors[s * len(tensors) // shards:(s + 1) * len(tensors) // shards]:
            size = 2 * (shape[0] * shape[1] if len(shape) == 2 else shape[0])
            header[tensor] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
            weight_map[tensor] = name
            at += size
        raw = json.dumps(header).encode()
        raw += b" " * (-len(raw) % 8)
        with open(f"{folder}/{name}", "wb") as f:
            f.write(struct.pack("<Q", len(raw)) + raw)
            f.truncate(8 + len(raw) + at)
        total += at
    with open(f"{folder}/model.safetensors.index.json", "w", encoding="utf-8") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, f)
    return len(tensors), total


def write_gguf(path, layers, width=1024, ffn=4096):
    """A llama of so many layers in F16. Returns (tensors, bytes)."""
    h = gguf.Header()
    h.add("general.architecture", gguf.STRING, "llama")
    for key, value in (("block_count", layers), ("embedding_length", width), ("feed_forward_length", ffn),
                       ("attention.head_count", 8), ("attention.head_count_kv", 8), ("context_length", 256),
                       ("vocab_size", 256)):
        h.add("llama." + key, gguf.U32, value)
    h.add("llama.attention.layer_norm_rms_epsilon", gguf.F32, 1e-5)
    matrices = [("attn_q", width, width), ("attn_k", width, width), ("attn_v", width, width), ("attn_output", width, width),
                ("ffn_gate", ffn, width), ("ffn_up", ffn, width), ("ffn_down", width, ffn)]
    h.add_tensor(gguf.Tensor("token_embd.weight", (256, width), "F16"))
    h.add_tensor(gguf.Tensor("output_norm.weight", (width,), "F32"))
    for i in range(layers):
        for name, rows, cols in matrices:
            h.add_tensor(gguf.Tensor(f"blk.{i}.{name}.weight", (rows, cols), "F16"))
        for name in ("attn_norm", "ffn_norm"):
            h.add_tensor(gguf.Tensor(f"blk.{i}.{name}.weight", (width,), "F32"))
    head = h.bytes()
    total = sum(t.bytes for t in h.tensors)
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + total)
    return len(h.tensors), total
