//! What a step has changed stays changed when it fails as a whole and is done again.

use std::collections::BTreeSet;

use serde_json::json;

use crate::world::Script::{self, Fail};
use crate::world::{Ran, World, after, give};
use planrun_core::run::Interruption;
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.make(x?: any) -> int effect fails busy
tool a.next(x?: any) -> int effect fails busy
tool a.flaky(x?: any) -> int effect fails busy
tool a.drop(x?: any) -> bool effect
";

/// A durable world in which calls of `a.flaky` are refused this often. Each call of `a.read` and `a.make` returns
/// another value.
fn world(failures: usize) -> World {
    let busy = || after(10, Fail("tool.busy", Refused));
    let flaky = std::iter::repeat_n(busy(), failures).chain([give(json!(5))]);
    let values = |from: i64| (from..from + 9).map(|value| after(10, give(json!(value))));
    let mut world = World::new()
        .tool("a.read", values(1))
        .tool("a.make", values(101))
        .tool("a.next", [give(json!(7))])
        .tool("a.flaky", flaky)
        .tool("a.drop", [give(json!(true))]);
    world.journal = Some(MemoryLog::default());
    world
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ policy {{ on_failure: pause }} {body} }}")
}

/// Runs a plan until it has paused this often, and once more.
async fn resumed(world: &World, text: &str, times: usize) -> Ran {
    for _ in 0..times {
        let paused = world.run(text).await;
        assert!(
            matches!(paused.outcome.interruption, Some(Interruption::Failed(_))),
            "{:?} {:?}",
            paused.outcome.state,
            paused.outcome.error
        );
    }
    world.run(text).await
}

#[tokio::test(start_paused = true)]
async fn what_a_block_has_changed_is_not_done_again() {
    for end in [
        "recover => fail tool.busy \"again\"",
        "recover tool.busy => a.flaky(x: 2)",
        "recover tool.busy as e => do { step more = a.next(x: 1) fail tool.busy \"after ${more}\" }",
    ] {
        let text = plan(&format!(
            "step all = do {{ step made = a.make() step more = a.flaky(x: made) yield made + more }} {end} reply all"
        ));
        let world = world(4);
        // The call of the arm is retried by itself.
        let pauses = if end.contains("x: 2") { 3 } else { 4 };
        let ran = resumed(&world, &text, pauses).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.calls("a.make").len()),
            ("completed", 1),
            "{end}"
        );
        // Nor is what an arm has changed.
        let by_arm = end.matches("a.next").count();
        assert_eq!(ran.calls("a.next").len(), by_arm, "{end}");
        assert_eq!(ran.step("all.made").attributes, ["reused"], "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_block_has_changed_before_its_time_was_over_is_not_done_again() {
    let text = plan(
        "step all = do { step made = a.make() step slow = a.read(x: made) yield made + slow } within 1s reply all",
    );
    let world = world(0).tool("a.read", [after(5_000, give(json!(1))), give(json!(2))]);
    let ran = resumed(&world, &text, 1).await;
    assert_eq!((ran.reply(), ran.calls("a.make").len()), (json!(103), 1));
}

#[tokio::test(start_paused = true)]
async fn what_a_called_plan_has_done_and_not_undone_is_not_done_again() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{
            step kept = a.make(x: \"kept\")
            step made = a.make(x: \"undone\") undo a.drop(x: made)
            step bad = a.flaky()
            reply kept + bad
        }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    let ran = resumed(&world(2).file("./q.plan", &inner), &text, 2).await;
    let made = ["kept", "undone", "undone", "undone"].map(|x| json!(x));
    assert_eq!(
        (ran.reply(), ran.given("a.make")),
        (json!(106), made.to_vec())
    );
    assert_eq!(ran.given("a.drop"), [json!(102), json!(103)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_kept_call_has_read_keeps_its_value_and_everything_else_is_read_again() {
    let text = plan(
        "step all = do {
            step seen = a.read(x: \"before\")
            let twice = seen * 2
            step made = a.make(x: twice) when seen > 0
            step after = a.read(x: \"after\")
            step more = a.flaky(x: after)
            yield [seen, after]
        }
            recover => fail tool.busy \"again\"
        reply all",
    );
    let ran = resumed(&world(2), &text, 2).await;
    assert_eq!(ran.reply(), json!([1, 4]));
    let read = ["before", "after", "after", "after"].map(|x| json!(x));
    assert_eq!(ran.given("a.read"), read);
    assert_eq!(ran.given("a.make"), [json!(2)]);
}

#[tokio::test(start_paused = true)]
async fn rounds_and_elements_keep_what_they_have_changed() {
    let text = plan(
        "step rounds = repeat v = 0 max 3 {
            step seen = a.read(x: \"round\")
            step made = a.make(x: seen) when v == 1
            step more = a.flaky(x: made) when v == 1
            yield seen
            next seen == 1 ? 1 : null
        }
            recover => fail tool.busy \"again\"
        reply rounds",
    );
    let ran = resumed(&world(2), &text, 2).await;
    // The first round has only read, but decides that there was a second one.
    assert_eq!(ran.given("a.read"), [json!("round"), json!("round")]);
    assert_eq!(ran.given("a.make"), [json!(2)]);
    let text = plan(
        "step all = each x in [1, 2, 3] max 3 {
            step seen = a.read(x: x)
            step made = a.make(x: x) when x < 3
            step more = a.flaky(x: x) when x == 3
            yield seen
        }
            recover => fail tool.busy \"again\"
        reply size(all)",
    );
    let ran = resumed(&world(1), &text, 1).await;
    assert_eq!(ran.given("a.make"), [json!(1), json!(2)]);
    assert_eq!(ran.given("a.read").len(), 6, "no call has read them");
}

#[tokio::test(start_paused = true)]
async fn people_are_not_asked_again_for_what_a_kept_call_has_read() {
    let text = plan(
        "step all = do {
            step form = input \"How many?\" -> { count: int }
            step made = a.make(x: form.count) confirm \"Make them?\"
            step more = a.flaky(x: made)
            yield more
        }
            recover => fail tool.busy \"again\"
        reply all",
    );
    let mut world = world(2);
    world.answers = vec![
        ("all.form", json!({ "count": 3 })),
        ("all.made.confirm", json!(true)),
    ];
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.answers.clear();
    let ran = resumed(&world, &text, 1).await;
    assert_eq!(
        (ran.reply(), ran.given("a.make")),
        (json!(5), vec![json!(3)])
    );
    world.replay_only = true;
    assert_eq!(world.run(&text).await.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_undone_once_in_the_order_of_the_last_execution() {
    let text = plan(
        "step all = do {
            step one = a.make(x: 1) undo a.drop(x: \"one\")
            step inner = do {
                step two = a.make(x: 2) undo a.drop(x: \"two\")
                yield two
            }
                undo a.drop(x: \"inner ${inner}\")
            step more = a.flaky(x: inner)
            yield more
        }
            recover => fail tool.busy \"again\"
        step bad = a.flaky(x: all)
        reply bad",
    );
    let cancel = r#"{"cancel": true}"#;
    let order = [json!("inner 102"), json!("one")];
    // It is cancelled before it is retried, after a retry that failed, and after one that has completed.
    for (failures, pauses) in [(9, 1), (9, 3), (2, 2)] {
        let busy = || after(10, Fail("tool.busy", Refused));
        let flaky: Vec<Script> = std::iter::repeat_n(busy(), failures)
            .chain([give(json!(5)), busy()])
            .collect();
        let world = world(0).tool("a.flaky", flaky);
        resumed(&world, &text, pauses).await;
        world.journal.as_ref().unwrap().send(cancel);
        let ran = world.run(&text).await;
        assert_eq!(ran.outcome.state.name(), "cancelled");
        assert_eq!(ran.given("a.drop"), order, "{failures} {pauses}");
        assert_eq!(ran.calls("a.make").len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_happened_is_not_sent_again_when_its_step_is_retried() {
    let lost = || Fail("transient.timeout", Maybe);
    let make = "a.make(x: 1) recover unknown_outcome";
    for (body, pauses) in [
        // Its own arm fails, and is tried again.
        (format!("step x = {make} => a.flaky() reply x"), 2),
        // What is around it fails after its arm has recovered it.
        (
            format!(
                "step x = do {{ step y = {make} => 0 step z = a.flaky(x: y) yield z }} recover => fail tool.busy \"z\" reply x"
            ),
            2,
        ),
        (
            format!(
                "step x = do {{ step y = {make} => 0 step n = a.next(x: y) step z = a.flaky(x: n) yield z }} recover => fail tool.busy \"z\" reply x"
            ),
            2,
        ),
    ] {
        let world = world(2).tool("a.make", [lost(), give(json!(9))]);
        let ran = resumed(&world, &plan(&body), pauses).await;
        assert_eq!(
            (
                ran.reply(),
                ran.calls("a.make").len(),
                ran.calls("a.next").len()
            ),
            (json!(5), 1, body.matches("a.next").count()),
            "{body}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn people_are_asked_whether_a_call_has_happened_before_it_is_sent_again() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ policy {{ on_failure: settle }} step made = a.make(x: 1) confirm \"Make it?\" reply made }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    for (happened, reply, sent) in [(true, 4, 1), (false, 9, 2)] {
        let lost = Fail("transient.timeout", Maybe);
        let mut world = world(0)
            .tool("a.make", [lost, give(json!(9))])
            .file("./q.plan", &inner);
        world.answers = vec![("x.made.confirm", json!(true))];
        let asked = resumed(&world, &text, 1).await;
        let questions: Vec<_> = asked
            .outcome
            .questions
            .iter()
            .map(|(path, _)| &**path)
            .collect();
        assert_eq!(
            (questions, asked.calls("a.make").len()),
            (vec!["x.made"], 1)
        );
        let answer = json!({ "answer": "x.made", "value": { "happened": happened, "value": 4 } });
        world.journal.as_ref().unwrap().send(&answer.to_string());
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.reply(), ran.calls("a.make").len()),
            (json!(reply), sent)
        );
        let keys: BTreeSet<_> = ran
            .calls("a.make")
            .iter()
            .map(|seen| seen.key.clone())
            .collect();
        assert_eq!(keys.len(), 1, "it is the same execution");
        world.replay_only = true;
        assert_eq!(world.run(&text).await.reply(), json!(reply));
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_happened_is_undone_once_although_its_step_was_retried() {
    let text = plan(
        "step x = do {
            step seen = a.read()
            step made = a.make(x: 1) when seen == 1 undo a.drop(x: \"made\")
            yield seen
        }
            recover unknown_outcome => fail tool.busy \"again\"
        reply x",
    );
    // What the call's guard has read keeps its value, so that the call is not forgotten.
    for pauses in 1..4 {
        let world = world(0).tool("a.make", [Fail("transient.timeout", Maybe)]);
        resumed(&world, &text, pauses).await;
        world.journal.as_ref().unwrap().send(r#"{"cancel": true}"#);
        let ran = world.run(&text).await;
        let calls = ["a.read", "a.make", "a.drop"].map(|tool| ran.calls(tool).len());
        assert_eq!((ran.outcome.state.name(), calls), ("cancelled", [1, 1, 1]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_in_flight_when_the_time_of_its_block_was_over_is_not_sent_again() {
    let text = plan("step x = do { step y = a.make(x: 1) timeout 2s yield y } within 1s reply x");
    for (happened, reply, sent) in [(true, 4, 1), (false, 9, 2)] {
        let slow = || after(5_000, give(json!(9)));
        let mut world = world(0).tool("a.make", [slow(), give(json!(9))]);
        // Nobody has to answer within the time of the block.
        let asked = resumed(&world, &text, 1).await;
        let questions = asked.outcome.questions.iter();
        let questions: Vec<_> = questions.map(|(path, _)| &**path).collect();
        assert_eq!((questions, asked.calls("a.make").len()), (vec!["x.y"], 1));
        let answer = json!({ "answer": "x.y", "value": { "happened": happened, "value": 4 } });
        world.journal.as_ref().unwrap().send(&answer.to_string());
        let paused = world.run(&text).await;
        assert_eq!(
            (paused.class().as_str(), paused.calls("a.make").len()),
            ("transient.timeout", 1)
        );
        world.replay_only = true;
        assert_eq!(world.run(&text).await.class(), "transient.timeout");
        world.replay_only = false;
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.reply(), ran.calls("a.make").len()),
            (json!(reply), sent)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_question_whether_a_call_of_an_ended_block_has_happened() {
    let text = plan(
        "step x = do { step y = a.make(x: 1) timeout 2s undo a.drop(x: 1) yield y } within 1s reply x",
    );
    let world = world(0).tool("a.make", [after(5_000, give(json!(9)))]);
    let asked = resumed(&world, &text, 1).await;
    assert_eq!(asked.outcome.questions.len(), 1);
    world.journal.as_ref().unwrap().send(r#"{"cancel": true}"#);
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "cancelled");
    let calls = ["a.make", "a.drop"].map(|tool| ran.calls(tool).len());
    assert_eq!(
        (calls, ran.step("x.y").attributes),
        ([1, 1], vec!["undone"])
    );
}

#[tokio::test(start_paused = true)]
async fn what_may_have_happened_and_was_undone_is_another_execution() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make(x: 1) undo a.drop(x: 1) reply made }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    let world = world(0)
        .tool("a.make", [Fail("transient.timeout", Maybe), give(json!(9))])
        .file("./q.plan", &inner);
    let ran = resumed(&world, &text, 1).await;
    let calls = ran.calls("a.make");
    assert_eq!((ran.reply(), calls.len()), (json!(9), 2));
    assert_ne!(calls[0].key, calls[1].key);
    assert_eq!(ran.calls("a.drop").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_undone_is_not_done_again() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make(x: 1) undo a.drop(x: made) step bad = a.flaky() reply made + bad }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() step bad = a.flaky(x: x) reply bad }}"
    );
    let busy = || after(10, Fail("tool.busy", Refused));
    let world = world(0)
        .tool("a.flaky", [busy(), give(json!(5)), busy()])
        .tool("a.drop", [Fail("tool.failed", Answered), give(json!(true))])
        .file("./q.plan", &inner);
    let paused = resumed(&world, &text, 1).await;
    assert_eq!(
        (paused.status("x"), paused.calls("a.make").len()),
        ("completed".to_owned(), 1)
    );
    world.journal.as_ref().unwrap().send(r#"{"cancel": true}"#);
    let ran = world.run(&text).await;
    assert_eq!(ran.given("a.drop"), [json!(101), json!(101)]);
    assert_eq!(ran.step("x.made").attributes, ["reused", "undone"]);
    // An `undo` that may have happened is not repeated.
    let world = self::world(0)
        .tool("a.flaky", [busy(), give(json!(5)), busy()])
        .tool(
            "a.drop",
            [Fail("transient.timeout", Maybe), give(json!(true))],
        )
        .file("./q.plan", &inner);
    resumed(&world, &text, 1).await;
    world.journal.as_ref().unwrap().send(r#"{"cancel": true}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.given("a.drop")),
        ("cancelled", vec![json!(101)])
    );
    assert_eq!(ran.step("x.made").attributes, ["reused", "undo_failed"]);
}

#[tokio::test(start_paused = true)]
async fn what_has_not_happened_is_done_again() {
    let text = plan(
        "step x = do { step made = a.make(x: 1) retry { attempts: 1 } yield made } recover transient => fail tool.busy \"again\" reply x",
    );
    let world = world(0).tool(
        "a.make",
        [Fail("transient.unavailable", No), give(json!(9))],
    );
    let ran = resumed(&world, &text, 1).await;
    assert_eq!((ran.reply(), ran.calls("a.make").len()), (json!(9), 2));
}
