"""A program of `programs/` by FastMCP's CodeMode, over a proxy of the desk. It asks nobody, and keeps nothing of a run."""

import asyncio
import json
import os
import pathlib
import sys
import time

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy


async def main():
    program = pathlib.Path(sys.argv[1]).with_suffix(".py")
    if os.environ.get("RIVALS_GATE") == "must":
        return {"outcome": "none", "said": "it has no approvals"}
    if os.environ.get("RIVALS_RESUME"):
        return {"outcome": "lost", "said": "it keeps nothing of a run"}
    command, *arguments = json.loads(os.environ["RIVALS_DESK"])
    knobs = {name: value for name, value in os.environ.items() if name.startswith("DESK_")}
    async with Client(StdioTransport(command, arguments, env=knobs)) as desk:
        server = create_proxy(desk)
        server.add_transform(CodeMode())
        async with Client(server) as model:
            await model.list_tools()
            began = time.monotonic()
            try:
                result = await model.call_tool("execute", {"code": program.read_text()})
            except ToolError as error:
                return {"outcome": "error", "said": str(error)}
            ms = (time.monotonic() - began) * 1000
            said = "\n".join(part.text for part in result.content if part.type == "text")
            images = sum(part.type == "image" for part in result.content)
            return {"outcome": "value", "said": said, "images": images, "asked": 0, "ms": ms}


print(json.dumps(asyncio.run(main())))
