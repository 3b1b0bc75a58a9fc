#!/usr/bin/env python3
"""check-long.py - the checks that take hours: resumable, with a dated record.

  check-long.py                 run what is not yet done, line by line
  check-long.py --list          only show how each line stands
  check-long.py --only NAME     one line (repeatable)
  check-long.py --minutes M     stop after about M minutes; run again to go on
  check-long.py --slice M       minutes a fuzzer runs at a time (default 10)

The lines are in tools/check-long.toml. Each run of a line is appended to
check-long/records.jsonl: date, commit, CPU, duration, outcome and the sha256 of every file
that the line depends on. A record counts while these files are the same; fuzz minutes (of
CPU time, the machine may be busy) add up over the records that count. At the end
check-long/<date>.json and .txt say how each line stands. Interrupt at any time: what was
done stays.

Status 0: every line is done. 1: a line failed. 2: some are still open.
"""
import argparse
import datetime
import glob
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "check-long"
RECORDS = FOLDER / "records.jsonl"
BUILDS = ROOT / "build-long"
SKIPPED = 77
FUZZ_INTERRUPTED = 72  # libFuzzer's status after SIGINT


def load_lines():
    with open(ROOT / "tools/check-long.toml", "rb") as f:
        config = tomllib.load(f)
    names = [check["name"] for check in config["check"]]
    assert len(names) == len(set(names)), "check-long.toml: a name twice"
    return config["build"], config["check"]


def hashes(check):
    """sha256 of every file the line depends on, by its path in the tree."""
    found = {}
    for pattern in check["files"]:
        for path in glob.glob(pattern, root_dir=ROOT, recursive=True):
            if (ROOT / path).is_file():
                found[path] = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
    return dict(sorted(found.items()))


def read_records():
    if not RECORDS.is_file():
        return []
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def output_of(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:  # a tree without git
        return ""


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def cpu_of_children():
    """Seconds that the children that have ended computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def append_record(check, outcome, seconds, detail, files):
    record = {
        "name": check["name"],
        "outcome": outcome,  # passed, failed, skipped
        "seconds": round(seconds, 1),
        "detail": detail,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": output_of("git", "rev-parse", "HEAD") or "unknown",
        "changed": bool(output_of("git", "status", "--porcelain")),
        "cpu": cpu_model(),
        "files": files,
    }
    FOLDER.mkdir(exist_ok=True)
    with open(RECORDS, "a", encoding="utf-8") as f:
        f.write(json.dumps(record) + "\n")
        f.flush()
        os.fsync(f.fileno())


def standing(check, records):
    """(state, text) of a line by the records that count: done, failed, open or skipped."""
    files = hashes(check)
    counting = [r for r in records if r["name"] == check["name"] and r["files"] == files]
    if check["kind"] == "fuzz":
        minutes = sum(r["seconds"] for r in counting if r["outcome"] == "passed") / 60
        text = f"{minutes:.1f} of {check['minutes']} minutes"
        if failed := [r for r in counting if r["outcome"] == "failed"]:
            return "failed", f"{text}; {failed[-1]['detail']}"
        return ("done" if minutes >= check["minutes"] else "open"), text
    if not counting:
        old = any(r["name"] == check["name"] for r in records)
        return "open", "its files changed since the last record" if old else "never run"
    last = counting[-1]
    state = {"passed": "done", "failed": "failed", "skipped": "skipped"}[last["outcome"]]
    return state, f"{last['date'][:10]}, {last['seconds']:.0f} s{': ' + last['detail'] if last['detail'] else ''}"


def build(name, options, *targets):
    """Configure and build build-long/<name>, or only these targets of it."""
    folder = BUILDS / name
    if not (folder / "build.ninja").is_file():
        subprocess.run(["meson", "setup", folder, *options["options"]], cwd=ROOT, check=True,
                       env={**os.environ, "CC": options["cc"]})
    subprocess.run(["ninja", "-C", folder, *targets], check=True)


def run_logged(command, log, env=None):
    """Run with the output in a file. (exit status, interrupted): on Ctrl-C the child ends first."""
    interrupted = False
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=env)
        while True:
            try:
                return process.wait(), interrupted
            except KeyboardInterrupt:
                interrupted = True
                os.killpg(process.pid, signal.SIGINT)


def run_command(check, files):
    command = [part.format(build=BUILDS) for part in check["command"]]
    log = FOLDER / (check["name"].replace(" ", "-") + ".log")
    start = time.monotonic()
    status, interrupted = run_logged(command, log)
    if interrupted:
        raise KeyboardInterrupt
    outcome = {0: "passed", SKIPPED: "skipped"}.get(status, "failed")
    append_record(check, outcome, time.monotonic() - start, "" if status == 0 else f"status {status}, see {log.relative_to(ROOT)}", files)


def run_fuzz(check, files, seconds):
    """One slice. The corpus grows in check-long/corpus; a crash stays in check-long/crashes."""
    target = check["target"]
    corpus, crashes = FOLDER / "corpus" / target, FOLDER / "crashes" / target
    seeds = FOLDER / "seeds" / target
    for folder in (corpus, crashes, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for pattern in [f"tests/fuzz/corpus/{target}/*", *check.get("seeds", [])]:
        for path in glob.glob(pattern, root_dir=ROOT):
            (seeds / path.replace("/", "_")).write_bytes((ROOT / path).read_bytes())
    log = FOLDER / f"fuzz-{target}.log"
    # Files in memory: a disk would take more of a slice than the parsers.
    env = {**os.environ, "TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else None
    start, started = cpu_of_children(), time.time()
    status, interrupted = run_logged(
        [BUILDS / "fuzz/tests/fuzz" / f"fuzz_{target}", corpus, seeds, f"-max_total_time={seconds:.0f}",
         f"-artifact_prefix={crashes}/", "-timeout=20", "-rss_limit_mb=2048", "-malloc_limit_mb=512",
         f"-max_len={check.get('max_bytes', 4096)}", "-print_final_stats=1"], log, env)
    spent = cpu_of_children() - start
    found = [path for path in crashes.iterdir() if path.stat().st_mtime >= started]
    if status not in (0, FUZZ_INTERRUPTED):
        where = found[0].relative_to(ROOT) if found else log.relative_to(ROOT)
        append_record(check, "failed", spent, f"status {status}, see {where}", files)
    else:
        append_record(check, "passed", spent, "", files)
    if interrupted:
        raise KeyboardInterrupt


def run_line(check, builds, deadline, slice_seconds):
    """Bring one line as far as time allows. Raises CalledProcessError when its build fails."""
    FOLDER.mkdir(exist_ok=True)
    if check["kind"] == "command":
        files = hashes(check)
        for name in check["builds"]:
            build(name, builds[name])
        run_command(check, files)
        return
    while time.monotonic() < deadline:
        if standing(check, read_records())[0] != "open":
            break
        # Hashed and built anew for each slice: the tree may change between two.
        files = hashes(check)
        build("fuzz", builds["fuzz"], f"tests/fuzz/fuzz_{check['target']}")
        run_fuzz(check, files, max(1, min(slice_seconds, deadline - time.monotonic())))
        print(f"  {check['name']}: {standing(check, read_records())[1]}", flush=True)


def report(checks, store):
    """Print, and store if asked, how every line stands; the counts by state."""
    records = read_records()
    rows = [(check["name"], *standing(check, records)) for check in checks]
    width = max(len(name) for name, _, _ in rows)
    table = "\n".join(f"{state:8} {name:{width}}  {text}" for name, state, text in rows)
    commit, date = output_of("git", "rev-parse", "HEAD") or "unknown", datetime.date.today().isoformat()
    count = {state: sum(s == state for _, s, _ in rows) for state in ("done", "failed", "open", "skipped")}
    summary = ", ".join(f"{n} {state}" for state, n in count.items())
    print(table + "\n" + summary)
    if store:
        FOLDER.mkdir(exist_ok=True)
        head = f"check-long of {date}, commit {commit}, {cpu_model()}\n\n"
        (FOLDER / f"{date}.txt").write_text(head + table + "\n" + summary + "\n", encoding="utf-8")
        lines = [{"name": n, "state": s, "text": t, "files": hashes(c)} for (n, s, t), c in zip(rows, checks)]
        (FOLDER / f"{date}.json").write_text(
            json.dumps({"date": date, "commit": commit, "cpu": cpu_model(), "lines": lines}, indent=1) + "\n",
            encoding="utf-8")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--slice", type=float, default=10)
    options = parser.parse_args()
    builds, checks = load_lines()
    if unknown := set(options.only or []) - {check["name"] for check in checks}:
        parser.error("no such line: " + ", ".join(sorted(unknown)))

    deadline = time.monotonic() + options.minutes * 60
    broken = False
    try:
        for check in [] if options.list else checks:
            wanted = not options.only or check["name"] in options.only
            # A failed command may be tried again; a crash that fuzzing found stays until the code changed.
            state = standing(check, read_records())[0]
            if not wanted or state == "done" or (state == "failed" and check["kind"] == "fuzz"):
                continue
            if time.monotonic() >= deadline:
                break
            print(f"== {check['name']}", flush=True)
            try:
                run_line(check, builds, deadline, options.slice * 60)
            except subprocess.CalledProcessError as error:
                print(f"  the build failed: {error}", flush=True)
                broken = True
    except KeyboardInterrupt:
        print("\ninterrupted; what was done is recorded", flush=True)
    count = report(checks, store=not options.list)
    if count["failed"] or broken:
        return 1
    return 2 if count["open"] else 0


if __name__ == "__main__":
    sys.exit(main())
