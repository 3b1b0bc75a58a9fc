"""`sluice profile`: its figures add up, its trace is that of the run, and it names the cause of three slow runs.

The slow runs are random models in which one switch is made the bottleneck: many tiny layers for operations and plans,
wide keys and values for the cache. One thread, so that other processes can slow a run down but not change its shape."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, SMOLLM2, Terminal, good, load_json, needs_smollm2, ordinary, scalar, sluice

BENCH = os.environ["BENCH_FOLDER"]
TINY = ["--hidden", "64", "--layers", "48", "--heads", "2", "--kv-heads", "1", "--head-dim", "32", "--ffn", "128"]
WIDE_KV = ["--hidden", "256", "--layers", "6", "--heads", "8", "--kv-heads", "8", "--head-dim", "64", "--ffn", "512"]
EXPERTS = f"{DATA}/gguf/qwen3moe-small-Q4_0/qwen3moe-small-Q4_0.gguf"
SWITCHED = ("fusion", "mode", "kv-type")
try:
    import numpy  # noqa: F401
except ImportError:
    numpy = None


def make_model(folder, name, shape):
    path = os.path.join(folder, name + ".gguf")
    subprocess.run([sys.executable, f"{BENCH}/make_gguf.py", *shape, "--vocab", "272", "--ctx", "8192", "--type", "Q4_0",
                    "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def profile(*args):
    return good("profile", *args, "--json", "-q").json


class AddsUp(unittest.TestCase):
    def check_account(self, a, threads):
        parts = sum(r["seconds"] for r in a["operations"]) + a["imbalance_s"] + a["barrier_s"] + a["dispatch_s"]
        self.assertAlmostEqual(parts, a["wall_s"], delta=1e-9 + 1e-9 * a["wall_s"])
        self.assertAlmostEqual(sum(r["share"] for r in a["operations"]),
                               sum(r["seconds"] for r in a["operations"]) / a["wall_s"], places=9)
        for r in a["operations"]:
            self.assertGreaterEqual(r["seconds"], 0, r)
            self.assertIn(r["bound"], ("bandwidth", "arithmetic", "barrier", "dispatch"))
        for part in ("imbalance_s", "barrier_s", "dispatch_s"):
            self.assertGreaterEqual(a[part], 0)
        if threads == 1:
            self.assertEqual(a["imbalance_s"], 0)

    def test_parts(self):
        for threads in (1, 2):
            j = profile(LLAMA, "-p", "40", "-ub", "16", "-n", "12", "-d", "20", "-b", "3", "-r", "2", "-t", threads)
            for phase, steps, quiet, tokens in (("prefill", 3, 3, 40), ("decode", 12, 6, 12)):
                p = j[phase]
                self.assertEqual((p["steps_of_run"], p["runs"], p["steps_lost"], p["n"]), (steps, 2, 0, tokens))
                self.assertEqual((p["all"]["steps"], p["quiet"]["steps"]), (2 * steps, quiet))
                self.check_account(p["all"], threads)
                self.check_account(p["quiet"], threads)
                self.assertLess(p["all"]["tracing_s"], p["all"]["wall_s"])
            rows = {r["name"]: r for r in j["decode"]["all"]["operations"]}
            self.assertEqual(rows["sample"]["calls"], 2 * 12)
            info = good("info", LLAMA, "--json").json
            self.assertEqual(rows["attn_qkv"]["calls"], 2 * 12 * info["n_layers"])
            self.assertGreater(rows["attention"]["bytes"], 0)

    def test_bytes_of_unfused_attention(self):
        """Keys and values are read whether attention is one operation or three."""
        bytes_of = {}
        for fusion in ("all", "none"):
            j = profile(LLAMA, "-p", "0", "-n", "4", "-d", "30", "-r", "1", "-t", "1", "--fusion", fusion)
            rows = {r["name"]: r["bytes"] for r in j["decode"]["all"]["operations"]}
            bytes_of[fusion] = rows["attention"] if fusion == "all" else rows["scores"] + rows["weighted_sum"]
        self.assertEqual(bytes_of["all"], bytes_of["none"])

    def test_picks_of_experts(self):
        """Of the counted runs alone; those of one phase are not those of the other."""
        j = profile(EXPERTS, "-p", "24", "-n", "5", "-r", "2", "-t", "2")
        for phase, tokens in (("prefill", 24), ("decode", 5)):
            layers = j[phase]["experts"]["layers"]
            self.assertEqual([sum(layer["picks"]) for layer in layers], [2 * 2 * tokens] * 2)
        self.assertNotIn("experts", profile(LLAMA, "-p", "4", "-n", "1", "-r", "1", "-t", "1")["decode"])

    def test_table(self):
        text = good("profile", LLAMA, "-p", "8", "-n", "2", "-r", "1", "-t", "1").text
        self.assertRegex(text, r"(?m)^machine: reads [\d.]+ GB/s")
        self.assertRegex(text, r"(?m)^prefill: 8 tokens, 1 run of 1 step; ")
        self.assertRegex(text, r"(?m)^decode: 2 tokens, 1 run of 2 steps; ")
        for row in ("ffn_up", "waiting for a thread", "barriers themselves", "dispatch", "total"):
            self.assertRegex(text, rf"(?m)^{row} ")
        self.assertIn("writing these spans down: ", text)
        self.assertEqual(len(text.rstrip().split("\n\n")[-1].splitlines()), 1)  # one sentence

    def test_trace(self):
        """The spans of the same run, with their threads and steps."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profile(LLAMA, "-p", "0", "-n", "5", "-r", "2", "-t", "2", "--trace", path)
            events = load_json(path)
        self.assertEqual([e["args"]["name"] for e in events if e["ph"] == "M"], ["caller 0", "sluice 1"])
        steps = [e for e in events if e.get("cat") == "step"]
        self.assertEqual([e["args"]["step"] for e in steps], list(range(1, len(steps) + 1)))
        for e in events:
            if e["ph"] == "X":
                step = steps[e["args"]["step"] - 1]
                self.assertGreaterEqual(e["ts"], step["ts"])
                self.assertLessEqual(e["ts"] + e["dur"], step["ts"] + step["dur"] + 1e-3)

    def test_random_fill(self):
        """Random keys and values cost as many bytes as read ones, and no step."""
        rows = []
        for fill in ("tokens", "random"):
            j = profile(LLAMA, "-p", "0", "-n", "3", "-d", "70", "-b", "2", "-r", "1", "--fill", fill)
            rows.append({r["name"]: r["bytes"] for r in j["decode"]["all"]["operations"]})
        self.assertEqual(*rows)

    def test_refused(self):
        for args in (["-p", "0", "-n", "0"], ["-p", "1,2"], ["-b", "0"], ["-r", "0"], ["--fill", "zeros"], ["-d", "-1"]):
            self.assertEqual(sluice("profile", LLAMA, *args).code, 2, args)

    def test_interrupt(self):
        t = Terminal("profile", LLAMA, "-p", "4096", "-n", "4096", "-r", "30", "-t", "1")
        t.until(b"prefill, 30 runs")
        with contextlib.suppress(OSError):  # the terminal has gone
            while t.read(0.1):
                t.type(b"\x03")  # the first waits for the runs' end, the second does not; two at once may arrive as one
        self.assertNotEqual(t.wait(), 0)


@unittest.skipUnless(numpy, "numpy is not installed: no random models")
@unittest.skipUnless(ordinary(), "plain C kernels or a sanitizer are what limits every run")
class Causes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tiny = make_model(cls.folder.name, "tiny", TINY)
        cls.wide_kv = make_model(cls.folder.name, "wide_kv", WIDE_KV)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_cause(self, model, switch, change, args):
        """With the switch its cause is named, without it no cause that a switch would end."""
        j = profile(model, "-p", "0", "-t", "1", *args, f"--{switch[0]}", switch[1])
        limit = j["limit"]
        self.assertEqual((limit["cause"], limit["phase"], limit["change"]), (switch[0], "decode", change), limit)
        self.assertGreater(limit["gain"], 1.08)
        self.assertFalse(limit["costs"])
        self.assertLessEqual(limit["share"], 1.0)
        for words in ("decode is limited by ", f"{100 * limit['share']:.0f} % of the time", change, f"{limit['gain']:.1f}x"):
            self.assertIn(words, limit["sentence"])
        plain = profile(model, "-p", "0", "-t", "1", *args)
        self.assertNotIn(plain["limit"]["cause"], SWITCHED, plain["limit"])
        self.assertFalse({c["cause"] for c in plain["causes"]} & set(SWITCHED), plain["causes"])

    def test_fusion(self):
        self.check_cause(self.tiny, ("fusion", "none"), "--fusion all", ["-n", "32"])

    def test_mode(self):
        self.check_cause(self.tiny, ("mode", "eager"), "--mode graph", ["-n", "32"])

    def test_kv_type(self):
        self.check_cause(self.wide_kv, ("kv-type", "f32"), "--kv-type f16", ["-n", "16", "-d", "4096", "--fill", "random"])

    def test_two_threads(self):
        """Whoever switched an optimisation off hears of it, even if a busy machine makes threads wait for each other."""
        j = profile(self.tiny, "-p", "0", "-n", "32", "-t", "2", "--fusion", "none")
        self.assertEqual(j["limit"]["cause"], "fusion", j["causes"])

    def test_try(self):
        j = profile(self.wide_kv, "-p", "0", "-n", "8", "-t", "1", "-d", "4096", "--fill", "random", "--kv-type", "f32", "--try")
        self.assertEqual(j["try"]["change"], "--kv-type f16")
        self.assertAlmostEqual(j["try"]["gain"], j["try"]["after_tok_s"] / j["try"]["before_tok_s"], places=6)
        self.assertGreater(j["try"]["gain"], 1.0)
        text = good("profile", LLAMA, "-p", "0", "-n", "2", "-r", "1", "-t", "1", "--try").text
        self.assertTrue("Tried: " in text or "Nothing to try: " in text, text)

    @needs_smollm2
    def test_real_model(self):
        """Half of a deep context's bytes are more than a busy machine can hide."""
        j = profile(SMOLLM2, "-p", "0", "-n", "8", "-t", "1", "-d", "4096", "--fill", "random", "--kv-type", "f32")
        self.assertEqual(j["limit"]["cause"], "kv-type", j["causes"])


@unittest.skipIf(scalar(), "there are no better kernels")
class PlainKernels(unittest.TestCase):
    def test_named(self):
        r = sluice("profile", LLAMA, "-p", "0", "-n", "8", "-t", "1", "--json", "-q", env={"SLUICE_CPU": "scalar"})
        self.assertEqual(r.code, 0, r.errors)
        self.assertEqual(json.loads(r.out)["limit"]["cause"], "kernels")


if __name__ == "__main__":
    cli.main()
