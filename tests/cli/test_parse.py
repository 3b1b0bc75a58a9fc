"""`sluice parse`: content, reasoning and calls of replies, whole and streamed."""
import json
import os
import tempfile
import unittest

import cli
import retag
from cli import DATA, LLAMA, SMOLLM2, good, ids_text, sluice

QWEN = ["+<think>", "+</think>", "+<tool_call>", "+</tool_call>", "<|im_start|>", "<|im_end|>"]
DEEPSEEK = ["<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"]
KIMI = ["<think>", "</think>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
        "<|tool_call_end|>", "<|tool_calls_section_end|>"]
CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
OPENS = CHATML.replace("assistant\n", "assistant\n<think>\n")


class Parse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "model.gguf")

    def make(self, tags, **more):
        self.tags = [tag.lstrip("+") for tag in tags]
        retag.write(self.model, tags, **more)

    def ids(self, *parts):
        """Strings are letters, numbers are tags."""
        out = []
        for part in parts:
            out += [retag.tag_id(part)] if isinstance(part, int) else [retag.byte_id(b) for b in part.encode()]
        return out

    def parse(self, ids, *args, run=good):
        return run("parse", self.model, "--tokens", ids_text(ids), *args)

    def message(self, ids, *args):
        """Whole, and the sum of the stream: both the same."""
        whole = self.parse(ids, *args).json
        streamed = {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []}
        for line in self.parse(ids, "--stream", *args).text.splitlines():
            delta = json.loads(line)
            for key in ("content", "reasoning_content"):
                streamed[key] += delta.get(key, "")
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    self.assertEqual(call["index"], len(streamed["tool_calls"]))
                    self.assertEqual(call["function"]["arguments"], "")
                    streamed["tool_calls"].append({k: v for k, v in call.items() if k != "index"})
                else:
                    streamed["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        self.assertEqual({**whole, "content": whole["content"] or "", "reasoning_content": whole["reasoning_content"] or ""},
                         streamed)
        return whole

    def check(self, ids, content, reasoning=None, calls=(), args=()):
        m = self.message(ids, *args)
        self.assertEqual((m["role"], m["content"], m["reasoning_content"]), ("assistant", content, reasoning))
        self.assertEqual([(c["type"], c["function"]["name"], c["function"]["arguments"]) for c in m["tool_calls"]],
                         [("function", *c) for c in calls])
        return [c["id"] for c in m["tool_calls"]]

    def test_plain(self):
        self.make(QWEN)
        self.check(self.ids("Hello 🤣\n"), "Hello 🤣\n")
        self.check([], "")

    def test_hermes(self):
        self.make(QWEN, template=CHATML)
        ids = self.ids(0, "\nhm\n", 1, "\n\nI look.\n", 2, '\n{"name": "f", "arguments": {"city": "Zürich 🏔", "n": 1.0}}\n',
                       3, "\n", 2, '{"arguments": "{\\"a\\": 1}", "name": "g"}', 3) + [retag.tag_id(5)]
        got = self.check(ids, "I look.", "hm", [("f", '{"city": "Zürich 🏔", "n": 1.0}'), ("g", '{"a": 1}')])
        self.assertEqual(len(set(got)), 2)
        self.assertEqual(got, self.check(ids, "I look.", "hm", [("f", '{"city": "Zürich 🏔", "n": 1.0}'), ("g", '{"a": 1}')]))
        for i in got:
            self.assertRegex(i, r"^call_[0-9a-f]{16}$")
        self.check(self.ids(0, "hm"), None, "hm")
        # The same letters in other tokens are text; so is the token where no call follows.
        text = '<think>a</think><tool_call>{"name": "f"}</tool_call>'
        self.check(self.ids(text), text)
        self.check(self.ids("The ", 2, " tag and `", 0, "`."), "The <tool_call> tag and `<think>`.")

    def test_deepseek(self):
        self.make(DEEPSEEK)
        self.check(self.ids(0, "hm", 1, "Now.", 2, 3, "function", 4, 'f\n```json\n{"a": "x"}\n```', 5, "\n", 3, "function", 4,
                            "g\n```json\n{}\n```", 5, 6), "Now.", "hm", [("f", '{"a": "x"}'), ("g", "{}")])
        self.check(self.ids(2, 3, "f", 4, '{"a": 1}', 5, 3, "g", 4, '{"b": [2'), None, None, [("f", '{"a": 1}'), ("g", '{"b": [2')])

    def test_kimi(self):
        self.make(KIMI)
        got = self.check(self.ids("Now.", 2, 3, "functions.f:0", 4, '{"a": "é"}', 5, 3, "functions.g:1", 4, "{}", 5), "Now.", None,
                         [("f", '{"a": "é"}'), ("g", "{}")])
        self.assertEqual(got, ["functions.f:0", "functions.g:1"])

    def test_inline(self):
        self.make(QWEN, template=OPENS)
        self.check(self.ids("hm\n", 1, "\n\nYes."), "<think>\nhm\n</think>\n\nYes.", args=["--reasoning-format", "none"])
        self.make(QWEN)
        self.check(self.ids("hm\n", 1, "\n\nYes."), "hm\n</think>\n\nYes.", args=["--reasoning-format", "none"])
        text = 'a <tool_call>{"name": "f"}</tool_call> b'
        self.check(self.ids(1, "a ", 2, '{"name": "f"}', 3, " b"), text, args=["--tool-call-parser", "none"])

    def test_opened_by_the_prompt(self):
        ids = "hm\n", 1, "\n\nYes."
        self.make(QWEN, template=OPENS)
        self.check(self.ids(*ids), "Yes.", "hm")
        self.check(self.ids("hm"), None, "hm")
        self.check(self.ids("hm"), "hm", args=["--thinking", "closed"])
        self.check(self.ids("hm"), "hm", args=["--prompt-tokens", ids_text(self.ids("user: <think>\n"))])
        self.make(QWEN, template=CHATML)
        self.check(self.ids("hm"), "hm")
        self.check(self.ids(*ids), "Yes.", "hm")  # by the reply itself
        self.check(self.ids("hm"), None, "hm", args=["--thinking", "open"])
        self.check(self.ids("hm"), None, "hm", args=["--prompt-tokens", ids_text(self.ids("user: ", 0, "\n"))])
        self.check(self.ids("The `", 1, "` tag"), "The `</think>` tag")

    def test_prompt_in_half_a_character(self):
        self.make(QWEN)
        euro = [retag.byte_id(b) for b in "€".encode()]
        self.check(euro[2:] + self.ids(" 5"), "€ 5", args=["--prompt-tokens", ids_text(self.ids("Hi ") + euro[:2])])

    def test_bad_bytes(self):
        self.make(QWEN)
        for raw, text in [(b"\xc0\x80", "\ufffd" * 2), (b"\xed\xa0\x80", "\ufffd" * 3), (b"\xf4\x90\x80\x80", "\ufffd" * 4), (b"\xf0", "\ufffd")]:
            self.check([retag.byte_id(b) for b in b"a" + raw], "a" + text)

    def test_stop(self):
        self.make(QWEN)
        self.check(self.ids("alpha gammaX"), "alpha ", args=["--stop", "gamma"])
        self.check(self.ids(0, "a", 1, "pleas"), "pleas", "a", args=["--stop", "<|eot_id|>assistant"])

    def test_end_of_turn(self):
        """The template's end of a turn is a stop, as a token that no file names and as letters."""
        self.make(QWEN, template=CHATML.replace("<|im_end|>", "<|endt|>"), eos=False)
        self.check(self.ids("Hi<|endt|>\n<|im_"), "Hi")
        self.make(QWEN + ["<|endt|>"], template=CHATML.replace("<|im_end|>", "<|endt|>"), eos=False)
        self.check(self.ids("Hi", 6, "\nmore"), "Hi")
        self.check(self.ids("Write <|endt|>."), "Write <|endt|>.")
        self.make([], template="{% for m in messages %}{{ '\n### ' + m.role + ':\n' + m.content }}{% endfor %}")
        self.check(self.ids("A ### user:\n### user:\nwhat"), "A ### user:")

    def test_named_format(self):
        self.make(QWEN)
        text = '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}'
        self.check(self.ids(text), text)
        self.check(self.ids(text), None, None, [("f", "{}")], args=["--tool-call-parser", "kimi_k2"])

    def test_files_and_refusals(self):
        self.make(QWEN)
        path = self.model + ".ids"
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(self.ids("Hi")))
        self.assertEqual(good("parse", self.model, "--tokens", path).json["content"], "Hi")
        self.assertEqual(good("parse", self.model, "--tokens", "-", stdin="[3, 4]").json["content"], "\0\1")
        for args in ([], ["--tokens", "1", "--tokens", "2"], ["--tokens", "99999"], ["--tokens", "-1"], ["--tokens", "1", "--stop", ""],
                     ["--tokens", "1", "--tool-call-parser", "x"], ["--tokens", "1", "--reasoning-format", "x"],
                     ["--tokens", "1", "--prompt-tokens", "288"]):
            r = sluice("parse", self.model, *args)
            self.assertEqual((r.code, r.out), (2, b""), (args, r.errors))
            self.assertLessEqual(r.errors.count("\n"), 2)
        self.assertEqual(sluice("parse", self.model, "--tokens", "no/such").code, 1)


class Letters(unittest.TestCase):
    """A vocabulary that has none of the tags: the letters decide."""

    def parse(self, model, text):
        ids = good("tokenize", model, "--no-parse-special", stdin=text).json
        return good("parse", model, "--tokens", ids_text(ids)).json

    def check(self, model):
        m = self.parse(model, '<think>\nhm\n</think>\n\nNow.\n<tool_call>\n{"name": "f", "arguments": {"a": "é"}}\n</tool_call>')
        self.assertEqual((m["content"], m["reasoning_content"]), ("Now.", "hm"))
        self.assertEqual([c["function"] for c in m["tool_calls"]], [{"name": "f", "arguments": '{"a": "é"}'}])
        quoted = 'Write `<tool_call>{"name": "f"}</tool_call>` and `<think>`.'
        self.assertEqual(self.parse(model, quoted)["content"], quoted)

    def test_tiny(self):
        self.check(LLAMA)

    def test_folders(self):
        for name in ("tiny_bytelevel_gpt2", "tiny_spm_bytefallback"):
            self.check(f"{DATA}/tokenizer/{name}")
            self.assertEqual(self.parse(f"{DATA}/tokenizer/{name}", "  two  spaces \n")["content"], "  two  spaces \n")

    @cli.needs_smollm2
    def test_smollm2(self):
        self.check(SMOLLM2)


if __name__ == "__main__":
    cli.main()
