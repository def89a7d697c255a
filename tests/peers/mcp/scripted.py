"""An MCP server over standard input and output whose tools do what clients have to live with. Takes the folder in which it
writes what it was called with; `tools.json` there, if it is there, replaces what it offers."""

import json
import os
import pathlib
import sys
import time

folder = pathlib.Path(sys.argv[1])


def text(schema="string"):
    return {"type": "object", "properties": {"text": {"type": schema}}, "required": ["text"]}


TOOLS = [
    {"name": "echo", "description": "Gives back a text.", "inputSchema": text(),
     "annotations": {"readOnlyHint": True}},
    {"name": "count", "description": "Counts letters.", "inputSchema": text(),
     "outputSchema": {"type": "object", "properties": {"letters": {"type": "integer"}}, "required": ["letters"]},
     "annotations": {"readOnlyHint": True}},
    {"name": "keep-note", "description": "Keeps a note.", "inputSchema": text(),
     "annotations": {"idempotentHint": True, "destructiveHint": False}},
    {"name": "wipe", "description": "Forgets every note.", "inputSchema": {"type": "object"},
     "annotations": {"destructiveHint": True}},
    {"name": "refuse", "description": "Says no.", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Asks before it answers.", "inputSchema": {"type": "object"}},
    {"name": "die", "description": "Ends in the middle of a call, once.", "inputSchema": {"type": "object"},
     "annotations": {"readOnlyHint": True}},
    {"name": "hang", "description": "Never answers.", "inputSchema": {"type": "object"}},
    {"name": "babble", "description": "Writes what is no message, then answers.", "inputSchema": {"type": "object"}},
    {"name": "flood", "description": "Writes one message of 100 MB.", "inputSchema": {"type": "object"}},
    {"name": "progress", "description": "Tells how far it is.", "inputSchema": {"type": "object"}},
    {"name": "environment", "description": "The names of its variables.", "inputSchema": {"type": "object"}},
    {"name": "change", "description": "Wants a language for every echo from now on.", "inputSchema": {"type": "object"}},
    {"name": "list-notes", "description": "The notes.", "inputSchema": {"type": "object"}},
    {"name": "错误", "description": "名字不是拉丁字母。", "inputSchema": {"type": "object"}},
]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request, result):
    send({"id": request["id"], "result": result})


def says(request, words, **more):
    answer(request, {"content": [{"type": "text", "text": words}], **more})


def call(request):
    params = request["params"]
    name, arguments = params["name"], params.get("arguments", {})
    with open(folder / "calls", "a", encoding="utf-8") as calls:
        calls.write(json.dumps({"tool": name, "arguments": arguments,
                                "key": params.get("_meta", {}).get("planrun/idempotencyKey")}) + "\n")
    if name == "echo":
        says(request, arguments["text"])
    elif name == "count":
        letters = len(arguments["text"])
        says(request, str(letters), structuredContent={"letters": letters})
    elif name == "refuse":
        says(request, "not today\x1b[2J", isError=True)
    elif name == "ask":
        send({"id": "question", "method": "elicitation/create", "params": {
            "message": "Which colour?", "requestedSchema": {
                "type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}}})
        reply = json.loads(sys.stdin.readline())["result"]
        says(request, json.dumps(reply))
    elif name == "die":
        died = folder / "died"
        if not died.exists():
            died.touch()
            sys.stderr.write("out of luck\n")
            sys.stderr.flush()
            os._exit(3)
        says(request, "alive")
    elif name == "hang":
        pass
    elif name == "babble":
        sys.stdout.write("starting up…\n{\"half\": \n\n")
        says(request, "done")
    elif name == "flood":
        sys.stdout.write("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"" % json.dumps(request["id"]))
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write("\"}]}}\n")
        sys.stdout.flush()
        says(request, "never heard")
    elif name == "progress":
        token = params["_meta"]["progressToken"]
        for done in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": done, "total": 4, "message": "half way"}})
            time.sleep(0.05)
        says(request, "arrived")
    elif name == "change":
        wanting = text()
        wanting["properties"]["language"] = {"type": "string"}
        wanting["required"].append("language")
        changed = [{**tool, "inputSchema": wanting} if tool["name"] == "echo" else tool for tool in TOOLS]
        (folder / "tools.json").write_text(json.dumps(changed), "utf-8")
        send({"method": "notifications/tools/list_changed"})
        says(request, "changed")
    elif name == "environment":
        says(request, json.dumps(sorted(os.environ)))
    else:
        says(request, "ok")


def tools():
    changed = folder / "tools.json"
    return json.loads(changed.read_text("utf-8")) if changed.exists() else TOOLS


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        answer(request, {"protocolVersion": request["params"]["protocolVersion"],
                         "capabilities": {"tools": {"listChanged": True}},
                         "serverInfo": {"name": "scripted", "version": "1.0.0"}})
    elif method == "tools/list":
        answer(request, {"tools": tools()})
    elif method == "tools/call":
        call(request)
    elif "id" in request and method is not None:
        send({"id": request["id"], "error": {"code": -32601, "message": "there is no such method"}})
