// The application around Cloudflare's code mode: a durable object with a runtime over the desk, which is reached through the host.

import { CodemodeRuntime, createCodemodeRuntime, DynamicWorkerExecutor, McpConnector } from "@cloudflare/codemode"
import { DurableObject } from "cloudflare:workers"

export { CodemodeRuntime }

const desk = (env, method, params) =>
    env.DESK.fetch("http://desk/", { method: "POST", body: JSON.stringify({ method, params }) }).then((answer) => answer.json())

class Desk extends McpConnector {
    constructor(ctx, env, gate) {
        super(ctx, env)
        this.gate = gate
    }
    name() {
        return "desk"
    }
    async createConnection() {
        const { tools } = await desk(this.env, "tools/list", {})
        return { tools, client: { callTool: (call) => desk(this.env, "tools/call", call) } }
    }
    tool(name, tool) {
        return this.gate && name === "close_ticket" ? { ...tool, requiresApproval: true } : tool
    }
}

export class Host extends DurableObject {
    async fetch(request) {
        const { code, gate, resume } = await request.json()
        const runtime = createCodemodeRuntime({
            ctx: this.ctx,
            executor: new DynamicWorkerExecutor({ loader: this.env.LOADER }),
            connectors: [new Desk(this.ctx, this.env, gate)],
        })
        if (resume) return Response.json(await this.after(runtime))
        let outcome = await runtime.execute({ code })
        let asked = 0
        while (outcome.status === "paused") {
            asked += 1
            outcome = await runtime.approve({ executionId: outcome.executionId })
        }
        const value = outcome.status === "completed"
        const said = value ? JSON.stringify(outcome.result) : outcome.error
        return Response.json({ outcome: value ? "value" : "error", said, asked })
    }

    // What becomes of an execution whose process was killed.
    async after(runtime) {
        const [last] = await runtime.executions(1)
        if (!last) return { outcome: "lost", said: "there is no execution" }
        const approved = await runtime.approve({ executionId: last.id })
        const [then] = await runtime.executions(1)
        return { outcome: "stuck", said: `found ${last.status}; going on with it says: ${approved.error ?? approved.status}; then ${then.status}` }
    }
}

export default {
    fetch: (request, env) => env.HOST.get(env.HOST.idFromName("one")).fetch(request),
}
