#!/usr/bin/env python3
"""page.py VERSION PAGE.scd.in CLI_TABLES.json HEADER... - a manual page's source, for scdoc.

PAGE is named for its subject: sluice-run.1.scd.in takes the tables of `sluice run`. Lines that are replaced:

  @HEADER@        the page's first line: name, section, version
  @USAGE@         the command's usage
  @TEXT@          what its --help says before the options
  @OPTIONS@       its options, by groups
  @COMMANDS@      all commands with their summaries
  @KEYS@          keys of deploy files, by sections
  @DECLARATIONS@  what the headers declare, by their sections
"""
import json
import re
import sys
from pathlib import Path


def escape(text):
    """Text that scdoc shows as it is, but for `code`, which is bold."""
    text = re.sub(r"([\\*_])", r"\\\1", text)
    text = re.sub(r"`([^`\n]+)`", r"*\1*", text)
    return re.sub(r"(?m)^(?=[-#.|\[\];+ `])", r"\\", text)


def literal(text):
    return "```\n" + text.strip("\n") + "\n```\n"


def prose(text):
    """Paragraphs as they are; what is set in by two spaces is an example."""
    return "\n".join(literal(re.sub(r"(?m)^  ", "", part)) if part.startswith("  ") else escape(part) + "\n"
                     for part in text.strip("\n").split("\n\n"))


def option(o):
    names = [f"*-{escape(s)}*" for s in o["shorts"]] + [f"*--{escape(n)}*" for n in o["names"]]
    arg = f" _{escape(o['arg'])}_" if o["arg"] else ""
    return f"{', '.join(names)}{arg}\n\t{escape(o['help'])}\n"


def options(command):
    return "\n".join(f"## {group['title']}\n\n" + "\n".join(map(option, group["options"]))
                     for group in command["groups"])


def commands(tables):
    return "\n".join(f"*sluice-{c['name']}*(1)\n\t{escape(c['summary'][:1].upper() + c['summary'][1:])}.\n"
                     for c in tables["commands"])


def keys(tables):
    out, section = [], None
    for k in tables["deploy"]:
        if k["section"] != section:
            section = k["section"]
            out.append(f"## {escape(section)}\n")
        out.append(f"*{escape(k['name'])}*: {escape(k['takes'])}\n\t{escape(k['help'])} (default: {escape(k['standard'])}).\n")
    return "\n".join(out)


def declarations(headers):
    """Functions marked SL_API and the types between them, without their comments, by the headers' sections."""
    out = []
    for header in headers:
        text = Path(header).read_text(encoding="utf-8")
        text = text[text.index('extern "C" {'):text.rindex('#ifdef __cplusplus')]
        sections = re.split(r"/\* ---- (.*?) -+ \*/", text)
        for title, body in zip(["", *sections[1::2]], sections[0::2]):
            body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.S)
            body = re.sub(r"(?m)^#(?:endif|if|else).*\n|^#define SL_API.*\n|\bSL_API\s+", "", body)
            body = re.sub(r"[ \t]+\n", "\n", body.replace('extern "C" {', ""))
            body = re.sub(r"\n{2,}", "\n", body).strip("\n")
            if body:
                out.append(f"## {title.capitalize() or Path(header).name}\n\n{literal(body)}")
    return "\n".join(out)


def main():
    version, page, tables, *headers = sys.argv[1:]
    tables = json.loads(Path(tables).read_text(encoding="utf-8"))
    name, section = Path(page).name.split(".")[:2]
    command = next((c for c in tables["commands"] if name == f"sluice-{c['name']}"), None)
    fill = {"HEADER": lambda: f'{name}({section}) "sluice {version}"\n',
            "USAGE": lambda: escape(command["usage"]).replace("   or   ", "++\n") + "\n",
            "TEXT": lambda: prose(command["text"]) + "\n",
            "OPTIONS": lambda: options(command),
            "COMMANDS": lambda: commands(tables),
            "KEYS": lambda: keys(tables),
            "DECLARATIONS": lambda: declarations(headers)}
    text = re.sub(r"(?m)^@([A-Z]+)@\n", lambda m: fill[m[1]](), Path(page).read_text(encoding="utf-8"))
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
