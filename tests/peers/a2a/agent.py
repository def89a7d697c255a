"""An agent made with the A2A SDK, twice: at /rpc over JSON-RPC with streams, at /rest over HTTP+JSON without. Takes the port on
which it listens, and the file in which it writes what it is told and what is cancelled."""

import asyncio
import pathlib
import sys

import uvicorn
from a2a.helpers.proto_helpers import (
    new_data_part, new_raw_part, new_task_from_user_message, new_text_message, new_text_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

port, log = int(sys.argv[1]), pathlib.Path(sys.argv[2])


def note(line):
    with log.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


class Executor(AgentExecutor):
    async def execute(self, context, queue):
        skill = dict(context.message.metadata).get("skillId", "send")
        text = context.get_user_input()
        note(f"told {skill} {text}")
        if skill == "send":
            await queue.enqueue_event(new_text_message(text.upper()))
            return
        if context.current_task is None:
            await queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(queue, context.task_id, context.context_id)
        await task.start_work(task.new_agent_message([new_text_part("thinking")]))
        if skill == "draft":
            for word, append in (("Dear ", False), (text, True)):
                await task.add_artifact([new_text_part(word)], artifact_id="letter", append=append)
            await task.complete()
        elif skill == "count":
            await task.add_artifact([new_data_part({"words": len(text.split()), "text": text})])
            await task.complete()
        elif skill == "file":
            raw = next(part.raw for part in context.message.parts if part.raw)
            await task.add_artifact([new_raw_part(raw[::-1], media_type="x/y", filename="back.bin")])
            await task.complete()
        elif skill == "paint" and context.current_task is None:
            await task.requires_input(task.new_agent_message([new_text_part("Which colour?")]))
        elif skill == "paint":
            await task.complete(task.new_agent_message([new_text_part(f"painted {text}")]))
        elif skill == "refuse":
            await task.failed(task.new_agent_message([new_text_part("out of paint")]))
        elif skill == "slow":
            for _ in range(300):
                await asyncio.sleep(0.1)
                if log.with_suffix(".go").exists():
                    break
            await task.add_artifact([new_text_part("at last")])
            await task.complete()

    async def cancel(self, context, queue):
        note("cancelled")
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def card(path, binding, streaming):
    names = ["count", "draft", "file", "paint", "refuse", "slow"]
    skills = [AgentSkill(id=name, name=name, description=f"Does {name}.", tags=["paint"]) for name in names]
    url = f"http://127.0.0.1:{port}{path}"
    return AgentCard(
        name="painter", version="1.0.0", description="Paints.", skills=skills,
        supported_interfaces=[AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"])


routes = []
for path, binding, streaming in (("/rpc", "JSONRPC", True), ("/rest", "HTTP+JSON", False)):
    own = card(path, binding, streaming)
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore(), agent_card=own)
    routes += create_agent_card_routes(own, card_url=f"{path}/.well-known/agent-card.json")
    if binding == "JSONRPC":
        routes += create_jsonrpc_routes(handler, rpc_url=path)
    else:
        routes += create_rest_routes(handler, path_prefix=path)
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")
