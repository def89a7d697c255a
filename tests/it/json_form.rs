//! The JSON form: trees round-trip, JSON files are plans like others, and errors in them have positions in the JSON
//! text.

use std::path::{Path, PathBuf};

use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::ast::{
    ArmBody, Block, ClauseKind, File, ItemKind, Statement, StatementKind, Step, StepBody,
};
use planrun_lang::syntax::{self, json};
use regex::Regex;
use serde_json::Value;

use crate::check;
use crate::support::{compare, folder, planrun, root};

/// Returns every plan in the repository: examples, fixtures, pages of codes, documents.
pub fn corpus() -> Vec<(String, String)> {
    let mut plans = Vec::new();
    for part in ["plans", "examples", "tests/fixtures", "benches"] {
        for entry in ignore::WalkBuilder::new(root().join(part))
            .sort_by_file_path(Path::cmp)
            .build()
        {
            let path = entry.unwrap().into_path();
            if path
                .extension()
                .is_some_and(|ending| ending == "plan" || ending == "plantest")
            {
                plans.extend(
                    std::fs::read_to_string(&path)
                        .ok()
                        .map(|text| (path.display().to_string(), text)),
                );
            }
        }
    }
    for code in codes::all() {
        let page = check::parse(code.page);
        for (which, text) in [("bad", page.bad), ("good", page.good)] {
            let text = text.and_then(|text| String::from_utf8(text).ok());
            plans.extend(text.map(|text| (format!("page of {}, {which}", code.name), text)));
        }
    }
    for name in ["README.md", "docs/language.md", "docs/json-form.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let blocks = text
            .split("```plan\n")
            .skip(1)
            .filter_map(|rest| rest.split("\n```").next());
        plans.extend(blocks.map(|block| (name.to_owned(), block.to_owned())));
    }
    plans
}

#[test]
fn every_plan_goes_to_json_and_back() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    let mut gone = 0;
    for (name, text) in corpus() {
        gone += usize::from(round_trip(&name, &text, &schema));
    }
    assert!(
        gone > 150,
        "only {gone} plans were sound enough to be tried"
    );
}

/// Asserts that a plan survives the round trip. Returns false if its text has errors or cannot be encoded.
pub fn round_trip(name: &str, text: &str, schema: &jsonschema::Validator) -> bool {
    let parsed = syntax::parse(&SourceFile::new("a.plan", text));
    if parsed.diagnostics.iter().any(Diagnostic::is_error)
        || json::is_json(&SourceFile::new("a", text))
    {
        return false;
    }
    let Ok(value) = json::encode(&parsed.file) else {
        assert!(name.starts_with("page of"), "{name} cannot be written");
        return false;
    };
    let problems: Vec<_> = schema
        .iter_errors(&value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(
        problems.is_empty(),
        "{name} does not fit the schema: {problems:?}\n{value:#}"
    );
    let nested = Regex::new(
        r"(Chain \{\s+first|operand): Expr \{\s+span: …,\s+kind: (Chain|Unary)|kind: Coalesce[\s\S]*kind: Coalesce",
    )
    .unwrap();
    for written in [
        serde_json::to_string(&value).unwrap(),
        serde_json::to_string_pretty(&value).unwrap(),
    ] {
        let source = SourceFile::new("a.plan.json", written.as_str());
        let back = syntax::parse(&source);
        let found: Vec<_> = back
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .collect();
        assert!(found.is_empty(), "{name}: {found:?}\n{written}");
        let again = json::encode(&back.file).unwrap();
        let (before, after) = (shape(parsed_again(text)), shape(back.file));
        // Redundant parentheses are not kept: `(a || b) || c` comes back as `a || b || c`, `!(!a)` as `!!a`.
        let regrouped = nested.is_match(&before) && again == value;
        assert!(
            before == after || regrouped,
            "{name}: {}\n{written}",
            difference(&before, &after)
        );
    }
    true
}

/// Returns the first different lines of two texts, with context: whole trees are too long to compare by eye.
fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let at = before
        .iter()
        .zip(&after)
        .position(|(one, other)| one != other)
        .unwrap_or(0);
    let around = |lines: &[&str]| {
        lines[at.saturating_sub(12)..lines.len().min(at + 6)]
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!("\n{}\nbecame\n{}", around(&before), around(&after))
}

fn parsed_again(text: &str) -> File {
    syntax::parse(&SourceFile::new("a.plan", text)).file
}

/// Formats the tree without spans, comments and the order of clauses.
pub fn shape(mut file: File) -> String {
    file.comments.clear();
    for item in &mut file.items {
        if let ItemKind::Plan(plan) = &mut item.kind {
            ordered(&mut plan.body);
        }
    }
    let text = format!("{file:#?}");
    Regex::new(r"\b\d+\.\.\d+\b")
        .unwrap()
        .replace_all(&text, "…")
        .into_owned()
}

fn ordered(block: &mut Block) {
    for Statement { kind, .. } in &mut block.statements {
        match kind {
            StatementKind::Step(step) => ordered_step(step),
            StatementKind::If { arms, otherwise } => {
                for (_, block) in arms {
                    ordered(block);
                }
                if let Some(block) = otherwise {
                    ordered(block);
                }
            }
            StatementKind::Listener { body, .. } | StatementKind::Parallel(body) => ordered(body),
            _ => {}
        }
    }
}

fn ordered_step(step: &mut Step) {
    let order = [
        "When", "After", "Confirm", "Timeout", "Within", "Retry", "Until", "Cache", "Verify",
        "Recover", "Undo",
    ];
    step.clauses.sort_by_key(|clause| {
        let name = format!("{:?}", clause.kind);
        order.iter().position(|word| name.starts_with(word))
    });
    let mut arms: Vec<&mut ArmBody> = Vec::new();
    for clause in &mut step.clauses {
        if let ClauseKind::Recover { body, .. } = &mut clause.kind {
            arms.push(body);
        }
    }
    match &mut step.body {
        StepBody::Do(body) | StepBody::Each { body, .. } | StepBody::Repeat { body, .. } => {
            ordered(body);
        }
        StepBody::Race(branches) => arms.extend(branches.iter_mut().map(|(_, body)| body)),
        StepBody::Match { arms: branches, .. } => {
            arms.extend(branches.iter_mut().map(|arm| &mut arm.body));
        }
        _ => {}
    }
    for arm in arms {
        if let ArmBody::Do(body) = arm {
            ordered(body);
        }
    }
}

/// Expressions that have a special form in JSON.
#[test]
fn expressions_that_json_writes_in_its_own_way_come_back() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    for value in [
        "null",
        r#"[null, 1, 2.0, -3, 1e300, 5u, true, "a", b"x", 10s]"#,
        r#"{ a: null, b: { text: "x" }, text: "y", c: [] }"#,
        r#"{ text: "only" }"#,
        "{ a: 1, a: 2 }",
        r#"{ "quoted": 1 }"#,
        "{ `true`: 1, `odd name`: {} }",
        r#""plain \${not} $5 \\ \"quoted\" \n\t\u00e9""#,
        r#""\\${a}""#,
        r#""$${a} ${"in ${b} }"} ${ { x: '}' }.x } ${r"\"}""#,
        r#""""
            a block ${a}
              with "quotes" and \${b}
            """"#,
        "-0.0 + 0.1",
        "-9223372036854775808",
        "((a))",
        "a ? b : (c ? d : e)",
        "match a { \"x\" | \"y\" => 1, { b: -1, `odd name`: _ } => 2, _ => 3 }",
    ] {
        let text = format!("plan p() {{\n    let a = {value}\n    reply {value}\n}}\n");
        let parsed = syntax::parse(&SourceFile::new("a.plan", text.as_str()));
        if parsed
            .diagnostics
            .iter()
            .all(|found| !found.is_error() || found.code.name == "duplicate-field")
        {
            let written = json::encode(&parsed.file).unwrap();
            assert!(schema.is_valid(&written), "{written:#}");
            let back = syntax::parse(&SourceFile::new("a.plan.json", written.to_string()));
            assert_eq!(shape(parsed.file), shape(back.file), "{written}");
        } else {
            panic!("{value}: {:?}", parsed.diagnostics);
        }
    }
}

/// Returns the code and the text at the position of each finding in a JSON file.
fn findings(text: &str) -> Vec<(String, String)> {
    let folder = folder([("a.plan.json", text)]);
    let output = planrun(["check", "--format", "json", "a.plan.json"])
        .within(folder.path())
        .run();
    let found = output.json()["diagnostics"].as_array().unwrap().clone();
    let offset =
        |span: &Value, end: &str| usize::try_from(span[end]["offset"].as_u64().unwrap()).unwrap();
    found
        .iter()
        .map(|finding| {
            let span = &finding["span"];
            (
                finding["code"].as_str().unwrap().to_owned(),
                text[offset(span, "start")..offset(span, "end")].to_owned(),
            )
        })
        .collect()
}

fn plan_of(body: &str) -> String {
    format!(
        r#"{{ "items": [{{ "kind": "plan", "name": "p", "parameters": [{{ "name": "n", "type": "int" }}], "body": [{body}] }}] }}"#
    )
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn findings_point_into_the_strings_of_the_file() {
    for (body, code, place) in [
        (
            r#"{ "kind": "reply", "value": "n + mm" }"#,
            "unknown-name",
            "mm",
        ),
        (
            r#"{ "kind": "reply", "value": { "text": "é\t\"${ n + mm }\"" } }"#,
            "unknown-name",
            "mm",
        ),
        (
            r#"{ "kind": "reply", "value": "[\"\u00e9\", mm]" }"#,
            "unknown-name",
            "mm",
        ),
        (
            r#"{ "kind": "reply", "value": { "a": ["mm"] } }"#,
            "unknown-name",
            "mm",
        ),
        (
            r#"{ "kind": "reply", "value": "n +" }"#,
            "unexpected-token",
            "+",
        ),
        (
            r#"{ "kind": "let", "name": "x", "type": "strin", "value": 1 }, { "kind": "reply", "value": "x" }"#,
            "unknown-type",
            "strin",
        ),
        (
            r#"{ "kind": "let", "name": "x", "type": "int[", "value": 1 }, { "kind": "reply", "value": "x" }"#,
            "unclosed-delimiter",
            "[",
        ),
        (
            r#"{ "kind": "reply", "value": "n", "when": "n" }, { "kind": "reply", "value": 1 }"#,
            "not-a-bool",
            "n",
        ),
        (r#"{ "kind": "reply", "valu": "n" }"#, "json-shape", "valu"),
        (
            r#"{ "kind": "step", "name": "s", "call": { "tool": "sys.uuid" }, "after": [] }, { "kind": "reply", "value": "s" }"#,
            "json-shape",
            "[",
        ),
        (
            r#"{ "kind": "reply", "value": "n", "value": "n" }"#,
            "duplicate-field",
            "value",
        ),
        (
            r#"{ "kind": "reply", "value": null }"#,
            "json-shape",
            "null",
        ),
        (
            r#"{ "kind": "repyl", "value": "n" }"#,
            "json-shape",
            "repyl",
        ),
        (
            r#"{ "kind": "yield", "value": "n" }, { "kind": "reply", "value": 1 }"#,
            "misplaced-statement",
            "yield",
        ),
        (
            r#"{ "kind": "fail", "class": "denied.policy", "message": "n" }"#,
            "json-shape",
            "n",
        ),
        (
            r#"{ "kind": "policy", "settings": "n" }, { "kind": "reply", "value": 1 }"#,
            "json-shape",
            "\"n\"",
        ),
        (
            r#"{ "kind": "step", "name": "s", "call": { "tool": "echo" } }, { "kind": "reply", "value": 1 }"#,
            "unknown-function",
            "echo",
        ),
        (
            r#"{ "kind": "step", "name": "s", "call": { "tool": "echo." } }, { "kind": "reply", "value": 1 }"#,
            "json-shape",
            "echo.",
        ),
        (
            r#"{ "kind": "step", "name": "s", "call": { "tool": "echo", "arguments": { "a": 1 } } }, { "kind": "reply", "value": 1 }"#,
            "unknown-plan",
            "echo",
        ),
        (
            r#"{ "kind": "let", "name": 5, "value": 1 }, { "kind": "reply", "value": 1 }"#,
            "json-shape",
            "5",
        ),
        (
            r#"{ "kind": "let", "name": "", "value": 1 }, { "kind": "reply", "value": 1 }"#,
            "json-shape",
            "",
        ),
        (
            r#"{ "kind": "reply", "value": 99999999999999999999 }"#,
            "bad-number",
            "99999999999999999999",
        ),
    ] {
        let found = findings(&plan_of(body));
        assert!(
            found.contains(&(code.to_owned(), place.to_owned())),
            "{body}: {found:?}"
        );
    }
}

#[test]
fn text_that_is_no_json_is_told_in_plain_words() {
    for text in [
        "",
        "[]",
        "{",
        "{ \"items\": [ }",
        "{ 'items': [] }",
        "{ items: [] }",
        "{ \"items\": [], }",
        "{ \"items\": [] } {}",
        "{ \"items\": [] // why\n}",
        "{ \"items\" [] }",
        "{ \"items\": [1 2] }",
        "{ \"items\": [+1, 0x1F, .5, NaN, nul] }",
        "{ \"items\": \"a\nb\" }",
        "{ \"items\": \"\\q\" }",
        "{ \"items\": \"\\ud800\" }",
        "{ \"items\": \"abc",
    ] {
        let folder = folder([("a.plan.json", text)]);
        let output = planrun(["check", "--format", "json", "a.plan.json"])
            .within(folder.path())
            .run();
        let found = output.json()["diagnostics"].as_array().unwrap().clone();
        assert_eq!(found.len(), 1, "{text}: {output:?}");
        assert!(found[0]["help"].is_string(), "{text}");
        let message = found[0]["message"].as_str().unwrap();
        assert!(
            ["bad-json", "json-shape"].contains(&found[0]["code"].as_str().unwrap()),
            "{text}: {output:?}"
        );
        assert!(
            !message.contains("Json") && !message.contains("EOF"),
            "{message}"
        );
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for text in [
        deep(100_000),
        plan_of(&format!(r#"{{ "kind": "reply", "value": {} }}"#, deep(100))),
        plan_of(
            &(r#"{ "kind": "if", "condition": true, "then": ["#.repeat(200) + &"] }".repeat(200)),
        ),
    ] {
        let parsed = syntax::parse(&SourceFile::new("a.plan.json", text));
        assert!(
            parsed
                .diagnostics
                .iter()
                .any(|found| found.code.name == "too-deep"),
            "{:?}",
            parsed.diagnostics.first()
        );
    }
}

#[test]
fn fixes_are_written_as_json_or_left_out() {
    let text = r#"{ "items": [{ "kind": "use", "namespaces": [{ "name": "sys" }] },
        { "kind": "plan", "name": "p", "parameters": [{ "name": "n", "type": "string?" }], "returns": "string", "body": [
            { "kind": "step", "name": "s", "call": { "tool": "sys.ecko", "arguments": { "value": 1 } } },
            { "kind": "let", "name": "greeting", "value": { "text": "Hello \"${n}\"" } },
            { "kind": "reply", "value": "greetin" }] }] }"#;
    let folder = folder([("a.plan.json", text)]);
    let output = planrun(["check", "--format", "json", "a.plan.json"])
        .within(folder.path())
        .run()
        .json();
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for finding in output["diagnostics"].as_array().unwrap() {
        for edit in finding["fix"]["edits"].as_array().into_iter().flatten() {
            let offset =
                |end: &str| usize::try_from(edit["span"][end]["offset"].as_u64().unwrap()).unwrap();
            edits.push((
                offset("start"),
                offset("end"),
                edit["text"].as_str().unwrap().to_owned(),
            ));
        }
    }
    assert!(edits.len() >= 3, "{output:#}");
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
    let mut fixed = text.to_owned();
    for (start, end, replacement) in edits {
        fixed.replace_range(start..end, &replacement);
    }
    serde_json::from_str::<Value>(&fixed).unwrap_or_else(|error| panic!("{error}\n{fixed}"));
    let left: Vec<_> = findings(&fixed)
        .into_iter()
        .filter(|(code, _)| code != "unused-result")
        .collect();
    assert_eq!(left, [], "{fixed}");
}

#[test]
fn files_in_json_are_checked_run_and_drawn_like_others() {
    let plans = root().join("plans");
    let exported = planrun(["export", "onboarding.plan"]).within(&plans).run();
    assert_eq!(exported.status, 0, "{exported:?}");
    let copied: Vec<(PathBuf, Vec<u8>)> = ignore::WalkBuilder::new(&plans)
        .build()
        .filter_map(|entry| entry.ok().map(ignore::DirEntry::into_path))
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .map(|path| {
            (
                path.strip_prefix(&plans).unwrap().to_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect();
    let folder = folder(copied);
    std::fs::write(folder.path().join("onboarding.plan.json"), &exported.stdout).unwrap();
    let within = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    let run = within(&[
        "run",
        "onboarding.plan.json",
        "--mock",
        "-i",
        "name=Will Zhang",
        "-i",
        "department=engineering",
    ]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["card"], "CARD-WZ001");
    let check = within(&["check"]);
    assert_eq!(
        (check.status, check.stderr.as_str()),
        (0, "no problems found in 1 file\n")
    );
    let text = std::fs::read_to_string(plans.join("onboarding.plan")).unwrap();
    std::fs::write(folder.path().join("text.plan"), text).unwrap();
    assert_eq!(
        within(&["graph", "onboarding.plan.json"]).stdout,
        within(&["graph", "text.plan"]).stdout
    );
    // The format of standard input is detected from its content.
    let piped = planrun(["check", "-"])
        .within(folder.path())
        .stdin(exported.stdout)
        .run();
    assert_eq!(piped.status, 0, "{piped:?}");
}

/// `PLANRUN_BLESS=1` rewrites the generated parts.
#[test]
fn the_document_is_current() {
    let path = root().join("docs/json-form.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let plan = between(&document, "```plan\n", "```").unwrap();
    let parsed = syntax::parse(&SourceFile::new("a.plan", plan));
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let example = json::text(&json::encode(&parsed.file).unwrap());
    let tables = format!("\n\n{}", json::reference());
    let current = [
        ("```json\n", "```", example),
        ("<!-- generated -->", "<!-- end -->", tables),
    ];
    let written = current
        .iter()
        .fold(document, |document, (start, end, text)| {
            let old = between(&document, start, end).unwrap().len();
            let at = document.find(start).unwrap() + start.len();
            format!("{}{text}{}", &document[..at], &document[at + old..])
        });
    compare(&path, &written).unwrap();
}

/// Returns the text between two markers.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    text.split_once(start)?
        .1
        .split_once(end)
        .map(|(between, _)| between)
}

/// Text to JSON to text: the result is the canonical text, except for comments that are not doc comments.
#[test]
fn text_comes_back_from_json_in_canonical_form() {
    let mut gone = 0;
    for (name, text) in corpus() {
        let source = SourceFile::new("a.plan", text.as_str());
        let parsed = syntax::parse(&source);
        if parsed.diagnostics.iter().any(Diagnostic::is_error)
            || json::is_json(&SourceFile::new("a", text.as_str()))
        {
            continue;
        }
        let Ok(value) = json::encode(&parsed.file) else {
            continue;
        };
        let back = syntax::parse(&SourceFile::new("a.plan.json", value.to_string()));
        let printed = planrun_lang::format::print(&back.file).unwrap();
        let formatted = planrun_lang::format::format(&SourceFile::new("a.plan", printed.as_str()));
        assert_eq!(formatted.unwrap(), printed, "{name} is not canonical");
        let again = syntax::parse(&SourceFile::new("a.plan", printed.as_str()));
        assert_eq!(
            json::encode(&again.file).unwrap(),
            value,
            "{name}\n{printed}"
        );
        gone += 1;
    }
    assert!(gone > 150, "only {gone} plans were tried");
}

#[test]
fn export_gives_the_other_form_and_fmt_leaves_json_alone() {
    let text = "/// One.\nplan p(n: int = 1) -> int {\n    reply n + 1\n}\n";
    let folder = folder([("a.plan", text)]);
    let within = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    let exported = within(&["export", "a.plan"]).stdout;
    let path = folder.path().join("b.plan.json");
    std::fs::write(&path, &exported).unwrap();
    assert_eq!(within(&["export", "b.plan.json"]).stdout, text);
    assert_eq!(
        within(&["export", "b.plan.json", "--format", "json"]).stdout,
        exported
    );
    assert_eq!(
        within(&["export", "a.plan", "--format", "text"]).stdout,
        text
    );
    let formatted = within(&["fmt"]);
    assert_eq!(formatted.status, 0, "{formatted:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), exported);
}

#[test]
fn characters_that_nobody_sees_stay_escapes_in_both_forms() {
    let text = "plan p(by: bytes, t: string) -> any {\n    reply [by, t, \"a\\u202eb\\u200bc\\ufeff\"]\n}\n";
    let folder = folder([("a.plan", text)]);
    let within = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    let exported = within(&["export", "a.plan"]).stdout;
    std::fs::write(folder.path().join("b.plan.json"), &exported).unwrap();
    let back = within(&["export", "b.plan.json"]);
    assert_eq!(back.status, 0, "{back:?}");
    assert!(back.stdout.is_ascii(), "{back:?}");
    assert_eq!(within(&["check", "b.plan.json"]).status, 0);
    let fixed = [
        "export",
        "a.plan",
        "--name",
        "q",
        "-i",
        "by=AAFi",
        "-i",
        "t=x\u{202e}$y",
    ];
    let fixed = within(&fixed);
    assert_eq!(
        fixed.stdout.lines().skip(1).take(2).collect::<Vec<_>>(),
        [
            "    let by: bytes = b\"\\x00\\x01\\x62\"",
            "    let t: string = \"x\\U0000202e\\$y\"",
        ],
        "{fixed:?}"
    );
}

#[test]
fn a_renamed_plan_is_called_by_its_new_name() {
    let text = "plan size(n: int) -> int {\n    reply n\n}\n\nplan twice(n: int) -> int {\n    step a = size(n: n)\n    \
                step b = each one in [n] max 2 {\n        step c = do {\n            fail tool.x \"x\" when one > 3\n            \
                yield one\n        }\n            recover tool.x => size(n: size([one]))\n        yield c\n    }\n    \
                reply a + b[0]\n}\n";
    let folder = folder([("a.plan", text)]);
    let made = planrun(["export", "a.plan", "--plan", "size", "--name", "same"])
        .within(folder.path())
        .run();
    let expected = text
        .replace("plan size", "plan same")
        .replace("= size(n", "= same(n")
        .replace("=> size(n", "=> same(n");
    assert_eq!((made.status, made.stdout), (0, expected), "{}", made.stderr);
}

/// The callers pass the input that is fixed, so they are about the original plan, as its tests are.
#[test]
fn plans_that_call_a_plan_are_not_copied_if_an_input_is_fixed() {
    let kept = "plan part(n: int) -> int {\n    reply n\n}\n";
    let text = format!(
        "{kept}\n/// Adds.\nplan add(n: int, m: int) -> int {{\n    step a = part(n: n)\n    reply a + m\n}}\n\n\
         /// Calls.\nplan caller(n: int) -> int {{\n    step a = add(n: n, m: 1)\n    reply a\n}}\n\n\
         // Above.\nplan outer(n: int) -> int {{\n    step a = caller(n: n)\n    reply a\n}}\n"
    );
    let folder = folder([("a.plan", text.as_str())]);
    let made = planrun(["export", "a.plan", "--plan", "add", "-i", "m=2"])
        .within(folder.path())
        .run();
    let expected = format!(
        "{kept}\n/// Adds.\nplan add(n: int) -> int {{\n    let m: int = 2\n    step a = part(n: n)\n    reply a + m\n}}\n"
    );
    let without_comments: String = made
        .stdout
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("// "))
        .collect();
    assert_eq!(
        (made.status, without_comments.trim_end()),
        (0, expected.trim_end()),
        "{}",
        made.stderr
    );
    for caller in ["caller", "outer"] {
        assert!(
            made.stderr
                .contains(&format!("note: `{caller}` is not copied")),
            "{}",
            made.stderr
        );
    }
}

/// Comments have no escapes, so a character of the documentation that nobody sees is written out.
#[test]
fn documentation_is_exported_without_hidden_characters() {
    let json = r#"{"doc": "\u001b[31mred", "items": [{"kind": "plan", "doc": "a\u202eb\tc\r\nd\u200d", "name": "p",
        "returns": "int", "body": [{"kind": "reply", "value": "1"}]}]}"#;
    let folder = folder([("a.plan.json", json)]);
    let exported = planrun(["export", "a.plan.json"])
        .within(folder.path())
        .run();
    assert!(
        exported
            .stdout
            .starts_with("//! \\u{1b}[31mred\n\n/// a\\u{202e}b\tc\n/// d\u{200d}\nplan p()"),
        "{exported:?}"
    );
    let check = planrun(["check", "-"]).stdin(exported.stdout).run();
    assert_eq!(check.status, 0, "{check:?}");
}

/// Lists that have an element in text have one in JSON.
#[test]
fn lists_that_need_an_element_are_not_empty() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    let test = |outcomes: &str| {
        format!(
            r#"{{"items": [{{"kind": "test", "name": "t", "plan": "p", "body": [{{"kind": "mock", "tool": "a.b", "outcomes": {outcomes}}}]}}]}}"#
        )
    };
    let uses = |namespaces: &str| {
        format!(r#"{{"items": [{{"kind": "use", "namespaces": {namespaces}}}]}}"#)
    };
    for (text, is_sound) in [
        (test("[]"), false),
        (test(r#"[{"kind": "generated"}]"#), true),
        (uses("[]"), false),
        (uses(r#"[{"name": "a"}]"#), true),
    ] {
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema.is_valid(&value), is_sound, "{text}");
        let parsed = syntax::parse(&SourceFile::new("a.plan.json", text.as_str()));
        let errors = parsed.diagnostics.iter().filter(|found| found.is_error());
        let messages: Vec<_> = errors.map(|found| found.message.as_str()).collect();
        assert_eq!(messages.is_empty(), is_sound, "{text}: {messages:?}");
        assert!(
            messages
                .iter()
                .all(|message| message.ends_with("must not be empty")),
            "{messages:?}"
        );
    }
}

#[test]
fn a_plain_text_in_place_of_a_value_is_explained_as_a_text() {
    let help = |body: &str| {
        let text = plan_of(body);
        let parsed = syntax::parse(&SourceFile::new("a.plan.json", text.as_str()));
        let errors = parsed.diagnostics.into_iter();
        let found = errors.into_iter().find(Diagnostic::is_error).unwrap();
        (found.help.unwrap_or_default(), found.fix.is_some())
    };
    for (body, text) in [
        (r#"{"kind": "reply", "value": "All done."}"#, "All done."),
        (
            r#"{"kind": "reply", "value": "Closed ${n} tickets"}"#,
            "Closed ${n} tickets",
        ),
        (
            r#"{"kind": "fail", "class": "tool.x", "message": "No ticket found"}"#,
            "No ticket found",
        ),
    ] {
        let expected = format!("if this is a text, write {{\"text\": \"{text}\"}}");
        assert_eq!(help(body), (expected, false), "{body}");
    }
    let (other, _) = help(r#"{"kind": "reply", "value": "n and n"}"#);
    assert!(other.contains("&&"), "{other}");
}

#[test]
fn a_message_begins_with_a_text_in_the_schema_too() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    for (message, is_sound) in [
        (r#"{"text": "no ${n}"}"#, true),
        (r#""'no' + n""#, true),
        (r#""(\"no ${n}\")""#, true),
        (r#""n""#, false),
        ("1.5", false),
        ("{}", false),
        (r#"[["a"]]"#, false),
        (r#"{"text": null}"#, false),
    ] {
        let body = format!(r#"{{"kind": "fail", "class": "tool.x", "message": {message}}}"#);
        let text = plan_of(&body);
        let value: Value = serde_json::from_str(&text).unwrap();
        let parsed = syntax::parse(&SourceFile::new("a.plan.json", text.as_str()));
        let is_read = !parsed.diagnostics.iter().any(Diagnostic::is_error);
        let found = (schema.is_valid(&value), is_read);
        assert_eq!(found, (is_sound, is_sound), "{message}");
    }
}

/// Back quotes have no escapes.
#[test]
fn names_are_visible() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    for (name, is_sound) in [
        ("a b", true),
        ("a\u{200d}b", true),
        ("a\u{202e}b", false),
        ("a\u{85}b", false),
        ("a`b", false),
    ] {
        let value = serde_json::json!({"items": [{"kind": "use", "namespaces": [{"name": name}]}]});
        let parsed = syntax::parse(&SourceFile::new("a.plan.json", value.to_string()));
        let is_read = !parsed.diagnostics.iter().any(Diagnostic::is_error);
        assert_eq!(
            (schema.is_valid(&value), is_read),
            (is_sound, is_sound),
            "{name:?}"
        );
    }
}

/// For any change that makes parsing fail, the schema refuses the file too.
#[test]
fn the_schema_refuses_what_reading_refuses() {
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    let text =
        std::fs::read_to_string(root().join("tests/fixtures/syntax/every-form.plan")).unwrap();
    let value = json::encode(&syntax::parse(&SourceFile::new("a.plan", text)).file).unwrap();
    assert!(schema.is_valid(&value));
    let mut mutants = 0;
    let mut pointers = Vec::new();
    objects_with_kind(&value, "", &mut pointers);
    for pointer in &pointers {
        let changes: [fn(&mut serde_json::Map<String, Value>); 4] = [
            |object| drop(object.insert("unheard_of".into(), Value::from(1))),
            |object| drop(object.insert("kind".into(), Value::from("unheard_of"))),
            |object| drop(object.remove("kind")),
            |object| drop(object.insert("kind".into(), Value::from(5))),
        ];
        for change in changes {
            let mut mutant = value.clone();
            change(
                mutant
                    .pointer_mut(pointer)
                    .unwrap()
                    .as_object_mut()
                    .unwrap(),
            );
            let parsed = syntax::parse(&SourceFile::new("a.plan.json", mutant.to_string()));
            assert!(
                parsed.diagnostics.iter().any(Diagnostic::is_error),
                "read: {pointer}"
            );
            assert!(!schema.is_valid(&mutant), "valid: {pointer}");
            mutants += 1;
        }
    }
    assert!(mutants > 200, "{mutants}");
}

fn objects_with_kind(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("kind") {
                found.push(pointer.to_owned());
            }
            map.iter().for_each(|(key, value)| {
                objects_with_kind(value, &format!("{pointer}/{key}"), found);
            });
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| {
                objects_with_kind(value, &format!("{pointer}/{at}"), found);
            });
        }
        _ => {}
    }
}
