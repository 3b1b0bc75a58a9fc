#!/usr/bin/env python3
"""test_machine.py - threads and memory: what the program takes of the machine, and what it says about it."""
import os
import re
import resource
import shutil
import sys
import tempfile
import unittest

import cli
from cli import LLAMA, SMOLLM2, good, needs_smollm2, sluice

sys.path.insert(0, os.environ["BENCH_FOLDER"])
import gguf  # noqa: E402
from memory_group import Group  # noqa: E402

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


LONG = ["--override-kv", "llama.context_length=int:1048576"]  # a model that was trained with a million positions
WIDE = ["--kv-type", "f32", "--n-answers", 8]  # whose keys and values of so many positions take 4 GiB
GIB = 1 << 30


def context(result):
    """(chosen, trained with, why) of the message about a cut context."""
    m = re.search(r"(?m)^context: (\d+) positions of the (\d+) that the model was trained with, since (.*) is ",
                  result.errors)
    return m and (int(m[1]), int(m[2]), m[3])


class Context(unittest.TestCase):
    def test_as_the_model_says_where_it_fits(self):
        r = good(*ONE)
        self.assertIsNone(context(r))
        self.assertEqual(good("info", LLAMA, "--json").json["engine"]["ctx_size"],
                         good("info", LLAMA, "--json").json["n_ctx_train"])

    def test_a_limit_of_the_user(self):
        r = good(*ONE, *LONG, "--memory", "64M")
        chosen, trained, why = context(r)
        self.assertEqual((trained, why), (1048576, "--memory"))
        info = good("info", LLAMA, *LONG, "--memory", "64M", "--json").json["engine"]
        self.assertEqual(info["ctx_size"], chosen)
        self.assertTrue(info["memory"]["fits"])
        self.assertLessEqual(info["memory"]["total"], 64 << 20)
        self.assertEqual(info["memory"]["available"], 64 << 20)

    def test_an_explicit_context_is_refused_with_the_numbers(self):
        r = sluice(*ONE, *LONG, "-c", 1048576, "--memory", "64M")
        self.assertEqual(r.code, 1)
        for words in ("1048576 positions", "KV cache", "--memory is 64.0 MiB", "--kv-type", "--ubatch-size"):
            self.assertIn(words, r.errors)
        fits = re.search(r"--ctx-size (\d+) would fit", r.errors)[1]
        good(*ONE, *LONG, "-c", fits, "--memory", "64M")
        r = sluice("info", LLAMA, *LONG, "-c", 1048576, "--memory", "64M")
        self.assertEqual(r.code, 1)
        self.assertIn("does not fit", r.text)

    def test_sizes(self):
        for size in ("1G", "1024m", "1.5GiB", "50%", "1073741824"):
            good(*ONE, "--memory", size)
        for size in ("", "0", "-1", "lots", "4 G", "101%", "110%%", "0x10M", "1e99"):
            r = sluice(*ONE, "--memory", size)
            self.assertEqual((r.code, "--memory" in r.errors), (2, True), size)

    def test_address_space(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (GIB // 2, GIB // 2))
        try:
            r = good(*ONE, *LONG, *WIDE, "-t", 2, preexec_fn=limit)
        except AssertionError as e:
            if "Sanitizer" in str(e):
                self.skipTest("a sanitizer maps more than any limit")
            raise
        self.assertIn("ulimit -v", context(r)[2])

    def test_what_is_told_is_what_is_made(self):
        """What is free changes between the two; where nothing fits, no context is promised."""
        def run(limit):
            return sluice("run", LLAMA, "x", "--no-template", "-n", 1, *LONG, "-t", 2,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        if "Sanitizer" in run(GIB // 2).errors:
            self.skipTest("a sanitizer maps more than any limit")
        told = {run(limit << 20).errors for limit in range(150, 190, 5)}
        for errors in told:
            chosen, made = re.search(r"(?m)^context: (\d+) ", errors), re.search(r"context \d+ of (\d+)", errors)
            self.assertEqual(chosen and chosen[1], made and made[1], errors)
        self.assertTrue(any("| context " in errors for errors in told), told)

    def test_the_parts_are_the_sum(self):
        """Of what does not fit into address space, where mapped weights are already."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (GIB // 2, GIB // 2))
        r = sluice(*ONE, *LONG, *WIDE, "-c", 1048576, "-t", 2, preexec_fn=limit)
        if "Sanitizer" in r.errors:
            self.skipTest("a sanitizer maps more than any limit")
        sizes = {what: float(n) * {"bytes": 0, "KiB": 2 ** -10, "MiB": 1, "GiB": 1024}[unit] for what, n, unit in
                 re.findall(r"(takes|KV cache|workspace|other|libraries) ([\d.]+) (\w+)", r.errors)}
        self.assertIn("already mapped", r.errors)
        self.assertAlmostEqual(sizes.pop("takes"), sum(sizes.values()), delta=0.02 * sum(sizes.values()), msg=r.errors)

    def test_in_a_group_of_4_gib(self):
        group = Group(4 * GIB)
        if not group.path:
            self.skipTest("SKIPPED: no memory cgroup can be made here (not root, or cgroupfs is read-only)")
        try:
            r = sluice(*ONE, *LONG, *WIDE, preexec_fn=group.enter)
            self.assertEqual(r.code, 0, r.errors)
            chosen, _, why = context(r)
            self.assertIn("cgroup", why)
            self.assertGreater(chosen, 64)
            r = sluice(*ONE, "-c", 1048576, *WIDE, preexec_fn=group.enter)
            self.assertEqual(r.code, 1)
            self.assertIn("cgroup", r.errors)
            share = sluice("info", LLAMA, "--json", "--memory", "50%", preexec_fn=group.enter)
            self.assertEqual(share.json["engine"]["memory"]["available"], 2 * GIB)
        finally:
            group.remove()


def write_sparse(path):
    """A llama of one layer whose 64 MiB of F16 are zeros that take no place on the disk."""
    h = gguf.Header()
    h.add("general.architecture", gguf.STRING, "llama")
    for key, value in (("block_count", 1), ("embedding_length", 1024), ("feed_forward_length", 8192),
                       ("attention.head_count", 8), ("attention.head_count_kv", 8), ("context_length", 256)):
        h.add("llama." + key, gguf.U32, value)
    h.add("llama.attention.layer_norm_rms_epsilon", gguf.F32, 1e-5)
    h.add("llama.vocab_size", gguf.U32, 256)
    for name, rows, cols in (("token_embd", 256, 1024), ("blk.0.attn_q", 1024, 1024), ("blk.0.attn_k", 1024, 1024),
                             ("blk.0.attn_v", 1024, 1024), ("blk.0.attn_output", 1024, 1024),
                             ("blk.0.ffn_gate", 8192, 1024), ("blk.0.ffn_up", 8192, 1024), ("blk.0.ffn_down", 1024, 8192)):
        h.add_tensor(gguf.Tensor(name + ".weight", (rows, cols), "F16"))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        h.add_tensor(gguf.Tensor(name + ".weight", (1024,), "F32"))
    head = h.bytes()
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + sum(t.bytes for t in h.tensors))


class Prefetch(unittest.TestCase):
    def test_auto_is_off_where_the_weights_fit(self):
        self.assertEqual(good("info", LLAMA, "--json").json["engine"]["prefetch"], "off")
        self.assertEqual(good("info", LLAMA, "--json", "--prefetch", "on").json["engine"]["prefetch"], "on")
        self.assertIn("weights asked for ahead", good("info", LLAMA, "--prefetch=on").text)
        self.assertNotIn("to be had", good(*ONE, "--prefetch", "on").errors)

    def test_auto_is_on_where_they_do_not(self):
        group = Group(24 << 20)
        if not group.path:
            self.skipTest("SKIPPED: no memory cgroup can be made here (not root, or cgroupfs is read-only)")
        try:
            with tempfile.TemporaryDirectory() as folder:
                model = folder + "/sparse.gguf"  # 64 MiB of zeros behind a header
                write_sparse(model)
                info = sluice("info", model, "--json", "-c", 64, "-ub", 16, preexec_fn=group.enter)
                self.assertEqual(info.code, 0, info.errors)
                self.assertTrue(info.json["engine"]["memory"]["streamed"])
                self.assertEqual(info.json["engine"]["prefetch"], "on")
                text = sluice("logits", model, "--tokens", "1", "-o", folder + "/out.npy", "-ub", 16, preexec_fn=group.enter).errors
                self.assertRegex(text, r"weights [\d.]+ MiB, [\d.]+ MiB to be had \(what the cgroup's limit leaves\): "
                                       r"parts are read from disk for each token")
        finally:
            group.remove()

    def test_copies_are_in_memory(self):
        r = sluice(*ONE, "--prefetch=on", "--weights=copy")
        self.assertEqual((r.code, "--prefetch on" in r.errors), (2, True))
        good(*ONE, "--prefetch=auto", "--weights=copy")


class Placement(unittest.TestCase):
    def test_effects_are_told(self):
        for option in ("--no-mmap", "--weights=copy", "--weights=copy-per-node", "--numa=interleave"):
            r = good(*ONE, option)
            self.assertRegex(r.errors, r"(?m)^weights: [\d.]+ [KM]iB in memory of .* in huge pages, .* locked")
            self.assertRegex(r.errors, r"(?m)^KV cache: .* in memory of")
        self.assertIn("copied", good(*ONE, "--no-mmap").errors)
        self.assertIn("copied", good("info", LLAMA, "--no-mmap").text)
        self.assertNotIn("in huge pages", good(*ONE).errors)

    def test_repacking_is_told(self):
        """How much it was, by every command that may be asked for it; where it was nothing, that it takes a copy for nothing."""
        floats = LLAMA.replace("Q4_0", "F32")
        for command in (["run", "x", "--no-template", "-n", "1"], ["bench", "-p", "0", "-n", "1", "-r", "1"],
                        ["profile", "-p", "0", "-n", "1", "-r", "1"]):
            word, rest = command[0], command[1:]
            r = good(word, LLAMA, *rest, "--repack")
            self.assertRegex(r.errors, r"(?m)^memory: weights .* \(copied\)")
            self.assertRegex(r.errors, r"(?m)^repack: 4[\d.]+ KiB of the weights have rows interleaved$")
            self.assertNotIn("repack", good(word, LLAMA, *rest).errors)
            self.assertEqual(good(word, LLAMA, *rest, "--repack", "-q").errors, "")
            self.assertIn("warning: --repack changes nothing here", good(word, floats, *rest, "--repack").errors)
        self.assertIn("copied", good("info", LLAMA, "--repack").text)
        self.assertIn("Q4_0_R8", good("info", LLAMA, "--repack", "--plan").text)
        self.assertNotIn("_R8", good("info", LLAMA, "--weights=copy", "--plan").text)

    def test_one_node_is_told(self):
        if os.path.exists("/sys/devices/system/node/node1"):
            self.skipTest("this machine has several nodes")
        self.assertIn("one node: nothing to place", good(*ONE, "--numa", "interleave").errors)

    def test_what_the_system_refuses(self):
        try:
            with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as f:
                if int(f.read()):
                    self.skipTest("this machine has huge pages set aside")
        except OSError:
            pass
        r = sluice(*ONE, "--huge-pages", "explicit")
        self.assertEqual(r.code, 1)
        self.assertRegex(r.errors, r"(1 huge page of 2 MiB is|\d+ huge pages of 2 MiB are) needed, the system has 0 free .*vm.nr_hugepages")

    def test_transparent_huge_pages(self):
        r = sluice(*ONE, "--huge-pages", "thp", "--weights", "copy")
        if r.code == 1:
            self.assertIn("transparent huge pages are switched off here", r.errors)
            self.skipTest(r.errors)
        self.assertRegex(r.errors, r"(?m)^weights: .* in huge pages")

    @needs_smollm2
    @unittest.skipUnless(cli.ordinary(), "the default model is slow on scalar kernels, and with a sanitizer")
    def test_a_file_in_huge_pages(self):
        """What was written lies in small pages; asked for huge ones, it is read again, to the same answer."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            with open(SMOLLM2, "rb") as f, open(path, "wb") as g:
                shutil.copyfileobj(f, g)
                os.fsync(g.fileno())
            options = ["hello", "--no-template", "--temp", "0", "-n", "3"]
            plain, r = good("run", path, *options), sluice("run", path, *options, "--huge-pages", "thp")
            if r.code == 1:
                self.assertIn("transparent huge pages are switched off here", r.errors)
                self.skipTest(r.errors)
            self.assertEqual(plain.text, r.text)
            self.assertRegex(r.errors, r"(?m)^weights: .* in huge pages")

    def test_words(self):
        for option in ("--weights=disk", "--huge-pages=1G", "--numa=distribute", "--pin=yes", "--prefetch=always"):
            r = sluice(*ONE, option)
            self.assertEqual((r.code, option.split("=", 1)[0] in r.errors), (2, True))


if __name__ == "__main__":
    unittest.main()
