#!/usr/bin/env python3
"""zsh.py CLI_TABLES.json - the completion of sluice for zsh, on stdout."""
import re
import sys

import tables

SCRIPT = r'''#compdef sluice
# zsh completion for sluice: made from its option tables.

# Models by name, and files and folders that may hold one.
_sluice_models() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/models
    local -a names=(@MODELS@ $folder/*.gguf(N:t:r))
    _alternative 'models:model:compadd -a names' 'files:file:_files -g "*.(gguf|json|model)(-.)"'
}

_sluice() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    local -a commands=(
@COMMANDS@
    )
    _arguments -C '(- *)--version[what this build is]' '(- *)'{-h,--help}'[the commands]' '1:command:->command' '*::argument:->argument'
    case $state in
        command) _describe command commands ;;
        argument)
            case $words[1] in
                help) _describe command commands ;;
@CASES@
            esac ;;
    esac
}

_sluice "$@"
'''


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def short(help_text):
    """The first clause of a help text, with what _arguments and _describe would read as its own."""
    return re.sub(r"([\[\]:\\])", r"\\\1", re.split(r"; | \(|: ", help_text)[0])


def action(option):
    kind, words = tables.value(option)
    return {"words": f"({' '.join(words)})", "list": f"_sequence compadd - {' '.join(words)}", "model": "_sluice_models",
            "file": "_files", "any": "( )"}[kind]


def specs(option):
    names, repeated = tables.spellings(option), "*" if option["kind"] == "list" else ""
    apart = f"({' '.join(names)})" if len(names) > 1 and not repeated else ""
    takes = "" if option["kind"] == "flag" else f":{re.sub(r'[^A-Za-z0-9]+', ' ', option['arg']).strip()}:{action(option)}"
    for name in names:
        may = "" if option["kind"] == "flag" else "=" if name.startswith("--") else ""
        yield quoted(f"{apart}{repeated}{name}{may}[{short(option['help'])}]{takes}")


def case(command):
    texts = ["'1:model:_sluice_models'"] + ["'2:text:( )'"] * command["max_texts"]
    lines = [s for o in tables.options(command) for s in specs(o)] + texts
    return f"                {command['name']})\n                    _arguments " + " \\\n                        ".join(lines) + " ;;"


def main():
    all_ = tables.read(sys.argv[1])
    commands = "\n".join("        " + quoted(f"{c['name']}:{short(c['summary'])}") for c in all_["commands"])
    sys.stdout.write(SCRIPT.replace("@COMMANDS@", commands).replace("@MODELS@", " ".join(all_["models"]))
                     .replace("@CASES@", "\n".join(map(case, all_["commands"]))))


if __name__ == "__main__":
    main()
