#!/bin/bash
# setup.sh GROUP... - install what is missing from packages.txt, for the named groups.
#
# Prints nothing when all is there. Otherwise on Debian (and what has apt-get) it shows the
# command and runs it, as root or through sudo; elsewhere it names what is missing and fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

compiles() { # compiles COMPILER LANGUAGE [FLAG...]
    local compiler=$1 language=$2
    shift 2
    printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
        "$compiler" "$@" -x "$language" -o /dev/null - >/dev/null 2>&1
}

# The thing itself, whoever installed it.
present() {
    case $1 in
        cmd:*) command -v "${1#cmd:}" >/dev/null ;;
        pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
        py:*) python3 -c "import ${1#py:}" 2>/dev/null ;;
        cc:) compiles cc c ;;
        c++:) compiles c++ c++ ;;
        rt:*) compiles clang c "-fsanitize=${1#rt:}" ;;
        *) echo "packages.txt: unknown probe $1" >&2; exit 2 ;;
    esac
}

# Packages of the wanted groups that dpkg does not know and whose probe fails. One dpkg-query
# for all, so that a run with nothing to do costs a few milliseconds.
missing() {
    local installed=" " group package probe
    if command -v dpkg-query >/dev/null; then
        # dpkg-query fails for names that it does not know: those are simply not installed.
        installed=" $(awk '!/^#/ && NF { print $2 }' "$here/packages.txt" | sort -u |
            xargs dpkg-query -W -f '${binary:Package}=${db:Status-Status} ' 2>/dev/null || true)"
    fi
    while read -r group package probe; do
        case $group in '' | '#'*) continue ;; esac
        [[ $wanted == *" $group "* ]] || continue
        [[ $installed =~ " $package"(:[a-z0-9]+)?"=installed " ]] || present "$probe" || echo "$package"
    done < "$here/packages.txt" | sort -u
}

wanted=" $* "
need=$(missing | xargs)
[ -n "$need" ] || exit 0

if ! command -v apt-get >/dev/null; then
    {
        echo "sluice: missing on this system, by their names in Debian 12:"
        for package in $need; do echo "    $package"; done
        echo "Please install them with your system's package manager, then run the same command again."
    } >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "sluice: not root and no sudo here. Please run as root: apt-get install --no-install-recommends $need" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() {
    echo "+ ${as_root[*]:+sudo }apt-get $*"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" < /dev/null
}

echo "sluice: installing what is missing: $need"
# Without package lists (a fresh container) or with outdated ones the first try cannot work.
if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
    apt update
fi
# shellcheck disable=SC2086  # a list of package names
apt install -y --no-install-recommends $need || { apt update && apt install -y --no-install-recommends $need; }

left=$(missing | xargs)
if [ -n "$left" ]; then
    echo "sluice: apt-get went through, yet this is still missing: $left" >&2
    exit 1
fi
