"""Writes the tables of a page from the results of `scenarios.py`: `page.py PAGE < FOUND`. The same result has the same wording in every column."""

import datetime
import json
import os
import pathlib
import platform
import sys

COLUMNS = ["direct", "UTCP", "FastMCP", "Cloudflare", "incurs", "planrun"]


def excerpt(text, most=140):
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1] + "…"
    return "`" + line.replace("`", "'").replace("|", "\\|") + "`"


def times(count):
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def closed(one):
    if not one["effects"]:
        return "**no ticket was touched**"
    if one["closed"] and not one["stays"]:
        return f"{one['closed']} closed and opened again"
    return f"{one['stays']} closed"


def told(one):
    return "**success**" if one["outcome"] == "value" else "error"


def six(one):
    return f"{one['ms']:.0f} ms, {one['span_ms']:.0f} of it from the first call to the last"


def reads(one):
    each = f"{one['span_ms'] / max(one['calls'] - 1, 1):.1f} ms"
    return each if one["calls"] == 200 else f"{each}; {told(one)} after {one['calls']}: {excerpt(one['said'])}"


def failed(one):
    said = f"{told(one)} {excerpt(one['said'])}; {closed(one)}"
    return said + (f"; a person was asked {times(one['asked'])}" if one.get("asked") else "")


def approvals(one):
    return f"{one['asked']}" if one["closed"] == 6 else failed(one)


def caught(one):
    sent = one["effects"].count("ask 3")
    ending = "ok" if one["outcome"] == "value" else told(one)
    return f"{ending}; the refused close was sent {times(sent) if sent == 1 else f'**{times(sent)}**'}"


def gate(one):
    if one["outcome"] == "value":
        return "ok"
    return f"asked, then error {excerpt(one['said'])}; {closed(one)}"


def parallel(ones):
    well = sum(one["outcome"] == "value" and one["closed"] == 1 for one in ones)
    worst = next((one for one in ones if one["outcome"] != "value"), None)
    return f"{well} of {len(ones)} ok" + (f"; {gate(worst)}" if worst else "")


def killed(one):
    second = one["effects"].count("close 2")
    ending = {
        "lost": "lost: no record of it is kept",
        "stuck": f"stuck: {excerpt(one['said'])}",
        "asks": "asks whether it happened, resumes after the answer",
        "value": "resumes by itself",
    }[one["outcome"]]
    finished = "" if "close 3" in one["effects"] else "; the third never"
    return f"{ending}; the second closed {times(second) if second == 1 else f'**{times(second)}**'}{finished}"


def history(one):
    if one["outcome"] != "value":
        return f"error {excerpt(one['said'])}"
    return f"{one.get('characters', len(one['said'])):,} characters"


def photo(one):
    if one["outcome"] != "value":
        return f"error {excerpt(one['said'])}"
    if one.get("images"):
        return "the text, and the image as an image"
    try:
        json.loads(one["said"])
    except ValueError:
        return "the image as text that is not JSON"
    return "the image as base64 in JSON"


ROWS = [
    ("six", "list, then read and close six tickets", six),
    ("reads", "time per call, over 200 sequential reads", reads),
    ("refused", "the third of four closes is refused", failed),
    ("misspelt", "a misspelt argument after a close", failed),
    ("unknown", "an unknown tool after a close", failed),
    ("approvals", "approvals for six closes", approvals),
    ("caught", "a refusal that the program catches, then an approval", caught),
    ("parallel", "parallel reads with delayed answers, then an approval", parallel),
    ("clock", "the current time in an argument that needs approval", gate),
    ("killed", "`kill -9` during the second of three closes", killed),
    ("history", "a reply of 1.1 MB of text", history),
    ("photo", "a reply of a text and an image", photo),
]


def cell(row, render, ones):
    if not ones or ones[0]["outcome"] == "none":
        return "–"
    return render(ones) if row == "parallel" else render(ones[0])


def tables(found):
    lines = ["| | " + " | ".join(COLUMNS) + " |", "| --- |" + " --- |" * len(COLUMNS)]
    for row, title, render in ROWS:
        of = {name: [one for one in found if one["rival"] == name and one.get("row") == row] for name in COLUMNS}
        lines.append(f"| {title} | " + " | ".join(cell(row, render, of[name]) for name in COLUMNS) + " |")
    lines += ["", f"Measured on {datetime.date.today()}, on {os.cpu_count()} cores, {platform.system()}, under other load:", ""]
    for one in found:
        if "versions" in one:
            lines.append(f"- {one['rival']}: {one['versions']}")
        elif "left_out" in one:
            lines.append(f"- {one['rival']} is left out: {one['left_out']}")
    return "\n".join(lines)


def main():
    page = pathlib.Path(sys.argv[1])
    found = [json.loads(line) for line in sys.stdin]
    before, begin, rest = page.read_text().partition("<!-- found -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not begin or not end:
        raise SystemExit(f"{page} has no place for the tables")
    page.write_text(before + begin + "\n" + tables(found) + "\n\n" + end + after)


main()
