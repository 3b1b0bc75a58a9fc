"""Records of measurements: whose they are, and files that a stopped run goes on with."""
import datetime
import json
import os
import platform
import subprocess

import engines


def machine():
    info = {"cpu": "unknown", "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                info["cpu"] = line.split(":", 1)[1].strip()
                break
    return info


def commit():
    """Of the tree, "+changes" where it has some; reports are none."""
    def git(*args):
        try:
            return subprocess.run(["git", "-C", engines.HERE, *args], capture_output=True, text=True).stdout.strip()
        except FileNotFoundError:  # a tree without git
            return ""

    changes = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", ":(top,exclude)docs/bench")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+changes" if changes else "")


def stamp():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def load1():
    return round(os.getloadavg()[0], 2)


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def difference(record, identity):
    """The first line of `identity` that the record has otherwise, as a sentence; None: it is a record of just that."""
    for key, value in identity.items():
        if record.get(key) != value:
            return f"is a record with {key} = {record.get(key)!r}, now it would be {value!r}"
    return None


def save(path, record):
    part = path + ".part"
    with open(part, "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1, ensure_ascii=False)
        f.write("\n")
    os.replace(part, path)
