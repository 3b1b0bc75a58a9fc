"""Each kernel's share of its bound: what `checkasm --bench` says of one thread, by its CPU time."""
import json
import os
import re
import subprocess

from engines import Failure

IN_MEMORY = 32 << 20  # a case that reads this much at least comes from memory, not from a core's caches
FLOATS = ("F32", "F16", "BF16")


def filters(models, kv, everything):
    """Which cases to ask for: those of the formats in the models' matrices, or all."""
    if everything:
        return ["linear ", "attn_"]
    formats = sorted({t.type for m in models for t in [*m.body, m.head] if len(t.shape) > 1})
    return [*(f"linear {f} as " for f in formats), f"attn_scores {kv} ", f"attn_mix {kv} "]


def used(case, act):
    """Whether products with these activations go this way: weights of 8 bits and less as whole numbers, unless act is f32."""
    m = re.match(r"linear (\S+) as (\S+)", case)
    return not m or m[1] in FLOATS or (m[2] == "f32") == (act == "f32")


def parse(text, isa):
    """The lines of one instruction set that say a share."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        case = json.loads(line)
        if case["isa"] == isa and "roof_share" in case:
            found[case["case"]] = case
    return found


def measure(program, part, isa, env):
    try:
        r = subprocess.run([program, "--bench", part], capture_output=True, text=True, env=dict(os.environ, **env))
    except OSError as e:
        raise Failure(f"{program}: {e.strerror}: build it with `ninja tests/checkasm/checkasm`") from e
    if r.returncode:
        raise Failure(f"{program} --bench '{part}': {r.stderr.strip() or r.returncode}")
    return parse(r.stdout, isa)


def bytes_read(case):
    return case["gb_s"] * case["best_ns"]


def in_memory(case):
    return bytes_read(case) >= IN_MEMORY


def is_attention(case):
    return case["case"].startswith("attn")


def sizes(case):
    """R=256 K=1024 T=1 as numbers."""
    return {k: int(v) for k, v in re.findall(r"\b([A-Za-z]+)=(\d+)", case["case"])}


def order(case):
    """As a table lists them: products by format and tokens, then attention."""
    n = sizes(case)
    kind = re.sub(r",? R=.*", "", case["case"])
    return (is_attention(case), kind, n.get("T", 0), n.get("C", 0), in_memory(case), n["R"], n.get("K", 0))
