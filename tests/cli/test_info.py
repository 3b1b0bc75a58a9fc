"""`sluice info`: what it says agrees with the file and with itself."""
import json
import math
import os
import re
import shutil
import struct
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, good

QWEN3 = f"{DATA}/gguf/qwen3-small-BF16/qwen3-small-BF16.gguf"


class Info(unittest.TestCase):
    def test_json(self):
        for path, arch, formats in [(LLAMA, "llama", "Q4_0 + F32"), (QWEN3, "qwen3", "BF16 + F32")]:
            j = good("info", path, "--json", "--tensors").json
            self.assertEqual((j["arch"], j["path"], j["formats"]), (arch, path, formats))
            self.assertEqual(j["file_bytes"], os.path.getsize(path))
            self.assertEqual(len(j["tensors"]), j["n_tensors"])
            self.assertEqual(sum(t["bytes"] for t in j["tensors"]), j["weights_bytes"])
            memory = j["engine"]["memory"]
            self.assertEqual(memory["total"], sum(memory[k] for k in ("weights", "kv", "workspace", "rest")))

    def test_context_and_kv_type(self):
        def kv(*args):
            return good("info", LLAMA, "--json", *args).json["engine"]["memory"]["kv"]
        self.assertEqual(kv("-c", "512"), 2 * kv("-c", "256"))
        self.assertEqual(kv("-c", "256", "--kv-type", "f32"), 2 * kv("-c", "256"))
        # a byte for each number, and a scale of four for each head of C
        j = good("info", LLAMA, "--json").json
        width = j["d_model"] // j["n_heads"]
        self.assertEqual(kv("-c", "256", "--kv-type", "int8") * 2 * width, kv("-c", "256") * (width + 4))
        self.assertEqual(kv("-c", "256", "--kv-layout", "token"), kv("-c", "256"))
        self.assertIn("int8, token", good("info", LLAMA, "--kv-type", "int8", "--kv-layout", "token").text)

    def test_text(self):
        text = good("info", LLAMA).text
        for word in (LLAMA, "llama", "attn_q", "Q4_0", "KV cache", "workspace", "total", "threads", "kernels"):
            self.assertIn(word, text)
        self.assertIn("blk.0.attn_q.weight", good("info", LLAMA, "--tensors").text)

    def test_rounded_inputs(self):
        """Of floats: if asked for, not by default."""
        folder = f"{DATA}/hf_quant/deepseek_v3_fp8"
        self.assertIn("F8_E4M3_128", good("info", folder, "--json").json["formats"])
        for act, says in (("auto", "activations f32\n"), ("f32", "activations f32\n"),
                          ("int8", "activations int8 (f32 for BF16 weights) (f32 rounded to FP8 for F8_E4M3_128 weights)\n")):
            self.assertIn(says, good("info", folder, "--act", act).text)

    def test_latent_attention(self):
        folder = f"{DATA}/hf/deepseek_v3/f32"  # 3 layers, rows of 24 + 16
        for kv_type, row in [("f32", 160), ("f16", 80), ("bf16", 80), ("int8", 44)]:
            j = good("info", folder, "--json", "-c", "256", "--kv-type", kv_type).json["engine"]
            self.assertEqual((j["kv_position_bytes"], j["mla"]), (3 * row, "absorbed"))
            self.assertEqual(j["memory"]["kv"], 256 * 3 * row)
        self.assertEqual(good("info", folder, "--json", "--mla", "expanded").json["engine"]["mla"], "expanded")
        self.assertIsNone(good("info", LLAMA, "--json").json["engine"]["mla"])
        text = good("info", folder).text
        for words in ("latent: one row of 24 + 16 numbers", "240 bytes each", "f16, latent rows", "latents absorbed"):
            self.assertIn(words, text)
        text = good("info", folder, "--plan", "-t", "2").text
        for words in ("latent_write", "absorb", "merge + head_values", "[112, 24]"):
            self.assertIn(words, text)
        text = good("info", folder, "--plan", "--mla", "expanded", "--fusion", "none").text
        for words in ("latent_scores", "latent_sum", "rope"):
            self.assertIn(words, text)
        # the layer behind the last one is not read, and takes no memory
        j = good("info", folder, "--json", "--tensors").json
        extra = sum(t["bytes"] for t in j["tensors"] if t["name"].startswith("model.layers.3."))
        self.assertEqual(j["weights_bytes"], sum(t["bytes"] for t in j["tensors"]) - extra)
        self.assertGreater(extra, 0)

    def test_experts(self):
        path = f"{DATA}/gguf/qwen3moe-small-Q4_0/qwen3moe-small-Q4_0.gguf"
        j = good("info", path, "--json", "--tensors").json
        self.assertEqual(j["n_params"], sum(math.prod(t["shape"]) for t in j["tensors"]))
        experts = sum(math.prod(t["shape"]) for t in j["tensors"] if "_exps." in t["name"])
        width = next(t["shape"] for t in j["tensors"] if t["name"] == "token_embd.weight")
        self.assertEqual(j["experts"]["n_active_params"],
                         j["n_params"] - experts + experts // 3 - (width[0] - 1) * width[1])
        text = good("info", path).text
        self.assertIn("6 of width 32, 2 for each token, weights divided by their sum", text)
        self.assertTrue(j["experts"]["renormalised"])
        folder = f"{DATA}/hf/qwen3_moe_nonorm_mixed/f32"
        self.assertIn("weights as the router scores", good("info", folder).text)
        k = good("info", folder, "--json", "--tensors").json  # tied: every row of its embedding is read
        experts = sum(t["bytes"] for t in k["tensors"] if ".mlp.experts." in t["name"])
        self.assertEqual(k["experts"]["bytes_per_token"], k["weights_bytes"] - experts + experts // 3)
        self.assertIn("for one token", text)
        self.assertIn("2 of 6 experts", good("info", path, "--plan").text)
        self.assertNotIn("experts", good("info", LLAMA).text)

    def test_what_one_token_reads(self):
        folder = f"{DATA}/hf/mistral_window/f32"  # 3 layers that see 16 positions, 2 heads of 16 for keys and for values
        for n in (8, 512):
            j = good("info", folder, "--json", "-c", str(n)).json
            self.assertEqual(j["bytes_read_per_token"], {"weights": j["active_bytes"], "kv": 3 * min(n, 16) * 2 * 32 * 2,
                                                         "positions": n})
        self.assertEqual(j["n_active_params"], j["n_params"] - 255 * 64)  # of the embedding one row
        self.assertEqual(j["active_bytes"], j["weights_bytes"] - 255 * 64 * 4)
        text = good("info", folder).text
        self.assertIn("one token     reads 426 KiB of weights and, at 512 positions, 6.0 KiB of the KV cache", text)
        for model in (LLAMA, f"{DATA}/hf_quant/kimi_k2_ct_int4"):
            j = good("info", model, "--json", "-c", "64").json
            self.assertEqual(j["bytes_read_per_token"]["kv"], 64 * j["engine"]["kv_position_bytes"])
            self.assertIn("for one token", good("info", model).text)

    def test_classes(self):
        """Of layers and experts one line for each kind of tensor, however many there are."""
        text = good("info", f"{DATA}/hf_quant/kimi_k2_ct_int4").text.split("\nweights\n")[1].split("\n\n")[0]
        self.assertRegex(text, r"(?m)^  mlp\.experts\.\*\.up_proj +INT4 +64 tensors ")
        self.assertRegex(text, r"(?m)^  mlp\.gate\.e_score_correction_bias +F32 +2 tensors ")
        self.assertEqual(sum(int(n) for n in re.findall(r" (\d+) tensors? ", text)), 235)

    def test_what_cannot_be_run(self):
        """Its files are shown all the same, with the reason."""
        with tempfile.TemporaryDirectory() as folder:
            for name, changes, why in (("method", {"quantization_config": {"quant_method": "new"}}, "quantised by \"new\""),
                                       ("arch", {"model_type": "other"}, "architecture other is not supported"),
                                       ("layers", {"num_hidden_layers": 3}, "layer 2 is missing (9 tensors)")):
                path = shutil.copytree(f"{DATA}/hf/llama_gqa/f32", f"{folder}/{name}")
                config = cli.load_json(f"{path}/config.json")
                with open(f"{path}/config.json", "w", encoding="utf-8") as f:
                    json.dump({**config, **changes}, f)
                r = cli.sluice("info", path)
                self.assertEqual((r.code, r.errors.count("\n")), (1, 1))
                self.assertIn(why, r.errors)
                self.assertRegex(r.text, r"(?s)architecture  (llama|other)\n.*mlp\.up_proj +F32 +2 tensors .*cannot be run: .*" +
                                 re.escape(why))
                r = cli.sluice("info", path, "--json", "--tensors")
                self.assertEqual((r.code, r.errors.count("\n")), (1, 1))
                j = r.json
                self.assertEqual((j["path"], j["supported"], j["engine"]), (path, False, None))
                self.assertIn(why, j["unsupported"])
                self.assertEqual((j["arch"], j["n_tensors"]), (changes.get("model_type", "llama"), len(j["tensors"])))
                self.assertNotIn("tensors", cli.sluice("info", path, "--json").json)
            with open(f"{path}/config.json", "w", encoding="utf-8") as f:
                f.write("{")
            j = cli.sluice("info", path, "--json").json
            self.assertEqual((j["supported"], j["arch"]), (False, None))
            self.assertIn("config.json", j["unsupported"])
            for more in ([], ["--json"]):
                r = cli.sluice("info", f"{folder}/none", *more)
                self.assertEqual((r.code, r.out), (1, b""))

    def test_what_does_not_fit(self):
        r = cli.sluice("info", LLAMA, "--memory", "1M", "-c", "4096", "--json")
        self.assertEqual((r.code, r.errors.count("\n")), (1, 1))
        self.assertEqual((r.json["supported"], r.json["engine"], r.json["memory"]["fits"]), (True, None, False))

    def test_columns(self):
        """They stand below each other, whatever the names' lengths."""
        for folder in ("hf/gpt_oss/f32", "hf_quant/gpt_oss_mxfp4"):
            for args, word in (([], r" tensors? "), (["--tensors"], r" \[")):
                text = good("info", f"{DATA}/{folder}", *args).text
                lines = re.split(r"\n(?:weights|tensors)\n", text)[1].split("\n\n")[0].splitlines()
                self.assertEqual(len({re.search(word, line).start() for line in lines}), 1, lines)

    def test_plan(self):
        fused, bare = (good("info", LLAMA, "--plan", "--fusion", f).text for f in ("all", "none"))
        self.assertIn("attention", fused)
        self.assertNotIn("softmax", fused.split("One layer")[0])
        self.assertGreater(bare.count("\n"), fused.count("\n"))
        self.assertEqual(cli.sluice("info", LLAMA, "--plan", "--json").code, 2)

    def test_kernels_follow_the_environment(self):
        self.assertEqual(good("info", LLAMA, "--json", env={"SLUICE_CPU": "scalar"}).json["engine"]["isa"], "scalar")
        r = cli.sluice("info", LLAMA, env={"SLUICE_CPU": "z80"})
        self.assertEqual(r.code, 2)
        self.assertIn("SLUICE_CPU", r.errors)

    def test_a_type_that_is_not_supported(self):
        """Q4_0 under the number of a repacked form of the same size: listed, and refused where it would run."""
        name = b"blk.0.ffn_up.weight"
        with open(LLAMA, "rb") as f:
            raw = bytearray(f.read())
        at = raw.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)
        dims, = struct.unpack_from("<I", raw, at)
        self.assertEqual(struct.unpack_from("<I", raw, at + 4 + 8 * dims), (2,))
        struct.pack_into("<I", raw, at + 4 + 8 * dims, 31)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/repacked.gguf"
            with open(path, "wb") as f:
                f.write(raw)
            self.assertRegex(good("info", path, "--tensors").text, r"blk\.0\.ffn_up\.weight +Q4_0_4_4 .*not supported\n")
            self.assertRegex(good("info", path).text, r"ffn_up +Q4_0_4_4 +1 tensor .*not supported\n")
            j = good("info", path, "--json", "--tensors").json
            self.assertEqual((j["supported"], j["engine"]), (False, None))
            self.assertEqual([t["name"] for t in j["tensors"] if not t["supported"]], ["blk.0.ffn_up.weight"])
            for args in (["logits", path, "--tokens", "1,2", "-o", folder + "/o.npy"], ["info", path, "--plan"],
                         ["bench", path, "-p", "8"]):
                r = cli.sluice(*args)
                self.assertEqual(r.code, 1, args)
                self.assertIn("tensor blk.0.ffn_up.weight: type Q4_0_4_4 is not supported", r.errors)
            self.assertFalse(os.path.exists(folder + "/o.npy"))


if __name__ == "__main__":
    cli.main()
