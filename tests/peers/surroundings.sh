# Setup and helper functions of the scripts in this folder, which begin with
# `source "$(dirname "$0")/surroundings.sh" NAME`. Sets `root`, the root of the repository, and `peers`, a folder for NAME
# that is kept between runs, and `built`, the folder of what cargo builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
peers=$root/target/peers/$1
built=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$peers"

# `needs PROGRAM WHAT`: if the program is missing, reports that WHAT is left out and exits with success.
needs() {
    local try=(command -v "$1")
    [ "$1" != python3 ] || try=(python3 -m venv --help)
    if ! "${try[@]}" > /dev/null 2>&1; then
        echo "left out: $2, since there is no $1 that can be used"
        exit 0
    fi
}

# `prepared FOLDER LIST COMMAND…`: runs the command with `$peers/FOLDER` and a list of versions as arguments, unless the
# folder has been prepared with the same list.
prepared() {
    local folder=$peers/$1 wanted=$2
    shift 2
    if [ "$(cat "$folder/ready" 2> /dev/null)" != "$wanted" ]; then
        mkdir -p "$folder"
        "$@" "$folder" $wanted
        echo "$wanted" > "$folder/ready"
    fi
}

# `python_packages FOLDER PACKAGE…`: installs packages from PyPI in a virtual environment.
python_packages() {
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

# `npm_packages FOLDER PACKAGE…`: installs packages from npm.
npm_packages() {
    npm install --silent --no-audit --no-fund --prefix "$@"
}

# Builds planrun and enters a temporary folder. At exit, the folder is removed and the processes of `note` are stopped.
begin() {
    cargo build --quiet --locked
    planrun=$built/debug/planrun
    place=$(mktemp -d)
    trap finish EXIT
    cd "$place"
}

processes=()
# Records the last background process, to be stopped at exit, and sets `started` to its id.
note() {
    started=$!
    processes+=("$started")
}

finish() {
    # Only processes that the script has started.
    local process
    for process in "${processes[@]}"; do
        kill "$process" 2> /dev/null || true
    done
    rm -rf "$place"
}

# Prints a port that the system has just reported as free.
free_port() {
    if command -v python3 > /dev/null; then
        python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
    else
        node -e 's = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'
    fi
}

# `until_ready COMMAND…`: retries the command until it succeeds, for at most 20 s.
until_ready() {
    local _
    for _ in $(seq 200); do
        ! "$@" 2> /dev/null || return 0
        sleep 0.1
    done
    echo "not ready after 20 s: $*"
    return 1
}
