#!/usr/bin/env python3
"""Compares sluice with llama.cpp, ik_llama.cpp or both on one model, on a machine that may be noisy.

  versus.py MODEL.gguf --tests pp512,tg64 --threads 2 --isa avx2 --record record.json
  versus.py MODEL.gguf --peer-engine both --at-least 1.0

All engines stay loaded. A round is: probe (0.2 s: reading, and the one peak that bounds
the test), sluice, each peer, each measured for at least 0.5 s. 20 rounds, or 5 where a
round takes more than 15 s. The roofline is measured before and after. From each round come
a ratio of ours to the better peer and each engine's share of the roof, by that round's own
probe; quoted are medians and quartiles. A round whose probe is under 85 % of the run's best
is discarded and counted; with more than half discarded the test was not measurable today.

The record is written after every round, and a run that was stopped goes on where it was.
Exit 0; 1: failed, or a median ratio under --at-least; 75: a test was not measurable.
README.md has the protocol that the engines speak.
"""
import argparse
import os
import shlex
import sys

import engines
import record as records
import roof
import rounds
from engines import Failure

SCHEMA = 2


# ---- the record ------------------------------------------------------------------------

def load_record(path, identity, fresh):
    """The record to go on with. A record of something else is never overwritten by accident."""
    if fresh or not os.path.exists(path):
        return {**identity, "sessions": [], "tests": {}}
    record = records.read(path)
    other = records.difference(record, identity)
    if other:
        raise Failure(f"{path} {other}: name another --record, or start over with --fresh")
    return record


def table(record):
    last, peers = record["sessions"][-1], [role for role in record["commands"] if role != "ours"]
    best = rounds.best_roofline(record["sessions"])
    lines = [f"model    {record['model']} ({record['model_bytes'] / 1e6:.0f} MB)",
             f"machine  {record['machine']['cpu']}, {record['machine']['cpus']} CPUs, "
             f"Linux {record['machine']['kernel']}; {record['setup']['threads']} threads",
             f"sluice   {last['hello']['ours'].get('version', '?')} at {record['commit']}: {record['commands']['ours']}",
             *(f"peer     {last['hello'][p].get('version', '?')}: {record['commands'][p]}" for p in peers),
             f"roof     read_best {best.get('read_best_GBs', 0):.1f} GB/s; " +
             ", ".join(f"{k} {v:.0f}" for k, v in best.items() if k.endswith("OPs")),
             f"load     {', '.join(str(s['load1']) for s in record['sessions'])} (1 minute, at the start of each session)",
             "", "| test | ours tok/s | " + " | ".join(f"{p} tok/s" for p in peers) + " | ratio (quartiles) | our share (quartiles) | "
             + " | ".join(f"share of {p}" for p in peers) + " | rounds |", "| --- " * (5 + 2 * len(peers)) + "|"]
    for name, entry in record["tests"].items():
        s = entry.get("summary")
        if not s:
            continue
        count = f"{s['rounds'] - s['discarded']} of {s['rounds']}"
        if not s["measurable"]:
            lines.append(f"| {name} | not measurable today | " + "| " * (2 + 2 * len(peers)) + f"| {count} |")
            continue
        share = s["share"]["ours"]
        ratio = (f"**{s['ratio']['median']:.2f}** ({s['ratio']['q1']:.2f}–{s['ratio']['q3']:.2f})" if "ratio" in s else "–")
        lines.append(f"| {name} | {s['tok_s']['ours']['median']:.1f} | "
                     + " | ".join(f"{s['tok_s'][p]['median']:.1f}" if p in s["tok_s"] else "failed" for p in peers)
                     + f" | {ratio} | {share['median']:.2f} ({share['q1']:.2f}–{share['q3']:.2f}) | "
                     + " | ".join(f"{s['share'][p]['median']:.2f}" if p in s["share"] else "–" for p in peers) + f" | {count} |")
    if len(peers) > 1:
        lines += ["", "ratio: ours to the better peer of each round"]
    lines += [f"{name}: {why}" for name, entry in record["tests"].items() for why in entry["failed"].values()]
    return "\n".join(lines)


def verdict(record, at_least):
    """A peer that failed is out of its test; a test in which all of them failed has shown nothing."""
    summaries = [e["summary"] for e in record["tests"].values() if e.get("summary")]
    measured = [s for s in summaries if s["measurable"]]
    if any("ratio" not in s or (at_least is not None and s["ratio"]["median"] < at_least) for s in measured):
        return 1
    return 0 if len(measured) == len(summaries) else 75


# ---- the run ---------------------------------------------------------------------------

def commands(a):
    """role -> argv, ours first."""
    found = {"ours": engines.ours_argv(a, a.model)}
    if a.peer:
        return {**found, **{f"peer {i}" if len(a.peer) > 1 else "peer": shlex.split(c) for i, c in enumerate(a.peer, 1)}}
    for key in engines.PEERS if a.peer_engine == "both" else [a.peer_engine]:
        found[engines.PEERS[key].engine] = engines.peer_argv(a, key, a.model)
    return found


def tell_round(test, entry, limits):
    r = entry["rounds"][-1]
    speeds = ", ".join(f"{role} {v:.1f}" for role, v in r["tok_s"].items())
    print(f"{test.name} {len(entry['rounds'])}/{rounds.wanted(entry, limits)}: {speeds} tok/s, "
          f"probe {r['read_GBs']:.1f} GB/s {r['peak_Gs']:.0f} G/s", file=sys.stderr)


def run(a):
    tests = [roof.parse_test(t) for t in a.tests.split(",")]
    model, argv, env = roof.Model(a.model), commands(a), engines.ours_env(a)
    setup = {"threads": a.threads, "kv": a.kv, "act": a.act, "peer_isa": a.isa}
    identity = {"schema": SCHEMA, "model": os.path.basename(a.model), "model_bytes": os.path.getsize(a.model),
                "commit": records.commit(), "machine": records.machine(), "setup": setup,
                "commands": {role: engines.shell_line(c, env if role == "ours" else {}) for role, c in argv.items()}}
    record = load_record(a.record, identity, a.fresh)
    session = {"started": records.stamp(), "load1": records.load1()}
    running = {}

    def save():
        records.save(a.record, record)
    try:
        for role, command in argv.items():
            running[role] = engines.Engine("sluice" if role == "ours" else role, command, env if role == "ours" else None)
        ours = running["ours"]
        isa = ours.hello.get("isa")
        if isa not in roof.YARDSTICKS:
            raise Failure(f"sluice runs on {isa!r}: yardsticks are known for {', '.join(roof.YARDSTICKS)}")
        session.update(hello={role: e.hello for role, e in running.items()}, roofline_before=ours.ask({"test": "roofline"}))
        record["sessions"].append(session)
        for test in tests:
            entry = record["tests"].setdefault(test.name, rounds.new_entry(test, model, isa, a.kv, a.act))

            def after_round():
                save()
                tell_round(test, entry, a)
            rounds.measure(running, test, entry, a, after_round)
        session["roofline_after"] = ours.ask({"test": "roofline"})
        roofline = rounds.best_roofline(record["sessions"])
        for test in tests:
            entry = record["tests"][test.name]
            best = rounds.best_probe(record["tests"].values(), entry["peak"])
            entry["summary"] = rounds.summarise(entry, test, model, {**setup, "isa": isa}, roofline, best)
        save()
    finally:
        for engine in running.values():
            engine.close()
    print(table(record))
    return verdict(record, a.at_least)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--tests", default="pp512,tg64", help="ppN or tgN[@DEPTH][xSEQS], by comma")
    ap.add_argument("--peer-engine", default="llamacpp", choices=[*engines.PEERS, "both"],
                    help="both: the better one of each round is what ours is held against")
    engines.add_options(ap)
    ap.add_argument("--record", help="default: versus-MODEL.json in this folder")
    ap.add_argument("--fresh", action="store_true", help="start the record over")
    ap.add_argument("--rounds", type=int, help=f"default {rounds.ROUNDS}, or {rounds.ROUNDS_SLOW} where a round is slow")
    ap.add_argument("--slow-round", type=float, default=rounds.SLOW_ROUND_S, help="seconds from which a round is slow")
    ap.add_argument("--at-least", type=float, help="exit 1 where a median ratio is lower")
    ap.add_argument("--sluice", default=os.path.join(engines.HERE, "..", "build", "sluice"), help="the program")
    ap.add_argument("--peer", action="append", help="another command in the peer's place (repeatable)")
    a = ap.parse_args()
    a.record = a.record or f"versus-{os.path.splitext(os.path.basename(a.model))[0]}.json"
    try:
        return run(a)
    except (Failure, ValueError, OSError) as e:
        print(f"versus.py: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
