#!/usr/bin/env bash
# Runs plans against the reference servers of the Model Context Protocol, over standard input and output and over HTTP.
# Needs node, npm and a package registry; takes no arguments. If npm is missing, reports that and skips everything.
source "$(dirname "$0")/surroundings.sh" mcp

needs npm "servers of MCP from npm"

# Pinned, so that an update is a change to this file.
servers=(
    @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31
    @modelcontextprotocol/server-memory@2026.8.31
)
prepared . "${servers[*]}" npm_packages
bin=$peers/node_modules/.bin
begin

port=$(free_port)
PORT=$port "$bin/mcp-server-everything" streamableHttp > server.log 2>&1 &
note
until_ready grep -q "listening on port" server.log

cat > planrun.yaml <<YAML
tools:
  everything: { mcp: { command: ["$bin/mcp-server-everything"] } }
  remote: { mcp: { url: "http://127.0.0.1:$port/mcp" } }
  memory: { mcp: { command: ["$bin/mcp-server-memory"], env: { MEMORY_FILE_PATH: "$place/memory.jsonl" } } }
mcp: [.mcp.json]
YAML
cat > .mcp.json <<JSON
{ "mcpServers": { "files": { "command": "$bin/mcp-server-filesystem", "args": ["$place"] } } }
JSON
cat > servers.plan <<PLAN
use everything, files, memory, remote

plan servers(name: string) -> any {
    step sum = everything.\`get-sum\`(a: 3, b: 4)
    step far = remote.\`get-sum\`(a: 3, b: 4)
    step weather = everything.\`get-structured-content\`(location: "Chicago")
    step picture = remote.\`get-tiny-image\`()
    step linked = everything.\`get-resource-links\`(count: 2)
    step embedded = remote.\`get-resource-reference\`(resourceType: "Text", resourceId: 1)
    step long = remote.\`trigger-long-running-operation\`(duration: 1, steps: 4)
    step saved = memory.create_entities(entities: [{ name: name, entityType: "person", observations: ["likes plans"] }])
    step found = memory.search_nodes(query: name)
    step written = files.write_file(path: "$place/note.txt", content: "你好")
    step read = files.read_text_file(path: "$place/note.txt")
    reply {
        sum: [sum, far],
        weather: weather.temperature,
        picture: picture.parts.map(p, p.kind),
        links: linked.parts.map(p, p.kind),
        embedded: embedded.parts.map(p, p.kind),
        found: found.entities.map(e, e.name),
        read: read.content,
    }
}
PLAN

cp "$root/tests/peers/mcp/remember.plan" .

"$planrun" tools lock --accept all > locked
"$planrun" tools lock --check > checked
"$planrun" check servers.plan > findings || { cat findings; exit 1; }
"$planrun" run servers.plan -i name=Ada --format json > ran 2> warned || { cat ran; exit 1; }
# The example of docs/mcp.md.
"$planrun" run remember.plan -i name=Grace > remembered || { cat remembered; exit 1; }
grep -q Grace remembered
node - <<'NODE'
const reply = JSON.parse(require("fs").readFileSync("ran", "utf8")).reply
const assert = require("assert")
const sum = "The sum of 3 and 4 is 7."
assert.deepStrictEqual(reply.sum, [sum, sum])
assert.strictEqual(typeof reply.weather, "number")
assert(reply.picture.includes("image"))
assert.strictEqual(reply.links.filter((kind) => kind === "link").length, 2)
assert(reply.embedded.includes("resource"))
assert.deepStrictEqual(reply.found, ["Ada"])
assert.strictEqual(reply.read, "你好")
NODE
grep -q '"server": "mcp-servers/everything"' planrun.lock
echo "MCP: plans over 4 servers from npm, 3 over standard input and output and 1 over HTTP"
