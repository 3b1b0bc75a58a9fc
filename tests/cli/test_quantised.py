"""Folders of quantised weights as people have them: with what their programs leave in them, older than config.json's key,
half broken."""
import json
import os
import shutil
import struct
import tempfile
import unittest

import cli
from cli import DATA, good, sluice

GPTQ = f"{DATA}/hf_quant/qwen3_gptq_g32"
AWQ = f"{DATA}/hf_quant/qwen3_awq_g32"
FLOATS = f"{DATA}/hf/qwen3_moe_norm/f32"
TOKENS = ["--tokens", "1,2,3,4,5,6,7"]


def read_tensors(path):
    """{name: (dtype, shape, bytes)}"""
    with open(path, "rb") as f:
        raw = f.read()
    n, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], raw[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
            for name, t in header.items()}


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


class Quantised(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tmp)

    def copy(self, source, change=lambda tensors: None, settings=lambda config: None):
        to = f"{self.tmp}/{len(os.listdir(self.tmp))}"
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("golden"))
        tensors, config = read_tensors(f"{to}/model.safetensors"), cli.load_json(f"{to}/config.json")
        change(tensors)
        settings(config)
        write_tensors(f"{to}/model.safetensors", tensors)
        with open(f"{to}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        return to

    def logits(self, folder, *args):
        good("logits", folder, *TOKENS, "-o", f"{folder}.npy", *args)
        with open(f"{folder}.npy", "rb") as f:
            return f.read()

    def refused(self, folder, *says):
        r = sluice("info", folder)
        self.assertEqual((r.code, r.errors.count("\n")), (1, 1), r.errors)
        for text in says:
            self.assertIn(text, r.errors)
        return r

    def test_biases_of_zeros(self):
        """AutoGPTQ writes one beside every quantised matrix."""
        def add(dtype, byte):
            def change(tensors):
                for name, (_, shape, _) in list(tensors.items()):
                    if name.endswith(".scales"):
                        size = {"F16": 2, "BF16": 2, "F32": 4}[dtype]
                        data = bytearray(size * shape[1])
                        data[-1] = byte
                        tensors[name[:-6] + "bias"] = (dtype, [shape[1]], bytes(data))
            return change
        for source in (GPTQ, AWQ):
            want = self.logits(self.copy(source))
            for dtype, byte in (("F16", 0), ("F32", 0), ("BF16", 0x80)):  # minus zero, too
                self.assertEqual(self.logits(self.copy(source, add(dtype, byte))), want)
            self.assertEqual(self.logits(self.copy(source, add("F16", 0)), "--weights", "copy"), want)
            self.refused(self.copy(source, add("F16", 1)), ".bias is not part of architecture qwen3",
                         "may be there if they are zero, which this one is not")

        def elsewhere(tensors):
            tensors["model.layers.0.input_layernorm.bias"] = ("F32", [128], bytes(512))
        self.refused(self.copy(GPTQ, elsewhere), "input_layernorm.bias is not part of")

        def short(tensors):
            tensors["model.layers.0.mlp.up_proj.bias"] = ("F32", [8], bytes(32))
        self.refused(self.copy(GPTQ, short), "up_proj.bias is not part of")

    def test_settings_beside_config(self):
        """quantize_config.json and quant_config.json of folders that are older than quantization_config."""
        for source, name, old in ((GPTQ, "quantize_config.json", lambda c: c),
                                  (AWQ, "quant_config.json", lambda c: {"w_bit": c["bits"], "q_group_size": c["group_size"],
                                                                        "zero_point": True, "version": "GEMM"})):
            kept = {}
            folder = self.copy(source, settings=lambda c: kept.update(c.pop("quantization_config")))
            self.refused(folder, "qweight, but config.json has no quantization_config")
            kept.pop("quant_method")
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                json.dump(old(kept), f)
            self.assertEqual(self.logits(folder), self.logits(self.copy(source)))

    def test_a_tensor_by_another_name(self):
        def rename(tensors):
            for part in ("qweight", "qzeros", "scales", "g_idx"):
                tensors[f"model.layers.0.mlp.downproj.{part}"] = tensors.pop(f"model.layers.0.mlp.down_proj.{part}")
        self.refused(self.copy(GPTQ, rename), "missing tensor model.layers.0.mlp.down_proj.weight or .qweight",
                     "an unknown one is there, model.layers.0.mlp.downproj.qweight\n")

    def test_layers_and_experts_beyond_the_settings(self):
        folder = self.copy(GPTQ, settings=lambda c: c.update(num_hidden_layers=1))
        self.refused(folder, "tensor model.layers.1.", " is of layer 1, but num_hidden_layers is 1\n")
        with_experts = next(n for n in read_tensors(f"{FLOATS}/model.safetensors") if ".experts.7.up_proj." in n)

        def add(tensors):
            tensors[with_experts.replace(".7.", ".8.")] = tensors[with_experts]
        self.refused(self.copy(FLOATS, add), "is of expert 8, but the settings have 8 experts")

    def test_bits_that_cannot_be_run(self):
        """Whole numbers of 32 bits are how quantised ones are stored; it is the bits that are refused."""
        r = self.refused(self.copy(GPTQ, settings=lambda c: c["quantization_config"].update(bits=3)),
                         "bits: numbers of 3 bits are not supported")
        self.assertRegex(r.text, r"mlp\.up_proj\.qweight +I32 ")
        self.assertNotIn("not supported", r.text.split("cannot be run:")[0])

    def test_bits_that_no_part_contradicts(self):
        """With one group of all columns only the model's widths tell that the bits are wrong."""
        def one_group(tensors):
            for name, (dtype, shape, data) in list(tensors.items()):
                if name.endswith(".scales"):
                    tensors[name] = (dtype, [1, shape[1]], data[:2 * shape[1]])
                elif name.endswith((".qzeros", ".g_idx")):
                    del tensors[name]
        for bits in (4, 8):
            folder = self.copy(GPTQ, one_group, lambda c, b=bits: c["quantization_config"].update(bits=b, group_size=-1))
            if bits == 4:
                good("info", folder)
            else:
                self.refused(folder, "proj.weight is [", "] by quantization_config, the settings ask for [")

    def test_failed_downloads(self):
        """Whatever file it is."""
        for name in ("config.json", "model.safetensors", "model.safetensors.index.json", "generation_config.json"):
            for text, says in (("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
                                "a Git LFS pointer, not the file itself; git lfs pull fetches it"),
                               ("<!DOCTYPE html><html>Not found</html>", "an HTML page, not the file itself")):
                folder = self.copy(GPTQ)
                with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
                self.refused(folder, f"{folder}/{name}: {says}")


if __name__ == "__main__":
    cli.main()
