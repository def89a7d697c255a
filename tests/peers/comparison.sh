#!/usr/bin/env bash
# Prints the token table of docs/language.md: ten plans in four notations, counted by one tokenizer. The equivalents of
# the plans are validated by the schemas of their notations. With --check, fails if the document does not contain the
# table. Needs node and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cargo build --quiet --locked
program=${CARGO_TARGET_DIR:-$root/target}/debug/planrun
npm install --silent --no-audit --no-fund --prefix "$place" \
    gpt-tokenizer@4.0.0 asl-validator@4.0.0 @serverlessworkflow/sdk@1.0.1
cp tests/peers/comparison.mjs "$place/"
table=$(node "$place/comparison.mjs" "$root" "$program")
printf '%s\n' "$table"
if [ "${1:-}" = --check ]; then
    while IFS= read -r row; do
        grep -qxF -- "$row" docs/language.md || { echo "docs/language.md lacks: $row" >&2; exit 1; }
    done <<<"$table"
fi
