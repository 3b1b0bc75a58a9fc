"""A model for what measures models: its headers, with nothing behind them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import gguf  # noqa: E402


def write_headers(path, layers=2, tied=True, context=None):
    """A model without its data: 64 wide, 4 heads of 16 on 2 KV heads, FFN of 96, 288 words, Q4_0
    with a Q8_0 embedding."""
    h = gguf.Header()
    h.add("general.architecture", gguf.STRING, "llama")
    for key, value in (("block_count", layers), ("embedding_length", 64), ("attention.head_count", 4),
                       ("attention.head_count_kv", 2)):
        h.add("llama." + key, gguf.U32, value)
    if context:
        h.add("llama.context_length", gguf.U32, context)
    h.add_array("tokenizer.ggml.tokens", gguf.STRING, ["a", "é"])
    h.add_tensor(gguf.Tensor("token_embd.weight", (288, 64), "Q8_0"))
    for i in range(layers):
        for name, rows, cols in (("attn_q", 64, 64), ("attn_k", 32, 64), ("attn_v", 32, 64), ("attn_output", 64, 64),
                                 ("ffn_gate", 96, 64), ("ffn_up", 96, 64), ("ffn_down", 64, 96)):
            h.add_tensor(gguf.Tensor(f"blk.{i}.{name}.weight", (rows, cols), "Q4_0"))
        h.add_tensor(gguf.Tensor(f"blk.{i}.attn_norm.weight", (64,), "F32"))
    if not tied:
        h.add_tensor(gguf.Tensor("output.weight", (288, 64), "Q8_0"))
    path.write_bytes(h.bytes())
