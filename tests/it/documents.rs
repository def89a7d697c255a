//! Documents that are made from the program are current, and what it prints for shells, `man` and models holds.

use planrun::cli::manual;

use crate::support::{compare, folder, planrun, root};

/// `PLANRUN_BLESS=1 cargo test --test it documents` writes them again.
#[test]
fn generated_documents_are_current() {
    let codes = format!(
        "# Codes\n\nWhat `planrun check` reports, as `planrun explain CODE` tells it. This page is made from the program; \
         `PLANRUN_BLESS=1 cargo test --test it documents` writes it again.\n\n{}",
        manual::codes()
    );
    current("docs/codes.md", &codes);
    current_part("docs/cli.md", "commands", &manual::commands());
    current_part("docs/breaking.md", "kinds", &manual::kinds());
}

/// Whether the part of a document that is made from the program says what it should.
fn current_part(name: &str, part: &str, text: &str) {
    let document = std::fs::read_to_string(root().join(name)).unwrap();
    let (start, end) = (format!("<!-- generated: {part} -->\n"), "<!-- end -->");
    let (before, rest) = document.split_once(&start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    current(name, &format!("{before}{start}\n{text}{end}{after}"));
}

/// Whether a document says what it should; the documents are long, so nobody wants to see both.
fn current(name: &str, text: &str) {
    let same = compare(&root().join(name), text).is_ok();
    assert!(same, "{name} is out of date: PLANRUN_BLESS=1 cargo test --test it documents writes it again");
}

#[test]
fn shells_get_completions_and_man_gets_pages() {
    for (shell, sign) in [("bash", "_planrun()"), ("zsh", "#compdef planrun"), ("fish", "complete -c planrun")] {
        let output = planrun(["completions", shell]).run();
        assert_eq!(output.status, 0);
        assert!(output.stdout.contains(sign) && output.stdout.contains("check"), "{shell}");
    }
    assert_eq!(planrun(["completions", "cmd"]).run().status, 2);
    let page = planrun(["man", "check"]).run();
    assert!(page.stdout.contains(".TH planrun-check 1") && page.stdout.contains("deny"), "{}", page.stdout);
    assert!(planrun(["man", "chekc"]).run().stderr.contains("did you mean `check`?"));
    let folder = folder([("readme.txt", "")]);
    assert_eq!(planrun(["man", "--out", "man1"]).within(folder.path()).run().status, 0);
    for page in ["planrun.1", "planrun-run.1", "planrun-export.1"] {
        assert!(folder.path().join("man1").join(page).exists(), "{page}");
    }
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
        assert!(help.stdout.contains("Usage: planrun"), "{command}: {}", help.stdout);
    }
    assert!(planrun(["exprot"]).run().stderr.contains("'export'"));
    assert!(planrun(["schema", "--catalgo"]).run().stderr.contains("'--catalog'"));
}

/// The tools that the examples of the language call.
const DESK: &str = "
name: desk
tools:
  - name: find
    endpoint: http://127.0.0.1:9/tool
    effect: read
    parameters: { type: object, properties: { customer: { type: string } }, required: [customer] }
    returns:
      type: object
      properties:
        tickets:
          type: array
          items: { type: object, properties: { id: { type: integer }, state: { type: string } }, required: [id, state] }
      required: [tickets]
    mock: { tickets: [{ id: 1, state: open }, { id: 2, state: closed }] }
  - name: close
    endpoint: http://127.0.0.1:9/tool
    effect: effect
    parameters: { type: object, properties: { id: { type: integer }, note: { type: string } }, required: [id] }
    returns: { type: object, properties: { closed_at: { type: string } }, required: [closed_at] }
    errors: [{ reason: locked, class: tool.locked, happened: \"no\" }]
    mock: { closed_at: now }
";
const MAIL: &str = "
name: mail
tools:
  - name: send
    endpoint: http://127.0.0.1:9/tool
    effect: effect
    parameters:
      type: object
      properties: { to: { type: string }, subject: { type: string }, body: { type: string } }
      required: [to, subject, body]
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock: { id: M1 }
";

/// What a model is told of the language is true: its plans are without a finding, and run.
#[test]
fn the_language_in_two_pages_is_true_and_short() {
    let text = planrun(["explain", "--language"]).run().stdout;
    // Four bytes of English make a token, of code three: this is about 2,000.
    assert!(text.len() < 7000, "{} bytes", text.len());
    let plans: Vec<_> = text.split("```plan\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert!(!plans.is_empty());
    for plan in plans {
        let folder = folder([("apps/desk.yaml", DESK), ("apps/mail.yaml", MAIL), ("a.plan", plan)]);
        let check = planrun(["check", "--deny", "warnings", "a.plan"]).within(folder.path()).run();
        assert_eq!((check.status, check.stdout.as_str()), (0, ""), "{}", check.stderr);
        let run = planrun(["run", "a.plan", "--mock", "-i", "customer=ada"]).within(folder.path()).run();
        assert_eq!(run.status, 0, "{run:?}");
        assert_eq!(run.json(), serde_json::json!({ "closed": 1, "told": true, "sent": "M1" }));
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
    assert!(unknown.stderr.contains("did you mean `unknown-tool`?"), "{}", unknown.stderr);
}

/// The cells of the rows of a table below this heading row.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.map(cells).collect()
}

/// The words in backquotes of a text.
fn words(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_kind_that_tests_speak_of_is_documented() {
    use planrun::plantest::{coverage, mutate};
    let text = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let told = |heading: &str| {
        let mut told: Vec<String> = rows(&text, heading).iter().map(|row| words(&row[0])[0].to_owned()).collect();
        told.sort();
        told
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let goals = coverage::Kind::ALL.map(|kind| kind.word().to_owned());
    assert_eq!(told("| kind | reached, each |"), sorted(goals.to_vec()));
    let changes = mutate::Kind::ALL.map(|kind| kind.name().to_owned());
    assert_eq!(told("| kind | changes |"), sorted(changes.to_vec()));
    let source = std::fs::read_to_string(root().join("src/plantest/explore/invariants.rs")).unwrap();
    let names = regex::Regex::new(r#"(?m)^ +Self::\w+(?:\(_\))? => "([a-z-]+)",$"#).unwrap();
    let names: Vec<String> = names.captures_iter(&source).map(|found| found[1].to_owned()).collect();
    assert!(names.len() >= 10, "{names:?}");
    assert_eq!(told("| name | what must never be |"), sorted(names));
}

/// A plan, and a test that does not reach its arm.
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

/// The keys of a document, each with all that stand above it. What lists hold is taken together.
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
    let told = |before: &str| {
        let block = text.split(before).nth(1).unwrap().split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        serde_json::from_str::<serde_json::Value>(block).unwrap()
    };
    let folder = folder([("apps/desk.yaml", DESK), ("a.plan", HALF_TESTED)]);
    let plan = folder.path().join("a.plan");
    let mutated = planrun(["mutate", "--format", "json"]).within(folder.path()).run().json();
    std::fs::write(&plan, HALF_TESTED.replace("== \"noon\"", "== \"one\"")).unwrap();
    let tested = planrun(["test", "--format", "json", "--coverage=json"]).within(folder.path()).run().json();
    let reached = std::fs::read_to_string(folder.path().join("coverage.json")).unwrap();
    let documents = [
        ("`test --format json`:", tested),
        ("which writes `coverage.json`:", serde_json::from_str(&reached).unwrap()),
        ("`mutate --format json`:", mutated),
    ];
    for (before, printed) in documents {
        let [mut told_keys, mut printed_keys] = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
        keys(&told(before), "", &mut told_keys);
        keys(&printed, "", &mut printed_keys);
        // Of the kinds, which are keys too, one is told for all.
        let others = |key: &String| !key.contains(".kinds.") || key.contains(".kinds.step");
        printed_keys.retain(others);
        assert_eq!(told_keys, printed_keys, "{before} {printed:#}");
    }
}

const MCP: [&str; 5] = ["working", "input_required", "completed", "failed", "cancelled"];
const A2A: [&str; 6] = ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED", "CANCELED"];

#[test]
fn every_kind_of_event_has_its_name_elsewhere() {
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let rows = rows(&text, "| event | CloudEvent `type` | `subject` | MCP task | A2A task state |");
    let mut names: Vec<&str> = rows.iter().flat_map(|row| words(&row[0])).collect();
    names.sort_unstable();
    let mut known = planrun::journal::EventName::ALL.map(planrun::journal::EventName::name);
    known.sort_unstable();
    assert_eq!(names, known, "a row each");
    for row in &rows {
        let [event, kind, subject, mcp, a2a] = &row[..] else { panic!("{row:?}") };
        let event = words(event)[0];
        assert_eq!(words(kind), [format!("planrun.{event}")]);
        assert_eq!(event.starts_with("run."), subject == "none", "only what speaks of the run has no subject: {row:?}");
        let (told, states) = (words(mcp), words(a2a));
        assert!(mcp.contains("same") || !told.is_empty(), "{row:?}");
        assert_eq!(mcp.contains("same"), a2a.contains("same"), "{row:?}");
        assert!(told.iter().all(|word| MCP.contains(word) || ["confirm", "input", "answer"].contains(word)), "{row:?}");
        let known = |word: &&str| word.strip_prefix("TASK_STATE_").is_some_and(|state| A2A.contains(&state));
        assert!(states.iter().all(|word| known(word) || ["confirm", "input", "answer"].contains(word)), "{row:?}");
    }
}

#[test]
fn every_state_has_its_name_elsewhere() {
    use planrun::protocol::{RunState, StepState};
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let runs = rows(&text, "| run | MCP task | A2A task state |");
    let steps = rows(&text, "| step | MCP task | A2A task state |");
    let named = |rows: &[Vec<String>]| {
        let mut names: Vec<String> = rows.iter().map(|row| words(&row[0])[0].to_owned()).collect();
        names.dedup();
        names
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(named(&runs)), sorted(RunState::ALL.map(|state| state.name().to_owned()).to_vec()));
    assert_eq!(sorted(named(&steps)), sorted(StepState::ALL.map(|state| state.name().to_owned()).to_vec()));
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
    let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    let data = &example["data"];
    let entry = planrun::journal::Entry::read(data.to_string().as_bytes()).unwrap();
    let run = example["source"].as_str().unwrap().strip_prefix("/runs/").unwrap();
    assert_eq!(example["id"], format!("{run}/{}", entry.number));
    assert_eq!(example["type"], format!("planrun.{}", entry.event.name()));
    assert_eq!((&example["subject"], &example["time"]), (&data["path"], &data["at"]));
    assert_eq!((&example["specversion"], &example["datacontenttype"]), (&"1.0".into(), &"application/json".into()));
    assert_eq!(entry.step_state(), Some(planrun::protocol::StepState::Completed));
}

#[test]
fn every_kind_of_event_is_documented() {
    let text = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    for name in planrun::journal::EventName::ALL {
        assert!(text.contains(&format!("\n| `{}` |", name.name())), "docs/events.md has no row for {}", name.name());
    }
}
