"""`sluice perplexity`: the definition, recomputed from `sluice logits`; and the default model's figure."""
import math
import os
import shutil
import tempfile
import unittest

import cli
from cli import DATA, EXACT, LLAMA, SMOLLM2, good, ids_text, load_json, read_npy, sluice

try:
    import numpy as np
except ImportError:
    np = None

TEXT = "The quick brown fox jumps over the lazy dog, again and again, until the dog is no longer lazy."


class Definition(unittest.TestCase):
    def test_windows(self):
        ids = good("tokenize", LLAMA, "--no-parse-special", stdin=TEXT).json
        window, nll = 16, []
        with tempfile.TemporaryDirectory() as folder:
            for at in range(0, len(ids), window):
                part = ids[at:at + window]
                if len(part) < 2:
                    break
                good("logits", LLAMA, *EXACT, "--tokens", ids_text(part), "-o", f"{folder}/o.npy")
                _, cols, values = read_npy(f"{folder}/o.npy")
                for i, target in enumerate(part[1:]):
                    row = values[i * cols:(i + 1) * cols]
                    best = max(row)
                    nll.append(best + math.log(sum(math.exp(v - best) for v in row)) - row[target])
        got = good("perplexity", LLAMA, "-f", "-", "--ctx", window, "--json", *EXACT, stdin=TEXT).json
        self.assertEqual(got["n_scored"], len(nll))
        self.assertAlmostEqual(got["ppl"] / math.exp(sum(nll) / len(nll)), 1.0, delta=1e-6)
        for args in (["-ub", "3"], ["-t", "1"], ["--mode", "eager"]):
            again = good("perplexity", LLAMA, "-f", "-", "--ctx", window, "--json", *EXACT, *args, stdin=TEXT).json
            self.assertEqual(again["ppl"], got["ppl"], args)

    def test_text_and_refusals(self):
        self.assertRegex(good("perplexity", LLAMA, "-f", "-", stdin=TEXT).text, r"^perplexity [\d.]+ \+- [\d.]+ over \d+ tokens\n$")
        self.assertEqual(sluice("perplexity", LLAMA).code, 2)
        self.assertEqual(sluice("perplexity", LLAMA, "-f", "-", "--ctx", "1", stdin=TEXT).code, 2)
        self.assertEqual(sluice("perplexity", LLAMA, "-f", "-", stdin="").code, 1)
        self.assertEqual(sluice("perplexity", LLAMA, "-f", "no/such/text").code, 1)


def compare(base, ours):
    """The definitions, in numpy and double precision."""
    p, q = (v - v.max(axis=1, keepdims=True) for v in (base, ours))
    p, q = (v - np.log(np.exp(v).sum(axis=1, keepdims=True)) for v in (p, q))
    kl = (np.exp(p) * (p - q)).sum(axis=1)
    cosine = (base * ours).sum(axis=1) / np.sqrt((base ** 2).sum(axis=1) * (ours ** 2).sum(axis=1))
    return {"n": len(base), "kl_mean": kl.mean(), "kl_error": kl.std() / math.sqrt(len(kl) - 1), "kl_max": kl.max(),
            "top1_agreement": (base.argmax(axis=1) == ours.argmax(axis=1)).mean(), "cosine_mean": cosine.mean(),
            "cosine_min": cosine.min()}


@unittest.skipUnless(np, "numpy is not installed")
class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.path = self.dir + "/base.npy"

    def run_on(self, model, *args, text=TEXT):
        return good("perplexity", model, "-f", "-", "--ctx", 16, *args, stdin=text)

    def refused(self, code, says, *args, text=TEXT):
        r = sluice("perplexity", LLAMA, "-q", "-f", "-", "--ctx", 16, *args, stdin=text)
        self.assertEqual((r.code, r.out, r.errors.count("\n")), (code, b"", 1), r.errors)
        for word in says:
            self.assertIn(word, r.errors)

    def test_against_numpy(self):
        other = f"{DATA}/gguf/llama-small-Q8_0/llama-small-Q8_0.gguf"
        self.run_on(other, *EXACT, "--save-logits", self.path)
        for args in (EXACT, ["--act", "int8", "-ub", "3", "-t", "2"]):
            got = self.run_on(LLAMA, *args, "--base", self.path, "--save-logits", self.dir + "/ours.npy", "--json").json
            want = compare(np.load(self.path).astype(np.float64), np.load(self.dir + "/ours.npy").astype(np.float64))
            self.assertEqual(got["base"]["file"], self.path)
            self.assertGreater(want["kl_mean"], 1e-4)
            for key, value in want.items():
                self.assertAlmostEqual(got["base"][key], value, delta=1e-9 + 1e-7 * abs(value), msg=key)
            self.assertEqual(got["ppl"], self.run_on(LLAMA, *args, "--json").json["ppl"])
        self.assertRegex(self.run_on(LLAMA, "--base", self.path).text,
                         r"^perplexity .*\nagainst .*base\.npy, over \d+ positions\n  KL divergence    mean \d\.\d+ ")

    def test_against_itself(self):
        self.run_on(LLAMA, "--save-logits", self.path)
        base = self.run_on(LLAMA, "--base", self.path, "--json", "-t", "2", "-ub", "5").json["base"]
        self.assertEqual((base["kl_mean"], base["kl_max"], base["top1_agreement"]), (0.0, 0.0, 1.0))
        self.assertAlmostEqual(base["cosine_min"], 1.0, delta=1e-12)

    def test_rows_are_those_of_logits(self):
        ids = good("tokenize", LLAMA, "--no-parse-special", stdin=TEXT).json
        ids = ids[:len(ids) // 16 * 16]
        args = [a for at in range(0, len(ids), 16) for a in ("--tokens", ids_text(ids[at:at + 16]))]
        good("logits", LLAMA, *args, "-o", self.path)
        text = good("tokenize", LLAMA, "--detokenize", stdin=str(ids)).text
        self.assertEqual(good("tokenize", LLAMA, "--no-parse-special", stdin=text).json, ids)
        self.assertEqual(self.run_on(LLAMA, "--base", self.path, "--json", text=text).json["base"]["kl_max"], 0.0)
        self.run_on(LLAMA, "--save-logits", self.dir + "/saved.npy", text=text)
        with open(self.path, "rb") as a, open(self.dir + "/saved.npy", "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_a_last_window_of_one_token(self):
        ids = good("tokenize", LLAMA, "--no-parse-special", stdin=TEXT).json
        window = next(w for w in range(2, 40) if len(ids) % w == 1)
        good("perplexity", LLAMA, "-f", "-", "--ctx", window, "--save-logits", self.path, stdin=TEXT)
        self.assertEqual(np.load(self.path).shape[0], len(ids) - 1)
        j = good("perplexity", LLAMA, "-f", "-", "--ctx", window, "--base", self.path, "--json", stdin=TEXT).json
        self.assertEqual((j["base"]["n"], j["base"]["kl_max"]), (len(ids) - 1, 0.0))

    def test_refusals(self):
        self.run_on(LLAMA, "--save-logits", self.path)
        rows, cols = np.load(self.path).shape
        self.refused(1, ["--base", f"[{rows}][{cols}]"], "--base", self.path, text=TEXT[:40])
        for name, array, says in (("wide", np.zeros((rows, cols + 1), np.float32), [f"[{rows}][{cols + 1}]", f"[{rows}][{cols}]"]),
                                  ("double", np.zeros((rows, cols)), ["'<f8'", "'<f4' is needed"]),
                                  ("flat", np.zeros(rows, np.float32), ["two dimensions"]),
                                  ("fortran", np.asfortranarray(np.ones((rows, cols), np.float32)), ["Fortran"])):
            np.save(f"{self.dir}/{name}.npy", array)
            self.refused(1, ["--base", name + ".npy", *says], "--base", f"{self.dir}/{name}.npy")
        broken = np.load(self.path)
        broken[3, 5] = np.nan
        np.save(self.dir + "/broken.npy", broken)
        self.refused(1, ["broken.npy", "row 3", "not finite"], "--base", self.dir + "/broken.npy")
        with open(self.path, "rb") as f:
            raw = f.read()
        for name, data, says in (("short", raw[:-4], "cut short"), ("empty", b"", "not a .npy file"),
                                 ("text", b"x" * 500, "not a .npy file"), ("header", raw[:60], "header")):
            with open(f"{self.dir}/{name}.npy", "wb") as f:
                f.write(data)
            self.refused(1, [name + ".npy", says], "--base", f"{self.dir}/{name}.npy")
        self.refused(1, ["no.npy"], "--base", self.dir + "/no.npy")
        # nothing that is read is overwritten
        self.refused(1, ["--save-logits", "not overwritten"], "--base", self.path, "--save-logits", self.path)
        shutil.copyfile(LLAMA, self.dir + "/m.gguf")
        r = sluice("perplexity", self.dir + "/m.gguf", "-f", "-", "--save-logits", self.dir + "/m.gguf", stdin=TEXT)
        self.assertEqual(r.code, 1)
        self.assertEqual(os.path.getsize(self.dir + "/m.gguf"), os.path.getsize(LLAMA))


@cli.needs_smollm2
@unittest.skipUnless(cli.ordinary(), "the default model's text takes minutes on scalar kernels, and with a sanitizer")
class DefaultModel(unittest.TestCase):
    text = f"{DATA}/smollm2/perplexity/text.txt"
    want = load_json(f"{DATA}/smollm2/manifest.json")["perplexity"]

    def test_exact(self):
        got = good("perplexity", SMOLLM2, "-f", self.text, "--ctx", "2048", "--json", *EXACT).json
        self.assertEqual(got["n_scored"], self.want["n_scored"])
        self.assertLess(abs(got["ppl"] / self.want["ppl"] - 1), 1e-3)

    def test_default(self):
        got = good("perplexity", SMOLLM2, "-f", self.text, "--ctx", "2048", "--json").json
        self.assertLess(abs(got["ppl"] / self.want["ppl"] - 1), 1e-2)


if __name__ == "__main__":
    cli.main()
