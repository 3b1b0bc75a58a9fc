#!/usr/bin/env python3
"""Random models: valid blocks, the promised scales, the same file for the same seed."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import gguf  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)  # skipped


def decode(raw, kind):
    """float64 values of a tensor's bytes."""
    if kind == "F32":
        return raw.view("<f4").astype(np.float64)
    if kind == "F16":
        return raw.view("<f2").astype(np.float64)
    if kind == "BF16":
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    b = raw.reshape(-1, gguf.TYPES[kind][2])
    if kind in ("Q4_K", "Q5_K", "Q6_K", "Q5_0", "IQ4_NL"):
        return {"Q6_K": decode_q6_k, "Q5_0": decode_q5_0, "IQ4_NL": decode_iq4_nl}.get(kind, decode_k)(b)
    d = np.ascontiguousarray(b[:, :2]).view("<f2").astype(np.float64)
    if kind == "Q8_0":
        return (d * b[:, 2:].view(np.int8)).ravel()
    q = b[:, -16:]
    q = np.concatenate([q & 15, q >> 4], axis=1).astype(np.float64)
    if kind == "Q4_0":
        return (d * (q - 8)).ravel()
    return (d * q + np.ascontiguousarray(b[:, 2:4]).view("<f2").astype(np.float64)).ravel()


def halves(b, at):
    return np.ascontiguousarray(b[:, at:at + 2]).view("<f2").astype(np.float64)


def decode_k(b):
    """Q4_K, or Q5_K: the same with 32 bytes of fifth bits."""
    five, s, q = b.shape[1] == 176, b[:, 4:16], b[:, -128:].reshape(-1, 4, 32)
    scale = np.concatenate([s[:, :4] & 63, (s[:, 8:] & 15) | (s[:, :4] >> 6) << 4], axis=1).astype(np.float64)
    minimum = np.concatenate([s[:, 4:8] & 63, (s[:, 8:] >> 4) | (s[:, 4:8] >> 6) << 4], axis=1).astype(np.float64)
    q = np.stack([q & 15, q >> 4], axis=2).reshape(-1, 8, 32).astype(np.float64)
    if five:
        q += 16 * (b[:, None, 16:48] >> np.arange(8)[None, :, None] & 1)
    return ((halves(b, 0) * scale)[:, :, None] * q - (halves(b, 2) * minimum)[:, :, None]).ravel()


def decode_q6_k(b):
    low, high = b[:, :128].reshape(-1, 2, 2, 32), b[:, 128:192].reshape(-1, 2, 1, 32)
    q = np.concatenate([low & 15, low >> 4], axis=2) | (high >> np.array([0, 2, 4, 6])[None, None, :, None] & 3) << 4
    scale = b[:, 192:208].view(np.int8).astype(np.float64)
    return (halves(b, 208)[:, :, None] * scale[:, :, None] * (q.reshape(-1, 16, 16).astype(np.float64) - 32)).ravel()


def decode_q5_0(b):
    q = np.concatenate([b[:, 6:] & 15, b[:, 6:] >> 4], axis=1) | np.unpackbits(b[:, 2:6], axis=1, bitorder="little") << 4
    return (halves(b, 0) * (q.astype(np.float64) - 16)).ravel()


def decode_iq4_nl(b):
    values = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)
    return (halves(b, 0) * values[np.concatenate([b[:, 2:] & 15, b[:, 2:] >> 4], axis=1)]).ravel()


class MakeGguf(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def make(self, *options, name="m.gguf"):
        path = Path(self.dir.name) / name
        r = subprocess.run([sys.executable, BENCH / "make_gguf.py", "-o", path, *options], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path, json.loads(r.stdout)

    def values(self, path):
        """(metadata, {name: (Tensor, values)})"""
        meta, tensors = gguf.read(path)
        data = np.fromfile(path, np.uint8)
        padded = sum(t.bytes + -t.bytes % gguf.ALIGN for t in tensors)
        at, found = len(data) - padded, {}
        self.assertEqual(at % gguf.ALIGN, 0)
        for t in tensors:
            found[t.name] = (t, decode(data[at:at + t.bytes], t.type))
            at += t.bytes + -t.bytes % gguf.ALIGN
        return meta, found

    def test_scales_of_every_type(self):
        for kind in gguf.TYPES:
            path, said = self.make("--type", kind, "--layers", "2", "--hidden", "256", "--ffn", "768")
            _, found = self.values(path)
            self.assertEqual(said["weight_bytes"], sum(t.bytes for t, _ in found.values()))
            for name, (t, v) in found.items():
                self.assertTrue(np.isfinite(v).all(), name)
                if len(t.shape) == 1:
                    self.assertTrue(0.7 < v.min() and v.max() < 1.3, name)
                    continue
                gain = 0.5 if name.endswith(("attn_output.weight", "ffn_down.weight")) else 1.0
                want = 2.5 * 256 ** -0.5 if name.startswith("token_embd") else gain * t.shape[1] ** -0.5
                self.assertAlmostEqual(v.std() / want, 1, delta=0.04, msg=f"{kind} {name}")
                self.assertLess(abs(v.mean()), 0.03 * want, f"{kind} {name}")

    def test_same_seed_same_file(self):
        small = ("--layers", "1", "--type", "Q4_1")
        a, b, c = (self.make(*small, "--seed", s, name=n)[0] for s, n in (("5", "a"), ("5", "b"), ("6", "c")))
        self.assertEqual(a.read_bytes(), b.read_bytes())
        self.assertNotEqual(a.read_bytes(), c.read_bytes())

    def test_odd_shape(self):
        path, _ = self.make("--shape", "odd", "--layers", "1", "--arch", "qwen3", "--embd-type", "Q8_0")
        meta, found = self.values(path)
        self.assertEqual(meta["general.architecture"], "qwen3")
        self.assertEqual(meta["qwen3.attention.head_count"], 11)
        self.assertEqual(found["output.weight"][0].shape, (1003, 1056))
        self.assertEqual(found["output.weight"][0].type, "Q8_0")
        self.assertEqual(found["blk.0.ffn_down.weight"][0].shape, (1056, 2848))
        self.assertEqual(found["blk.0.attn_k_norm.weight"][0].shape, (96,))
        tokens = meta["tokenizer.ggml.tokens"]
        self.assertEqual((len(tokens), len(set(tokens))), (1003, 1003))
        self.assertTrue(all(a.replace(" ", "") in tokens for a in meta["tokenizer.ggml.merges"]))

    def test_experts(self):
        path, _ = self.make("--shape", "odd-moe", "--layers", "1", "--used", "2")
        meta, found = self.values(path)
        self.assertEqual([meta[f"qwen3moe.expert_{k}"] for k in ("count", "used_count", "feed_forward_length")], [13, 2, 352])
        self.assertEqual(found["blk.0.ffn_gate_inp.weight"][0].shape, (13, 1056))
        self.assertEqual(found["blk.0.ffn_gate_inp.weight"][0].type, "F32")
        self.assertEqual(found["blk.0.ffn_up_exps.weight"][0].shape, (13, 352, 1056))
        self.assertEqual(found["blk.0.ffn_down_exps.weight"][0].shape, (13, 1056, 352))
        self.assertNotIn("blk.0.ffn_up.weight", found)

    def test_refuses_what_no_file_can_hold(self):
        for options in (("--hidden", "100"), ("--heads", "3", "--kv-heads", "2"), ("--vocab", "256"), ("--head-dim", "63"),
                        ("--layers", "0"), ("--arch", "qwen3moe", "--used", "9")):
            path = Path(self.dir.name) / "bad.gguf"
            r = subprocess.run([sys.executable, BENCH / "make_gguf.py", "-o", path, *options], capture_output=True, text=True)
            self.assertEqual(r.returncode, 1, options)
            self.assertNotIn("Traceback", r.stderr)
            self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
