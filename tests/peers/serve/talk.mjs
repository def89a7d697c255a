// A client made with the TypeScript SDK, of its first make or its second, that has the whole conversation with `planrun serve`. Takes
// the folder of the SDK, its make, `stdio` or `http`, the revision, the program, and the folder of a project with the desk.

import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setTimeout as sleep } from "node:timers/promises"

const [peers, make, way, revision, planrun, place] = process.argv.slice(2)
const require = createRequire(`${peers}/`)
const isFirst = make === "1"
const sdk = isFirst
    ? { ...require("@modelcontextprotocol/sdk/client/index.js"), ...require("@modelcontextprotocol/sdk/client/stdio.js"), ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"), ...require("@modelcontextprotocol/sdk/types.js") }
    : { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") }
process.chdir(place)

let server
let client
let changes = 0
// What the person does with a question, and the questions so far.
let person = () => assert.fail("nobody expects a question")
const asked = []

async function connect(elicitation = isFirst ? {} : { form: {} }) {
    const negotiation = revision < "2026" ? { supportedProtocolVersions: [revision] } : { versionNegotiation: { mode: { pin: revision } } }
    client = new sdk.Client({ name: "talk", version: "1.0.0" }, {
        capabilities: elicitation ? { elicitation } : {},
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => { changes++ } } },
        ...negotiation,
    })
    if (elicitation) {
        client.setRequestHandler(isFirst ? sdk.ElicitRequestSchema : "elicitation/create", ({ params }) => {
            asked.push(params)
            return person(params)
        })
    }
    if (way === "stdio") {
        // The shell becomes the server, so that its id is that of the server.
        const args = ["-c", "echo $$ > pid; exec \"$0\" serve --stdio", planrun]
        await client.connect(new sdk.StdioClientTransport({ command: "sh", args, cwd: place }))
        server = Number(readFileSync("pid", "utf8"))
        return
    }
    if (!server) {
        const child = spawn(planrun, ["serve", "--bind", "127.0.0.1:0", "--token-file", "token"], { stdio: ["ignore", "pipe", "ignore"] })
        child.address = String(await once(child.stdout, "data")).trim()
        server = child
    }
    const headers = { Authorization: `Bearer ${readFileSync("token", "utf8").trim()}` }
    await client.connect(new sdk.StreamableHTTPClientTransport(new URL(server.address), { requestInit: { headers } }))
}

async function kill() {
    process.kill(server.pid ?? server, "SIGKILL")
    if (server.pid) await once(server, "exit")
    server = undefined
    await client.close().catch(() => {})
}

async function reconnect(elicitation) {
    await client.close()
    await connect(elicitation)
}

async function call(name, given, options) {
    const request = { name, arguments: given }
    const result = isFirst ? await client.callTool(request, undefined, options) : await client.callTool(request, options)
    result.text = result.content[0].text
    return result
}

function cli(...words) {
    try {
        return { status: 0, text: execFileSync(planrun, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }) }
    } catch (failure) {
        return { status: failure.status, text: failure.stdout + failure.stderr }
    }
}

const effects = () => existsSync("effects") ? readFileSync("effects", "utf8").trim().split("\n") : []
const closings = (first) => [first, first + 1, first + 2].map((id) => `close ${id}`)
const happened = (first) => effects().filter((effect) => closings(first).includes(effect))
const runIn = ({ text }) => text.match(/run (\w\S*) /)[1]

async function until(isSo) {
    for (let again = 0; !isSo(); again++) {
        assert(again < 400, `never: ${isSo}`)
        await sleep(50)
    }
}

const headed = (type, statements) => `use desk\n\nplan tidy() -> ${type} {\n${statements}\n}\n`
const plan = (first, argument = "id") => headed("{ closed: int[] }", `step found = desk.list_open(first: ${first})
step closed = each t in found.result max 10 {
    step c = desk.close_ticket(${argument}: t.id)
        undo desk.reopen_ticket(id: t.id)
    yield c.id
}
reply { closed: closed }`)
const yes = () => ({ action: "accept", content: { approve: true, scope: "once" } })

process.on("exit", () => server?.kill?.())

// What a server is.
await connect()
assert.equal(client.getServerVersion().name, "planrun")
assert.match(client.getInstructions(), /^planrun runs plans/)
assert(client.getServerCapabilities().tools.listChanged)
if (!isFirst) assert.equal(client.getNegotiatedProtocolVersion(), revision)
const { tools } = await client.listTools()
assert.deepEqual(tools.map(({ name }) => name), ["search", "describe", "read", "run", "runs", "save", "open_titles"])
const hints = ({ annotations: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } }) =>
    [readOnlyHint, destructiveHint, idempotentHint, openWorldHint].map(Number).join("")
assert.deepEqual(tools.map(hints), ["1010", "1010", "1011", "0101", "1010", "0010", "1011"])
assert.deepEqual(tools[6].outputSchema.required, ["titles"])

// Search, describe, a plan that only reads, a saved one.
const found = await call("search", { query: "close a ticket" })
assert.match(found.text, /^desk\.close_ticket\(id\) effect {2}Closes a ticket\.$/m)
assert.match((await call("describe", { names: ["desk.close_ticket"] })).text, /tool desk\.close_ticket\(id: int\)/)
const read = await call("read", { plan: "step found = desk.list_open()\nreply size(found.result)" })
assert(!read.isError, read.text)
assert.equal(read.structuredContent.reply, 3)
assert.deepEqual(JSON.parse(read.text), read.structuredContent)
const titles = await call("open_titles", {})
assert.deepEqual(titles.structuredContent, { titles: ["ticket 1", "ticket 2", "ticket 3"] })

// A misspelt argument is told with its place and its remedy, and nothing happens.
const refused = await call("run", { plan: plan(11, "ticket") })
assert(refused.isError)
assert.match(refused.text, /^Nothing was called/)
assert.match(refused.text, /6:\d+ error\[unknown-argument\].*`ticket`/)
assert.deepEqual(effects(), [])

// The mended plan asks once, tells how far it is, and replies.
person = yes
let told = []
const closed = await call("run", { plan: plan(11) }, { onprogress: (progress) => told.push(progress) })
assert(!closed.isError, closed.text)
assert.equal(asked.length, 1)
assert.match(asked[0].message, /^May the plan \w+ \([0-9a-f]{12}\) run\?\nIt may change, at most:\n- desk\.close_ticket: 10 times \(effect\), id from desk\.list_open; undone by desk\.reopen_ticket if the plan fails\n/)
assert.deepEqual(Object.keys(asked[0].requestedSchema.properties), ["approve", "scope"])
assert.deepEqual(closed.structuredContent.reply, { closed: [11, 12, 13] })
assert.deepEqual(closed.structuredContent.calls, { read: 1, effect: 3 })
assert.deepEqual(JSON.parse(closed.text), closed.structuredContent)
assert.deepEqual(happened(11), closings(11))
assert(told.length > 0 && told.every(({ progress }, index) => index === 0 || progress > told[index - 1].progress), JSON.stringify(told))
assert(told.some(({ message }) => message.startsWith("closed")), JSON.stringify(told))

// A no is final: nothing happens, then or later.
person = () => ({ action: "accept", content: { approve: false, scope: "once" } })
const denied = await call("run", { plan: plan(21) })
assert(denied.isError)
const no = runIn(denied)
assert.notEqual(cli("runs", "answer", no, "approval=true").status, 0)
assert((await call("runs", { id: no })).isError)
person = async () => { await sleep(1200); return { action: "decline" } }
assert((await call("run", { plan: plan(21) })).isError)
assert.deepEqual(happened(21), [])

// A decline that no person can have given: the run waits, and the page takes the answer, once.
person = () => ({ action: "decline" })
const waiting = await call("run", { plan: plan(31) })
const run = runIn(waiting)
assert(!waiting.isError)
assert(waiting.text.includes(`planrun runs answer ${run} approval=true --resume`), waiting.text)
const page = waiting.text.match(/http:\/\/127\.0\.0\.1:\d+\/question\/\w+/)[0]
assert.match(await (await fetch(page)).text(), /Yes, this run/)
const press = (origin) => fetch(page, {
    method: "POST",
    headers: { Origin: origin, "Content-Type": "application/x-www-form-urlencoded" },
    body: "decision=yes",
})
assert.equal((await press("http://evil.example")).status, 403)
assert.deepEqual(happened(31), [])
assert.equal((await press(new URL(page).origin)).status, 200)
assert.deepEqual((await call("runs", { id: run, wait_s: 40 })).structuredContent.reply, { closed: [31, 32, 33] })
assert.equal((await press(new URL(page).origin)).status, 404)
const second = cli("runs", "answer", run, "approval=false")
assert.equal(second.status, 2, second.text)
assert.deepEqual(happened(31), closings(31))

// A client that asks nobody: the answer comes from a terminal, while somebody waits for the run.
await reconnect(null)
const told2 = await call("run", { plan: plan(41) })
const other = runIn(told2)
assert(told2.text.includes(`planrun runs answer ${other} approval=true --resume`), told2.text)
const waited = call("runs", { id: other, wait_s: 40 })
const answered = cli("runs", "answer", other, "approval=true", "--resume")
assert.equal(answered.status, 0, answered.text)
assert.deepEqual((await waited).structuredContent.reply, { closed: [41, 42, 43] })
assert.deepEqual(happened(41), closings(41))

// A client that opens pages: the person answers there, and the model never sees the address.
if (revision >= "2025-11-25") {
    await reconnect({ url: {} })
    person = ({ mode, url }) => {
        assert.equal(mode, "url")
        sleep(1500).then(() => fetch(url, { method: "POST", headers: { Origin: new URL(url).origin }, body: "decision=yes" }))
        return { action: "accept" }
    }
    const opened = await call("run", { plan: plan(81) })
    assert.deepEqual(opened.structuredContent.reply, { closed: [81, 82, 83] })
    assert(!opened.text.includes("/question/"))
    assert.deepEqual(happened(81), closings(81))
}

// Killed between two effects: another server goes on, and nothing is done twice.
const long = (first, seconds) => headed("{ told: string, closed: int[] }", `step one = desk.close_ticket(id: ${first})
step told = desk.report(seconds: ${seconds})
step two = desk.close_ticket(id: ${first + 1})
reply { told: told.result, closed: [one.id, two.id] }`)
await reconnect()
person = yes
const lost = call("run", { plan: long(51, 3) }).then(() => assert.fail("the server is dead"), () => {})
await until(() => happened(51).length === 1)
await sleep(1200)
await kill()
await lost
await connect()
const latest = (await call("runs", {})).text.split(" ")[0]
assert.deepEqual((await call("runs", { id: latest, wait_s: 40 })).structuredContent.reply, { told: "all is well", closed: [51, 52] })
assert.deepEqual(happened(51), ["close 51", "close 52"])

// Whoever takes a request back does not end its run.
const away = new AbortController()
const left = assert.rejects(call("run", { plan: long(61, 2) }, { signal: away.signal }))
await until(() => happened(61).length === 1)
away.abort()
await left
const going = (await call("runs", {})).text.split(" ")[0]
assert.deepEqual((await call("runs", { id: going, wait_s: 40 })).structuredContent.reply, { told: "all is well", closed: [61, 62] })

// A saved plan is a tool at once.
const saved = `use desk

/// Closes three tickets.
plan close_three(first: int) -> { closed: int[] } {
    step found = desk.list_open(first: first)
    step closed = each t in found.result max 3 {
        step c = desk.close_ticket(id: t.id)
        yield c.id
    }
    reply { closed: closed }
}
`
assert.equal(changes, 0)
const kept = await call("save", { name: "close_three", plan: saved })
assert(!kept.isError, kept.text)
await until(() => changes > 0)
const grown = (await client.listTools()).tools
assert.deepEqual(grown.map(({ name }) => name).slice(6), ["close_three", "open_titles"])
assert.equal(hints(grown[6]), "0101")
assert.deepEqual((await call("close_three", { first: 71 })).structuredContent, { closed: [71, 72, 73] })
assert.deepEqual(happened(71), closings(71))

// Resources: pages of the language, journals of runs.
const { resources } = await client.listResources()
assert(resources.length > 3 && resources.every(({ uri }) => uri.startsWith("planrun://language/")))
const [contents] = (await client.readResource({ uri: resources[0].uri })).contents
assert.equal(contents.mimeType, "text/markdown")
assert(contents.text.length > 100)
const { resourceTemplates } = await client.listResourceTemplates()
assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ["planrun://language/{+topic}", "planrun://runs/{id}"])
const [journal] = (await client.readResource({ uri: `planrun://runs/${going}` })).contents
assert(journal.text.trim().split("\n").map(JSON.parse).length > 5)
await assert.rejects(client.readResource({ uri: "planrun://runs/none" }), /there is no resource/)

// The prompt: the language, with a page where one is named.
assert.deepEqual((await client.listPrompts()).prompts.map(({ name }) => name), ["language"])
const { messages } = await client.getPrompt({ name: "language", arguments: { page: "people" } })
assert(messages[0].content.text.startsWith("A plan calls tools"))
assert.equal(messages[1].content.resource.uri, "planrun://language/people")
const { completion } = await client.complete({ ref: { type: "ref/prompt", name: "language" }, argument: { name: "page", value: "peo" } })
assert(completion.values.includes("people"))
await assert.rejects(call("nothing", {}), /no tool `nothing`/)

await client.close()
process.exit()
