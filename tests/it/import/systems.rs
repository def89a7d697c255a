//! Plans of the imported systems, run: they make the same calls in the same order, and end in the same way.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_import::{Format, Imported};
use planrun_lang::protocol::{RunState, Sent, StepState};
use planrun_lang::sema::{self, NoFiles, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::value::Value;
use planrun_runs::journal::MemoryLog;
use serde_json::{Value as Json, json};

use super::fixtures::tools;
use crate::support::{cases, root};
use crate::world::{Ran, Script, World, give};

pub fn imported(format: Format, name: &str, known: &Tools) -> Imported {
    let folder = root()
        .join("tests/it/import/fixtures")
        .join(format.name())
        .join(name);
    let path = ["json", "yaml", "txt"].map(|ending| folder.join(format!("source.{ending}")));
    let path = path.into_iter().find(|path| path.exists()).unwrap();
    let source = SourceFile::new("source", std::fs::read_to_string(path).unwrap());
    planrun_import::import(&source, Some(format), name, known).unwrap()
}

/// Returns tools with the contracts of the fixtures' project.
fn world(scripts: Vec<(&str, Vec<Script>)>) -> World {
    let known = tools();
    scripts
        .into_iter()
        .fold(World::new(), |world, (path, scripts)| {
            let (namespace, name) = path.split_once('.').unwrap();
            let schema = known.find(namespace, name).unwrap().arguments_schema();
            world.tool(path, scripts).contract(path, &schema, None)
        })
}

pub fn inputs(given: &[&str]) -> BTreeMap<Arc<str>, Value> {
    given
        .iter()
        .map(|name| ((*name).into(), Value::from(format!("the {name}"))))
        .collect()
}

fn called(ran: &Ran) -> Vec<&str> {
    ran.seen.iter().map(|call| call.tool.as_str()).collect()
}

fn status(ran: &Ran, path: &str) -> StepState {
    ran.outcome
        .steps()
        .iter()
        .find(|step| &*step.path == path)
        .unwrap()
        .status
}

/// `States.TaskFailed` is every failure of a task except that of its time limit.
#[tokio::test(start_paused = true)]
async fn a_failed_task_is_retried_and_caught_whatever_its_class() {
    let machine = json!({
        "StartAt": "Ask",
        "States": {
            "Ask": {
                "Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:ask", "Parameters": {"n": 1},
                "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 1}],
                "Catch": [{"ErrorEquals": ["States.TaskFailed"], "Next": "Caught"}], "End": true,
            },
            "Caught": {"Type": "Pass", "Result": "caught", "End": true},
        },
    });
    let source = SourceFile::new("machine.json", machine.to_string());
    let made = planrun_import::import(&source, None, "machine", &Tools::default()).unwrap();
    let classes = [
        ("tool.sold_out", 2, "caught"),
        ("auth.authorization", 2, "caught"),
        ("transient.unavailable", 2, "caught"),
        ("transient.rate_limited", 2, "caught"),
        ("transient.timeout", 1, "transient.timeout"),
    ];
    for (class, calls, end) in classes {
        let fail = || Script::Fail(class, Sent::No);
        let ran = World::new()
            .tool("lambda.ask", [fail(), fail()])
            .run(&made.text)
            .await;
        let found = match ran.outcome.state {
            RunState::Completed => ran.reply().as_str().unwrap().to_owned(),
            _ => ran.class(),
        };
        assert_eq!(
            (ran.seen.len(), found.as_str()),
            (calls, end),
            "{class}: {}",
            made.text
        );
    }
}

/// S3-7 and S3-8: each task starts the next, and a mail that two tasks trigger is sent once.
#[tokio::test(start_paused = true)]
async fn a_board_calls_its_agents_in_order() {
    let made = imported(Format::Aintegration, "hiring", &tools());
    let world = world(vec![
        (
            "hr.create_employee_profile",
            vec![give(json!({"emp_id": "WZ001"}))],
        ),
        (
            "access.grant_access",
            vec![
                Script::Fail("tool.failed", Sent::Answered),
                give(json!({"card_no": "C-1"})),
            ],
        ),
        ("it.apply_computer", vec![give(json!({}))]),
        ("inventory.outbound", vec![give(json!({}))]),
        ("email.send_email", vec![give(json!({}))]),
    ]);
    let given = inputs(&["body", "id", "name", "pc_model", "subject", "to"]);
    let ran = world.run_with(&made.text, given).await;
    assert_eq!(
        ran.outcome.state,
        RunState::Completed,
        "{:?}",
        ran.outcome.error
    );
    let calls = called(&ran);
    assert_eq!(
        (calls[0], calls.last()),
        ("hr.create_employee_profile", Some(&"email.send_email"))
    );
    assert_eq!(ran.calls("access.grant_access").len(), 2);
    for tool in [
        "it.apply_computer",
        "inventory.outbound",
        "email.send_email",
    ] {
        assert_eq!(ran.calls(tool).len(), 1, "{tool} in {calls:?}");
    }
    assert_eq!(
        ran.calls("it.apply_computer")[0].arguments,
        json!({"emp_id": "WZ001"})
    );
}

/// S3-32b: setting the same status again counts, and a polling listener continues until the computer is there.
#[tokio::test(start_paused = true)]
async fn a_board_that_polls_comes_to_its_end() {
    let made = imported(Format::Aintegration, "employee_onboarding", &tools());
    let missing = || Script::Fail("auth.authorization", Sent::Answered);
    let world = world(vec![
        (
            "hr.create_employee_profile",
            vec![give(json!({"emp_id": "WZ001"}))],
        ),
        ("access.grant_access", vec![give(json!({}))]),
        ("it.apply_computer", vec![give(json!({}))]),
        (
            "inventory.check_outbound_status",
            vec![missing(), missing(), give(json!({}))],
        ),
    ]);
    let ran = world.run_with(&made.text, inputs(&["id", "name"])).await;
    assert_eq!(
        ran.outcome.state,
        RunState::Completed,
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(ran.calls("inventory.check_outbound_status").len(), 3);
    assert_eq!(
        ran.calls("access.grant_access")[0].arguments["emp_id"],
        "WZ001"
    );
}

/// Imports tasks and listeners; the main task is `001`.
fn board(tasks: &[&str], listeners: &Json) -> Imported {
    let tasks: Vec<Json> = tasks
        .iter()
        .map(|id| json!({"task_id": id, "name": format!("Task {id}")}))
        .collect();
    let board = json!({"plan_id": "b", "tasks": tasks, "listeners": listeners});
    let source = SourceFile::new("b.json", board.to_string());
    planrun_import::import(&source, None, "b", &tools()).unwrap()
}

/// Returns a listener for one status of a task, with the changes that `more` describes.
fn on(id: &str, task: &str, status: &str, more: &Json) -> Json {
    let mut listener =
        json!({"listener_id": id, "trigger_task_id": task, "trigger_condition": status});
    let fields = listener.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    listener
}

fn ends(id: &str, task: &str) -> Json {
    let code = "result = {'success': True}";
    let end = json!({"task_id": "001", "status": "Done"});
    let more = json!({"listener_type": "code", "code_snippet": code, "success_output": end});
    on(id, task, "Done", &more)
}

/// S3-19 and S3-22: whatever task a failure moves, a resumed run repeats the call.
#[tokio::test(start_paused = true)]
async fn a_resumed_board_repeats_the_call_that_failed() {
    for failed in ["002", "001"] {
        let failure =
            json!({"task_id": failed, "status": "Error", "context": {"why": "{{result.error}}"}});
        let more = json!({
            "agent_id": "access", "action_prompt": "grant_access", "failure_output": failure,
            "success_output": {"task_id": "002", "status": "Done"},
        });
        let listeners = json!([on("L001", "001", "Running", &more), ends("L002", "002")]);
        let made = board(&["001", "002"], &listeners);
        let busy = || Script::Fail("tool.failed", Sent::No);
        let mut scripts: Vec<Script> = (0..6).map(|_| busy()).collect();
        scripts.push(give(json!({})));
        let mut world = world(vec![("access.grant_access", scripts)]);
        world.journal = Some(MemoryLog::default());
        let mut seen = Vec::new();
        for _ in 0..3 {
            let ran = world
                .run_with(&made.text, inputs(&["emp_id", "name"]))
                .await;
            seen.push((ran.outcome.state, ran.calls("access.grant_access").len()));
            if seen.len() == 3 && failed == "001" {
                assert!(ran.reply()["why"].is_string(), "{}", ran.reply());
            }
        }
        let states = [
            (RunState::Paused, 3),
            (RunState::Paused, 6),
            (RunState::Completed, 7),
        ];
        assert_eq!(seen, states, "{failed}: {}", made.text);
    }
}

/// S3-32b: when a listener has triggered itself as often as it may, the run pauses, and can be resumed.
#[tokio::test(start_paused = true)]
async fn a_board_that_has_polled_in_vain_can_be_resumed() {
    let more = json!({
        "agent_id": "access", "action_prompt": "query_access",
        "success_output": {"task_id": "002", "status": "Done"},
        "failure_output": {"task_id": "002", "status": "Pending"},
    });
    let start = json!({
        "listener_type": "code", "code_snippet": "result = {'success': True}",
        "success_output": {"task_id": "002", "status": "Pending"},
    });
    let listeners = json!([
        on("L001", "001", "Running", &start),
        on("L002", "002", "Pending", &more),
        ends("L003", "002"),
    ]);
    let made = board(&["001", "002"], &listeners);
    let absent = || Script::Fail("auth.authorization", Sent::Answered);
    let mut scripts: Vec<Script> = (0..101).map(|_| absent()).collect();
    scripts.push(give(json!({})));
    let mut world = world(vec![("access.query_access", scripts)]);
    world.journal = Some(MemoryLog::default());
    let mut seen = Vec::new();
    for _ in 0..3 {
        let ran = world.run(&made.text).await;
        seen.push((ran.outcome.state, ran.calls("access.query_access").len()));
    }
    let states = [
        (RunState::Paused, 100),
        (RunState::Paused, 101),
        (RunState::Completed, 102),
    ];
    assert_eq!(seen, states, "{}", made.text);
}

/// A run that no listener can continue ends at once.
#[tokio::test(start_paused = true)]
async fn a_board_that_stands_still_does_not_wait() {
    let more = json!({
        "agent_id": "access", "action_prompt": "query_access",
        "success_output": {"task_id": "002", "status": "Done"},
        "failure_output": {"task_id": "002", "status": "Pending"},
    });
    let listeners = json!([on("L001", "001", "Running", &more), ends("L002", "002")]);
    let made = board(&["001", "002"], &listeners);
    let absent = Script::Fail("auth.authorization", Sent::Answered);
    let ran = world(vec![("access.query_access", vec![absent])])
        .run(&made.text)
        .await;
    assert_eq!(ran.outcome.state, RunState::Stalled, "{}", made.text);
}

/// S3-9: a listener is evaluated only when one of its triggers changes.
#[tokio::test(start_paused = true)]
async fn only_its_triggers_trigger_a_listener() {
    let code = json!({
        "listener_type": "code", "code_snippet": "result = {'success': True}",
        "success_output": {"task_id": "003", "status": "Done"},
    });
    let review = json!({
        "agent_id": "hr", "action_prompt": "create_employee_profile",
        "success_output": {"task_id": "002", "status": "Done"},
    });
    let give_out = json!({
        "agent_id": "inventory", "action_prompt": "outbound",
        "success_output": {"task_id": "001", "status": "Done"},
    });
    let listeners = json!([
        on("L001", "001", "Running", &code),
        on("L002", "001", "Running", &review),
        on("L003", "002", "003.status == Done", &give_out),
    ]);
    let made = board(&["001", "002", "003"], &listeners);
    let given = || inputs(&["id", "name", "pc_model"]);
    for (review, calls) in [
        (Script::Fail("auth.authorization", Sent::Answered), 0),
        (give(json!({})), 1),
    ] {
        let world = world(vec![
            ("hr.create_employee_profile", vec![review]),
            ("inventory.outbound", vec![give(json!({}))]),
        ]);
        let ran = world.run_with(&made.text, given()).await;
        assert_eq!(
            ran.calls("inventory.outbound").len(),
            calls,
            "{}",
            made.text
        );
    }
}

#[tokio::test(start_paused = true)]
async fn lists_of_calls_do_what_they_say() {
    let docs = json!({"docs": [{"doc_id": 1, "content": "first"}]});
    let world = || {
        world(vec![
            ("local.search_tool", vec![give(docs.clone())]),
            ("local.summarize_tool", vec![give(json!({"points": ["p"]}))]),
            ("local.echo_tool", vec![give(json!({"echo": "e"}))]),
            ("local.get_time", vec![give(json!({"now_utc": "n"}))]),
        ])
    };
    let ran = world()
        .run(&imported(Format::Payload, "drift", &tools()).text)
        .await;
    assert_eq!(ran.reply(), json!({"echo": "e"}));
    for call in ran.calls("local.summarize_tool") {
        assert_eq!(call.arguments["docs"], docs["docs"]);
    }
    let echoed: Vec<&Json> = ran
        .calls("local.echo_tool")
        .iter()
        .map(|call| &call.arguments["text"])
        .collect();
    assert_eq!(echoed, [&json!("step_by_step guide"), &json!("first")]);
    let ran = world()
        .run(&imported(Format::Steps, "prose", &tools()).text)
        .await;
    assert_eq!((ran.reply(), ran.seen.len()), (json!("有两篇。"), 2));
    let ran = world()
        .run(&imported(Format::Graph, "aliases", &tools()).text)
        .await;
    assert_eq!(
        called(&ran)[2..],
        ["local.echo_tool", "local.summarize_tool"]
    );
    assert_eq!(ran.reply(), json!("that was it"));
}

/// The cases of the skeleton's contract, if they are available.
#[tokio::test(start_paused = true)]
async fn the_contract_of_payloads_holds() {
    let Some(path) = cases("systems/skeleton-contract-cases.json") else {
        return;
    };
    let cases: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in cases["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let source = SourceFile::new("payload.json", case["plan"].to_string());
        let made = planrun_import::import(&source, None, "payload", &Tools::default()).unwrap();
        assert_eq!(made.format, Format::Payload, "{name}");
        let says = |what: &str| made.report.notes.iter().any(|note| note.why.contains(what));
        let plan = SourceFile::new("payload.plan", made.text.as_str());
        let checked = sema::check_without_rules(&plan, &Tools::default(), &NoFiles);
        let is_sound = checked.diagnostics.iter().all(|found| !found.is_error());
        match case["expect"].as_str().unwrap() {
            "REJECT" => {
                assert!(says(case["error"].as_str().unwrap()), "{name}");
                assert!(!is_sound, "{name}: {}", made.text);
            }
            "BLOCKED" => assert!(!is_sound && says("unknown dependency: step_X"), "{name}"),
            end => {
                assert!(is_sound, "{name}: {:?}", checked.diagnostics);
                let world = World::new()
                    .tool("tools.search_tool", [give(json!({"docs": [1]}))])
                    .tool("tools.summarize_tool", [give(json!({"points": []}))])
                    .tool("tools.get_time", [give(json!({}))])
                    .tool(
                        "tools.no_such_tool",
                        [Script::Fail("tool.failed", Sent::No)],
                    );
                let ran = world.run(&made.text).await;
                if end == "COMPLETED" {
                    assert_eq!(ran.outcome.state, RunState::Completed, "{name}");
                    assert_eq!(
                        ran.calls("tools.summarize_tool")[0].arguments["docs"],
                        json!([1]),
                        "{name}"
                    );
                } else {
                    assert_eq!(ran.outcome.state, RunState::Failed, "{name}");
                    assert_eq!(status(&ran, "step_1"), StepState::Failed, "{name}");
                    assert_eq!(status(&ran, "step_2"), StepState::Skipped, "{name}");
                }
            }
        }
    }
}
