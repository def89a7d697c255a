#!/usr/bin/env bash
# The conformance suite of the Model Context Protocol against planrun as a client, for two revisions. Fails where a scenario
# fails that is not expected to, and where one passes that is. Needs npm and a package registry; takes no arguments. Without npm
# it says so, and nothing is counted.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
peers=$root/target/peers/mcp-conformance
mkdir -p "$peers"

if ! command -v npm > /dev/null; then
    echo "left out: the conformance suite of MCP, since there is no npm"
    exit 0
fi

# Pinned, so that a new release is a change of this file. The suite needs a node that is newer than many machines have.
tools=(@modelcontextprotocol/conformance@0.2.0-alpha.11 node@22.23.3)
if [ "$(cat "$peers/ready" 2> /dev/null)" != "${tools[*]}" ]; then
    npm install --silent --no-audit --no-fund --prefix "$peers" "${tools[@]}"
    echo "${tools[*]}" > "$peers/ready"
fi

cargo build --quiet --locked
node=$peers/node_modules/.bin/node
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for revision in 2025-11-25 2026-07-28; do
    "$node" "$peers/node_modules/@modelcontextprotocol/conformance/dist/index.js" client \
        --command "$node $root/tests/peers/mcp/conformance.mjs $root/target/debug/planrun" \
        --requirements "$revision" --timeout 120000 --output-dir "$place/$revision" \
        > "$place/$revision.log" 2>&1 || true
done
"$node" "$root/tests/peers/mcp/conformance-report.mjs" "$place" "$root/tests/peers/mcp/conformance-expected.json"
