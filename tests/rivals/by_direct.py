"""The calls of `six` and of `reads` one by one, as a client makes them that has no plans: what the others are held against."""

import json
import os
import pathlib
import sys
import time

from client import Client


def six(client):
    found = client.tool("list_tickets")["structuredContent"]["tickets"][:6]
    for ticket in found:
        client.tool("read_ticket", id=ticket["id"])
        client.tool("close_ticket", id=ticket["id"])
    return len(found)


def reads(client):
    for row in range(200):
        client.tool("read_ticket", id=row % 12 + 1)
    return 200


program = {"six": six, "reads": reads}.get(pathlib.Path(sys.argv[1]).name)
if program is None or os.environ.get("RIVALS_GATE") or os.environ.get("RIVALS_RESUME"):
    print(json.dumps({"outcome": "none", "said": "there is no program"}))
else:
    client = Client(json.loads(os.environ["RIVALS_DESK"]))
    began = time.monotonic()
    said = program(client)
    ms = (time.monotonic() - began) * 1000
    client.close()
    print(json.dumps({"outcome": "value", "said": str(said), "asked": 0, "ms": ms}))
