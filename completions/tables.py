"""What completions ask of the program's option tables (tools/cli_tables.c prints them)."""
import json
from pathlib import Path


def read(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def options(command):
    return [o for group in command["groups"] for o in group["options"]]


def spellings(option):
    """["-ub", "--ubatch-size"]"""
    return [f"-{s}" for s in option["shorts"]] + [f"--{n}" for n in option["names"]]


def value(option):
    """(kind, words) of what an option takes. kind: flag, words (one of them), list (some, by commas), model, file, any."""
    if option["kind"] == "flag":
        return "flag", ()
    if option["words"]:
        return ("words" if option["kind"] == "word" else "list"), tuple(option["words"])
    if option["names"][0] == "model":
        return "model", ()
    return ("file" if "FILE" in option["arg"] else "any"), ()
