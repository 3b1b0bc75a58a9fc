"""a3b.py SLUICE [FORM...] [--layers N] [--folder DIR] - layers of Qwen3-30B-A3B at full size, random: the same weights as
GPTQ, AWQ, compressed-tensors INT4 and GGUF's Q4_0 give the same answer.

Letter by letter in all forms, on the exact path and with 8-bit inputs. Models are made one after the other beside SLUICE, 4.4 GB each with
6 layers, twice that while one is written, and removed again. Needs numpy.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/make_hf.py")
FORMS = ["gguf", "ct", "gptq", "awq"]
PATHS = {"exact": ["--act", "f32", "--kv-type", "f32"], "default": []}
PROMPT = "The quick brown fox jumps over the lazy dog. What does it do then?"


def answers(sluice, model):
    """{path: (text, tokens)} of 24 greedy tokens."""
    out = {}
    for path, options in PATHS.items():
        r = subprocess.run([sluice, "run", model, PROMPT, "--no-template", "--ignore-eos", "--temp", "0", "-n", "24", "-c", "256", "--json",
                            "-q", *options], check=True, stdout=subprocess.PIPE)
        j = json.loads(r.stdout)
        print(f"  {path}: {j['timings']['prompt_tok_s']:.1f} and {j['timings']['gen_tok_s']:.1f} tokens/s, {j['text']!r}", flush=True)
        out[path] = j["text"], j["tokens"]
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("sluice")
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--folder", help="where models are made, and stay; those that are there are taken")
    p.add_argument("forms", nargs="*", default=FORMS)
    a = p.parse_args()
    if importlib.util.find_spec("numpy") is None:
        print("skipped: no numpy")
        sys.exit(77)
    got = {}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(a.sluice))) as scratch:
        for form in a.forms:
            model = os.path.join(a.folder or scratch, "a3b-" + form + (".gguf" if form == "gguf" else ""))
            if not os.path.exists(model):
                start = time.monotonic()
                subprocess.run([sys.executable, MAKE, "--shape", "qwen3-30b-a3b", "--layers", str(a.layers), "--form", form, "-o", model],
                               check=True)
                print(f"{form}: made in {time.monotonic() - start:.0f} s", flush=True)
            else:
                print(form)
            got[form] = answers(a.sluice, model)
            if not a.folder:
                subprocess.run(["rm", "-r", model], check=True)
    first = got[a.forms[0]]
    if len(set(first["exact"][1])) < 4:
        sys.exit("FAILED: an answer that says nothing")
    bad = [f"{form}, {path}" for form in got for path in PATHS if got[form][path] != first[path]]
    if bad:
        sys.exit(f"FAILED: another text than {a.forms[0]}: {'; '.join(bad)}")
    print("the same text in all forms")


if __name__ == "__main__":
    main()
