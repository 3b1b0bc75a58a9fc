"""Folders that hold only a tokenizer and its small files: tokenize and render need no weights."""
import base64
import json
import os
import shutil
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, good, load_jsonl, sluice

TINY = f"{DATA}/tokenizer/tiny_bytelevel_gpt2"
OVERRIDE = ["--override-pretokenizer", "gpt-2"]


class Reference(unittest.TestCase):
    """Every text of the small tokenizers: ids, ids with what is put around, and the text of them."""
    FOLDERS = ["tiny_bytelevel_gpt2", "tiny_regex_1digit_nfc", "tiny_regex_3digits_bos", "tiny_spm_bytefallback"]

    def lines(self, name, *args, given):
        out = good("tokenize", f"{DATA}/tokenizer/{name}", "--jsonl", *args,
                   stdin="".join(json.dumps(g) + "\n" for g in given)).text.split("\n")[:-1]
        self.assertEqual(len(out), len(given))
        return [json.loads(line) for line in out]

    def test_ids(self):
        for name in self.FOLDERS:
            cases = load_jsonl(f"{DATA}/tokenizer/{name}/cases.jsonl")
            for key, args in (("ids", ["--no-special"]), ("ids_special", [])):
                for case, got in zip(cases, self.lines(name, *args, given=[c["text"] for c in cases])):
                    self.assertEqual(got, case.get(key, case["ids"]), (name, key, case["text"][:80]))

    def test_text(self):
        for name in self.FOLDERS:
            cases = load_jsonl(f"{DATA}/tokenizer/{name}/cases.jsonl")
            for case, got in zip(cases, self.lines(name, "--detokenize", given=[c["ids"] for c in cases])):
                self.assertEqual(got, case.get("decoded", case["text"]), (name, case["text"][:80]))


class Folders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(f"{TINY}/tokenizer.json", self.folder)

    def put(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def test_tokenize(self):
        """The same ids from the folder and from the file, and the text back."""
        cases = load_jsonl(f"{TINY}/cases.jsonl")[:200]
        lines = "".join(json.dumps(c["text"]) + "\n" for c in cases)
        for model in (self.folder, f"{self.folder}/tokenizer.json"):
            got = good("tokenize", model, "--jsonl", *OVERRIDE, stdin=lines).text.split("\n")[:-1]
            self.assertEqual([json.loads(g) for g in got], [c["ids"] for c in cases])
        self.assertEqual(good("tokenize", self.folder, "--detokenize", *OVERRIDE, stdin=json.dumps(cases[0]["ids"])).text,
                         cases[0].get("decoded", cases[0]["text"]))

    def test_ids_end_with_the_vocabulary(self):
        r = sluice("tokenize", self.folder, "--detokenize", *OVERRIDE, stdin="1005")
        self.assertEqual(r.code, 1)
        self.assertIn("(0 to 1004)", r.errors)

    def test_render(self):
        request = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
        with_tools = json.dumps({"messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]})
        r = sluice("render", self.folder, "--request", "-", *OVERRIDE, stdin=request)
        self.assertEqual(r.code, 1)
        self.assertIn("no chat template", r.errors)
        self.put("tokenizer_config.json", json.dumps({"chat_template": [
            {"name": "default", "template": "D{{ messages[0].content }}"}, {"name": "tool_use", "template": "T"}]}))
        self.assertEqual(good("render", self.folder, "--request", "-", *OVERRIDE, stdin=request).text, "Dhi")
        self.assertEqual(good("render", self.folder, "--request", "-", *OVERRIDE, stdin=with_tools).text, "T")
        self.put("chat_template.jinja", "J")
        self.assertEqual(good("render", self.folder, "--request", "-", *OVERRIDE, stdin=with_tools).text, "J")

    def test_bos_of_the_class(self):
        self.put("tokenizer_config.json", json.dumps({"tokenizer_class": "LlamaTokenizer", "bos_token": "<new>"}))
        ids = good("tokenize", self.folder, *OVERRIDE, stdin="a").json
        self.assertEqual(ids[0], 1005)
        self.assertEqual(good("tokenize", self.folder, "--no-special", *OVERRIDE, stdin="a").json, ids[1:])

    def test_reserved_ids(self):
        """Kimi's 256 ids behind the ranks all have a text, also those that no file names, one by one and in a stream."""
        os.remove(f"{self.folder}/tokenizer.json")
        self.put("tiktoken.model", "".join(f"{base64.b64encode(bytes([b])).decode()} {b}\n" for b in range(256)))
        config = {"tokenizer_class": "TikTokenTokenizer", "eos_token": "[EOS]", "pad_token": "[PAD]", "unk_token": "[UNK]",
                  "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
                  "added_tokens_decoder": {"256": {"content": "[BOS]", "special": True}, "257": {"content": "[EOS]", "special": True}}}  # fmt: skip
        self.put("tokenizer_config.json", json.dumps(config))
        want = ["[BOS]", "[EOS]"] + [f"<|reserved_token_{i}|>" for i in range(258, 512)]
        ids = json.dumps(list(range(256, 512)))
        self.assertEqual(good("tokenize", self.folder, "--detokenize", stdin=ids).text, "".join(want))
        self.assertEqual(good("tokenize", self.folder, "--detokenize", "--no-special", stdin=ids).text, "")
        stream = good("tokenize", self.folder, "--detokenize", "--stream", stdin=ids).text.split("\n")[:-1]
        self.assertEqual([json.loads(piece) for piece in stream], want + [""])
        self.assertEqual(good("tokenize", self.folder, stdin="a[EOS]").json, [97, 257])
        self.assertEqual(good("tokenize", self.folder, "--no-parse-special", stdin="a[EOS]").json, list(b"a[EOS]"))
        config["auto_map"]["AutoTokenizer"][0] = "tokenization_moonshot.TikTokenTokenizer" # the same in Moonlight and Kimi-VL
        self.put("tokenizer_config.json", json.dumps(config))
        self.assertEqual(good("tokenize", self.folder, stdin="a[EOS]").json, [97, 257])
        config["eos_token"] = "[END]"
        self.put("tokenizer_config.json", json.dumps(config))
        r = sluice("tokenize", self.folder, stdin="a")
        self.assertEqual(r.code, 1)
        self.assertIn('eos_token: "[END]" is not in the vocabulary', r.errors)

    def test_refused(self):
        for model, says in [(f"{self.folder}/none", "none: No such file"), (tempfile.gettempdir(), "no tokenizer.json"),
                            (self.folder, 'pre-tokenizer "no-such" is not known; known'),
                            (LLAMA, 'pre-tokenizer "no-such" is not known; known')]:
            r = sluice("tokenize", model, "--override-pretokenizer", "no-such", stdin="a")
            self.assertEqual((r.code, r.errors.count("\n")), (1, 1), r.errors)
            self.assertIn(says, r.errors)
        self.assertIn("--override-pretokenizer NAME", r.errors)
        self.put("tokenizer_config.json", "{")
        r = sluice("tokenize", self.folder, *OVERRIDE, stdin="a")
        self.assertEqual(r.code, 1)
        self.assertIn("tokenizer_config.json: line 1", r.errors)


if __name__ == "__main__":
    cli.main()
