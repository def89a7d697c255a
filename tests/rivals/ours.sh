#!/usr/bin/env bash
# Runs the twelve scenarios of docs/rivals.md with planrun, against a real MCP server. The effect log of the server
# decides the results. Needs python3, ps and a package registry; takes no arguments. If python3 or ps is missing,
# reports that and skips everything.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD

for needed in python3 ps; do
    if ! command -v "$needed" > /dev/null; then
        echo "left out: the twelve scenarios, since there is no $needed"
        exit 0
    fi
done

. tests/rivals/desk.sh
cargo build --quiet --locked
export RIVALS_PLANRUN=${CARGO_TARGET_DIR:-$root/target}/debug/planrun
found=$(mktemp)
trap 'rm -f "$found"' EXIT
"$python" tests/rivals/scenarios.py planrun "$python" "$root/tests/rivals/by_planrun.py" > "$found"
"$python" tests/rivals/ours.py < "$found"
echo "planrun serve: twelve scenarios over a desk of tickets, judged by its effect log"
