"""--deploy FILE: its options, the command line over them, what is refused; the files of deploy/; the documents' tables."""
import json
import os
import re
import tempfile
import unittest

import cli
from cli import DATA, LLAMA, good, sluice

ROOT = os.path.dirname(os.path.dirname(DATA))
KIMI = f"{DATA}/hf/kimi_k2/f32"
TABLES = cli.load_json(os.environ["CLI_TABLES"])
GROUPS = ("Context", "Engine", "Sampling")


def options(command, groups=GROUPS):
    command = next(c for c in TABLES["commands"] if c["name"] == command)
    return [o for g in command["groups"] if g["title"] in groups for o in g["options"]]


class Deploy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/deploy.yaml"

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        return self.path

    def engine(self, text, *args, model=LLAMA):
        return good("info", model, "--deploy", self.write(text), "--json", *args).json["engine"]

    def refused(self, text, *says, command=("info", LLAMA), code=1):
        r = sluice(*command, "--deploy", self.write(text))
        self.assertEqual((r.code, r.out), (code, b""), text)
        self.assertEqual(r.errors.count("\n"), 1, r.errors)
        for word in says:
            self.assertIn(word, r.errors)

    def test_options(self):
        e = self.engine("options:\n  kv-type: int8\n  threads: 1\n  ctx-size: 128\n  attn: plain\n  act: f32\n  kv-page: 32\n")
        self.assertEqual([e[k] for k in ("kv_type", "threads", "ctx_size", "attn", "act", "kv_page")],
                         ["int8", 1, 128, "plain", "f32", 32])
        e = self.engine("options: {kv_type: bf16, n_ctx: 64}\nprefill: {chunk_size: 32}\n")
        self.assertEqual([e[k] for k in ("kv_type", "ctx_size", "ubatch_size")], ["bf16", 64, 32])
        self.assertEqual(self.engine("options: {mla: expanded}\n", model=KIMI)["mla"], "expanded")

    def test_the_command_line_wins(self):
        text = "options: {kv-type: int8, threads: 1, ctx-size: 128}\nprefill: {chunk_size: 32}\n"
        for args in (("--kv-type", "bf16", "-c", "64", "-ub", "16"), ("--n-ctx=64", "--ubatch-size=16", "--kv-type=bf16")):
            e = self.engine(text, *args)
            self.assertEqual([e[k] for k in ("kv_type", "threads", "ctx_size", "ubatch_size")], ["bf16", 1, 64, 16])
        before = good("info", "--kv-type", "bf16", "--deploy", self.path, LLAMA, "--json").json["engine"]
        self.assertEqual((before["kv_type"], before["threads"]), ("bf16", 1))  # wherever it stands
        shown = good("info", LLAMA, "--deploy", self.path, "--kv-type", "bf16").text
        self.assertRegex(shown, r"kv-type: int8  \(the command line says otherwise\)\n +threads: 1\n")
        used = good("info", LLAMA, "--deploy", self.path, "--kv-type", "bf16", "--json").json["deploy"]["options"]
        self.assertEqual({k: v["used"] for k, v in used.items()}, {"kv-type": False, "threads": True, "ctx-size": True})

    def test_flags_are_taken_back(self):
        path = self.write("options: {no-mmap: true, check-tensors: true}\n")
        self.assertIn("weights       45.2 KiB (copied", good("info", LLAMA, "--deploy", path).text)
        self.assertIn("weights       45.2 KiB (mapped", good("info", LLAMA, "--deploy", path, "--no-mmap=false").text)
        self.assertIn("(mapped", good("info", LLAMA, "--weights", "map", "--deploy", path).text)
        self.assertIn("no-mmap: true  (the command line says otherwise)", good("info", LLAMA, "--no-mmap=false", "--deploy", path).text)
        path = self.write("options: {weights: map}\n")
        self.assertIn("(copied", good("info", LLAMA, "--no-mmap", "--deploy", path).text)
        self.assertIn("(copied", good("info", LLAMA, "--no-mmap=true", "--deploy", path).text)
        self.assertEqual(sluice("info", LLAMA, "--no-mmap=no").code, 2)

    def test_lists_and_words(self):
        """Every member counts; a word that YAML 1.1 takes for a boolean is the word where words are asked for."""
        run = ("run", LLAMA, "zq", "--no-template", "-n", "4", "-q", "--ignore-eos", "--temp", "0")
        plain = good(*run).text
        a = good(*run, "--logit-bias", "70+1000", "--logit-bias", "71+2000").text
        self.assertNotEqual(plain, a)
        self.assertEqual(a, good(*run, "--deploy", self.write("options: {logit-bias: [70+1000, 71+2000]}\n")).text)
        self.assertEqual(self.engine("options: {pin: off, huge-pages: off, numa: 'off'}\n")["mode"], "graph")
        self.refused("options:\n  pin: false\n", ":2:8: options.pin: \"false\" is a boolean; auto|off|cores expected")
        self.assertNotIn("--mlock", self.engine("options: {check-tensors: true, mlock: false}\n"))

    def test_sampling(self):
        run = ("run", LLAMA, "zq", "--no-template", "-n", "8", "-q", "--ignore-eos")
        hot = "options: {temp: 50, top-k: 0, top-p: 1, min-p: 0, seed: 3}\n"
        self.assertEqual(good(*run, "--deploy", self.write(hot)).text,
                         good(*run, "--temp", "50", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3").text)
        self.assertEqual(good(*run, "--deploy", self.path, "--temp", "0").text, good(*run, "--temp", "0").text)

    def test_of_other_commands(self):
        """What a command has no use for is checked and left alone: a window of perplexity is not the context."""
        self.write("options: {ctx-size: 64, temp: 0.5, kv-type: f32}\n")
        r = good("bench", LLAMA, "-p", "8", "-n", "0", "-r", "1", "-t", "1", "--deploy", self.path)
        self.assertIn(f"deploy: {self.path} (ctx-size 64, temp 0.5, kv-type f32; the command line wins)", r.errors)
        text = f"{os.path.dirname(self.path)}/text.txt"
        with open(text, "w", encoding="utf-8") as f:
            f.write("zq " * 300)
        j = good("perplexity", LLAMA, "-f", text, "--ctx", "128", "--json", "-q", "--deploy", self.path).json
        self.assertEqual(j["ctx"], 128)
        self.refused("options: {temp: 200}\n", "options.temp: 200: a number from 0 to 100", command=("bench", LLAMA))

    def test_types(self):
        for value, is_, want in (("yes", "a boolean to some", "true or false"), ('"true"', "text in quotes", "true or false"),
                                 ("1", "a whole number", "true or false"), ("on", "a boolean to some", "true or false"),
                                 ("", "no value", "true or false")):
            self.refused(f"options:\n  mlock: {value}\n", ":2:", ": options.mlock: ", is_, want)
        for value, is_ in (('"4"', "text in quotes"), ("4.0", "a number"), ("010", "octal to some"), ("0x4", "another base"),
                           ("1_0", "underscore"), ("1:30", "base 60"), ("true", "a boolean"), ("four", "text"), ("~", "no value")):
            self.refused(f"options:\n  threads: {value}\n", ":2:12: options.threads: ", is_, "a whole number from 1 to 1024 expected")
        self.refused("options:\n  threads: [1, 2]\n", ":2:13: options.threads: a list; one value")
        self.refused("options:\n  threads: 0\n", ":2:12: options.threads: 0: a whole number from 1 to 1024")
        self.refused("options:\n  kv-type: f17\n", ":2:12: options.kv-type: f17: one of f16|f32|bf16|int8")
        self.refused("options:\n  kv-type: 16\n", "\"16\" is a whole number; f16|f32|bf16|int8")
        self.refused("options:\n  temp: .nan\n", "options.temp: \".nan\" is no finite number")
        self.refused("options:\n  threads: 99999999999999999999\n", "is a whole number of more than 64 bits; a whole number from 1 to 1024")
        self.refused("options:\n  temp: warm\n", "options.temp: \"warm\" is text; a number from 0 to 100 expected")

    def test_names(self):
        self.refused("options:\n  kv-tipe: f16\n", ":2:3: options.kv-tipe: unknown option (did you mean kv-type?)")
        self.refused("options:\n  prompt: hi\n", "options.prompt: unknown option")
        self.refused("options:\n  deploy: x\n", "a deploy file names no other")
        self.refused("options: {n_ctx: 4, ctx-size: 4}\n", ":1:21: options.ctx-size: the same as n_ctx in line 1")
        self.refused("options: {temp: 1, temperature: 1}\n", "the same as temp")
        self.refused("a: 1\n", self.path + ":1:1: a: unknown section")
        self.refused("a: &x 1\nb: *x\n", ":1:4: a: anchors")
        r = sluice("info", LLAMA, "--deploy", self.path + ".no")
        self.assertEqual(r.code, 1)
        self.assertIn(f"{self.path}.no: No such file", r.errors)

    def test_values_beyond_their_type(self):
        """What only the option itself knows is told with the place in the file, by every command."""
        for line, says in (("memory: lots", "memory: lots: a size like 4G, 512M or 80% expected"), ("memory: 0", "memory: 0: a size"),
                           ("kv-page: 17", "kv-page: 17: a multiple of 16 expected"), ("kv_page: 24", "kv_page: 24: a multiple of 16"),
                           ("fusion: bogus", "fusion: bogus: all, none, or some of norm,attn,ffn expected"),
                           ("fusion: 'norm,,ffn'", "fusion: norm,,ffn: all, none, or some"),
                           ('trace: ""', 'trace: "": the name of a file expected'), ("memory: ''", 'memory: "": a size like'),
                           ("logit-bias: [foo]", "logit-bias: foo: a token id and a finite value"),
                           ("logit-bias: [1+1, '5']", "logit-bias: 5: a token id"), ("logit-bias: 5+nan", "logit-bias: 5+nan: a token id")):
            column = line.index(":") + 5 + 5 * ("1+1" in line) + ("[" in line)
            for command in (("info", LLAMA), ("run", LLAMA, "hi", "--no-template"), ("bench", LLAMA, "-p", "8", "-n", "0")):
                self.refused(f"options:\n  {line}\n", f"{self.path}:2:{column}: options.{says}", command=command)

    def test_faults_that_are_found_late(self):
        """With the model or other options at hand: the same, unless the value is the command line's."""
        run = ("logits", LLAMA, "--tokens", "1", "-o", self.path + ".npy")
        for text, says in (("options:\n  prefetch: on\n  weights: copy\n", ":2:13: options.prefetch: on reads ahead in the mapped file"),
                           ("options:\n  fusion: 'all,norm'\n", ':2:11: options.fusion: "all" stands alone'),
                           ("options:\n  weights: copy-per-node\n  pin: off\n", ":2:12: options.weights: copy-per-node needs threads"),
                           (f"options:\n  trace: {LLAMA}\n", f":2:10: options.trace: {LLAMA} is the model's own file"),
                           ("options:\n  trace: /nowhere/x\n", ":2:10: options.trace: /nowhere/x: No such file")):
            self.refused(text, self.path + says, command=run)
        self.refused("options:\n  memory: 80\n", self.path + ":2:11: options.memory: a context of ", "but --memory is 80", command=("bench", LLAMA, "-p", "8", "-q"))
        self.refused("options:\n  logit-bias: [1+1, 99999+1]\n", ":2:21: options.logit-bias: 99999+1: id 99999 is outside", command=("run", LLAMA, "hi", "--no-template", "-q"))
        r = sluice("run", LLAMA, "hi", "--no-template", "--deploy", self.path, "--logit-bias", "88888+1")
        self.assertEqual((r.code, r.out), (1, b""))  # the file's comes first
        self.write("options:\n  prefetch: auto\n  weights: copy\n  fusion: none\n")
        for args in (("--prefetch", "on"), ("--fusion", "all,norm")):
            r = sluice(*run, "--deploy", self.path, *args)
            self.assertEqual((r.code, r.out), (2, b""))
            self.assertTrue(r.errors.startswith("sluice: " + args[0]), r.errors)

    def test_two_words_for_copies(self):
        self.refused("options:\n  weights: map\n  no-mmap: true\n", ":3:12: options.no-mmap: true means weights: copy, but weights is map in line 2")
        self.refused("options:\n  no_mmap: TRUE\n  weights: map\n", ":2:12: options.no_mmap: TRUE means weights: copy, but weights is map in line 3")
        self.refused("options: {no-mmap: true, weights: map}\n", "options.no-mmap: true means", command=("run", LLAMA, "hi", "--no-template"))
        for text in ("{weights: copy, no-mmap: true}", "{weights: map, no-mmap: false}", "{weights: copy-per-node, no-mmap: true}"):
            good("info", LLAMA, "--deploy", self.write(f"options: {text}\n"))
        self.assertEqual(sluice("info", LLAMA, "--no-mmap", "--weights", "map").code, 2)
        path = self.write("options: {no-mmap: true}\n")
        shown = good("info", LLAMA, "--deploy", path, "--weights", "map").text
        self.assertIn("no-mmap: true  (the command line says otherwise)", shown)
        self.assertIn("(mapped", shown)
        self.assertNotIn("otherwise", good("info", LLAMA, "--deploy", path, "--weights", "copy").text)
        path = self.write("options: {weights: copy}\n")
        self.assertNotIn("otherwise", good("info", LLAMA, "--deploy", path, "--no-mmap").text)
        self.assertIn("weights: copy  (the command line says otherwise)", good("info", LLAMA, "--deploy", path, "--weights", "map").text)

    def test_repacked_copies(self):
        """As no-mmap: the file's words may not contradict each other, and the command line's win."""
        self.refused("options:\n  weights: map\n  repack: true\n", ":3:11: options.repack: lays weights out anew, which needs a copy")
        otherwise = "  (the command line says otherwise)"
        path = self.write("options: {repack: true}\n")
        self.assertIn("(copied", good("info", LLAMA, "--deploy", path).text)
        for args in (("--weights", "map"), ("--repack=false",)):
            shown = good("info", LLAMA, "--deploy", path, *args).text
            self.assertIn("(mapped", shown)
            self.assertIn("repack: true" + otherwise, shown)
        self.assertEqual(sluice("info", LLAMA, "--deploy", path, "--repack", "--weights", "map").code, 2)
        path = self.write("options: {weights: map}\n")
        shown = good("info", LLAMA, "--deploy", path, "--repack").text
        self.assertIn("(copied", shown)
        self.assertIn("weights: map" + otherwise, shown)

    def test_a_dense_model_has_no_experts(self):
        dense, path = f"{DATA}/hf/llama_gqa/f32", f"{ROOT}/deploy/llama-2.yaml"
        self.assertNotIn("expert", good("info", dense, "--deploy", path).text)
        self.assertEqual(good("info", dense, "--deploy", path, "--json").json["deploy"]["moe_ep_size"], 1)
        self.write("parallel_config: {world_size: 2}\nprefill: {context_parallel: 2}\ndecode: {data_parallel: 2}\n")
        self.assertIn("experts over ranks by 2", good("info", KIMI, "--deploy", self.path).text)
        self.assertEqual(good("info", KIMI, "--deploy", self.path, "--json").json["deploy"]["moe_ep_size"], 2)

    def test_every_option(self):
        """Whatever these groups have now, or will have, a file may set."""
        for o in options("run"):
            value = {"flag": "true", "word": (o["words"] or [""])[-1], "number": "1"}.get(o["kind"], "x")
            value = {"memory": "80%", "fusion": "none", "kv-page": "16", "logit-bias": "[1+1]", "trace": self.path + ".json",
                     "mlock": "false", "huge-pages": "off"}.get(o["names"][0], value)
            if o["names"][0] != "deploy":
                for name in o["names"]:
                    r = sluice("info", LLAMA, "--deploy", self.write(f"options: {{{name}: {value}}}\n"), "-q")
                    self.assertEqual(r.code, 0, (name, r.errors))

    def test_more_than_one_rank(self):
        text = "parallel_config:\n  world_size: 2\n  attn_tp_size: 2\n"
        for command in (("run", LLAMA, "hi", "--no-template"), ("bench", LLAMA, "-p", "8"), ("logits", LLAMA, "--tokens", "1", "-o", "/nowhere/x"),
                        ("profile", LLAMA, "-p", "8")):
            self.refused(text, ":2:15: parallel_config.world_size: a layout for 2 ranks; this build runs one", command=command)
        shown = good("info", LLAMA, "--deploy", self.path).text
        self.assertIn("ranks         2; this build runs one", shown)
        self.assertIn("attention heads by 2", shown)
        j = good("info", LLAMA, "--deploy", self.path, "--json").json
        self.assertFalse(j["deploy"]["runs"])
        self.assertLess(j["deploy"]["rank_weights_bytes"], j["weights_bytes"])

    def test_another_model(self):
        r = sluice("info", LLAMA, "--deploy", self.write("model_config: {model_name: [qwen3, kimi_k2]}\n"))
        self.assertEqual(r.code, 2)
        self.assertEqual(r.errors, f"sluice: {self.path}:1:28: model_config.model_name: the layout is for qwen3, kimi_k2; the model is llama\n")
        good("info", KIMI, "--deploy", self.path)

    def test_the_files_that_come_along(self):
        """Each is good YAML of ours; those for one rank run the tiny model of their family."""
        folder = f"{ROOT}/deploy"
        tiny = {"kimi": KIMI, "gpt": f"{DATA}/hf/gpt_oss/f32", "llama": LLAMA, "qwen3": f"{DATA}/gguf/qwen3moe-small-Q4_0/qwen3moe-small-Q4_0.gguf",
                "deepseek": f"{DATA}/hf/deepseek_v3/f32"}
        files = sorted(f for f in os.listdir(folder) if f.endswith(".yaml"))
        self.assertGreaterEqual(len(files), 8)
        with open(f"{folder}/meson.build", encoding="utf-8") as f:
            installed = re.findall(r"'([^']+\.yaml)'", f.read())
        self.assertEqual(sorted(installed), files)
        for name in files:
            model = tiny[name.split("-")[0].split(".")[0]]
            r = sluice("info", model, "--deploy", f"{folder}/{name}", "-c", "256")
            if r.code:  # the tiny model has fewer heads and experts than the file has ranks, and nothing else is wrong
                self.assertRegex(r.errors, r"cannot be cut by|heads of keys and values", name)
                self.assertEqual((r.code, r.errors.count("\n")), (2, 1))
            if not re.search(r"-\d+\.yaml", name):
                r = good("logits", model, "--tokens", "1,2", "-o", self.path + ".npy", "--deploy", f"{folder}/{name}")

    def test_documents(self):
        """docs/deploy.md has the table that the program checks by."""
        def row(k):
            return f"| `{k['name']}` | {k['takes']} | {k['standard']} | {k['help']} |"
        want = []
        for k in TABLES["deploy"]:
            if not want or k["section"] != section:
                section = k["section"]
                want += [f"| **`{section}`** | | | |"]
            want.append(row(k))
        with open(f"{ROOT}/docs/deploy.md", encoding="utf-8") as f:
            found = [line for line in f.read().splitlines() if line.startswith("| ") and "`" in line.split("|")[1]]
        self.assertEqual(found, want, "docs/deploy.md: make its table of this:\n" + "\n".join(want))


if __name__ == "__main__":
    cli.main()
