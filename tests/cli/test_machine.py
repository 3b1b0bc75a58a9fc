#!/usr/bin/env python3
"""test_machine.py - what the program says about threads, and that their number changes nothing else."""
import os
import unittest

from cli import LLAMA, good

ONE = ["run", LLAMA, "x", "--no-template", "-n", "1"]


class Threads(unittest.TestCase):
    def test_reason_is_told(self):
        self.assertRegex(good(*ONE).errors, r"(?m)^threads: \d+ threads?: .*core")
        self.assertRegex(good("info", LLAMA).text, r"(?m)^  threads +\d+ threads?: .*core")

    def test_more_than_there_are_is_a_warning(self):
        self.assertRegex(good(*ONE, "-t", 700).errors, r"warning: 700 threads take turns on the \d+ CPU")
        self.assertNotIn("warning", good(*ONE, "-t", 1).errors)

    def test_one_cpu_of_many_is_a_warning(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) == 1:
            self.skipTest("this machine gives one CPU")
        try:
            os.sched_setaffinity(0, cpus[:1])
            alone, two = good(*ONE), good(*ONE, "-t", 2)
        finally:
            os.sched_setaffinity(0, cpus)
        self.assertRegex(alone.errors, r"threads: 1 thread: .*mask has 1 of \d+ CPUs")
        self.assertIn("warning: the affinity mask", alone.errors)
        self.assertIn("warning: 2 threads take turns on the 1 CPU", two.errors)

    def test_variables_of_other_programs_do_not_matter(self):
        others = {"OMP_NUM_THREADS": "1", "OMP_PROC_BIND": "true", "GOMP_CPU_AFFINITY": "0", "KMP_AFFINITY": "compact"}
        plain, env = good("info", LLAMA, "--json").json, good("info", LLAMA, "--json", env=others).json
        self.assertEqual(plain["engine"]["threads"], env["engine"]["threads"])

    def test_any_number_gives_the_same_answer(self):
        answers = [good("run", LLAMA, "x", "--no-template", "-n", 12, "--temp", 0, "--json", "--logprobs", "-t", n).json
                   for n in (1, 2, 3, 7, 16, 17, 64, 300)]
        for a in answers[1:]:
            self.assertEqual(a["logprobs"], answers[0]["logprobs"])


if __name__ == "__main__":
    unittest.main()
