// The panel of `planrun serve` in the host of the official package for MCP Apps, with jsdom as its window. Takes the folder of the
// packages, the program, and the folder of a project with the desk.

import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { setTimeout as sleep } from "node:timers/promises"
import { pathToFileURL } from "node:url"

const [peers, planrun, place] = process.argv.slice(2)
const require = createRequire(`${peers}/`)
const load = (name) => import(pathToFileURL(require.resolve(name)))
const { Client } = await load("@modelcontextprotocol/client")
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio")
const { AppBridge } = await load("@modelcontextprotocol/ext-apps/app-bridge")
const { JSDOM } = await load("jsdom")

const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } }
const client = new Client({ name: "host", version: "1.0.0" }, { capabilities: { extensions } })
await client.connect(new StdioClientTransport({ command: planrun, args: ["serve", "--stdio"], cwd: place }))
const call = (name, given) => client.callTool({ name, arguments: given })

async function until(isSo) {
    for (let again = 0; !isSo(); again++) {
        assert(again < 400, `never: ${isSo}`)
        await sleep(25)
    }
}

// The panel in a window of its own, and the host's end of the messages between both.
async function shown(html, opens) {
    const sizes = []
    let toHost
    const dom = new JSDOM(html, {
        runScripts: "dangerously",
        beforeParse(window) {
            const parent = { postMessage: (message) => queueMicrotask(() => toHost?.(structuredClone(message))) }
            Object.defineProperty(window, "parent", { value: parent })
        },
    })
    const { window } = dom
    const bridge = new AppBridge(null, { name: "host", version: "1.0.0" }, { openLinks: {} }, { hostContext: { theme: "dark" } })
    const initialized = new Promise((resolve) => { bridge.oninitialized = resolve })
    bridge.onsizechange = (size) => sizes.push(size)
    bridge.onopenlink = async ({ url }) => opens(url)
    const transport = {
        async start() { toHost = (message) => transport.onmessage(message) },
        async close() {},
        async send(message) {
            const event = new window.MessageEvent("message", { data: message })
            Object.defineProperty(event, "source", { value: window.parent })
            window.dispatchEvent(event)
        },
    }
    await bridge.connect(transport)
    await initialized
    const part = (id) => window.document.getElementById(id)
    return { window, bridge, sizes, part }
}

const { tools } = await client.listTools()
const run = tools.find(({ name }) => name === "run")
const [panel] = (await client.readResource({ uri: run._meta.ui.resourceUri })).contents

// A question, and its page by the button.
const asked = await call("run", { plan: "use desk\nplan one() -> int {\nstep c = desk.close_ticket(id: 7)\nreply c.id\n}" })
const opened = []
const host = await shown(panel.text, (url) => { opened.push(url); return {} })
assert.equal(host.window.document.documentElement.style.colorScheme, "dark")
await host.bridge.sendToolResult(asked)
assert.match(host.part("text").textContent, /^May the plan one \([0-9a-f]{12}\) run\?\nIt may change, at most:\n- desk\.close_ticket: once/)
assert(!host.part("title").hidden && !host.part("open").hidden)
assert.match(host.part("other").textContent, /^Or in a terminal: planrun runs answer \S+ approval=true --resume$/)
await until(() => host.sizes.length > 1)
host.part("open").click()
await until(() => opened.length === 1)
const [page] = opened
assert.match(page, /^http:\/\/127\.0\.0\.1:\d+\/question\/\w+$/)
const answer = await fetch(page, { method: "POST", headers: { Origin: new URL(page).origin }, body: "decision=yes" })
assert.equal(answer.status, 200)
const id = asked.content[0].text.match(/run (\w\S*) /)[1]
const done = await call("runs", { id, wait_s: 40 })
assert.equal(done.structuredContent.reply, 7)

// The reply, at the same panel: nothing is asked any more.
await host.bridge.sendToolResult(done)
assert(host.part("title").hidden && host.part("open").hidden && host.part("other").hidden)
assert.equal(JSON.parse(host.part("text").textContent).reply, 7)

// A host that opens nothing: the person is told the address. Markup in a question stays text, and no other address is opened.
const refusing = await shown(panel.text, () => ({ isError: true }))
await refusing.bridge.sendToolResult(asked)
refusing.part("open").click()
await until(() => refusing.part("other").textContent.includes(page))
const forged = (address) => ({ content: [], _meta: { "planrun/question": { text: "<img src=x onerror=alert(1)>", command: "<b>", page: address } } })
await refusing.bridge.sendToolResult(forged("https://evil.example/"))
assert(refusing.part("open").hidden)
assert.equal(refusing.part("text").textContent, "<img src=x onerror=alert(1)>")
assert.equal(refusing.part("text").children.length, 0)
await refusing.bridge.teardownResource({})

await client.close()
process.exit()
