//! Section 4: gates, forms, timers, and the run while it waits for them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{AnswerError, Grant, GrantScope, SubmittedAnswer};
use planrun_core::run::{Approval, Asking, Interruption};
use planrun_runs::driver::Asker;
use planrun_runs::journal::MemoryLog;
use planrun_tools::host::Host as _;
use serde_json::{Value as Json, json};

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};

const TOOLS: &str = "
use a, b
tool a.read(x?: any) -> int read
tool b.read() -> int read
tool a.write(x?: any) -> int effect fails busy
";

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

/// The initial time of a world's clock: 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600_000_000_000;

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap()
}

fn durable() -> (World, MemoryLog) {
    let log = MemoryLog::default();
    let mut world = World::new()
        .tool("a.write", [give(json!(1))])
        .tool("a.read", [give(json!(7))]);
    world.journal = Some(log.clone());
    (world, log)
}

/// Returns an approval of a whole run that covers no call.
fn approval(open_for: Duration) -> Approval {
    let grant = Grant {
        plan: "another".into(),
        calls: Vec::new(),
        scope: GrantScope::Once,
        by: None,
        expires: None,
    };
    Approval {
        text: "May it run?".into(),
        open_for,
        grant,
        valid_for: Duration::from_hours(1),
    }
}

/// Returns the events of a kind in a journal, oldest first.
fn events(log: &MemoryLog, name: &str) -> Vec<Json> {
    let lines = log
        .lines()
        .into_iter()
        .map(|line| serde_json::from_str::<Json>(&line).unwrap());
    lines.filter(|event| event["event"] == name).collect()
}

fn questions(log: &MemoryLog) -> Vec<Json> {
    events(log, "step.waiting")
        .into_iter()
        .filter(|event| event["for"] == "confirm" || event["for"] == "input")
        .collect()
}

fn paths(questions: &[Json]) -> Vec<&str> {
    questions
        .iter()
        .map(|question| question["path"].as_str().unwrap())
        .collect()
}

/// An asker that answers any question from a list after a delay.
struct ScriptedAsker {
    takes: Duration,
    answers: Mutex<VecDeque<(Option<&'static str>, Json)>>,
    refused: Mutex<Vec<String>>,
}

fn scripted_asker(
    takes: Duration,
    answers: impl IntoIterator<Item = (Option<&'static str>, Json)>,
) -> Arc<ScriptedAsker> {
    Arc::new(ScriptedAsker {
        takes,
        answers: Mutex::new(answers.into_iter().collect()),
        refused: Mutex::default(),
    })
}

impl Asker for ScriptedAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        self.refused.lock().unwrap().extend(asking.refused);
        let next = self.answers.lock().unwrap().pop_front();
        let takes = self.takes;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            let (by, value) = next?;
            Some(SubmittedAnswer {
                path: asking.path,
                value,
                by: by.map(Arc::from),
                note: None,
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn r4_2_a_gate_shows_what_would_go_out_and_nothing_goes_out_before_a_yes() {
    let (world, log) = durable();
    let text = plan(
        "step r = a.read() step w = a.write(x: r * 2) confirm \"Write ${r}?\" by \"desk\" expires 2d reply w",
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.status("w")),
        ("paused", "waiting".into())
    );
    assert_eq!(ran.order(), ["a.read"]);
    let question = &questions(&log)[0];
    assert_eq!(
        (&question["text"], &question["by"]),
        (&json!("Write 7?"), &json!("desk"))
    );
    assert_eq!(
        (&question["tool"], &question["arguments"]),
        (&json!("a.write"), &json!({"x": 14}))
    );
    assert_eq!(question["expires"], "2026-01-03T00:00:00.000Z");
    assert_eq!(
        log.summary().unwrap().wake,
        Some(BEGIN + nanos(Duration::from_hours(48)))
    );
    log.send(r#"{"answer": "w.confirm", "value": true, "by": "desk:ann", "note": "fine"}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.order()),
        (json!(1), vec!["a.read", "a.write"])
    );
    assert_eq!(ran.calls("a.write")[0].arguments, json!({"x": 14}));
    let given = &events(&log, "answer.given")[0];
    assert_eq!(
        (&given["path"], &given["value"]),
        (&json!("w.confirm"), &json!(true))
    );
    assert_eq!(
        (&given["by"], &given["note"]),
        (&json!("desk:ann"), &json!("fine"))
    );
}

#[tokio::test(start_paused = true)]
async fn r4_2_a_no_is_denied_human_and_cannot_be_answered_again_by_resuming() {
    let (world, log) = durable();
    let text = plan("step w = a.write() confirm \"Write?\"");
    world.run(&text).await;
    log.send(
        r#"{"answer": "w.confirm", "value": {"approve": false, "by": "ann", "note": "too dear"}}"#,
    );
    // The process dies as soon as the answer is on disk.
    let dying = log.clone().dying_after(log.lines().len() + 2);
    let mut first = World::new();
    first.journal = Some(dying);
    first
        .run_until_it_dies(&text, std::collections::BTreeMap::new())
        .await;
    assert_eq!(events(&log, "answer.given").len(), 1);
    let living = log.clone().revived();
    living.send(r#"{"answer": "w.confirm", "value": true}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), ran.order().len()),
        ("denied.human", 0)
    );
    assert!(ran.outcome.error.unwrap().message.contains("too dear"));
    let given = SubmittedAnswer {
        path: "w.confirm".into(),
        value: json!(true),
        by: None,
        note: None,
    };
    assert!(living.replay_state().unwrap().accept(&given, 0).is_err());
    assert_eq!(events(&living, "answer.given").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r4_2_one_answer_serves_all_attempts_of_an_execution() {
    let (_, log) = durable();
    let mut world = World::new().tool("a.write", [Fail("transient.network", No), give(json!(1))]);
    (world.journal, world.answers) = (Some(log.clone()), vec![("w.confirm", json!(true))]);
    let ran = world
        .run(&plan(
            "step w = a.write() retry { delay: 1s } confirm \"Write?\" reply w",
        ))
        .await;
    let calls = ran.calls("a.write");
    assert_eq!(
        (ran.reply(), calls.len(), questions(&log).len()),
        (json!(1), 2, 1)
    );
    assert_eq!(calls[0].key, calls[1].key);
}

#[tokio::test(start_paused = true)]
async fn r4_2_another_execution_is_asked_for_again_and_a_no_to_it_stays() {
    for (second, class, made) in [(true, "", 2), (false, "denied.human", 1)] {
        let log = MemoryLog::default();
        let mut world = World::new().tool("a.write", [Fail("tool.busy", Refused), give(json!(1))]);
        (world.journal, world.answers) = (Some(log.clone()), vec![("w.confirm", json!(true))]);
        let text = plan(
            "step w = a.write() retry { delay: 1s, on: [tool.busy] } confirm \"Write?\" reply w",
        );
        let ran = world.run(&text).await;
        assert_eq!((ran.outcome.state.name(), ran.order().len()), ("paused", 1));
        let asked = questions(&log);
        assert_eq!(
            asked
                .iter()
                .map(|asked| asked["execution"].as_u64().unwrap())
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_ne!(asked[0]["binding"], asked[1]["binding"]);
        world.answers.clear();
        log.send(&json!({"answer": "w.confirm", "value": second}).to_string());
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.class().as_str(), ran.calls("a.write").len()),
            (class, made)
        );
        assert_eq!(questions(&log).len(), 2);
        let keys: std::collections::BTreeSet<&str> =
            ran.seen.iter().map(|seen| seen.key.as_str()).collect();
        assert_eq!(keys.len(), made, "a new execution has a new key");
        let again = world.run(&text).await;
        assert_eq!(
            (again.class().as_str(), again.calls("a.write").len()),
            (class, made),
            "and lives through it again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r4_2_what_goes_on_with_an_open_execution_is_asked_for_once_as_it_will_be_sent() {
    let log = MemoryLog::default();
    let mut world = World::new()
        .tool("a.read", [give(json!(1)), give(json!(2))])
        .tool("c.put", [Fail("transient.network", Maybe), give(json!(3))]);
    (world.journal, world.answers) = (Some(log.clone()), vec![("d.w.confirm", json!(true))]);
    let text = plan(
        "policy { on_failure: pause }
         step d = do {
             step r = a.read()
             step w = c.put(x: r) confirm \"Put?\" retry { attempts: 1 } recover transient => 0
             ensure w > 0 else \"lost\"
             yield w
         }
         reply d",
    )
    .replace(
        "use a, b",
        "use a, b, c\ntool c.put(x: int) -> int idempotent",
    );
    assert_eq!(world.run(&text).await.class(), "validation.ensure");
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.calls("a.read").len()), (json!(3), 1));
    let asked = questions(&log);
    let arguments: Vec<&Json> = asked.iter().map(|asked| &asked["arguments"]).collect();
    assert_eq!(arguments, [&json!({"x": 1}), &json!({"x": 1})]);
    let keys: Vec<&str> = ran.calls("c.put").iter().map(|seen| &*seen.key).collect();
    assert_eq!((keys.len(), keys[0]), (2, keys[1]));
}

#[tokio::test(start_paused = true)]
async fn r4_2_an_answer_is_void_when_anything_that_it_bound_has_changed() {
    let changes = [
        (
            "a.write(x: 1) confirm \"Write?\"",
            "a.write(x: 2) confirm \"Write?\"",
        ),
        (
            "a.write(x: 1) confirm \"Write?\"",
            "a.write(x: 1) confirm \"Really write?\"",
        ),
        (
            "a.write(x: 1) confirm \"Write?\" by \"desk\"",
            "a.write(x: 1) confirm \"Write?\" by \"boss\"",
        ),
    ];
    for (before, now) in changes {
        let (world, log) = durable();
        world.run(&plan(&format!("step w = {before}"))).await;
        log.send(r#"{"answer": "w.confirm", "value": true, "by": "desk"}"#);
        let mut first = World::new();
        first.journal = Some(log.clone().dying_after(log.lines().len() + 2));
        first
            .run_until_it_dies(
                &plan(&format!("step w = {before}")),
                std::collections::BTreeMap::new(),
            )
            .await;
        assert_eq!(events(&log, "answer.given").len(), 1, "{before}");
        let _ = log.clone().revived();
        let ran = world.run(&plan(&format!("step w = {now}"))).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.order().len()),
            ("paused", 0),
            "{now}"
        );
        assert_eq!(questions(&log).len(), 2, "{now}");
        log.send(r#"{"answer": "w.confirm", "value": true, "by": "boss"}"#);
        let ran = world.run(&plan(&format!("step w = {now}"))).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.order().len()),
            ("completed", 1),
            "{now}"
        );
        let again = world.run(&plan(&format!("step w = {now}"))).await;
        assert_eq!(
            (again.outcome.state.name(), again.order().len()),
            ("completed", 1),
            "{now}: from the journal"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r4_2_an_approval_survives_a_resume_and_is_out_of_date_when_it_is_used_too_late() {
    for (later, class, made) in [(10, "", 1), (3 * 3600, "expired", 0)] {
        let (mut world, log) = durable();
        let begun = world.host.now();
        let text = plan("step w = a.write() confirm \"Write?\" expires 2h");
        world.run(&text).await;
        log.send(r#"{"answer": "w.confirm", "value": true}"#);
        let mut first = World::new();
        first.journal = Some(log.clone().dying_after(log.lines().len() + 2));
        first
            .run_until_it_dies(&text, std::collections::BTreeMap::new())
            .await;
        let _ = log.clone().revived();
        world.host.advance(Duration::from_secs(later));
        let ran = world.run(&text).await;
        assert_eq!((ran.class().as_str(), ran.order().len()), (class, made));
        assert_eq!(questions(&log).len(), 1);
        world.replay_only = true;
        world.host.set_now(begun);
        let seen = world.run(&text).await;
        assert_eq!(seen.class(), class, "even if the clock was set back since");
    }
}

#[tokio::test(start_paused = true)]
async fn r4_2_an_approval_that_has_expired_since_does_not_change_why_a_step_failed() {
    let (mut world, log) = durable();
    let text = plan(
        "policy { budget: { calls: 1 } } step r = a.read()
         step w = a.write() confirm \"Write?\" expires 2h after r",
    );
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    assert_eq!(world.run(&text).await.class(), "budget.calls");
    world.replay_only = true;
    world.host.advance(Duration::from_hours(3));
    let seen = world.run(&text).await;
    assert_eq!(seen.class(), "budget.calls");
    assert_eq!(seen.status("w"), "failed");
}

#[tokio::test(start_paused = true)]
async fn r4_2_an_approval_that_was_used_in_time_serves_later_attempts_in_another_process() {
    let (world, log) = durable();
    let world = world.tool("a.write", [Fail("transient.network", No), give(json!(1))]);
    let text = plan(
        "step w = a.write() confirm \"Write?\" expires 2h retry { attempts: 2, delay: 3h, max_delay: 3h, jitter: none } reply w",
    );
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    let ran = world.run(&text).await;
    assert_eq!((ran.outcome.state.name(), ran.order().len()), ("paused", 1));
    world.host.advance(Duration::from_hours(3));
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.order().len()), (json!(1), 2));
    assert_eq!(questions(&log).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r4_2_the_approval_of_a_whole_run_that_nobody_gives_in_time_leaves_a_readable_journal() {
    let (mut world, log) = durable();
    let text = plan("step w = a.write() reply w");
    world.approval = Some(approval(Duration::from_secs(30)));
    let ran = world.run(&text).await;
    assert_eq!((ran.class().as_str(), ran.order().len()), ("expired", 0));
    assert_eq!(events(&log, "timer.fired")[0]["timer"], "expires");
    world.replay_only = true;
    assert_eq!(world.run(&text).await.class(), "expired");
}

#[tokio::test(start_paused = true)]
async fn r4_2_a_late_answer_is_told_what_became_of_the_question_that_another_process_asked() {
    let (world, log) = durable();
    let text = plan("step w = a.write() confirm \"Write?\" step more = wait 2h reply w");
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    assert!(world.run(&text).await.refused.is_empty(), "the same answer");
    log.send(r#"{"answer": "w.confirm", "value": false}"#);
    let refused = world.run(&text).await.refused.concat();
    assert!(refused.contains("has already been answered"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn r4_2_what_does_not_fit_is_refused_and_changes_nothing() {
    let (world, log) = durable();
    let text = plan("step w = a.write() confirm \"Write?\" by \"desk\" expires 2d");
    world.run(&text).await;
    let before = log.lines().len();
    let refused = [
        (
            r#"{"answer": "w.confirn", "value": true}"#,
            "did you mean `w.confirm`?",
        ),
        (
            r#"{"answer": "w", "value": true}"#,
            "there is no question at `w`",
        ),
        (
            r#"{"answer": "w.confirm", "value": "yes", "by": "desk"}"#,
            "does not fit",
        ),
        (
            r#"{"answer": "w.confirm", "value": {"approve": "yes"}, "by": "desk"}"#,
            "does not fit",
        ),
        (
            r#"{"answer": "w.confirm", "value": true}"#,
            "from the role `desk`",
        ),
        (
            r#"{"answer": "w.confirm", "value": true, "by": "boss"}"#,
            "the answer is from `boss`",
        ),
        (
            r#"{"answer": "w.confirm", "valu": true}"#,
            "an answer must have the form",
        ),
    ];
    for (message, _) in &refused {
        log.send(message);
    }
    let ran = world.run(&text).await;
    assert_eq!((ran.outcome.state.name(), ran.order().len()), ("paused", 0));
    assert_eq!(ran.refused.len(), refused.len());
    for (refusal, (_, expected)) in ran.refused.iter().zip(&refused) {
        assert!(refusal.contains(expected), "{refusal}");
    }
    let names: Vec<String> = log.lines()[before..]
        .iter()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["event"].to_string())
        .collect();
    assert_eq!(names, ["\"run.resumed\"", "\"run.paused\""]);
    let given = |by: &str| SubmittedAnswer {
        path: "w.confirm".into(),
        value: json!(true),
        by: Some(by.into()),
        note: None,
    };
    let replay = log.replay_state().unwrap();
    assert!(replay.accept(&given("desk"), 0).is_ok());
    let late = BEGIN + nanos(Duration::from_hours(49));
    assert!(matches!(
        replay.accept(&given("desk"), late),
        Err(AnswerError::Late { .. })
    ));
    log.send(r#"{"answer": "w.confirm", "value": true, "by": "desk"}"#);
    log.send(r#"{"answer": "w.confirm", "value": false, "by": "desk"}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.order().len()),
        ("completed", 1)
    );
    assert!(
        ran.refused[0].contains("already been answered with yes by desk at 2026-01-01T"),
        "{:?}",
        ran.refused
    );
}

#[tokio::test(start_paused = true)]
async fn r4_2_inside_each_every_element_is_asked_for_and_on_the_each_the_list_once() {
    let (mut world, log) = durable();
    let each = |inner: &str, outer: &str| {
        plan(&format!(
            "step m = each x in [\"a\", \"b\"] max 5 parallel 2 {{ step sent = a.write(x: x) {inner} yield sent }} {outer} reply m"
        ))
    };
    let inside = each("confirm \"Send ${x}?\"", "");
    let ran = world.run(&inside).await;
    assert_eq!(paths(&questions(&log)), ["m[0].sent", "m[1].sent"]);
    let open: Vec<String> = ran
        .outcome
        .questions
        .iter()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(open, ["m[0].sent.confirm", "m[1].sent.confirm"]);
    log.send(r#"{"answer": "m[1].sent.confirm", "value": true}"#);
    let ran = world.run(&inside).await;
    assert_eq!((ran.outcome.state.name(), ran.order().len()), ("paused", 1));
    let log = MemoryLog::default();
    (world.journal, world.answers) = (Some(log.clone()), vec![("m.confirm", json!(true))]);
    let ran = world.run(&each("", "confirm \"Send all?\"")).await;
    assert_eq!(
        (ran.reply(), paths(&questions(&log))),
        (json!([1, 1]), vec!["m"])
    );
    assert_eq!(questions(&log)[0]["arguments"], json!({"list": ["a", "b"]}));
}

#[tokio::test(start_paused = true)]
async fn r4_2_whoever_waits_for_people_holds_no_slot() {
    let mut world = World::new()
        .tool("a.write", [give(json!(1))])
        .tool("b.read", [after(50, give(json!(7)))]);
    world.asker = Some(scripted_asker(
        Duration::from_hours(1),
        [(None, json!(true))],
    ));
    let text = "policy { concurrency: 1 } parallel { step w = a.write() confirm \"Write?\" step r = b.read() } reply w + r";
    let ran = world.run(&plan(text)).await;
    assert_eq!(
        (ran.reply(), ran.order()),
        (json!(8), vec!["b.read", "a.write"])
    );
}

#[tokio::test(start_paused = true)]
async fn r4_1_within_and_the_deadline_do_not_run_while_people_think() {
    let mut world = World::new().tool("a.write", [after(50, give(json!(1)))]);
    world.asker = Some(scripted_asker(
        Duration::from_hours(1),
        [(None, json!(true))],
    ));
    let text =
        plan("policy { deadline: 10s } step w = a.write() confirm \"Write?\" within 100ms reply w");
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.took), (json!(1), 3_600_050));
    assert_eq!(ran.step("w").duration_ms, 50);
    // The time limit of the call itself is unchanged.
    let mut world = World::new().tool("a.write", [after(20_000, give(json!(1)))]);
    world.asker = Some(scripted_asker(
        Duration::from_hours(1),
        [(None, json!(true))],
    ));
    let ran = world
        .run(&plan(
            "policy { deadline: 10s } step w = a.write() confirm \"Write?\"",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.took),
        ("budget.time", 3_620_000),
        "the effect is awaited"
    );
    // While other steps run, the clock runs.
    let mut world = World::new()
        .tool("a.write", [give(json!(1))])
        .tool("b.read", [after(20_000, give(json!(7)))]);
    world.asker = Some(scripted_asker(
        Duration::from_hours(1),
        [(None, json!(true))],
    ));
    let ran = world
        .run(&plan("policy { deadline: 10s } parallel { step w = a.write() confirm \"Write?\" step r = b.read() }"))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("budget.time", 10_000));
    assert_eq!(
        ran.status("w"),
        "cancelled",
        "and the open gate is withdrawn"
    );
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_does_not_run_while_no_process_does() {
    let (world, log) = durable();
    let text = plan("policy { deadline: 10s } step w = a.write() confirm \"Write?\"");
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    assert_eq!(
        log.summary().unwrap().wake,
        None,
        "nothing but somebody moves it on"
    );
    world.host.advance(Duration::from_hours(24));
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    assert_eq!(world.run(&text).await.outcome.state.name(), "completed");
}

#[tokio::test(start_paused = true)]
async fn r4_1_a_budget_of_time_is_not_used_while_nothing_is_done() {
    let (world, log) = durable();
    let text = plan("policy { budget: { time: 10s } } step w = a.write() confirm \"Write?\"");
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.host.advance(Duration::from_hours(24));
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    assert_eq!(world.run(&text).await.outcome.state.name(), "completed");
    // A called plan has not waited before it was called.
    let inner = format!(
        "{TOOLS} plan inner() -> int {{ policy {{ budget: {{ time: 10s }} }} step one = a.write() \
         step two = a.write() reply two }}"
    );
    let calls = [after(0, give(json!(1))), after(20_000, give(json!(2)))];
    let mut world = World::new()
        .tool("a.write", calls)
        .file("./inner.plan", &inner);
    world.asker = Some(scripted_asker(
        Duration::from_hours(1),
        [(None, json!(true))],
    ));
    let text = format!(
        "{TOOLS} use \"./inner.plan\" as other \
         plan p() -> int {{ step w = a.write() confirm \"Write?\" step i = other.inner() reply i }}"
    );
    let ran = world.run(&text).await;
    assert_eq!(ran.class(), "budget.time");
    assert_eq!(ran.calls("a.write").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_of_a_called_plan_does_not_run_while_people_think_either() {
    let (world, log) = durable();
    let mut world = world.tool("b.read", [give(json!(1))]);
    let inner = format!(
        "{TOOLS} plan inner() -> int {{ policy {{ deadline: 10s }} step w = a.write() confirm \"Write?\" reply w }}"
    );
    world = world.file("./inner.plan", &inner);
    let text = "use b use \"./inner.plan\" as other tool b.read() -> int read
        plan p() -> int { step r = b.read() step i = other.inner() after r reply i }";
    assert_eq!(world.run(text).await.outcome.state.name(), "paused");
    for _ in 0..2 {
        world.host.advance(Duration::from_hours(24));
        assert_eq!(world.run(text).await.outcome.state.name(), "paused");
    }
    log.send(r#"{"answer": "i.w.confirm", "value": true}"#);
    assert_eq!(world.run(text).await.reply(), json!(1));
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_runs_on_while_a_run_rests_until_a_moment() {
    let (world, log) = durable();
    let text = plan("policy { deadline: 10m } step t = wait 1h");
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    assert_eq!(
        log.summary().unwrap().wake,
        Some(BEGIN + nanos(Duration::from_mins(10)))
    );
    world.host.advance(Duration::from_mins(10));
    let ran = world.run(&text).await;
    assert_eq!((ran.class().as_str(), ran.took), ("budget.time", 0));
}

#[tokio::test(start_paused = true)]
async fn r4_1_expires_bounds_people_and_an_arm_may_catch_it() {
    let (world, log) = durable();
    let text = plan(
        "step w = a.write() confirm \"Write?\" expires 30s recover expired => a.read() reply w",
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.order(), ran.took),
        (json!(7), vec!["a.read"], 30_000)
    );
    assert_eq!(events(&log, "timer.fired")[0]["timer"], "expires");
    let again = world.run(&text).await;
    assert_eq!(
        (again.reply(), again.order()),
        (json!(7), vec!["a.read"]),
        "and it lives through it again"
    );
}

#[tokio::test(start_paused = true)]
async fn r4_2_an_abort_withdraws_open_gates() {
    let (mut world, log) = durable();
    world = world.tool("b.read", [after(100, Fail("tool.failed", Answered))]);
    let ran = world
        .run(&plan(
            "parallel { step w = a.write() confirm \"Write?\" step r = b.read() }",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.status("w")),
        ("tool.failed", "cancelled".into())
    );
    assert!(ran.outcome.questions.is_empty());
    assert_eq!(log.replay_state().unwrap().questions.open().count(), 0);
}

fn form(ran: &Ran) -> String {
    let (path, question) = &ran.outcome.questions[0];
    let fields: Vec<String> = question
        .form
        .iter()
        .map(|field| format!("{}: {}", field.name, field.ty))
        .collect();
    format!("{path}({})", fields.join(", "))
}

#[tokio::test(start_paused = true)]
async fn d2_r4_3_what_is_known_is_not_asked_and_a_wrong_answer_leaves_the_form_open() {
    let (world, log) = durable();
    let text = plan(
        "step i = input \"Which?\" -> { n: int, level: string in [\"a\", \"b\"], at: timestamp, city: string known \"Oslo\", note: string? known null }
             by \"desk\"
         reply { i: i, year: i.at.getFullYear() }",
    );
    let ran = world.run(&text).await;
    assert_eq!(
        form(&ran),
        "i(n: int, level: string, at: timestamp, note: string?)"
    );
    let wrong = [
        (json!(3), "an object with the fields n: int"),
        (json!({"n": 1, "level": "a"}), "`at` is missing"),
        (
            json!({"n": "1", "level": "a", "at": "2026-01-01T00:00:00Z"}),
            "the field `n`",
        ),
        (
            json!({"n": 1, "level": "c", "at": "2026-01-01T00:00:00Z"}),
            "one of \"a\", \"b\"",
        ),
        (
            json!({"n": 1, "level": "a", "at": "2026-01-01T00:00:00Z", "city": "Rom"}),
            "there is no field `city`; the fields are n: int",
        ),
    ];
    for (value, _) in &wrong {
        log.send(&json!({"answer": "i", "value": value, "by": "desk"}).to_string());
    }
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "paused");
    for (refusal, (_, expected)) in ran.refused.iter().zip(&wrong) {
        assert!(refusal.contains(expected), "{refusal}");
    }
    log.send(r#"{"answer": "i", "value": {"n": 1, "level": "b", "at": "2026-01-01T00:00:00Z"}, "by": "desk"}"#);
    let expected = json!({"i": {"city": "Oslo", "n": 1, "level": "b", "at": "2026-01-01T00:00:00Z", "note": null}, "year": 2026});
    assert_eq!(world.run(&text).await.reply(), expected);
    assert_eq!(
        world.run(&text).await.reply(),
        expected,
        "and again, from the journal"
    );
}

#[tokio::test(start_paused = true)]
async fn r4_3_where_nothing_is_left_to_ask_nobody_is_asked() {
    let (world, log) = durable();
    let text = plan(
        "step r = a.read() step i = input \"Which?\" -> { n: int known r, m: int in [1, 2] known 2 } reply i",
    );
    assert_eq!(world.run(&text).await.reply(), json!({"n": 7, "m": 2}));
    assert_eq!(questions(&log).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn r4_5_timers_are_kept_when_the_process_is_not() {
    let (world, log) = durable();
    let text = plan("step t = wait 5m step w = a.write() after t reply w");
    let ran = world.run(&text).await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("paused", 0));
    let wake = Some(BEGIN + nanos(Duration::from_mins(5)));
    assert_eq!(
        ran.outcome.interruption,
        Some(Interruption::Waiting {
            wake,
            events: String::new(),
            awaited: Vec::new()
        })
    );
    assert_eq!(log.summary().unwrap().wake, wake);
    world.host.advance(Duration::from_secs(4 * 60 + 30));
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.took, ran.order().len()),
        ("completed", 30_000, 1),
        "what remains is short"
    );
    assert_eq!(
        events(&log, "step.waiting")[0]["until"],
        "2026-01-01T00:05:00.000Z"
    );
    assert_eq!(
        world.run(&text).await.reply(),
        json!(1),
        "and again, from the journal"
    );
}

#[tokio::test(start_paused = true)]
async fn r4_5_wait_until_waits_for_a_moment_and_not_for_one_that_is_past() {
    let world = World::new();
    let ran = world
        .run(&plan(
            "step t = wait until timestamp(\"2026-01-01T02:00:00+01:00\") reply t == null",
        ))
        .await;
    assert_eq!((ran.reply(), ran.took), (json!(true), 3_600_000));
    let ran = world
        .run(&plan(
            "step t = wait until timestamp(\"2025-01-01T00:00:00Z\") reply t == null",
        ))
        .await;
    assert_eq!((ran.reply(), ran.took), (json!(true), 0));
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_between_attempts_keeps_no_process_alive() {
    let (_, log) = durable();
    let mut world = World::new().tool("a.read", [Fail("transient.network", No), give(json!(7))]);
    world.journal = Some(log.clone());
    let text = plan("step r = a.read() retry { delay: 10m, max_delay: 1h, jitter: none } reply r");
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.host.advance(Duration::from_mins(10));
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.took, ran.order().len()), (json!(7), 0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_approved_beyond_the_grant_is_retried_by_the_next_process() {
    let (mut world, log) = durable();
    world = world.tool("a.write", [Fail("transient.network", No), give(json!(1))]);
    world.answers = vec![("approval", json!(true)), ("w.confirm", json!(true))];
    world.approval = Some(approval(Duration::from_hours(1)));
    let retry = "attempts: 2, delay: 10m, max_delay: 1h, jitter: none";
    let text = plan(&format!("step w = a.write() retry {{ {retry} }} reply w"));
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.host.advance(Duration::from_mins(10));
    assert_eq!(world.run(&text).await.reply(), json!(1));
    assert_eq!(paths(&questions(&log)), ["w"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_approved_beyond_the_grant_and_refused_has_ended_for_who_looks() {
    let (mut world, _) = durable();
    world.answers = vec![("approval", json!(true)), ("w.confirm", json!(true))];
    world.approval = Some(approval(Duration::from_hours(1)));
    let text =
        plan("policy { budget: { calls: 1 } } step r = a.read() step w = a.write(x: r) reply w");
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), ran.order()),
        ("budget.calls", vec!["a.read"])
    );
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(
        (seen.class(), seen.status("w")),
        (ran.class(), ran.status("w"))
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_journal_somebody_must_be_there() {
    let world = World::new().tool("a.write", [give(json!(1))]);
    let text = plan("step w = a.write() confirm \"Write?\" reply w");
    let ran = world.run(&text).await;
    assert_eq!((ran.class().as_str(), ran.order().len()), ("internal", 0));
    assert!(
        ran.outcome
            .error
            .unwrap()
            .message
            .contains("without a journal")
    );
    let mut world = World::new().tool("a.write", [give(json!(1))]);
    world.answers = vec![("w.confirm", json!(true)), ("v.confirm", json!(true))];
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.outcome.unused_answers),
        (json!(1), vec!["v.confirm".into()])
    );
    // After an answer that does not fit, the asker is asked again, unless it has no more answers.
    let mut world = World::new().tool("a.write", [give(json!(1))]);
    let asker = scripted_asker(
        Duration::from_secs(1),
        [(None, json!(3)), (None, json!(true))],
    );
    world.asker = Some(asker.clone());
    assert_eq!(world.run(&text).await.reply(), json!(1));
    assert!(asker.refused.lock().unwrap()[0].contains("does not fit"));
    world.asker = Some(scripted_asker(Duration::from_secs(1), []));
    assert_eq!(world.run(&text).await.class(), "internal");
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_no_valid_answer_is_not_asked_forever() {
    let wrong = || (0..20).map(|_| (None, json!({ "count": "many" })));
    let text = plan("step form = input \"How many?\" -> { count: int } reply form.count");
    let (mut world, _) = durable();
    for journal in [world.journal.clone(), None] {
        let asker = scripted_asker(Duration::from_secs(1), wrong());
        world.journal = journal;
        world.asker = Some(asker.clone());
        let ran = world.run(&text).await;
        assert_eq!(asker.answers.lock().unwrap().len(), 10, "ten are left");
        assert!(asker.refused.lock().unwrap()[0].contains("does not fit"));
        if world.journal.is_some() {
            let open = ran.outcome.questions.iter().map(|(path, _)| &**path);
            assert_eq!(open.collect::<Vec<_>>(), ["form"]);
            continue;
        }
        let message = &ran.outcome.error.as_ref().unwrap().message;
        assert!(message.starts_with("10 answers were refused"), "{message}");
    }
}
