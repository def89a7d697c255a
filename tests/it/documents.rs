//! The generated parts of documents are current, and the output for shells, `man` and models is correct.

use planrun::cli::manual;

use crate::support::{compare, folder, planrun, root};

/// `PLANRUN_BLESS=1 cargo test --test it documents` rewrites them.
#[test]
fn generated_documents_are_current() {
    let codes = format!(
        "# Codes\n\nWhat `planrun check` reports, as `planrun explain CODE` tells it. This page is made from the program; \
         `PLANRUN_BLESS=1 cargo test --test it documents` writes it again.\n\n{}",
        manual::codes()
    );
    current("docs/codes.md", &codes);
    let functions = format!(
        "# Functions\n\nThe functions of expressions, as `planrun explain FUNCTION` describes them; [the language](language.md#expressions) \
         describes the\noperators and the syntax. A signature has the types of the arguments and of the result. `T` is any type, the same one \
         in\nall places of a signature; `T?` is `T` or null. What stands before the point in `T[].take(int)` is the value whose method it is.\n\
         A line with `=>` is an example and its result as JSON. An argument that a function refuses, such as a position beyond the\nend of a \
         list, fails the evaluation with `validation.expression`; if the argument is known before the run, the check reports it.\n\nThis page \
         is generated from the program; update it with `PLANRUN_BLESS=1 cargo test --test it documents`.\n{}",
        manual::functions()
    );
    current("docs/functions.md", &functions);
    current_part("docs/tools.md", "built-in", &manual::tools());
    current_part("docs/cli.md", "commands", &manual::commands());
    current_part("docs/breaking.md", "kinds", &manual::kinds());
}

/// Asserts that the generated part of a document is current.
fn current_part(name: &str, part: &str, text: &str) {
    let document = std::fs::read_to_string(root().join(name)).unwrap();
    let (start, end) = (format!("<!-- generated: {part} -->\n"), "<!-- end -->");
    let (before, rest) = document.split_once(&start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    current(name, &format!("{before}{start}\n{text}{end}{after}"));
}

/// Asserts that a document is current, without printing it: documents are long.
fn current(name: &str, text: &str) {
    let same = compare(&root().join(name), text).is_ok();
    assert!(
        same,
        "{name} is out of date: PLANRUN_BLESS=1 cargo test --test it documents writes it again"
    );
}

#[test]
fn help_knows_every_command_and_wrong_words_get_a_suggestion() {
    let list = planrun(["help"]).run();
    for command in [
        "breaking",
        "check",
        "test",
        "mutate",
        "run",
        "graph",
        "eval",
        "explain",
        "export",
        "fmt",
        "schema",
        "init",
        "mock",
        "completions",
        "man",
    ] {
        assert!(list.stdout.contains(&format!("  {command} ")), "{command}");
        let help = planrun(["help", command]).run();
        assert_eq!(help.status, 0, "{command}");
        assert!(
            help.stdout.contains("Usage: planrun"),
            "{command}: {}",
            help.stdout
        );
    }
    assert!(planrun(["exprot"]).run().stderr.contains("'export'"));
    assert!(
        planrun(["schema", "--catalgo"])
            .run()
            .stderr
            .contains("'--catalog'")
    );
}

/// The tools of the plans below.
const DESK: &str = "
name: desk
tools:
  - name: close
    endpoint: http://127.0.0.1:9/tool
    effect: effect
    parameters: { type: object, properties: { id: { type: integer }, note: { type: string } }, required: [id] }
    returns: { type: object, properties: { closed_at: { type: string } }, required: [closed_at] }
    errors: [{ reason: locked, class: tool.locked, happened: \"no\" }]
";

/// About 4,000 tokens, at 3.5 characters per token.
const LANGUAGE_CHARACTERS: usize = 14_000;

/// Tests for the plans of the language description that have no test of their own, by the head of the plan.
const LANGUAGE_TESTS: [(&str, &str); 2] = [
    (
        "plan care(",
        r#"
test "one of two can be closed" for care {
    given { customer: "ada" }
    mock desk.find => fail transient.unavailable times 2,
        then { tickets: [{ id: 1, open: true }, { id: 2, open: true }, { id: 3, open: false }] }
    mock desk.close(id: 1) => { closed_at: "noon" }
    mock desk.close(id: 2) => fail tool.locked
    mock mail.send => { id: "M1" }
    expect reply == { closed: 1, sent: "M1" } && calls(desk.close) == 6
    expect steps["letter.sent"]?.arguments.body == "Hello ada,\nwe closed 1 tickets."
}

test "nothing can be found, so nobody is told" for care {
    given { customer: "ada" }
    mock desk.find => fail auth.authentication
    expect reply == { closed: 0 } && !ran(mail.send)
}

test "no mail goes out, so what was closed is opened again" for care {
    given { customer: "ada" }
    mock desk.find => { tickets: [{ id: 1, open: true }] }
    mock desk.close => { closed_at: "noon" }
    mock desk.reopen => { open: true }
    mock mail.send => fail tool.bounced
    expect error.class == "denied.policy" && calls(desk.reopen) == 1
}
"#,
    ),
    (
        "plan enrol(",
        r#"
test "who is not there is made" for enrol {
    given { mail: "a@x", tags: ["one", "two"] }
    mock crm.find => {}
    mock crm.create => { id: "new" }
    mock crm.tag(id: "new", tag: "one") => { ok: true }
    mock crm.tag(id: "new") => { ok: false }
    expect reply == ["one", "no two"]
}

test "who is there is not made again" for enrol {
    given { mail: "a@x", tags: [] }
    mock crm.find => { id: "old" }
    expect reply == [] && !ran(crm.create)
}
"#,
    ),
];

/// Returns the fenced blocks of a kind in a document.
fn fenced<'t>(text: &'t str, kind: &str) -> Vec<&'t str> {
    let fence = format!("```{kind}\n");
    text.split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

/// The language description for models is correct: its plans have no findings and behave as described, its expressions
/// have the stated values, and its mistakes have the stated diagnostic while their corrections have none.
#[test]
fn c13_the_language_in_four_thousand_tokens_is_true() {
    let text = planrun(["explain", "--language"]).run().stdout;
    let characters = text.chars().count();
    assert!(characters <= LANGUAGE_CHARACTERS, "{characters} characters");
    let plans = fenced(&text, "plan");
    assert!(plans.len() >= 4);
    for plan in plans {
        let tests = LANGUAGE_TESTS
            .iter()
            .find(|(head, _)| plan.contains(head))
            .map_or("", |(_, tests)| tests);
        assert!(
            !tests.is_empty() || plan.contains("\ntest \""),
            "nothing runs {plan}"
        );
        let folder = folder([("a.plan", format!("{plan}\n{tests}"))]);
        let check = planrun(["check", "--deny", "warnings", "a.plan"])
            .within(folder.path())
            .run();
        assert_eq!(
            (check.status, check.stdout.as_str()),
            (0, ""),
            "{}\n{plan}",
            check.stderr
        );
        let ran = planrun(["test", "a.plan"]).within(folder.path()).run();
        assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    }
    assert!(check_true(&text) >= 10);
}

/// Asserts that each line of the blocks that a document fences as true is true, and returns their number.
fn check_true(text: &str) -> usize {
    let lines = fenced(text, "true").into_iter().flat_map(str::lines);
    let mut count = 0;
    for line in lines {
        count += 1;
        let expression = line.split(" // ").next().unwrap();
        let value = planrun(["eval", expression]).run();
        assert_eq!(
            value.stdout.trim(),
            "true",
            "{expression}: {}",
            value.stderr
        );
    }
    count
}

#[test]
fn what_the_language_reference_calls_true_is_true() {
    let text = std::fs::read_to_string(root().join("docs/language.md")).unwrap();
    assert!(check_true(&text) >= 9);
}

/// The statements, clauses and settings that the description lists without an example.
#[test]
fn c13_each_form_that_the_language_lists_is_one() {
    let forms = std::fs::read_to_string(root().join("tests/fixtures/language/forms.plan")).unwrap();
    let folder = folder([("forms.plan", forms)]);
    let check = planrun(["check", "--deny", "warnings", "forms.plan"])
        .within(folder.path())
        .run();
    assert_eq!(
        (check.status, check.stdout.as_str()),
        (0, ""),
        "{}",
        check.stderr
    );
    let test = planrun(["test", "forms.plan"]).within(folder.path()).run();
    assert_eq!(test.status, 0, "{}{}", test.stdout, test.stderr);
}

/// Wraps the statements of a mistake, or of its correction, in a plan.
fn with_kit(statements: &str) -> String {
    format!(
        "use kit, sys\n\ntool kit.find(q: string) -> {{ name: string, n?: int }} read\n\
         tool kit.act(x: string) -> {{ id: string }} effect\n\n\
         plan p(s: string, n: int, xs: string[], flag: bool, r: Result<string>[]) -> any {{\n    {statements}\n}}\n"
    )
}

#[test]
fn c13_each_mistake_that_the_language_tells_has_its_finding_and_its_remedy() {
    let text = planrun(["explain", "--language"]).run().stdout;
    let mistakes = fenced(&text, "instead").concat();
    assert!(mistakes.lines().count() >= 10);
    for line in mistakes.lines() {
        let (wrong, rest) = line.split_once(" // ").unwrap();
        let (code, right) = rest.split_once(": ").unwrap();
        for (statements, expected) in [(wrong, vec![code]), (right, vec![])] {
            let folder = folder([("a.plan", with_kit(statements))]);
            let check = planrun(["check", "--format", "json", "a.plan"])
                .within(folder.path())
                .run()
                .json();
            let found = check["diagnostics"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|found| found["severity"] == "error");
            let found: Vec<&str> = found.map(|found| found["code"].as_str().unwrap()).collect();
            assert_eq!(found, expected, "{statements}");
        }
    }
}

#[test]
fn explain_lists_groups_and_suggests() {
    let list = planrun(["explain"]).run().stdout;
    for group in ["Text\n", "Names\n", "Types\n", "Failure\n"] {
        assert!(list.contains(group), "{group}");
    }
    let unknown = planrun(["explain", "unknown-toool"]).run();
    assert_eq!(unknown.status, 2);
    assert!(
        unknown.stderr.contains("did you mean `unknown-tool`?"),
        "{}",
        unknown.stderr
    );
}

/// Returns the cells of the table rows below this heading row.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .skip_while(|line| *line != heading)
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    lines.map(cells).collect()
}

/// Returns the backquoted words of a text.
fn words(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_kind_that_tests_speak_of_is_documented() {
    use planrun_test::plantest::{coverage, mutate};
    let text = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let documented = |heading: &str| {
        let mut documented: Vec<String> = rows(&text, heading)
            .iter()
            .map(|row| words(&row[0])[0].to_owned())
            .collect();
        documented.sort();
        documented
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let goals = coverage::Kind::ALL.map(|kind| kind.name().to_owned());
    assert_eq!(
        documented("| kind | reached, each |"),
        sorted(goals.to_vec())
    );
    let changes = mutate::Kind::ALL.map(|kind| kind.name().to_owned());
    assert_eq!(documented("| kind | changes |"), sorted(changes.to_vec()));
    let source = std::fs::read_to_string(
        root().join("crates/planrun-test/src/plantest/explore/invariants.rs"),
    )
    .unwrap();
    let names = regex::Regex::new(r#"(?m)^ +Self::\w+(?:\(_\))? => "([a-z-]+)",$"#).unwrap();
    let names: Vec<String> = names
        .captures_iter(&source)
        .map(|found| found[1].to_owned())
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    assert_eq!(documented("| name | what must never be |"), sorted(names));
}

/// A plan, and a test that does not cover its `recover` arm.
const HALF_TESTED: &str = r#"
use desk

plan done(id: int) -> string? {
    step closed = desk.close(id: id)
        recover tool.locked => null
    reply closed?.closed_at
}

test "it is closed" for done {
    given { id: 7 }
    mock desk.close => { closed_at: "noon" }
    expect reply == "noon"
}
"#;

/// Collects the paths of all keys of a document. The elements of a list share one path.
fn keys(value: &serde_json::Value, above: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                let key = format!("{above}.{key}");
                keys(value, &key, found);
                found.insert(key);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, above, found)),
        _ => {}
    }
}

#[test]
fn documents_of_tests_have_the_keys_that_are_told() {
    let text = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let documented = |before: &str| {
        let block = text
            .split(before)
            .nth(1)
            .unwrap()
            .split("```json\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        serde_json::from_str::<serde_json::Value>(block).unwrap()
    };
    let folder = folder([("apps/desk.yaml", DESK), ("a.plan", HALF_TESTED)]);
    let plan = folder.path().join("a.plan");
    let mutated = planrun(["mutate", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    std::fs::write(&plan, HALF_TESTED.replace("== \"noon\"", "== \"one\"")).unwrap();
    let tested = planrun(["test", "--format", "json", "--coverage=json"])
        .within(folder.path())
        .run()
        .json();
    let reached = std::fs::read_to_string(folder.path().join("coverage.json")).unwrap();
    let documents = [
        ("`test --format json`:", tested),
        (
            "which writes `coverage.json`:",
            serde_json::from_str(&reached).unwrap(),
        ),
        ("`mutate --format json`:", mutated),
    ];
    for (before, printed) in documents {
        let [mut documented_keys, mut printed_keys] = [
            std::collections::BTreeSet::new(),
            std::collections::BTreeSet::new(),
        ];
        keys(&documented(before), "", &mut documented_keys);
        keys(&printed, "", &mut printed_keys);
        // Of the map from kinds, the page describes only one key.
        let others = |key: &String| !key.contains(".kinds.") || key.contains(".kinds.step");
        printed_keys.retain(others);
        assert_eq!(documented_keys, printed_keys, "{before} {printed:#}");
    }
}

const MCP: [&str; 5] = [
    "working",
    "input_required",
    "completed",
    "failed",
    "cancelled",
];
const A2A: [&str; 6] = [
    "SUBMITTED",
    "WORKING",
    "INPUT_REQUIRED",
    "COMPLETED",
    "FAILED",
    "CANCELED",
];

#[test]
fn every_kind_of_event_has_its_name_elsewhere() {
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let rows = rows(
        &text,
        "| event | CloudEvent `type` | `subject` | MCP task | A2A task state |",
    );
    let mut names: Vec<&str> = rows.iter().flat_map(|row| words(&row[0])).collect();
    names.sort_unstable();
    let mut known =
        planrun_core::journal::EventName::ALL.map(planrun_core::journal::EventName::name);
    known.sort_unstable();
    assert_eq!(names, known, "a row each");
    for row in &rows {
        let [event, kind, subject, mcp, a2a] = &row[..] else {
            panic!("{row:?}")
        };
        let event = words(event)[0];
        assert_eq!(words(kind), [format!("planrun.{event}")]);
        assert_eq!(
            event.starts_with("run."),
            subject == "none",
            "only what speaks of the run has no subject: {row:?}"
        );
        let (names, states) = (words(mcp), words(a2a));
        assert!(mcp.contains("same") || !names.is_empty(), "{row:?}");
        assert_eq!(mcp.contains("same"), a2a.contains("same"), "{row:?}");
        assert!(
            names.iter().all(|word| MCP.contains(word)
                || ["confirm", "approval", "input", "answer", "peer"].contains(word)),
            "{row:?}"
        );
        let known = |word: &&str| {
            word.strip_prefix("TASK_STATE_")
                .is_some_and(|state| A2A.contains(&state))
        };
        assert!(
            states.iter().all(|word| known(word)
                || ["confirm", "approval", "input", "answer", "peer"].contains(word)),
            "{row:?}"
        );
    }
}

#[test]
fn every_state_has_its_name_elsewhere() {
    use planrun_lang::protocol::{RunState, StepState};
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let runs = rows(&text, "| run | MCP task | A2A task state |");
    let steps = rows(&text, "| step | MCP task | A2A task state |");
    let named = |rows: &[Vec<String>]| {
        let mut names: Vec<String> = rows
            .iter()
            .map(|row| words(&row[0])[0].to_owned())
            .collect();
        names.dedup();
        names
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(
        sorted(named(&runs)),
        sorted(RunState::ALL.map(|state| state.name().to_owned()).to_vec())
    );
    assert_eq!(
        sorted(named(&steps)),
        sorted(StepState::ALL.map(|state| state.name().to_owned()).to_vec())
    );
    for row in runs.iter().chain(&steps) {
        let (mcp, a2a) = (words(&row[1])[0], words(&row[2])[0]);
        let expected = match mcp {
            "working" => &["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"][..],
            "input_required" => &["TASK_STATE_INPUT_REQUIRED"],
            "completed" => &["TASK_STATE_COMPLETED"],
            "failed" => &["TASK_STATE_FAILED"],
            "cancelled" => &["TASK_STATE_CANCELED"],
            other => panic!("{other} is no state of an MCP task"),
        };
        assert!(expected.contains(&a2a), "{row:?}");
        assert_eq!(
            row[0].contains("`unknown`") || row[0].contains("`stalled`"),
            mcp == "failed" && !row[0].contains("`failed`")
        );
    }
}

#[test]
fn the_worked_cloud_event_is_one_of_an_event_as_it_is_told() {
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let example = text
        .split("```json\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    let data = &example["data"];
    let event = planrun_core::journal::Event::peek(data.to_string().as_bytes()).unwrap();
    let run = example["source"]
        .as_str()
        .unwrap()
        .strip_prefix("/runs/")
        .unwrap();
    assert_eq!(example["id"], format!("{run}/{}", event.number));
    assert_eq!(example["type"], format!("planrun.{}", event.name()));
    assert_eq!(
        (&example["subject"], &example["time"]),
        (&data["path"], &data["at"])
    );
    assert_eq!(
        (&example["specversion"], &example["datacontenttype"]),
        (&"1.0".into(), &"application/json".into())
    );
    let completed = planrun_lang::protocol::StepState::Completed;
    assert!(matches!(
        event.kind,
        planrun_core::journal::EventKind::StepSettled { state, .. } if state == completed
    ));
}

#[test]
fn every_kind_of_event_is_documented() {
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    for name in planrun_core::journal::EventName::ALL {
        assert!(
            text.contains(&format!("\n| `{}` |", name.name())),
            "docs/events.md has no row for {}",
            name.name()
        );
    }
}

/// Returns the content of the code block with this language on a page.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("no {language} in\n{page}"));
    rest.split_once("```").unwrap().0
}

#[test]
fn d13_every_built_in_tool_has_a_page_whose_example_runs_as_it_says() {
    let mock = crate::support::Mock::start([]);
    let tools = planrun_tools::tools::pages::built_in();
    assert_eq!(tools.len(), 11);
    for tool in &tools {
        let page = planrun_tools::tools::pages::page(tool);
        let files = [
            ("example.plan", block(&page, "plan")),
            ("data/greeting.txt", "Good morning\n"),
        ];
        let place = folder(files);
        let formatted = planrun(["fmt", "--check", "example.plan"])
            .within(place.path())
            .run();
        assert_eq!(formatted.status, 0, "{}: {formatted:?}", tool.path());
        let checked = planrun(["check", "--deny", "warnings", "example.plan"])
            .within(place.path())
            .run();
        assert_eq!(checked.status, 0, "{}: {checked:?}", tool.path());
        let mut run = planrun(["run", "example.plan", "--no-journal", "--format", "json"])
            .within(place.path());
        if tool.path() == "http.fetch" {
            run = run
                .argument("-i")
                .argument(format!("address={}", mock.address()));
        }
        let run = run.run();
        assert_eq!(run.status, 0, "{}: {run:?}", tool.path());
        let reply: serde_json::Value = serde_json::from_str(block(&page, "json")).unwrap();
        assert_eq!(run.json()["reply"], reply, "{}", tool.path());
    }
}

#[test]
fn d13_explain_tells_of_tools_and_namespaces_and_what_was_meant() {
    let explained = planrun(["explain", "http.fetch"]).run();
    assert_eq!(explained.status, 0, "{explained:?}");
    for words in [
        "method?: ",
        "-> { status: int, headers: map<string, string>, body: any",
        "effect fails failed",
        "url: An HTTP or HTTPS URL.",
        "503      transient.unavailable   sent: no",
        "500      transient.unavailable   sent: maybe",
        "8 MiB",
        "allow {",
        "cannot be read",
        "use http",
    ] {
        assert!(
            explained.stdout.contains(words),
            "{words}: {}",
            explained.stdout
        );
    }
    let namespace = planrun(["explain", "fs"]).run();
    let names: Vec<&str> = namespace
        .stdout
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(names, ["fs.list", "fs.read", "fs.write"]);
    let all = planrun(["explain"]).run().stdout;
    assert!(
        all.contains("Built-in tools") && all.contains("proc.run") && all.contains("unknown-field"),
        "{all}"
    );
    let misspelt = planrun(["explain", "http.fech"]).run();
    assert_eq!(
        (
            misspelt.status,
            misspelt.stderr.contains("did you mean `http.fetch`?")
        ),
        (2, true),
        "{misspelt:?}"
    );
    let misspelt = planrun(["explain", "unknown-feild"]).run();
    assert!(misspelt.stderr.contains("unknown-field"), "{misspelt:?}");
}
