"""A desk of tickets as a server of the Model Context Protocol, over standard input and output.

`DESK_LOG` names its effect log: a line for each close that was asked for (`ask 3 NOTE`) and done (`close 3`), and for each ticket
that was opened again (`reopen 3`), on the disk before the answer goes out. What the log says is what happened, whatever a caller
was told, and a desk that starts again goes on from it. It misbehaves by its environment: `DESK_REFUSE=3` refuses to close ticket 3,
`DESK_HANG=2` closes ticket 2 and never answers, `DESK_JITTER=1` answers reads late and out of their order.
`DESK_TIMES` names a file of the moments at which it was called, in seconds.
"""

import os
import random
import time

import anyio
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

TICKETS = 12
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
# 1.1 MB as JSON: short lines, each of them another.
HISTORY = "".join(f"2026-11-23 ticket {number:05} was read by the desk\n" for number in range(24_000))
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)


class Ticket(BaseModel):
    id: int
    subject: str
    state: str


class Tickets(BaseModel):
    tickets: list[Ticket]


class Closed(BaseModel):
    id: int
    state: str


server = MCPServer("desk")
states = {number: "open" for number in range(1, TICKETS + 1)}
order = random.Random(7)
moments = open(os.environ["DESK_TIMES"], "a", encoding="ascii") if "DESK_TIMES" in os.environ else None
if os.path.exists(os.environ["DESK_LOG"]):
    for line in open(os.environ["DESK_LOG"], encoding="utf-8"):
        word, number = line.split()[:2]
        if word != "ask":
            states[int(number)] = "closed" if word == "close" else "open"


def write(line: str) -> None:
    log = os.open(os.environ["DESK_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, (line + "\n").encode())
        os.fsync(log)
    finally:
        os.close(log)


def note_time() -> None:
    if moments:
        print(time.monotonic(), file=moments, flush=True)


def ticket(number: int) -> Ticket:
    if number not in states:
        raise ToolError(f"there is no ticket {number}")
    return Ticket(id=number, subject=f"printer {number} is on fire", state=states[number])


@server.tool(annotations=READS)
def list_tickets() -> Tickets:
    """Lists all tickets."""
    note_time()
    return Tickets(tickets=[ticket(number) for number in states])


@server.tool(annotations=READS)
async def read_ticket(id: int) -> Ticket:
    """Reads a ticket."""
    note_time()
    if os.environ.get("DESK_JITTER"):
        await anyio.sleep(order.uniform(0.0, 0.05))
    return ticket(id)


@server.tool(annotations=CHANGES)
async def close_ticket(id: int, note: str = "") -> Closed:
    """Closes a ticket."""
    note_time()
    write(f"ask {id} {note}".rstrip())
    if os.environ.get("DESK_REFUSE") == str(id):
        raise ToolError(f"ticket {id} is locked by another agent")
    states[ticket(id).id] = "closed"
    write(f"close {id}")
    if os.environ.get("DESK_HANG") == str(id):
        await anyio.sleep_forever()
    return Closed(id=id, state="closed")


@server.tool(annotations=CHANGES)
def reopen_ticket(id: int) -> Closed:
    """Opens a closed ticket again."""
    states[ticket(id).id] = "open"
    write(f"reopen {id}")
    return Closed(id=id, state="open")


@server.tool(annotations=READS, structured_output=False)
def read_history() -> str:
    """Everything that ever happened at the desk: 1.1 MB."""
    return HISTORY


@server.tool(annotations=READS, structured_output=False)
def read_photo() -> list:
    """A photo of the desk, and what is on it."""
    return ["a desk with a burning printer", Image(data=PIXEL, format="png")]


if __name__ == "__main__":
    server.run("stdio")
