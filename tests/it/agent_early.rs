//! Reads of a plan that a model is still writing: which of them start early, and how the run of the whole plan uses
//! their results.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError, ErrorClass, Sent, Tool, Transient};
use planrun_agent::planner::{Event, Options, Planned, Planner, Refusal};
use planrun_models::model::{Model, Part, Parts, Request, produce};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Inputs, Planrun, RunOptions};
use serde_json::{Value as Json, json};

/// The events so far, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// An action of the model during its answer.
enum ModelAction {
    Write(&'static str),
    /// Waits until the log contains this line, or for a long time.
    WaitFor(&'static str),
    /// Waits until nothing else can progress.
    Pause,
}
use ModelAction::{Pause, WaitFor, Write};

/// A model that gives one answer per list.
struct ScriptedModel {
    answers: Mutex<Vec<Vec<ModelAction>>>,
    log: Log,
}

impl Model for ScriptedModel {
    fn answer(&self, _: Request) -> Parts {
        let (actions, log) = (self.answers.lock().unwrap().remove(0), self.log.clone());
        produce(async move |mut sender| {
            for action in actions {
                match action {
                    Write(text) => sender.send(Part::Text(text.to_owned())).await,
                    Pause => tokio::time::sleep(Duration::from_secs(1)).await,
                    WaitFor(line) => {
                        let is_logged = || log.lock().unwrap().iter().any(|one| one == line);
                        for _ in 0..1_000 {
                            if is_logged() {
                                break;
                            }
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                    }
                }
            }
            log.lock().unwrap().push("written".to_owned());
            Ok(())
        })
    }
}

/// Returns a tool that logs its calls and returns its argument `id`. With `id: 0` the first call fails, and with
/// `id: 9` it hangs.
fn logging_tool(contract: &str, log: &Log) -> Tool {
    let name = contract.split(['.', '(']).nth(1).unwrap().to_owned();
    let log = log.clone();
    let call = move |arguments: Json| {
        let (name, log) = (name.clone(), log.clone());
        async move {
            let line = format!("{name} {}", arguments["id"]);
            let again = {
                let mut log = log.lock().unwrap();
                log.push(line.clone());
                log.iter().filter(|one| **one == line).count() > 1
            };
            let hangs = arguments["id"] == 9;
            let takes = Duration::from_millis(if hangs { 1_000_000 } else { 50 });
            tokio::time::sleep(takes).await;
            if arguments["id"] == 0 && !again {
                let class = ErrorClass::Transient(Transient::Unavailable);
                return Err(CallError::new(class, "not now", Sent::No));
            }
            log.lock().unwrap().push(format!("{line} ended"));
            Ok::<Json, CallError>(arguments["id"].clone())
        }
    };
    tool::from_async(contract, call).unwrap()
}

/// Returns a log, an engine with logging tools, and a model with these answers.
fn logging_project(answers: Vec<Vec<ModelAction>>) -> (Log, Planrun, ScriptedModel) {
    let log = Log::default();
    let tools = [
        logging_tool("tool desk.get(id: int) -> int read", &log),
        logging_tool("tool desk.put(id: int) -> int idempotent", &log),
    ];
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::in_memory(folder.path()).unwrap().with_tools(tools);
    let model = ScriptedModel {
        answers: answers.into(),
        log: log.clone(),
    };
    (log, planrun, model)
}

/// The result of planning with such a model.
struct PlanningResult {
    planned: Result<Planned, Refusal>,
    planrun: Planrun,
    log: Log,
    /// What the model was told about its errors.
    findings: Vec<String>,
}

impl PlanningResult {
    async fn by(answers: Vec<Vec<ModelAction>>, begins_early: bool) -> Self {
        let (log, planrun, model) = logging_project(answers);
        let options = Options {
            begins_early,
            ..Options::default()
        };
        let mut findings = Vec::new();
        let mut watch = |event: Event<'_>| {
            if let Event::Findings(report) = event {
                findings.push(report.to_owned());
            }
        };
        let mut conversation = Planner::new(planrun, &model, options, &mut watch).unwrap();
        let planned = conversation.plan("Do it").await;
        let planrun = conversation.planrun().clone();
        Self {
            planned,
            planrun,
            log,
            findings,
        }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Runs the plan. Returns its reply, and the log at its end.
    async fn run(self) -> (Json, Vec<String>) {
        let plan = self.planned.expect("a plan").plan;
        let options = RunOptions {
            ephemeral: true,
            ..RunOptions::default()
        };
        let run = self.planrun.start(&plan, Inputs::default(), options);
        let driven = run.unwrap().drive(&mut Silence).await.unwrap();
        let reply = driven.outcome.reply.map(|reply| reply.to_json());
        let log = self.log.lock().unwrap().clone();
        (reply.unwrap_or_default(), log)
    }
}

const TWO: [&str; 3] = [
    "```plan\nstep a = desk.get(id: 1)\n",
    "step b = desk.get(id: a + 1)\n",
    "reply a + b\n```\n",
];

#[tokio::test(start_paused = true)]
async fn reads_begin_while_the_rest_is_written_and_are_made_once() {
    let actions = vec![
        Write(TWO[0]),
        Write(TWO[1]),
        WaitFor("get 1 ended"),
        Write(TWO[2]),
        WaitFor("get 2 ended"),
    ];
    let written = PlanningResult::by(vec![actions], true).await;
    let early = ["get 1", "get 1 ended", "get 2", "get 2 ended", "written"];
    assert_eq!(written.log(), early, "the second one reads the first");
    assert_eq!(
        written.run().await,
        (json!(3), early.map(str::to_owned).to_vec())
    );
}

#[tokio::test(start_paused = true)]
async fn reads_under_way_are_waited_for() {
    let actions = vec![
        Write(TWO[0]),
        Write(TWO[1]),
        WaitFor("get 1"),
        Write(TWO[2]),
    ];
    let written = PlanningResult::by(vec![actions], true).await;
    assert_eq!(written.log(), ["get 1", "written"]);
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!(3));
    assert_eq!(
        log,
        ["get 1", "written", "get 1 ended", "get 2", "get 2 ended"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_called_for_a_plan_with_errors_is_told_as_it_is() {
    let wrong = "step b = desk.put(id: \"x\")\nreply b + c\n```\n";
    let right = || TWO.map(Write).into();
    for (begins_early, expected, called) in [
        (
            true,
            "Nothing was changed, but reads of the plan may have been called. The plan has 1 error:",
            true,
        ),
        (false, "Nothing was called. The plan has 1 error:", false),
    ] {
        let first = vec![Write(TWO[0]), Write("let c = a\n"), Pause, Write(wrong)];
        let written = PlanningResult::by(vec![first, right()], begins_early).await;
        let first = written.findings[0].lines().next();
        assert_eq!(first, Some(expected), "{:?}", written.findings);
        assert_eq!(written.log()[0] == "get 1", called);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_where_nobody_wants_it() {
    let actions = vec![Write(TWO[0]), Write(TWO[1]), Pause, Write(TWO[2]), Pause];
    assert_eq!(
        PlanningResult::by(vec![actions], false).await.log(),
        ["written"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_and_what_stands_below_it_waits_for_the_whole() {
    let actions = vec![
        Write("step a = desk.get(id: 1)\nstep b = desk.put(id: a)\nstep c = desk.get(id: 3)\n"),
        Write("step d = desk.get(id: b)\nreply [a, b, c, d]\n"),
        Pause,
    ];
    let written = PlanningResult::by(vec![actions], true).await;
    let early = ["get 1", "get 1 ended", "written"];
    assert_eq!(written.log(), early);
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!([1, 1, 3, 1]));
    assert_eq!(
        log.iter().filter(|line| *line == "get 1").count(),
        2,
        "{log:?}"
    );
    assert!(log.contains(&"put 1".to_owned()), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_asks_somebody_holds_back_what_is_below_it() {
    let actions = vec![
        Write(
            "step a = desk.get(id: 1)\n    confirm \"Sure?\"\nstep b = desk.get(id: a)\nreply b\n",
        ),
        Pause,
    ];
    assert_eq!(
        PlanningResult::by(vec![actions], true).await.log(),
        ["written"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_an_early_read_is_the_first_attempt_of_the_run() {
    let actions = vec![Write("step a = desk.get(id: 0)\nreply a\n"), Pause];
    let written = PlanningResult::by(vec![actions], true).await;
    assert_eq!(written.log(), ["get 0", "written"]);
    let (reply, log) = written.run().await;
    assert_eq!((reply, log.len()), (json!(0), 4), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_written_anew_takes_over_what_still_is_in_it() {
    let wrong = vec![
        Write("step a = desk.get(id: 1)\nstep b = desk.get(id: 2)\nreply a + c\n"),
        Pause,
    ];
    let right = vec![
        Write("step a = desk.get(id: 1)\nstep b = desk.get(id: 3)\nreply a + b\n"),
        Pause,
    ];
    let written = PlanningResult::by(vec![wrong, right], true).await;
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!(4));
    let calls =
        ["get 1", "get 2", "get 3"].map(|call| log.iter().filter(|one| *one == call).count());
    assert_eq!(calls, [1, 1, 1], "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_old_is_not_taken_over() {
    let actions = vec![Write("step a = desk.get(id: 1)\nreply a\n"), Pause];
    let written = PlanningResult::by(vec![actions], true).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!(1));
    assert_eq!(
        log.iter().filter(|line| *line == "get 1").count(),
        2,
        "{log:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn reads_of_a_plan_that_never_comes_are_stopped() {
    let wrong = vec![
        Write("step a = desk.get(id: 9)\nreply b\n"),
        WaitFor("get 9"),
    ];
    let nothing = || vec![Write("I would rather not.")];
    let written = PlanningResult::by(vec![wrong, nothing(), nothing()], true).await;
    assert!(written.planned.is_err());
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(written.log(), ["get 9", "written", "written", "written"]);
}

/// The first part of a plan. Its run fails after this part.
const DONE: &str = "step a = desk.get(id: 1)
step b = desk.put(id: 2)
    verify desk.get(id: 2) as found => found == 2
";

/// Lets the model write this plan after that failure. Returns the log when the plan was written, the reply of its run,
/// and the log at the end.
async fn repaired(actions: Vec<ModelAction>) -> (Vec<String>, Result<Json, String>, Vec<String>) {
    let first = vec![
        Write(DONE),
        Write("ensure a + b > 5 else \"too little\"\nreply a\n"),
    ];
    let (log, planrun, model) = logging_project(vec![first, actions]);
    let options = Options {
        begins_early: true,
        ..Options::default()
    };
    let mut watch = |_: planrun_agent::planner::Event<'_>| {};
    let mut conversation = Planner::new(planrun, &model, options, &mut watch).unwrap();
    let planrun = conversation.planrun().clone();
    let plan = conversation.plan("Do it").await.unwrap().plan;
    let run = planrun.start(&plan, Inputs::default(), RunOptions::default());
    let failed = run.unwrap().drive(&mut Silence).await.unwrap().outcome;
    assert_eq!(failed.state.name(), "failed");
    let lines = || log.lock().unwrap().clone();
    assert_eq!(
        lines()[1..],
        ["get 1", "get 1 ended", "put 2", "put 2 ended"]
    );
    log.lock().unwrap().clear();

    let plan = conversation
        .repair(&failed.run, "it failed")
        .await
        .unwrap()
        .plan;
    let early = lines();
    let options = RunOptions {
        base: Some(planrun.base(&failed.run).await.unwrap()),
        ..RunOptions::default()
    };
    let reply = match planrun.start(&plan, Inputs::default(), options) {
        Ok(run) => {
            let outcome = run.drive(&mut Silence).await.unwrap().outcome;
            Ok(outcome
                .reply
                .map(|reply| reply.to_json())
                .unwrap_or_default())
        }
        Err(error) => Err(error.to_string()),
    };
    (early, reply, lines())
}

#[tokio::test(start_paused = true)]
async fn a_repaired_plan_begins_what_its_base_has_not_done() {
    let actions = vec![
        Write(DONE),
        Write("step c = desk.get(id: b + 1)\n"),
        Pause,
        Write("step d = desk.put(id: c + 1)\nstep e = desk.get(id: d + 1)\n"),
        Pause,
        Write("reply [a, b, c, d, e]\n"),
        Pause,
    ];
    let (early, reply, log) = repaired(actions).await;
    // Frozen steps, their `verify` calls, and reads below a change that is still to be made do not start early.
    assert_eq!(early, ["get 3", "get 3 ended", "written"]);
    assert_eq!(reply, Ok(json!([1, 2, 3, 4, 5])));
    let late = [
        "put 4",
        "put 4 ended",
        "get 5",
        "get 5 ended",
        "get 2",
        "get 2 ended",
    ];
    assert_eq!(log[3..], late);
}

#[tokio::test(start_paused = true)]
async fn what_a_repaired_plan_changes_is_held_to_the_same_rules() {
    let actions = vec![
        Write(
            "step a = desk.get(id: 3)\nstep b = desk.put(id: 4)\nstep c = desk.get(id: 5)\nreply c\n",
        ),
        Pause,
    ];
    let (early, reply, log) = repaired(actions).await;
    assert_eq!(early, ["get 3", "get 3 ended", "written"]);
    assert!(reply.unwrap_err().contains("b (desk.put)"));
    assert_eq!(log, early, "an effect is not repeated without consent");
}
