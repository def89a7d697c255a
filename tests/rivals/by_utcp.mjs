// A program of `programs/` by UTCP's code-mode, over the desk as a manual of its MCP plugin. It asks nobody, and keeps nothing of a run.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

// Where its packages are installed.
const require = createRequire(process.env.RIVALS_PACKAGES + "/")
await import(pathToFileURL(require.resolve("@utcp/mcp")))
const { CodeModeUtcpClient } = await import(pathToFileURL(require.resolve("@utcp/code-mode")))

async function main() {
    if (process.env.RIVALS_GATE === "must") return { outcome: "none", said: "it has no approvals" }
    if (process.env.RIVALS_RESUME) return { outcome: "lost", said: "it keeps nothing of a run" }
    const [command, ...args] = JSON.parse(process.env.RIVALS_DESK)
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("DESK_")))
    const client = await CodeModeUtcpClient.create(process.env.RIVALS_STATE)
    const registered = await client.registerManual({
        name: "desk",
        call_template_type: "mcp",
        config: { mcpServers: { desk: { transport: "stdio", command, args, env } } },
    })
    if (!registered.success) throw new Error(`the desk was not registered: ${registered.errors}`)
    // Tools are called `desk.desk_NAME` there.
    const code = readFileSync(`${process.argv[2]}.js`, "utf8").replaceAll("desk.", "desk.desk_")
    const began = performance.now()
    const { result, logs } = await client.callToolChain(code, 60_000)
    const ms = performance.now() - began
    const failed = result === null && logs.some((line) => line.startsWith("[ERROR]"))
    const said = failed ? logs.join("\n") : JSON.stringify(result)
    return { outcome: failed ? "error" : "value", said, asked: 0, ms }
}

const found = await main().catch((error) => ({ outcome: "error", said: `outside of the program: ${error.stack}` }))
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0))
