// Counts what the conformance suite has found, and holds it against the failures that are expected.

import { readFileSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"

const [place, expectedFile] = process.argv.slice(2)
const expected = JSON.parse(readFileSync(expectedFile, "utf8"))
let isWrong = false

for (const revision of ["2025-11-25", "2026-07-28"]) {
    const files = readdirSync(join(place, revision), { recursive: true }).filter((file) => file.endsWith("checks.json")).sort()
    // The suite names a folder by the scenario and the time.
    const scenarios = files.map((file) => ({ file, name: dirname(file).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "") }))
    let passed = 0
    const failures = []
    for (const { file, name } of scenarios) {
        const checks = JSON.parse(readFileSync(join(place, revision, file), "utf8"))
        const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING")
        // A scenario that checks nothing was never played.
        const isPassed = bad.length === 0 && checks.some(({ status }) => status === "SUCCESS")
        if (isPassed) passed++
        if (isPassed === name in expected) {
            isWrong = true
            const why = bad.map(({ id, errorMessage, description }) => `    ${id}: ${errorMessage ?? description}`)
            failures.push(isPassed ? `${name} passes, and is expected to fail` : [`${name} fails${why.length ? "" : ": it checks nothing"}`, ...why].join("\n"))
        } else if (!isPassed) {
            failures.push(`${name} fails, as expected: ${expected[name]}`)
        }
    }
    console.log(`MCP ${revision}: ${passed} of ${scenarios.length} scenarios for clients pass`)
    failures.forEach((failure) => console.log(`  ${failure}`))
    if (scenarios.length < 20) {
        isWrong = true
        console.log(readFileSync(join(place, `${revision}.log`), "utf8"))
    }
}
process.exit(isWrong ? 1 : 0)
