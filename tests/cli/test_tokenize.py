"""`sluice tokenize` in all its forms, on the default model's vocabulary and a tiny one."""
import json
import signal
import subprocess
import time
import unittest

import cli
from cli import DATA, LLAMA, SMOLLM2, good, load_jsonl, sluice


class TinyVocabulary(unittest.TestCase):
    def test_there_and_back(self):
        text = "Hello, wörld!\n\n  two  spaces\t🤣"
        ids = good("tokenize", LLAMA, stdin=text).json
        self.assertTrue(ids and all(isinstance(i, int) for i in ids))
        for given in (json.dumps(ids), " ".join(map(str, ids)), "\n".join(map(str, ids))):
            self.assertEqual(good("tokenize", LLAMA, "--detokenize", "--no-special", stdin=given).text, text)

    def test_endless_input(self):
        """A text of a gigabyte is in memory, while it grows twice."""
        if good("info", LLAMA, "--json").json["engine"]["memory"]["available"] < 4 << 30:
            self.skipTest("less than 4 GiB of memory are free")
        r = sluice("tokenize", LLAMA, "-f", "/dev/zero")
        self.assertEqual((r.code, r.errors.count("\n")), (1, 1), r.errors)
        self.assertIn("more than 1 GiB", r.errors)

    def test_interrupt(self):
        for args in (["tokenize", LLAMA], ["tokenize", LLAMA, "--jsonl"], ["render", LLAMA, "--request", "-"]):
            with subprocess.Popen([cli.SLUICE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
                cli.until_it_catches(p.pid, signal.SIGINT)
                p.send_signal(signal.SIGINT)
                while p.poll() is None:  # caught before it waited for more: the second one ends it
                    time.sleep(0.1)
                    p.send_signal(signal.SIGINT)
                self.assertEqual(p.returncode, 130, args)

    def test_refused(self):
        for args, stdin, code in [(["--stream"], "a", 2), (["--ids", "--detokenize"], "1", 2),
                                  (["--detokenize"], "1 x", 1), (["--detokenize"], "1\0abc", 1), (["--detokenize"], "123456789", 1),
                                  (["--detokenize"], "-1", 1), (["--detokenize"], "99999999999999999999999999", 1),
                                  (["--jsonl"], '"a"\n3\n', 1), (["--jsonl"], '"a', 1), (["-f", "no/such"], "", 1)]:
            r = sluice("tokenize", LLAMA, *args, stdin=stdin)
            self.assertEqual(r.code, code, (args, r.errors))
            self.assertEqual(r.errors.count("\n"), 1, r.errors)
        self.assertIn("line 2", sluice("tokenize", LLAMA, "--jsonl", stdin='"a"\n3\n').errors)


@cli.needs_smollm2
class DefaultVocabulary(unittest.TestCase):
    cases = load_jsonl(f"{DATA}/tokenizer/smollm2/cases.jsonl")

    def test_reference(self):
        lines = "".join(json.dumps(c["text"]) + "\n" for c in self.cases)
        got = [json.loads(line) for line in good("tokenize", SMOLLM2, "--jsonl", stdin=lines).text.split("\n")[:-1]]
        self.assertEqual(len(got), len(self.cases))
        for case, ids in zip(self.cases, got):
            self.assertEqual(ids, case["ids"], repr(case["text"])[:80])

    def test_reference_back(self):
        lines = "".join(json.dumps(c["ids"]) + "\n" for c in self.cases)
        got = good("tokenize", SMOLLM2, "--detokenize", "--jsonl", stdin=lines).text.split("\n")[:-1]
        self.assertEqual(len(got), len(self.cases))
        for case, line in zip(self.cases, got):
            self.assertEqual(json.loads(line), case.get("decoded", case["text"]), repr(case["text"])[:80])

    def test_one_text(self):
        self.assertEqual(good("tokenize", SMOLLM2, stdin="Hello world").text, "[19556, 905]\n")
        self.assertEqual(good("tokenize", SMOLLM2, "--ids", stdin="").text, "[]\n")
        self.assertEqual(good("tokenize", SMOLLM2, "--detokenize", stdin="[19556, 905]").text, "Hello world")
        self.assertEqual(good("tokenize", SMOLLM2, "--detokenize", stdin="[]").text, "")

    def test_control_tokens(self):
        """Recognised by default; plain text with --no-parse-special, on which --no-special has no say."""
        self.assertEqual(good("tokenize", SMOLLM2, stdin="<|im_start|>").json, [1])
        self.assertEqual(good("tokenize", SMOLLM2, "--no-special", stdin="<|im_start|>").json, [1])
        plain = good("tokenize", SMOLLM2, "--no-parse-special", stdin="<|im_start|>").json
        self.assertGreater(len(plain), 2)
        self.assertNotIn(1, plain)
        back = good("tokenize", SMOLLM2, "--detokenize", stdin=json.dumps(plain)).text
        self.assertEqual(back, "<|im_start|>")
        self.assertEqual(good("tokenize", SMOLLM2, "--detokenize", stdin="[1, 905, 2]").text,
                         "<|im_start|> world<|im_end|>")
        self.assertEqual(good("tokenize", SMOLLM2, "--detokenize", "--no-special", stdin="[1, 905, 2]").text, " world")

    def test_stream(self):
        """Never half a character: the pieces of an emoji come out with its last token."""
        ids = good("tokenize", SMOLLM2, stdin="a🤣b").json
        pieces = [json.loads(line) for line in
                  good("tokenize", SMOLLM2, "--detokenize", "--stream", stdin=json.dumps(ids)).text.split("\n")[:-1]]
        self.assertEqual(len(pieces), len(ids) + 1)
        self.assertEqual("".join(pieces), "a🤣b")
        self.assertIn("🤣", pieces)
        cut = [json.loads(line) for line in
               good("tokenize", SMOLLM2, "--detokenize", "--stream", stdin=json.dumps(ids[:-2])).text.split("\n")[:-1]]
        self.assertEqual(cut[-1], "\ufffd")


if __name__ == "__main__":
    cli.main()
