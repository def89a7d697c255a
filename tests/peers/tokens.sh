#!/usr/bin/env bash
# The estimate of tokens (crates/planrun-serve/src/tokens.rs) beside a real vocabulary: bytes a token of what models are shown,
# and whether the card of the language has at most 550 of them. With PLANRUN_CASES also over the tools there. Needs node and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --no-audit --no-fund --prefix "$place" gpt-tokenizer@4.0.0
cp tests/peers/tokens.mjs "$place/"
node "$place/tokens.mjs" "$root" "${PLANRUN_CASES:-}"
