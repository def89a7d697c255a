"""An MCP server of the stateless revision over standard input and output, whose long work is tasks that outlive it. Takes its
folder: what it was asked is in `asked` there, and a task has ended once there is a file `finish`."""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
REVISION = "2026-07-28"
OBJECT = {"type": "object"}
TOOLS = [
    {"name": "long", "description": "Takes its time.", "inputSchema": OBJECT},
    {"name": "asking", "description": "Takes its time, and asks in the middle.", "inputSchema": OBJECT},
    {"name": "failing", "description": "Fails after a while.", "inputSchema": OBJECT},
    {"name": "grow", "description": "Has one more tool from now on.", "inputSchema": OBJECT},
    {"name": "link", "description": "Links to a resource.", "inputSchema": OBJECT},
    {"name": "quiz", "description": "Asks this number of questions.", "inputSchema": OBJECT},
]
GROWN = {"name": "grown", "description": "Was not there before.", "inputSchema": OBJECT}
RESOURCES = {
    "note://one": [{"uri": "note://one", "mimeType": "text/plain", "text": "first"}],
    "note://two": [{"uri": "note://two", "text": "a"}, {"uri": "note://two", "mimeType": "image/png", "blob": "AAEC"}],
}
SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
subscriptions = []


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request, result, kind="complete"):
    send({"id": request["id"], "result": {"resultType": kind, **result}})


def refuse(request, message, code=-32602):
    send({"id": request["id"], "error": {"code": code, "message": message}})


def task(name, status, **more):
    moment = "2026-11-23T08:00:00Z"
    return {"taskId": f"task-{name}", "status": status, "createdAt": moment, "lastUpdatedAt": moment,
            "ttlMs": None, "pollIntervalMs": 50, **more}


def state(name):
    if not (folder / "finish").exists():
        return task(name, "working", statusMessage="half way")
    if name == "asking" and not (folder / "given").exists():
        asks = {"method": "elicitation/create", "params": {"mode": "form", "message": "Which colour?", "requestedSchema": SCHEMA}}
        return task(name, "input_required", inputRequests={"colour": asks})
    if name == "failing":
        return task(name, "failed", error={"code": -32000, "message": "out of luck"})
    said = (folder / "given").read_text("utf-8") if name == "asking" else "done"
    return task(name, "completed", result={"content": [{"type": "text", "text": said}], "resultType": "complete"})


def quiz(request):
    asked = int(request["params"].get("requestState") or 0)
    if asked == request["params"]["arguments"]["questions"]:
        answer(request, {"content": [{"type": "text", "text": f"after {asked}"}]})
    else:
        asks = {"method": "elicitation/create", "params": {"mode": "form", "message": "Which colour?", "requestedSchema": SCHEMA}}
        answer(request, {"inputRequests": {"colour": asks}, "requestState": str(asked + 1)}, "input_required")


def call(request):
    name = request["params"]["name"]
    if name == "grow":
        (folder / "grown").touch()
        for subscription in subscriptions:
            send({"method": "notifications/tools/list_changed",
                  "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}}})
        answer(request, {"content": [{"type": "text", "text": "grown"}]})
    elif name == "quiz":
        quiz(request)
    elif name == "link":
        answer(request, {"content": [{"type": "resource_link", "uri": "note://one", "name": "one"}]})
    else:
        answer(request, task(name, "working"), "task")


def respond(request):
    method, params = request.get("method"), request.get("params", {})
    with open(folder / "asked", "a", encoding="utf-8") as asked:
        asked.write(json.dumps({"method": method, "name": params.get("name") or params.get("taskId")}) + "\n")
    if method == "server/discover":
        answer(request, {"supportedVersions": [REVISION], "ttlMs": 0, "cacheScope": "private",
                         "capabilities": {"tools": {"listChanged": True}, "resources": {},
                                          "extensions": {"io.modelcontextprotocol/tasks": {}}},
                         "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "1.0.0"}}})
    elif method == "tools/list":
        grown = [GROWN] if (folder / "grown").exists() else []
        own = [{"name": "resource", "description": "Is no resource.", "inputSchema": OBJECT}]
        answer(request, {"tools": TOOLS + grown + (own if (folder / "own").exists() else []),
                         "ttlMs": 60000, "cacheScope": "private"})
    elif method == "subscriptions/listen":
        subscriptions.append(request["id"])
        send({"method": "notifications/subscriptions/acknowledged",
              "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": request["id"]},
                         "notifications": params["notifications"]}})
    elif method == "tools/call":
        call(request)
    elif method == "resources/read":
        contents = RESOURCES.get(params["uri"])
        if contents is None:
            refuse(request, "there is no such resource")
        else:
            answer(request, {"contents": contents, "ttlMs": 0, "cacheScope": "private"})
    elif method == "tasks/get" and (folder / "busy").exists():
        (folder / "busy").unlink()
        refuse(request, "the database is locked, try again", -32603)
    elif method == "tasks/get" and not (folder / "forget").exists():
        answer(request, state(params["taskId"].removeprefix("task-")))
    elif method == "tasks/update":
        (folder / "given").write_text(json.dumps(params["inputResponses"]["colour"]), "utf-8")
        answer(request, {})
    elif method == "tasks/cancel":
        answer(request, {})
    elif "id" in request:
        refuse(request, "there is no such task" if method == "tasks/get" else "there is no such method")


for text in sys.stdin:
    respond(json.loads(text))
