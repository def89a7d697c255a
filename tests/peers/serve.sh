#!/usr/bin/env bash
# Tests `planrun serve` with real clients. Those of the TypeScript SDK and the Python SDK, each in both major versions,
# hold a complete conversation over pipes and over HTTP, at every revision that they support. The Inspector lists the
# tools and calls one. The plans call a real server that logs its changes. Needs npm, python3 and a package registry;
# takes no arguments. If npm or python3 is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" serve

needs npm "clients of planrun serve"
needs python3 "clients of planrun serve"

# Pinned, so that an update is a change to this file. The Inspector needs a recent node, so node is installed too.
clients="@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/inspector@2.12.0 node@22.23.3"
panel="@modelcontextprotocol/ext-apps@2.0.4 @modelcontextprotocol/client@2.4.0 jsdom@31.0.1"
prepared npm "$clients" npm_packages
prepared panel "$panel" npm_packages
for make in 1.30.0 2.3.0; do
    prepared "python-$make" "mcp==$make" python_packages
done
export PATH=$peers/npm/node_modules/.bin:$PATH
begin

# A project that has the configuration of a user who has called the server directly so far.
mkdir -p "$place/project/plans"
cd "$place/project"
echo 'mcp: [.mcp.json]' > planrun.yaml
cat > .mcp.json <<JSON
{ "mcpServers": { "desk": { "command": "$peers/python-1.30.0/bin/python", "args": ["$root/tests/peers/serve/desk.py"] } } }
JSON
cat > plans/open_titles.plan <<'PLAN'
use desk

/// The titles of open tickets.
plan open_titles() -> { titles: string[] } {
    step found = desk.list_open()
    reply { titles: found.result.map(t, t.title) }
}
PLAN
"$planrun" tools lock --accept reads > locked
"$planrun" check --quiet plans

# talks NAME REVISION COMMAND…: holds the conversation over both transports concurrently, each with its own project.
talks() {
    local name=$1 revision=$2 way log waited=()
    shift 2
    for way in stdio http; do
        log="$place/$name-$revision-$way"
        cp -r "$place/project" "$log"
        "$@" "$way" "$revision" "$planrun" "$log" > "$log/log" 2>&1 &
        waited+=("$!" "$log")
    done
    for ((index = 0; index < ${#waited[@]}; index += 2)); do
        wait "${waited[index]}" || { cat "${waited[index + 1]}/log"; echo "failed: ${waited[index + 1]##*/}"; exit 1; }
    done
    echo "planrun serve: $name has the whole conversation at $revision, over pipes and over HTTP"
}
talks "TypeScript SDK 1.32.2" 2025-11-25 node "$root/tests/peers/serve/talk.mjs" "$peers/npm" 1
talks "TypeScript SDK 2.4.0" 2025-06-18 node "$root/tests/peers/serve/talk.mjs" "$peers/npm" 2
talks "TypeScript SDK 2.4.0" 2026-07-28 node "$root/tests/peers/serve/talk.mjs" "$peers/npm" 2
talks "Python SDK 1.30.0" 2025-11-25 "$peers/python-1.30.0/bin/python" "$root/tests/peers/serve/talk.py" 1.30.0
talks "Python SDK 2.3.0" 2026-07-28 "$peers/python-2.3.0/bin/python" "$root/tests/peers/serve/talk.py" 2.3.0

# The panel, displayed by the host of the MCP Apps package.
cp -r "$place/project" "$place/panel"
node "$root/tests/peers/serve/panel.mjs" "$peers/panel" "$planrun" "$place/panel"
echo "planrun serve: the panel of a question is shown by the host of ext-apps 2.0.4, which opens its page"

# The Inspector in both protocol eras. With --strict, it fails if a schema is not supported by every client.
"$planrun" serve --bind 127.0.0.1:0 --token-file token > address 2> serve.log &
note
until_ready test -s address
export MCP_CATALOG_PATH=$place/catalog.json
far=("$(cat address)" --transport http --header "Authorization: Bearer $(cat token)")
near=("$planrun" serve --stdio)
for era in legacy modern; do
    for way in near far; do
        declare -n target=$way
        mcp-inspector --cli "${target[@]}" --protocol-era "$era" --quiet --format json --method tools/list --strict > listed
        mcp-inspector --cli "${target[@]}" --protocol-era "$era" --quiet --format json --method tools/call --tool-name open_titles > called
        node - <<'NODE'
const assert = require("assert/strict")
const [listed, called] = ["listed", "called"].map((name) => JSON.parse(require("fs").readFileSync(name, "utf8"))).map((given) => given.result ?? given)
assert.deepEqual(listed.tools.map(({ name }) => name), ["search", "describe", "read", "run", "runs", "save", "open_titles"])
assert.deepEqual(called.structuredContent, { titles: ["ticket 1", "ticket 2", "ticket 3"] })
NODE
    done
done
if mcp-inspector --cli "$(cat address)" --transport http --header "Authorization: Bearer wrong" --quiet --method tools/list > refused 2>&1; then
    echo "a wrong token was taken"
    exit 1
fi
echo "planrun serve: the Inspector 2.12.0 lists the tools and calls one, over pipes and over HTTP, in both eras"
