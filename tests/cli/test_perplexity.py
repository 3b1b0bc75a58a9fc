"""`sluice perplexity`: the definition, recomputed from `sluice logits`; and the default model's figure."""
import math
import os
import tempfile
import unittest

import cli
from cli import DATA, EXACT, LLAMA, SMOLLM2, good, ids_text, load_json, read_npy, sluice

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


@cli.needs_smollm2
@unittest.skipIf(cli.SCALAR, "the default model's text takes minutes on scalar kernels")
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
