#!/usr/bin/env bash
# Validates the reports of `planrun check` and `planrun test`: SARIF by its published schema and Microsoft's validator,
# JUnit by the schema of Jenkins. Needs node, python3 and a package registry; takes no arguments.
source "$(dirname "$0")/surroundings.sh" formats
reports=$peers/reports
mkdir -p "$reports"

# Pinned, so that an update is a change to this file.
multitool=@microsoft/sarif-multitool@5.7.0
readers="xmlschema==4.3.2 jsonschema==4.26.0"
# The source distribution of pytest contains the JUnit schema of Jenkins' xUnit plugin.
carrier=pytest==8.4.2

prepared python "$readers" python_packages
prepared . "$multitool" npm_packages
chmod u+x "$peers/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
unpack() {
    "$peers/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$1" "$2"
    tar -xzf "$1"/pytest-*.tar.gz -C "$peers" --strip-components 3 --wildcards '*/testing/example_scripts/junit-10.xsd'
}
prepared carrier "$carrier" unpack

cargo build --quiet --locked
planrun=$built/debug/planrun

# All fixtures, file names that need escaping, and a file that cannot be read. Any findings are accepted.
rm -rf "$reports/odd"
mkdir -p "$reports/odd"
printf 'plan p() -> int {\n    reply nmae\n}\n' > "$reports/odd/a b#%,:.plan"
printf 'plan p() -> int {\n    reply "\x1b \x01 \xef\xbf\xbf ]]> <x> & 入\n}\n' > "$reports/odd/入職.plan"
ln -sf nowhere "$reports/odd/gone.plan"
made() {
    local status=0
    (cd "$2" && "$planrun" check --quiet --format "$1" .) > "$reports/$3" 2>/dev/null || status=$?
    [ "$status" -le 3 ] || { echo "check --format $1 ended with $status"; exit 1; }
}
for format in sarif junit; do
    made "$format" tests/fixtures/check "fixtures.$format"
    made "$format" plans "plans.$format"
    made "$format" "$reports/odd" "odd.$format"
done

# The reports of `planrun test`: every possible result of a test, and no tests.
PLANRUN_REPORTS=$reports cargo test --quiet --locked --test it test_report::leaves_reports -- --exact --ignored \
    > "$reports/log" 2>&1 || { cat "$reports/log"; exit 1; }

"$peers/python/bin/python" - "$peers" "$reports" <<'PYTHON'
import json, pathlib, sys
import jsonschema, xmlschema

peers, reports = map(pathlib.Path, sys.argv[1:])
schema = json.loads((peers / "node_modules/@microsoft/sarif-multitool-linux/sarif-2.1.0.json").read_text("utf-8-sig"))
sarif = jsonschema.validators.validator_for(schema)(schema)
junit = xmlschema.XMLSchema(peers / "junit-10.xsd")
seen = 0
for path in sorted(reports.glob("*.sarif")):
    document = json.loads(path.read_text("utf-8"))
    for error in sarif.iter_errors(document):
        sys.exit(f"{path.name}: {error.json_path}: {error.message}")
    seen += len(document["runs"][0]["results"])
written = sorted(reports.glob("*.junit"))
for path in written:
    junit.validate(path)
assert {"tests.junit", "none.junit"} <= {path.name for path in written}, written
assert seen > 100, f"only {seen} findings were looked at"
print(f"{seen} findings fit the schemas of SARIF 2.1.0 and of Jenkins")
PYTHON

for report in "$reports"/*.sarif; do
    "$peers/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool" validate "$report" \
        --rule-kind 'Sarif;Ghas' --level 'Error;Warning' --output "$report.verdict" --log ForceOverwrite > "$report.log"
    "$peers/python/bin/python" - "$report.verdict" <<'PYTHON'
import json, sys

verdict = json.load(open(sys.argv[1], encoding="utf-8-sig"))
found = [f"{result['ruleId']} {result['message']}" for result in verdict["runs"][0].get("results", [])]
sys.exit("\n".join(found) or 0)
PYTHON
done
echo "the SARIF validator has neither errors nor warnings"
