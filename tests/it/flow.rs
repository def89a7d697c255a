//! Findings of the rules about order, and cases without findings: one project of many small plans, checked once.

use std::collections::BTreeMap;

use crate::support::{folder, planrun};

const HEAD: &str = "use db, mail
tool db.read(key?: string) -> string read
tool db.write(key?: string) -> { id: string } effect
tool mail.send(text: string) -> { id: string } effect
";

/// Checks plans with these statements. Returns the statements, the codes found, and the expected codes.
fn found<'a>(cases: &[(&'a str, &'a [&'a str])]) -> Vec<(&'a str, Vec<String>, Vec<String>)> {
    let files = cases.iter().enumerate().map(|(index, (statements, _))| {
        (
            format!("{index}.plan"),
            format!("{HEAD}\nplan p(name: string, flag: bool) {{\n{statements}\n}}\n"),
        )
    });
    let folder = folder(files);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run();
    let mut codes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in output.json()["diagnostics"].as_array().unwrap() {
        let code = finding["code"].as_str().unwrap();
        // Not the subject of these tests: the plans are minimal.
        if ![
            "unused-result",
            "unused-input",
            "unused-use",
            "effect-unknown",
        ]
        .contains(&code)
        {
            codes
                .entry(finding["file"].as_str().unwrap().to_owned())
                .or_default()
                .push(code.to_owned());
        }
    }
    let result = cases
        .iter()
        .enumerate()
        .map(|(index, (statements, expected))| {
            let expected = expected.iter().map(|code| (*code).to_owned()).collect();
            (
                *statements,
                codes.remove(&format!("{index}.plan")).unwrap_or_default(),
                expected,
            )
        });
    result.collect()
}

fn hold(cases: &[(&str, &[&str])]) {
    for (statements, found, expected) in found(cases) {
        assert_eq!(found, expected, "{statements}");
    }
}

#[test]
fn a_listener_that_cannot_fire_is_found() {
    hold(&[
        (
            "task t \"T\"\nlistener l on t is done { step a = db.write() }\nset t running",
            &["never-fires"],
        ),
        (
            "task t \"T\" external\nlistener l on t is done { step a = db.write() }",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done { step a = db.write() }\nset t done when flag",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is pending { step a = db.write() }\nset t done",
            &[],
        ),
        (
            "step a = db.read()\nlistener l on a is unknown { step b = db.write() }",
            &["never-fires"],
        ),
        (
            "step a = db.write()\nlistener l on a is unknown { step b = db.write() }",
            &[],
        ),
        (
            "step a = db.write()\nlistener l on a is pending { step b = db.write() }",
            &["never-fires"],
        ),
        (
            "step a = db.write()\nlistener l on a is failed && a is completed { step b = db.write() }",
            &["never-fires"],
        ),
        (
            "step a = db.write()\nlistener l on a is failed || a is completed { step b = db.write() }",
            &[],
        ),
        (
            "step a = db.write()\nlistener l on a { step b = db.write() }",
            &[],
        ),
        (
            "listener l on plan is completed && plan is failed { step b = db.write() }",
            &["never-fires"],
        ),
        ("listener l on plan is settled { step b = db.write() }", &[]),
        ("listener l on signal \"go\" { step b = db.write() }", &[]),
        (
            "listener l on signal \"go\" max 0 { step b = db.write() }",
            &["never-fires"],
        ),
        (
            "task t \"T\"\nlistener l on !(t is pending) { step a = db.write() }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is settled { step a = db.write() }\nset t running",
            &["never-fires"],
        ),
    ]);
}

#[test]
fn what_follows_from_one_reason_is_told_once() {
    hold(&[
        (
            "task t \"T\"\ntask u \"U\"\nlistener l on t is done { set u done }\nlistener m on u is done { step a = db.write() }\nset t running",
            &["never-fires"],
        ),
        (
            "task t \"T\"\ntask u \"U\"\nlistener l on t is done { set u done }\nlistener m on u is done { set t done }",
            &["dependency-cycle"],
        ),
        (
            "task t \"T\"\nlistener l on t is done { set t done }",
            &["dependency-cycle"],
        ),
        (
            "task t \"T\"\ntask u \"U\"\nlistener l on t is done { set u done }\nlistener m on u is done { set t done }\nset u done when flag",
            &[],
        ),
        (
            "task t \"T\"\nset t doen\nlistener l on t is done { step a = db.write() }",
            &["unknown-status"],
        ),
    ]);
}

#[test]
fn a_wait_that_nothing_answers_is_found() {
    hold(&[
        (
            "task t \"T\"\nstep w = wait for t is done within 1h\nset t done",
            &["cannot-finish"],
        ),
        (
            "task t \"T\"\nset t running\nstep w = wait for t is done within 1h",
            &["cannot-finish"],
        ),
        (
            "task t \"T\"\nset t running\nstep w = wait for t is done within 1h when flag",
            &["stalls"],
        ),
        (
            "task t \"T\"\nset t running\nfail tool.x when flag\nstep w = wait for t is done within 1h",
            &["stalls"],
        ),
        (
            "task t \"T\"\nset t running\nstep d = do { step w = wait for t is done within 1h }",
            &["cannot-finish"],
        ),
        (
            "task t \"T\"\nset t running\nstep w = wait for t is done within 1h recover expired => null",
            &["stalls"],
        ),
        ("task t \"T\"\nset t done\nstep w = wait for t is done", &[]),
        (
            "task t \"T\"\nset t done when flag\nstep w = wait for t is done",
            &["wait-forever"],
        ),
        (
            "task t \"T\" external\nstep w = wait for t is done",
            &["wait-forever"],
        ),
        (
            "task t \"T\" external\nstep w = wait for t is done within 1d",
            &[],
        ),
        ("step a = db.read()\nstep w = wait for a is settled", &[]),
        (
            "step a = db.read() when flag\nstep w = wait for a is completed",
            &["wait-forever"],
        ),
        ("step w = wait for signal \"go\"", &["wait-forever"]),
        (
            "step w = wait for plan is completed within 1h",
            &["cannot-finish"],
        ),
        ("step w = wait 5m", &[]),
        (
            "task t \"T\"\nstep a = db.write()\nlistener l on a is completed { set t done }\nstep w = wait for t is done within 1h",
            &[],
        ),
    ]);
}

#[test]
fn tasks_and_loops() {
    hold(&[
        (
            "task t \"T\"\nlistener l on t { step a = db.write() }",
            &["never-set"],
        ),
        (
            "task t \"T\"\nlistener l on t { step a = db.write() }\nset t done",
            &[],
        ),
        ("task t \"T\"", &["unused-task"]),
        (
            "task t \"T\"\nlistener l on t is done max 5 { set t done }\nset t done",
            &["busy-loop"],
        ),
        (
            "task t \"T\"\nlistener l on t is done { set t done }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done max 5 { set t done when flag }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done when flag max 5 { set t done }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done max 5 { step a = db.write()\nset t done }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done max 5 { step a = wait 1m\nset t done }\nset t done",
            &[],
        ),
        (
            "task t \"T\"\nlistener l on t is done max 5 { set t failed }\nset t done",
            &[],
        ),
    ]);
}

#[test]
fn moves_that_race_are_found() {
    let pair = "task t \"T\"\nparallel { step a = db.write()\nstep b = mail.send(text: name) }";
    let case = |more: &str| format!("{pair}\n{more}");
    let cases = [
        case(
            "listener l on a is completed { set t running }\nlistener m on b is completed { set t done }",
        ),
        case(
            "listener l on a is completed { set t done }\nlistener m on b is completed { set t done }",
        ),
        case(
            "listener l on a is failed { set t failed }\nlistener m on b is completed { set t done }",
        ),
        case("listener l on a is completed { set t running }\nset t done after b"),
        case("listener l on a is completed { set t running }\nset t done after a"),
        case("set t running after a\nset t done after b"),
        case("listener l on a is completed { set t running when flag }\nset t done after b"),
    ];
    let expected: [&[&str]; 7] = [
        &["parallel-set"],
        &[],
        &[],
        &["parallel-set"],
        &["parallel-set"],
        // Those of one block keep their order, so the second waits for everything anyway.
        &["redundant-after"],
        &[],
    ];
    hold(
        &cases
            .iter()
            .map(String::as_str)
            .zip(expected)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn order_that_is_there_anyway_is_found() {
    hold(&[
        (
            "step a = db.write()\nstep b = mail.send(text: a.id) after a",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nlet c = a.id\nstep b = mail.send(text: c) after a",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nstep b = mail.send(text: name) after a",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nstep r = db.read()\nstep b = mail.send(text: name) after a",
            &[],
        ),
        (
            "parallel { step a = db.write()\nstep b = mail.send(text: name) after a }",
            &[],
        ),
        (
            "step a = db.write()\nstep r = db.read()\nstep b = mail.send(text: a.id) after a, r",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nstep b = mail.send(text: name) after a, a",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nstep b = mail.send(text: name) when a is settled after a",
            &["redundant-after"],
        ),
        (
            "step a = db.write()\nstep b = db.read(key: a.id) recover _ => \"\"\nstep c = mail.send(text: b) after a",
            &["redundant-after"],
        ),
        (
            "policy { on_failure: settle }\nstep a = db.write()\nstep b = db.read(key: a.id)\nstep c = mail.send(text: b) after a",
            &[],
        ),
    ]);
}

#[test]
fn equal_and_opposite_conditions_are_found() {
    hold(&[
        (
            "let x = name == name\nensure x else \"\"",
            &["same-operands"],
        ),
        (
            "let x = name == \"a\" || flag || name == \"a\"\nensure x else \"\"",
            &["same-operands"],
        ),
        (
            "let x = size(name) - size( name )\nensure x > 0 else \"\"",
            &["same-operands"],
        ),
        (
            "let x = size(name) + size(name)\nensure x > 0 else \"\"",
            &[],
        ),
        ("let x = name == name + name\nensure x else \"\"", &[]),
        (
            "step a = db.write() when flag\nstep b = db.write() when !flag",
            &["complementary-guards"],
        ),
        (
            "step a = db.write() when flag\nstep b = db.write() when flag",
            &[],
        ),
        (
            "step a = db.write() when name == \"x\"\nstep b = db.write() when name != \"x\"",
            &["complementary-guards"],
        ),
    ]);
}

#[test]
fn opposite_conditions_leave_texts_as_they_are() {
    let plan = format!(
        "{HEAD}\nplan p(flag: bool) {{
    step a = mail.send(text: r\"\"\"x
  y\"\"\")
        when flag
    step b = mail.send(text: \"\"\"one ${{flag}}
  two\"\"\")
        when !flag
}}
"
    );
    let folder = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    assert_eq!(run(&["check", "--fix"]).status, 0);
    let text = std::fs::read_to_string(folder.path().join("a.plan")).unwrap();
    let expected = "    if flag {
        step a = mail.send(text: r\"\"\"x
  y\"\"\")
    } else {
        step b = mail.send(text: \"\"\"one ${flag}
  two\"\"\")
    }
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn opposite_conditions_become_if_and_else() {
    let plan = format!(
        "{HEAD}\nplan p(text: string, flag: bool) -> string {{
    step a = mail.send(text: text)
        when flag
    step b = mail.send(
        text: \"\"\"
            Dear all,
            no.
            \"\"\",
    )
        when !flag
    step c = db.read()
    step d = db.write(key: c)
    reply a?.id ?? b?.id ?? d.id
}}
"
    );
    let folder = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    assert_eq!(run(&["check", "--fix"]).status, 0);
    let text = std::fs::read_to_string(folder.path().join("a.plan")).unwrap();
    let expected = "    if flag {
        step a = mail.send(text: text)
    } else {
        step b = mail.send(
            text: \"\"\"
                Dear all,
                no.
                \"\"\",
        )
    }
    step c";
    assert!(text.contains(expected), "{text}");
    assert_eq!(run(&["check", "--format", "short"]).stdout, "");
}
