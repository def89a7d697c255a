//! A run does not begin, and does not continue, if the program or the server of a call that it is certain to make next
//! is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use planrun_lang::protocol::RunState;
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Inputs, PlanText, Planrun, RunOptions};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::mcp;
use crate::support::{Output, folder, planrun};

const PROJECT: &str = r"
tools:
  here:
    process:
      command: [bin/here]
      output: json
      tools:
        - { name: look, effect: read, returns: { type: integer }, arguments: [] }
        - { name: change, effect: effect, returns: { type: integer }, arguments: [] }
  gone:
    process:
      command: [bin/gone]
      output: json
      tools:
        - { name: look, effect: read, returns: { type: integer }, arguments: [] }
        - { name: change, effect: effect, returns: { type: integer }, arguments: [] }
allow:
  net: ['127.0.0.1:*']
  run: ['*', './bin/*']
";

/// An app that nothing serves.
const APP: &str = r"
name: far
tools:
  - name: change
    endpoint: http://127.0.0.1:9/change
    effect: effect
    parameters: { type: object, properties: {} }
    returns: { type: object, properties: {} }
";

/// Returns a project with the plan `a` of these statements. It has the program `bin/here`, and no `bin/gone`.
fn project(statements: &str) -> TempDir {
    let plan = format!("use here, gone, far, proc\n\nplan a() {{\n{statements}\n}}\n");
    let settings = format!("{PROJECT}apps: [far.yaml]\n");
    let files = [
        ("planrun.yaml", settings.as_str()),
        ("far.yaml", APP),
        ("a.plan", plan.as_str()),
    ];
    let place = folder(files);
    write_program(&place, "here", true);
    place
}

/// Creates or removes a program that prints a number.
fn write_program(place: &TempDir, name: &str, exists: bool) {
    let path = place.path().join("bin").join(name);
    if !exists {
        fs::remove_file(path).unwrap();
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "#!/bin/sh\necho 1\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

/// Starts the plan with this id and returns the output.
fn start(place: &TempDir) -> Output {
    run(
        place,
        &[
            "run", "a.plan", "--plan", "a", "--run-id", "r", "--format", "json",
        ],
    )
}

fn has_journal(place: &TempDir) -> bool {
    place.path().join(".planrun/journal.db").exists()
}

fn state(place: &TempDir) -> Json {
    let shown = run(place, &["runs", "show", "r", "--format", "json"]);
    assert_eq!(shown.status, 0, "{shown:?}");
    shown.json()["status"].clone()
}

#[test]
fn a_run_that_is_certain_to_call_a_missing_program_is_not_started() {
    let missing = [
        "    step a = gone.look()",
        "    step a = here.look()\n    step b = gone.change()",
        // A call to another machine does not create the program.
        "    step a = far.change()\n    step b = gone.look()",
        "    step a = do {\n        step b = gone.look()\n    }",
        "    step a = inner()\n}\n\nplan inner() {\n    step b = gone.look()",
        "    step a = gone.change()\n        confirm \"Change it?\"",
        "    step a = proc.run(argv: [\"bin/gone\"])",
        "    step a = proc.run(argv: [\"planrun-has-no-such-program\", string(1 + 1)])",
        "    listener l on plan is failed {\n        step a = here.look()\n    }\n    step b = gone.look()",
    ];
    for statements in missing {
        let place = project(statements);
        let output = start(&place);
        assert_eq!(output.status, 3, "{statements}\n{output:?}");
        let told = "cannot be called: there is no program ";
        assert!(output.stderr.contains(told), "{statements}\n{output:?}");
        assert!(!has_journal(&place), "{statements}");
    }
}

#[test]
fn a_run_that_can_do_without_a_missing_program_is_started() {
    let optional = [
        "    step a = gone.look()\n        recover => 0",
        "    step a = here.look()\n    step b = gone.look() when a == 2",
        "    step a = gone.look()\n        retry { attempts: 2, delay: 1ms, on: [tool.failed] }",
        "    step a = each x in [1] max 1 settle {\n        step b = gone.look()\n    }",
        "    policy { on_failure: settle }\n    step a = gone.look()",
        // This may create the program.
        "    step a = here.change()\n    step b = gone.look()",
        "    step a = proc.run(argv: [\"bin/here\"])\n    step b = gone.look()",
        "    step s = here.look()\n    listener l on s is completed {\n        step a = here.change()\n    }\n    step b = gone.look()",
        "    step a = input \"Go?\" -> { go: bool }\n    step b = gone.look()",
        "    step a = proc.run(argv: [\"bin/gone\"])\n        recover tool.failed => { code: 1, stdout: \"\", stderr: \"\" }",
    ];
    for statements in optional {
        let place = project(statements);
        let output = start(&place);
        assert!(has_journal(&place), "{statements}\n{output:?}");
    }
}

#[test]
fn only_the_steps_that_a_process_drives_need_their_programs() {
    let place = project("    step a = here.look()\n    step b = gone.look()");
    let output = run(&place, &["run", "a.plan", "--run-id", "r", "--until", "a"]);
    assert_eq!(output.status, 0, "{output:?}");
    let refused = run(&place, &["runs", "resume", "r"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    write_program(&place, "gone", true);
    let output = run(&place, &["runs", "resume", "r"]);
    assert_eq!(output.status, 0, "{output:?}");
}

#[test]
fn a_run_whose_next_program_is_missing_stays_as_it_is() {
    let place = project(
        "    step a = gone.change()\n        undo here.change()\n    step b = input \"Go?\" -> { go: bool }\n    \
         step c = gone.change()",
    );
    write_program(&place, "gone", true);
    assert_eq!(start(&place).status, 4);
    write_program(&place, "gone", false);
    // It still waits for the answer.
    let waiting = run(&place, &["runs", "resume", "r"]);
    assert_eq!(waiting.status, 4, "{waiting:?}");
    let answer = ["runs", "answer", "r", "b={\"go\": true}", "--resume"];
    let refused = run(&place, &answer);
    assert_eq!(refused.status, 3, "{refused:?}");
    let told = "the run `r` cannot continue here: `gone.change` cannot be called: there is no program bin/gone";
    assert!(refused.stderr.contains(told), "{refused:?}");
    for command in [&["runs", "resume", "r"][..], &["runs", "resume", "--due"]] {
        let refused = run(&place, command);
        assert_eq!(refused.status, 3, "{refused:?}");
        assert_eq!(state(&place), "paused");
    }
    // The same id, plan and inputs continue the run, too.
    assert_eq!(start(&place).status, 3);
    write_program(&place, "gone", true);
    let completed = run(&place, &["runs", "resume", "--due"]);
    assert_eq!(completed.status, 0, "{completed:?}");
    assert_eq!(state(&place), "completed");
}

#[test]
fn a_run_that_continues_needs_no_program_that_it_has_called() {
    let place = project("    step a = gone.change()\n    step b = input \"Go?\" -> { go: bool }");
    write_program(&place, "gone", true);
    assert_eq!(start(&place).status, 4);
    write_program(&place, "gone", false);
    assert_eq!(start(&place).status, 4);
    let answer = ["runs", "answer", "r", "b={\"go\": true}", "--resume"];
    let completed = run(&place, &answer);
    assert_eq!(completed.status, 0, "{completed:?}");
}

#[test]
fn a_run_that_is_to_end_needs_no_program() {
    let gate = "    step a = here.change()\n        undo here.change()\n    step b = gone.change()\n        \
                confirm \"Change it?\"";
    for command in [
        &["runs", "cancel", "r"][..],
        &["runs", "answer", "r", "b.confirm=false", "--resume"],
        &[
            "runs",
            "answer",
            "r",
            "b.confirm={\"approve\": false}",
            "--resume",
        ],
    ] {
        let place = project(gate);
        write_program(&place, "gone", true);
        assert_eq!(start(&place).status, 4);
        write_program(&place, "gone", false);
        let output = run(&place, command);
        assert_ne!(output.status, 3, "{command:?}: {output:?}");
        let ended = state(&place);
        assert!(ended == "cancelled" || ended == "failed", "{ended}");
    }
}

/// Returns a project with this plan and a server with locked contracts, with the program of the server and the file that
/// it was copied from.
fn locked(plan: &str) -> Option<(TempDir, PathBuf, PathBuf)> {
    let place = mcp::unpinned(plan)?;
    let (server, settings) = (
        place.path().join("server.py"),
        place.path().join("planrun.yaml"),
    );
    let script = crate::support::root().join("tests/peers/mcp/scripted.py");
    fs::copy(&script, &server).unwrap();
    let configured = fs::read_to_string(&settings).unwrap();
    let own = configured.replace(script.to_str().unwrap(), server.to_str().unwrap());
    assert_ne!(own, configured);
    fs::write(&settings, own).unwrap();
    let locked = run(&place, &["tools", "lock", "--accept", "all"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    Some((place, server, script))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_start_of_a_plan_relies_on_the_last_comparison() {
    let plan =
        "use notes\n\nplan a() -> any {\n    step c = notes.echo(text: \"x\")\n    reply c\n}\n";
    let Some((place, server, script)) = locked(plan) else {
        return;
    };
    let planrun = Planrun::open(place.path()).unwrap();
    let text = PlanText::from_file(&place.path().join("a.plan")).unwrap();
    let plan = planrun.check(text).unwrap().plan(None).unwrap();
    let start = || planrun.start(&plan, Inputs::default(), RunOptions::default());
    for is_there in [false, true] {
        if is_there {
            fs::copy(&script, &server).unwrap();
        } else {
            fs::remove_file(&server).unwrap();
        }
        plan.verify_contracts().await.unwrap();
        match start() {
            Ok(started) => {
                assert!(is_there);
                let driven = started.drive(&mut Silence).await.unwrap();
                assert_eq!(driven.outcome.state, RunState::Completed);
            }
            Err(error) => {
                let told = error.to_string();
                assert!(
                    !is_there && told.contains("`notes.echo` cannot be called"),
                    "{told}"
                );
            }
        }
    }
}

#[test]
fn a_run_waits_for_a_server_that_it_needs_next() {
    let plan = "use notes\n\nplan a() -> any {\n    step b = input \"Go?\" -> { go: bool }\n    \
                step c = notes.echo(text: \"x\")\n    reply c\n}\n\nplan first() -> any {\n    \
                step c = notes.echo(text: \"x\")\n    reply c\n}\n\nplan optional() -> any {\n    \
                step c = notes.echo(text: \"x\")\n        recover => null\n    reply c\n}\n";
    let Some((place, server, script)) = locked(plan) else {
        return;
    };
    let paused = run(&place, &["run", "a.plan", "--plan", "a", "--run-id", "r"]);
    assert_eq!(paused.status, 4, "{paused:?}");

    fs::remove_file(&server).unwrap();
    let refused = run(&place, &["run", "a.plan", "--plan", "first"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    let told = "`notes.echo` cannot be called: the MCP server `notes` cannot be used: ";
    assert!(refused.stderr.contains(told), "{refused:?}");
    let recovered = run(&place, &["run", "a.plan", "--plan", "optional"]);
    assert_eq!(recovered.status, 0, "{recovered:?}");
    let answer = ["runs", "answer", "r", "b={\"go\": true}", "--resume"];
    let refused = run(&place, &answer);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(refused.stderr.contains(told), "{refused:?}");
    assert_eq!(state(&place), "paused");

    fs::copy(&script, &server).unwrap();
    let completed = run(&place, &["runs", "resume", "r"]);
    assert_eq!(completed.status, 0, "{completed:?}");
    assert_eq!(mcp::calls(&place).len(), 1);
}
