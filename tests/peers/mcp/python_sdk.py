"""A server made with the Python SDK, of its first make or its second. Takes a folder, in which it writes when a call was
cancelled, and a port where it shall serve HTTP in place of standard input and output."""

import pathlib
import sys
from typing import Annotated

import anyio
from pydantic import BaseModel

try:
    from mcp.server.mcpserver import AcceptedElicitation, Audio, Context, Elicit, ElicitationResult, Image, MCPServer, Resolve
except ModuleNotFoundError:
    from mcp.server.fastmcp import Audio, Context, FastMCP as MCPServer, Image
    Resolve = None

folder = pathlib.Path(sys.argv[1])
port = int(sys.argv[2]) if len(sys.argv) > 2 else None
server = MCPServer("python") if Resolve or port is None else MCPServer("python", host="127.0.0.1", port=port)


class Weather(BaseModel):
    city: str
    degrees: float
    wind: list[int]


class Colour(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """The weather somewhere."""
    return Weather(city=city, degrees=21.5, wind=[1, 2])


@server.tool()
def content() -> list:
    """Every kind of content."""
    return ["words", Image(data=b"\x89PNG", format="png"), Audio(data=b"RIFF", format="wav")]


@server.tool()
def failing() -> str:
    """Fails."""
    raise ValueError("out of luck")


@server.tool()
async def slow(steps: int, context: Context) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await context.report_progress(step, steps, f"step {step}")
        await anyio.sleep(0.02)
    return f"{steps} steps"


@server.tool()
async def endless(context: Context) -> str:
    """Goes on until it is cancelled."""
    try:
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        (folder / "cancelled").touch()
        raise
    return "never"


if Resolve:
    def question(thing: str) -> Elicit[Colour]:
        return Elicit(f"Which colour for the {thing}?", Colour)

    @server.tool()
    def ask(thing: str, answer: Annotated[ElicitationResult[Colour], Resolve(question)]) -> str:
        """Asks before it answers."""
        return f"{thing}: {answer.data.colour}" if isinstance(answer, AcceptedElicitation) else answer.action
else:
    @server.tool()
    async def ask(thing: str, context: Context) -> str:
        """Asks before it answers."""
        answer = await context.elicit(f"Which colour for the {thing}?", Colour)
        return f"{thing}: {answer.data.colour}" if answer.action == "accept" else answer.action


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"about {name}"


@server.resource("logo://one", mime_type="image/png")
def logo() -> bytes:
    """A picture."""
    return b"\x89PNG"


if port is None:
    server.run("stdio")
elif Resolve:
    server.run("streamable-http", host="127.0.0.1", port=port)
else:
    server.run("streamable-http")
