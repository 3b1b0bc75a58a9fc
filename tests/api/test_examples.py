"""examples/chat.c says what `sluice run` says; examples/generate.c is tried in tests/install, where it is built as a user does."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import retag  # noqa: E402
from cli import good  # noqa: E402

CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def chat(model, request):
    return subprocess.run([os.environ["CHAT"], model, request], capture_output=True, timeout=300, check=False)


class Chat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "model.gguf")

    def test_says_what_the_program_says(self):
        retag.write(self.model, ["<|im_start|>", "<|im_end|>"], template=CHATML)
        for text in ("Hi", "Grüße \"an\" alle"):
            r = chat(self.model, json.dumps({"messages": [{"role": "user", "content": text}]}))
            self.assertEqual((r.returncode, r.stderr), (0, b""))
            self.assertGreater(len(r.stdout), 1)
            self.assertEqual(r.stdout, good("run", self.model, text, "--temp", "0", "-n", "256", "-q").out)

    def test_refusals(self):
        retag.write(self.model, ["<|im_start|>", "<|im_end|>"], template=CHATML)
        for request, says in [("{", b"request: line 1, column "), ("{}", b"messages")]:
            r = chat(self.model, request)
            self.assertEqual(r.returncode, 1)
            self.assertIn(says, r.stderr)
        self.assertIn(b"nowhere", chat("nowhere", "{}").stderr)
        retag.write(self.model, [])
        self.assertIn(b"no chat template", chat(self.model, "{}").stderr)


if __name__ == "__main__":
    unittest.main()
