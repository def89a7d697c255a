"""The twelve scenarios: runs each with one of the rivals, and says from the effect log of the desk what has happened.

`scenarios.py RIVAL COMMAND…` runs them all and prints a line of JSON for each: what was told, and what the log says. The command is
called with the path of a program without its ending, once for each scenario, and prints one JSON object: `outcome` (`value`, `error`, `asks`,
`stuck`, `lost`, or `none` where the rival has no such thing), `said` (what a model is told), `asked` (how often a person was asked) and `ms`. `RIVALS_GATE` has
it ask a person before a ticket is closed: where it can (`may`), or else there is nothing to run (`must`). `RIVALS_RESUME` has it go on with what was
killed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
# Row, program, whether a person is asked, how the desk misbehaves.
SCENARIOS = [
    ("six", "six", "", {}),
    ("reads", "reads", "", {}),
    ("refused", "refused", "may", {"DESK_REFUSE": "3"}),
    ("misspelt", "misspelt", "may", {}),
    ("unknown", "unknown", "may", {}),
    ("approvals", "six", "must", {}),
    ("caught", "caught", "must", {"DESK_REFUSE": "3"}),
    ("parallel", "parallel", "must", {"DESK_JITTER": "1"}),
    ("clock", "clock", "must", {}),
    ("killed", "killed", "", {"DESK_HANG": "2"}),
    ("history", "history", "", {}),
    ("photo", "photo", "", {}),
]
# A race may go well once.
TIMES = {"parallel": 3}
PATIENCE = 100


class World:
    """A desk that nobody has used yet, and where a rival keeps what it keeps."""

    def __init__(self, place, gate, knobs):
        self.place = pathlib.Path(place)
        self.log = self.place / "effects"
        self.times = self.place / "times"
        places = {"DESK_LOG": str(self.log), "DESK_TIMES": str(self.times), "RIVALS_STATE": str(self.place)}
        self.environment = {**os.environ, **knobs, **places}
        if gate:
            self.environment["RIVALS_GATE"] = gate

    def begin(self, command, program, **more):
        return subprocess.Popen(
            [*command, str(HERE / "programs" / program)],
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=open(self.place / "stdout", "wb"),
            stderr=open(self.place / "stderr", "ab"),
            start_new_session=True,
        )

    def end(self, process):
        """The object that a rival prints, or how it has ended without one."""
        until = time.monotonic() + PATIENCE
        while (found := self.printed()) is None and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        found = found or self.printed()
        # A rival that does not end by itself, or leaves something behind, has said all the same what it found.
        ended = process.poll()
        kill_session(process.pid)
        process.wait()
        if found is None and ended is None:
            return {"outcome": "error", "said": f"nothing for {PATIENCE} s"}
        if found is None:
            tail = (self.place / "stderr").read_text(errors="replace").strip().splitlines()[-3:]
            raise SystemExit(f"{process.args} printed no result and ended with {ended}: {tail}")
        return found

    def printed(self):
        last = (self.place / "stdout").read_text(errors="replace").rpartition("\n")[0].rpartition("\n")[2]
        try:
            return json.loads(last) if last.startswith("{") else None
        except ValueError:
            return None

    def effects(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


def kill_session(leader):
    """Ends what a program has started, in whatever process groups it is: at once, as a crash of the machine does."""
    listed = subprocess.run(["ps", "-o", "pid=", "-s", str(leader)], capture_output=True, text=True, check=False).stdout
    for process in listed.split():
        try:
            os.kill(int(process), 9)
        except ProcessLookupError:
            pass


def kill_in_a_close(world, command, program):
    process = world.begin(command, program)
    until = time.monotonic() + PATIENCE
    while "close 2" not in world.effects():
        if process.poll() is not None or time.monotonic() > until:
            return world.end(process)
        time.sleep(0.02)
    kill_session(process.pid)
    process.wait()
    world.environment.pop("DESK_HANG")
    return world.end(world.begin(command, program, RIVALS_RESUME="1"))


def play(command, program, gate, knobs):
    with tempfile.TemporaryDirectory() as place:
        world = World(place, gate, knobs)
        if "DESK_HANG" in knobs:
            found = kill_in_a_close(world, command, program)
        else:
            found = world.end(world.begin(command, program))
        effects = world.effects()
        reopened = sum(line.startswith("reopen ") for line in effects)
        closed = sum(line.startswith("close ") for line in effects)
        moments = [float(line) for line in world.times.read_text().split()] if world.times.exists() else []
        seen = {"calls": len(moments), "span_ms": (moments[-1] - moments[0]) * 1000 if moments else 0}
        return found | seen | {"effects": effects, "closed": closed, "stays": closed - reopened}


def main():
    rival, *command = sys.argv[1:]
    if not shutil.which("ps"):
        raise SystemExit("there is no `ps`, by which the processes of a scenario are found")
    for row, program, gate, knobs in SCENARIOS:
        for _ in range(TIMES.get(row, 1)):
            print(json.dumps({"rival": rival, "row": row} | play(command, program, gate, knobs)), flush=True)


if __name__ == "__main__":
    main()
