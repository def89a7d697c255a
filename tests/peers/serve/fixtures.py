"""The tools behind the plans that the conformance suite calls: what a plan alone cannot make."""

import base64

from mcp.server.fastmcp import Audio, Context, FastMCP, Image
from mcp.types import EmbeddedResource, TextResourceContents, ToolAnnotations

server = FastMCP("fixtures")
READS = ToolAnnotations(readOnlyHint=True)
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
FIRST = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
PLAIN = ["option1", "option2", "option3"]
# A field for each way in which a list of choices is asked for.
CHOICES = {
    "untitledSingle": {"type": "string", "enum": PLAIN},
    "titledSingle": {"type": "string", "oneOf": FIRST},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": FIRST}},
}


def embedded(uri: str, mime: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mimeType=mime, text=text))


@server.tool(annotations=READS)
def image() -> list:
    """A picture."""
    return [Image(data=PNG, format="png")]


@server.tool(annotations=READS)
def audio() -> list:
    """A sound."""
    return [Audio(data=WAV, format="wav")]


@server.tool(annotations=READS)
def resource() -> list:
    """A resource."""
    return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@server.tool(annotations=READS)
def mixed() -> list:
    """A text, a picture and a resource."""
    return ["Multiple content types test:", Image(data=PNG, format="png"),
            embedded("test://mixed-content-resource", "application/json", '{"test": "data"}')]


@server.tool(annotations=READS)
async def choose(context: Context) -> str:
    """Asks with every kind of choice."""
    answer = await context.session.elicit_form("Choose.", {"type": "object", "properties": CHOICES})
    return f"{answer.action} {answer.content}"


server.run("stdio")
