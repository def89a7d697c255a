# What the scripts of this folder begin with; each says `source "$(dirname "$0")/surroundings.sh" NAME`. Gives `root`, the top of the
# repository, and `peers`, a folder that stays between runs and is NAME's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
peers=$root/target/peers/$1
mkdir -p "$peers"

# Ends the script where a program is missing: `needs PROGRAM WHAT`. Nothing is counted then, and that is said.
needs() {
    local try=(command -v "$1")
    [ "$1" != python3 ] || try=(python3 -m venv --help)
    if ! "${try[@]}" > /dev/null 2>&1; then
        echo "left out: $2, since there is no $1 that can be used"
        exit 0
    fi
}

# Leaves the folder `$peers/$1` ready for the given list of versions, once: `prepared FOLDER LIST COMMAND…`. Another list is prepared anew.
prepared() {
    local folder=$peers/$1 wanted=$2
    shift 2
    if [ "$(cat "$folder/ready" 2> /dev/null)" != "$wanted" ]; then
        mkdir -p "$folder"
        "$@" "$folder" $wanted
        echo "$wanted" > "$folder/ready"
    fi
}

# Packages from PyPI in a virtual environment: `python_packages FOLDER PACKAGE…`.
python_packages() {
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

# Packages from npm: `npm_packages FOLDER PACKAGE…`.
npm_packages() {
    npm install --silent --no-audit --no-fund --prefix "$@"
}

# Builds planrun, and goes into a folder that is gone in the end, with what `started` has been told of.
begin() {
    cargo build --quiet --locked
    planrun=$root/target/debug/planrun
    place=$(mktemp -d)
    trap finish EXIT
    cd "$place"
}

processes=()
# Notes the process that was started last, and gives its id as `started`.
note() {
    started=$!
    processes+=("$started")
}

finish() {
    # Only what was started here.
    local process
    for process in "${processes[@]}"; do
        kill "$process" 2> /dev/null || true
    done
    rm -rf "$place"
}

# A port of the system's choice, free a moment ago.
free_port() {
    if command -v python3 > /dev/null; then
        python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
    else
        node -e 's = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'
    fi
}

# Waits at most 20 s until a command succeeds.
until_ready() {
    local _
    for _ in $(seq 200); do
        ! "$@" 2> /dev/null || return 0
        sleep 0.1
    done
    echo "not ready after 20 s: $*"
    return 1
}
