//! Mutants of plans: which exist, that each is a distinct text, and the output of the command.

use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{self, json};
use planrun_test::plantest::mutate::{Kind, Mutant, mutants};

use super::kit::bench;
use crate::support::{Program, folder, planrun, root};

const EVERYTHING: &str = r#"use api, mail

tool api.find(id: int, deep?: bool) -> { n: int, kind: "a" | "b" } read fails gone, late
tool api.post(id: int, note: string) -> { n: int } effect fails full
tool api.drop(id: int) -> { n: int } idempotent
tool mail.send(to: string) -> { id: string } effect

plan everything(id: int, names: string[]) -> { n: int, note: string } {
    policy { retry: { attempts: 3, on: [transient, tool.late] } }
    task stage "Where" statuses [open, closed] { n: int }
    step found = api.find(id: id, deep: true)
        recover tool.gone, tool.late as e => { n: 0, kind: "a" }
    step again = api.find(id: found.n + 1)
        until again.n >= 3 every 1m
        within 1h
    let large = found.n > 5
    step posted = api.post(id: 1, note: "for ${id}")
        when large && id < 9 || id == 3
        confirm "Post?"
        retry { attempts: 2, on: [tool.full, transient] }
        verify api.find(id: 1) as v => v.n <= 1 gives { n: v.n }
        undo api.drop(id: 1)
    step second = api.post(id: id > 2 ? 5 : 6, note: "")
        after found
    step letters = each name in names max 5 {
        step sent = mail.send(to: name ?? "nobody")
        yield sent.id when name != "skip"
    }
    step rounds = repeat n = 0 max 3 {
        yield n
        next n + 1 when n < 2
    }
    step either = match found.kind {
        "a" => api.post(id: 7, note: "x"),
        "b" => do {
            step inner = api.post(id: 8, note: "y")
            yield inner
        },
    }
    if !large {
        set stage closed { n: 2 } when id != 4
    } else {
        set stage open { n: 3 }
    }
    listener told on stage is closed when stage.n > 1 {
        step shout = mail.send(to: "all" + "?")
    }
    ensure found.n >= 0 else "less than nothing"
    fail tool.full "too much" when found.n > 100
    reply { n: 1, note: "early" } when id == 99
    reply { n: either.n, note: "late" }
}
"#;

#[test]
fn d5_a_plan_with_every_construct_has_these_mutants() {
    let source = SourceFile::new("everything.plan", EVERYTHING);
    let parsed = syntax::parse(&source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = mutants(&source, &parsed.file, &|_| true);
    let line = |mutant: &planrun_test::plantest::mutate::Mutant| {
        let place = source.position(mutant.span.start);
        let edits = mutant.edits.iter().map(|edit| {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!(
                "`{}` → `{}`",
                words(source.slice(edit.span)),
                words(&edit.text)
            )
        });
        format!(
            "{}:{} [{}] {}: {}",
            place.line,
            place.column,
            mutant.kind.name(),
            mutant.what,
            edits.collect::<Vec<_>>().join(", ")
        )
    };
    insta::assert_snapshot!(
        "mutants",
        found.iter().map(line).collect::<Vec<_>>().join("\n")
    );
    for kind in Kind::ALL {
        assert!(
            found.iter().any(|mutant| mutant.kind == kind),
            "{}",
            kind.name()
        );
    }
}

/// Each mutant of every plan of the project is a distinct text that still parses, and its change is the one it
/// describes.
#[test]
fn every_mutant_is_another_plan_that_parses() {
    let mut tried = 0;
    let mut texts = vec![("everything".to_owned(), EVERYTHING.to_owned())];
    for entry in std::fs::read_dir(root().join("plans")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "plan") {
            texts.push((
                path.display().to_string(),
                std::fs::read_to_string(&path).unwrap(),
            ));
        }
    }
    for (name, text) in texts {
        let source = SourceFile::new("a.plan", text.as_str());
        let parsed = syntax::parse(&source);
        let mut seen = std::collections::BTreeSet::new();
        for mutant in mutants(&source, &parsed.file, &|_| true) {
            let changed = mutant.apply(&source).unwrap();
            assert_ne!(changed, text, "{name}: {}", mutant.what);
            assert!(
                seen.insert(changed.clone()),
                "{name}: two mutants are the same: {}",
                mutant.what
            );
            let found = syntax::parse(&SourceFile::new("a.plan", changed.as_str())).diagnostics;
            assert!(
                found.is_empty(),
                "{name}: {}: {found:?}\n{changed}",
                mutant.what
            );
            tried += 1;
        }
        let form = json::text(&json::encode(&parsed.file).unwrap());
        let form = SourceFile::new("a.plan.json", form);
        let of_json = mutants(&form, &syntax::parse(&form).file, &|_| true);
        let is_plan = |mutant: &Mutant| {
            let changed = mutant.apply(&form).unwrap();
            let again = syntax::parse(&SourceFile::new("a.plan.json", changed));
            again.diagnostics.is_empty()
        };
        assert_eq!(of_json.len(), seen.len(), "{name}");
        assert!(of_json.iter().all(is_plan), "{name}");
    }
    assert!(tried > 200, "{tried}");
}

const TESTED: &str = r#"use api

tool api.find(id: int) -> { n: int } read

plan it(id: int) -> string {
    step found = api.find(id: id)
    reply "many" when found.n > 5
    reply "few"
}

test "many" for it {
    given { id: 1 }
    mock api.find => { n: 9 }
    expect reply == "many"
}
"#;

#[test]
fn d5_the_command_counts_what_tests_notice() {
    let folder = folder([("it.plan", TESTED)]);
    let run = |arguments: &[&str]| {
        arguments
            .iter()
            .fold(planrun(["mutate"]), Program::argument)
            .within(folder.path())
            .run()
    };
    let output = run(&["."]);
    assert_eq!(output.status, 0, "{output:?}");
    insta::assert_snapshot!("mutate", output.stdout);
    assert_eq!(run(&[".", "--min", "100"]).status, 1);
    assert_eq!(run(&[".", "--min", "1"]).status, 0);
    let document = run(&[".", "--format", "json"]).json();
    insta::assert_snapshot!("mutate.json", format!("{document:#}"));
    let mutants = document["mutants"].as_array().unwrap();
    let fates = |fate: &str| {
        mutants
            .iter()
            .filter(|mutant| mutant["fate"] == fate)
            .count()
    };
    assert!(fates("killed") > 0 && fates("survived") > 0, "{document:#}");
    // Another test kills the rest.
    let more = TESTED.to_owned()
        + "\ntest \"few\" for it {\n    given { id: 1 }\n    mock api.find(id: 1) => { n: 5 }\n    expect reply == \"few\"\n}\n\ntest \"one more\" for it {\n    given { id: 1 }\n    mock api.find => { n: 6 }\n    expect reply == \"many\"\n}\n";
    std::fs::write(folder.path().join("it.plan"), more).unwrap();
    assert_eq!(
        run(&[".", "--min", "100"]).status,
        0,
        "{}",
        run(&["."]).stdout
    );
}

#[test]
fn what_fails_or_is_broken_is_not_mutated() {
    let failing = TESTED.replace("n: 9", "n: 1");
    let folder = folder([("it.plan", failing.as_str())]);
    let output = planrun(["mutate", "."]).within(folder.path()).run();
    assert_eq!((output.status, output.stdout.as_str()), (3, ""));
    assert_eq!(
        output.stderr,
        "error: the test \"many\" of `it.plan` fails without any mutation; run `planrun test it.plan` for details\n"
    );
    std::fs::write(
        folder.path().join("it.plan"),
        TESTED.replace("found.n >", "fund.n >"),
    )
    .unwrap();
    let output = planrun(["mutate", "."]).within(folder.path()).run();
    assert_eq!(output.status, 3);
    assert!(
        output
            .stderr
            .contains("run `planrun check it.plan` for details"),
        "{}",
        output.stderr
    );
    assert_eq!(
        planrun(["mutate", "nowhere"])
            .within(folder.path())
            .run()
            .status,
        3
    );
}

/// The JSON form of a plan has the mutants of its text form, with the same fates.
#[test]
fn both_forms_of_a_plan_have_the_same_mutants() {
    let place = folder([("it.plan", TESTED), ("all.plan", EVERYTHING)]);
    assert_eq!(planrun(["fmt"]).within(place.path()).run().status, 0);
    let document = |name: &str, form: &str| {
        if form == "json" {
            let plan = format!("{name}.plan");
            let exported = planrun(["export", &plan]).within(place.path()).run();
            assert_eq!(exported.status, 0, "{exported:?}");
            std::fs::write(place.path().join(format!("{plan}.json")), exported.stdout).unwrap();
        }
        let file = format!("{name}.plan{}", if form == "json" { ".json" } else { "" });
        let arguments = ["mutate", &file, "--format", "json"];
        let mut document = planrun(arguments).within(place.path()).run().json();
        for mutant in document["mutants"].as_array_mut().unwrap() {
            let fields = mutant.as_object_mut().unwrap();
            assert_eq!(fields.remove("file").unwrap(), file);
            fields.remove("line");
            fields.remove("column");
        }
        let mutants = document["mutants"].as_array_mut().unwrap();
        mutants.sort_by_key(ToString::to_string);
        document
    };
    for name in ["it", "all"] {
        let [text, json] = ["text", "json"].map(|form| document(name, form));
        assert_eq!(text, json);
    }
    let listed = planrun(["mutate", "it.plan.json"])
        .within(place.path())
        .run();
    let place_of = |line: &str| -> Vec<usize> {
        let place = line.split(' ').nth(2).unwrap();
        place
            .split(':')
            .filter_map(|part| part.parse().ok())
            .collect()
    };
    let form = std::fs::read_to_string(place.path().join("it.plan.json")).unwrap();
    let survivor = listed
        .stdout
        .lines()
        .find(|line| line.contains("`>` → `>=`"));
    let place = place_of(survivor.unwrap());
    let line = form.lines().nth(place[0] - 1).unwrap();
    assert!(line[place[1] - 1..].starts_with("> 5"), "{line}");
}

#[test]
fn conditions_of_a_verify_are_reached_when_it_runs() {
    let text = r#"use api

tool api.find(id: int) -> { n: int } read
tool api.post(id: int) -> { n: int } effect
tool api.drop(id: int) -> { n: int } idempotent

plan it(id: int) -> int {
    step posted = api.post(id: id)
        verify api.find(id: id) as v => v.n > 2
        undo do {
            step dropped = api.drop(id: 1)
        }
    step again = api.post(id: id + 1)
    reply posted.n
}

test "it is there" for it {
    given { id: 1 }
    mock api.post => { n: 1 }
    mock api.find => { n: 9 }
    expect reply == 1
}
"#;
    let folder = folder([("it.plan", text)]);
    let document = planrun(["mutate", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    let fates = |line: u64| -> Vec<String> {
        let mutants = document["mutants"].as_array().unwrap().iter();
        let on_line = mutants.filter(|mutant| mutant["line"] == line);
        let fate = on_line.map(|mutant| format!("{} {}", mutant["fate"], mutant["what"]));
        fate.collect()
    };
    let expected = [
        "\"survived\" \"the `verify` is removed\"",
        "\"killed\" \"the condition is negated\"",
        "\"survived\" \"`>` is replaced by `>=`\"",
    ];
    assert_eq!(fates(9), expected, "{document:#}");
    let of_undo = fates(11);
    assert!(
        of_undo.iter().any(|fate| fate.starts_with("\"uncovered\"")),
        "no test undoes the step: {of_undo:?}"
    );
}

/// Without its recording, the test would fail whatever is changed.
#[test]
fn a_test_with_a_recording_keeps_it_for_every_mutant() {
    let text = r#"use api

tool api.find(id: int) -> { n: int } read

plan it(id: int) -> int {
    step found = api.find(id: id)
    ensure found.n > 0 else "nothing"
    reply 5
}

test "recorded" for it {
    given { id: 1 }
    expect reply == 5
}
"#;
    let bench = bench(text);
    let mut calls = bench.suite.checked.plans[0].tool_calls();
    let contract = calls.next().unwrap().digest();
    let recording = format!(
        "version: 1\ncalls:\n  - path: found\n    call: 1\n    tool: api.find\n    contract: \"{contract}\"\n    arguments:\n      id: 1\n    value:\n      n: 4\n"
    );
    let folder = folder([
        ("it.plan", text),
        ("recordings/it__recorded.yaml", &recording),
    ]);
    let output = planrun(["mutate"]).within(folder.path()).run();
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stdout.contains("the `ensure` is removed"),
        "{}",
        output.stdout
    );
}

/// A minimum that nothing is measured against is not reached.
#[test]
fn without_plans_there_is_no_share() {
    let tests = TESTED.split_once("test \"many\" for it").unwrap();
    let tests = format!(
        "use \"./it.plan\" as it\n\ntest \"many\" for it.it{}",
        tests.1
    );
    let folder = folder([("it.plan", TESTED), ("it.plantest", tests.as_str())]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    for arguments in [
        &["mutate", "it.plantest", "--min", "1"],
        &["test", "it.plantest", "--min", "1"],
    ] {
        let output = run(arguments);
        let error = output.stderr;
        assert_eq!(output.status, 3, "{error}");
        assert!(
            error.starts_with("error: no plans found in `it.plantest`"),
            "{error}"
        );
    }
    assert_eq!(
        run(&["test", "it.plantest", "it.plan", "--min", "1"]).status,
        0
    );
    std::fs::write(folder.path().join("other.plan"), [0xff]).unwrap();
    let output = run(&["mutate", "."]);
    assert_eq!((output.status, output.stdout.as_str()), (3, ""));
    assert!(
        output.stderr.contains("`other.plan` has errors"),
        "{output:?}"
    );
}

const TWO_SYSTEMS: &str = r#"use api, mail

tool api.find(id: int) -> { n: int } read
tool api.post(id: int) -> { n: int } effect
tool mail.look(id: int) -> { n: int } read
tool mail.send(id: int) -> { n: int } effect

plan it(id: int) -> int {
    step found = api.find(id: id)
    step seen = mail.look(id: id)
    step posted = api.post(id: id)
    step sent = mail.send(id: id)
    reply found.n + seen.n + posted.n + sent.n
}

test "all" for it {
    given { id: 1 }
    mock api.find => { n: 1 }
    mock api.post => { n: 1 }
    mock mail.look => { n: 1 }
    mock mail.send => { n: 1 }
    expect reply == 4
    snapshot reply
}
"#;

#[test]
fn calls_of_different_systems_are_swapped_where_their_order_matters() {
    let folder = folder([("it.plan", TWO_SYSTEMS)]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    assert_eq!(run(&["test", "--accept"]).status, 0);
    let document = run(&["mutate", "--format", "json"]).json();
    let mutants = document["mutants"].as_array().unwrap();
    let swapped: Vec<_> = mutants
        .iter()
        .filter(|mutant| mutant["kind"] == "order")
        .map(|mutant| mutant["line"].as_u64().unwrap())
        .collect();
    assert_eq!(swapped, [11, 12], "two reads have no order: {document:#}");
}

#[test]
fn a_snapshot_that_cannot_be_compared_is_an_error_and_no_test_that_passes() {
    let folder = folder([("it.plan", TWO_SYSTEMS)]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    assert_eq!(run(&["test", "--accept"]).status, 0);
    for entry in std::fs::read_dir(folder.path().join("snapshots")).unwrap() {
        std::fs::write(entry.unwrap().path(), [0xff, 0xfe]).unwrap();
    }
    let output = run(&["mutate"]);
    assert_eq!((output.status, output.stdout.as_str()), (3, ""));
    assert!(output.stderr.contains("the snapshot `"), "{output:?}");
}
