//! Programs that embed the library: with tools and askers of their own, and with futures that they drop early.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use planrun::tool::{self, CallError};
use planrun_core::journal::{StepError, SubmittedAnswer};
use planrun_core::run::Asking;
use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;
use planrun_runs::driver::{Answering, Asker, Silence};
use planrun_runs::runs::{
    Addressee, CancelOptions, CheckedPlan, ErrorKind, EventOptions, PlanText, Planrun, RecordedRun,
    ResumeOptions, Run, RunFilter, RunOptions, RunSummary,
};
use planrun_tools::tools::Tool;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;

use crate::mcp;

fn plan(planrun: &Planrun, text: &str) -> CheckedPlan {
    let checked = planrun.check(PlanText::new("a.plan", text)).unwrap();
    checked.plan(None).unwrap()
}

fn start(planrun: &Planrun, text: &str, drive: ResumeOptions) -> Run {
    let plan = plan(planrun, text);
    let inputs = plan.inputs(Map::new()).unwrap();
    let options = RunOptions {
        id: Some("r".to_owned()),
        drive,
        ..RunOptions::default()
    };
    planrun.start(&plan, inputs, options).unwrap()
}

fn asked_by(asker: impl Asker + 'static) -> ResumeOptions {
    let answering = Answering {
        asker: Some(Arc::new(asker)),
        ..Answering::default()
    };
    ResumeOptions {
        answering,
        ..ResumeOptions::default()
    }
}

/// Returns the state and the error of the driven run, with its causes.
async fn end(run: Run) -> (RunState, String) {
    let outcome = run.drive(&mut Silence).await.unwrap().outcome;
    let mut error = outcome.error.as_deref();
    let mut text = String::new();
    while let Some(StepError { class, message, .. }) = error {
        let _ = writeln!(text, "{class}: {message}");
        error = error.and_then(|error| error.cause.as_deref());
    }
    (outcome.state, text)
}

/// Resumes the run as soon as no other driver holds it.
async fn resumed(planrun: &Planrun) -> Run {
    loop {
        match planrun.resume("r", ResumeOptions::default()) {
            Ok(run) => return run,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How often the calls of a slow tool have begun and ended, and how many of them went on at once.
#[derive(Default)]
struct Counts {
    begun: AtomicU32,
    ended: AtomicU32,
    most: AtomicU32,
}

/// Returns an engine whose tool `shop.pay` takes half a second.
fn with_slow_tool(folder: &TempDir, effect: &str, counts: &Arc<Counts>) -> Planrun {
    let counts = counts.clone();
    let pay = tool::from_async(
        &format!("tool shop.pay() -> int {effect}"),
        move |_: Json| {
            let counts = counts.clone();
            async move {
                let begun = counts.begun.fetch_add(1, SeqCst) + 1;
                counts
                    .most
                    .fetch_max(begun - counts.ended.load(SeqCst), SeqCst);
                tokio::time::sleep(Duration::from_millis(500)).await;
                counts.ended.fetch_add(1, SeqCst);
                Ok::<_, CallError>(1)
            }
        },
    );
    Planrun::open(folder.path())
        .unwrap()
        .with_tools([pay.unwrap()])
}

const PAY: &str = "use shop\nplan a() -> int {\n    policy { on_failure: pause }\n    step s = shop.pay()\n    reply s\n}\n";

/// Drives the run until its call has begun, and drops the future then.
async fn drop_during_call(run: Run, counts: &Counts) {
    let begun = async {
        while counts.begun.load(SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut nobody = Silence;
    tokio::select! {
        _ = run.drive(&mut nobody) => panic!("the call takes longer"),
        () = begun => {}
    }
}

#[tokio::test]
async fn nobody_is_asked_about_an_effect_before_it_has_ended_although_its_driver_was_dropped() {
    let (folder, counts) = (tempfile::tempdir().unwrap(), Arc::default());
    let planrun = with_slow_tool(&folder, "effect", &counts);
    let run = start(&planrun, PAY, ResumeOptions::default());
    drop_during_call(run, &counts).await;
    let held = planrun.resume("r", ResumeOptions::default()).err().unwrap();
    assert_eq!(held.kind(), ErrorKind::Busy, "{held}");
    let (state, _) = end(resumed(&planrun).await).await;
    assert_eq!(state, RunState::Paused);
    assert_eq!(counts.ended.load(SeqCst), 1, "whoever looks now sees it");
    let happened = SubmittedAnswer::new("s", json!({ "happened": true, "value": 1 }));
    planrun.answer(Addressee::Run("r"), &[happened]).unwrap();
    assert_eq!(end(resumed(&planrun).await).await.0, RunState::Completed);
    assert_eq!(counts.begun.load(SeqCst), 1);
}

#[tokio::test]
async fn an_idempotent_call_is_not_repeated_at_once_when_its_driver_was_dropped() {
    let (folder, counts) = (tempfile::tempdir().unwrap(), Arc::default());
    let planrun = with_slow_tool(&folder, "idempotent", &counts);
    let run = start(&planrun, PAY, ResumeOptions::default());
    drop_during_call(run, &counts).await;
    assert_eq!(end(resumed(&planrun).await).await.0, RunState::Completed);
    assert_eq!(
        (counts.begun.load(SeqCst), counts.most.load(SeqCst)),
        (2, 1)
    );
}

/// Returns an engine with a tool that panics as soon as it is called, and one that panics during its call.
fn with_panicking_tools(folder: &TempDir, effect: &str) -> Planrun {
    let soon = tool::from_fn(&format!("tool x.soon() -> int {effect}"), |_: Json| {
        assert!(std::hint::black_box(false), "a bug");
        Ok::<_, CallError>(1)
    });
    let later = tool::from_async(
        &format!("tool x.later() -> int {effect}"),
        |_: Json| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(std::hint::black_box(false), "a bug");
            Ok::<_, CallError>(1)
        },
    );
    let tools: [Tool; 2] = [soon.unwrap(), later.unwrap()];
    Planrun::in_memory(folder.path()).unwrap().with_tools(tools)
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_step_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for tool in ["soon", "later"] {
        for (effect, class) in [("read", "internal"), ("effect", "unknown_outcome")] {
            let planrun = with_panicking_tools(&folder, effect);
            let text =
                format!("use x\nplan a() -> int {{\n    step s = x.{tool}()\n    reply s\n}}\n");
            let (state, error) = end(start(&planrun, &text, ResumeOptions::default())).await;
            assert_eq!(state, RunState::Failed, "{tool} {effect}");
            assert!(
                error.starts_with(class) && error.contains("has panicked: a bug"),
                "{tool} {effect}: {error}"
            );
            assert!(!planrun.run("r").unwrap().driven);
        }
    }
}

const ASK: &str =
    "plan a() -> int {\n    step f = input \"How many?\" -> { n: int }\n    reply f.n\n}\n";

/// An asker that panics when it is called, or while it waits for the answer.
struct Panicking {
    at_once: bool,
}

impl Asker for Panicking {
    fn ask(&self, _: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        assert!(!self.at_once, "a bug");
        Box::pin(async { panic!("a bug") })
    }
}

#[tokio::test]
async fn an_asker_that_panics_has_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    for at_once in [true, false] {
        let planrun = Planrun::in_memory(folder.path()).unwrap();
        let run = start(&planrun, ASK, asked_by(Panicking { at_once }));
        assert_eq!(end(run).await.0, RunState::Paused);
        let answer = SubmittedAnswer::new("f", json!({ "n": 2 }));
        planrun.answer(Addressee::Run("r"), &[answer]).unwrap();
        assert_eq!(end(resumed(&planrun).await).await.0, RunState::Completed);
    }
}

/// Counts the futures that wait for an answer, which never comes.
#[derive(Clone, Default)]
struct Silent(Arc<AtomicU32>);

/// One of them.
struct Waiting(Arc<AtomicU32>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Asker for Silent {
    fn ask(&self, _: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        self.0.fetch_add(1, SeqCst);
        let waiting = Waiting(self.0.clone());
        Box::pin(async move {
            let _waiting = waiting;
            std::future::pending().await
        })
    }
}

/// Waits until this many questions are being asked.
async fn asked(waiting: &AtomicU32, count: u32) {
    while waiting.load(SeqCst) != count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_question_that_is_closed_is_no_longer_asked() {
    let folder = tempfile::tempdir().unwrap();
    for expires in [" within 100ms recover expired => { n: 1 }", ""] {
        let text = format!(
            "plan a() -> int {{
    step f = input \"How many?\" -> {{ n: int }}{expires}
    step pause = wait 30s
    step g = input \"And how many?\" -> {{ n: int }}
    reply g.n
}}"
        );
        let planrun = Planrun::in_memory(folder.path()).unwrap();
        let asker = Silent::default();
        let (drive, waiting) = (asked_by(asker.clone()), asker.0);
        let token = drive.cancel.clone();
        let run = tokio::spawn(end(start(&planrun, &text, drive)));
        asked(&waiting, 1).await;
        if expires.is_empty() {
            let answer = SubmittedAnswer::new("f", json!({ "n": 1 }));
            planrun.answer(Addressee::Run("r"), &[answer]).unwrap();
        }
        asked(&waiting, 0).await;
        assert!(!run.is_finished(), "it waits for half a minute");
        token.cancel();
        assert_eq!(run.await.unwrap().0, RunState::Paused);
    }
}

#[tokio::test]
async fn nothing_is_asked_for_a_run_that_is_not_driven_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::in_memory(folder.path()).unwrap();
    let asker = Silent::default();
    let (drive, waiting) = (asked_by(asker.clone()), asker.0);
    let token = drive.cancel.clone();
    let run = tokio::spawn(end(start(&planrun, ASK, drive)));
    asked(&waiting, 1).await;
    token.cancel();
    assert_eq!(run.await.unwrap().0, RunState::Paused);
    asked(&waiting, 0).await;
}

/// A server keeps state from one call to the next, such as a transaction.
#[tokio::test]
async fn each_run_of_a_plan_keeps_its_servers_until_its_own_end() {
    const TEXT: &str = "use notes\n
plan a(pause: duration) -> bool {
    step one = notes.process()
    step waited = wait pause
    step two = notes.process()
    reply one == two
}\n";
    let Some(place) = mcp::served("process.py", &[], TEXT) else {
        return;
    };
    let locked = mcp::run(&place, &["tools", "lock", "--accept", "all"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    let planrun = Planrun::open(place.path()).unwrap();
    let plan = plan(&planrun, TEXT);
    let run = |pause: &str| {
        let inputs = Map::from_iter([("pause".to_owned(), json!(pause))]);
        let inputs = plan.inputs(inputs).unwrap();
        let run = planrun.start(&plan, inputs, RunOptions::default()).unwrap();
        async { run.drive(&mut Silence).await.unwrap().outcome.reply }
    };
    let replies = tokio::join!(run("100ms"), run("1s"));
    let same = Some(Value::Bool(true));
    assert_eq!(replies, (same.clone(), same));
}

const SIGNAL: &str = "plan a() -> int {
    step f = input \"How many?\" -> { n: int }
    listener stop on signal \"stop\" { let noted = 1 }
    reply f.n
}\n";

/// Another process reads the journal only now and then, so it can miss a message until it has released the run.
#[tokio::test]
async fn a_run_that_is_cancelled_before_it_is_driven_or_while_it_is_suspended_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let other = Planrun::open(folder.path()).unwrap();
    let plan = plan(&planrun, SIGNAL);
    for (number, sender) in [&planrun, &other].into_iter().cycle().take(10).enumerate() {
        let id = format!("r{number}");
        let options = RunOptions {
            id: Some(id.clone()),
            ..RunOptions::default()
        };
        let inputs = plan.inputs(Map::new()).unwrap();
        let run = planrun.start(&plan, inputs, options).unwrap();
        let (cancel, drive) = (CancelOptions::default(), ResumeOptions::default());
        let to_drive = sender.cancel(&id, cancel, drive).unwrap();
        assert!(to_drive.is_none(), "{id} is held by `run`");
        assert_eq!(end(run).await.0, RunState::Cancelled, "{id}");
        assert!(planrun.run(&id).unwrap().ended);
    }
}

#[tokio::test]
async fn an_answer_that_arrives_while_a_run_is_suspended_is_taken_by_its_driver() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let other = Planrun::open(folder.path()).unwrap();
    end(start(&planrun, ASK, ResumeOptions::default())).await;
    let run = resumed(&planrun).await;
    let answer = SubmittedAnswer::new("f", json!({ "n": 2 }));
    other.answer(Addressee::Run("r"), &[answer]).unwrap();
    assert_eq!(end(run).await.0, RunState::Completed);
}

#[tokio::test]
async fn a_run_that_was_dropped_before_it_began_is_due_once_it_has_got_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    drop(start(&planrun, ASK, ResumeOptions::default()).release());
    assert_eq!(planrun.run("r").unwrap().status(), "pending");
    assert!(planrun.due().unwrap().is_empty(), "it was handed over");
    let (cancel, drive) = (CancelOptions::default(), ResumeOptions::default());
    let run = planrun.cancel("r", cancel, drive).unwrap();
    drop(run.unwrap().release());
    let due = planrun.due().unwrap();
    assert_eq!((due.len(), due[0].status()), (1, "pending"));
}

/// Makes the journal look as if the process that drives the run had died.
fn kill(folder: &TempDir) {
    let journal = rusqlite::Connection::open(folder.path().join(".planrun/journal.db")).unwrap();
    let dead = "UPDATE runs SET driver = substr(driver, 1, length(driver) - 16) || '0000000000000000', process = 999999999, driven_until = 0, epoch = epoch + 1";
    journal.execute(dead, []).unwrap();
}

#[tokio::test]
async fn a_run_whose_process_has_died_before_its_first_event_is_interrupted_and_due() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let run = start(&planrun, ASK, ResumeOptions::default());
    kill(&folder);
    let status = planrun.run("r").unwrap().status();
    assert_eq!(status, RunSummary::INTERRUPTED);
    let listed = |pending, interrupted| {
        let filter = RunFilter {
            pending,
            interrupted,
            ..RunFilter::default()
        };
        planrun.list(&filter).unwrap().len()
    };
    assert_eq!((listed(true, false), listed(false, true)), (0, 1));
    assert_eq!(planrun.due().unwrap().len(), 1);
    drop(run);
    assert_eq!(end(resumed(&planrun).await).await.0, RunState::Paused);
    assert!(planrun.due().unwrap().is_empty());
}

#[tokio::test]
async fn a_project_without_runs_has_none_in_either_store() {
    let folder = tempfile::tempdir().unwrap();
    let in_file = Planrun::open(folder.path()).unwrap();
    for planrun in [Planrun::in_memory(folder.path()).unwrap(), in_file] {
        assert!(planrun.list(&RunFilter::default()).unwrap().is_empty());
        assert!(planrun.inbox(None).unwrap().runs.is_empty());
        assert!(planrun.due().unwrap().is_empty());
        let answer = [SubmittedAnswer::new("f", json!(1))];
        let cancel = CancelOptions::default();
        let errors = [
            planrun.run("r").err(),
            planrun.questions("r").err(),
            planrun.events("r", EventOptions::default()).err(),
            planrun.resume("r", ResumeOptions::default()).err(),
            planrun.cancel("r", cancel, ResumeOptions::default()).err(),
            planrun.signal("r", "stop", json!(null)).err(),
            planrun.answer(Addressee::Run("r"), &answer).err(),
            planrun.answer(Addressee::All, &answer).err(),
        ];
        for error in errors {
            assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
        }
    }
    assert!(!folder.path().join(".planrun").exists());
}

/// The contract is refused if the run has pinned it. A patch pins the new one, but what was sent before stays an effect.
#[tokio::test]
async fn an_effect_is_not_repeated_because_its_tool_is_idempotent_by_now() {
    let (folder, counts) = (tempfile::tempdir().unwrap(), Arc::default());
    let planrun = with_slow_tool(&folder, "effect", &counts);
    let run = start(&planrun, PAY, ResumeOptions::default());
    drop_during_call(run, &counts).await;
    drop(resumed(&planrun).await);
    let changed = with_slow_tool(&folder, "idempotent", &counts);
    let refused = changed.resume("r", ResumeOptions::default());
    let refused = refused.err().unwrap().to_string();
    let why = "the contract of `shop.pay` has changed since the run began (contract-broken)";
    assert!(refused.ends_with(why), "{refused}");
    let run = RecordedRun::patchable(&changed, "r").await.unwrap();
    run.patch(&plan(&changed, PAY)).unwrap();
    let (state, error) = end(resumed(&changed).await).await;
    assert_eq!(state, RunState::Paused, "{error}");
    let open = changed.questions("r").unwrap().questions();
    assert_eq!(&*open[0].0, "s", "whether it has happened");
    assert_eq!(counts.begun.load(SeqCst), 1);
}
