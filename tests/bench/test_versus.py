#!/usr/bin/env python3
"""The speed protocol's driver with engines that compute nothing, and the roof's arithmetic."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import roof  # noqa: E402
from toy import write_headers  # noqa: E402


BODY = 2 * (64 * 64 * 2 + 32 * 64 * 2 + 96 * 64 * 3)  # weights in the matrices of both layers
BODY_BYTES = BODY // 32 * 18 + 2 * 64 * 4
HEAD = 288 * 64
POSITION = 2 * 2 * (16 + 16) * 2  # bytes of f16 keys and values of one position


class Roof(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.path = Path(self.dir.name) / "m.gguf"
        write_headers(self.path)
        self.model = roof.Model(self.path)

    def cost(self, test, ubatch=512):
        return self.model.cost(roof.parse_test(test), "f16", ubatch)

    def test_names(self):
        t = roof.parse_test("tg64@4096x8")
        self.assertEqual((t.kind, t.n, t.depth, t.seqs, t.tokens), ("tg", 64, 4096, 8, 512))
        self.assertEqual(roof.parse_test("pp512").command(0.5), {"test": "pp", "n": 512, "min_s": 0.5})
        for bad in ("", "pp", "pp0", "pp512@8", "tg", "tg8x0", "tg8x", "tg8x2@4", "xtg8", "tg8 "):
            with self.assertRaises(ValueError, msg=bad):
                roof.parse_test(bad)

    def test_one_generated_token(self):
        c = self.cost("tg1")
        self.assertEqual(c.bytes, BODY_BYTES + HEAD // 32 * 34 + POSITION)
        self.assertEqual(dict(c.linear), {"Q4_0": 2 * BODY, "Q8_0": 2 * HEAD})
        self.assertEqual(c.attention, 2 * 4 * (16 + 16) * 2)

    def test_depth_and_sequences(self):
        one, eight = self.cost("tg3@100"), self.cost("tg3@100x8")
        loaded = 101 + 102 + 103
        self.assertEqual(one.bytes, 3 * (BODY_BYTES + HEAD // 32 * 34) + loaded * POSITION)
        self.assertEqual(eight.bytes - one.bytes, 7 * loaded * POSITION)  # weights are read once for all
        self.assertEqual(eight.linear["Q4_0"], 8 * one.linear["Q4_0"])
        self.assertEqual(eight.attention, 8 * one.attention)

    def test_prompt(self):
        c = self.cost("pp100", ubatch=64)
        self.assertEqual(c.bytes, 2 * BODY_BYTES + HEAD // 32 * 34 + (64 + 100) * POSITION)
        self.assertEqual(dict(c.linear), {"Q4_0": 100 * 2 * BODY, "Q8_0": 2 * HEAD})  # logits once
        self.assertEqual(c.attention, 100 * 101 // 2 * 2 * 4 * (16 + 16) * 2)

    def test_embedding_of_its_own(self):
        write_headers(self.path, tied=False)
        self.model = roof.Model(self.path)
        self.assertEqual(self.cost("tg1x3").bytes, BODY_BYTES + HEAD // 32 * 34 + 3 * POSITION + 3 * 64 // 32 * 34)

    def test_seconds(self):
        c = roof.Cost(bytes=10**9, linear={"Q4_0": 2 * 10**9, "Q8_0": 3 * 10**9}, attention=10**9)
        peaks = {"int8_avx2_maddubs_paired": 4.0, "int8_avx2_madd16": 3.0, "fma_avx2_f32": 2.0}
        self.assertAlmostEqual(roof.roof_seconds(c, "avx2", "auto", 0.1, peaks), 10)
        self.assertAlmostEqual(roof.roof_seconds(c, "avx2", "auto", 100, peaks), 0.5 + 1 + 0.5)
        self.assertAlmostEqual(roof.roof_seconds(c, "avx2", "f32", 100, peaks), 3)
        self.assertEqual(roof.main_peak(c, "avx2", "auto"), "int8_avx2_madd16")
        self.assertEqual(roof.main_peak(c, "avx2", "f32"), "fma_avx2_f32")


class Driver(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.model = Path(self.dir.name) / "m.gguf"
        self.record = Path(self.dir.name) / "r.json"
        write_headers(self.model)

    def versus(self, *options, ours="", peer="", peer2=None):
        fake = f"{sys.executable} {BENCH / 'fake_engine.py'} "
        second = [] if peer2 is None else ["--peer", fake + peer2]
        return subprocess.run([sys.executable, BENCH / "versus.py", self.model, "--record", self.record, "--ours",
                               fake + ours, "--peer", fake + peer, *second, *options], capture_output=True, text=True)

    def summary(self, test):
        return json.loads(self.record.read_text())["tests"][test]["summary"]

    def test_quiet_machine(self):
        r = self.versus("--at-least", "1.9", ours="--pp 200 --tg 30", peer="--pp 100 --tg 15")
        self.assertEqual(r.returncode, 0, r.stderr)
        for test in ("pp512", "tg64"):
            s = self.summary(test)
            self.assertEqual((s["rounds"], s["discarded"], s["measurable"]), (20, 0, True))
            self.assertEqual(s["ratio"], {"median": 2.0, "q1": 2.0, "q3": 2.0})
        self.assertIn("**2.00**", r.stdout)
        # 20 GB/s allow this many steps of 64 tokens; we did 30 tokens a second
        allowed = roof.Model(self.model).cost(roof.parse_test("tg64"), "f16", 512).bytes / 20e9
        self.assertAlmostEqual(self.summary("tg64")["share"]["ours"]["median"], allowed / (64 / 30), places=4)
        record = json.loads(self.record.read_text())
        self.assertTrue(record["sessions"][0]["roofline_before"] and record["sessions"][0]["roofline_after"])

    def test_rounds_under_a_slow_probe_are_discarded(self):
        r = self.versus("--tests", "tg64", ours="--probes 1,1,1,0.8")
        self.assertEqual(r.returncode, 0, r.stderr)
        s = self.summary("tg64")
        self.assertEqual((s["rounds"], s["discarded"], s["measurable"]), (20, 5, True))
        self.assertIn("15 of 20", r.stdout)
        r = self.versus("--tests", "tg64", "--fresh", ours="--probes 1,1,1,0.9")
        self.assertEqual(self.summary("tg64")["discarded"], 0)

    def test_half_discarded_is_measured_and_more_is_not(self):
        r = self.versus("--tests", "tg64", ours="--probes 1,0.5")
        s = self.summary("tg64")
        self.assertEqual((r.returncode, s["discarded"], s["measurable"]), (0, 10, True))
        r = self.versus("--tests", "tg64", "--fresh", ours="--probes 1,0.5,0.5")
        s = self.summary("tg64")
        self.assertEqual((r.returncode, s["discarded"], s["measurable"]), (75, 13, False))
        self.assertNotIn("ratio", s)
        self.assertIn("not measurable today", r.stdout)

    def test_slower_than_asked(self):
        r = self.versus("--tests", "pp512", "--at-least", "1.0", ours="--pp 99", peer="--pp 100")
        self.assertEqual(r.returncode, 1)

    def test_the_better_peer_of_each_test(self):
        r = self.versus("--at-least", "1.5", ours="--pp 300 --tg 30", peer="--pp 100 --tg 15", peer2="--pp 200 --tg 10")
        self.assertEqual(r.returncode, 0, r.stderr)
        for test, ratio, ratios in (("pp512", 1.5, [3, 1.5]), ("tg64", 2, [2, 3])):
            s = self.summary(test)
            self.assertEqual(s["ratio"]["median"], ratio)
            self.assertEqual([s["ratios"][p]["median"] for p in ("peer 1", "peer 2")], ratios)
        r = self.versus("--at-least", "1.6", ours="--pp 300 --tg 30", peer="--pp 100 --tg 15", peer2="--pp 200 --tg 10")
        self.assertEqual(r.returncode, 1)

    def test_a_peer_that_dies_is_out_of_that_test_alone(self):
        # Its 3rd command is the second round of pp512; started again, it has two left for tg64.
        r = self.versus("--rounds", "2", ours="--pp 200", peer="--pp 100", peer2="--pp 400 --tg 1 --die 3")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("peer 2 ended with status 3", r.stdout)
        self.assertEqual(list(self.summary("pp512")["ratios"]), ["peer 1"])
        record = json.loads(self.record.read_text())
        self.assertIn("peer 2", record["tests"]["tg64"]["rounds"][0]["tok_s"])
        r = self.versus("--fresh", "--tests", "pp512", peer="--die 1")  # nobody left to compare with
        self.assertEqual(r.returncode, 1)
        self.assertIn("| failed |", r.stdout)

    def test_five_rounds_where_one_is_slow(self):
        self.versus("--tests", "pp512", "--slow-round", "0")
        self.assertEqual(self.summary("pp512")["rounds"], 5)

    def test_goes_on_after_a_crash(self):
        # The first test of each engine is the warm-up: the 9th is that of round 8.
        r = self.versus("--tests", "pp512,tg64", ours="--die 9")
        self.assertEqual(r.returncode, 1)
        self.assertIn("sluice ended with status 3", r.stderr)
        record = json.loads(self.record.read_text())
        self.assertEqual(len(record["tests"]["pp512"]["rounds"]), 7)
        # Same commands, or it would be another run: so write what the first should have been.
        record["commands"]["ours"] = record["commands"]["ours"].replace(" --die 9", "")
        self.record.write_text(json.dumps(record))
        r = self.versus("--tests", "pp512,tg64")
        self.assertEqual(r.returncode, 0, r.stderr)
        record = json.loads(self.record.read_text())
        self.assertEqual(len(record["sessions"]), 2)
        self.assertEqual([len(record["tests"][t]["rounds"]) for t in ("pp512", "tg64")], [20, 20])

    def test_never_mixes_records(self):
        self.versus("--tests", "pp512", "--rounds", "1")
        before = self.record.read_text()
        r = self.versus("--tests", "pp512", "--rounds", "1", "--threads", "63")
        self.assertEqual(r.returncode, 1)
        self.assertIn("--fresh", r.stderr)
        self.assertEqual(self.record.read_text(), before)

    def test_says_what_fails(self):
        r = self.versus("--tests", "pp")
        self.assertEqual(r.returncode, 1)
        self.assertIn("ppN or tgN", r.stderr)
        r = self.versus(ours="--isa amx")
        self.assertIn("yardsticks are known for avx2", r.stderr)
        r = self.versus("--peer", "/nonexistent/engine")
        self.assertIn("/nonexistent/engine", r.stderr)


class Protocol(unittest.TestCase):
    def test_errors_are_answers(self):
        lines = ["{", "[]", '{"test": "pp"}', '{"test": "pp", "n": 8}', '{"test": "quit"}', '{"test": "pp", "n": 8}']
        r = subprocess.run([sys.executable, BENCH / "fake_engine.py"], input="\n".join(lines) + "\n",
                           capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        answers = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual(len(answers), 5)  # hello and four answers: nothing after quit
        self.assertEqual(["error" in a for a in answers], [False, True, True, True, False])
        self.assertEqual(answers[4]["tokens"], 8)


if __name__ == "__main__":
    unittest.main()
