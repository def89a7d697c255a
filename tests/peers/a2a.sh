#!/usr/bin/env bash
# Runs plans against an agent built with the Python SDK of A2A, over JSON-RPC with streams and over HTTP+JSON without.
# Needs python3 and a package registry; takes no arguments. If python3 is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" a2a

needs python3 "agents of A2A from PyPI"

# Pinned, so that an update is a change to this file.
prepared venv "a2a-sdk[http-server]==1.3.0 uvicorn==0.54.0" python_packages
python=$peers/venv/bin/python
begin

port=$(free_port)
"$python" "$root/tests/peers/a2a/agent.py" "$port" "$place/told" > agent.log 2>&1 &
note
card() {
    "$python" -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/rpc/.well-known/agent-card.json')"
}
until_ready card

cat > planrun.yaml <<YAML
tools:
  painter: { a2a: "http://127.0.0.1:$port/rpc" }
  remote: { a2a: "http://127.0.0.1:$port/rest" }
YAML
"$planrun" tools lock > locked
"$planrun" tools lock --check > checked
grep -q '"server": "painter"' planrun.lock

# Text, streamed parts, data, files, and a failure.
for namespace in painter remote; do
    cat > "$namespace.plan" <<PLAN
use $namespace

plan all() -> any {
    step said = $namespace.send(text: "hello")
    step drafted = $namespace.draft(text: "Ada")
    step counted = $namespace.count(text: "three words here")
    step turned = $namespace.file(text: "turn it", files: [{ name: "a.bin", bytes: b"\x01\x02", mime: "x/y" }])
    step refused = $namespace.refuse(text: "x") recover tool.failed as e => { message: e.message }
    reply {
        said: said, drafted: drafted, words: counted.words + 1, refused: refused.message,
        file: turned.parts.map(p, [p.name, p.mime, string(p.bytes == b"\x02\x01")]),
    }
}
PLAN
    "$planrun" check "$namespace.plan" > findings 2>&1 || { cat findings; exit 1; }
    "$planrun" run "$namespace.plan" --format json > ran 2> warned || { cat ran warned; exit 1; }
    "$python" - <<'PYTHON'
import json
reply = json.load(open("ran"))["reply"]
assert reply == {"said": "HELLO", "drafted": "Dear Ada", "words": 4, "refused": "the agent has failed: out of paint",
                 "file": [["back.bin", "x/y", "true"]]}, reply
PYTHON
done

# The example of docs/a2a.md: a question in the inbox is answered by another process.
cp "$root/tests/peers/a2a/letter.plan" .
status=0
"$planrun" run letter.plan -i name=Ada --run-id letter > waiting 2>&1 || status=$?
[ "$status" = 4 ] || { cat waiting; exit 1; }
"$planrun" runs inbox | grep -q "Which colour?"
"$planrun" runs answer letter 'painted.asked={"answer": "blue"}' --resume > answered || { cat answered; exit 1; }
grep -q "painted blue" answered

# A killed run resumes its task, with streams and without, and sends nothing twice.
for namespace in painter remote; do
    printf 'use %s\n\nplan slow() -> any {\n    step given = %s.slow(text: "x")\n    reply given\n}\n' \
        "$namespace" "$namespace" > slow.plan
    rm -f told told.go
    "$planrun" run slow.plan --run-id "slow-$namespace" > /dev/null 2>&1 &
    driver=$!
    for _ in $(seq 200); do
        ! "$planrun" runs events "slow-$namespace" --format ndjson 2> /dev/null | grep -q handle.given || break
        sleep 0.05
    done
    kill -9 "$driver"
    wait "$driver" 2> /dev/null || true
    (sleep 1; touch told.go) &
    "$planrun" runs resume "slow-$namespace" > resumed || { cat resumed; exit 1; }
    grep -q "at last" resumed
    [ "$(grep -c "told slow" told)" = 1 ]
done

# A call that times out is cancelled at the agent.
rm -f told told.go
sed -i 's/slow(text: "x")/slow(text: "x") timeout 500ms/' slow.plan
"$planrun" run slow.plan > late 2>&1 && exit 1
grep -q "no answer within 500ms" late
grep -q cancelled told
echo "A2A: plans over an agent of the Python SDK, over JSON-RPC with streams and over HTTP+JSON without"
