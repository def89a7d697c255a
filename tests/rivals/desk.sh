# Read by the scripts beside it: the Python that the desk runs with, made where it is not there, and what starts the desk. Needs `$root`.

rivals=$root/target/peers/rivals
# Pinned, so that a new release is a change of this file.
desk_sdk=mcp==2.3.0
if [ "$(cat "$rivals/desk/ready" 2> /dev/null)" != "$desk_sdk" ]; then
    python3 -m venv "$rivals/desk"
    "$rivals/desk/bin/pip" install --quiet --disable-pip-version-check "$desk_sdk"
    echo "$desk_sdk" > "$rivals/desk/ready"
fi
python=$rivals/desk/bin/python
RIVALS_DESK="[\"$python\", \"$root/tests/rivals/desk.py\"]"
export RIVALS_DESK
