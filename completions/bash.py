#!/usr/bin/env python3
"""bash.py CLI_TABLES.json - the completion of sluice for bash, on stdout. Needs nothing of the bash-completion package."""
import sys

import tables

SCRIPT = r'''# bash completion for sluice: made from its option tables.

# What an option of a command takes, in $value (flag, words, list, model, file, any), and of which words.
_sluice_value() {
    value=none words=
    case $1,$2 in
@VALUES@
    esac
}

_sluice_options() {
    case $1 in
@OPTIONS@
    esac
}

# Words that begin as $1, put behind $2.
_sluice_words() {
    local word
    for word in $3; do
        [[ $word != "$1"* ]] || COMPREPLY+=("$2$word")
    done
}

_sluice_files() {
    local file
    compopt -o filenames 2> /dev/null
    while IFS= read -r file; do
        COMPREPLY+=("$file")
    done < <(compgen "$@")
}

# Models by name, and files and folders that may hold one.
_sluice_models() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/models file
    _sluice_words "$cur" '' '@MODELS@'
    for file in "$folder"/*.gguf; do
        file=${file##*/} file=${file%.gguf}
        [[ $file == '*' || $file != "$cur"* ]] || COMPREPLY+=("$file")
    done
    _sluice_files -d -- "$cur"
    for file in gguf json model; do
        _sluice_files -f -X "!*.$file" -- "$cur"
    done
}

_sluice_complete_value() {
    local before=
    case $1 in
        words) _sluice_words "$cur" '' "$words" ;;
        list)
            [[ $cur != *,* ]] || before=${cur%,*},
            _sluice_words "${cur##*,}" "$before" "$words"
            compopt -o nospace 2> /dev/null ;;
        model) _sluice_models ;;
        file) _sluice_files -f -- "$cur" ;;
    esac
}

_sluice() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} value words option= ended= texts=0 i
    COMPREPLY=()
    # A word of its own in COMP_WORDS, as = separates words: --kv-type = f16
    [[ $cur != '=' ]] || cur=
    if ((COMP_CWORD == 1)); then
        _sluice_words "$cur" '' '@COMMANDS@ help --help --version'
        return
    fi
    if [[ $command == help ]]; then
        ((COMP_CWORD > 2)) || _sluice_words "$cur" '' '@COMMANDS@'
        return
    fi
    # What stands before the cursor: an option that waits for its value, or arguments.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == '=' && $option ]]; then
            continue
        elif [[ $option ]]; then
            option=
        elif [[ ! $ended && ${COMP_WORDS[i]} == -- ]]; then
            ended=1
        elif [[ ! $ended && ${COMP_WORDS[i]} == -?* ]]; then
            _sluice_value "$command" "${COMP_WORDS[i]}"
            [[ $value != model ]] || texts=$((texts + 1))
            [[ $value == none || $value == flag ]] || option=${COMP_WORDS[i]}
        else
            texts=$((texts + 1))
        fi
    done
    if [[ $option ]]; then
        _sluice_value "$command" "$option"
        _sluice_complete_value "$value"
    elif [[ ! $ended && $cur == -* ]]; then
        _sluice_words "$cur" '' "$(_sluice_options "$command")"
    elif ((texts == 0)); then
        _sluice_models
    fi
}

complete -F _sluice sluice
'''


def values(commands):
    """One branch of the case for all options that take the same."""
    branches = {}
    for command in commands:
        for option in tables.options(command):
            for name in tables.spellings(option):
                branches.setdefault(tables.value(option), []).append(f"{command['name']},{name}")
    return "\n".join(f"        {'|'.join(names)})\n            value={kind} words='{' '.join(words)}' ;;"
                     for (kind, words), names in branches.items())


def main():
    all_ = tables.read(sys.argv[1])
    commands = all_["commands"]
    options = "\n".join(f"        {c['name']}) echo '{' '.join(s for o in tables.options(c) for s in tables.spellings(o))}' ;;"
                        for c in commands)
    sys.stdout.write(SCRIPT.replace("@VALUES@", values(commands)).replace("@OPTIONS@", options)
                     .replace("@MODELS@", " ".join(all_["models"]))
                     .replace("@COMMANDS@", " ".join(c["name"] for c in commands)))


if __name__ == "__main__":
    main()
