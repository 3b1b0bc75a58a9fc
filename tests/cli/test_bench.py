"""`sluice bench`: its figures fit together, and the line protocol answers as bench/README.md says."""
import json
import math
import subprocess
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, Terminal, good, sluice

EXPERTS = f"{DATA}/gguf/qwen3moe-small-Q4_0/qwen3moe-small-Q4_0.gguf"


class Json(unittest.TestCase):
    def test_shape(self):
        j = good("bench", LLAMA, "-p", "16,32", "-n", "4", "-d", "0,20", "-b", "1,3", "-r", "3", "--json", "-q").json
        self.assertEqual(j["model"], LLAMA)
        for key in ("n_params", "weights_bytes", "threads", "load_s", "peak_rss_bytes"):
            self.assertGreater(j[key], 0, key)
        self.assertEqual([p["n"] for p in j["pp"]], [16, 32])
        self.assertEqual([(t["n"], t["depth"], t["batch"]) for t in j["tg"]], [(4, 0, 1), (4, 0, 3), (4, 20, 1), (4, 20, 3)])
        for test in j["pp"] + j["tg"]:
            self.assertLessEqual(test["min"], test["median"])
            self.assertLessEqual(test["median"], test["max"])
            self.assertLessEqual(test["min"], test["tok_s"])
            self.assertLessEqual(test["tok_s"], test["max"])
        one, three = j["tg"][0], j["tg"][1]
        self.assertAlmostEqual(one["gb_s"], 1e-9 * one["bytes_per_token"] * one["median"], delta=1e-6 * one["gb_s"])
        self.assertLess(three["bytes_per_token"], one["bytes_per_token"])  # a step's weights are shared

    def test_bytes_of_a_token(self):
        """Every tensor once, of the embedding one row, and the keys and values of one position."""
        info = good("info", LLAMA, "--json", "--tensors").json
        weights = sum(t["bytes"] for t in info["tensors"] if t["name"] != "token_embd.weight")
        embedding = next(t for t in info["tensors"] if t["name"] == "token_embd.weight")
        weights += embedding["bytes"] if info["tied"] else embedding["bytes"] // embedding["shape"][0]
        head_dim = next(t for t in info["tensors"] if t["name"] == "blk.0.attn_k.weight")["shape"][0] // info["n_kv_heads"]
        kv = 2 * 2 * info["n_layers"] * info["n_kv_heads"] * head_dim
        j = good("bench", LLAMA, "-p", "0", "-n", "1", "-r", "1", "--json", "-q").json
        self.assertEqual(j["tg"][0]["bytes_per_token"], weights + kv)

    def test_experts_of_a_token(self):
        """Of the experts' tensors two of six; of several tokens at once those that were hit, as the run tells."""
        info = good("info", EXPERTS, "--json", "--tensors").json
        experts = sum(t["bytes"] for t in info["tensors"] if "_exps." in t["name"])
        rest = sum(t["bytes"] for t in info["tensors"] if "_exps." not in t["name"] and t["name"] != "token_embd.weight")
        embedding = next(t for t in info["tensors"] if t["name"] == "token_embd.weight")
        row = embedding["bytes"] // embedding["shape"][0]
        head_dim = next(t for t in info["tensors"] if t["name"] == "blk.0.attn_k_norm.weight")["shape"][0]
        kv = 2 * 2 * info["n_layers"] * info["n_kv_heads"] * head_dim
        self.assertEqual(info["experts"]["bytes_per_token"], rest + row + experts // 3)
        self.assertEqual((info["experts"]["count"], info["experts"]["used"], info["experts"]["width"]), (6, 2, 32))
        one, many = good("bench", EXPERTS, "-p", "0", "-n", "1", "-b", "1,16", "-r", "1", "--json", "-q").json["tg"]
        self.assertEqual(one["experts_hit"], 2)
        self.assertEqual(one["bytes_per_token"], rest + row + experts // 3 + kv)
        self.assertTrue(2 < many["experts_hit"] <= 6)
        self.assertAlmostEqual(many["bytes_per_token"], row + kv + (rest + experts * many["experts_hit"] / 6) / 16, delta=1)
        # expanded, nobody counts: as random picks would hit
        expanded, = good("bench", EXPERTS, "-p", "0", "-n", "1", "-b", "16", "-r", "1", "--fusion", "none", "--json", "-q").json["tg"]
        hit = 6 * (1 - (4 / 6) ** 16)
        self.assertAlmostEqual(expanded["bytes_per_token"], row + kv + (rest + experts * hit / 6) / 16, delta=1)

    def test_picks_of_experts(self):
        """With a trace: each token's two experts in each layer, of all runs, the warm-up's too."""
        with tempfile.TemporaryDirectory() as folder:
            trace = folder + "/trace.json"
            options = ["-p", 40, "-n", 10, "-r", 3, "--no-warmup", "--trace", trace]
            j = good("bench", EXPERTS, *options, "--json", "-q").json
            layers = j["experts"]["layers"]
            self.assertEqual((j["experts"]["count"], [layer["layer"] for layer in layers]), (6, [0, 1]))
            for layer in layers:
                picks = layer["picks"]
                self.assertEqual((len(picks), sum(picks)), (6, 2 * 3 * (40 + 10)))
                self.assertEqual(layer["used"], sum(n > 0 for n in picks))
                self.assertEqual(layer["most"], picks.index(max(picks)))
                self.assertAlmostEqual(layer["most_share"], max(picks) / sum(picks))
                self.assertAlmostEqual(layer["entropy_bits"],
                                       -sum(n / sum(picks) * math.log2(n / sum(picks)) for n in picks if n), places=6)
            with open(trace, encoding="utf-8") as f:
                events = [e["args"] for e in json.load(f) if e["name"] == "expert picks"]
            self.assertEqual([e["picks"] for e in events], [layer["picks"] for layer in layers])
            self.assertRegex(good("bench", EXPERTS, *options).text, r"(?m)^experts: [\d.]+ of 6 used in a layer, entropy [\d.]+ of "
                                                                    r"2\.58 bits; most of all expert \d of layer [01], [\d.]+ % of")
        self.assertNotIn("experts", good("bench", EXPERTS, "-p", 4, "-n", 1, "-r", 1, "--json", "-q").json)

    def test_table(self):
        text = good("bench", LLAMA, "-p", "8", "-n", "2", "-d", "4", "-b", "2", "-r", "1").text
        self.assertRegex(text, r"(?m)^pp8 +[\d.]+")
        self.assertRegex(text, r"(?m)^tg2@4x2 +[\d.]+")

    def test_random_depth(self):
        """A depth of keys and values that nobody computed: the same positions, bytes and kinds of figures."""
        def tg(*args):
            return good("bench", LLAMA, "-p", "0", "-n", "2", "-d", "100", "-r", "1", "--json", "-q", *args).json["tg"][0]
        for kv in ("f16", "int8"):
            a, b = tg("--kv-type", kv), tg("--kv-type", kv, "--fill", "random")
            self.assertEqual((a["depth"], a["bytes_per_token"]), (b["depth"], b["bytes_per_token"]))
            self.assertGreater(b["tok_s"], 0)
        self.assertEqual(sluice("bench", LLAMA, "--fill", "zeros").code, 2)

    def test_one_is_no_plural(self):
        text = good("bench", LLAMA, "-p", "8", "-n", "0", "-r", "1", "-t", "1").text
        self.assertIn(", 1 thread, ", text)
        self.assertIn("1 run each", text)

    def test_interrupt(self):
        """What was measured whole is shown."""
        t = Terminal("bench", LLAMA, "-p", "0", "-n", "1,4096", "-r", "2000", "-t", "1")
        t.until(b"tg4096: run 2 of")
        t.type(b"\x03")
        t.until(b"\ntg1 ")
        self.assertNotIn(b"tg4096 ", t.until(b"tokens/s is the median"))
        self.assertEqual(t.wait(), 130)

    def test_refused(self):
        for args in (["-p", "0", "-n", "0"], ["-p", "x"], ["-p", "1,,2"], ["-b", "0"], ["-d", "-1"], ["-r", "0"],
                     ["-p", "99999999999"], ["-n", ",".join(["1"] * 17)]):
            self.assertEqual(sluice("bench", LLAMA, *args).code, 2, args)
        r = sluice("bench", LLAMA, "-p", "0", "-n", "1", "-b", "9", "-ub", "8", "-r", "1")
        self.assertEqual(r.code, 2, r.errors)


class Lines(unittest.TestCase):
    def talk(self, commands):
        text = "".join((c if isinstance(c, str) else json.dumps(c)) + "\n" for c in commands)
        p = subprocess.run([cli.SLUICE, "bench", LLAMA, "--serve-lines", "-q", "-t", "1"], input=text.encode(),
                           capture_output=True, timeout=300, check=False)
        self.assertEqual(p.returncode, 0, p.stderr)
        return [json.loads(line) for line in p.stdout.splitlines()]

    def test_protocol(self):
        hello, pp, tg, deep, empty, *errors = self.talk([
            {"test": "pp", "n": 40}, {"test": "tg", "n": 5, "seqs": 2, "min_s": 0.05, "unknown": 1},
            {"test": "tg", "n": 3, "depth": 17}, "", {"test": "tg", "n": 3, "depth": 17},
            "no json", {"test": "walk"}, {"test": "pp", "n": 0}, {"test": "tg", "n": 1.5}, [1], {"test": "probe"},
            {"test": "probe", "peak": "none"}, {"test": "quit"}, {"test": "pp"}])
        self.assertEqual((hello["engine"], hello["model"], hello["threads"], hello["kv"]), ("sluice", LLAMA, 1, "f16"))
        self.assertGreaterEqual({"version", "isa", "load_s"} & set(hello), {"version", "isa", "load_s"})
        self.assertEqual((pp["test"], pp["tokens"], pp["runs"]), ("pp", 40, 1))
        self.assertEqual(tg["tokens"], 10 * tg["runs"])
        self.assertGreaterEqual(tg["seconds"], 0.05)
        self.assertEqual((deep["tokens"], empty["tokens"]), (3, 3))
        for a in (pp, tg, deep):
            self.assertAlmostEqual(a["tok_s"], a["tokens"] / a["seconds"], delta=1e-3 * a["tok_s"])
        self.assertEqual(len(errors), 7)
        for e in errors:
            self.assertEqual(list(e), ["error"])
            self.assertNotIn("\n", e["error"])

    def test_end_of_input(self):
        self.assertEqual(len(self.talk([])), 1)


if __name__ == "__main__":
    cli.main()
