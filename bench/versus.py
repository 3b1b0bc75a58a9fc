#!/usr/bin/env python3
"""Compares sluice with llama.cpp on one model, on a machine that may be noisy.

  versus.py MODEL.gguf --tests pp512,tg64 --threads 2 --isa avx2 --record record.json

Both engines stay loaded. A round is: probe (0.2 s: reading, and the one peak that bounds
the test), sluice, llama.cpp, each measured for at least 0.5 s. 20 rounds, or 5 where a
round takes more than 15 s. The roofline is measured before and after. From each round come
a ratio of the two speeds and each engine's share of the roof, by that round's own probe;
quoted are medians and quartiles. A round whose probe is under 85 % of the run's best is
discarded and counted; with more than half discarded the test was not measurable today.

The record is written after every round, and a run that was stopped goes on where it was.
Exit 0; 1: failed, or a median ratio under --at-least; 75: a test was not measurable.
README.md has the protocol that the engines speak.
"""
import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time

import roof

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, ROUNDS_SLOW, SLOW_ROUND_S = 20, 5, 15.0
PROBE_S, MIN_S = 0.2, 0.5
PROBE_KEEP = 0.85
UBATCH = 512
SCHEMA = 1


class Failure(Exception):
    pass


class Engine:
    """A process that answers one JSON line per JSON line."""

    def __init__(self, role, argv, env=None):
        self.role, self.argv = role, argv
        try:
            self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env=dict(os.environ, **(env or {})))
        except OSError as e:
            raise Failure(f"{role}: {argv[0]}: {e.strerror}") from e
        self.hello = self.receive()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.role} ended with status {self.process.wait()}: {shlex.join(self.argv)}")
        try:
            answer = json.loads(line)
        except json.JSONDecodeError as e:
            raise Failure(f"{self.role} answered no JSON: {line.strip()!r}") from e
        if "error" in answer:
            raise Failure(f"{self.role}: {answer['error']}")
        return answer

    def ask(self, command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() says how it ended
        return self.receive()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# ---- the record ------------------------------------------------------------------------

def machine():
    info = {"cpu": "unknown", "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                info["cpu"] = line.split(":", 1)[1].strip()
                break
    return info


def commit():
    def git(*args):
        try:
            return subprocess.run(["git", "-C", HERE, *args], capture_output=True, text=True).stdout.strip()
        except FileNotFoundError:  # a tree without git
            return ""

    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def stamp():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def load_record(path, identity, fresh):
    """The record to go on with. A record of something else is never overwritten by accident."""
    if fresh or not os.path.exists(path):
        return {"schema": SCHEMA, **identity, "sessions": [], "tests": {}}
    with open(path) as f:
        record = json.load(f)
    for key, value in {"schema": SCHEMA, **identity}.items():
        if record.get(key) != value:
            raise Failure(f"{path} is a record with {key} = {record.get(key)!r}, now it would be {value!r}: "
                          "name another --record, or start over with --fresh")
    return record


def save_record(path, record):
    part = path + ".part"
    with open(part, "w") as f:
        json.dump(record, f, indent=1)
        f.write("\n")
    os.replace(part, path)


# ---- measuring -------------------------------------------------------------------------

def one_round(ours, peer, test, peak):
    t0 = time.monotonic()
    probe = ours.ask({"test": "probe", "peak": peak, "seconds": PROBE_S})
    a, b = ours.ask(test.command(MIN_S)), peer.ask(test.command(MIN_S))
    return {"read_GBs": probe["read_GBs"], "peak_Gs": probe["peak_Gs"], "ours": a["tok_s"], "peer": b["tok_s"],
            "load1": round(os.getloadavg()[0], 2), "at": stamp(), "round_s": round(time.monotonic() - t0, 6)}


def measure(ours, peer, test, entry, save, limits):
    """Rounds until there are enough; those of an earlier session count."""
    rounds = entry["rounds"]

    def wanted():
        if limits.rounds:
            return limits.rounds
        slow = rounds and statistics.median(r["round_s"] for r in rounds) > limits.slow_round
        return ROUNDS_SLOW if slow else ROUNDS
    if len(rounds) >= wanted():
        return
    for engine in (ours, peer):  # the first run pays for what later ones find ready
        engine.ask(test.command(0))
    while len(rounds) < wanted():
        rounds.append(one_round(ours, peer, test, entry["peak"]))
        save()
        r = rounds[-1]
        print(f"{test.name} {len(rounds)}/{wanted()}: ours {r['ours']:.1f} peer {r['peer']:.1f} tok/s, "
              f"probe {r['read_GBs']:.1f} GB/s {r['peak_Gs']:.0f} G/s", file=sys.stderr)


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


def best_probe(record, peak):
    """The best that any round of the run saw: reading over all tests, the peak over those that have it."""
    entries = [e for e in record["tests"].values() if e["rounds"]]
    return {"read_GBs": max(r["read_GBs"] for e in entries for r in e["rounds"]),
            "peak_Gs": max(r["peak_Gs"] for e in entries if e["peak"] == peak for r in e["rounds"])}


def summarise(record, test, model, setup, roofline):
    entry = record["tests"][test.name]
    rounds, peak = entry["rounds"], entry["peak"]
    cost, best = model.cost(test, setup["kv"], UBATCH), best_probe(record, peak)
    kept = [r for r in rounds if all(r[k] >= PROBE_KEEP * best[k] for k in best)]
    out = {"rounds": len(rounds), "discarded": len(rounds) - len(kept), "peak": peak,
           "bytes": cost.bytes, "linear_ops": dict(cost.linear), "attention_ops": cost.attention,
           "measurable": 2 * len(kept) >= len(rounds)}
    if not out["measurable"]:
        return out
    shares = {"ours": [], "peer": []}
    for r in kept:
        allowed = roof.roof_seconds(cost, setup["isa"], setup["act"], r["read_GBs"], peaks_of_round(r, peak, roofline))
        for who, list_ in shares.items():
            list_.append(allowed / (test.tokens / r[who]))
    for who, list_ in shares.items():
        out[who] = spread([r[who] for r in kept])
        out[who + "_share"] = spread(list_)
    out["ratio"] = spread([r["ours"] / r["peer"] for r in kept])
    out["roof_tok_s"] = round(statistics.median(r["ours"] / s for r, s in zip(kept, shares["ours"])), 3)
    return out


def table(record):
    last = record["sessions"][-1]
    best = best_roofline(record["sessions"])
    lines = [f"model    {record['model']} ({record['model_bytes'] / 1e6:.0f} MB)",
             f"machine  {record['machine']['cpu']}, {record['machine']['cpus']} CPUs, "
             f"Linux {record['machine']['kernel']}; {record['setup']['threads']} threads",
             f"sluice   {last['ours'].get('version', '?')} at {record['commit']}: {record['commands']['ours']}",
             f"peer     {last['peer'].get('version', '?')}: {record['commands']['peer']}",
             f"roof     read_best {best.get('read_best_GBs', 0):.1f} GB/s; " +
             ", ".join(f"{k} {v:.0f}" for k, v in best.items() if k.endswith("OPs")),
             f"load     {', '.join(str(s['load1']) for s in record['sessions'])} (1 minute, at the start of each session)",
             "", "| test | ours tok/s | peer tok/s | ratio (quartiles) | our share (quartiles) | peer's share | rounds |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, entry in record["tests"].items():
        s = entry.get("summary")
        if not s:
            continue
        count = f"{s['rounds'] - s['discarded']} of {s['rounds']}"
        if not s["measurable"]:
            lines.append(f"| {name} | not measurable today | | | | | {count} |")
            continue
        ratio, share = s["ratio"], s["ours_share"]
        lines.append(f"| {name} | {s['ours']['median']:.1f} | {s['peer']['median']:.1f} "
                     f"| **{ratio['median']:.2f}** ({ratio['q1']:.2f}–{ratio['q3']:.2f}) "
                     f"| {share['median']:.2f} ({share['q1']:.2f}–{share['q3']:.2f}) "
                     f"| {s['peer_share']['median']:.2f} | {count} |")
    return "\n".join(lines)


def verdict(record, at_least):
    summaries = [e["summary"] for e in record["tests"].values() if e.get("summary")]
    if at_least is not None and any(s["measurable"] and s["ratio"]["median"] < at_least for s in summaries):
        return 1
    return 0 if all(s["measurable"] for s in summaries) else 75


# ---- the run ---------------------------------------------------------------------------

def commands(a):
    if a.ours:
        ours = shlex.split(a.ours)
    else:
        ours = [a.sluice, "bench", a.model, "--serve-lines", "--threads", str(a.threads), "--kv-type", a.kv,
                "--act", a.act]
    if a.peer:
        peer = shlex.split(a.peer)
    else:
        peer = [sys.executable, os.path.join(HERE, "peer_llamacpp.py"), a.model, "--threads", str(a.threads),
                "--kv", a.kv, "--isa", a.isa, *(["--venv", a.venv] if a.venv else [])]
    return ours, peer


def run(a):
    tests = [roof.parse_test(t) for t in a.tests.split(",")]
    model = roof.Model(a.model)
    ours_argv, peer_argv = commands(a)
    env = {"SLUICE_CPU": "avx2"} if a.isa == "avx2" else {}
    setup = {"threads": a.threads, "kv": a.kv, "act": a.act, "peer_isa": a.isa}
    identity = {"model": os.path.basename(a.model), "model_bytes": os.path.getsize(a.model), "commit": commit(),
                "machine": machine(), "setup": setup,
                "commands": {"ours": " ".join([*(f"{k}={v}" for k, v in env.items()), shlex.join(ours_argv)]),
                             "peer": shlex.join(peer_argv)}}
    record = load_record(a.record, identity, a.fresh)
    session = {"started": stamp(), "load1": round(os.getloadavg()[0], 2)}
    ours = peer = None

    def save():
        save_record(a.record, record)
    try:
        ours, peer = Engine("sluice", ours_argv, env), Engine("peer", peer_argv)
        isa = ours.hello.get("isa")
        if isa not in roof.YARDSTICKS:
            raise Failure(f"sluice runs on {isa!r}: yardsticks are known for {', '.join(roof.YARDSTICKS)}")
        session.update(ours=ours.hello, peer=peer.hello, roofline_before=ours.ask({"test": "roofline"}))
        record["sessions"].append(session)
        for test in tests:
            cost = model.cost(test, a.kv, UBATCH)
            entry = record["tests"].setdefault(test.name, {"rounds": [], "peak": roof.main_peak(cost, isa, a.act)})
            measure(ours, peer, test, entry, save, a)
        session["roofline_after"] = ours.ask({"test": "roofline"})
        roofline = best_roofline(record["sessions"])
        for test in tests:
            record["tests"][test.name]["summary"] = summarise(record, test, model, {**setup, "isa": isa}, roofline)
        save()
    finally:
        for engine in (ours, peer):
            if engine:
                engine.close()
    print(table(record))
    return verdict(record, a.at_least)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--tests", default="pp512,tg64", help="ppN or tgN[@DEPTH][xSEQS], by comma")
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--kv", default="f16", choices=["bf16", "f16", "f32"])
    ap.add_argument("--act", default="auto", choices=("auto", "f32", "int8"))
    ap.add_argument("--isa", default="avx2", choices=("avx2", "native"),
                    help="what the peer is built for; avx2 also sets SLUICE_CPU=avx2")
    ap.add_argument("--record", help="default: versus-MODEL.json in this folder")
    ap.add_argument("--fresh", action="store_true", help="start the record over")
    ap.add_argument("--rounds", type=int, help=f"default {ROUNDS}, or {ROUNDS_SLOW} where a round is slow")
    ap.add_argument("--slow-round", type=float, default=SLOW_ROUND_S, help="seconds from which a round is slow")
    ap.add_argument("--at-least", type=float, help="exit 1 where a median ratio is lower")
    ap.add_argument("--sluice", default=os.path.join(HERE, "..", "build", "sluice"), help="the program")
    ap.add_argument("--venv", help="for peer_llamacpp.py")
    ap.add_argument("--ours", help="another command in sluice's place")
    ap.add_argument("--peer", help="another command in llama.cpp's place")
    a = ap.parse_args()
    a.record = a.record or f"versus-{os.path.splitext(os.path.basename(a.model))[0]}.json"
    try:
        return run(a)
    except (Failure, ValueError, OSError) as e:
        print(f"versus.py: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
