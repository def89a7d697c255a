"""A client made with the Python SDK, of its first make or its second, that has the whole conversation with `planrun serve`. Takes the
make, `stdio` or `http`, the revision, the program, and the folder of a project with the desk."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import anyio
from mcp import StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

make, way, revision, planrun, place = sys.argv[1:]
os.chdir(place)
is_first = make.startswith("1.")
if is_first:
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client
else:
    from mcp import Client

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
YES = types.ElicitResult(action="accept", content={"approve": True, "scope": "once"})
NO = types.ElicitResult(action="accept", content={"approve": False, "scope": "once"})
DECLINE = types.ElicitResult(action="decline")


class Server:
    """The server over HTTP, which is started once and after it was killed; over pipes each client starts its own."""

    process: subprocess.Popen | None = None

    def address(self):
        if not self.process:
            command = [planrun, "serve", "--bind", "127.0.0.1:0", "--token-file", "token"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.url = self.process.stdout.readline().strip()
        return self.url

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        elif way == "stdio":
            os.kill(int(pathlib.Path("pid").read_text()), signal.SIGKILL)


server = Server()


class Talk:
    """A connection, with what the person does with a question and the questions so far."""

    def __init__(self):
        self.person = None
        self.asked = []
        self.changed = anyio.Event()

    async def elicit(self, _context, params):
        self.asked.append(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        assert self.person, "nobody expects a question"
        await anyio.sleep(self.person[1])
        return self.person[0]

    async def heard(self, message):
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            self.changed.set()

    async def call(self, tool, /, progress=None, **given):
        result = await self.client.call_tool(tool, given, progress_callback=progress)
        result = result.model_dump(by_alias=True, mode="json")
        return result | {"text": result["content"][0]["text"]}

    async def get(self, verb, *given):
        result = await getattr(self.client, verb)(*given)
        return result.model_dump(by_alias=True, mode="json")


@contextlib.asynccontextmanager
async def connected(can_be_asked=True):
    talk = Talk()
    async with contextlib.AsyncExitStack() as stack:
        if way == "stdio":
            # The shell becomes the server, so that its id is that of the server.
            line = 'echo $$ > pid; exec "$0" serve --stdio'
            parameters = StdioServerParameters(command="sh", args=["-c", line, planrun], cwd=place)
            transport = stdio_client(parameters) if is_first else parameters
        else:
            address = server.address()
            headers = {"Authorization": "Bearer " + pathlib.Path("token").read_text().strip()}
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            transport = streamable_http_client(address, http_client=http)
        elicit = talk.elicit if can_be_asked else None
        if is_first:
            streams = await stack.enter_async_context(transport)
            session = ClientSession(*streams[:2], elicitation_callback=elicit, message_handler=talk.heard)
            talk.client = await stack.enter_async_context(session)
            talk.server = await talk.client.initialize()
            assert talk.server.protocolVersion == revision
            talk.server = talk.server.serverInfo, talk.server.instructions
        else:
            client = Client(transport, elicitation_callback=elicit, message_handler=talk.heard)
            talk.client = await stack.enter_async_context(client)
            assert client.protocol_version == revision, client.protocol_version
            talk.server = client.server_info, client.instructions
        yield talk


@contextlib.asynccontextmanager
async def subscribed(talk):
    """Notes when the list of tools has changed, where that has to be asked for."""
    if is_first:
        yield
        return
    async with talk.client.listen(tools_list_changed=True) as events, anyio.create_task_group() as tasks:
        async def note():
            async for _ in events:
                talk.changed.set()
        tasks.start_soon(note)
        yield
        tasks.cancel_scope.cancel()


def headed(kind, statements):
    return f"use desk\n\nplan tidy() -> {kind} {{\n{statements}\n}}\n"


def plan(first, argument="id"):
    return headed("{ closed: int[] }", f"""step found = desk.list_open(first: {first})
step closed = each t in found.result max 10 {{
    step c = desk.close_ticket({argument}: t.id)
        undo desk.reopen_ticket(id: t.id)
    yield c.id
}}
reply {{ closed: closed }}""")


def long(first, seconds):
    return headed("{ told: string, closed: int[] }", f"""step one = desk.close_ticket(id: {first})
step told = desk.report(seconds: {seconds})
step two = desk.close_ticket(id: {first + 1})
reply {{ told: told.result, closed: [one.id, two.id] }}""")


def happened(first):
    """What was done of three tickets, in order."""
    log = pathlib.Path("effects")
    done = log.read_text().split("\n") if log.exists() else []
    return [int(effect[6:]) for effect in done if effect in [f"close {first + more}" for more in range(3)]]


def cli(*words):
    ran = subprocess.run([planrun, *words], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def run_in(result):
    return re.search(r"run (\w\S*) ", result["text"])[1]


def press(page, origin):
    headers = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
    try:
        return urllib.request.urlopen(urllib.request.Request(page, b"decision=yes", headers)).status
    except urllib.error.HTTPError as error:
        return error.code


async def until(is_so):
    with anyio.fail_after(20):
        while not is_so():
            await anyio.sleep(0.05)


async def plain(talk):
    """What a server is, search, describe, and plans that only read."""
    own, instructions = talk.server
    assert own.name == "planrun", own
    assert instructions.startswith("planrun runs plans")
    tools = (await talk.get("list_tools"))["tools"]
    assert [tool["name"] for tool in tools] == ["search", "describe", "read", "run", "runs", "save", "open_titles"]
    hints = ["".join(str(int(tool["annotations"][hint])) for hint in HINTS) for tool in tools]
    assert hints == ["1010", "1010", "1011", "0101", "1010", "0010", "1011"], hints
    assert tools[6]["outputSchema"]["required"] == ["titles"]
    found = await talk.call("search", query="close a ticket")
    assert "desk.close_ticket(id) effect  Closes a ticket.\n" in found["text"], found
    described = await talk.call("describe", names=["desk.close_ticket"])
    assert "tool desk.close_ticket(id: int)" in described["text"], described
    read = await talk.call("read", plan="step found = desk.list_open()\nreply size(found.result)")
    assert read["structuredContent"]["reply"] == 3, read
    titles = await talk.call("open_titles")
    assert titles["structuredContent"] == {"titles": ["ticket 1", "ticket 2", "ticket 3"]}


async def effects(talk):
    """A misspelt argument, the mended plan with its question, and a no."""
    refused = await talk.call("run", plan=plan(11, "ticket"))
    assert refused["isError"] and refused["text"].startswith("Nothing was called"), refused
    assert re.search(r"6:\d+ error\[unknown-argument\].*`ticket`", refused["text"]), refused
    assert happened(11) == []

    talk.person = YES, 0
    told = []

    async def progress(done, _total, message):
        told.append((done, message))
    closed = await talk.call("run", progress=progress, plan=plan(11))
    [question] = talk.asked
    assert re.match(r"May the plan \w+ \([0-9a-f]{12}\) run\?\nIt may change, at most:\n- desk\.close_ticket: 10 times \(effect\)",
                    question["message"]), question
    assert list(question["requestedSchema"]["properties"]) == ["approve", "scope"]
    assert closed["structuredContent"]["reply"] == {"closed": [11, 12, 13]}, closed
    assert json.loads(closed["text"]) == closed["structuredContent"]
    assert happened(11) == [11, 12, 13]
    assert told and all(one[0] < other[0] for one, other in zip(told, told[1:])), told
    assert any(message.startswith("closed") for _, message in told), told

    talk.person = NO, 0
    denied = await talk.call("run", plan=plan(21))
    assert denied["isError"], denied
    assert cli("runs", "answer", run_in(denied), "approval=true")[0] != 0
    assert (await talk.call("runs", id=run_in(denied)))["isError"]
    talk.person = DECLINE, 1.2
    assert (await talk.call("run", plan=plan(21)))["isError"]
    assert happened(21) == []


async def on_the_page(talk):
    """A decline that no person can have given: the run waits, and the page takes the answer, once."""
    talk.person = DECLINE, 0
    waiting = await talk.call("run", plan=plan(31))
    run = run_in(waiting)
    assert not waiting["isError"] and f"planrun runs answer {run} approval=true --resume" in waiting["text"], waiting
    page = re.search(r"http://127\.0\.0\.1:\d+/question/\w+", waiting["text"])[0]
    assert b"Yes, this run" in urllib.request.urlopen(page).read()
    own = page.partition("/question")[0]
    assert press(page, "http://evil.example") == 403
    assert happened(31) == []
    assert press(page, own) == 200
    assert (await talk.call("runs", id=run, wait_s=40))["structuredContent"]["reply"] == {"closed": [31, 32, 33]}
    assert press(page, own) == 404
    status, text = cli("runs", "answer", run, "approval=false")
    assert status == 2, text
    assert happened(31) == [31, 32, 33]


async def in_a_terminal(talk):
    """A client that asks nobody: the answer comes from a terminal."""
    waiting = await talk.call("run", plan=plan(41))
    run = run_in(waiting)
    assert f"planrun runs answer {run} approval=true --resume" in waiting["text"], waiting
    status, text = await anyio.to_thread.run_sync(cli, "runs", "answer", run, "approval=true", "--resume")
    assert status == 0, text
    assert (await talk.call("runs", id=run, wait_s=40))["structuredContent"]["reply"] == {"closed": [41, 42, 43]}
    assert happened(41) == [41, 42, 43]


async def killed(talk):
    """Ends the server between two effects."""
    talk.person = YES, 0
    async with anyio.create_task_group() as tasks:
        async def lost():
            with contextlib.suppress(Exception):
                await talk.call("run", plan=long(51, 3))
        tasks.start_soon(lost)
        await until(lambda: happened(51) == [51])
        await anyio.sleep(1.2)
        server.kill()
        # Not every client hears that its server is gone.
        await anyio.sleep(0.5)
        tasks.cancel_scope.cancel()


async def goes_on(talk):
    """Another server goes on with the run of one that was killed; a request that is taken back leaves its run."""
    latest = (await talk.call("runs"))["text"].split()[0]
    ended = await talk.call("runs", id=latest, wait_s=40)
    assert ended["structuredContent"]["reply"] == {"told": "all is well", "closed": [51, 52]}, ended
    assert happened(51) == [51, 52]

    talk.person = YES, 0
    async with anyio.create_task_group() as tasks:
        async def left():
            await talk.call("run", plan=long(61, 2))
        tasks.start_soon(left)
        await until(lambda: happened(61) == [61])
        tasks.cancel_scope.cancel()
    going = (await talk.call("runs"))["text"].split()[0]
    ended = await talk.call("runs", id=going, wait_s=40)
    assert ended["structuredContent"]["reply"] == {"told": "all is well", "closed": [61, 62]}, ended


async def saved(talk):
    """A saved plan is a tool at once."""
    text = """use desk

/// Closes three tickets.
plan close_three(first: int) -> { closed: int[] } {
    step found = desk.list_open(first: first)
    step closed = each t in found.result max 3 {
        step c = desk.close_ticket(id: t.id)
        yield c.id
    }
    reply { closed: closed }
}
"""
    async with subscribed(talk):
        kept = await talk.call("save", name="close_three", plan=text)
        assert not kept["isError"], kept
        with anyio.fail_after(20):
            await talk.changed.wait()
    tools = (await talk.get("list_tools"))["tools"]
    assert [tool["name"] for tool in tools][6:] == ["close_three", "open_titles"]
    assert (await talk.call("close_three", first=71))["structuredContent"] == {"closed": [71, 72, 73]}
    assert happened(71) == [71, 72, 73]


async def resources(talk):
    """Pages of the language, and journals of runs."""
    listed = (await talk.get("list_resources"))["resources"]
    assert len(listed) > 3 and all(one["uri"].startswith("planrun://language/") for one in listed)
    [page] = (await talk.get("read_resource", listed[0]["uri"]))["contents"]
    assert page["mimeType"] == "text/markdown" and len(page["text"]) > 100
    run = (await talk.call("runs"))["text"].split()[0]
    [journal] = (await talk.get("read_resource", f"planrun://runs/{run}"))["contents"]
    assert len([json.loads(line) for line in journal["text"].splitlines()]) > 5


async def main():
    async with connected() as talk:
        await plain(talk)
        await effects(talk)
        await on_the_page(talk)
    async with connected(can_be_asked=False) as talk:
        await in_a_terminal(talk)
    with contextlib.suppress(Exception):
        # A connection whose server is dead does not end well.
        async with connected() as talk:
            await killed(talk)
    assert happened(51) == [51], "the server was killed too late"
    async with connected() as talk:
        await goes_on(talk)
        await saved(talk)
        await resources(talk)


try:
    anyio.run(main)
finally:
    server.kill() if server.process else None
