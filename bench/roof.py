"""What a test must read and compute, and the time that the machine's roof allows for it.

  T_roof = max(bytes / read bandwidth,
               sum over weight types of linear operations / that type's peak
               + attention operations / f32 peak)

bytes: every tensor that a step reads, once per step (of experts those that tokens would hit at random), and the keys and values of each
sequence; of an embedding that is not the head only the rows looked up. Operations: a
multiply-add is 2. A prompt needs logits at its last position only.
"""
import re
from collections import defaultdict
from dataclasses import dataclass, field

import gguf

KV_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "int8": 1}
KV_SCALE_BYTES = {"int8": 4}  # beside each key and each value

# The instruction sequence that bounds a product of these weights with what the engine
# multiplies them by. `f32`: whatever --act f32 or float weights use, and attention.
YARDSTICKS = {
    "avx2": {"f32": "fma_avx2_f32", "Q8_0": "int8_avx2_madd16", "IQ4_NL": "int8_avx2_madd16",
             **dict.fromkeys(("Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q5_K", "Q6_K"), "int8_avx2_maddubs_paired")},
}


@dataclass
class Test:
    """pp512: 512 prompt tokens. tg64@4096x8: 64 steps of 8 sequences that hold 4,096 tokens each."""
    name: str
    kind: str
    n: int
    depth: int = 0
    seqs: int = 1

    def command(self, min_s):
        c = {"test": self.kind, "n": self.n, "min_s": min_s}
        if self.kind == "tg":
            c.update(depth=self.depth, seqs=self.seqs)
        return c

    @property
    def tokens(self):
        return self.n * self.seqs


def parse_test(text):
    m = re.fullmatch(r"pp([1-9]\d*)|tg([1-9]\d*)(?:@(\d+))?(?:x([1-9]\d*))?", text)
    if not m:
        raise ValueError(f"test {text!r}: ppN or tgN[@DEPTH][xSEQS] expected")
    if m[1]:
        return Test(text, "pp", int(m[1]))
    return Test(text, "tg", int(m[2]), int(m[3] or 0), int(m[4] or 1))


@dataclass
class Cost:
    """Of one run of a test."""
    bytes: int = 0
    linear: dict = field(default_factory=lambda: defaultdict(int))  # weight type -> operations
    attention: int = 0


class Model:
    def __init__(self, path):
        meta, tensors = gguf.read(path)
        arch = meta["general.architecture"]
        self.context = meta.get(f"{arch}.context_length", 1 << 24)
        self.layers = meta[f"{arch}.block_count"]
        self.heads = meta[f"{arch}.attention.head_count"]
        self.kv_heads = meta.get(f"{arch}.attention.head_count_kv", self.heads)
        width = meta[f"{arch}.embedding_length"] // self.heads
        self.key_width = meta.get(f"{arch}.attention.key_length", width)
        self.value_width = meta.get(f"{arch}.attention.value_length", width)
        for t in tensors:
            if t.type not in gguf.TYPES:
                raise ValueError(f"{path}: tensor {t.name} has {t.type}, which no yardstick is known for")
        by_name = {t.name: t for t in tensors}
        self.embedding = by_name["token_embd.weight"]
        self.head = by_name.get("output.weight", self.embedding)
        self.experts = meta.get(f"{arch}.expert_count", 0)
        self.used = meta.get(f"{arch}.expert_used_count", 0)
        self.body = [t for t in tensors if t not in (self.embedding, self.head)]

    def _linear(self, cost, tensor, tokens):
        if len(tensor.shape) > 1:
            cost.linear[tensor.type] += 2 * tensor.elements * tokens

    def cost(self, test, kv, ubatch):
        steps = test.n if test.kind == "tg" else -(-test.n // ubatch)
        head_steps, head_tokens = (steps, test.tokens) if test.kind == "tg" else (1, 1)
        c = Cost()
        for t in self.body:
            if len(t.shape) == 3:  # one matrix for each expert, of which those are read that random picks would hit
                hit = 1 - (1 - self.used / self.experts) ** (test.tokens / steps)
                c.bytes += round(steps * t.bytes * hit)
                self._linear(c, t, test.tokens * self.used / self.experts)
            else:
                c.bytes += steps * t.bytes
                self._linear(c, t, test.tokens)
        c.bytes += head_steps * self.head.bytes
        self._linear(c, self.head, head_tokens)
        if self.head is not self.embedding:
            c.bytes += test.tokens * self.embedding.bytes // self.embedding.shape[0]
        # How many positions a sequence's attention loads, and how many pairs it computes
        if test.kind == "tg":
            pairs = loaded = sum(test.depth + i + 1 for i in range(test.n)) * test.seqs
        else:
            pairs = test.n * (test.n + 1) // 2
            loaded = sum(min(test.n, (i + 1) * ubatch) for i in range(steps))
        widths = self.key_width + self.value_width
        c.bytes += loaded * self.layers * self.kv_heads * (widths * KV_BYTES[kv] + 2 * KV_SCALE_BYTES.get(kv, 0))
        c.attention = pairs * self.layers * self.heads * widths * 2
        return c


def yardstick(isa, act, weight_type):
    table = YARDSTICKS[isa]
    return table["f32"] if act == "f32" else table.get(weight_type, table["f32"])


def main_peak(cost, isa, act):
    """The peak that most operations of the test are held against."""
    by_peak = defaultdict(int)
    for weight_type, ops in cost.linear.items():
        by_peak[yardstick(isa, act, weight_type)] += ops
    return max(by_peak, key=by_peak.get)


def roof_seconds(cost, isa, act, read_gb_s, peaks):
    """peaks: yardstick name -> 1e9 operations a second."""
    compute = sum(ops / peaks[yardstick(isa, act, t)] for t, ops in cost.linear.items())
    compute += cost.attention / peaks[YARDSTICKS[isa]["f32"]]
    return 1e-9 * max(cost.bytes / read_gb_s, compute)
