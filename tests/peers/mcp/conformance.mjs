// What the conformance suite of the protocol starts as the client, with the address of its server: a project with that server,
// in which the real program logs in where the server wants it, pins what the server offers, and runs plans that call it.

import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const [program, address] = process.argv.slice(2)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}")
const place = mkdtempSync(join(tmpdir(), "conformance-"))
const environment = { PATH: process.env.PATH, HOME: place }

function planrun(...words) {
    try {
        const stdout = execFileSync(program, words, { cwd: place, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
        return { status: 0, text: stdout }
    } catch (failure) {
        const text = `${failure.stdout}${failure.stderr}`
        console.log(`planrun ${words.join(" ")} ends with ${failure.status}:\n${text}`)
        return { status: failure.status, text }
    }
}

// The browser: goes to the address, and lets itself be sent back to the program.
function login(...scopes) {
    return new Promise((done) => {
        const words = ["tools", "login", "server", "--wait", "20", ...scopes.flatMap((scope) => ["--scope", scope])]
        const child = spawn(program, words, { cwd: place, env: environment })
        let told = ""
        let visited = false
        child.stderr.on("data", (data) => { console.log(String(data)) })
        child.stdout.on("data", async (data) => {
            told += data
            const [, link] = told.match(/^(https?:\S+)\n/m) ?? []
            if (visited || !link) return
            visited = true
            const back = (await fetch(link, { redirect: "manual" })).headers.get("location")
            await fetch(back).catch((problem) => console.log(`nobody listens at ${back}: ${problem}`))
        })
        child.on("close", (status) => done(status))
    })
}

// A value that fits a schema, the one that the schema itself proposes where it does.
function example(schema) {
    if (schema.default !== undefined) return schema.default
    if (schema.enum) return schema.enum[0]
    if (schema.type === "object") {
        const named = schema.required ?? []
        return Object.fromEntries(named.map((name) => [name, example(schema.properties?.[name] ?? {})]))
    }
    return { string: "text", number: 1, integer: 1, boolean: true, array: [] }[schema.type] ?? "text"
}

function call(tool, given, ...words) {
    const inputs = Object.keys(given)
    const parameters = inputs.map((_, index) => `a${index}: any`).join(", ")
    const named = inputs.map((name, index) => `${/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name)}: a${index}`).join(", ")
    const plan = `use server\n\nplan called(${parameters}) -> any {\n    step given = server.\`${tool}\`(${named})\n    reply given\n}\n`
    writeFileSync(join(place, "called.plan"), plan)
    const values = inputs.flatMap((name, index) => ["-i", `a${index}=${JSON.stringify(given[name])}`])
    return planrun("run", "called.plan", ...values, ...words)
}

const isGuarded = scenario.startsWith("auth/")
const known = scenario === "auth/basic-cimd"
    ? { client: "https://conformance-test.local/client-metadata.json" }
    : context.client_id ? { client: context.client_id, secret: context.client_secret } : {}
const auth = isGuarded ? { auth: { oauth: known } } : {}
writeFileSync(join(place, "planrun.yaml"), JSON.stringify({ tools: { server: { mcp: { url: address, ...auth } } } }))

// A person who does what a refusal says, and not for ever.
async function insist(action) {
    for (let again = 0; ; again++) {
        const result = action()
        const [, scopes] = result.text.match(/`planrun tools login server((?: --scope [^\s`]+)*)`/) ?? []
        if (scopes === undefined || again === 2) return result
        if (await login(...scopes.split(" --scope ").filter(Boolean)) !== 0) return result
    }
}

let status = (await insist(() => planrun("tools", "lock", "--accept", "reads"))).status
if (status === 0) {
    const { tools } = JSON.parse(readFileSync(join(place, "planrun.lock"), "utf8")).servers.server
    const wanted = context.toolCalls ?? Object.keys(tools).map((name) => ({ name, arguments: example(tools[name].input) }))
    for (const { name, arguments: given } of wanted) {
        if (!tools[name]) continue
        // What the program has kept of the schema of another tool.
        if (name === "json_schema_echo") given.schema = Object.entries(tools).find(([other]) => other !== name)[1].input
        const result = await insist(() => call(name, given ?? {}, "--answer", "given.asked={}"))
        status = Math.max(status, result.status)
    }
}
rmSync(place, { recursive: true })
process.exit(status)
