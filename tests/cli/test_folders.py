"""Hugging Face folders as MODEL: given by path, found by name in the hub's cache, and what their small files say."""
import json
import os
import resource
import shutil
import struct
import tempfile
import unittest

import cli
from cli import DATA, good, sluice

QWEN3 = f"{DATA}/hf/qwen3/bf16-sharded2"
MISTRAL = f"{DATA}/hf/mistral_window/f32"
TOKENIZER = f"{DATA}/tokenizer/tiny_bytelevel_gpt2/tokenizer.json"


class Folders(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tmp)

    def folder(self, *path, generation=None, **config):
        """A copy of a folder of tiny weights with other settings and, where generation is given, that file too."""
        to = os.path.join(self.tmp, *path)
        shutil.copytree(f"{DATA}/hf/llama_gqa/f32", to)
        settings = cli.load_json(f"{to}/config.json")
        settings.update(config)
        with open(f"{to}/config.json", "w") as f:
            json.dump(settings, f)
        if generation is not None:
            with open(f"{to}/generation_config.json", "w") as f:
                json.dump(generation, f)
        return to

    def test_info(self):
        j = good("info", QWEN3, "--json", "--tensors").json
        self.assertEqual((j["arch"], j["name"], j["formats"], j["n_vocab"]), ("qwen3", "bf16-sharded2", "BF16", 256))
        shards = [f for f in os.listdir(QWEN3) if f.endswith(".safetensors")]
        self.assertEqual(j["file_bytes"], sum(os.path.getsize(f"{QWEN3}/{f}") for f in shards))
        self.assertIn("model.layers.1.self_attn.q_norm.weight", [t["name"] for t in j["tensors"]])
        text = good("info", MISTRAL).text
        for word in ("mistral: 3 layers", "a window of 16 positions", "self_attn.q_proj", "mlp.down_proj", "embed_tokens"):
            self.assertIn(word, text)
        self.assertIn("attention", good("info", MISTRAL, "--plan").text)

    def test_logits_without_a_tokenizer(self):
        golden = cli.load_json(f"{QWEN3}/golden/manifest.json")["prompts"][0]
        out = f"{self.tmp}/out.npy"
        good("logits", QWEN3, "--tokens", cli.ids_text(golden["ids"]), "-o", out)
        self.assertEqual(cli.read_npy(out)[:2], (len(golden["ids"]), 256))

    def test_check_tensors(self):
        good("info", QWEN3, "--check-tensors")
        bad = self.folder("bad")
        with open(f"{bad}/model.safetensors", "r+b") as f:
            f.seek(-4, os.SEEK_END)
            f.write(b"\x00\x00\xc0\x7f")
        good("info", bad)
        r = sluice("info", bad, "--check-tensors")
        self.assertEqual(r.code, 1)
        self.assertIn("no finite number", r.errors)

    def test_weights_at_odd_places(self):
        """Data may begin at any byte; the same bits come out."""
        for source in (f"{DATA}/hf/llama_gqa/f32", f"{DATA}/hf/llama_gqa/bf16"):
            rows = []
            for blanks in (0, 1, 2):
                to = f"{self.tmp}/{os.path.basename(source)}-{blanks}"
                shutil.copytree(source, to)
                with open(f"{to}/model.safetensors", "r+b") as f:
                    raw = f.read()
                    n, = struct.unpack("<Q", raw[:8])
                    f.seek(0)
                    f.write(struct.pack("<Q", n + blanks) + raw[8:8 + n] + b" " * blanks + raw[8 + n:])
                good("logits", to, "--tokens", "1,2,3,4,5,6,7,8,9", "-o", f"{to}/out.npy")
                with open(f"{to}/out.npy", "rb") as f:
                    rows.append(f.read())
            self.assertEqual(rows[0], rows[1])
            self.assertEqual(rows[0], rows[2])

    def test_ten_gigabytes_are_not_read(self):
        """A sparse file, of which opening maps all and touches the header and vectors."""
        to = f"{self.tmp}/large"
        os.makedirs(to)
        layers, width = 4, 16384
        shapes = {"model.embed_tokens.weight": [8, width], "model.norm.weight": [width], "lm_head.weight": [8, width]}
        for i in range(layers):
            for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
                         "mlp.up_proj", "mlp.down_proj"):
                shapes[f"model.layers.{i}.{name}.weight"] = [width, width]
            for name in ("input_layernorm", "post_attention_layernorm"):
                shapes[f"model.layers.{i}.{name}.weight"] = [width]
        header, at = {}, 0
        for name, shape in shapes.items():
            size = 2 * shape[0] * (shape + [1])[1]
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        text = json.dumps(header).encode()
        with open(f"{to}/model.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            f.truncate(8 + len(text) + at)
        with open(f"{to}/config.json", "w") as f:
            json.dump({"model_type": "llama", "num_hidden_layers": layers, "hidden_size": width, "intermediate_size": width,
                       "num_attention_heads": 128, "vocab_size": 8, "max_position_embeddings": 64}, f)
        self.assertGreater(at, 10 << 30)
        r = good("info", to, "--json", "-c", "16")
        self.assertEqual(r.json["weights_bytes"], at)
        touched = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # KiB, of the largest child
        self.assertLess(touched, 1 << 20)

    def cache(self, **links):
        """A hub's cache with one model, every file a link to a blob; refs by name."""
        hub = f"{self.tmp}/hub"
        model = f"{hub}/models--org--tiny"
        blobs = self.folder("hub", "models--org--tiny", "blobs")
        snapshot = f"{model}/snapshots/0123abcd"
        os.makedirs(snapshot)
        os.makedirs(f"{model}/refs")
        for name in ("config.json", "model.safetensors"):
            os.symlink(f"../../blobs/{name}", f"{snapshot}/{name}")
        self.assertTrue(blobs)
        for name, revision in links.items():
            with open(f"{model}/refs/{name}", "w") as f:
                f.write(revision)
        return hub

    def test_hub_names(self):
        hub = self.cache(main="0123abcd\n")
        nowhere = {"HF_HUB_CACHE": "", "HUGGINGFACE_HUB_CACHE": "", "HF_HOME": "", "XDG_CACHE_HOME": "", "HOME": "/nowhere"}
        for more in ({"HF_HUB_CACHE": hub}, {"HUGGINGFACE_HUB_CACHE": hub}, {"HF_HOME": self.tmp}):
            self.assertEqual(good("info", "org/tiny", "--json", env={**nowhere, **more}).json["name"], "org/tiny")
        os.makedirs(f"{self.tmp}/huggingface")
        os.symlink(hub, f"{self.tmp}/huggingface/hub")
        good("info", "org/tiny", env={**nowhere, "XDG_CACHE_HOME": self.tmp})
        # HF_HOME's own default folder, and the folder of the model itself
        os.makedirs(f"{self.tmp}/.cache")
        os.symlink(f"{self.tmp}/huggingface", f"{self.tmp}/.cache/huggingface")
        good("info", "org/tiny", env={**nowhere, "HOME": self.tmp})
        good("info", f"{hub}/models--org--tiny", env=nowhere)
        r = sluice("info", "org/other", env={**nowhere, "HF_HUB_CACHE": hub})
        self.assertEqual(r.code, 1)
        self.assertIn("org/other: neither a file nor a folder", r.errors)
        self.assertIn(hub, r.errors)

    def test_hub_revisions(self):
        hub = self.cache(main="gone")
        env = {"HF_HUB_CACHE": hub}
        r = sluice("info", "org/tiny", env=env)
        self.assertEqual(r.code, 1)
        self.assertIn("its branch main is gone", r.errors)
        main = f"{hub}/models--org--tiny/refs/main"
        for text in ("../../..", "", "/etc"):  # no revision: the only snapshot there is
            with open(main, "w") as f:
                f.write(text)
            good("info", "org/tiny", env=env)
        os.makedirs(f"{hub}/models--org--tiny/snapshots/4567")
        r = sluice("info", "org/tiny", env=env)
        self.assertEqual(r.code, 1)
        self.assertIn("2 snapshots", r.errors)

    def test_names_are_not_paths(self):
        for name in ("../tiny", "org/../tiny", "/nowhere/tiny", "a/b/c", "org/"):
            r = sluice("info", name)
            self.assertEqual(r.code, 1)
            self.assertIn("No such file", r.errors)

    def test_sampling(self):
        plain = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repeat_penalty": 1.0}

        def sampling(generation):
            name = f"g{len(os.listdir(self.tmp))}"
            j = good("info", self.folder(name, generation=generation), "--json").json["sampling"]
            return {k: round(v, 6) for k, v in j.items()}
        self.assertEqual(sampling(None), plain)
        self.assertEqual(sampling({"eos_token_id": [1, 2]}), plain)
        self.assertEqual(sampling({"temperature": 0.6, "top_k": 20}), {**plain, "temp": 0.6, "top_k": 20})
        self.assertEqual(sampling({"top_p": 1.0, "min_p": 0, "repetition_penalty": 1.05, "top_k": 0, "temperature": 0}),
                         {"temp": 0, "top_k": 0, "top_p": 1, "min_p": 0, "repeat_penalty": 1.05})
        for bad in ({"temperature": "0.6"}, {"temperature": -1}, {"top_p": 1.5}, {"top_k": 2.5}, {"min_p": [0]},
                    {"repetition_penalty": 0}, {"top_k": True}):
            r = sluice("info", self.folder(f"b{len(os.listdir(self.tmp))}", generation=bad))
            self.assertEqual(r.code, 1)
            self.assertIn(f"generation_config.json: {next(iter(bad))}: ", r.errors)

    def test_run_takes_them(self):
        """Greedy by generation_config.json: the same text whatever the seed; an option of the command still wins."""
        cold = self.folder("cold", generation={"temperature": 0})
        shutil.copy(TOKENIZER, cold)

        def text(seed, *more):
            return good("run", cold, "zq", "-n", "12", "-q", "--ignore-eos", "--seed", seed, "--no-template", *more).text
        self.assertEqual(text("1"), text("2"))
        self.assertNotEqual(text("1", "--temp", "5", "--top-k", "0", "--top-p", "1"),
                            text("2", "--temp", "5", "--top-k", "0", "--top-p", "1"))

    def test_overrides_are_of_gguf(self):
        r = sluice("info", QWEN3, "--override-kv", "rope_theta=float:1")
        self.assertEqual(r.code, 2)
        self.assertIn("no GGUF file", r.errors)

    def test_outputs_do_not_overwrite_the_model(self):
        copy = self.folder("copy")
        for name in ("model.safetensors", "config.json"):
            before = os.path.getsize(f"{copy}/{name}")
            r = sluice("logits", copy, "--tokens", "1", "-o", f"{copy}/{name}")
            self.assertEqual(r.code, 1)
            self.assertEqual(os.path.getsize(f"{copy}/{name}"), before)

    def test_the_wrong_file(self):
        r = sluice("info", f"{QWEN3}/model-00001-of-00002.safetensors")
        self.assertEqual(r.code, 1)
        self.assertIn("give the folder", r.errors)


if __name__ == "__main__":
    cli.main()
