//! Questions from a peer during its call.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::{Asking, Interruption, QuestionStatus};
use planrun_runs::driver::Asker;
use planrun_runs::journal::MemoryLog;
use planrun_tools::tools::AskReply;
use serde_json::{Value as Json, json};

use super::{CALL, EFFECT};
use crate::support::scripted_transport::{Line, ScriptedTransport};
use crate::world::World;

/// Returns a form with a required and an optional field, as MCP servers send it.
fn form() -> Json {
    json!({
        "type": "object",
        "properties": {
            "size": { "type": "integer", "minimum": 1, "description": "how many" },
            "colour": { "type": "string" },
        },
        "required": ["size"],
    })
}

fn asks(question: &'static str) -> Line {
    Line::Ask(question, form())
}

/// An asker that gives these answers in turn, each after an hour, and records refusals.
struct ScriptedAsker(Mutex<Vec<Json>>, Arc<Mutex<Vec<String>>>);

impl Asker for ScriptedAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        self.1.lock().unwrap().extend(asking.refused);
        let value = self.0.lock().unwrap().remove(0);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Some(SubmittedAnswer {
                path: asking.path,
                value,
                by: None,
                note: None,
            })
        })
    }
}

fn scripted_asker(
    answers: impl IntoIterator<Item = Json>,
) -> (Arc<ScriptedAsker>, Arc<Mutex<Vec<String>>>) {
    let refused: Arc<Mutex<Vec<String>>> = Arc::default();
    let answers = Mutex::new(answers.into_iter().collect());
    (Arc::new(ScriptedAsker(answers, refused.clone())), refused)
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_attempt_stands_still_while_somebody_is_asked() {
    let peer = ScriptedTransport::new([vec![
        asks("How many?"),
        Line::Pause(Duration::from_secs(4)),
        Line::Give(json!(42)),
    ]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let (asker, refused) = scripted_asker([json!({ "size": 0 }), json!({ "size": 3 })]);
    world.asker = Some(asker);
    let text = "use peer\nplan p() -> any {\n    step a = peer.call()\n        timeout 5s\n    reply a\n}\n";
    let ran = world.run(text).await;
    assert_eq!(ran.reply(), json!(42));
    // An answer that does not fit is refused with the reason, and an omitted optional field is not sent.
    let misfit = "the answer to `a.asked` does not fit: the field `size` must be at least 1";
    assert_eq!(*refused.lock().unwrap(), [misfit]);
    assert_eq!(peer.replies(), [AskReply::Given(json!({ "size": 3 }))]);
    let question = &ran.outcome.asked[0];
    let actual = (&*question.path, question.kind, &*question.text);
    assert_eq!(actual, ("a.asked", "peer", "How many?"));
    assert_eq!(question.status, QuestionStatus::Answered);
}

#[tokio::test(start_paused = true)]
async fn somebody_declines_what_a_peer_asks() {
    let peer = ScriptedTransport::new([vec![asks("How many?"), Line::Give(json!("none"))]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    world.asker = Some(scripted_asker([Json::Null]).0);
    let ran = world.run(CALL).await;
    assert_eq!(
        (ran.reply(), peer.replies()),
        (json!("none"), vec![AskReply::Declined])
    );
    assert_eq!(ran.outcome.asked[0].status, QuestionStatus::Rejected);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_no_object_is_asked_for_in_one_field() {
    let peer = ScriptedTransport::new([vec![
        Line::Ask("Really?", json!({ "type": "boolean" })),
        Line::Give(json!(1)),
    ]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    world.asker = Some(scripted_asker([json!({ "value": true })]).0);
    world.run(CALL).await;
    assert_eq!(peer.replies(), [AskReply::Given(json!(true))]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_withdraws_its_question() {
    let peer = ScriptedTransport::new([vec![asks("How many?")]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let text = "use peer\ntool peer.call() -> int read\nplan p() -> any {\n    step a = peer.call()\n        \
                within 1m\n        recover _ => 7\n    reply a\n}\n";
    let ran = world.run(text).await;
    assert_eq!(ran.reply(), json!(7));
    assert_eq!(ran.outcome.asked[0].status, QuestionStatus::Withdrawn);
    assert!(
        log.replay_state()
            .unwrap()
            .questions
            .open()
            .next()
            .is_none()
    );
}

/// Returns the number of lines in a journal that contain a text.
fn count_lines(log: &MemoryLog, what: &str) -> usize {
    let lines = log.lines();
    lines.iter().filter(|line| line.contains(what)).count()
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_in_the_inbox_without_a_process_and_is_put_once() {
    let answer = r#"{"answer": "a.asked", "value": {"size": 3}}"#;
    let first = [Line::Handle(json!({"task": 7})), asks("How many?")];
    let second = [asks("How many?"), Line::Give(json!(42))];
    let peer = ScriptedTransport::new([first.to_vec(), second.to_vec()]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let ran = world.run(EFFECT).await;
    assert!(matches!(
        ran.outcome.interruption,
        Some(Interruption::Waiting { wake: None, .. })
    ));
    let replay = log.replay_state().unwrap();
    let open: Vec<&str> = replay.questions.open().map(|(path, _)| &**path).collect();
    assert_eq!(open, ["a.asked"]);

    log.send(answer);
    let ran = world.run(EFFECT).await;
    assert_eq!(ran.reply(), json!(42));
    let handles = peer.received().into_iter().map(|call| call.handle);
    let handles: Vec<Option<Json>> = handles.collect();
    assert_eq!(handles, [None, Some(json!({"task": 7}))]);
    let replies = peer.replies();
    assert_eq!(replies.last(), Some(&AskReply::Given(json!({ "size": 3 }))));
    assert_eq!(
        (
            count_lines(&log, "\"for\":\"peer\""),
            count_lines(&log, "answer.given")
        ),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_before_serves_the_attempt_that_is_made_again() {
    let text = "use peer\ntool peer.call() -> int read\nplan p() -> int {\n    step a = peer.call()\n    reply a\n}\n";
    let script = [asks("How many?"), Line::Silence];
    let again = [asks("How many?"), Line::Give(json!(42))];
    let peer = ScriptedTransport::new([script.to_vec(), again.to_vec()]);
    let mut world = World::new().wired("peer.call", peer.clone());
    world.asker = Some(scripted_asker([json!({ "size": 3 })]).0);
    let log = MemoryLog::default();
    log.dies_at(|line| String::from_utf8_lossy(line).contains("answer.given"));
    world.journal = Some(log.clone());
    assert!(
        world
            .run_until_it_dies(text, BTreeMap::new())
            .await
            .is_none()
    );
    let log = log.revived();
    (world.journal, world.asker) = (Some(log.clone()), None);
    let ran = world.run(text).await;
    assert_eq!(ran.reply(), json!(42));
    assert_eq!(count_lines(&log, "\"for\":\"peer\""), 1);
}

fn size(size: i64) -> AskReply {
    AskReply::Given(json!({ "size": size }))
}

/// The peer asks again because it cannot use the answer. A process that reattaches passes on the answers in order.
#[tokio::test(start_paused = true)]
async fn each_asking_of_the_same_question_has_its_own_answer() {
    let script = |last: Line| {
        let asks = || asks("How many?");
        vec![Line::Handle(json!({"task": 7})), asks(), asks(), last]
    };
    let peer = ScriptedTransport::new([script(Line::Give(json!(42)))]);
    let mut world = World::new().wired("peer.call", peer.clone());
    world.asker = Some(scripted_asker([json!({ "size": 3 }), json!({ "size": 4 })]).0);
    let ran = world.run(EFFECT).await;
    assert_eq!(
        (ran.reply(), peer.replies()),
        (json!(42), vec![size(3), size(4)])
    );
    assert_eq!(ran.outcome.asked.len(), 2);

    let peer = ScriptedTransport::new([
        script(Line::Silence),
        script(Line::Silence),
        script(Line::Give(json!(42))),
    ]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    for answer in [3, 4] {
        let ran = world.run(EFFECT).await;
        assert_eq!(ran.outcome.questions.len(), 1, "before the answer {answer}");
        log.send(&format!(
            r#"{{"answer": "a.asked", "value": {{"size": {answer}}}}}"#
        ));
    }
    assert_eq!(world.run(EFFECT).await.reply(), json!(42));
    let given = peer.replies().into_iter();
    let given: Vec<_> = given
        .filter(|reply| *reply != AskReply::Unanswered)
        .collect();
    assert_eq!(given, [size(3), size(3), size(4)]);
    let asked = count_lines(&log, "\"for\":\"peer\"");
    assert_eq!((asked, count_lines(&log, "answer.given")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_nobody_could_take_up_keeps_its_process_until_somebody_answers() {
    let peer = ScriptedTransport::new([vec![asks("How many?"), Line::Give(json!(42))]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let desk = log.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_hours(3)).await;
        desk.send(r#"{"answer": "a.asked", "value": {"size": 3, "colour": "red"}}"#);
    });
    let ran = world.run(EFFECT).await;
    assert_eq!((ran.reply(), peer.received().len()), (json!(42), 1));
    let given = AskReply::Given(json!({ "size": 3, "colour": "red" }));
    assert_eq!(peer.replies(), [given]);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_an_effect_is_withdrawn_when_its_run_is_cancelled_or_pauses() {
    let failing = "use peer, sys\ntool peer.call() -> int effect\nplan p() -> any {\n    policy { on_failure: pause }\n    \
                   parallel {\n        step a = peer.call()\n        step b = wait 1h\n        \
                   step c = sys.echo(value: [1][size(lists.range(5))])\n            after b\n    }\n    reply [a, c]\n}\n";
    for (text, state) in [(EFFECT, "cancelled"), (failing, "paused")] {
        let peer = ScriptedTransport::new([vec![asks("How many?"), Line::Give(json!(42))]]);
        let mut world = World::new().wired("peer.call", peer.clone());
        let log = MemoryLog::default();
        world.journal = Some(log.clone());
        if state == "cancelled" {
            let desk = log.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_hours(3)).await;
                desk.send(r#"{"cancel": true}"#);
            });
        }
        let ran = world.run(text).await;
        assert_eq!(ran.outcome.state.name(), state, "{:?}", ran.outcome.error);
        assert_eq!(peer.replies(), [AskReply::Unanswered]);
        assert!(ran.outcome.questions.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_reply_holds_no_slot() {
    let peer = ScriptedTransport::new([
        vec![asks("How many?"), Line::Give(json!(1))],
        vec![Line::Give(json!(2))],
    ]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let (asker, _) = scripted_asker([json!({ "size": 3 })]);
    world.asker = Some(asker);
    let text = "use peer\ntool peer.call() -> int read\nplan p() -> any {\n    policy { concurrency: 1 }\n    \
                step a = peer.call()\n    step b = peer.call()\n    reply [a, b]\n}\n";
    let ran = world.run(text).await;
    assert_eq!(ran.reply(), json!([1, 2]));
    // The second call did not wait for the first answer, which took an hour.
    let settled: Vec<_> = ran
        .events
        .iter()
        .filter(|(event, ..)| *event == "step.settled")
        .map(|(_, path, _)| &**path)
        .collect();
    assert_eq!((settled, ran.took), (vec!["b", "a"], 3_600_000));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_taken_up_again_and_asks_something_else_withdraws_what_it_asked() {
    let first = [Line::Handle(json!({"task": 7})), asks("How many?")];
    let second = [asks("How many more?"), Line::Give(json!(42))];
    let peer = ScriptedTransport::new([first.to_vec(), second.to_vec()]);
    let mut world = World::new().wired("peer.call", peer.clone());
    world.journal = Some(MemoryLog::default());
    world.run(EFFECT).await;
    world.asker = Some(scripted_asker([json!({ "size": 3 }), json!({ "size": 3 })]).0);
    let ran = world.run(EFFECT).await;
    assert_eq!(ran.reply(), json!(42));
    let asked = ran.outcome.asked.iter();
    let actual: Vec<_> = asked.map(|one| (&*one.text, one.status)).collect();
    let expected = [
        ("How many?", QuestionStatus::Withdrawn),
        ("How many more?", QuestionStatus::Answered),
    ];
    assert_eq!(actual, expected);
}
