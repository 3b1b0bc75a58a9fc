"""kimi.py SLUICE - folders with the settings that Kimi-K2-Thinking was published with, made up weights; run as a program:
two of its layers at full size (14 GiB of holes, nothing on the disk), prompts read and tokens generated.

Settings: config.json of moonshotai/Kimi-K2-Thinking. Its experts are INT4 in groups of 32 with bf16 scales, all else bf16.
"""
import copy
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config",
                 "AutoModel": "modeling_deepseek.DeepseekV3Model",
                 "AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM"},
    "aux_loss_alpha": 0.001, "bos_token_id": 163584, "dtype": "bfloat16", "eos_token_id": 163586, "ep_size": 1,
    "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02,
    "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 262144, "model_type": "kimi_k2",
    "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1,
    "norm_topk_prob": True, "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 64, "num_nextn_predict_layers": 0, "pad_token_id": 163839, "pretraining_tp": 1,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "quantization_config": {
        "config_groups": {"group_0": {
            "input_activations": None, "output_activations": None, "targets": ["Linear"],
            "weights": {"actorder": None, "block_structure": None, "dynamic": False, "group_size": 32, "num_bits": 4,
                        "observer": "minmax", "observer_kwargs": {}, "strategy": "group", "symmetric": True,
                        "type": "int"}}},
        "format": "pack-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                                               r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"],
        "kv_cache_scheme": None, "quant_method": "compressed-tensors", "quantization_status": "compressed"},
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"beta_fast": 1.0, "beta_slow": 1.0, "factor": 64.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                     "original_max_position_embeddings": 4096, "type": "yarn"},
    "rope_theta": 50000.0, "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "seq_aux": True,
    "tie_word_embeddings": False, "topk_group": 1, "topk_method": "noaux_tc", "transformers_version": "4.57.1",
    "use_cache": True, "v_head_dim": 128, "vocab_size": 163840}
# Widths that a test can hold; every other value stays.
SMALL = {"hidden_size": 224, "intermediate_size": 576, "moe_intermediate_size": 64, "q_lora_rank": 48, "vocab_size": 512}


def config(**changes):
    return {**copy.deepcopy(CONFIG), **changes}


def matrices(c, layers):
    """(name without .weight, rows, columns; 0 rows: a vector), of the layers given."""
    D, H, E = c["hidden_size"], c["num_attention_heads"], c["n_routed_experts"]
    nope, rope, v = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    Q, L = c["q_lora_rank"], c["kv_lora_rank"]

    def block(prefix, width):
        return [(f"{prefix}.{k}_proj", width, D) for k in ("gate", "up")] + [(f"{prefix}.down_proj", D, width)]
    out = [("model.embed_tokens", c["vocab_size"], D), ("model.norm", 0, D), ("lm_head", c["vocab_size"], D)]
    for i in layers:
        at, a, mlp = f"model.layers.{i}", f"model.layers.{i}.self_attn", f"model.layers.{i}.mlp"
        out += [(f"{at}.input_layernorm", 0, D), (f"{at}.post_attention_layernorm", 0, D), (f"{a}.q_a_proj", Q, D),
                (f"{a}.q_a_layernorm", 0, Q), (f"{a}.q_b_proj", H * (nope + rope), Q),
                (f"{a}.kv_a_proj_with_mqa", L + rope, D), (f"{a}.kv_a_layernorm", 0, L),
                (f"{a}.kv_b_proj", H * (nope + v), L), (f"{a}.o_proj", D, H * v)]
        if i < c["first_k_dense_replace"]:
            out += block(mlp, c["intermediate_size"])
            continue
        out += [(f"{mlp}.gate", E, D), (f"{mlp}.gate.e_score_correction_bias", 0, E)]
        out += block(f"{mlp}.shared_experts", c["moe_intermediate_size"] * c["n_shared_experts"])
        for e in range(E):
            out += block(f"{mlp}.experts.{e}", c["moe_intermediate_size"])
    return out


def stored(name, rows, cols, int4):
    """The tensors that hold a matrix or vector: name, dtype, shape, bytes."""
    if int4 and ".experts." in name:
        return [(f"{name}.weight_packed", "I32", [rows, cols // 8], rows * cols // 2),
                (f"{name}.weight_scale", "BF16", [rows, cols // 32], rows * cols // 16),
                (f"{name}.weight_shape", "I32", [2], 8)]
    dtype, size = ("F32", 4) if name.endswith("_bias") or (not int4 and ".experts." in name) else ("BF16", 2)
    full = name if name.endswith("_bias") else f"{name}.weight"
    shape = [rows, cols] if rows else [cols]
    return [(full, dtype, shape, size * max(rows, 1) * cols)]


def make(folder, settings, layers, int4=True, values=None, drop=lambda name: False):
    """Write a folder with the layers given. values(name, dtype, shape, bytes): their bytes; None: holes, zeros but for the
    shapes. Returns the bytes of the tensors."""
    os.makedirs(folder)
    if not int4:
        settings = {k: v for k, v in settings.items() if k != "quantization_config"}
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(settings, f)
    tensors = [(m[1:], t) for m in matrices(settings, layers) for t in stored(*m, int4) if not drop(t[0])]
    header, at = {}, 0
    for _, (name, dtype, shape, size) in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        begin = f.tell()
        for whole, (name, dtype, shape, size) in tensors:
            if name.endswith(".weight_shape"):
                f.seek(begin + header[name]["data_offsets"][0])
                f.write(struct.pack("<2i", *whole))
            elif values:
                f.seek(begin + header[name]["data_offsets"][0])
                f.write(values(name, dtype, shape, size))
        f.truncate(begin + at)
    return at


def bf16(rng, n, exponents):
    """n bf16 numbers of random sign and mantissa with these exponents, as bytes."""
    high = bytes((sign << 7) | (e >> 1) for sign in (0, 1) for e in exponents)
    out = bytearray(2 * n)
    out[0::2] = rng.randbytes(n)
    out[1::2] = rng.randbytes(n).translate(bytes(high[i % len(high)] for i in range(256)))
    return bytes(out)


def random_values(seed):
    """Weights around 0.01, norms around 1, scales of INT4 that are positive."""
    def values(name, dtype, shape, size):
        rng = random.Random(f"{seed} {name}")
        if name.endswith(".weight_packed"):
            return rng.randbytes(size)
        if name.endswith(".weight_scale"):
            return bytes(b & 0x7f if i % 2 else b for i, b in enumerate(bf16(rng, size // 2, (116, 117))))
        if "layernorm" in name or name == "model.norm.weight":
            return struct.pack("<H", 0x3f80) * (size // 2)
        if dtype == "F32":
            return b"".join(struct.pack("<f", rng.uniform(-0.1, 0.1)) for _ in range(size // 4))
        return bf16(rng, size // 2, (120, 121))
    return values


def main():
    sluice = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        size = make(f"{folder}/kimi", config(num_hidden_layers=2), range(2))
        print(f"{size / 2**30:.1f} GiB of weights, all zero, for two of 61 layers")
        subprocess.run([sluice, "info", f"{folder}/kimi", "-c", "4096"], check=True)
        out = subprocess.run([sluice, "bench", f"{folder}/kimi", "-p", "16", "-n", "4", "-r", "1", "--json", "-q"],
                             check=True, stdout=subprocess.PIPE).stdout
        j = json.loads(out)
        print("prompt", j["pp"][0]["tok_s"], "tokens/s, generated", j["tg"][0]["tok_s"], "tokens/s")


if __name__ == "__main__":
    main()
