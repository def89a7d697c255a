"""A client of the Model Context Protocol in plain JSON lines: a request at a time, and an answer to what is asked meanwhile."""

import json
import subprocess

REVISION = "2025-11-25"


class Failed(Exception):
    """The server ended, or answered with an error of the protocol."""


class Client:
    """A server as a program. `answer` says what becomes of a question: a value of the protocol's `ElicitResult`."""

    def __init__(self, command, folder=None, answer=None):
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer = answer
        self.questions = []
        self.number = 0
        elicitation = {"elicitation": {"form": {}}} if answer else {}
        self.request("initialize", protocolVersion=REVISION, capabilities=elicitation, clientInfo={"name": "rivals", "version": "1"})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("the server has ended") from error

    def begin(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})

    def request(self, method, **params):
        self.begin(method, **params)
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.questions.append(message["params"]["message"])
                self.send({"id": message["id"], "result": self.answer(message["params"])})
            elif message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise Failed(message["error"]["message"])
                return message["result"]
        raise Failed("the server has ended")

    def tool(self, name, **arguments):
        return self.request("tools/call", name=name, arguments=arguments)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def text(result):
    """All texts of a result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
