#!/usr/bin/env python3
"""The report: measured with programs that compute nothing, and written again from its record."""
import json
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import chart  # noqa: E402
import kernels  # noqa: E402
import report  # noqa: E402
import roof  # noqa: E402
import rounds  # noqa: E402
from toy import write_headers  # noqa: E402

ROOFLINE = {"threads": 2, "array_mib": 512, "read_GBs": 18.0, "read_best_GBs": 20.0, "fma_avx2_f32_GFLOPs": 200.0,
            "int8_avx2_maddubs_paired_GOPs": 450.0, "int8_avx2_madd16_GOPs": 300.0, "fma_avx512_f32_GFLOPs": None}


def case(name, isa="avx2", peak="int8_avx2_maddubs_paired", best_ns=1e6, gb_s=10.0, gop_s=40.0, share=0.5):
    return {"isa": isa, "case": name, "best_ns": best_ns, "gb_s": gb_s, "read_gb_s": 2 * gb_s, "gop_s": gop_s, "peak": peak,
            "peak_gop_s": 200.0, "peak_share": 0.2, "roof_share": share}


CASES = [case("linear Q4_0 as u4 x8, R=256 K=1024 T=1", isa="scalar", share=0.01),
         case("linear Q4_0 as u4 x8, R=256 K=1024 T=1"),
         case("linear Q4_0 as f32 x8, R=256 K=1024 T=1", peak="fma_avx2_f32"),
         case("linear Q4_0 as u4 x8, R=32768 K=3072 T=1", best_ns=6e6, gop_s=30.0, share=0.77),
         case("linear Q8_0 as s8 x8, R=256 K=1024 T=1", peak="int8_avx2_madd16"),
         case("attn_scores f16 R=1 C=64 P=64 pages=16", peak="fma_avx2_f32"),
         case("attn_mix f16 R=1 C=64 P=64 pages=16", peak="fma_avx2_f32", gb_s=30.0, gop_s=30.0, share=0.66)]


def boxes(svg):
    """Where the labels lie: (x, y, width, height), by the rectangles behind them."""
    found = [e for e in ET.fromstring(svg).iter() if e.get("class") == "page behind"]
    return [tuple(float(e.get(k)) for k in ("x", "y", "width", "height")) for e in found]


def overlapping(found):
    return [(a, b) for i, a in enumerate(found) for b in found[:i]
            if a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]]


class Report(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.top = Path(self.dir.name)
        self.model, self.base = self.top / "m.gguf", self.top / "out" / "r"
        write_headers(self.model)
        self.program("bench/roofline", f"print({json.dumps(json.dumps(ROOFLINE))})")
        # As checkasm: the lines of the cases with that part of a name; none is a failure.
        self.program("tests/checkasm/checkasm", f"import sys\nlines = [l for l in {[json.dumps(c) for c in CASES]!r} if sys.argv[2] in l]\n"
                     "print('skipped: amx: this CPU lacks it', *lines, sep='\\n')\nsys.exit(not lines)")

    def program(self, name, code):
        path = self.top / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{code}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def report(self, *options, ours="--pp 100 --tg 10", quick=True):
        return subprocess.run([sys.executable, BENCH / "report.py", "--build", self.top / "build", "--model", self.model, "-o", self.base,
                               "--peers", "none", "--ours", f"{sys.executable} {BENCH / 'fake_engine.py'} {ours}",
                               *(["--quick"] if quick else []), *options], capture_output=True, text=True)

    def record(self):
        return json.loads(self.base.with_suffix(".json").read_text())

    def text(self, kind=".md"):
        return self.base.with_suffix(kind).read_text()

    def test_everything(self):
        r = self.report(quick=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        record = self.record()
        self.assertTrue(record["finished"])
        self.assertTrue(record["sessions"][0]["roofline_after"])
        tests = record["models"]["m.gguf"]["alone"]
        self.assertEqual(set(tests), {t for part in report.PARTS.values() for t in part})
        self.assertEqual({len(e["rounds"]) for e in tests.values()}, {20})
        allowed = 64 / (roof.Model(self.model).cost(roof.parse_test("tg64"), "f16", 512).bytes / 20e9)
        self.assertAlmostEqual(tests["tg64"]["summary"]["share"]["ours"]["median"], 10 / allowed, places=4)
        # Kernels: of the instruction set in use, and the way that products really go
        self.assertEqual(set(record["kernels"]), {CASES[i]["case"] for i in (1, 3, 4, 5, 6)})
        text = self.text()
        for line in ("| prompt of 2,048 | pp2048 | 100 (100–100) |", "| one stream, 65,536 tokens before | tg32@65536 |", "20 of 20",
                     "| `read_best_GBs` | 20.0 | 20.0 |", "| 2 | linear Q4_0 as u4 x8, R=32768 K=3072 T=1 | memory |", "**0.77**",
                     "![operations per byte against operations a second](r.svg)", record["commit"], "[1/"):
            (self.assertIn if line != "[1/" else self.assertNotIn)(line, text)
        self.assertNotIn("Unfinished", text)
        self.assertIn("[1/", r.stderr)
        self.assertIn("| m | prompt of 512 | 100 |", r.stdout)

    def test_the_chart(self):
        self.report(quick=False)
        svg = self.text(".svg")
        root = ET.fromstring(svg)
        titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
        for test in ("pp512", "tg64", "tg32@65536", "tg32x16"):
            self.assertTrue(any(t.startswith(f"m.gguf {test}: ") for t in titles), test)
        self.assertEqual(overlapping(boxes(svg)), [])
        self.assertIn("prefers-color-scheme: dark", svg)
        # A dot's height is what was computed in a second.
        s = self.record()["models"]["m.gguf"]["alone"]["tg32x8"]["summary"]
        dot = next(d for d in report.report_text.models_panel(self.record()).dots if d.label == "tg32x8")
        ops = sum(s["linear_ops"].values()) + s["attention_ops"]
        self.assertAlmostEqual(dot.y, 1e-9 * ops / (32 * 8) * 10)
        self.assertAlmostEqual(dot.x, ops / s["bytes"])

    def test_goes_on_where_it_stopped(self):
        r = self.report("--only", "models,depths", ours="--pp 100 --tg 10 --die 7")  # in the second round of tg64
        self.assertEqual(r.returncode, 1)
        self.assertIn("sluice ended with status 3", r.stderr)
        self.assertIn("Unfinished", self.text())
        self.assertEqual([len(e["rounds"]) for e in self.record()["models"]["m.gguf"]["alone"].values()], [3, 1])
        r = self.report("--only", "models,depths,kernels")
        self.assertEqual(r.returncode, 0, r.stderr)
        record = self.record()
        self.assertEqual(len(record["sessions"]), 2)
        self.assertEqual([len(e["rounds"]) for e in record["models"]["m.gguf"]["alone"].values()], [3, 3, 3])
        self.assertNotIn("Unfinished", self.text())
        r = self.report("--only", "models,depths")
        self.assertIn("measured already", r.stderr)

    def test_records_of_something_else(self):
        self.report("--only", "models", ours="--die 3")
        before = self.text(".json")
        r = self.report("--only", "models", "--threads", "63")
        self.assertEqual(r.returncode, 1)
        self.assertIn("--fresh", r.stderr)
        self.assertEqual(self.text(".json"), before)
        self.assertEqual(self.report("--only", "models").returncode, 0)
        self.assertEqual(self.report("--only", "machine", "--threads", "63").returncode, 0)  # a finished one is brought up to date
        self.assertEqual(self.record()["setup"]["threads"], 63)
        self.assertEqual(self.record()["models"], {})

    def test_not_measurable(self):
        r = self.report("--only", "models", ours="--probes 1,0.5,0.5")
        self.assertEqual(r.returncode, 75)
        self.assertIn("| one stream | tg64 | not measurable today |", self.text())
        self.assertIn("not measurable today", r.stdout)

    def test_contexts_end(self):
        write_headers(self.model, context=4127)
        r = self.report("--only", "depths")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn("tg32@4096", self.record()["models"]["m.gguf"]["alone"])
        self.assertIn("Not measured: tg32@4096, since the model's context is 4,127.", self.text())
        write_headers(self.model, context=4128)
        self.report("--only", "depths", "--fresh")
        self.assertIn("tg32@4096", self.record()["models"]["m.gguf"]["alone"])

    def test_written_again_from_its_record(self):
        self.report()
        before = self.text(), self.text(".svg")
        for suffix in (".md", ".svg"):
            self.base.with_suffix(suffix).unlink()
        self.model.unlink()
        self.assertEqual(self.report("--render").returncode, 0)
        self.assertEqual((self.text(), self.text(".svg")), before)
        r = self.report("--readme")
        self.assertIn("| m | prompt of 512 | 100 |", r.stdout)

    def test_beside_peers(self):
        self.report("--only", "models")
        record = self.record()
        m = record["models"]["m.gguf"]
        m["beside"] = json.loads(json.dumps(m["alone"]))
        for name, e in m["beside"].items():
            for r in e["rounds"]:
                r["tok_s"].update({"llama.cpp": r["tok_s"]["ours"] / 4, **({"ik_llama.cpp": r["tok_s"]["ours"] / 2} if name == "pp512" else {})})
            e["summary"] = rounds.summarise(e, roof.parse_test(name), roof.Model(self.model), record["setup"],
                                            rounds.best_roofline(record["sessions"]), rounds.best_probe([e], e["peak"]))
        m["beside"]["tg64"]["failed"]["ik_llama.cpp"] = "ik_llama.cpp ended with status 134"
        m["peers"] = {p: {"version": "1", "command": p} for p in ("llama.cpp", "ik_llama.cpp")}
        self.base.with_suffix(".json").write_text(json.dumps(record))
        self.report("--render")
        text = self.text()
        self.assertIn("| prompt of 512 | 100 | 25.0 | 50.0 | **2.00 (2.00–2.00)** |", text)
        self.assertIn("| one stream | 10.0 | 2.50 | failed | **4.00 (4.00–4.00)** |", text)
        self.assertIn("- tg64: ik_llama.cpp ended with status 134", text)
        self.assertIn("| m | prompt of 512 | 100 | 25.0 | 50.0 | **2.00 (2.00–2.00)** |", self.report("--readme").stdout)

    def test_says_what_fails(self):
        r = self.report("--only", "models,speed")
        self.assertEqual(r.returncode, 2)
        self.assertIn("'speed'", r.stderr)
        (self.top / "build/tests/checkasm/checkasm").unlink()
        r = self.report("--only", "kernels")
        self.assertEqual(r.returncode, 1)
        self.assertIn("ninja tests/checkasm/checkasm", r.stderr)
        self.assertIn("yardsticks are known for avx2", self.report(ours="--isa amx").stderr)


class Parts(unittest.TestCase):
    def test_labels_of_a_crowd(self):
        dots = [chart.Dot(10.0, 50.0, f"<test & {i}>", f"{i}") for i in range(40)]
        svg = chart.svg([chart.Panel("a < b", [("memory", 20.0, False)], [("fma", 200.0), ("madd", 201.0)], dots, ["one"])])
        found = boxes(svg)
        self.assertEqual(overlapping(found), [])
        self.assertGreater(len(found), 20)
        self.assertIn("&lt;test &amp; 7&gt;", svg)

    def test_scales(self):
        scale = chart.Scale(1, 100, 0, 200)
        self.assertAlmostEqual(scale(10), 100)
        self.assertEqual([round(t) for t in scale.ticks()], [1, 2, 5, 10, 20, 50, 100])

    def test_names_of_files(self):
        self.assertEqual(report.slug("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"), "intel-xeon-platinum-8481c")
        self.assertEqual(report.slug("AMD EPYC 9654 96-Core Processor"), "amd-epyc-9654")

    def test_the_way_of_a_product(self):
        for name, auto, f32 in (("linear F16 as f32 x8, R=1", True, True), ("linear Q8_0 as f32 x8, R=1", False, True),
                                ("linear Q8_0 as s8 x8, R=1", True, False), ("attn_mix f16 R=1", True, True)):
            self.assertEqual((kernels.used(name, "auto"), kernels.used(name, "f32")), (auto, f32), name)


if __name__ == "__main__":
    unittest.main()
