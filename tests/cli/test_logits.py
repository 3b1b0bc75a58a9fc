"""`sluice logits`: the numbers of the golden files, in every way to compute them."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import cli
from cli import DATA, EXACT, good, ids_text, load_json, read_npy, sluice

TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0"]


class Logits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "out.npy")

    def rows(self, model, *args, **more):
        good("logits", model, "-o", self.out, "-q", *args, **more)
        return read_npy(self.out)

    def model(self, name):
        base = f"{DATA}/gguf/{name}"
        return f"{base}/{name}.gguf", base, load_json(f"{base}/golden/manifest.json")

    def test_golden(self):
        for name in [f"{arch}-small-{t}" for arch in ("llama", "qwen3") for t in TYPES]:
            path, base, manifest = self.model(name)
            for prompt in manifest["prompts"]:
                rows, cols, got = self.rows(path, *EXACT, "--tokens", ids_text(prompt["ids"]))
                want_rows, want_cols, want = read_npy(f"{base}/golden/{prompt['logits']}")
                self.assertEqual((rows, cols), (want_rows, want_cols))
                worst = max(abs(a - b) for a, b in zip(got, want))
                self.assertLess(worst, 2e-4 * prompt["max_abs_logit"], (name, prompt["name"]))

    def test_batch_is_rows_after_rows(self):
        path, _, manifest = self.model("qwen3-small-Q4_0")
        lists = [p["ids"] for p in manifest["prompts"]]
        alone = [self.rows(path, "--tokens", ids_text(ids))[2] for ids in lists]
        together = self.rows(path, *[a for ids in lists for a in ("--tokens", ids_text(ids))])
        self.assertEqual(together[0], sum(map(len, lists)))
        self.assertEqual(together[2].tobytes(), b"".join(a.tobytes() for a in alone))

    def test_same_bits_whatever_the_steps(self):
        path, _, manifest = self.model("llama-small-Q8_0")
        ids = ids_text(max((p["ids"] for p in manifest["prompts"]), key=len))
        whole = self.rows(path, "--tokens", ids)[2].tobytes()
        for args in [("-ub", "1"), ("-ub", "5"), ("-t", "1"), ("-t", "2"), ("--mode", "eager")]:
            self.assertEqual(self.rows(path, "--tokens", ids, *args)[2].tobytes(), whole, args)

    def test_same_bits_in_one_stream_and_several(self):
        for name in ("llama-small-F16", "qwen3-small-Q8_0", "qwen3-small-Q4_0", "llama-k256-Q4_K_M", "llama-k256-Q5_K", "qwen3moe-small-BF16"):
            path, _, manifest = self.model(name)
            ids = ids_text(manifest["prompts"][0]["ids"])
            for args in ("-ub", "1"), ("-ub", "3"), ("-ub", "1", "--repack"):
                one, several = (self.rows(path, "--tokens", ids, *args, env={"SLUICE_STREAMS": streams})[2].tobytes()
                                for streams in ("one", "several"))
                self.assertEqual(one, several, (name, args))

    def test_ids_in_files_and_forms(self):
        path, _, _ = self.model("llama-small-F32")
        want = self.rows(path, "--tokens", "1,2,3")[2].tobytes()
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("[1, 2,\n 3]\n")
            f.flush()
            r = sluice("logits", path, "-o", self.out, "--tokens", "-", "--tokens", "-", stdin="1")
            self.assertEqual(r.code, 2, r.errors)
            self.assertEqual(self.rows(path, "--tokens", "-", stdin="1 2 3")[2].tobytes(), want)
            for form in ("1 2 3", " [1,2 ,3 ] ", "[1, 2, 3]", "1,2\n3", f.name):
                self.assertEqual(self.rows(path, "--tokens", form)[2].tobytes(), want, form)

    def test_what_is_no_number(self):
        """Written, to be looked at, but not as if all were well."""
        folder = os.path.dirname(self.out) + "/broken"
        shutil.copytree(f"{DATA}/hf/llama_gqa/f32", folder)
        path = f"{folder}/model.safetensors"
        with open(path, "rb") as f:
            raw = bytearray(f.read())
        header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
        begin, end = header["model.embed_tokens.weight"]["data_offsets"]
        at = 8 + int.from_bytes(raw[:8], "little") + begin + (end - begin) // header["model.embed_tokens.weight"]["shape"][0] * 5
        raw[at:at + 4] = b"\0\0\xc0\x7f"
        with open(path, "wb") as f:
            f.write(raw)
        r = sluice("logits", folder, "-o", self.out, "--tokens", "1,2,5,6", "-q")
        self.assertEqual((r.code, r.out), (1, b""))
        self.assertEqual(r.errors.count("\n"), 1)
        for says in (self.out, "of 4 rows 2 with logits that are no finite numbers, row 2 first", "--check-tensors"):
            self.assertIn(says, r.errors)
        rows, cols, got = read_npy(self.out)
        self.assertEqual([any(x != x for x in got[i * cols:(i + 1) * cols]) for i in range(rows)], [False, False, True, True])
        good("logits", folder, "-o", self.out, "--tokens", "1,2,6", "-q")

    def test_refused(self):
        path, _, _ = self.model("llama-small-F32")
        for tokens, says in [("1,2,99999", "99999"), ("-1", "-1"), ("", "no token ids"), ("1,-", '"-"'),
                             ("+5", "line 1, column 1"), ("1,,2", "line 1, column 3"), ("1\n ,,2", "line 2, column 3"),
                             ("1,2,", "behind the comma"), (",1", "in front of the comma"), ("[1, 2", "] expected"),
                             ("1, 2]", "column 5"), ("[1] 2", "have ended"), ("[1][2]", "have ended"), ("[[1]]", "no token id"),
                             ("1 2 99999999999999999999999999", "column 5")]:
            r = sluice("logits", path, "-o", self.out, "--tokens", tokens)
            self.assertEqual(r.code, 2, (tokens, r.errors))
            self.assertIn(says, r.errors)
            self.assertFalse(os.path.exists(self.out))
        self.assertEqual(sluice("logits", path, "--tokens", "1").code, 2)
        self.assertEqual(sluice("logits", path, "-o", self.out).code, 2)
        self.assertEqual(sluice("logits", path, "-o", self.out, "--tokens", "no/such/file").code, 1)
        r = sluice("logits", path, "-o", self.out, "--tokens", ids_text(range(100)), "-c", "64")
        self.assertEqual(r.code, 2, r.errors)
        self.assertIn("--ctx-size", r.errors)

    def test_never_over_its_inputs(self):
        source, _, _ = self.model("llama-small-F32")
        folder = os.path.dirname(self.out)
        path, ids, link = f"{folder}/m.gguf", f"{folder}/ids.txt", f"{folder}/link"
        shutil.copyfile(source, path)
        with open(ids, "w", encoding="utf-8") as f:
            f.write("1,2,3\n")
        os.symlink(path, link)
        before = os.path.getsize(path)
        for args, says in [(["-o", path], "-o"), (["-o", link], "-o"), (["-o", ids], "-o"),
                           (["-o", self.out, "--trace", path], "--trace"), (["-o", self.out, "--trace", ids], "--trace")]:
            r = sluice("logits", path, "--tokens", ids, *args)
            self.assertEqual(r.code, 1, (args, r.errors))
            self.assertRegex(r.errors, f"^sluice: {says} .*: not overwritten\n$")
            self.assertEqual((os.path.getsize(path), os.path.getsize(ids)), (before, 6), args)
            self.assertFalse(os.path.exists(self.out))

    def test_standard_streams_closed(self):
        """Files get no number of a standard stream: messages do not go into them."""
        path, _, _ = self.model("llama-small-F32")
        want = self.rows(path, "--tokens", "1,2")[2].tobytes()
        subprocess.run(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "-", cli.SLUICE, "logits", path, "--tokens", "1,2",
                        "-o", self.out], check=False)
        self.assertEqual(read_npy(self.out)[2].tobytes(), want)
        p = subprocess.run(["bash", "-c", 'exec "$@" >&-', "-", cli.SLUICE, "info", path], capture_output=True,
                           check=False)
        self.assertEqual(p.returncode, 1, p.stderr)

    def test_cannot_write(self):
        path, _, _ = self.model("llama-small-F32")
        for target in ("/no/such/folder/x.npy", "/dev/full"):
            r = sluice("logits", path, "--tokens", "1,2", "-o", target)
            self.assertEqual(r.code, 1, target)
            self.assertIn(target, r.errors)
        # A disk that fills up while rows come: what was begun is removed.
        p = subprocess.run(["bash", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "-", cli.SLUICE, "logits", path,
                            "--tokens", "1,2,3,4,5,6,7,8,9", "-o", self.out], capture_output=True, check=False)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertIn(b"File too large", p.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_tells_memory_before(self):
        path, _, _ = self.model("llama-small-F32")
        r = good("logits", path, "--tokens", "1,2", "-o", self.out)
        self.assertRegex(r.errors, r"memory: weights .* KV cache .* workspace ")
        self.assertEqual(r.out, b"")

    def test_trace_of_a_failure(self):
        """A run that fails leaves an earlier trace as it was, and no new file."""
        path, _, _ = self.model("llama-small-F32")
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            for before in (None, "precious"):
                if before:
                    with open(trace, "w", encoding="utf-8") as f:
                        f.write(before)
                r = sluice("logits", path, "--tokens", ids_text(range(100)), "-c", "64", "-o", self.out, "--trace", trace)
                self.assertEqual(r.code, 2, r.errors)
                self.assertEqual(os.path.exists(trace), before is not None)
            self.assertEqual(open(trace, encoding="utf-8").read(), "precious")
            with open(trace, "a", encoding="utf-8") as f:
                f.write("x" * 1000000)  # longer than what comes in its place
            good("logits", path, "--tokens", "1,2", "-o", self.out, "--trace", trace)
            load_json(trace)

    def test_trace(self):
        path, _, _ = self.model("llama-small-F32")
        with tempfile.NamedTemporaryFile() as f:
            r = good("logits", path, "--tokens", "1,2", "-o", self.out, "--trace", f.name)
            events = load_json(f.name)
            events = events["traceEvents"] if isinstance(events, dict) else events
            self.assertTrue(any(e.get("ph") == "X" and e["name"] == "attention" for e in events))
            self.assertIn("attention", r.errors)


if __name__ == "__main__":
    cli.main()
