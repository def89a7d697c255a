// Stands before `planrun serve` for clients that can send no token: adds it to each request, and takes its own name for that of the
// server. Any other name goes through as it is. Takes the address of the server and the file of the token; prints its own address.

import { readFileSync } from "node:fs"
import { createServer, request } from "node:http"

const [address, tokenFile] = process.argv.slice(2)
const server = new URL(address)
const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`

const proxy = createServer((given, answer) => {
    const own = `127.0.0.1:${proxy.address().port}`
    const headers = { ...given.headers, authorization }
    for (const name of ["host", "origin"]) {
        if (headers[name]) headers[name] = headers[name].replace(own, server.host)
    }
    const { method, url: path } = given
    const sent = request({ host: server.hostname, port: server.port, method, path, headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers)
        got.pipe(answer)
    })
    // Whoever goes away takes the request along, which is how a call is cancelled.
    answer.on("close", () => sent.destroy())
    sent.on("error", () => answer.destroy())
    given.pipe(sent)
})
proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}${server.pathname}`))
