#!/usr/bin/env python3
"""Compare the template engine with Python's jinja2, set up as Transformers sets it up.

    differential.py RENDER_MAIN [--count N] [--seed S] [--show N] [--published]
    differential.py RENDER_MAIN --matrix N [--show N]

Templates come from a grammar (generate.py) and from mutations of real ones (mutate.py): those in
tests/data/chat, and with --published those of published.py, each in a context of its kind, sometimes
mutated, too. For each, both sides must give the same text, or both an error. What the engine refuses by
name may be an error on our side alone: such cases are counted by name, and few.
Exits 77 (skipped) where Python lacks jinja2."""

import argparse
import collections
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys

try:
    import reference
except ImportError:
    print("skipped: Python has no jinja2")
    sys.exit(77)

import families
import generate
import matrix
import mutate
import published

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "chat"


def addresses(text):
    return " at 0x" in text or " object>" in text or "<built-in" in text or "<bound method" in text or "<class '" in text \
        or "<function " in text or "<LoopContext" in text or "TemplateReference" in text


def refusal(ours):
    """What our side refused by name; None: nothing."""
    # A filter or test that does not exist is refused at once, where Jinja waits for a branch that uses it.
    if ours.get("code") != "SL_EUNSUPPORTED" and " named '" not in ours.get("error", ""):
        return None
    return re.sub(r"^line \d+, column \d+: |(?<=named ).*", "", ours["error"])


def make(rng, count, sources, contexts):
    """(template, context) of each case."""
    for i in range(count):
        if i % 4 == 0:
            yield "{{ " + generate.Gen(rng).expr(3) + " }}", generate.CONTEXT
        elif i % 4 == 1:
            yield generate.Gen(rng).body(3), generate.CONTEXT
        elif i % 4 == 2:
            yield mutate.text(rng, sources["small"]), generate.CONTEXT
        else:
            context = rng.choice(contexts)
            yield mutate.tokens(rng, sources["large"]), mutate.value(rng, context) if rng.random() < 0.4 else context


def differs(program, template, context):
    line = json.dumps({"template": template, "context": context | {"strftime_now": reference.CLOCK}})
    run = subprocess.run([program], input=line + "\n", capture_output=True, text=True, check=False, timeout=600)
    ours = json.loads(run.stdout)
    want, _ = reference.render(template, context)
    return ours.get("text") != want and ("error" not in ours or want is not None) and not refusal(ours)


def shrink(program, template, context):
    """The template without the parts that the difference does not need."""
    parts = mutate.TAG.split(template)
    size = max(1, len(parts) // 2)
    while size:
        i = 0
        while i < len(parts):
            fewer = parts[:i] + parts[i + size:]
            if differs(program, "".join(fewer), context):
                parts = fewer
            else:
                i += size
        size //= 2
    return "".join(parts)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("render_main")
    p.add_argument("--count", type=int, default=3000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--show", type=int, default=10)
    p.add_argument("--published", action="store_true")
    p.add_argument("--matrix", type=int, metavar="N", help="every Nth template of matrix.py instead of random ones")
    a = p.parse_args()
    rng = random.Random(a.seed)
    small = [json.loads(line)["template"] for line in (DATA / "jinja.jsonl").read_text().splitlines()]
    large = [json.loads((DATA / "chat_template.json").read_text())["chat_template"]]
    large += [f.read_text() for f in sorted((DATA / "shapes").glob("*.jinja"))]
    if a.published:
        large += sorted(set(published.templates(published.SMALL + published.LARGE).values()))
    contexts = [reference.context_of({"messages": messages} | more, families.TOKENS)
                for name, (messages, more) in families.CONVERSATIONS.items() if name != "long"]
    if a.matrix:
        cases = [(t, generate.CONTEXT) for t in itertools.islice(matrix.templates(), a.seed % a.matrix, None, a.matrix)]
        a.count = len(cases)
    else:
        cases = list(make(rng, a.count, {"small": small + large[:4], "large": large}, contexts))
    lines = "".join(json.dumps({"template": t, "context": c | {"strftime_now": reference.CLOCK}}) + "\n" for t, c in cases)
    run = subprocess.run([a.render_main], input=lines, capture_output=True, text=True, check=False, timeout=600)
    if run.returncode != 0:
        print(run.stderr[-4000:])
        print("FAILED: the program ended with", run.returncode)
        return 1
    n = {"same text": 0, "both errors": 0, "refused by name": 0, "addresses": 0, "wrong": 0}
    refused = collections.Counter()
    for (template, context), line in zip(cases, run.stdout.splitlines(), strict=True):
        ours = json.loads(line)
        want, err = reference.render(template, context)
        if want is not None and ours.get("text") == want:
            n["same text"] += 1
        elif want is None and "error" in ours:
            n["both errors"] += 1
        elif want is not None and addresses(want):
            n["addresses"] += 1
        elif refusal(ours):
            n["refused by name"] += 1
            refused[refusal(ours)] += 1
        else:
            n["wrong"] += 1
            if n["wrong"] <= a.show:
                small = template if a.matrix else shrink(a.render_main, template, context)
                print("---\n%s\nshrunk: %r\nwant: %r\ngot:  %r" % (template, small, want if want is not None else err, ours.get("text", ours)))
                if context is not generate.CONTEXT:
                    print("context:", json.dumps(context))
    for what, times in refused.most_common():
        print("refused %d times: %s" % (times, what))
    print(", ".join("%d %s" % (v, k) for k, v in n.items()))
    return 1 if n["wrong"] or n["same text"] < a.count // 5 or n["refused by name"] > a.count // 50 else 0


if __name__ == "__main__":
    sys.exit(main())
