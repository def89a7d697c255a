#!/usr/bin/env bash
# Runs plans against servers built with both major versions of the Python SDK of the Model Context Protocol, over
# standard input and output and over HTTP: every kind of content, questions, progress, a cancelled call, resources.
# Needs python3 and a package registry; takes no arguments. If python3 is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" mcp-python

needs python3 "servers of MCP from PyPI"

# Pinned, so that an update is a change to this file. Version 1 of the SDK does not support the revision of 2026.
makes=(2.3.0 1.30.0)
for make in "${makes[@]}"; do
    prepared "$make" "mcp==$make" python_packages
done
begin

plan() {
    cat <<PLAN
use $1

plan $1() -> any {
    step endless = $1.endless() timeout 500ms recover unknown_outcome => "stopped"
    step sum = $1.add(a: 3, b: 4)
    step weather = $1.weather(city: "Chicago")
    step content = $1.content()
    step failed = $1.failing() recover tool.failed => "as it should"
    step slow = $1.slow(steps: 5)
    step asked = $1.ask(thing: "door")
    step note = $1.resource(uri: "note://plans")
    step logo = $1.resource(uri: "logo://one")
    reply [
        endless, sum, weather, content.parts.map(p, p.kind), failed, slow, asked, note.text,
        logo.parts.map(p, p.mime),
    ]
}
PLAN
}
plan near > near.plan
plan far > far.plan
cat > expected <<'JSON'
["stopped", {"result": 7}, {"city": "Chicago", "degrees": 21.5, "wind": [1, 2]}, ["text", "image", "audio"], "as it should",
 {"result": "5 steps"}, {"result": "door: blue"}, "about plans", ["image/png"]]
JSON

for make in "${makes[@]}"; do
    python=$peers/$make/bin/python
    port=$(free_port)
    "$python" "$root/tests/peers/mcp/python_sdk.py" "$place" "$port" > server.log 2>&1 &
    note
    until_ready grep -q "Uvicorn running" server.log
    cat > planrun.yaml <<YAML
tools:
  near: { mcp: { command: ["$python", "$root/tests/peers/mcp/python_sdk.py", "$place"] } }
  far: { mcp: { url: "http://127.0.0.1:$port/mcp" } }
YAML
    "$planrun" tools lock --accept all > locked
    "$planrun" tools lock --check > checked
    for plan in near far; do
        rm -f cancelled
        "$planrun" run "$plan.plan" --answer 'asked.asked={"colour": "blue"}' > ran || { cat ran server.log; exit 1; }
        "$python" -c 'import json, sys; ran, expected = (json.load(open(name)) for name in sys.argv[1:]); assert ran == expected, ran' ran expected
        [ -e cancelled ] || { echo "$plan: the server was not told that the call is not wanted any more"; exit 1; }
    done
    kill "$started"
    processes=()
    echo "MCP: plans over servers of the Python SDK $make, over standard input and output and over HTTP"
done
