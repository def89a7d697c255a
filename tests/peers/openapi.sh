#!/usr/bin/env bash
# Tests an OpenAPI document written by FastAPI: plans call every operation of its server, and Schemathesis tests the test
# double of the document. Needs python3 and a package registry; takes no arguments. If python3 is missing, reports that
# and skips everything.
source "$(dirname "$0")/surroundings.sh" openapi

needs python3 "FastAPI and Schemathesis before documents of OpenAPI"

# Pinned, so that an update is a change to this file.
prepared venv "fastapi==0.165.0 uvicorn==0.54.0 python-multipart==0.0.34 schemathesis==4.32.5" python_packages
python=$peers/venv/bin/python
begin

port=$(free_port)
"$python" "$root/tests/peers/openapi/server.py" "$port" > server.log 2>&1 &
note
until_ready "$python" -c "import socket; socket.create_connection(('127.0.0.1', $port))"

"$python" -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/openapi.json').read().decode())" > shop.json
cat > planrun.yaml <<YAML
tools:
  shop: { openapi: shop.json, server: "http://127.0.0.1:$port" }
YAML
cp "$root/tests/peers/openapi/every.plan" "$root/tests/peers/openapi/order.plan" .
"$planrun" check every.plan --deny warnings > findings || { cat findings; exit 1; }
"$planrun" run every.plan -i id=A1 --format json > ran 2> warned || { cat ran warned; exit 1; }
"$python" - <<'PYTHON'
import json

reply = json.load(open("ran"))["reply"]
assert reply == {
    "found": "A1",
    "missing": "shop.find answered with status 404: no such order",
    "listed": ["open-7 open a b&c", "closed-7 closed a b&c"],
    "placed": {"id": "A2", "total": 5, "state": "open", "note": None, "tags": ["x"]},
    "noted": ["a b ä", "二 &"],
    "changed": "A3",
    "dropped": None,
    "me": {"client": "planrun", "session": "s-1"},
    "roles": {"ada": ["a", "b"]},
    "stored": {"size": 8, "names": ["files", "files"], "about": "two files"},
    "paid": {"kind": "cash", "amount": 1.5},
    "sum": 6,
    "today": "good morning",
    "drawn": 6,
}, reply
PYTHON
# The example of docs/openapi.md.
"$planrun" run order.plan -i id=A7 > ordered || { cat ordered; exit 1; }
grep -q '"no note"' ordered
# The test double answers the same plan with generated values.
"$planrun" run every.plan -i id=A1 --mock --format json > mocked 2> warned || { cat mocked warned; exit 1; }

"$planrun" mock --openapi shop=shop.json --bind 127.0.0.1:0 > address 2> double.log &
note
until_ready test -s address
# The double stores no orders, so the phase that tests sequences of requests is left out.
examine() {
    "$peers/venv/bin/schemathesis" run shop.json --url "$(cat address)/shop" --max-examples 25 --generation-deterministic \
        --phases examples,coverage,fuzzing --no-color "$@" > schemathesis.log 2>&1 || { tail -80 schemathesis.log; exit 1; }
    grep -A 1 "^Test cases" schemathesis.log | tail -1
}
echo "Schemathesis before the double:"
examine --exclude-operation-id login --exclude-operation-id upload
# A form encodes one value and a list of one value identically, so the double cannot reject one for the other.
examine --include-operation-id login --include-operation-id upload --exclude-checks negative_data_rejection
operations=$("$python" -c 'import json; print(sum(len(one) for one in json.load(open("shop.json"))["paths"].values()))')
echo "OpenAPI: a plan over $operations operations of a FastAPI server and over their double, which Schemathesis has examined"
