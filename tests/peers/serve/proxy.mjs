// Stands between the conformance suite and `planrun serve`: adds the token, which the suite cannot send, and gives two resources of
// planrun the addresses by which the suite reads them. Its own name becomes that of the server; any other goes through as it is. Takes
// the address of the server and the file of the token; prints its own address.

import { readFileSync } from "node:fs"
import { createServer, request } from "node:http"

const ADDRESSES = [
    ["test://static-text", "planrun://language/order"],
    ["test://template/123/data", "planrun://runs/123"],
]

const [address, tokenFile] = process.argv.slice(2)
const server = new URL(address)
const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`
const renamed = (text) => ADDRESSES.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), text)

const proxy = createServer(async (given, answer) => {
    let body = ""
    for await (const part of given.setEncoding("utf8")) body += part
    const headers = { ...given.headers, authorization }
    const own = `127.0.0.1:${proxy.address().port}`
    for (const name of ["host", "origin"]) {
        if (headers[name]) headers[name] = headers[name].replace(own, server.host)
    }
    if (headers["mcp-name"]) headers["mcp-name"] = renamed(headers["mcp-name"])
    delete headers["content-length"]
    const { method, url: path } = given
    const sent = request({ host: server.hostname, port: server.port, method, path, headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers)
        got.pipe(answer)
    })
    // Whoever goes away takes the request along, which is how a call is cancelled.
    answer.on("close", () => sent.destroy())
    sent.on("error", () => answer.destroy())
    sent.end(renamed(body))
})
proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}${server.pathname}`))
