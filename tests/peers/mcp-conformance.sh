#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol against planrun as a client, for two revisions. Fails if a
# scenario fails unexpectedly, or passes although it is expected to fail. Needs npm and a package registry; takes no
# arguments. If npm is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" mcp-conformance

needs npm "the conformance suite of MCP"

# Pinned, so that an update is a change to this file. The suite needs a recent node, so node is installed too.
prepared . "@modelcontextprotocol/conformance@0.2.0-alpha.11 node@22.23.3" npm_packages
node=$peers/node_modules/.bin/node
begin
for revision in 2025-11-25 2026-07-28; do
    "$node" "$peers/node_modules/@modelcontextprotocol/conformance/dist/index.js" client \
        --command "$node $root/tests/peers/mcp/conformance.mjs $built/debug/planrun" \
        --requirements "$revision" --timeout 120000 --output-dir "$place/$revision" \
        > "$place/$revision.log" 2>&1 || true
done
"$node" "$root/tests/peers/mcp/conformance-report.mjs" "$place" "$root/tests/peers/mcp/conformance-expected.json"
