//! Environment variables that the calls of a plan need: what a run without them does.

use crate::support::{Mock, ModelProject, Program, folder, planrun};

const DESK: &str = "name: desk
headers: { authorization: \"Bearer ${DESK_TOKEN}\" }
tools:
  - name: close
    description: Closes a ticket.
    endpoint: ${DESK_URL}/tool
    effect: effect
    parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
    returns: { type: object, properties: { at: { type: string } }, required: [at] }
    mock: { at: noon }
";
const PROJECT: &str = "apps: [apps/*.yaml]\nenv: [DESK_URL, DESK_TOKEN]\n";
const PLAN: &str = "use desk

plan p(id: int) -> string {
    step closed = desk.close(id: id)
        confirm \"Close it?\"
    reply closed.at
}
";

fn project() -> tempfile::TempDir {
    folder([
        ("apps/desk.yaml", DESK),
        ("planrun.yaml", PROJECT),
        ("p.plan", PLAN),
    ])
}

fn bare<'a>(folder: &tempfile::TempDir, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    planrun(arguments)
        .within(folder.path())
        .without_variable("DESK_URL")
        .without_variable("DESK_TOKEN")
}

#[test]
fn a_check_and_mocks_do_not_need_them() {
    let folder = project();
    let check = bare(&folder, ["check", "--format", "short"]).run();
    assert_eq!(check.status, 0, "{check:?}");
    let told: Vec<&str> = check.stdout.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter()
            .all(|line| line.contains("warning[config-variable]")),
        "{told:?}"
    );
    let mocked = [
        "run",
        "p.plan",
        "--mock",
        "-i",
        "id=1",
        "--answer",
        "closed.confirm=true",
    ];
    let mocked = bare(&folder, mocked).run();
    assert_eq!(
        (mocked.status, mocked.stdout.as_str()),
        (0, "noon\n"),
        "{mocked:?}"
    );
}

#[test]
fn a_run_is_refused_before_it_begins() {
    let folder = project();
    let run = bare(&folder, ["run", "p.plan", "-i", "id=1"]).run();
    assert_eq!(run.status, 3, "{run:?}");
    let why = "`desk.close` needs the environment variable DESK_URL, which is not set";
    assert!(run.stderr.contains(why), "{run:?}");
    let run = bare(&folder, ["run", "p.plan", "-i", "id=1"]);
    let run = run.variable("DESK_URL", "http://127.0.0.1:9").run();
    assert!(
        run.stderr.contains("the environment variable DESK_TOKEN"),
        "{run:?}"
    );
    assert!(!folder.path().join(".planrun/journal.db").exists());
}

#[test]
fn a_run_that_is_resumed_without_them_stays_paused() {
    let folder = project();
    let mock = Mock::of(["--apps", folder.path().join("apps").to_str().unwrap()]);
    let given = |program: Program| {
        let program = mock.answering(program, &["desk"]);
        program.variable("DESK_TOKEN", "secret-token")
    };
    let run = ["run", "p.plan", "-i", "id=1", "--run-id", "r"];
    assert_eq!(given(bare(&folder, run)).run().status, 4);

    let answer = ["runs", "answer", "r", "closed.confirm=true", "--resume"];
    let refused = bare(&folder, answer).run();
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("needs the environment variable DESK_URL, which is not set"),
        "{refused:?}"
    );
    let shown = bare(&folder, ["runs", "show", "r", "--format", "json"])
        .run()
        .json();
    assert_eq!(shown["status"], "paused", "{shown}");
    assert_eq!(mock.calls(), Vec::<String>::new());

    let resumed = given(bare(&folder, ["runs", "resume", "r"])).run();
    assert_eq!(
        (resumed.status, resumed.stdout.as_str()),
        (0, "noon\n"),
        "{resumed:?}"
    );
}

#[test]
fn a_run_is_not_cancelled_where_its_effects_cannot_be_undone() {
    let plan = "use desk

plan p() -> string {
    step one = desk.close(id: 1)
        undo desk.close(id: 0)
    step two = desk.close(id: 2)
        confirm \"Close it?\"
        undo desk.close(id: 0)
    reply two.at
}
";
    let folder = project();
    std::fs::write(folder.path().join("p.plan"), plan).unwrap();
    let mock = Mock::of(["--apps", folder.path().join("apps").to_str().unwrap()]);
    let given = |program: Program| {
        let program = mock.answering(program, &["desk"]);
        program.variable("DESK_TOKEN", "secret-token")
    };
    for run in ["undone", "kept"] {
        let begun = given(bare(&folder, ["run", "p.plan", "--run-id", run])).run();
        assert_eq!(begun.status, 4, "{begun:?}");
        let refused = bare(&folder, ["runs", "cancel", run]).run();
        assert_eq!(refused.status, 3, "{refused:?}");
        assert!(
            refused.stderr.contains("environment variable DESK_URL"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("--keep"), "{refused:?}");
    }
    assert_eq!(mock.calls().len(), 2);
    let undone = given(bare(&folder, ["runs", "cancel", "undone"])).run();
    assert_eq!((undone.status, mock.calls().len()), (0, 3), "{undone:?}");
    let kept = bare(&folder, ["runs", "cancel", "kept", "--keep"]).run();
    assert_eq!((kept.status, mock.calls().len()), (0, 3), "{kept:?}");

    // Calls in inner blocks and called plans are calls of the `undo`, too.
    let nested = "use desk

plan back() {
    step closed = desk.close(id: 0)
}

plan p() {
    step one = desk.close(id: 1)
        undo do {
            if true { step first = back() }
        }
    step two = desk.close(id: 2)
        confirm \"Close it?\"
}
";
    std::fs::write(folder.path().join("nested.plan"), nested).unwrap();
    let begun = given(bare(
        &folder,
        ["run", "nested.plan", "--plan", "p", "--run-id", "nested"],
    ))
    .run();
    assert_eq!(begun.status, 4, "{begun:?}");
    let refused = bare(&folder, ["runs", "cancel", "nested"]).run();
    assert_eq!(refused.status, 3, "{refused:?}");

    // Where nothing has been called, there is nothing to undo.
    let plan = plan.replacen(
        "step one = desk.close(id: 1)\n        undo desk.close(id: 0)\n    ",
        "",
        1,
    );
    std::fs::write(folder.path().join("p.plan"), plan).unwrap();
    let begun = given(bare(&folder, ["run", "p.plan", "--run-id", "fresh"])).run();
    assert_eq!(begun.status, 4, "{begun:?}");
    let cancelled = bare(&folder, ["runs", "cancel", "fresh"]).run();
    assert_eq!(cancelled.status, 0, "{cancelled:?}");
}

#[test]
fn a_run_that_asks_a_model_is_resumed_where_the_model_can_be_asked() {
    let app = DESK.replace("headers: { authorization: \"Bearer ${DESK_TOKEN}\" }\n", "");
    for prompt in ["infer(\"Say\") -> string", "ask desk(\"Say\") -> string"] {
        let plan = format!(
            "use desk\nplan p() -> string {{\n    step said = {prompt}\n        confirm \"Ask?\"\n    reply said\n}}\n"
        );
        let project = ModelProject::new(&app, "- { text: hello }", &[("p.plan", &plan)]);
        let run = project.program(&["run", "p.plan", "--run-id", "r"]).run();
        assert_eq!(run.status, 4, "{run:?}");
        let answer = ["runs", "answer", "r", "said.confirm=true", "--resume"];
        let answer = project.program(&answer);
        let refused = answer.without_variable("OPENAI_MODEL").run();
        assert_eq!(refused.status, 3, "{prompt}: {refused:?}");
        let resumed = project.program(&["runs", "resume", "r"]).run();
        assert_eq!(resumed.stdout, "hello\n", "{prompt}: {resumed:?}");
    }
}

#[test]
fn a_program_that_is_passed_a_variable_needs_it() {
    let project = "env: [DESK_TOKEN, DESK_URL]
tools:
  desk:
    process:
      command: [sh, bin/desk]
      env: [DESK_TOKEN]
      tools:
        - name: close
          description: Closes a ticket.
          effect: effect
          parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
          returns: { type: string }
          arguments: [\"{id}\"]
";
    let plan = "use desk\n\nplan p(id: int) -> string {\n    step at = desk.close(id: id)\n    reply at\n}\n";
    let script = "echo \"$1 with ${DESK_TOKEN:-nothing}\" >> calls.log; printf noon\n";
    let folder = folder([
        ("planrun.yaml", project),
        ("p.plan", plan),
        ("bin/desk", script),
    ]);
    let calls = || std::fs::read_to_string(folder.path().join("calls.log")).unwrap_or_default();
    let run = ["run", "p.plan", "-i", "id=1"];
    let refused = bare(&folder, run).run();
    assert_eq!(refused.status, 3, "{refused:?}");
    let why = "`desk.close` needs the environment variable DESK_TOKEN, which is not set";
    assert!(refused.stderr.contains(why), "{refused:?}");
    let passed = bare(&folder, run).variable("DESK_TOKEN", "t").run();
    assert_eq!(
        (passed.status, calls().as_str()),
        (0, "1 with t\n"),
        "{passed:?}"
    );

    let optional = project.replace(
        "env: [DESK_TOKEN]\n",
        "env: { DESK_TOKEN: \"${DESK_TOKEN:-}\" }\n",
    );
    std::fs::write(folder.path().join("planrun.yaml"), optional).unwrap();
    let without = bare(&folder, run).run();
    assert_eq!(
        (without.status, calls().as_str()),
        (0, "1 with t\n1 with nothing\n"),
        "{without:?}"
    );
}

#[test]
fn a_part_of_a_run_needs_only_the_variables_of_its_calls() {
    let folder = project();
    let plan = "use desk
use sys

plan p(id: int) -> string {
    step said = sys.echo(value: \"hello\")
    step closed = desk.close(id: id)
    reply closed.at
}
";
    std::fs::write(folder.path().join("p.plan"), plan).unwrap();
    let until = |step| ["run", "p.plan", "-i", "id=1", "--until", step];
    let said = bare(&folder, until("said")).run();
    assert!(
        said.stderr.contains("stopped after `said`"),
        "what it calls needs no variable: {said:?}"
    );
    let closed = bare(&folder, until("closed")).run();
    assert_eq!(closed.status, 3, "{closed:?}");
    let why = "`desk.close` needs the environment variable DESK_URL";
    assert!(closed.stderr.contains(why), "{closed:?}");
}

#[test]
fn a_run_that_cannot_be_resumed_is_reported_and_the_others_go_on() {
    let folder = project();
    let plan = "use sys

plan q() -> string {
    step closed = sys.echo(value: \"x\")
        confirm \"Say it?\"
    reply closed
}
";
    std::fs::write(folder.path().join("q.plan"), plan).unwrap();
    for (plan, id) in [("q.plan", "q1"), ("p.plan", "p1"), ("q.plan", "q2")] {
        let arguments = ["run", plan, "--run-id", id];
        let arguments = arguments.iter().copied();
        let given = (plan == "p.plan").then_some(["-i", "id=1"]);
        let begun = bare(&folder, arguments.chain(given.into_iter().flatten()))
            .variable("DESK_URL", "http://127.0.0.1:9")
            .variable("DESK_TOKEN", "t")
            .run();
        assert_eq!(begun.status, 4, "{begun:?}");
    }
    let answered = bare(
        &folder,
        ["runs", "answer", "--all", "closed.confirm=true", "--resume"],
    )
    .run();
    assert_eq!(answered.status, 3, "{answered:?}");
    assert!(
        answered.stderr.contains("error: p1: ") && answered.stderr.contains("DESK_URL"),
        "{answered:?}"
    );
    let list = bare(&folder, ["runs", "list", "--format", "json"])
        .run()
        .json();
    let runs = list["runs"].as_array().unwrap();
    let states: Vec<String> = runs
        .iter()
        .map(|run| format!("{} {} {}", run["run"], run["status"], run["wakes"]))
        .collect();
    let expected = [
        "\"q2\" \"completed\" null",
        "\"p1\" \"paused\" \"delivered\"",
        "\"q1\" \"completed\" null",
    ];
    assert_eq!(states, expected);

    let due = |format| bare(&folder, ["runs", "resume", "--due", "--format", format]).run();
    for (format, document) in [
        ("json", due("json").json()["runs"][0].clone()),
        ("ndjson", due("ndjson").json()),
    ] {
        assert_eq!(document["run"], "p1", "{format}: {document}");
        assert_eq!(document["error"]["exit"], 3, "{format}: {document}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains("DESK_URL"), "{format}: {message}");
    }
}
