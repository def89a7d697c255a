#!/usr/bin/env bash
# Runs the twelve scenarios with planrun and with each rival that can be installed, and writes the results to the tables
# of docs/rivals.md. A rival that cannot be installed is left out, and the page states that. Needs python3, ps, npm and
# the registries of PyPI, npm and crates; takes no arguments. The packages are third-party programs that run with the
# rights of the caller. RIVALS_PLANRUN names an existing planrun to use instead of a release build, and RIVALS_BUILD
# describes its build for the page.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
here=$root/tests/rivals

. tests/rivals/desk.sh
found=$rivals/found.jsonl
: > "$found"

# Pinned, so that an update is a change to this file.
node=node@22.23.3
fastmcp=fastmcp[code-mode]==4.1.2
utcp=(@utcp/code-mode@1.2.12 @utcp/sdk@1.1.2 @utcp/mcp@1.1.3)
cloudflare=(@cloudflare/codemode@0.5.6 miniflare@4.20260730.0 esbuild@0.28.2)

# install FOLDER WHAT COMMAND…: runs the command, unless it has been run with the same list of versions.
install() {
    local folder=$rivals/$1 what=$2
    shift 2
    if [ "$(cat "$folder/ready" 2> /dev/null)" != "$what" ]; then
        mkdir -p "$folder"
        "$@" > "$folder/log" 2>&1 || return 1
        echo "$what" > "$folder/ready"
    fi
}
npm_install() {
    local folder=$1
    shift
    install "$folder" "$*" env PATH="$rivals/node/node_modules/.bin:$PATH" \
        npm install --silent --no-audit --no-fund --prefix "$rivals/$folder" "$@"
}
pip_install() {
    install "$1" "$2" sh -c 'python3 -m venv "$1" && "$1/bin/pip" install --quiet --disable-pip-version-check "$2"' - "$rivals/$1" "$2"
}
# play NAME VERSIONS COMMAND…: runs the scenarios and appends the versions and the results to the file.
play() {
    local name=$1 versions=$2
    shift 2
    echo "{\"rival\": \"$name\", \"versions\": \"$versions\"}" >> "$found"
    "$python" "$here/scenarios.py" "$name" "$@" >> "$found"
    echo "$name: $versions"
}
leave_out() {
    echo "{\"rival\": \"$1\", \"left_out\": \"$2\"}" >> "$found"
    echo "left out: $1, $2"
}

if [ -z "${RIVALS_PLANRUN:-}" ]; then
    cargo build --quiet --release --locked
    export RIVALS_PLANRUN=${CARGO_TARGET_DIR:-$root/target}/release/planrun
fi
play direct "mcp 2.3.0, one call after the other" "$python" "$here/by_direct.py"
play planrun "$("$RIVALS_PLANRUN" --version | cut -d ' ' -f 2)${RIVALS_BUILD:+, $RIVALS_BUILD}" "$python" "$here/by_planrun.py"

if npm_install node "$node"; then
    node_program=$rivals/node/node_modules/.bin/node
    if npm_install utcp "${utcp[@]}"; then
        RIVALS_PACKAGES=$rivals/utcp play UTCP "${utcp[*]}" "$node_program" --no-node-snapshot "$here/by_utcp.mjs"
    else
        leave_out UTCP "npm could not install ${utcp[*]}"
    fi
    if npm_install cloudflare "${cloudflare[@]}"; then
        RIVALS_PACKAGES=$rivals/cloudflare play Cloudflare "${cloudflare[*]}" "$node_program" "$here/by_cloudflare.mjs"
    else
        leave_out Cloudflare "npm could not install ${cloudflare[*]}"
    fi
else
    leave_out UTCP "npm could not install $node"
    leave_out Cloudflare "npm could not install $node"
fi
if pip_install fastmcp "$fastmcp"; then
    play FastMCP "$fastmcp" "$rivals/fastmcp/bin/python" "$here/by_fastmcp.py"
else
    leave_out FastMCP "pip could not install $fastmcp"
fi
if CARGO_TARGET_DIR=$rivals/incurs cargo build --quiet --release --locked --manifest-path "$here/incurs/Cargo.toml"; then
    play incurs "incurs 0.14.0, incurs-codemode 0.12.1, incurs-codemode-local 0.13.0" "$rivals/incurs/release/planrun-rivals-incurs"
else
    leave_out incurs "cargo could not build it"
fi
"$python" "$here/page.py" "$root/docs/rivals.md" < "$found"
