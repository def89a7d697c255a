#!/usr/bin/env bash
# Compares the token estimate (crates/planrun-serve/src/tokens.rs) with a real vocabulary: prints the bytes per token of
# the texts that models read, and fails if the estimate is far too low or the language card has more than 550 tokens.
# Includes the tools in the folder PLANRUN_CASES, if it is set. Needs node and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --no-audit --no-fund --prefix "$place" gpt-tokenizer@4.0.0
cp tests/peers/tokens.mjs "$place/"
node "$place/tokens.mjs" "$root" "${PLANRUN_CASES:-}"
