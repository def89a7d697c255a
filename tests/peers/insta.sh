#!/usr/bin/env bash
# Reviews the snapshots of plans with `cargo insta`: it finds, displays, accepts and rejects pending ones. Needs cargo,
# python3 and a package registry; takes no arguments.
source "$(dirname "$0")/surroundings.sh" insta

# Pinned, so that an update is a change to this file. The library `insta` is pinned by Cargo.lock.
version=1.49.0

insta=$peers/bin/cargo-insta
if ! [ -e "$peers/ready-$version" ]; then
    CARGO_TARGET_DIR=$peers/build cargo install --quiet --debug --locked --force --root "$peers" \
        --version "$version" cargo-insta
    rm -rf "$peers/build"
    touch "$peers/ready-$version"
fi

place=$(mktemp -d)
waited=$(mktemp -d)
trap 'rm -rf "$place" "$waited"' EXIT
mkdir "$place/src"
printf '[package]\nname = "around"\nversion = "0.0.0"\nedition = "2024"\n' > "$place/Cargo.toml"
: > "$place/src/lib.rs"
stored=$place/plans/snapshots

# Writes nine snapshots and nine pending ones that differ from them.
leave() {
    PLANRUN_INSTA_FOLDER=$place cargo test --quiet --locked --test it insta_files::leaves_snapshots_for_review \
        -- --exact --ignored > "$place/log" 2>&1 || { cat "$place/log"; exit 1; }
}
count() { find "$stored" -name "*.$1" | wc -l; }
expect() { [ "$2" = "$3" ] || { echo "$1: $2 instead of $3"; exit 1; }; }
# Runs in the folder of the package, where `cargo` finds it.
at_place() { (cd "$place" && env -u CI -u INSTA_UPDATE "$insta" "$@"); }

leave
expect 'waiting' "$(count snap.new)" 9
before=$(cat "$stored"/*.snap | cksum)
found=$(at_place pending-snapshots --as-json | grep -c '"file_snapshot"' || true)
expect 'found by cargo insta' "$found" 9

at_place reject > /dev/null 2>&1
expect 'waiting after reject' "$(count snap.new)" 0
[ "$(cat "$stored"/*.snap | cksum)" = "$before" ] || { echo 'rejecting changed a snapshot'; exit 1; }

# At a terminal, accepts one, rejects one, skips one and accepts the rest.
leave
expect 'waiting again' "$(count snap.new)" 9
cp "$stored"/*.snap.new "$waited/"
python3 - "$insta" "$place" > "$place/log" <<'PYTHON' || { cat "$place/log"; exit 1; }
import os, pty, signal, sys

insta, place = sys.argv[1:]
# Ends the script if the review asks an unexpected question.
signal.alarm(60)
child, terminal = pty.fork()
if child == 0:
    os.chdir(place)
    os.environ.pop("CI", None)
    os.execv(insta, [insta, "review"])
shown = b""
for number, key in enumerate(b"arsaaaaaa", 1):
    # A key that is pressed before the question is displayed would be dropped.
    while shown.count(b"keep both") < number:
        shown += os.read(terminal, 65536)
    os.write(terminal, bytes([key]))
try:
    while part := os.read(terminal, 65536):
        shown += part
except OSError:
    pass  # Reading the terminal fails once the program has exited.
print(shown.decode("utf-8", "replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
expect 'waiting after review' "$(count snap.new)" 1
rm "$stored"/*.snap.new
# The accepted snapshots equal the pending ones byte for byte, except for the line that insta removes.
same=0
for one in "$waited"/*.snap.new; do
    if cmp -s <(grep -av '^assertion_line: ' "$one") "$stored/$(basename "$one" .new)"; then same=$((same + 1)); fi
done
expect 'accepted byte for byte' "$same" 7

leave
at_place accept > /dev/null 2>&1
expect 'waiting after accept' "$(count snap.new)" 0
expect 'accepted' "$(grep -lx 'z' "$stored"/*.snap | wc -l)" 9
echo "cargo insta $version finds, shows, accepts and rejects what planrun leaves"
