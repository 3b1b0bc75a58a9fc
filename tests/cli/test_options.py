"""The command line itself: help, version, wrong usage, models that are not there, a stdout that breaks."""
import os
import re
import subprocess
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, good, sluice

COMMANDS = ["run", "bench", "profile", "perplexity", "logits", "tokenize", "render", "parse", "info"]
LATER = ["serve", "quantize", "experiment"]


class Help(unittest.TestCase):
    def test_overview(self):
        text = good("--help").text
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")
        for command in LATER:
            self.assertNotIn(command, text)
        self.assertEqual(text, good("-h").text)
        self.assertEqual(text, good("help").text)

    def test_of_commands(self):
        for command in COMMANDS:
            text = good(command, "--help").text
            self.assertIn(f"Usage: sluice {command}", text)
            self.assertIn("--model", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 110)
            self.assertEqual(text, good("help", command).text)
            for form in (".gguf file", "Hugging Face folder", "ORG/NAME", "HF_HUB_CACHE", "smollm2"):
                self.assertIn(form, text)
                self.assertIn(form, good("--help").text)
        for form in ("FP8", "Q2_K", "NVFP4", "ANY"):  # as `sluice info` lists them
            self.assertIn(form, re.search(r"--act TYPE.*?--kv-type", good("run", "--help").text, re.S)[0])

    def test_nothing_given(self):
        r = sluice()
        self.assertEqual((r.code, r.out), (2, b""))
        self.assertIn("sluice run smollm2", r.errors)

    def test_version(self):
        text = good("--version").text
        self.assertRegex(text, r"^sluice \d+\.\d+\.\d+ \(.+\)\n")
        self.assertRegex(text, r"(?m)^compiler  (gcc|clang) \d+")
        self.assertRegex(text, r"(?m)^kernels +built: scalar.*chosen: \w+$")
        self.assertIn("chosen: scalar", good("--version", env={"SLUICE_CPU": "scalar"}).text)
        self.assertRegex(text, r"(?m)^memory +read in (one stream|several streams)$")
        self.assertIn("read in one stream\n", good("--version", env={"SLUICE_STREAMS": "one"}).text)
        self.assertIn("read in several streams\n", good("--version", env={"SLUICE_STREAMS": "several"}).text)

    def test_environment(self):
        for name, value, says in (("SLUICE_CPU", "avx1", "expected scalar, avx2, avx512 or amx"), ("SLUICE_STREAMS", "2", "expected one or several")):
            for args in ("--version",), ("run", LLAMA, "hi"):
                r = sluice(*args, env={name: value})
                self.assertEqual(r.code, 2, args)
                self.assertIn(f"{name}={value}: {says}", r.errors)


class WrongUsage(unittest.TestCase):
    def refused(self, *args, says=(), code=2, **more):
        r = sluice(*args, **more)
        self.assertEqual(r.code, code, (args, r.errors))
        self.assertEqual(r.out, b"")
        for word in says:
            self.assertIn(word, r.errors, args)
        return r

    def test_commands(self):
        self.refused("rnu", says=["rnu", "did you mean run?"])
        self.refused("frobnicate", says=["frobnicate", "--help"])
        self.refused("--threads", "2", says=["a command comes first"])

    def test_option_names(self):
        self.refused("info", LLAMA, "--thread", "2", says=["--thread", "--threads"])
        self.refused("info", LLAMA, "--kv-tpye", "f16", says=["did you mean --kv-type?"])
        self.refused("info", LLAMA, "--json=1", says=["--json takes no value"])
        self.refused("info", LLAMA, "--threads", says=["--threads needs a value"])
        self.refused("info", LLAMA, "--zzzzzzzz", says=["unknown option --zzzzzzzz"])

    def test_values(self):
        for option, bad in [("--threads", "0"), ("--threads", "x"), ("--threads", "2x"), ("-t", "-1"), ("-t", "1e3"),
                            ("--ctx-size", "-1"), ("-ub", "0"), ("--kv-page", "8"), ("--kv-page", "40"),
                            ("--act", "f16"), ("--kv-type", "q8"), ("--mode", ""), ("--fusion", "some"), ("--fusion", "none,all"),
                            ("--fusion", "norm,all"), ("--fusion", "all,"),
                            ("--attn", "sparse"), ("--attn-window", "-5"), ("--threads", "99999999999999999999")]:
            self.refused("info", LLAMA, option, bad, says=[option if option.startswith("--") else "-"])

    def test_ranges_of_run(self):
        for option, bad in [("--temp", "-0.1"), ("--temp", "100.5"), ("--temp", "nan"), ("--temp", "inf"),
                            ("--top-p", "1.01"), ("--top-p", "-1"), ("--min-p", "2"), ("--top-k", "-1"),
                            ("--top-k", "2.5"), ("-n", "-2"), ("--seed", "-2"), ("--stop", ""),
                            ("--typical", "0"), ("--typical", "1.5"), ("--typical", "nan"), ("--repeat-penalty", "0"),
                            ("--repeat-penalty", "-1"), ("--repeat-penalty", "inf"), ("--presence-penalty", "2.5"),
                            ("--frequency-penalty", "-3"), ("--frequency-penalty", "x"), ("--repeat-last-n", "-2"),
                            ("--n-answers", "0"), ("--n-answers", "129"), ("--top-logprobs", "21"),
                            ("--top-logprobs", "-1"), ("--logit-bias", "5"), ("--logit-bias", "+1"), ("--logit-bias", "5+nan"),
                            ("--logit-bias", "5+inf"), ("--logit-bias", "100000-1"), ("--logit-bias", "1+2x")]:
            self.refused("run", LLAMA, "hello", "--no-template", option, bad, says=[option.lstrip("-")])

    def test_arguments(self):
        self.refused("info", says=["needs a MODEL", "sluice info MODEL"])
        self.refused("info", LLAMA, "more", says=['unexpected argument "more"'])
        self.refused("run", LLAMA, "two", "words", says=['"words"', "quotes"])
        self.refused("run", LLAMA, "-5 and 3", says=["put -- before"])

    def test_empty_names(self):
        """Of a model or a file: no path, and no word of the system's about one."""
        for command in COMMANDS:
            for args in ([""], ["-m", ""], ["--model="]):
                self.refused(command, *args, says=["MODEL is empty"])
        for command, options in (("run", ("-f", "--file", "--trace", "--deploy")), ("logits", ("-o",)), ("perplexity", ("--base", "--save-logits")),
                                 ("render", ("--request", "--template", "--context")), ("tokenize", ("-f",))):
            for option in options:
                self.refused(command, LLAMA, option, "", says=[f'{option} "": the name of a file expected'])

    def test_copies_or_not(self):
        self.refused("info", LLAMA, "--no-mmap", "--weights", "map", says=["--no-mmap", "--weights map"])
        self.refused("info", LLAMA, "--repack", "--weights", "map", says=["--repack", "--weights map"])
        for weights in ("copy", "copy-per-node"):
            good("info", LLAMA, "--no-mmap", "--weights", weights)

    def test_act_that_has_no_effect(self):
        """Asked for by name, it is told; by default it is not."""
        out = os.devnull
        for model, formats in ((f"{DATA}/hf/llama_gqa/f32", "F32"), (f"{DATA}/hf_quant/deepseek_v3_fp8", "BF16, which"),
                               (f"{DATA}/hf_quant/qwen3_gptq_g128_actorder_asym", "F16, GPTQ4_ANY"), (LLAMA, "")):
            errors = good("logits", model, "--tokens", "1", "-o", out, "--act", "int8").errors
            self.assertEqual("--act int8 has no effect on weights in " + formats in errors, bool(formats), errors)
            self.assertNotIn("no effect", good("logits", model, "--tokens", "1", "-o", out).errors)
            self.assertEqual(good("logits", model, "--tokens", "1", "-o", out, "--act", "int8", "-q").errors, "")

    def test_spellings(self):
        for args in [("-t", "1"), ("-t=1",), ("--threads", "1"), ("--threads=1",)]:
            self.assertEqual(good("info", LLAMA, "--json", *args).json["engine"]["threads"], 1)
        self.assertEqual(good("info", "-m", LLAMA, "--json").json["path"], LLAMA)
        self.assertEqual(good("info", "--json", "--", LLAMA).json["path"], LLAMA)


class Models(unittest.TestCase):
    def test_not_there(self):
        with tempfile.TemporaryDirectory() as empty:
            r = sluice("info", "smollm2", env={"XDG_CACHE_HOME": empty})
            self.assertEqual(r.code, 1)
            self.assertIn("make run", r.errors)
            self.assertIn(empty, r.errors)
            r = sluice("info", "no-such-model", env={"XDG_CACHE_HOME": empty})
            self.assertEqual(r.code, 1)
            self.assertIn("no-such-model", r.errors)
        r = sluice("info", "no/such/file.gguf")
        self.assertEqual(r.code, 1)
        self.assertIn("no/such/file.gguf", r.errors)

    def test_cached_by_name(self):
        with tempfile.TemporaryDirectory() as cache:
            os.makedirs(f"{cache}/sluice/models")
            os.symlink(LLAMA, f"{cache}/sluice/models/tiny.gguf")
            self.assertEqual(good("info", "tiny", "--json", env={"XDG_CACHE_HOME": cache}).json["arch"], "llama")

    def test_no_model_at_all(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
            f.write(b"GGUF and then nothing of use")
            f.flush()
            r = sluice("info", f.name)
            self.assertEqual((r.code, r.out), (1, b""))
            self.assertIn(f.name, r.errors)
            self.assertEqual(r.errors.count("\n"), 1)


class BrokenStdout(unittest.TestCase):
    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for args in (["info", LLAMA], ["info", LLAMA, "--json"], ["--help"], ["info", "--help"]):
                p = subprocess.run([cli.SLUICE, *args], stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(p.returncode, 1, args)
                self.assertIn(b"standard output: No space left", p.stderr)

    def test_reader_gone(self):
        read, write = os.pipe()
        os.close(read)
        p = subprocess.run([cli.SLUICE, "info", LLAMA, "--tensors"], stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        self.assertEqual(p.returncode, 1)
        self.assertIn(b"Broken pipe", p.stderr)


if __name__ == "__main__":
    cli.main()
