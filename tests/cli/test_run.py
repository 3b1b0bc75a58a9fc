"""`sluice run`: text and ids, stop strings, sampling, interruption. The chat has test_chat.py."""
import json
import math
import os
import signal
import subprocess
import tempfile
import unittest

import cli
import retag
from cli import DATA, EXACT, LLAMA, SMOLLM2, Terminal, good, load_json, sluice

RAW = ["--no-template", "--temp", "0", "--json", "-q"]


class TinyModel(unittest.TestCase):
    """Random weights: what it says means nothing, but must always be the same."""

    def run_json(self, *args, prompt="hello", **more):
        return good("run", LLAMA, prompt, *RAW, "-n", "12", "--ignore-eos", *args, **more).json

    def test_json(self):
        j = self.run_json()
        self.assertEqual(len(j["tokens"]), 12)
        self.assertEqual((j["finish_reason"], j["context_full"], j["stop"]), ("length", False, None))
        self.assertEqual(j["generated_tokens"], 12)
        self.assertEqual(j["prompt_tokens"], len(good("tokenize", LLAMA, stdin="hello").json))
        for key in ("ttft_s", "prompt_tok_s", "gen_tok_s", "load_s"):
            self.assertGreater(j["timings"][key], 0, key)
        text = good("tokenize", LLAMA, "--detokenize", "--no-special", stdin=json.dumps(j["tokens"])).text
        self.assertEqual(j["text"], text)

    def test_streams_the_same_text(self):
        r = good("run", LLAMA, "hello", "--no-template", "--temp", "0", "-n", "12", "--ignore-eos")
        self.assertEqual(r.text, self.run_json()["text"] + "\n")
        self.assertRegex(r.errors, r"memory: weights")
        self.assertRegex(r.errors.splitlines()[-1], r"first token after .* prompt \d+ tokens, .* generated 12 tokens, ")
        self.assertEqual(good("run", LLAMA, "hello", "--no-template", "-n", "2", "-q").err, b"")

    def test_greedy_equals_golden(self):
        """Every greedy token is the argmax of `logits` over what stands before it."""
        j = self.run_json(*EXACT)
        prompt = good("tokenize", LLAMA, stdin="hello").json
        with tempfile.TemporaryDirectory() as folder:
            good("logits", LLAMA, *EXACT, "--tokens", cli.ids_text(prompt + j["tokens"][:-1]), "-o", f"{folder}/o.npy", "-q")
            rows, cols, values = cli.read_npy(f"{folder}/o.npy")
        for i, token in enumerate(j["tokens"]):
            row = values[(len(prompt) - 1 + i) * cols:][:cols]
            self.assertEqual(max(range(cols), key=lambda k: row[k]), token, i)

    def test_where_the_prompt_comes_from(self):
        want = self.run_json()["tokens"]
        rest = [*RAW, "-n", "12", "--ignore-eos"]
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("hello\n")
            f.flush()
            for args, stdin in [(["-p", "hello"], ""), (["-f", f.name], ""), (["-f", "-"], "hello"), ([], "hello\n"),
                                (["-"], "hello"), (["--", "hello"], "not this")]:
                self.assertEqual(good("run", LLAMA, *rest, *args, stdin=stdin).json["tokens"], want, args)
            self.assertEqual(sluice("run", LLAMA, "hello", "-f", f.name, *rest).code, 2)
        self.assertEqual(sluice("run", LLAMA, *rest, stdin="").code, 2)
        self.assertEqual(sluice("run", LLAMA, "-f", "no/such/file", *rest).code, 1)

    def test_stop_strings(self):
        text = self.run_json("-n", "40")["text"]
        for at in (3, 7, len(text) // 2):
            stop = text[at:at + 3]
            j = self.run_json("-n", "40", "--stop", "never seen", "--stop", stop)
            self.assertEqual(j["text"], text[:text.index(stop)])
            self.assertEqual((j["finish_reason"], j["stop"]), ("stop", stop))
            streamed = good("run", LLAMA, "hello", "--no-template", "--temp", "0", "-n", "40", "--ignore-eos", "--stop", stop)
            self.assertEqual(streamed.text, text[:text.index(stop)] + "\n")
        # The beginning of one at the very end is no stop string.
        short = self.run_json()["text"]
        self.assertEqual(self.run_json("--stop", short[-2:] + "zzzz")["text"], short)

    def test_seeds(self):
        args = ["--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0"]
        one = self.run_json(*args, "--seed", "5")
        self.assertEqual(one["seed"], 5)
        self.assertEqual(self.run_json(*args, "--seed", "5")["tokens"], one["tokens"])
        self.assertNotEqual(self.run_json(*args, "--seed", "6")["tokens"], one["tokens"])
        free = self.run_json(*args)
        self.assertEqual(self.run_json(*args, "--seed", free["seed"])["tokens"], free["tokens"])
        self.assertNotEqual(self.run_json(*args)["seed"], free["seed"])

    def test_limits_that_leave_only_the_best(self):
        want = self.run_json()["tokens"]
        flat = ["--temp", "100", "--min-p", "0", "--top-p", "1", "--top-k", "0"]
        for args in (["--top-p", "0"], ["--top-k", "1"], ["--min-p", "1"]):
            self.assertEqual(self.run_json(*flat, *args, "--seed", "3")["tokens"], want, args)
        self.assertEqual(self.run_json(*flat, "--seed", "3", "--top-k", "2147483647")["tokens"],
                         self.run_json(*flat, "--seed", "3")["tokens"])

    def test_bias(self):
        want = self.run_json()["tokens"]
        banned = self.run_json("--logit-bias", f"{want[0]}-1000")["tokens"]
        self.assertNotIn(want[0], banned)
        self.assertEqual(set(self.run_json("--logit-bias", "7+1000")["tokens"]), {7})
        both = self.run_json("--logit-bias", f"{want[0]}-1000", "--logit-bias=9+1000")["tokens"]
        self.assertEqual(set(both), {9})

    def test_penalties(self):
        want = self.run_json("-n", "30")["tokens"]
        self.assertLess(len(set(want)), 30)  # it repeats itself
        for args in (["--presence-penalty", "2", "--frequency-penalty", "2"], ["--repeat-penalty", "1e9"]):
            changed = self.run_json("-n", "30", *args)["tokens"]
            self.assertGreater(len(set(changed)), len(set(want)), args)
            self.assertEqual(self.run_json("-n", "30", *args, "--repeat-last-n", "0")["tokens"], want)
        self.assertEqual(self.run_json("-n", "1", "--presence-penalty", "2")["tokens"], want[:1])  # the prompt is not counted
        far = ["-n", "100", "--frequency-penalty", "2"]
        self.assertNotEqual(self.run_json(*far, "--repeat-last-n", "-1")["tokens"], self.run_json(*far)["tokens"])
        for neutral in (["--repeat-penalty", "1"], ["--presence-penalty", "0", "--frequency-penalty=0"], ["--typical", "1"]):
            self.assertEqual(self.run_json("-n", "30", *neutral)["tokens"], want)
        flat = ["--temp", "3", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3"]
        self.assertNotEqual(self.run_json(*flat, "--typical", "0.2")["tokens"], self.run_json(*flat)["tokens"])

    def test_logprobs(self):
        """They are the model's own, whatever the sampler does."""
        args = ["-n", "6", "--temp", "2", "--seed", "4", "--repeat-penalty", "1.5", "--top-k", "20", *EXACT]
        j = self.run_json(*args, "--logprobs", "--top-logprobs", "5", "--logit-bias", "7-2")
        self.assertEqual([t["id"] for t in j["logprobs"]["content"]], j["tokens"])
        prompt = good("tokenize", LLAMA, stdin="hello").json
        with tempfile.TemporaryDirectory() as folder:
            good("logits", LLAMA, *EXACT, "--tokens", cli.ids_text(prompt + j["tokens"][:-1]), "-o", f"{folder}/o.npy", "-q")
            _, cols, values = cli.read_npy(f"{folder}/o.npy")
        for i, token in enumerate(j["logprobs"]["content"]):
            row = values[(len(prompt) - 1 + i) * cols:][:cols]
            log_sum = math.log(sum(map(math.exp, row)))
            self.assertAlmostEqual(token["logprob"], row[token["id"]] - log_sum, places=5)
            best = sorted(range(cols), key=lambda k: (-row[k], k))[:5]
            self.assertEqual([t["id"] for t in token["top_logprobs"]], best)
            for t in token["top_logprobs"]:
                self.assertAlmostEqual(t["logprob"], row[t["id"]] - log_sum, places=5)
                self.assertEqual(bytes(t["bytes"]).decode(errors="replace"), t["token"])
        self.assertEqual([t["top_logprobs"] for t in self.run_json(*args, "--logprobs")["logprobs"]["content"]], 6 * [[]])
        self.assertNotIn("logprobs", self.run_json(*args))
        # Nothing but one token can be drawn: the rest still has numbers.
        sure = self.run_json("--temp", "0.01", "--top-k", "1", "--top-logprobs", "20")
        for token in sure["logprobs"]["content"]:
            for t in token["top_logprobs"]:
                self.assertTrue(-9999 <= t["logprob"] <= 0)
        r = sluice("run", LLAMA, "hello", "--no-template", "--logprobs")
        self.assertEqual(r.code, 2)
        self.assertIn("--json", r.errors)

    def test_several_answers(self):
        """Each is what its seed gives alone."""
        args = ["--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--frequency-penalty", "0.3", "-n", "20"]
        j = self.run_json(*args, "--n-answers", "4", "--seed", "70", "--top-logprobs", "2")
        self.assertEqual([c["index"] for c in j["choices"]], [0, 1, 2, 3])
        self.assertEqual((j["generated_tokens"], j["prompt_tokens"]), (80, len(good("tokenize", LLAMA, stdin="hello").json)))
        for i, choice in enumerate(j["choices"]):
            alone = self.run_json(*args, "--seed", str(70 + i), "--top-logprobs", "2")
            self.assertEqual(choice, {k: alone[k] for k in choice if k != "index"} | {"index": i})
        self.assertEqual(len({tuple(c["tokens"]) for c in j["choices"]}), 4)
        text = good("run", LLAMA, "hello", "--no-template", "--ignore-eos", "-q", *args, "--n-answers", "2", "--seed", "70").text
        self.assertEqual(text, "== 1 of 2 ==\n" + j["choices"][0]["text"] + "\n\n== 2 of 2 ==\n" + j["choices"][1]["text"] + "\n")

    def test_several_answers_stop_each_for_itself(self):
        args = ["--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "11", "-n", "40"]
        texts = [c["text"] for c in self.run_json(*args, "--n-answers", "3")["choices"]]
        stop = texts[1][5:7]
        for choice, text in zip(self.run_json(*args, "--n-answers", "3", "--stop", stop)["choices"], texts):
            want = text.index(stop) if stop in text else len(text)
            self.assertEqual(choice["text"], text[:want])
            self.assertEqual(choice["finish_reason"], "stop" if stop in text else "length")
            self.assertEqual(choice["stop"], stop if stop in text else None)

    def test_context(self):
        r = good("run", LLAMA, "hello", "--no-template", "--temp", "0", "--ignore-eos", "-c", "64")
        self.assertIn("the context of 64 positions is full", r.errors)
        j = good("run", LLAMA, "hello", *RAW, "--ignore-eos", "-c", "64").json
        self.assertEqual((j["finish_reason"], j["context_full"]), ("length", True))
        self.assertGreaterEqual(j["prompt_tokens"] + j["generated_tokens"], 64)
        r = sluice("run", LLAMA, "hello " * 100, "--no-template", "-c", "64")
        self.assertEqual(r.code, 1)
        self.assertIn("the context holds 64", r.errors)
        self.assertEqual(self.run_json("-n", "0")["tokens"], [])

    def test_no_template(self):
        r = good("run", LLAMA, "hello", "-n", "1")
        self.assertIn("no chat template", r.errors)
        self.assertEqual(sluice("run", LLAMA, "hello", "--system", "x").code, 2)

    def test_reader_gone(self):
        p = subprocess.Popen([cli.SLUICE, "run", LLAMA, "hello", "--no-template", "--ignore-eos", "-c", "8192"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.read(1)
        p.stdout.close()
        errors = p.stderr.read()
        self.assertEqual(p.wait(60), 1, errors)
        self.assertIn(b"standard output: Broken pipe", errors)
        p.stderr.close()
        with open("/dev/full", "wb") as full:
            for more in ([], ["--json"]):
                p = subprocess.run([cli.SLUICE, "run", LLAMA, "hello", "--no-template", "-n", "4", *more], stdout=full,
                                   stderr=subprocess.PIPE, check=False)
                self.assertEqual(p.returncode, 1)

    def test_interrupt(self):
        for more in ([], ["--json"], ["--json", "--n-answers", "3"]):
            p = subprocess.Popen([cli.SLUICE, "run", LLAMA, "hello", "--no-template", "--ignore-eos", "-c", "65536", *more],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if not more:
                p.stdout.read(1)  # it speaks
            cli.until_it_catches(p.pid, signal.SIGINT)
            p.send_signal(signal.SIGINT)
            out, errors = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 130, errors)
            self.assertIn(b"interrupted", errors)
            self.assertTrue(out.endswith(b"\n"))
            if more:
                self.assertEqual([a["finish_reason"] for a in json.loads(out).get("choices", [json.loads(out)])],
                                 ["cancel"] * (3 if "--n-answers" in more else 1))


class Warnings(unittest.TestCase):
    def test_more_context_than_trained(self):
        trained = good("info", LLAMA, "--json").json["n_ctx_train"]
        for positions, warned in ((trained, False), (trained + 1, True)):
            r = good("run", LLAMA, "x", "--no-template", "-n", "1", "-c", positions)
            self.assertEqual(f"trained with {trained}" in r.errors, warned)
            self.assertEqual(good("run", LLAMA, "x", "--no-template", "-n", "1", "-c", positions, "-q").errors, "")

    def test_stdin_beside_a_prompt(self):
        """Is left alone, and - stands for it."""
        def tokens(*args, **more):
            return good("run", LLAMA, *args, *RAW, "-n", "4", **more).json["tokens"]
        self.assertEqual(tokens("a prompt", stdin="other"), tokens("a prompt"))
        self.assertEqual(tokens("-", stdin="a prompt"), tokens("a prompt"))
        self.assertEqual(tokens("-p", "-", stdin="a prompt\n"), tokens("a prompt"))


class OnATerminal(unittest.TestCase):
    def test_interrupt(self):
        t = Terminal("run", LLAMA, "hello", "--no-template", "--ignore-eos", "-c", "65536")
        t.until(b"memory:")
        cli.until_it_catches(t.pid, signal.SIGINT)
        t.type(b"\x03")
        t.until(b"interrupted")
        self.assertEqual(t.wait(), 130)

    def test_chat_needs_a_template(self):
        self.assertEqual(Terminal("run", LLAMA).wait(), 2)


class Replies(unittest.TestCase):
    """A model that says one token for ever, under templates that make something of it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "model.gguf")

    def make(self, template, tags=(), **more):
        retag.write(self.model, tags, template="{% for m in messages %}{{ m.content }}" + template + "{% endfor %}", **more)

    def run_json(self, token, *args):
        return good("run", self.model, "x", "-q", "--json", "-n", "6", "--logit-bias", f"{token}+1000", *args).json

    def test_end_of_turn_that_no_file_names(self):
        self.make("<|fin|>", ["<|fin|>"], eos=False)
        j = self.run_json(retag.tag_id(0))
        self.assertEqual((j["text"], j["finish_reason"], j["stop"], j["generated_tokens"]), ("", "stop", None, 0))
        self.assertEqual(self.run_json(retag.tag_id(0), "--ignore-eos")["generated_tokens"], 6)

    def test_end_of_turn_in_letters(self):
        self.make("###", eos=False)
        j = self.run_json(retag.byte_id(ord("#")))
        self.assertEqual((j["text"], j["finish_reason"], j["stop"], j["generated_tokens"]), ("", "stop", None, 3))
        j = self.run_json(retag.byte_id(ord("#")), "--stop", "##")
        self.assertEqual((j["text"], j["stop"]), ("", "##"))
        self.assertEqual(self.run_json(retag.byte_id(ord("#")), "--ignore-eos")["text"], "######")

    def test_stop_strings_in_scripted_answers(self):
        """One letter for ever, in one token or several: what is shown ends exactly before the stop string."""
        self.make("", eos=False)
        a = retag.byte_id(ord("a"))
        for more, pick in ([], lambda j: [j]), (["--n-answers", "3"], lambda j: j["choices"]):
            for stop, text, met in (("aaa", "", "aaa"), ("aab", "aaaaaa", None), ("aaaaaaa", "aaaaaa", None)):
                for answer in pick(self.run_json(a, "--stop", stop, *more)):
                    self.assertEqual((answer["text"], answer["stop"]), (text, met))
                    self.assertEqual(answer["finish_reason"], "stop" if met else "length")
        # A stop string inside one token: the text is cut within it.
        self.make("", ["+ gammaX"], eos=False)
        for answer in self.run_json(retag.tag_id(0), "--stop", "gamma", "--n-answers", "2")["choices"]:
            self.assertEqual((answer["text"], answer["generated_tokens"]), (" ", 1))

    def test_reasoning_that_the_prompt_began(self):
        self.make("{{ '<think>\\n' }}", ["<think>", "</think>"])
        self.assertEqual(self.run_json(retag.byte_id(ord("a")))["text"], "<think>\naaaaaa")
        args = "run", self.model, "x", "-q", "-n", "2", "--logit-bias", f"{retag.byte_id(ord('a'))}+1000"
        self.assertEqual(good(*args).text, "<think>\naa\n")
        t = Terminal(*args)
        t.until(b"\033[2ma\033[0m\033[2ma\033[0m\r\n")
        self.assertEqual(t.wait(), 0)


@cli.needs_smollm2
@unittest.skipUnless(cli.ordinary(), "the default model is slow on scalar kernels, and with a sanitizer")
class DefaultModel(unittest.TestCase):
    def test_greedy_equals_reference(self):
        for prompt in load_json(f"{DATA}/smollm2/manifest.json")["prompts"]:
            with_system = prompt["messages"][0]["role"] == "system"
            if len(prompt["messages"]) > 1 + with_system:
                continue  # a conversation: the chat's test
            system = ["--system", prompt["messages"][0]["content"]] if with_system else []
            args = ["run", SMOLLM2, prompt["messages"][-1]["content"], *system, *EXACT, "--temp", "0", "-n", "64", "-c", "512"]
            j = good(*args, "--ignore-eos", "--json", "-q").json
            self.assertEqual(j["prompt_tokens"], len(prompt["ids"]))
            self.assertEqual(j["tokens"], prompt["greedy"], prompt["name"])
            if prompt["first_eos_at"] is None:
                self.assertEqual(j["text"], prompt["greedy_text"])
            else:
                r = good(*args)
                self.assertEqual(r.text, prompt["greedy_text"].split("<|im_end|>")[0] + "\n")


if __name__ == "__main__":
    cli.main()
