"""The engine's side of the line protocol of README.md, for engines driven from Python:
one JSON command per line of stdin, one JSON answer per line of stdout."""
import json
import os
import sys


class CommandError(Exception):
    """Becomes the answer {"error": text}; the engine goes on with the next command."""


def quiet_stdout():
    """A file for the answers alone: what libraries print on stdout goes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def repeat(once, min_s):
    """Run once() until min_s seconds are measured. once() returns (tokens, seconds)."""
    tokens, seconds, runs = 0, 0.0, 0
    while runs == 0 or seconds < min_s:
        t, s = once()
        tokens, seconds, runs = tokens + t, seconds + s, runs + 1
    return {"tokens": tokens, "seconds": round(seconds, 6), "runs": runs, "tok_s": round(tokens / seconds, 3)}


def integer(command, key, default, low, high):
    v = command.get(key, default)
    if not isinstance(v, int) or isinstance(v, bool) or not low <= v <= high:
        raise CommandError(f"{key}: {v!r}, an integer from {low} to {high} expected")
    return v


def loop(hello, handle, answers):
    """Answer until {"test": "quit"} or the end of stdin. handle(command) returns a dict."""
    print(json.dumps(hello), file=answers, flush=True)
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            command = json.loads(line)
            if not isinstance(command, dict) or not isinstance(command.get("test"), str):
                raise CommandError('an object with "test" expected')
            if command["test"] == "quit":
                return
            answer = {"test": command["test"], **handle(command)}
        except (CommandError, json.JSONDecodeError) as e:
            answer = {"error": str(e)}
        print(json.dumps(answer), file=answers, flush=True)
