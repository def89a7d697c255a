//! Reads of a plan that a model is still writing: which begin, and what the run of the whole plan makes of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError, ErrorClass, Sent, Tool, Transient};
use planrun_agent::planner::{Options, Planned, Planner, Refusal};
use planrun_models::model::{Model, Part, Parts, Request, produce};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Inputs, Planrun, RunOptions};
use serde_json::{Value as Json, json};

/// What happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// What a model does while it answers.
enum Act {
    Says(&'static str),
    /// It goes on once this stands in the log, or after a long while.
    Awaits(&'static str),
    /// Everything that could go on in the meantime has gone on.
    Pauses,
}
use Act::{Awaits, Pauses, Says};

/// A model that answers once for each list.
struct Writer {
    answers: Mutex<Vec<Vec<Act>>>,
    log: Log,
}

impl Model for Writer {
    fn answer(&self, _: Request) -> Parts {
        let (acts, log) = (self.answers.lock().unwrap().remove(0), self.log.clone());
        produce(async move |mut sender| {
            for act in acts {
                match act {
                    Says(text) => sender.send(Part::Text(text.to_owned())).await,
                    Pauses => tokio::time::sleep(Duration::from_secs(1)).await,
                    Awaits(line) => {
                        let stands = || log.lock().unwrap().iter().any(|one| one == line);
                        for _ in 0..1_000 {
                            if stands() {
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

/// A tool that gives its argument `id` and notes it; one of `id: 0` fails the first time, and one of `id: 9` hangs.
fn noting(contract: &str, log: &Log) -> Tool {
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

/// A desk that notes what is called, and a model that writes so over it.
fn desk(answers: Vec<Vec<Act>>) -> (Log, Planrun, Writer) {
    let log = Log::default();
    let tools = [
        noting("tool desk.get(id: int) -> int read", &log),
        noting("tool desk.put(id: int) -> int idempotent", &log),
    ];
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::in_memory(folder.path()).unwrap().with_tools(tools);
    let model = Writer {
        answers: answers.into(),
        log: log.clone(),
    };
    (log, planrun, model)
}

/// What a model that writes so leads to.
struct Written {
    planned: Result<Planned, Refusal>,
    planrun: Planrun,
    log: Log,
}

impl Written {
    async fn by(answers: Vec<Vec<Act>>, begins_early: bool) -> Self {
        let (log, planrun, model) = desk(answers);
        let options = Options {
            begins_early,
            ..Options::default()
        };
        let mut watch = |_: planrun_agent::planner::Event<'_>| {};
        let mut conversation = Planner::new(planrun, &model, options, &mut watch).unwrap();
        let planned = conversation.plan("Do it").await;
        let planrun = conversation.planrun().clone();
        Self {
            planned,
            planrun,
            log,
        }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The reply of a run, and what was called up to its end.
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
    let acts = vec![
        Says(TWO[0]),
        Says(TWO[1]),
        Awaits("get 1 ended"),
        Says(TWO[2]),
        Awaits("get 2 ended"),
    ];
    let written = Written::by(vec![acts], true).await;
    let early = ["get 1", "get 1 ended", "get 2", "get 2 ended", "written"];
    assert_eq!(written.log(), early, "the second one reads the first");
    assert_eq!(
        written.run().await,
        (json!(3), early.map(str::to_owned).to_vec())
    );
}

#[tokio::test(start_paused = true)]
async fn reads_under_way_are_waited_for() {
    let acts = vec![Says(TWO[0]), Says(TWO[1]), Awaits("get 1"), Says(TWO[2])];
    let written = Written::by(vec![acts], true).await;
    assert_eq!(written.log(), ["get 1", "written"]);
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!(3));
    assert_eq!(
        log,
        ["get 1", "written", "get 1 ended", "get 2", "get 2 ended"]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_where_nobody_wants_it() {
    let acts = vec![Says(TWO[0]), Says(TWO[1]), Pauses, Says(TWO[2]), Pauses];
    assert_eq!(Written::by(vec![acts], false).await.log(), ["written"]);
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_and_what_stands_below_it_waits_for_the_whole() {
    let acts = vec![
        Says("step a = desk.get(id: 1)\nstep b = desk.put(id: a)\nstep c = desk.get(id: 3)\n"),
        Says("step d = desk.get(id: b)\nreply [a, b, c, d]\n"),
        Pauses,
    ];
    let written = Written::by(vec![acts], true).await;
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
    let acts = vec![
        Says(
            "step a = desk.get(id: 1)\n    confirm \"Sure?\"\nstep b = desk.get(id: a)\nreply b\n",
        ),
        Pauses,
    ];
    assert_eq!(Written::by(vec![acts], true).await.log(), ["written"]);
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_an_early_read_is_the_first_attempt_of_the_run() {
    let acts = vec![Says("step a = desk.get(id: 0)\nreply a\n"), Pauses];
    let written = Written::by(vec![acts], true).await;
    assert_eq!(written.log(), ["get 0", "written"]);
    let (reply, log) = written.run().await;
    assert_eq!((reply, log.len()), (json!(0), 4), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_written_anew_takes_over_what_still_is_in_it() {
    let wrong = vec![
        Says("step a = desk.get(id: 1)\nstep b = desk.get(id: 2)\nreply a + c\n"),
        Pauses,
    ];
    let right = vec![
        Says("step a = desk.get(id: 1)\nstep b = desk.get(id: 3)\nreply a + b\n"),
        Pauses,
    ];
    let written = Written::by(vec![wrong, right], true).await;
    let (reply, log) = written.run().await;
    assert_eq!(reply, json!(4));
    let calls =
        ["get 1", "get 2", "get 3"].map(|call| log.iter().filter(|one| *one == call).count());
    assert_eq!(calls, [1, 1, 1], "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_old_is_not_taken_over() {
    let acts = vec![Says("step a = desk.get(id: 1)\nreply a\n"), Pauses];
    let written = Written::by(vec![acts], true).await;
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
    let wrong = vec![Says("step a = desk.get(id: 9)\nreply b\n"), Awaits("get 9")];
    let nothing = || vec![Says("I would rather not.")];
    let written = Written::by(vec![wrong, nothing(), nothing()], true).await;
    assert!(written.planned.is_err());
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(written.log(), ["get 9", "written", "written", "written"]);
}

/// The beginning of a plan whose run fails behind it.
const DONE: &str = "step a = desk.get(id: 1)
step b = desk.put(id: 2)
    verify desk.get(id: 2) as found => found == 2
";

/// The plan that a model writes so after that failure: what was called until it was written, the reply of its run, and what was
/// called in all.
async fn repaired(acts: Vec<Act>) -> (Vec<String>, Result<Json, String>, Vec<String>) {
    let first = vec![
        Says(DONE),
        Says("ensure a + b > 5 else \"too little\"\nreply a\n"),
    ];
    let (log, planrun, model) = desk(vec![first, acts]);
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
    let acts = vec![
        Says(DONE),
        Says("step c = desk.get(id: b + 1)\n"),
        Pauses,
        Says("step d = desk.put(id: c + 1)\nstep e = desk.get(id: d + 1)\n"),
        Pauses,
        Says("reply [a, b, c, d, e]\n"),
        Pauses,
    ];
    let (early, reply, log) = repaired(acts).await;
    // Neither what is frozen nor what verifies it, nor what stands below a change that is still to be made.
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
    let acts = vec![
        Says(
            "step a = desk.get(id: 3)\nstep b = desk.put(id: 4)\nstep c = desk.get(id: 5)\nreply c\n",
        ),
        Pauses,
    ];
    let (early, reply, log) = repaired(acts).await;
    assert_eq!(early, ["get 3", "get 3 ended", "written"]);
    assert!(reply.unwrap_err().contains("b (desk.put)"));
    assert_eq!(log, early, "an effect is not repeated without consent");
}
