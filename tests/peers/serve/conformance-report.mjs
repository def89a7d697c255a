// Counts what the conformance suite has found of a server, and holds it against the checks that are expected to fail: those of what
// planrun does not offer, by their ids, and scenarios that no revision requires, by their names.

import { readFileSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"

const [place, expectedFile] = process.argv.slice(2)
const { absent, unscored } = JSON.parse(readFileSync(expectedFile, "utf8"))
const reasons = (lists) => new Map(Object.entries(lists).flatMap(([reason, names]) => names.map((name) => [name, reason])))
const ofChecks = reasons(absent)
const ofScenarios = reasons(unscored)
const met = new Set()
let isWrong = false

for (const revision of ["2025-11-25", "2026-07-28"]) {
    const log = readFileSync(join(place, `${revision}.log`), "utf8")
    // What the suite itself says does not count.
    const free = new Set([...log.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, name]) => name))
    const files = readdirSync(join(place, revision), { recursive: true }).filter((file) => file.endsWith("checks.json")).sort()
    const counts = { passed: 0, absent: 0, unscored: 0 }
    for (const file of files) {
        const [, scenario] = dirname(file).match(/^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/)
        for (const { id, status, errorMessage } of JSON.parse(readFileSync(join(place, revision, file), "utf8"))) {
            if (status === "SUCCESS") counts.passed++
            if (status !== "FAILURE" && status !== "WARNING") continue
            const reason = ofChecks.get(id) ?? (free.has(scenario) ? ofScenarios.get(scenario) : undefined)
            met.add(ofChecks.has(id) ? id : scenario)
            if (reason) {
                counts[ofChecks.has(id) ? "absent" : "unscored"]++
            } else {
                isWrong = true
                console.log(`${revision} ${scenario}: ${id}: ${errorMessage}`)
            }
        }
    }
    console.log(`MCP ${revision}: ${counts.passed} checks of ${files.length} scenarios for servers pass; as expected, ${counts.absent} fail of what is not offered, and ${counts.unscored} that no revision requires`)
    if (files.length < 30) {
        isWrong = true
        console.log(log)
    }
}
for (const name of [...ofChecks.keys(), ...ofScenarios.keys()].filter((name) => !met.has(name))) {
    isWrong = true
    console.log(`${name} passes, and is expected to fail`)
}
process.exit(isWrong ? 1 : 0)
