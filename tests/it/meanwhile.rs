//! Requests to runs that change, or whose journal is damaged, between the check of the request and its execution.

use planrun_core::journal::SubmittedAnswer;
use planrun_lang::protocol::RunState;
use planrun_runs::driver::Silence;
use planrun_runs::runs::{
    Addressee, CheckedPlan, Error, ErrorKind, EventOptions, PlanText, Planrun, RecordedRun,
    ResumeOptions, RunOptions, verify_export,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const ORDER: &str = r#"
plan order(item: string, pin: TYPE) -> string {
    step form = input "How many?" -> { count: int }
    listener stop on signal "stop" -> { why: string } as told {
        let why = told.why
    }
    reply "${form.count} ${item}"
}
"#;

/// A pin that is too short to be recognized anywhere but at its own place, and one that is not.
const PINS: [&str; 2] = ["zqx", "zq-xv-yw"];

fn plan(planrun: &Planrun, folder: &TempDir, text: &str) -> CheckedPlan {
    let name = folder.path().join("a.plan").display().to_string();
    let checked = planrun.check(PlanText::new(&name, text)).unwrap();
    checked.plan(None).unwrap()
}

/// Starts the run `r1` of the plan, and drives it until it asks.
async fn paused(planrun: &Planrun, plan: &CheckedPlan, pin: &str) {
    let inputs = json!({ "item": "cups", "pin": pin });
    let inputs = plan.inputs(inputs.as_object().unwrap().clone()).unwrap();
    let options = RunOptions {
        id: Some("r1".to_owned()),
        ..RunOptions::default()
    };
    let run = planrun.start(plan, inputs, options).unwrap();
    let outcome = run.drive(&mut Silence).await.unwrap().outcome;
    assert_eq!(outcome.state, RunState::Paused);
}

fn exported(planrun: &Planrun, with_secrets: bool) -> String {
    let mut text = Vec::new();
    planrun.export("r1", with_secrets, &mut text).unwrap();
    verify_export(&*text).unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_patch_of_a_run_that_has_gone_on_since_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let text = ORDER.replace("TYPE", "string");
    paused(&planrun, &plan(&planrun, &folder, &text), "1").await;
    let patched = plan(&planrun, &folder, &text.replace("${item}", "pieces"));
    let early = RecordedRun::patchable(&planrun, "r1").await.unwrap();
    // Another process resumes the run, and the process that patches it has read it before.
    let other = Planrun::open(folder.path()).unwrap();
    let answer = SubmittedAnswer::new("form", json!({ "count": 3 }));
    other.answer(Addressee::Run("r1"), &[answer]).unwrap();
    let run = other.resume("r1", ResumeOptions::default()).unwrap();
    run.drive(&mut Silence).await.unwrap();
    let events = other.run("r1").unwrap().events;
    let error = early.patch(&patched).unwrap_err();
    assert!(
        matches!(&error, Error::Changed { run } if run == "r1"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let after = other.run("r1").unwrap();
    assert_eq!((after.events, after.driven), (events, false));
}

#[tokio::test]
async fn an_export_shows_no_secret_of_a_patch() {
    for pin in PINS {
        let folder = tempfile::tempdir().unwrap();
        let planrun = Planrun::open(folder.path()).unwrap();
        // Only the text of the patch declares the pin secret.
        let text = ORDER.replace("TYPE", "string");
        paused(&planrun, &plan(&planrun, &folder, &text), pin).await;
        let text = ORDER.replace("TYPE", "secret").replace("${item}", "pieces");
        let patched = plan(&planrun, &folder, &text);
        let run = RecordedRun::patchable(&planrun, "r1").await.unwrap();
        run.patch(&patched).unwrap();
        let count = |text: &str| text.matches(pin).count();
        assert_eq!(count(&exported(&planrun, true)), 2, "in both documents");
        // A short pin is redacted only where it is declared secret.
        let left = usize::from(pin.len() < 4);
        assert_eq!(count(&exported(&planrun, false)), left, "{pin}");
        let events = planrun.events("r1", EventOptions::default()).unwrap();
        assert!(
            events
                .map(Result::unwrap)
                .all(|event| !event.line.contains(pin))
        );
    }
}

#[tokio::test]
async fn whether_a_run_is_driven_is_known_as_of_the_signal() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let text = ORDER.replace("TYPE", "string");
    paused(&planrun, &plan(&planrun, &folder, &text), "1").await;
    let driven = planrun.resume("r1", ResumeOptions::default()).unwrap();
    let receiver = planrun.receiver("r1").unwrap();
    let signal = || receiver.signal("stop", json!({ "why": "late" })).unwrap();
    assert!(signal(), "this process drives it");
    assert_eq!(driven.release(), "r1");
    assert!(!signal(), "nobody drives it any more");
}

#[tokio::test]
async fn events_end_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let text = ORDER.replace("TYPE", "string");
    paused(&planrun, &plan(&planrun, &folder, &text), "1").await;
    let mut events = planrun.events("r1", EventOptions::default()).unwrap();
    let mut followed = planrun.follow("r1", EventOptions::default()).unwrap();
    let journal = folder.path().join(".planrun/journal.db");
    let connection = rusqlite::Connection::open(journal).unwrap();
    let damage = "UPDATE segments SET text = replace(text, 'How many', 'How much')";
    connection.execute(damage, []).unwrap();
    let kind = |event: Option<Result<_, Error>>| event.unwrap().unwrap_err().kind();
    let last = events.by_ref().find(Result::is_err);
    assert_eq!(kind(last), ErrorKind::Environment);
    assert!(events.next().is_none() && events.next().is_none());
    let last = loop {
        let event = followed.next().await;
        if event.as_ref().is_none_or(Result::is_err) {
            break event;
        }
    };
    assert_eq!(kind(last), ErrorKind::Environment);
    assert!(followed.next().await.is_none() && followed.next().await.is_none());
}

/// Returns the message of an error of a start with the same id.
fn refusal(planrun: &Planrun, plan: &CheckedPlan, inputs: &Json) -> Option<String> {
    let inputs = plan.inputs(inputs.as_object().unwrap().clone()).unwrap();
    let options = RunOptions {
        id: Some("r1".to_owned()),
        ..RunOptions::default()
    };
    let started = planrun.start(plan, inputs, options);
    started.err().map(|error| error.to_string())
}

#[tokio::test]
async fn a_run_with_other_restrictions_is_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path()).unwrap();
    let text = "plan p(n: int) -> int { step form = input \"n?\" -> { m: int } reply n + form.m }";
    let free = plan(&planrun, &folder, text);
    let restricted = planrun.clone().confined([]);
    let confined = plan(&restricted, &folder, text);
    let inputs = json!({ "n": 1 });
    for start in ["the first", "the same again"] {
        assert_eq!(refusal(&restricted, &confined, &inputs), None, "{start}");
    }
    let other = refusal(&planrun, &free, &inputs).unwrap();
    assert!(other.contains("already exists"), "{other}");
}
