"""The settings that Kimi-K2-Thinking was published with: loaded, run with small widths, and refused with a list where
layers are missing."""
import os
import tempfile
import unittest

import cli
import kimi
from cli import EXACT, good, sluice

try:
    import numpy
except ImportError:
    numpy = None


class Kimi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def lacks(self, name, message, drop, layers=2):
        kimi.make(f"{self.folder}/{name}", kimi.config(num_hidden_layers=layers, **kimi.SMALL), range(2), drop=drop)
        r = sluice("info", f"{self.folder}/{name}")
        self.assertEqual((r.code, r.errors), (1, f"sluice: {self.folder}/{name}: missing tensor {message}\n"))

    def test_two_of_61_layers(self):
        """All that is missing on one line, whatever it is: 59 layers, each 384 experts with three matrices and 14 others."""
        kimi.make(f"{self.folder}/k", kimi.config(), range(2))
        for command in (("info",), ("logits", "--tokens", "1", "-o", f"{self.folder}/o.npy"), ("bench", "-p", "4")):
            r = sluice(command[0], f"{self.folder}/k", *command[1:])
            n = 59 * (384 * 3 + 14)
            self.assertEqual((r.code, r.errors),
                             (1, f"sluice: {self.folder}/k: missing tensor model.layers.2.input_layernorm.weight (architecture "
                              f"kimi_k2); {n:,} are missing in all: layers 2 to 60 are missing (59 layers, {n:,} tensors)\n"))

    def test_two_layers_at_full_size(self):
        """Nothing of the 14 GiB is touched to tell what is in them."""
        c = kimi.config(num_hidden_layers=2)
        size = kimi.make(f"{self.folder}/k", c, range(2))
        j = good("info", f"{self.folder}/k", "-c", "256", "--json", "--tensors").json
        shapes = kimi.matrices(c, range(2))
        self.assertEqual(j["n_params"], sum(max(rows, 1) * cols for _, rows, cols in shapes))
        self.assertEqual(j["weights_bytes"], size)
        experts = [m for m in shapes if ".experts." in m[0]]
        active = sum(max(r, 1) * c_ for n, r, c_ in shapes if ".experts." not in n) - (163840 - 1) * 7168
        self.assertEqual(j["experts"]["n_active_params"], active + sum(r * c_ for _, r, c_ in experts) // 384 * 8)
        self.assertEqual((j["n_layers"], j["n_ctx_train"], j["experts"]["count"], j["experts"]["used"]), (2, 262144, 384, 8))
        self.assertEqual(j["engine"]["kv_position_bytes"], 2 * (512 + 64) * 2)
        self.assertLess(os.stat(f"{self.folder}/k/model.safetensors").st_blocks * 512, 16 << 20)

    def test_what_is_missing(self):
        """Single tensors by kind, layers by number, and a sum of what has no room."""
        self.lacks("norm", "model.norm.weight (architecture kimi_k2)", lambda n: n == "model.norm.weight")
        self.lacks("o", "model.layers.0.self_attn.o_proj.weight or .weight_packed (architecture kimi_k2); 2 are missing in all: self_attn.o_proj.weight of "
                   "layers 0 to 1 (2 tensors)", lambda n: ".o_proj." in n)
        self.lacks("experts", "model.layers.1.mlp.experts.7.up_proj.weight or .weight_packed (architecture kimi_k2); 7 are "
                   "missing in all: mlp.experts.{7-9,30}.up_proj.weight of layer 1 (4 tensors); "
                   "mlp.experts.{3-5}.down_proj.weight of layer 1 (3 tensors)",
                   lambda n: any(f".{e}.up_proj" in n for e in (7, 8, 9, 30)) or any(f".{e}.down_proj" in n for e in (3, 4, 5)))
        self.lacks("layer", "model.norm.weight (architecture kimi_k2); 13 are missing in all: layer 0 is missing (12 tensors); "
                   "model.norm.weight", lambda n: n == "model.norm.weight" or ".layers.0." in n)
        self.lacks("between", "lm_head.weight or .weight_packed (architecture kimi_k2; tie_word_embeddings is not set); 2,346 are missing in all: layer 0 is missing "
                   "(12 tensors); layers 2 to 3 are missing (2 layers, 2,332 tensors); lm_head.weight; "
                   "mlp.gate.weight of layer 1 (1 tensor)", lambda n: n in ("lm_head.weight", "model.layers.1.mlp.gate.weight") or ".layers.0." in n, 4)
        self.lacks("one", "model.layers.1.mlp.experts.3.down_proj.weight or .weight_packed (architecture kimi_k2)",
                   lambda n: ".3.down_proj" in n)
        self.lacks("all", "model.layers.1.mlp.experts.0.gate_proj.weight or .weight_packed (architecture kimi_k2); 385 are missing in "
                   "all: mlp.experts.*.gate_proj.weight of layer 1 (384 tensors); mlp.experts.3.up_proj.weight of layer 1 (1 "
                   "tensor)", lambda n: ".experts." in n and ".gate_proj" in n or ".experts.3.up_proj" in n)
        r = self.make_and_info("much", lambda n: "norm" in n or "_a_proj" in n or "shared" in n or ".gate" in n, 60)
        self.assertRegex(r.errors, r"^sluice: \S+: missing tensor model.norm.weight \(architecture kimi_k2\); [\d,]+ are missing in all: layers "
                         r"2 to 59 are missing .*; [\w.*]+ and others \([\d,]+ tensors\)\n$")
        self.assertLess(len(r.errors), 520)

    def make_and_info(self, name, drop, layers):
        kimi.make(f"{self.folder}/{name}", kimi.config(num_hidden_layers=layers, **kimi.SMALL), range(2), drop=drop)
        return sluice("info", f"{self.folder}/{name}")

    def logits(self, name, *args):
        out = f"{self.folder}/{name}.npy"
        good("logits", f"{self.folder}/{name}", "--tokens", "1,200,3,77,511,0,42,42,9", "-o", out, *args)
        return cli.read_npy(out)[2]

    @unittest.skipUnless(numpy, "no numpy here")
    def test_small_widths_run(self):
        """INT4 as published, and the same experts in F32: one result, whether read at once or token by token."""
        c = kimi.config(num_hidden_layers=2, **kimi.SMALL)
        values = kimi.random_values("kimi")
        kimi.make(f"{self.folder}/int4", c, range(2), values=values)

        def widened(name, dtype, shape, size):
            if ".experts." not in name:
                return values(name, dtype, shape, size)
            rows, cols = shape
            stem = name.removesuffix("weight")
            words = numpy.frombuffer(values(f"{stem}weight_packed", "I32", None, rows * cols // 2), "<u4").reshape(rows, -1)
            q = (words[:, :, None] >> (4 * numpy.arange(8, dtype=numpy.uint32)) & 15).reshape(rows, cols).astype(numpy.float32) - 8
            s = numpy.frombuffer(values(f"{stem}weight_scale", "BF16", None, rows * cols // 16), "<u2").astype(numpy.uint32) << 16
            return (q * s.view(numpy.float32).reshape(rows, -1).repeat(32, axis=1)).astype("<f4").tobytes()
        kimi.make(f"{self.folder}/f32", c, range(2), int4=False, values=widened)
        a, b = self.logits("int4", *EXACT), self.logits("f32", *EXACT)
        most = max(map(abs, b))
        self.assertGreater(most, 0.01)
        self.assertLess(max(abs(x - y) for x, y in zip(a, b)), 2e-4 * most)
        self.assertEqual(a, self.logits("int4", *EXACT, "-ub", "1"))
        self.assertEqual(a, self.logits("int4", *EXACT, "--deploy", f"{os.path.dirname(os.path.dirname(cli.DATA))}/deploy/kimi-k2.yaml",
                                        "-ub", "4", "-t", "2"))
        rounded = self.logits("int4")  # 8-bit activations, f16 in the cache
        self.assertLess(sum(abs(x - y) for x, y in zip(a, rounded)) / len(a), 0.05 * most)


if __name__ == "__main__":
    cli.main()
