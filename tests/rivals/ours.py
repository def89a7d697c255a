"""Reads what `scenarios.py` has found of planrun, and fails where a behaviour is lost. The effect log is the judge."""

import json
import sys

TICKETS = range(1, 7)
ALL_SIX = [line for number in TICKETS for line in (f"ask {number}", f"close {number}")]


def six(found):
    assert found["outcome"] == "value", found
    assert found["effects"] == ALL_SIX, found
    assert json.loads(found["said"])["reply"] == ["closed"] * 6, found


def approvals(found):
    six(found)
    assert found["asked"] == 1, found
    assert "desk.close_ticket: 6 times (effect), id from desk.read_ticket" in found["questions"][0], found


def reads(found):
    assert (found["outcome"], found["calls"], found["asked"]) == ("value", 200, 0), found


def refused(found):
    assert found["outcome"] == "error" and "failed at done[2].closed" in found["said"] and "ticket 3 is locked" in found["said"], found
    assert found["effects"] == ["ask 1", "close 1", "ask 2", "close 2", "ask 3", "reopen 2", "reopen 1"], found
    assert "undone: done[0].closed, done[1].closed" in found["said"] and "stays: nothing" in found["said"], found
    assert found["asked"] == 1 and "undone by desk.reopen_ticket if the plan fails" in found["questions"][0], found


def nothing_ran(found, *words):
    assert found["outcome"] == "error" and found["said"].startswith("Nothing was called."), found
    assert all(word in found["said"] for word in words), found
    assert (found["effects"], found["calls"], found["asked"]) == ([], 0, 0), found


def misspelt(found):
    nothing_ran(found, "5:34 error[unknown-argument]", "named `ib`", "fix: write `id`")


def unknown(found):
    nothing_ran(found, "5:21 error[unknown-tool]", "named `shut_ticket`", "available close_ticket")


def caught(found):
    assert found["outcome"] == "value" and found["asked"] == 2, found
    assert found["effects"] == ["ask 3", "ask 2", "close 2"], found


def parallel(found):
    assert found["outcome"] == "value" and found["asked"] == 2, found
    assert (found["effects"], found["calls"]) == (["ask 2", "close 2"], 13), found


def clock(found):
    assert found["outcome"] == "value" and found["asked"] == 2, found
    asked, closed = found["effects"]
    assert asked.startswith("ask 2 at 2") and closed == "close 2", found


def killed(found):
    assert found["outcome"] == "asks" and "Did `two` happen?" in found["said"], found
    assert found["then"] == "value", found
    assert found["effects"] == ALL_SIX[:6], found


def history(found):
    assert found["outcome"] == "value" and found["characters"] < 20_000, found["characters"]
    [cut] = json.loads(found["said"])["cut"]
    assert cut["of"] == 1_080_000 and 0 < cut["from"] < cut["kept"], cut


def photo(found):
    assert found["outcome"] == "value", found
    said = json.loads(found["said"])["reply"]
    assert said["text"] == "a desk with a burning printer", found
    kinds = [(part["kind"], part.get("mime")) for part in said["parts"]]
    assert kinds == [("text", None), ("image", "image/png")] and found["images"] == 1, found


def main():
    expected = [six, reads, refused, misspelt, unknown, approvals, caught, parallel, parallel, parallel, clock, killed, history, photo]
    found = [json.loads(line) for line in sys.stdin]
    assert [one["row"] for one in found] == [one.__name__ for one in expected], [one["row"] for one in found]
    for check, one in zip(expected, found, strict=True):
        check(one)
        speed = f", {one['span_ms'] / (one['calls'] - 1):.1f} ms a call" if one["row"] == "reads" else ""
        print(f"{one['row']}: as it should be{speed}")


main()
