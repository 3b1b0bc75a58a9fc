"""The same weights in each form that bench/make_hf.py writes, a mixture of experts, give the same answers, bit for bit: where
weights are decoded to f32, and where kernels multiply their whole numbers."""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy", file=sys.stderr)
    sys.exit(77)

SLUICE, MAKE = os.environ["SLUICE"], os.environ["MAKE_HF"]
FORMS = ["f32", "gguf", "ct", "gptq", "awq"]
EXACT = ["--act", "f32", "--kv-type", "f32"]
PROMPT = [(7 * i * i + 3 * i + 1) % 320 for i in range(40)]


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class SameWeights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = {}
        for form in FORMS:
            cls.model[form] = os.path.join(cls.folder.name, form + (".gguf" if form == "gguf" else ""))
            run(sys.executable, MAKE, "--form", form, "-o", cls.model[form])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def logits(self, form, tokens, *options):
        out = os.path.join(self.folder.name, "logits.npy")
        run(SLUICE, "logits", self.model[form], "--tokens", ",".join(map(str, tokens)), "-o", out, *options)
        return np.load(out)

    def greedy(self, form, n, *options):
        tokens = PROMPT[:8]
        for _ in range(n):
            tokens = tokens + [int(self.logits(form, tokens, *options)[-1].argmax())]
        return tokens[8:]

    def test_exact(self):
        want = self.logits("f32", PROMPT, *EXACT)
        self.assertGreater(np.abs(want).max(), 1)
        for form in FORMS[1:]:
            self.assertTrue(np.array_equal(self.logits(form, PROMPT, *EXACT), want), form)

    def test_steps(self):
        """One token at a time goes by the kernels for few tokens."""
        for form in FORMS[1:]:
            for options in (["--act", "int8"], EXACT):
                whole = self.logits(form, PROMPT, *options)
                self.assertTrue(np.array_equal(self.logits(form, PROMPT, *options, "-ub", "1"), whole), form)
                self.assertTrue(np.array_equal(self.logits(form, PROMPT, *options, "-ub", "7"), whole), form)

    def test_rounded(self):
        """Inputs of 8 bits: zero points are taken from whole sums, so that all forms are the same sums."""
        want = self.logits("gguf", PROMPT, "--act", "int8")
        for form in FORMS[2:]:
            self.assertTrue(np.array_equal(self.logits(form, PROMPT, "--act", "int8"), want), form)
        for options in ([], ["-ub", "1"], ["-ub", "8"]):
            self.assertTrue(np.array_equal(self.logits("gguf", PROMPT, "--repack", *options), want), options)

    def test_greedy(self):
        want = self.greedy("f32", 12, *EXACT)
        self.assertGreater(len(set(want)), 1)
        for form in FORMS[1:]:
            self.assertEqual(self.greedy(form, 12, *EXACT), want, form)
        rounded = self.greedy("gguf", 12, "--act", "int8")
        for form in FORMS[2:]:
            self.assertEqual(self.greedy(form, 12, "--act", "int8"), rounded, form)


unittest.main()
