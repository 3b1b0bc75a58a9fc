#!/usr/bin/env python3
"""count-tests.py SETUP=TESTLOG.json... - what Meson's test logs say, in one line.

Counts the cases of a cmocka program one by one and any other program as one. A skip (a
program's exit status 77, or a cmocka case) is no pass: it is listed with its reason, the
last line that was printed before it. The last line is "N passed, N failed".
"""
import json
import re
import sys

CASE_START = re.compile(r"^\[ RUN +\] (\S+)")
CASE_END = re.compile(r"^\[ +(OK|FAILED|ERROR|SKIPPED) +\] (\S+)")


def cmocka_cases(output):
    """Yield (case, result, reason) for each case that ended; reason: the last line it printed."""
    current, said = None, ""
    for line in output.splitlines():
        if start := CASE_START.match(line):
            current, said = start[1], ""
        elif (end := CASE_END.match(line)) and end[2] == current:
            yield current, end[1], said
            current = None
        elif current and line.strip():
            said = line.strip()


def last_line(*texts):
    lines = [line.strip() for text in texts if text for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def results(test):
    """Yield (suffix, 'pass' | 'fail' | 'skip', reason) for one entry of the log."""
    stdout, stderr = test.get("stdout") or "", test.get("stderr") or ""
    if test["result"] == "SKIP":
        yield "", "skip", last_line(stdout, stderr)
        return
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    cases = list(cmocka_cases(stdout))
    for case, result, reason in cases:
        kind = {"OK": "pass", "SKIPPED": "skip"}.get(result, "fail")
        yield "/" + case, kind, reason or "no reason given"
    if not good and not any(result in ("FAILED", "ERROR") for _, result, _ in cases):
        yield "", "fail", test["result"].lower()  # crashed, timed out, or is no cmocka program
    elif good and not cases:
        yield "", "pass", ""


def main():
    count = {"pass": 0, "fail": 0, "skip": 0}
    lines = {"fail": [], "skip": []}
    for argument in sys.argv[1:]:
        setup, path = argument.split("=", 1)
        with open(path, encoding="utf-8") as log:
            for test in map(json.loads, log):
                name = re.sub(r"^sluice:", "", test["name"]).replace(" / ", "/")
                for suffix, kind, reason in results(test):
                    count[kind] += 1
                    if kind in lines:
                        lines[kind].append(f"{name}{suffix} ({setup}): {reason}")
    for line in lines["skip"]:
        print("skipped:", line)
    for line in lines["fail"]:
        print("FAILED:", line)
    print(f"{count['pass']} passed, {count['fail']} failed")
    return 0 if count["pass"] and not count["fail"] else 1


if __name__ == "__main__":
    sys.exit(main())
