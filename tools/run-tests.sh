#!/bin/bash
# run-tests.sh BUILD SETUP... [-- MESON-TEST-ARGUMENT...]
#
# Runs the tests of a built folder under each test setup of tests/meson.build and ends with
# the line "N passed, N failed" over all of them, skips and failures listed above it.
# Status 0: something passed and nothing failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift

setups=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    setups+=("$1")
    shift
done
[ $# -eq 0 ] || shift

logs=()
status=0
for setup in "${setups[@]}"; do
    suites=()
    # Most tests walk all instruction sets themselves; these take the one of the environment.
    [[ "$setup" != *scalar ]] || suites=(--suite executor --suite models --suite cli)
    rm -f "$build/meson-logs/testlog-$setup".*
    meson test -C "$build" --no-rebuild --print-errorlogs --setup "$setup" "${suites[@]}" "$@" < /dev/null || status=1
    [ ! -f "$build/meson-logs/testlog-$setup.json" ] || logs+=("$setup=$build/meson-logs/testlog-$setup.json")
done
python3 "$here/count-tests.py" "${logs[@]}" || status=1
exit $status
