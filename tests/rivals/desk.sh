# Sourced by the other scripts of this folder: prepares the virtual environment of the ticket server once, and sets
# `python` and RIVALS_DESK, the command that starts the server. Needs `$root`.

rivals=$root/target/peers/rivals
# Pinned, so that an update is a change to this file.
desk_sdk=mcp==2.3.0
if [ "$(cat "$rivals/desk/ready" 2> /dev/null)" != "$desk_sdk" ]; then
    python3 -m venv "$rivals/desk"
    "$rivals/desk/bin/pip" install --quiet --disable-pip-version-check "$desk_sdk"
    echo "$desk_sdk" > "$rivals/desk/ready"
fi
python=$rivals/desk/bin/python
RIVALS_DESK="[\"$python\", \"$root/tests/rivals/desk.py\"]"
export RIVALS_DESK
