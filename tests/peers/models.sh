#!/usr/bin/env bash
# The official clients of the APIs of models ask `planrun mock model`: what they read, streamed and whole, is what its script says, and
# its failures are theirs. Needs node and npm; takes no arguments. Without them it says so, and nothing is counted.
source "$(dirname "$0")/surroundings.sh" models

needs node "clients of models from npm"
needs npm "clients of models from npm"

# Pinned, so that a new release of a client is a change of this file.
prepared clients "openai@7.57.0 @anthropic-ai/sdk@1.12.0" npm_packages
begin

"$planrun" mock model --script "$root/tests/peers/models/script.yaml" --bind 127.0.0.1:0 --log requests > address 2> told &
note
until_ready grep -q http address
node "$root/tests/peers/models/clients.mjs" "$(cat address)" "$peers/clients"
! grep -q sk-peer requests || { echo "the log has the key"; exit 1; }
