//! Calls as conversations: the events of transports, and how the engine handles them.

mod limits;
mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::Answer;
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::Sent;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_runs::journal::MemoryLog;
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::{
    AskReply, CallEvent, Catalog, Conversation, Handle, Progress, Request, Transport,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::scripted_transport::{Line, Received, ScriptedTransport};
use crate::world::World;

const EFFECT: &str = "use peer\ntool peer.call() -> int effect\nplan p() -> int {\n    step a = peer.call()\n    reply a\n}\n";

const CALL: &str = "use peer\nplan p() -> any {\n    step a = peer.call()\n    reply a\n}\n";

fn request(handle: Option<Handle>, cancel: &CancellationToken) -> Request {
    let signature = Arc::new(Signature::unknown("peer".into(), "call".into()));
    Request {
        path: "a".into(),
        signature,
        arguments: Value::object::<&str>([]),
        idempotency_key: "key-1".into(),
        handle,
        cancel: cancel.clone(),
    }
}

/// Formats each event until the end, and answers questions with "yes".
async fn collect_events(conversation: Conversation) -> Vec<String> {
    let mut events = match conversation {
        Conversation::Now(_) => panic!("it has something to tell"),
        Conversation::Later(events) => events,
    };
    let mut collected = Vec::new();
    while let Some(event) = events.next().await {
        collected.push(match event {
            CallEvent::Progress(progress) => {
                format!("{:?} {}", progress.fraction(), progress.text().unwrap())
            }
            CallEvent::Ask(ask) => {
                let question = ask.question().message().to_owned();
                ask.answer(json!("yes"));
                question
            }
            CallEvent::Handle(handle) => handle.content().to_string(),
            CallEvent::Usage(usage) => format!("{} tokens, {}", usage.tokens(), usage.cost()),
            CallEvent::Done(Ok(Answer::Json(json))) => json.to_string(),
            CallEvent::Done(Ok(Answer::Value(value))) => value.to_json_text(),
            CallEvent::Done(Err(error)) => format!("{} {}", error.class, error.sent.name()),
        });
    }
    collected
}

#[tokio::test(start_paused = true)]
async fn a_conversation_comes_in_its_order() {
    let peer = ScriptedTransport::new([vec![
        Line::Handle(json!({"task": 7})),
        Line::Progress(0.5, "half"),
        Line::Ask("Really?", json!({"type": "string"})),
        Line::Usage(10, 0.5),
        Line::Pause(Duration::from_mins(1)),
        Line::Give(json!(42)),
        Line::Progress(0.9, "nobody hears this"),
    ]]);
    let events = collect_events(peer.call(request(None, &CancellationToken::new()))).await;
    let expected = [
        r#"{"task":7}"#,
        "Some(0.5) half",
        "Really?",
        "10 tokens, 0.5",
        "42",
    ];
    assert_eq!(events, expected);
    assert_eq!(peer.replies(), [AskReply::Given(json!("yes"))]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_dies_leaves_its_outcome_open() {
    let peer = ScriptedTransport::new([vec![Line::Progress(0.5, "half")]]);
    let events = collect_events(peer.call(request(None, &CancellationToken::new()))).await;
    assert_eq!(events, ["Some(0.5) half", "transient.network maybe"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_conversation_in_its_middle() {
    let peer = ScriptedTransport::new([vec![Line::Usage(3, 0.0), Line::Silence]]);
    let cancel = CancellationToken::new();
    let call = peer.call(request(None, &cancel));
    let stop = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    };
    let (events, ()) = tokio::join!(collect_events(call), stop);
    assert_eq!(events, ["3 tokens, 0", "cancelled maybe"]);
}

#[tokio::test(start_paused = true)]
async fn a_handle_takes_a_call_up_where_it_was_left() {
    let peer = ScriptedTransport::new([vec![Line::Give(json!(1))]]);
    let handle = Handle::new(json!({"task": 7})).unwrap();
    collect_events(peer.call(request(Some(handle), &CancellationToken::new()))).await;
    let expected = Received {
        path: "a".to_owned(),
        key: "key-1".to_owned(),
        handle: Some(json!({"task": 7})),
    };
    assert_eq!(peer.received(), [expected]);
}

fn built_in() -> Catalog {
    let host: Arc<dyn Host> = Arc::new(MemoryHost::new(1));
    Catalog::new(host, "/".into(), &Arc::new(Permissions::none()))
}

#[tokio::test]
async fn a_transport_without_handles_sends_nothing_a_second_time() {
    let catalog = built_in();
    for (namespace, name) in [("fs", "write"), ("http", "fetch"), ("proc", "run")] {
        let tool = catalog.tool(namespace, name).unwrap();
        let request = Request {
            signature: tool.signature.clone(),
            handle: Some(Handle::new(json!(1)).unwrap()),
            ..request(None, &CancellationToken::new())
        };
        let error = tool.transport.call(request).outcome().await.unwrap_err();
        let actual = (error.class.to_string(), error.sent, error.message);
        let message = format!("a call of {namespace}.{name} cannot be resumed");
        assert_eq!(actual, ("internal".to_owned(), Sent::Maybe, message));
    }
}

#[tokio::test]
async fn every_built_in_tool_describes_itself_as_the_catalog_has_it() {
    let catalog = built_in();
    for signature in catalog.signatures() {
        let tool = catalog.tool(&signature.namespace, &signature.name).unwrap();
        let offered = tool.transport.describe().await.unwrap();
        let digests: Vec<String> = offered.iter().map(|offer| offer.digest()).collect();
        assert_eq!(digests, [signature.digest()], "{}", signature.path());
    }
}

#[tokio::test(start_paused = true)]
async fn usage_on_the_way_counts_whatever_the_end() {
    let peer = ScriptedTransport::new([
        vec![
            Line::Usage(10, 0.25),
            Line::Usage(20, 0.25),
            Line::Fail("transient.unavailable", Sent::No),
        ],
        vec![Line::Usage(5, 0.5), Line::Give(json!("done"))],
    ]);
    let world = World::new().wired("peer.call", peer.clone());
    let text = "use peer\nplan p() -> any {\n    step a = peer.call()\n        retry { attempts: 3 }\n    reply a\n}\n";
    let ran = world.run(text).await;
    assert_eq!(ran.reply(), json!("done"));
    let usage = ran.outcome.usage;
    assert_eq!(
        (usage.calls, usage.tokens, usage.cost.to_string()),
        (2, 35, "1".to_owned())
    );
    let keys: Vec<String> = peer
        .received()
        .into_iter()
        .map(|received| received.key)
        .collect();
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn usage_on_the_way_spends_the_budget() {
    let peer = ScriptedTransport::new([vec![Line::Usage(90, 0.0), Line::Give(json!(1))]]);
    let world = World::new().wired("peer.call", peer.clone());
    let text = "use peer\nplan p() -> any {\n    policy { budget: { tokens: 80 } }\n    step a = peer.call()\n    \
                step b = peer.call()\n    reply b\n}\n";
    let ran = world.run(text).await;
    assert_eq!(
        (ran.class(), peer.received().len()),
        ("budget.tokens".to_owned(), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_who_watches_and_a_question_that_nobody_answers_ends() {
    let peer = ScriptedTransport::new([vec![
        Line::Progress(0.5, "half"),
        Line::Ask("Really?", json!({"type": "boolean"})),
        Line::Give(json!(1)),
    ]]);
    let ran = World::new()
        .wired("peer.call", peer.clone())
        .run(CALL)
        .await;
    let half = Progress::message("half").with_fraction(0.5);
    assert_eq!(ran.progress, [("a".to_owned(), half)]);
    assert_eq!(
        (ran.reply(), peer.replies()),
        (json!(1), vec![AskReply::Unanswered])
    );
}

#[tokio::test(start_paused = true)]
async fn an_effect_whose_peer_dies_is_not_sent_again() {
    let peer = ScriptedTransport::new([vec![Line::Handle(json!(7))], vec![Line::Give(json!(1))]]);
    let ran = World::new()
        .wired("peer.call", peer.clone())
        .run(CALL)
        .await;
    assert_eq!(
        (ran.class(), peer.received().len()),
        ("unknown_outcome".to_owned(), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_silence_ends_with_the_timeout_of_its_step() {
    let peer = ScriptedTransport::new([vec![Line::Usage(4, 0.0), Line::Silence]]);
    let world = World::new().wired("peer.call", peer.clone());
    let text = "use peer\nplan p() -> any {\n    step a = peer.call()\n        timeout 5s\n        \
                recover unknown_outcome => \"who knows\"\n    reply a\n}\n";
    let ran = world.run(text).await;
    assert_eq!((ran.reply(), ran.took), (json!("who knows"), 5000));
    assert_eq!(ran.outcome.usage.tokens, 4);
}

#[tokio::test(start_paused = true)]
async fn a_handle_survives_the_process_and_nothing_is_sent_a_second_time() {
    let peer = ScriptedTransport::new([
        vec![Line::Handle(json!({"task": 7})), Line::Silence],
        vec![Line::Pause(Duration::from_secs(5)), Line::Give(json!(42))],
    ]);
    let mut world = World::new().wired("peer.call", peer.clone());
    // The attempt starts, the peer returns its handle, and then the process dies.
    let log = MemoryLog::default();
    log.dies_at(|line| String::from_utf8_lossy(line).contains("handle.given"));
    world.journal = Some(log.clone());
    assert!(
        world
            .run_until_it_dies(EFFECT, BTreeMap::new())
            .await
            .is_none()
    );
    let log = log.revived();
    world.journal = Some(log.clone());
    let ran = world.run(EFFECT).await;
    assert_eq!(ran.reply(), json!(42));
    let received = peer.received();
    let handles: Vec<_> = received.iter().map(|call| call.handle.clone()).collect();
    assert_eq!(handles, [None, Some(json!({"task": 7}))]);
    assert_eq!(received[0].key, received[1].key);
    // There was one attempt, for which two processes waited.
    let count = |event: &str| {
        let lines = log.lines();
        lines.iter().filter(|line| line.contains(event)).count()
    };
    assert_eq!((count("\"step.running\""), ran.step("a").attempts), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_a_handle_is_in_doubt_after_its_process() {
    let peer = ScriptedTransport::new([vec![Line::Progress(0.5, "half"), Line::Silence]]);
    let mut world = World::new().wired("peer.call", peer.clone());
    let log = MemoryLog::default();
    log.dies_at(|line| String::from_utf8_lossy(line).contains("step.running"));
    world.journal = Some(log.clone());
    assert!(
        world
            .run_until_it_dies(EFFECT, BTreeMap::new())
            .await
            .is_none()
    );
    world.journal = Some(log.revived());
    let ran = world.run(EFFECT).await;
    // A person is asked whether it happened.
    assert_eq!((ran.outcome.questions.len(), peer.received().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn cost_that_is_told_on_the_way_counts_once() {
    let script = [
        Line::Usage(10, 0.5),
        Line::Usage(5, 0.25),
        Line::Give(json!({"usage": {"total_tokens": 999, "cost": 9.0}})),
    ];
    let peer = ScriptedTransport::new([script.to_vec()]);
    let world = World::new().wired("peer.call", peer).reporting("peer.call");
    let ran = world.run(CALL).await;
    assert_eq!(
        (ran.outcome.usage.tokens, ran.outcome.usage.cost),
        (15, 0.75)
    );
}
