"""A program of `programs/` by planrun: `planrun serve --stdio` over the desk, with a client that answers yes to what it is asked."""

import json
import os
import pathlib
import subprocess
import sys
import time

from client import Client, Failed, text

PLANRUN = os.environ["RIVALS_PLANRUN"]
FOLDER = pathlib.Path(os.environ["RIVALS_STATE"]) / "project"


def project():
    """A project over the desk whose contracts are pinned; the desk is started with what this process says of it."""
    FOLDER.mkdir(exist_ok=True)
    command, *arguments = json.loads(os.environ["RIVALS_DESK"])
    knobs = {name: value for name, value in os.environ.items() if name.startswith("DESK_")}
    servers = {"desk": {"command": command, "args": arguments, "env": knobs}}
    (FOLDER / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (FOLDER / "planrun.yaml").write_text("mcp: [.mcp.json]\n")
    if not (FOLDER / "planrun.lock").exists():
        subprocess.run([PLANRUN, "tools", "lock", "--accept", "reads"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)


def yes(question):
    fields = question["requestedSchema"]["properties"]
    return {"action": "accept", "content": {"approve": True} | ({"scope": "once"} if "scope" in fields else {})}


def told(result, client):
    said = text(result)
    try:
        completed = json.loads(said)
        whole = {name: completed[name] for name in ("reply", "cut") if name in completed}
        outcome, said = "value", json.dumps(whole, ensure_ascii=False)
    except ValueError:
        outcome = "error" if result.get("isError") else "asks"
    images = sum(part["type"] == "image" for part in result["content"])
    counts = {"characters": len(text(result)), "images": images, "asked": len(client.questions)}
    return {"outcome": outcome, "said": said, "questions": client.questions} | counts


def run(client, program):
    plan = program.with_suffix(".plan").read_text()
    # As with the others, the desk is connected beforehand.
    client.tool("read", plan=(program.parent / "photo.plan").read_text())
    began = time.monotonic()
    result = client.tool("run", plan=plan)
    return told(result, client) | {"ms": (time.monotonic() - began) * 1000}


def resume(client):
    """What a client finds after a crash, and what a person then does who has looked at the ticket: it was closed."""
    latest = text(client.tool("runs")).split()[0]
    found = told(client.tool("runs", id=latest, wait_s=20), client)
    if found["outcome"] == "asks":
        answer = 'two={"happened": true, "value": {"id": 2, "state": "closed"}}'
        command = [PLANRUN, "runs", "answer", latest, answer]
        subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = told(client.tool("runs", id=latest, wait_s=20), client)
        found |= {"asked": 1, "questions": [found["said"]], "then": after["outcome"]}
    return found


def main():
    project()
    client = Client([PLANRUN, "serve", "--stdio"], FOLDER, yes)
    try:
        found = resume(client) if os.environ.get("RIVALS_RESUME") else run(client, pathlib.Path(sys.argv[1]))
    except Failed as error:
        found = {"outcome": "error", "said": str(error)}
    client.close()
    print(json.dumps(found))


main()
