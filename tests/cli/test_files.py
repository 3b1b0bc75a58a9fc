"""Model files as they are met: cut into parts, with settings overridden, with damaged weights."""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cli
from cli import EXACT, LLAMA, good, read_npy, sluice

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import gguf  # noqa: E402


def text(s):
    return struct.pack("<Q", len(s)) + s


def split(path, folder, n_parts):
    """Cut a model into parts, as llama-gguf-split does: all settings in the first, tensors dealt out in order."""
    _, tensors = gguf.read(path)
    with open(path, "rb") as f:
        raw = f.read()
    n_keys = struct.unpack_from("<Q", raw, 16)[0]
    keys = raw[24:raw.index(text(tensors[0].name.encode()))]
    at = len(raw) - sum(t.bytes + -t.bytes % gguf.ALIGN for t in tensors)
    paths, per = [], -(-len(tensors) // n_parts)
    for i in range(n_parts):
        mine = tensors[i * per:(i + 1) * per]
        part = gguf.Header()
        part.add("split.no", 2, i)
        part.add("split.count", 2, n_parts)
        part.add("split.tensors.count", gguf.I32, len(tensors))
        if i == 0:
            part.keys.append(keys)
            part.n_keys += n_keys
        for t in mine:
            part.add_tensor(t)
        size = sum(t.bytes + -t.bytes % gguf.ALIGN for t in mine)
        paths.append(f"{folder}/model-{i + 1:05}-of-{n_parts:05}.gguf")
        with open(paths[-1], "wb") as f:
            f.write(part.bytes() + raw[at:at + size])
        at += size
    return paths


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def logits(self, path, *args):
        out = self.dir.name + "/o.npy"
        good("logits", path, *EXACT, "--tokens", "5,6,7,8", "-o", out, *args)
        return read_npy(out)[2]

    def refused(self, code, says, *args):
        r = sluice(*args)
        self.assertEqual((r.code, r.out), (code, b""), (args, r.errors))
        self.assertEqual(r.errors.count("\n"), 1, r.errors)
        for word in says:
            self.assertIn(word, r.errors)


class Parts(Files):
    def test_any_part_is_the_model(self):
        paths = split(LLAMA, self.dir.name, 3)
        want = self.logits(LLAMA)
        for path in paths:
            self.assertEqual(self.logits(path), want)
            self.assertEqual(good("info", path, "--json").json["n_tensors"], good("info", LLAMA, "--json").json["n_tensors"])
            self.assertEqual(good("tokenize", path, stdin="Hello").json, good("tokenize", LLAMA, stdin="Hello").json)
        os.rename(paths[1], self.dir.name + "/elsewhere.gguf")
        self.refused(1, ["part 3 of 3", paths[1] + " is missing"], "info", paths[2])
        self.refused(1, ["part 2 of 3", "-00002-of-00003.gguf"], "info", self.dir.name + "/elsewhere.gguf")

    def test_no_part_is_overwritten(self):
        paths = split(LLAMA, self.dir.name, 2)
        with open(paths[1], "rb") as f:
            before = f.read()
        for path in paths:
            self.refused(1, ["the model's own file"], "logits", path, "--tokens", "5", "-o", paths[1])
        with open(paths[1], "rb") as f:
            self.assertEqual(f.read(), before)


class Overrides(Files):
    def test_what_they_change(self):
        j = good("info", LLAMA, "--json", "--override-kv", "llama.context_length=int:64", "--override-kv",
                 "general.name=str:other").json
        self.assertEqual((j["n_ctx_train"], j["name"]), (64, "other"))
        self.assertNotEqual(self.logits(LLAMA, "--override-kv", "llama.rope.freq_base=float:10000"), self.logits(LLAMA))
        # a key that this file lacks and that is read
        self.assertNotEqual(good("tokenize", LLAMA, "--override-kv", "tokenizer.ggml.add_bos_token=bool:true", stdin="a").json,
                            good("tokenize", LLAMA, "--override-kv", "tokenizer.ggml.add_bos_token=bool:false", stdin="a").json)

    def test_what_is_refused(self):
        for spec, says in (("llama.context_length=64", "KEY=TYPE:VALUE"), ("llama.context_length=str:64", "of type u32"),
                           ("llama.context_length=int:many", "many"), ("llama.no_such=int:1", "llama.no_such")):
            for command in ("info", "tokenize"):
                self.refused(2, ["--override-kv", says], command, LLAMA, "--override-kv", spec)
        self.refused(1, ["context_length"], "info", LLAMA, "--override-kv", "llama.context_length=int:0")
        self.refused(1, ["block_count"], "info", LLAMA, "--override-kv", "llama.block_count=int:-5")


class CheckTensors(Files):
    def test_a_broken_scale(self):
        def info(*more):  # but for the free memory, which changes
            return re.sub(r"(?m)^  to be had .*", "", good("info", LLAMA, *more).text)
        self.assertEqual(info("--check-tensors"), info())
        path = self.dir.name + "/broken.gguf"
        shutil.copyfile(LLAMA, path)
        _, tensors = gguf.read(path)
        at = os.path.getsize(path) - sum(t.bytes + -t.bytes % gguf.ALIGN for t in tensors)
        for t in tensors:
            if t.name == "blk.1.ffn_gate.weight":
                break
            at += t.bytes + -t.bytes % gguf.ALIGN
        with open(path, "r+b") as f:
            f.seek(at + t.bytes // t.shape[0] * 3 + 18)  # row 3, its second block
            f.write(b"\x00\x7c")
        good("info", path)
        for command in (["info", path], ["logits", path, "--tokens", "1", "-o", self.dir.name + "/o.npy"]):
            self.refused(1, [path, "blk.1.ffn_gate.weight (Q4_0): row 3, from column 32"], *command, "--check-tensors")


class CutWhileInUse(Files):
    """Not silently, by a bus error: the file is named."""

    def cut(self, model, file, args, *more):
        """The program reads its ids last, and has read some of them once more than a pipe holds could be written."""
        with subprocess.Popen([cli.SLUICE, *args[:1], model, *args[1:], *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(b" " * (1 << 20))
            p.stdin.flush()
            os.truncate(file, 0)
            p.stdin.write(b"1 2 3")
            out, err = p.communicate(timeout=300)
            return p.returncode, out, err.decode()

    def test_it_is_told(self):
        folder, gguf_file = f"{self.dir.name}/folder", f"{self.dir.name}/a.gguf"
        shutil.copytree(f"{cli.DATA}/hf/llama_gqa/f32", folder)
        shutil.copyfile(LLAMA, gguf_file)
        for model, file in ((folder, f"{folder}/model.safetensors"), (gguf_file, gguf_file)):
            code, out, err = self.cut(model, file, ("logits", "--tokens", "-", "-o", self.dir.name + "/o.npy", "-q"), "-t", "2")
            self.assertEqual((code, out), (1, b""), err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertTrue(err.startswith(f"sluice: {file}: changed while it was in use"), err)

    def test_a_signal_that_was_sent(self):
        with subprocess.Popen([cli.SLUICE, "logits", LLAMA, "--tokens", "-", "-o", self.dir.name + "/o.npy", "-q"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(b" " * (1 << 20))  # once that is read the program has its handler; a sanitizer has one from the start
            p.stdin.flush()
            p.send_signal(signal.SIGBUS)
            self.assertEqual(p.communicate(timeout=300)[1], b"")
            self.assertEqual(p.returncode, -signal.SIGBUS)


if __name__ == "__main__":
    cli.main()
