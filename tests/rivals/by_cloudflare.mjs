// A program of `programs/` by Cloudflare's code mode, in a worker under miniflare. Its MCP client is this adapter: the package brings none.

import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createInterface } from "node:readline"

// Where its packages are installed.
const require = createRequire(process.env.RIVALS_PACKAGES + "/")
const { build } = require("esbuild")
const { Miniflare } = require("miniflare")

function startDesk() {
    const [command, ...args] = JSON.parse(process.env.RIVALS_DESK)
    const program = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })
    const waiting = new Map()
    createInterface(program.stdout).on("line", (line) => {
        const answer = JSON.parse(line)
        waiting.get(answer.id)?.(answer)
    })
    const send = (message) => program.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
    const request = (method, params) =>
        new Promise((resolve) => {
            const id = waiting.size + 1
            waiting.set(id, resolve)
            send({ id, method, params })
        })
    return { request, send }
}

async function main() {
    const desk = startDesk()
    const clientInfo = { name: "rivals", version: "1" }
    await desk.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo })
    desk.send({ method: "notifications/initialized" })
    const bundled = await build({
        entryPoints: [new URL("cloudflare/worker.js", import.meta.url).pathname],
        nodePaths: [`${process.env.RIVALS_PACKAGES}/node_modules`],
        bundle: true,
        format: "esm",
        external: ["cloudflare:*", "node:*"],
        conditions: ["workerd", "import"],
        write: false,
    })
    const miniflare = new Miniflare({
        modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles[0].text }],
        compatibilityDate: "2026-07-30",
        compatibilityFlags: ["nodejs_compat", "experimental"],
        durableObjects: { HOST: { className: "Host", useSQLite: true } },
        durableObjectsPersist: `${process.env.RIVALS_STATE}/objects`,
        workerLoaders: { LOADER: {} },
        serviceBindings: {
            DESK: async (request) => {
                const { method, params } = await request.json()
                const answer = await desk.request(method, params)
                return Response.json(answer.result ?? { isError: true, content: [{ type: "text", text: answer.error.message }] })
            },
        },
    })
    await miniflare.ready
    const code = `async () => { ${readFileSync(`${process.argv[2]}.js`, "utf8")} }`
    const asked = { code, gate: Boolean(process.env.RIVALS_GATE), resume: Boolean(process.env.RIVALS_RESUME) }
    const began = performance.now()
    const answer = await miniflare.dispatchFetch("http://worker/", { method: "POST", body: JSON.stringify(asked) })
    const ms = performance.now() - began
    const text = await answer.text()
    return answer.ok ? { ...JSON.parse(text), ms } : { outcome: "error", said: text }
}

const found = await main().catch((error) => ({ outcome: "error", said: `outside of the program: ${error.stack}` }))
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0))
