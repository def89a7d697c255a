//! Section 3.7: an `undo` that has failed can be retried after the run has ended.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::world::Script::{self, Fail};
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, Maybe, Refused};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.make(x?: any) -> int effect
tool a.put(x?: any) -> int effect
tool a.drop(x?: any) -> bool effect fails closed
tool a.bad() -> int effect fails busy
";

/// A durable world in which the calls of `a.drop` end as given.
fn world(drops: impl IntoIterator<Item = Script>) -> World {
    let makes = [7, 8, 9].map(|made| after(10, give(json!(made))));
    let mut world = World::new()
        .tool("a.make", makes)
        .tool("a.put", [after(10, give(json!(2)))])
        .tool("a.drop", drops)
        .tool("a.bad", [after(10, Fail("tool.busy", Answered))]);
    world.journal = Some(MemoryLog::default());
    world
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} step bad = a.bad() }}")
}

fn retryable(ran: &Ran) -> Vec<&str> {
    ran.outcome.retryable.iter().map(|path| &**path).collect()
}

const CLOSED: Script = Fail("tool.closed", Answered);

#[tokio::test(start_paused = true)]
async fn only_the_failed_undo_is_retried_with_the_same_value_and_key() {
    let world = world([CLOSED, give(json!(true))]);
    let text = plan(
        "step one = a.make() undo a.drop(x: \"one ${one}\")
         step two = a.make() undo a.drop(x: \"two ${two}\")",
    );
    let ran = world.run(&text).await;
    let undone = [json!("two 8"), json!("one 7")];
    assert_eq!(
        (ran.given("a.drop"), retryable(&ran)),
        (undone.to_vec(), vec!["two"])
    );
    assert_eq!(ran.step("two").attributes, ["undo_failed"]);

    let retried = world.run(&text).await;
    let undone = [json!("two 8"), json!("one 7"), json!("two 8")];
    assert_eq!(retried.given("a.drop"), undone);
    let keys: Vec<String> = retried
        .calls("a.drop")
        .iter()
        .map(|seen| seen.key.clone())
        .collect();
    assert_eq!(keys[0], keys[2], "the execution had not ended");
    assert_eq!(
        (
            retried.class(),
            retryable(&retried),
            retried.outcome.not_undone.len()
        ),
        (ran.class(), vec![], 0)
    );
    assert_eq!(retried.step("two").attributes, ["reused", "undone"]);
    assert_eq!(retried.step("one").attributes, ["reused", "undone"]);
}

#[tokio::test(start_paused = true)]
async fn it_can_fail_again_and_is_retried_last_first() {
    let world = world([CLOSED, CLOSED, CLOSED, give(json!(true))]);
    let text = plan(
        "step one = a.make() undo a.drop(x: 1)
         step two = a.make() undo a.drop(x: 2)",
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.given("a.drop"), retryable(&ran)),
        (vec![json!(2), json!(1)], vec!["one", "two"])
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (&ran.given("a.drop")[2..], retryable(&ran)),
        (&[json!(2), json!(1)][..], vec!["two"])
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (&ran.given("a.drop")[4..], retryable(&ran)),
        (&[json!(2)][..], vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn calls_of_an_undo_that_have_completed_are_not_repeated() {
    let refused = Fail("tool.closed", Refused);
    let world = world([give(json!(true)), refused, give(json!(true))]);
    let text = plan(
        "step one = a.make() undo do {
             step gone = a.put(x: one)
             step many = each x in [1, 2, 3] max 3 { step dropped = a.drop(x: x * gone) yield dropped }
         }",
    );
    let ran = world.run(&text).await;
    assert_eq!(ran.given("a.put"), [json!(7)]);
    let dropped = ran.given("a.drop");
    let ran = world.run(&text).await;
    assert_eq!(ran.given("a.put"), [json!(7)]);
    let mut all = ran.given("a.drop");
    assert_eq!(all.len(), 4, "one failed: {all:?}, after {dropped:?}");
    all.sort_by_key(serde_json::Value::as_i64);
    all.dedup();
    assert_eq!(all, [json!(2), json!(4), json!(6)]);
    let keys: BTreeSet<String> = ran
        .calls("a.drop")
        .iter()
        .map(|seen| seen.key.clone())
        .collect();
    assert_eq!(keys.len(), 4, "the refused execution had ended");
    assert_eq!(ran.step("one").attributes, ["reused", "undone"]);
}

#[tokio::test(start_paused = true)]
async fn an_undo_whose_outcome_is_unknown_is_not_repeated() {
    let world = world([Fail("transient.timeout", Maybe), give(json!(true))]);
    let text = plan("step one = a.make() undo a.drop(x: 1)");
    for _ in 0..2 {
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.given("a.drop"), retryable(&ran)),
            (vec![json!(1)], vec![])
        );
        assert_eq!(ran.outcome.not_undone.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_undo_of_a_called_plan_is_retried_although_the_run_has_completed() {
    let text = format!(
        "{TOOLS}
         plan inner() -> int {{
             step one = a.make() undo a.drop(x: one)
             step bad = a.bad()
             reply bad
         }}
         plan p() -> int {{ step called = inner() recover _ => 5 reply called }}"
    );
    let world = world([CLOSED, give(json!(true))]);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), retryable(&ran)),
        ("completed", vec!["called.one"])
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), retryable(&ran)),
        ("completed", vec![])
    );
    assert_eq!(ran.reply(), json!(5));
    assert_eq!(ran.given("a.drop"), [json!(7), json!(7)]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_retries_too_unless_its_effects_are_kept() {
    let text = plan("step one = a.make() undo a.drop(x: 1) step long = wait 30s");
    let cancels = r#"{"cancel": true}"#;
    let keeps = r#"{"cancel": true, "keep": true}"#;
    for (then, calls) in [(None, 2), (Some(keeps), 1)] {
        let world = world([after(1000, CLOSED), give(json!(true))]);
        let log = world.journal.clone().unwrap();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            log.send(cancels);
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            then.inspect(|then| log.send(then));
        });
        world.run(&text).await;
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.given("a.drop").len()),
            ("cancelled", calls)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_while_it_retries_repeats_nothing_that_was_done() {
    let text = plan(
        "step one = a.make() undo do { step gone = a.put(x: 1) step back = a.drop(x: gone) }
         step two = a.make() undo a.drop(x: \"two\")",
    );
    let fails = || [CLOSED, CLOSED, after(10, give(json!(true)))];
    let whole = world(fails());
    whole.run(&text).await;
    let before = whole.journal.as_ref().unwrap().lines().len();
    let undisturbed = whole.run(&text).await;
    assert_eq!(retryable(&undisturbed), Vec::<&str>::new());
    let lines = whole.journal.as_ref().unwrap().lines().len();
    assert!(lines > before + 6);
    for events in before + 1..lines {
        let mut world = world(fails());
        world.journal = Some(MemoryLog::default().dying_after(events));
        world.run(&text).await;
        let died = world.run_until_it_dies(&text, BTreeMap::new()).await;
        assert!(died.is_none(), "after {events}");
        let dying = world.journal.take().unwrap();
        world.journal = Some(dying.revived());
        let mut ran = world.run(&text).await;
        let unknown = !ran.outcome.questions.is_empty();
        if ran.outcome.state.name() == "failed" && !retryable(&ran).is_empty() {
            ran = world.run(&text).await;
        }
        assert_eq!(ran.given("a.put").len(), 1, "killed after {events}");
        let settled = ["one", "two"].map(|step| ran.step(step).attributes.contains(&"undone"));
        assert!(
            unknown || settled == [true, true],
            "killed after {events}: {settled:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_end_of_the_plan_has_caused_comes_before_the_retries() {
    let mut world = world([CLOSED, CLOSED, give(json!(true))]);
    let text = plan(
        "step one = a.make() undo a.drop(x: one)
         listener l on plan is failed { step pause = wait 1s step told = a.put(x: 1) }",
    );
    for (failed, calls) in [(vec!["one"], 1), (vec!["one"], 2), (vec![], 3)] {
        let ran = world.run(&text).await;
        assert_eq!(
            (
                ran.outcome.state.name(),
                retryable(&ran),
                ran.given("a.drop").len(),
                ran.given("a.put").len()
            ),
            ("failed", failed, calls, 1)
        );
    }
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(seen.outcome.state.name(), "failed");
    assert_eq!(seen.status("l[0].told"), "completed");
    assert_eq!(seen.step("one").attributes, ["reused", "undone"]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_called_again_undoes_what_it_could_not_undo_before() {
    let drops = [CLOSED, CLOSED, give(json!(true))];
    let mut world = world(drops);
    let text = format!(
        "{TOOLS}
         plan inner(n: int) -> int {{
             step one = a.make() undo a.drop(x: one)
             step bad = a.bad()
             reply bad
         }}
         plan p() {{ policy {{ on_failure: pause }} step called = inner(n: 1) }}"
    );
    world.limit = std::time::Duration::from_hours(1);
    for expected in [vec![json!(7)], vec![json!(7), json!(7)]] {
        let ran = world.run(&text).await;
        assert_eq!(ran.outcome.state.name(), "paused");
        assert_eq!((ran.given("a.drop"), retryable(&ran)), (expected, vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn an_undo_that_a_person_has_declined_is_not_repeated() {
    let text = format!(
        "{TOOLS}
         plan back() {{ step gone = a.drop(x: 1) confirm \"Drop it?\" }}
         plan p() {{ step one = a.make() undo back() step bad = a.bad() }}"
    );
    let mut world = world([give(json!(true))]);
    for answer in [false, true] {
        world.answers = vec![("one.undo.gone.confirm", json!(answer))];
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), retryable(&ran)),
            ("failed", vec![])
        );
        assert_eq!(ran.step("one").attributes.last(), Some(&"undo_failed"));
        assert_eq!(ran.given("a.drop"), Vec::<serde_json::Value>::new());
    }
}
