#!/usr/bin/env bash
# Calls `planrun mock model` with the official clients of the model APIs: they receive the scripted answers, streamed and
# whole, and report the scripted failures. Needs node, npm and a package registry; takes no arguments. If node or npm is
# missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" models

needs node "clients of models from npm"
needs npm "clients of models from npm"

# Pinned, so that an update is a change to this file.
prepared clients "openai@7.57.0 @anthropic-ai/sdk@1.12.0" npm_packages
begin

"$planrun" mock model --script "$root/tests/peers/models/script.yaml" --bind 127.0.0.1:0 --log requests > address 2> told &
note
until_ready grep -q http address
node "$root/tests/peers/models/clients.mjs" "$(cat address)" "$peers/clients"
! grep -q sk-peer requests || { echo "the log has the key"; exit 1; }
