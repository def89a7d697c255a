"""A desk of tickets as a server of MCP. What it changes it writes down in the file `effects` of its folder, a line each, as it
does so; which tickets are open follows from that file alone."""

import pathlib

import anyio
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = FastMCP("desk")
effects = pathlib.Path("effects")
READS = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
CHANGES = ToolAnnotations(readOnlyHint=False, destructiveHint=False)


class Ticket(BaseModel):
    id: int
    title: str


class Closed(BaseModel):
    id: int
    closed: bool


def write(effect: str) -> None:
    with effects.open("a", encoding="utf-8") as log:
        log.write(effect + "\n")


@server.tool(annotations=READS)
def list_open(first: int = 1) -> list[Ticket]:
    """Lists three open tickets of the desk, from a number on."""
    return [Ticket(id=number, title=f"ticket {number}") for number in range(first, first + 3)]


@server.tool(annotations=READS)
async def report(seconds: float) -> str:
    """Makes a report, which takes so many seconds."""
    await anyio.sleep(seconds)
    return "all is well"


@server.tool(annotations=CHANGES)
async def close_ticket(id: int) -> Closed:
    """Closes a ticket."""
    write(f"close {id}")
    await anyio.sleep(0.5)
    return Closed(id=id, closed=True)


@server.tool(annotations=CHANGES)
def reopen_ticket(id: int) -> Closed:
    """Opens a closed ticket again."""
    write(f"reopen {id}")
    return Closed(id=id, closed=False)


server.run("stdio")
