#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol against `planrun serve`, for two revisions. The tools that the
# suite expects are saved plans of a project; a small server provides content that a plan alone cannot produce. Fails if
# a check fails unexpectedly, or passes although it is expected to fail. Needs npm, python3 and a package registry; takes
# no arguments. If npm or python3 is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" serve-conformance

needs npm "the conformance suite of MCP for servers"
needs python3 "the conformance suite of MCP for servers"

# Pinned, so that an update is a change to this file. The suite needs a recent node, so node is installed too.
prepared suite "@modelcontextprotocol/conformance@0.2.0-alpha.11 node@22.23.3" npm_packages
prepared python "mcp==1.30.0" python_packages
begin
node=$peers/suite/node_modules/.bin/node

mkdir plans
cat > planrun.yaml <<YAML
tools:
  fixtures: { mcp: { command: ["$peers/python/bin/python", "$root/tests/peers/serve/fixtures.py"] } }
YAML
# plan NAME PARAMETERS TYPE STATEMENTS [NAMESPACE]: writes a plan that uses the namespace.
plan() {
    printf '%s\n/// Made for the conformance suite.\nplan %s(%s) -> %s {\n%s\n}\n' "${5:+use $5}" "${@:1:4}" > "plans/$1.plan"
}
# given NAME TOOL: writes a plan that replies the result of a tool of the server.
given() {
    plan "$1" '' any "step given = fixtures.$2() reply given" fixtures
}
# asking NAME: writes a plan that asks for confirmation.
asking() {
    plan "$1" '' bool 'step sure = input "Please confirm" -> { ok: bool } reply sure.ok'
}
given test_image_content image
given test_audio_content audio
given test_embedded_resource resource
given test_multiple_content_types mixed
given test_elicitation_sep1330_enums choose
plan test_simple_text '' string 'reply "This is a simple text response for testing."'
plan test_logging_tool '' string 'reply "nothing was logged"'
plan test_reconnection '' string 'reply "nobody had to come back"'
plan test_error_handling '' any 'step failed = sys.fail(class: "tool.failed", message: "as it should") reply failed' sys
plan test_tool_with_progress '' string 'step first = sys.sleep(duration: 3500ms) reply "done"' sys
plan test_elicitation 'message: string' any 'step user = input "${message}" -> { username: string, email: string } reply user'
plan test_elicitation_sep1034_defaults '' any 'step filled = input "Is this right?" -> {
    name: string = "John Doe", age: int = 30, score: double = 95.5,
    status: "active" | "inactive" | "pending" = "active", verified: bool = true,
} reply filled'
plan test_input_required_result_elicitation '' string 'step user_name = input "What is your name?" -> { name: string } reply user_name.name'
plan test_input_required_result_multi_round '' string 'step one = input "What is your name?" -> { name: string }
step two = input "What is your favourite colour?" -> { color: string } reply "${one.name} ${two.color}"'
asking test_input_required_result_request_state
asking test_input_required_result_tampered_state
asking test_input_required_result_capabilities
asking test_streaming_elicitation
"$planrun" tools lock --accept reads > locked
"$planrun" check --quiet plans > findings || { cat findings; exit 1; }
# The suite reads this run by a resource template.
"$planrun" run plans/test_simple_text.plan --run-id 123 > ran 2>&1 || { cat ran; exit 1; }

# The suite sends no token, so a proxy adds it.
"$planrun" serve --bind 127.0.0.1:0 --token-file token > address 2> serve.log &
note
until_ready test -s address
"$node" "$root/tests/peers/serve/proxy.mjs" "$(cat address)" token > proxied &
note
until_ready test -s proxied
for revision in 2025-11-25 2026-07-28; do
    "$node" "$peers/suite/node_modules/@modelcontextprotocol/conformance/dist/index.js" server \
        --url "$(cat proxied)" --requirements "$revision" --output-dir "$place/$revision" > "$place/$revision.log" 2>&1 || true
done
"$node" "$root/tests/peers/serve/conformance-report.mjs" "$place" "$root/tests/peers/serve/conformance-expected.json"
