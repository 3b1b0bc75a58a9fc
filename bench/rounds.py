"""The speed protocol: rounds of one test, and what they say.

A round is a probe (reading, and the one peak that bounds the test), then each engine in turn. An entry of a record:

  {"peak": yardstick, "rounds": [{"read_GBs", "peak_Gs", "tok_s": {role: ...}, "load1", "at", "round_s"}],
   "failed": {role: why}, "summary": {...}}

The role of sluice is "ours". A peer that fails a test is out of it, and of no other; ours must not fail.
"""
import statistics
import time

import record as records
import roof
from engines import Failure

ROUNDS, ROUNDS_SLOW, SLOW_ROUND_S = 20, 5, 15.0
PROBE_S, MIN_S = 0.2, 0.5
PROBE_KEEP = 0.85
UBATCH = 512


# ---- measuring -------------------------------------------------------------------------

def new_entry(test, model, isa, kv, act):
    return {"rounds": [], "peak": roof.main_peak(model.cost(test, kv, UBATCH), isa, act), "failed": {}}


def wanted(entry, limits):
    """How many rounds a test takes. limits: rounds (None: the protocol's), slow_round in seconds."""
    if limits.rounds:
        return limits.rounds
    rounds = entry["rounds"]
    slow = rounds and statistics.median(r["round_s"] for r in rounds) > limits.slow_round
    return ROUNDS_SLOW if slow else ROUNDS


def ask_all(engines, entry, command):
    """role -> answer; a peer that fails is noted and left out."""
    answers = {}
    for role, engine in engines.items():
        if role in entry["failed"]:
            continue
        try:
            answers[role] = engine.ask(command)
        except Failure as e:
            if role == "ours":
                raise
            entry["failed"][role] = str(e)
    return answers


def one_round(engines, entry, test):
    t0 = time.monotonic()
    probe = engines["ours"].ask({"test": "probe", "peak": entry["peak"], "seconds": PROBE_S})
    answers = ask_all(engines, entry, test.command(MIN_S))
    return {"read_GBs": probe["read_GBs"], "peak_Gs": probe["peak_Gs"],
            "tok_s": {role: answer["tok_s"] for role, answer in answers.items()},
            "load1": records.load1(), "at": records.stamp(), "round_s": round(time.monotonic() - t0, 6)}


def measure(engines, test, entry, limits, after_round):
    """Rounds until there are enough; those of an earlier session count. after_round() saves and tells."""
    if len(entry["rounds"]) >= wanted(entry, limits):
        return
    for role, engine in engines.items():
        if role != "ours":
            engine.restart_if_ended()
    ask_all(engines, entry, test.command(0))  # the first run pays for what later ones find ready
    while len(entry["rounds"]) < wanted(entry, limits):
        entry["rounds"].append(one_round(engines, entry, test))
        after_round()


# ---- what the rounds say ---------------------------------------------------------------

def spread(values):
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": round(median, 4), "q1": round(q1, 4), "q3": round(q3, 4)}


def best_roofline(sessions):
    """The best of each key over all rooflines of the record."""
    lines = [s[when] for s in sessions for when in ("roofline_before", "roofline_after") if s.get(when)]
    keys = {k for line in lines for k, v in line.items() if k.endswith(("GBs", "OPs")) and v is not None}
    return {k: max(line[k] for line in lines if line.get(k) is not None) for k in sorted(keys)}


def peaks_of_round(r, peak, roofline):
    """Of the main peak the round's own probe; the others were measured in the rooflines, and
    move with the clock as the main one does."""
    found = {k.rsplit("_", 1)[0]: v for k, v in roofline.items() if k.endswith("OPs")}
    now = r["peak_Gs"] / found[peak] if peak in found else 1.0
    return {**{k: v * now for k, v in found.items()}, peak: r["peak_Gs"]}


def best_probe(entries, peak):
    """The best that any round of the run saw: reading over all tests, the peak over those that have it."""
    entries = [e for e in entries if e["rounds"]]
    return {"read_GBs": max(r["read_GBs"] for e in entries for r in e["rounds"]),
            "peak_Gs": max(r["peak_Gs"] for e in entries if e["peak"] == peak for r in e["rounds"])}


def summarise(entry, test, model, setup, roofline, best):
    """setup: isa, kv, act; best: best_probe of the whole run. Bytes and operations are those of one run of the test."""
    rounds, peak = entry["rounds"], entry["peak"]
    cost = model.cost(test, setup["kv"], UBATCH)
    kept = [r for r in rounds if all(r[k] >= PROBE_KEEP * best[k] for k in best)]
    out = {"rounds": len(rounds), "discarded": len(rounds) - len(kept), "peak": peak, "tokens": test.tokens,
           "bytes": cost.bytes, "linear_ops": dict(cost.linear), "attention_ops": cost.attention,
           "measurable": 2 * len(kept) >= len(rounds)}
    if not out["measurable"]:
        return out
    roles = [role for role in kept[0]["tok_s"] if all(role in r["tok_s"] for r in kept)]
    allowed = [test.tokens / roof.roof_seconds(cost, setup["isa"], setup["act"], r["read_GBs"], peaks_of_round(r, peak, roofline))
               for r in kept]
    out["roof_tok_s"] = round(statistics.median(allowed), 3)
    out["tok_s"] = {role: spread([r["tok_s"][role] for r in kept]) for role in roles}
    out["share"] = {role: spread([r["tok_s"][role] / most for r, most in zip(kept, allowed)]) for role in roles}
    peers = [role for role in roles if role != "ours"]
    out["ratios"] = {role: spread([r["tok_s"]["ours"] / r["tok_s"][role] for r in kept]) for role in peers}
    if peers:  # what counts: ours beside the better peer of each round
        out["ratio"] = spread([r["tok_s"]["ours"] / max(r["tok_s"][role] for role in peers) for r in kept])
    return out
