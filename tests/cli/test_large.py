#!/usr/bin/env python3
"""Checkpoints of tens of thousands of tensors: opened in time that grows as they do."""
import resource
import tempfile
import unittest

import large
from cli import good

LITTLE = ["-t", 1, "-ub", 1]
OPENING_S = 4.0  # of CPU; a fifth of a second where nothing else runs, 20 s with one loop over all in another


def cpu_of(*args):
    """(seconds of CPU that a run took, what it printed)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = good(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, r


class Large(unittest.TestCase):
    def test_shards_of_kimi_k2(self):
        """61 layers of 384 experts in 61 files, 18 GB of them holes."""
        with tempfile.TemporaryDirectory() as folder:
            model = folder + "/kimi"
            n, size = large.write_shards(model, layers=61, experts=384)
            seconds, r = cpu_of("info", model, "--json", "-c", 64, *LITTLE)
            self.assertEqual((r.json["n_tensors"], r.json["supported"]), (n, True))
            self.assertGreater(n, 60000)
            self.assertEqual(r.json["weights_bytes"], size)
            self.assertLess(seconds, OPENING_S)

    def test_gguf(self):
        with tempfile.TemporaryDirectory() as folder:
            model = folder + "/layers.gguf"
            n, _ = large.write_gguf(model, layers=6600, width=64, ffn=256)
            seconds, r = cpu_of("info", model, "--json", "-c", 64, *LITTLE)
            self.assertEqual((r.json["n_tensors"], r.json["supported"]), (n, True))
            self.assertLess(seconds, OPENING_S)

    def test_copies(self):
        """Each weight finds its copy among all of them."""
        with tempfile.TemporaryDirectory() as folder:
            model = folder + "/kimi"
            large.write_shards(model, layers=61, experts=384, width=16, expert_width=4, shards=4)
            seconds, r = cpu_of("info", model, "--json", "-c", 64, *LITTLE, "--weights", "copy")
            self.assertTrue(r.json["engine"]["memory"]["fits"])
            self.assertLess(seconds, OPENING_S)


if __name__ == "__main__":
    unittest.main()
