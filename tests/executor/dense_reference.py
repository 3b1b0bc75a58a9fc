"""A dense llama in numpy and double precision, every position at once, for golden values of what no published reference
run is at hand. It is held against one that is (check) before it is believed.

Tensors have GGUF's names, their rows are not permuted: rope rotates (i, i + d/2)."""
import json
import os

import numpy as np

GREEDY = 24


def norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def rope(x, base):
    """x [T][heads][d]"""
    d = x.shape[2]
    angle = np.arange(len(x))[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :d // 2], x[..., d // 2:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def logits(tensors, config, ids):
    """float64 [len(ids)][vocabulary]"""
    heads, kv_heads, d = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    eps, T = config["rms_norm_eps"], len(ids)

    def linear(x, name):
        y = x @ tensors[name + ".weight"].astype(np.float64).T
        return y + tensors[name + ".bias"] if name + ".bias" in tensors else y

    hidden = tensors["token_embd.weight"].astype(np.float64)[ids]
    later = np.triu(np.full((T, T), -np.inf), 1)
    for i in range(config["num_hidden_layers"]):
        p = f"blk.{i}."
        x = norm(hidden, tensors[p + "attn_norm.weight"], eps)
        q = rope(linear(x, p + "attn_q").reshape(T, heads, d), config["rope_theta"])
        k = rope(linear(x, p + "attn_k").reshape(T, kv_heads, d), config["rope_theta"]).repeat(heads // kv_heads, axis=1)
        v = linear(x, p + "attn_v").reshape(T, kv_heads, d).repeat(heads // kv_heads, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(d) + later
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        hidden = hidden + linear(np.einsum("hqk,khd->qhd", weights, v).reshape(T, heads * d), p + "attn_output")
        x = norm(hidden, tensors[p + "ffn_norm.weight"], eps)
        gate = linear(x, p + "ffn_gate")
        hidden = hidden + linear(gate / (1 + np.exp(-gate)) * linear(x, p + "ffn_up"), p + "ffn_down")
    x = norm(hidden, tensors["output_norm.weight"], eps)
    return x @ tensors.get("output.weight", tensors["token_embd.weight"]).astype(np.float64).T


def prompts(folder):
    return json.load(open(os.path.join(folder, "golden", "manifest.json")))["prompts"]


def check(tensors, config, folder):
    for p in prompts(folder):
        want = np.load(os.path.join(folder, "golden", p["logits"]))
        off = np.abs(logits(tensors, config, p["ids"]) - want).max()
        if not off < 5e-5 * p["max_abs_logit"]:
            raise SystemExit(f"{folder}: the reference in numpy is off by {off}")


def write_golden(tensors, config, folder, out):
    os.makedirs(os.path.join(out, "golden"), exist_ok=True)
    listed = []
    for p in prompts(folder):
        values = logits(tensors, config, p["ids"])
        ids, margin = list(p["ids"]), float("inf")
        for _ in range(GREEDY):
            last = logits(tensors, config, ids)[-1]
            first, second = np.argsort(-last)[:2]
            margin = min(margin, float(last[first] - last[second]))
            ids.append(int(first))
        np.save(os.path.join(out, "golden", p["logits"]), values.astype(np.float32))
        listed.append({"name": p["name"], "ids": p["ids"], "logits": p["logits"], "greedy": ids[len(p["ids"]):],
                       "greedy_min_margin": margin, "max_abs_logit": float(np.abs(values).max())})
    with open(os.path.join(out, "golden", "manifest.json"), "w") as f:
        json.dump({"prompts": listed}, f)
