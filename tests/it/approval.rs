//! One approval for all calls of a run: requested before any effect, recorded in the journal, and checked at each call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError, Tool};
use planrun_core::journal::{Grant, GrantScope, GrantedCalls, SubmittedAnswer};
use planrun_core::run::{Approval, Outcome};
use planrun_lang::protocol::RunState;
use planrun_lang::types::Effect;
use planrun_runs::driver::Silence;
use planrun_runs::runs::{
    Addressee, CancelOptions, CheckedPlan, Error, EventOptions, PlanText, Planrun, ResumeOptions,
    RunOptions,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const TIDY: &str = r#"
use desk

plan tidy() -> int {
    step open = desk.list()
    step closed = each id in open max 5 {
        step c = desk.close(id: id, by: "planrun")
        yield c
    }
    reply size(closed)
}
"#;

/// A service with three open tickets, and a record of the calls to it.
struct TicketService {
    folder: TempDir,
    planrun: Planrun,
    closed: Arc<Mutex<Vec<String>>>,
    listed: Arc<AtomicUsize>,
}

impl TicketService {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (closed, listed) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicUsize::new(0)),
        );
        let planrun = Planrun::open(folder.path())
            .unwrap()
            .with_tools(Self::tools(&closed, &listed));
        Self {
            folder,
            planrun,
            closed,
            listed,
        }
    }

    fn tools(closed: &Arc<Mutex<Vec<String>>>, listed: &Arc<AtomicUsize>) -> [Tool; 2] {
        let (closed, listed) = (closed.clone(), listed.clone());
        let list = tool::from_fn("tool desk.list() -> string[] read", move |_: Json| {
            listed.fetch_add(1, Ordering::SeqCst);
            Ok::<_, CallError>(vec!["t1", "t2", "t3"])
        });
        let close = tool::from_fn(
            "tool desk.close(id: string, by: string) -> string effect",
            move |asked: Json| {
                let id = asked["id"].as_str().unwrap_or_default().to_owned();
                closed.lock().unwrap().push(id.clone());
                Ok::<_, CallError>(id)
            },
        );
        [list.unwrap(), close.unwrap()]
    }

    fn plan(&self) -> CheckedPlan {
        let name = self.folder.path().join("a.plan").display().to_string();
        let checked = self.planrun.check(PlanText::new(&name, TIDY)).unwrap();
        checked.plan(None).unwrap()
    }

    /// Returns an approval of at most `max` closes by `planrun`.
    fn approval(&self, max: u64) -> Approval {
        let plan = self.plan();
        let close = plan.plan.tool_calls().find(|tool| &*tool.name == "close");
        let calls = GrantedCalls {
            tool: "desk.close".into(),
            contract: close.unwrap().digest().into(),
            effect: Effect::Effect,
            max,
            constants: BTreeMap::from([("by".into(), json!("planrun"))]),
        };
        let grant = Grant {
            plan: plan.plan.digest.clone(),
            calls: vec![calls],
            scope: GrantScope::Once,
            by: None,
            expires: None,
        };
        Approval {
            text: "May this run close tickets?".into(),
            open_for: Duration::from_hours(1),
            grant,
            valid_for: Duration::from_hours(1),
        }
    }

    /// Starts a run that needs an approval, and drives it until an answer is required.
    async fn begin(&self, approval: Approval) -> Outcome {
        let plan = self.plan();
        let options = RunOptions {
            id: Some("r1".to_owned()),
            approval: Some(approval),
            ..RunOptions::default()
        };
        let inputs = plan.inputs(serde_json::Map::new()).unwrap();
        let run = self.planrun.start(&plan, inputs, options).unwrap();
        run.drive(&mut Silence).await.unwrap().outcome
    }

    async fn resume(&self) -> Outcome {
        let run = self.planrun.resume("r1", ResumeOptions::default());
        run.unwrap().drive(&mut Silence).await.unwrap().outcome
    }

    fn answer(&self, path: &str, value: Json) -> Result<(), Error> {
        let given = SubmittedAnswer {
            by: Some("terminal:ann".into()),
            ..SubmittedAnswer::new(path, value)
        };
        self.planrun
            .answer(Addressee::Run("r1"), &[given])
            .map(drop)
    }

    fn asked(&self) -> Vec<(String, String)> {
        let open = self.planrun.questions("r1").unwrap();
        let asked = open.questions().into_iter();
        asked
            .map(|(path, question)| {
                let why = question.why.as_deref().unwrap_or(&question.text).to_owned();
                (path.to_string(), why)
            })
            .collect()
    }

    fn events(&self) -> Vec<Json> {
        let events = self.planrun.events("r1", EventOptions::default()).unwrap();
        events
            .map(|event| serde_json::from_str(&event.unwrap().line).unwrap())
            .collect()
    }

    fn closed(&self) -> Vec<String> {
        self.closed.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn nothing_happens_before_the_yes_and_everything_after_it() {
    let desk = TicketService::new();
    let outcome = desk.begin(desk.approval(5)).await;
    assert_eq!(outcome.state, RunState::Paused);
    assert_eq!(desk.listed.load(Ordering::SeqCst), 0);
    assert_eq!(
        desk.asked(),
        [(
            "approval".to_owned(),
            "May this run close tickets?".to_owned()
        )]
    );

    // Another process still asks the same question.
    assert_eq!(desk.resume().await.state, RunState::Paused);
    desk.answer("approval", json!({ "approve": true, "scope": "plan" }))
        .unwrap();
    let outcome = desk.resume().await;
    assert_eq!(outcome.state, RunState::Completed, "{:?}", outcome.error);
    assert_eq!(desk.closed(), ["t1", "t2", "t3"]);

    let given: Vec<Json> = desk
        .events()
        .into_iter()
        .filter(|event| event["event"] == "run.granted")
        .collect();
    assert_eq!(given.len(), 1);
    let grant = &given[0]["grant"];
    assert_eq!(grant["by"], "terminal:ann");
    assert_eq!(grant["scope"], "plan");
    assert_eq!(grant["calls"][0]["tool"], "desk.close");
    assert_eq!(grant["calls"][0]["max"], 5);
    assert!(grant["expires"].is_string());
}

#[tokio::test]
async fn a_no_ends_the_run_and_a_second_answer_is_refused() {
    let desk = TicketService::new();
    desk.begin(desk.approval(5)).await;
    desk.answer("approval", json!(false)).unwrap();
    let twice = desk.answer("approval", json!(true)).unwrap_err();
    assert!(
        twice.to_string().contains("already been answered"),
        "{twice}"
    );
    let outcome = desk.resume().await;
    assert_eq!(outcome.state, RunState::Failed);
    let error = outcome.error.unwrap();
    assert_eq!(error.class.to_string(), "denied.human");
    assert_eq!(&*error.message, "`terminal:ann` declined");
    assert_eq!(
        (desk.listed.load(Ordering::SeqCst), desk.closed().len()),
        (0, 0)
    );
}

#[tokio::test]
async fn what_exceeds_the_approval_is_asked_for_by_itself_across_processes() {
    let desk = TicketService::new();
    desk.begin(desk.approval(2)).await;
    desk.answer("approval", json!(true)).unwrap();
    assert_eq!(desk.resume().await.state, RunState::Paused);
    assert_eq!(desk.closed(), ["t1", "t2"]);
    let why = "2 calls of `desk.close` were approved, and all have already been made".to_owned();
    let asked = vec![("closed[2].c.confirm".to_owned(), why)];
    assert_eq!(desk.asked(), asked);
    // The calls of earlier processes still count, and are not repeated.
    assert_eq!(desk.resume().await.state, RunState::Paused);
    assert_eq!(desk.asked(), asked);
    desk.answer("closed[2].c.confirm", json!(true)).unwrap();
    assert_eq!(desk.resume().await.state, RunState::Completed);
    assert_eq!(desk.closed(), ["t1", "t2", "t3"]);
}

#[tokio::test]
async fn another_constant_another_contract_and_another_plan_exceed_it() {
    type Change = (fn(&mut Grant), &'static str);
    let changes: [Change; 4] = [
        (
            |grant| {
                let constants = &mut grant.calls[0].constants;
                constants.insert("by".into(), json!("somebody"));
            },
            "`desk.close` was approved only with `by: \"somebody\"`",
        ),
        (
            |grant| grant.calls[0].contract = "another".into(),
            "the contract of `desk.close` has changed since it was approved",
        ),
        (
            |grant| grant.calls.clear(),
            "no call of `desk.close` was approved",
        ),
        (
            |grant| grant.plan = "another".into(),
            "the plan has changed since it was approved",
        ),
    ];
    for (change, why) in changes {
        let desk = TicketService::new();
        let mut approval = desk.approval(5);
        change(&mut approval.grant);
        desk.begin(approval).await;
        desk.answer("approval", json!(true)).unwrap();
        assert_eq!(desk.resume().await.state, RunState::Paused);
        assert!(desk.closed().is_empty());
        let asked = desk.asked();
        assert_eq!(asked[0], ("closed[0].c.confirm".to_owned(), why.to_owned()));
    }
}

#[tokio::test]
async fn nobody_is_asked_where_a_grant_stands() {
    let desk = TicketService::new();
    let mut approval = desk.approval(5);
    approval.grant.expires = Some(i128::from(i64::MAX));
    let outcome = desk.begin(approval).await;
    assert_eq!(outcome.state, RunState::Completed, "{:?}", outcome.error);
    assert!(
        desk.events()
            .iter()
            .any(|event| event["event"] == "run.granted")
    );
}

#[tokio::test]
async fn a_question_that_nobody_answers_in_time_ends_the_run() {
    let desk = TicketService::new();
    let approval = Approval {
        open_for: Duration::ZERO,
        ..desk.approval(5)
    };
    let outcome = desk.begin(approval).await;
    assert_eq!(outcome.state, RunState::Failed);
    assert_eq!(outcome.error.unwrap().class.to_string(), "expired");
}

#[tokio::test]
async fn a_run_that_waits_for_its_approval_can_be_cancelled() {
    let desk = TicketService::new();
    desk.begin(desk.approval(5)).await;
    let (how, drive) = (CancelOptions::default(), ResumeOptions::default());
    let run = desk.planrun.cancel("r1", how, drive).unwrap().unwrap();
    let outcome = run.drive(&mut Silence).await.unwrap().outcome;
    assert_eq!(outcome.state, RunState::Cancelled);
    assert!(desk.asked().is_empty());
    assert!(desk.closed().is_empty());
}
