#!/usr/bin/env python3
"""The proof of speed: one report about this machine, the kernels, whole models, and the peers.

  report.py                                     the default model, about 5 minutes
  report.py --quick                             a first look
  report.py --model a.gguf --model b.gguf --peers llamacpp,ik
  report.py --only kernels,depths --kernels all
  report.py --readme | --render                 from the record that is there, nothing is measured

Writes FILE.md, FILE.svg (the roofline) and FILE.json (the record, after every round), by
default docs/bench/CPU-ISA. The same call goes on where a stopped one was; what is measured
already stays unless --fresh. Parts:

  machine   the roofline alone (with every other part it is measured before and after)
  kernels   checkasm --bench: each kernel's share of its bound, one thread
  models    prompts of 512 and 2,048 tokens, one stream
  depths    one stream behind 1k, 4k, 16k, 64k tokens of random keys and values
  batch     2, 4, 8, 16 streams
  peers     rounds beside llama.cpp and ik_llama.cpp where their environments are

Whole models are measured in the rounds of the speed protocol (README.md). Run it alone on
the machine. Exit 0; 1: failed; 75: a test was not measurable today; 130: interrupted.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys

import engines
import kernels
import record as records
import report_text
import roof
import rounds
from engines import Failure

SCHEMA = 1
TOP = os.path.normpath(os.path.join(engines.HERE, ".."))
PARTS = {  # tests of whole models by part
    "models": ["pp512", "pp2048", "tg64"],
    "depths": ["tg64", "tg32@1024", "tg32@4096", "tg32@16384", "tg32@65536"],
    "batch": ["tg64", "tg32x2", "tg32x4", "tg32x8", "tg32x16"],
}
QUICK_TESTS, QUICK_ROUNDS = {"pp512", "tg64", "tg32@4096", "tg32x8"}, 3
ALL_PARTS = ["machine", "kernels", *PARTS, "peers"]
DEFAULT_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def default_model():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "sluice", "models", DEFAULT_MODEL)


# ---- progress --------------------------------------------------------------------------

class Progress:
    """One line on a terminal, redrawn; elsewhere a line for each thing that is done."""

    def __init__(self, total):
        self.total, self.done, self.live = total, 0, sys.stderr.isatty()

    def now(self, text):
        if self.live:
            print(f"\r\033[K[{self.done + 1}/{self.total}] {text}", end="", file=sys.stderr, flush=True)

    def finished(self, text):
        self.done += 1
        print(("\r\033[K" if self.live else "") + f"[{self.done}/{self.total}] {text}", file=sys.stderr, flush=True)


# ---- the record ------------------------------------------------------------------------

def slug(cpu):
    """AMD EPYC 9B45 -> amd-epyc-9b45"""
    cpu = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*|\d+-Core", " ", cpu)
    return re.sub(r"[^a-z0-9]+", "-", cpu.lower()).strip("-") or "cpu"


def load_record(path, identity, fresh):
    """The record to go on with. One of something else is replaced when it was finished, since
    the same file is there to be brought up to date, and otherwise never by accident."""
    if not fresh and os.path.exists(path):
        record = records.read(path)
        other = records.difference(record, identity)
        if other is None:
            return record
        if not record.get("finished"):
            raise Failure(f"{path}, unfinished, {other}: name another -o, or start over with --fresh")
    return {**identity, "finished": False, "sessions": [], "kernels": {}, "models": {}}


class Report:
    def __init__(self, a, hello):
        self.a, self.isa = a, hello["isa"]
        self.base = a.out or os.path.join(TOP, "docs", "bench", f"{slug(records.machine()['cpu'])}-{self.isa}")
        os.makedirs(os.path.dirname(os.path.abspath(self.base)), exist_ok=True)
        self.setup = {"threads": a.threads, "kv": a.kv, "act": a.act, "isa": self.isa, "peer_isa": a.isa}
        identity = {"schema": SCHEMA, "commit": records.commit(), "machine": records.machine(), "setup": self.setup}
        self.record = load_record(self.base + ".json", identity, a.fresh)
        self.session = {"started": records.stamp(), "load1": records.load1(), "version": hello.get("version", "?"),
                        "command": shlex.join(["bench/report.py", *sys.argv[1:]])}
        self.models = {path: roof.Model(path) for path in a.model}

    def save(self):
        records.save(self.base + ".json", self.record)

    def section(self, path):
        """What the record has of a model."""
        model, name, size = self.models[path], os.path.basename(path), os.path.getsize(path)
        types = sorted({t.type for t in [*model.body, model.head] if len(t.shape) > 1})
        m = self.record["models"].setdefault(name, {"bytes": size, "types": ", ".join(types), "alone": {}, "beside": {},
                                                    "peers": {}, "skipped": {}})
        if m["bytes"] != size:
            raise Failure(f"{self.base}.json knows another {name}, of {m['bytes']} bytes: --fresh starts over")
        return m

    # ---- parts

    def roofline(self):
        program = os.path.join(self.a.build, "bench", "roofline")
        try:
            r = subprocess.run([program, "512", str(self.a.threads)], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            raise Failure(f"{program}: {e}: build it with `ninja bench/roofline`") from e
        return json.loads(r.stdout)

    def measure_kernels(self, progress):
        program, everything = os.path.join(self.a.build, "tests", "checkasm", "checkasm"), self.a.kernels == "all"
        for part in kernels.filters(self.models.values(), self.a.kv, everything):
            progress.now(f"kernels: {part}")
            found = kernels.measure(program, part, self.isa, engines.ours_env(self.a))
            self.record["kernels"].update({k: c for k, c in found.items() if everything or kernels.used(k, self.a.act)})
            self.save()
        progress.finished(f"kernels: {len(self.record['kernels'])} cases")

    def measure_tests(self, path, names, peers, progress):
        """The rounds of some tests of one model: alone, or beside peers (keys of engines.PEERS)."""
        m, model, running = self.section(path), self.models[path], {}
        entries = m["beside"] if peers else m["alone"]
        tests = self.possible(m, model, [roof.parse_test(n) for n in names], progress)
        if all(t.name in entries and len(entries[t.name]["rounds"]) >= rounds.wanted(entries[t.name], self.a) for t in tests):
            for t in tests:
                progress.finished(f"{os.path.basename(path)} {t.name}: measured already")
            return
        try:
            running["ours"] = engines.Engine("sluice", engines.ours_argv(self.a, path, quiet=True), engines.ours_env(self.a))
            for key in peers:
                argv = engines.peer_argv(self.a, key, path)
                role = engines.PEERS[key].engine
                running[role] = engines.Engine(role, argv)
                m["peers"][role] = {"version": running[role].hello.get("version", "?"), "command": shlex.join(argv)}
            for test in tests:
                entry = entries.setdefault(test.name, rounds.new_entry(test, model, self.isa, self.a.kv, self.a.act))
                self.one_test(running, test, entry, f"{os.path.basename(path)} {test.name}", progress)
        finally:
            for engine in running.values():
                engine.close()

    def possible(self, m, model, tests, progress):
        """Those that fit into the model's context; the others are noted."""
        found = []
        for t in tests:
            if t.depth + t.n > model.context:
                m["skipped"][t.name] = f"the model's context is {model.context:,}"
                progress.finished(f"{t.name}: skipped, {m['skipped'][t.name]}")
            else:
                found.append(t)
        return found

    def one_test(self, running, test, entry, name, progress):
        def after_round():
            self.save()
            r = entry["rounds"][-1]
            speeds = ", ".join(f"{role} {v:.1f}" for role, v in r["tok_s"].items())
            progress.now(f"{name}: round {len(entry['rounds'])} of {rounds.wanted(entry, self.a)}, {speeds} tok/s")
        progress.now(f"{name}: warming up")
        entry["failed"].pop("ours", None)
        try:
            rounds.measure(running, test, entry, self.a, after_round)
        except Failure as e:
            if running["ours"].process.poll() is not None:
                raise
            entry["failed"]["ours"] = str(e)  # an answer, such as no memory for that many tokens: others may go
        last = entry["rounds"][-1]["tok_s"] if entry["rounds"] else {}
        progress.finished(f"{name}: " + (", ".join(f"{role} {v:.1f}" for role, v in last.items()) + " tok/s" if last else
                                         entry["failed"].get("ours", "")))

    def summarise(self):
        """Of all that has rounds and whose model is named in this call. A run, whose best probe counts, is one model alone
        or beside peers: over hours a machine in the cloud is several machines."""
        roofline = rounds.best_roofline(self.record["sessions"])
        for path, model in self.models.items():
            m = self.record["models"].get(os.path.basename(path), {"alone": {}, "beside": {}})
            for entries in (m["alone"], m["beside"]):
                for name, e in entries.items():
                    if e["rounds"]:
                        e["summary"] = rounds.summarise(e, roof.parse_test(name), model, self.setup, roofline,
                                                        rounds.best_probe(entries.values(), e["peak"]))

    # ---- the run

    def plan(self):
        """(names of tests alone, peers, names of tests beside them)"""
        quick = QUICK_TESTS if self.a.quick else None
        alone = list(dict.fromkeys(n for part in PARTS if part in self.a.only for n in PARTS[part] if not quick or n in quick))
        alone.sort(key=lambda n: roof.parse_test(n).depth)  # an engine keeps the room of the longest context that it had
        peers = self.a.peers if "peers" in self.a.only else []
        return alone, peers, self.a.peer_tests.split(",")

    def run(self):
        alone, peers, beside = self.plan()
        progress = Progress(2 + ("kernels" in self.a.only) + len(self.models) * (len(alone) + (len(beside) if peers else 0)))
        self.record["sessions"].append(self.session)
        self.record["finished"] = False
        progress.now("roofline")
        self.session["roofline_before"] = self.roofline()
        progress.finished(f"roofline: {self.session['roofline_before']['read_best_GBs']:.1f} GB/s")
        try:
            if "kernels" in self.a.only:
                self.measure_kernels(progress)
            for path in self.models:
                if alone:
                    self.measure_tests(path, alone, [], progress)
                if peers:
                    self.measure_tests(path, beside, peers, progress)
            progress.now("roofline")
            self.session["roofline_after"] = self.roofline()
            progress.finished(f"roofline: {self.session['roofline_after']['read_best_GBs']:.1f} GB/s")
            self.record["finished"] = True
        finally:  # interrupted or failed: the report is about what there is
            self.summarise()
            self.save()
            write(self.base, self.record)


def write(base, record):
    picture = report_text.svg(record)
    if picture:
        with open(base + ".svg", "w", encoding="utf-8") as f:
            f.write(picture)
    folder = os.path.dirname(os.path.abspath(base))
    measuring = os.path.relpath(os.path.join(TOP, "docs", "measuring.md"), folder)
    with open(base + ".md", "w", encoding="utf-8") as f:
        f.write(report_text.markdown(record, os.path.basename(base) + ".svg" if picture else None, measuring))


def verdict(record):
    summaries = [e["summary"] for m in record["models"].values() for part in ("alone", "beside") for e in m[part].values()
                 if e.get("summary")]
    return 0 if all(s["measurable"] for s in summaries) else 75


# ---- the command -----------------------------------------------------------------------

def by_comma(known):
    def read(text):
        words = [] if text == "none" else text.split(",")
        for w in words:
            if w not in known:
                raise argparse.ArgumentTypeError(f"{w!r}: {', '.join(known)} expected, by comma")
        return words
    return read


def parse_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--model", action="append", help="a GGUF file (repeatable; default: the default model)")
    ap.add_argument("--only", type=by_comma(ALL_PARTS), default=ALL_PARTS, help="parts, by comma")
    ap.add_argument("--quick", action="store_true", help=f"four tests, {QUICK_ROUNDS} rounds")
    ap.add_argument("--kernels", default="models", choices=("models", "all"), help="those of the models' formats, or all")
    ap.add_argument("--peers", type=by_comma(list(engines.PEERS)), help=f"{', '.join(engines.PEERS)}, none: installed where they "
                    "lack; default: those that are there")
    ap.add_argument("--peer-tests", default="pp512,tg64,tg32@4096,tg32x8", help="tests beside the peers")
    engines.add_options(ap)
    ap.set_defaults(fill="random")
    ap.add_argument("--rounds", type=int, help=f"default {rounds.ROUNDS}, or {rounds.ROUNDS_SLOW} where a round is slow")
    ap.add_argument("--slow-round", type=float, default=rounds.SLOW_ROUND_S, help="seconds from which a round is slow")
    ap.add_argument("-o", "--out", help="files to write, without .md, .svg, .json")
    ap.add_argument("--fresh", action="store_true", help="start the record over")
    ap.add_argument("--render", action="store_true", help="write the report of the record -o again")
    ap.add_argument("--readme", action="store_true", help="print the short table of the record -o")
    ap.add_argument("--build", default=os.path.join(TOP, "build"), help="the build folder")
    a = ap.parse_args()
    a.model = a.model or [default_model()]
    a.out = re.sub(r"\.(md|svg|json)$", "", a.out) if a.out else None
    a.sluice = os.path.join(a.build, "sluice")
    if a.quick and not a.rounds:
        a.rounds = QUICK_ROUNDS
    return a


def stored(a):
    """The record that --render and --readme are about: that of -o, or the only one in docs/bench."""
    if a.out:
        return a.out
    folder = os.path.join(TOP, "docs", "bench")
    found = sorted(f for f in os.listdir(folder) if f.endswith(".json")) if os.path.isdir(folder) else []
    if len(found) != 1:
        raise Failure(f"{folder} has {len(found)} records: name one with -o")
    return os.path.join(folder, found[0].removesuffix(".json"))


def main():
    a = parse_arguments()
    try:
        if a.render or a.readme:
            base = stored(a)
            record = records.read(base + ".json")
            if a.render:
                write(base, record)
            if a.readme:
                print(report_text.readme(record), end="")
            return 0
        if a.peers is None:
            a.peers = [k for k, p in engines.PEERS.items() if a.isa in p.cmake and p.is_in(engines.peer_venv(a, k))]
        first = engines.Engine("sluice", engines.ours_argv(a, a.model[0]), engines.ours_env(a))
        first.close()
        if first.hello.get("isa") not in roof.YARDSTICKS:
            raise Failure(f"sluice runs on {first.hello.get('isa')!r}: yardsticks are known for {', '.join(roof.YARDSTICKS)}")
        report = Report(a, first.hello)
        report.run()
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on from here", file=sys.stderr)
        return 130
    except (Failure, ValueError, OSError) as e:
        print(f"report.py: {e}", file=sys.stderr)
        return 1
    if any(m["alone"] or m["beside"] for m in report.record["models"].values()):
        print(report_text.readme(report.record))
    print(f"The report: {report.base}.md")
    return verdict(report.record)


if __name__ == "__main__":
    sys.exit(main())
