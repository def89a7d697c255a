//! Section 3.6: `on_failure: pause` keeps the completed steps, and a resume repeats the failed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use crate::durable::completed_keys;
use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_core::run::Interruption;
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.make(x?: any) -> int effect fails busy
tool a.flaky(x?: any) -> int effect fails busy
tool a.tell(x?: any) -> bool effect
tool a.drop(x?: any) -> bool effect
";

fn busy() -> crate::world::Script {
    after(10, Fail("tool.busy", Refused))
}

fn world(failures: usize) -> World {
    let scripts = std::iter::repeat_n(busy(), failures).chain([after(10, give(json!(5)))]);
    let mut world = World::new()
        .tool("a.read", [give(json!(1))])
        .tool("a.make", [after(30, give(json!(7)))])
        .tool("a.flaky", scripts)
        .tool("a.tell", [give(json!(true))])
        .tool("a.drop", [give(json!(true))]);
    world.journal = Some(MemoryLog::default());
    world
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ policy {{ on_failure: pause }} {body} }}")
}

fn keys(ran: &Ran, tool: &str) -> BTreeSet<String> {
    ran.calls(tool)
        .iter()
        .map(|seen| seen.key.clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn r3_6_a_failure_pauses_the_run_and_a_resume_does_again_what_failed_and_what_waited_for_it()
{
    let text = plan(
        "step one = a.make() undo a.drop(x: 1)
         step two = a.flaky(x: one) retry { attempts: 2, on: [tool.busy], delay: 1s }
         step three = a.make(x: two)
         reply three",
    );
    let world = world(3);
    let paused = world.run(&text).await;
    assert!(
        matches!(&paused.outcome.interruption, Some(Interruption::Failed(error)) if error.class.to_string() == "tool.busy")
    );
    assert_eq!(
        (
            paused.outcome.state.name(),
            paused.status("two"),
            paused.status("three")
        ),
        ("paused", "failed".to_owned(), "pending".to_owned())
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.make").len(),
            ran.calls("a.flaky").len()
        ),
        (json!(7), 2, 4)
    );
    assert_eq!(
        keys(&ran, "a.flaky").len(),
        4,
        "a failure of which the contract says that nothing happened ends its execution"
    );
    assert_eq!(
        (ran.calls("a.drop").len(), ran.status("two")),
        (0, "completed".to_owned())
    );
    let again = world.run(&text).await;
    assert_eq!(
        (again.outcome.state.name(), again.calls("a.flaky").len()),
        ("completed", 4),
        "and that is its end"
    );
}

#[tokio::test(start_paused = true)]
async fn r3_6_what_is_in_flight_is_awaited_and_nothing_new_begins() {
    let text = plan(
        "parallel { step slow = a.make() step bad = a.flaky() }
         step more = a.make(x: slow)
         reply [slow, bad, more]",
    );
    let world = world(1);
    let paused = world.run(&text).await;
    assert_eq!(
        (paused.status("slow"), paused.calls("a.make").len()),
        ("completed".to_owned(), 1)
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.calls("a.make").len()),
        (json!([7, 5, 7]), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn what_ends_with_the_last_call_in_flight_has_ended_and_does_not_pause() {
    let inner = plan("step f = a.flaky() reply f");
    let failing = "parallel { step inner = q.p() step one = a.make(x: 1) step two = a.make(x: 2) }";
    let calls = [
        after(20, Fail("tool.busy", Refused)),
        after(30, give(json!(7))),
    ];
    let mut world = world(1).tool("a.make", calls).file("./q.plan", &inner);
    let text = format!("{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ {failing} reply two }}");
    let ran = world.run(&text).await;
    // The inner step is parked when `one` fails, and with `two` nothing is left to be done.
    assert_eq!((ran.outcome.state.name(), ran.took), ("failed", 30));
    assert!(ran.outcome.interruption.is_none());
    world.replay_only = true;
    assert_eq!(world.run(&text).await.outcome.state.name(), "failed");
    // A run that is stopped during its last effect.
    let mut world = self::world(0);
    world.stop_after = Some(Duration::from_millis(10));
    let ran = world.run(&plan("step one = a.make() reply one")).await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("completed", 30));
    assert_eq!(ran.reply(), json!(7));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_parked_step_ends_with_the_last_call_in_flight_names_the_failure_of_that() {
    let calls = [
        after(20, Fail("denied.contract", No)),
        after(30, Fail("transient.timeout", Maybe)),
    ];
    let mut world = world(0).tool("a.make", calls);
    let each = "step all = each n in [1, 2] max 2 parallel 2 { step one = a.make(x: n) yield one }";
    // What has been done before is left to the next process to undo.
    let text =
        format!("{TOOLS}\nplan p() {{ step told = a.tell() undo a.drop() {each} reply all }}");
    let ran = world.run(&text).await;
    let told = (ran.outcome.state.name(), ran.class());
    assert_eq!(told, ("paused", "unknown_outcome".to_owned()));
    let failed = |ran: &Ran| match &ran.outcome.interruption {
        Some(Interruption::Failed(error)) => error.class.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(failed(&ran), "unknown_outcome");
    world.replay_only = true;
    assert_eq!(world.run(&text).await.class(), "unknown_outcome");
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_answer_came_too_late_ends_with_its_block() {
    let calls = [
        after(20, Fail("denied.contract", No)),
        after(30, Fail("transient.timeout", Maybe)),
    ];
    let mut world = world(0).tool("a.make", calls).tool(
        "a.read",
        [after(10, give(json!(1))), after(10, give(json!(1)))],
    );
    // The failure that suspends the run and the answer of the read arrive at the same time.
    let text = format!(
        "{TOOLS}\nplan p() {{
             parallel {{
                 step one = a.make(x: 1)
                 step two = a.make(x: 2)
                 step zero = a.read()
                 step three = a.read(x: zero)
             }}
             reply two
         }}"
    );
    let ran = world.run(&text).await;
    let told = (ran.outcome.state.name(), ran.class(), ran.took);
    assert_eq!(told, ("failed", "unknown_outcome".to_owned(), 30));
    assert_eq!(ran.status("three"), "cancelled");
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(seen.class(), "unknown_outcome");
    assert_eq!(seen.status("three"), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_of_the_failure_once_and_run_to_their_end() {
    let text = plan(
        "step bad = a.flaky()
         listener alarm on bad is failed as e { step told = a.tell(x: e.class) step more = a.tell(x: told) }
         reply bad",
    );
    let world = world(2);
    let paused = world.run(&text).await;
    assert_eq!(
        (paused.calls("a.tell").len(), paused.status("alarm[0].more")),
        (2, "completed".to_owned())
    );
    let paused = world.run(&text).await;
    assert_eq!(
        (paused.outcome.state.name(), paused.calls("a.tell").len()),
        ("paused", 2)
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.tell").len(),
            ran.calls("a.flaky").len()
        ),
        (json!(5), 2, 3)
    );
    assert_eq!(
        ran.outcome.listeners[0].surplus, 1,
        "the second failure was an event, too"
    );
}

#[tokio::test(start_paused = true)]
async fn a_firing_that_fails_is_done_again_where_it_was() {
    let text = plan(
        "task t \"T\"
         listener work on t is running { step one = a.make() step two = a.flaky(x: one) set t done }
         set t running
         step end = wait for t is done
         reply \"done\"",
    );
    let world = world(2);
    for _ in 0..2 {
        let paused = world.run(&text).await;
        assert!(
            matches!(paused.outcome.interruption, Some(Interruption::Failed(_))),
            "{:?}",
            paused.outcome.error
        );
    }
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.make").len(),
            ran.calls("a.flaky").len()
        ),
        (json!("done"), 1, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn a_called_plan_is_called_again_under_new_keys() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make() undo a.drop(x: 1) step bad = a.flaky() reply bad }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    let world = world(2).file("./q.plan", &inner);
    for _ in 0..2 {
        let paused = world.run(&text).await;
        assert_eq!(
            (paused.outcome.state.name(), paused.status("x")),
            ("paused", "failed".to_owned())
        );
    }
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.make").len(),
            ran.calls("a.drop").len()
        ),
        (json!(5), 3, 2)
    );
    assert_eq!(
        (
            keys(&ran, "a.make").len(),
            keys(&ran, "a.flaky").len(),
            keys(&ran, "a.drop").len()
        ),
        (3, 3, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn what_something_around_a_step_catches_pauses_nothing() {
    let run = async |body: &str| world(99).run(&plan(body)).await;
    let ran =
        run("step x = do { step bad = a.flaky() yield bad } recover tool.busy => 0 reply x").await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply(), ran.status("x.bad")),
        ("completed", json!(0), "failed".to_owned())
    );
    let deep = "step x = do { step y = do { step bad = a.flaky() yield bad } yield y } recover => 0 reply x";
    assert_eq!(run(deep).await.reply(), json!(0));
    let ran =
        run("step all = each n in [1, 2] max 5 settle { step bad = a.flaky(x: n) yield bad } reply all[1].ok").await;
    assert_eq!(
        (
            ran.outcome.state.name(),
            ran.reply(),
            ran.calls("a.flaky").len()
        ),
        ("completed", json!(false), 2)
    );
    let reads = || world(0).tool("a.read", [Fail("tool.busy", Answered), give(json!(1))]);
    let race = "step first = race { one: a.read(x: 1), two: a.read(x: 2) } reply winner(first)";
    let ran = reads().run(&plan(race)).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("completed", json!("two"))
    );
    // If the arm does not match or fails itself, or if every branch fails, the run pauses.
    for body in [
        "step x = do { step bad = a.flaky() yield bad } recover validation => 0 reply x",
        "step x = do { step one = a.make() fail tool.busy \"no\" when one > 0 yield one } recover tool => a.flaky() reply x",
    ] {
        assert_eq!(run(body).await.outcome.state.name(), "paused", "{body}");
    }
    let world = world(0).tool(
        "a.read",
        [
            Fail("tool.busy", Answered),
            Fail("tool.busy", Answered),
            give(json!(1)),
        ],
    );
    assert_eq!(world.run(&plan(race)).await.status("first"), "failed");
    assert_eq!(
        world.run(&plan(race)).await.outcome.state.name(),
        "completed",
        "and the whole race is run again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_catches_what_a_plan_pauses_for_goes_on() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ policy {{ on_failure: pause }} step bad = a.flaky() reply bad }}"
    );
    let file = |arm: &str| {
        format!("{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ step x = q.q() {arm} reply x }}")
    };
    let world = || world(1).file("./q.plan", &inner);
    assert_eq!(
        world().run(&file("recover tool => 0")).await.reply(),
        json!(0)
    );
    let world = world();
    let paused = world.run(&file("")).await;
    assert_eq!(
        (paused.outcome.state.name(), paused.status("x.bad")),
        ("paused", "failed".to_owned())
    );
    assert_eq!(world.run(&file("")).await.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn an_arm_around_a_lost_call_is_asked_before_people_are() {
    let lost = || world(0).tool("a.make", [Fail("transient.timeout", Maybe), give(json!(7))]);
    let body = |class: &str| {
        plan(&format!(
            "step x = do {{ step one = a.make() yield one }} recover {class} => 0 reply x"
        ))
    };
    let ran = lost().run(&body("unknown_outcome")).await;
    assert_eq!((ran.reply(), ran.calls("a.make").len()), (json!(0), 1));
    let paused = lost().run(&body("tool")).await;
    assert_eq!(
        (paused.outcome.state.name(), &*paused.outcome.questions[0].0),
        ("paused", "x.one")
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_plan_that_is_called_again_has_done_is_verified_once() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ policy {{ on_failure: settle }} step made = a.make() verify a.read() as r => r == 1 \
         step bad = a.flaky() reply made + bad }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    let world = world(1).file("./q.plan", &inner);
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.make").len(),
            ran.calls("a.read").len()
        ),
        (json!(12), 1, 1)
    );
    let verification = ran.outcome.verification();
    assert_eq!(
        (
            verification.verified,
            verification.unverified,
            verification.failed
        ),
        (1, 1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_done_again_asks_its_gates_once_more_and_is_lived_through() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make() confirm \"Make?\" undo a.drop(x: 1) step bad = a.flaky() reply made + bad }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ on_failure: pause }} step x = q.q() reply x }}"
    );
    let mut world = world(1).file("./q.plan", &inner);
    world.answers = vec![("x.made.confirm", json!(true))];
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.calls("a.make").len()),
        (json!(12), 2),
        "{:?}",
        ran.outcome.questions
    );
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(
        (seen.reply(), seen.outcome.state.name()),
        (json!(12), "completed")
    );
}

#[tokio::test(start_paused = true)]
async fn a_gated_call_that_fails_again_is_done_again_each_time_that_somebody_resumes() {
    let text = plan("step one = a.flaky() confirm \"Really?\" reply one");
    let failed = || after(10, Fail("tool.failed", Answered));
    let mut world = world(0).tool("a.flaky", [failed(), failed(), failed(), give(json!(5))]);
    world.answers = vec![("one.confirm", json!(true))];
    for calls in 1..=3 {
        let paused = world.run(&text).await;
        assert_eq!(
            (paused.outcome.state.name(), paused.calls("a.flaky").len()),
            ("paused", calls)
        );
    }
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.calls("a.flaky").len()), (json!(5), 4));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_asked_again_by_resuming() {
    let text = plan("step one = a.make() confirm \"Really?\" reply one");
    let mut world = world(0);
    world.answers = vec![("one.confirm", json!(false))];
    let paused = world.run(&text).await;
    assert!(
        matches!(&paused.outcome.interruption, Some(Interruption::Failed(error)) if error.class.to_string() == "denied.human")
    );
    world.answers = vec![("one.confirm", json!(true))];
    let again = world.run(&text).await;
    assert_eq!(
        (again.outcome.state.name(), again.calls("a.make").len()),
        ("paused", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_allowed_is_made_again_by_resuming_whatever_a_person_has_refused() {
    let text = plan(
        "step one = a.flaky()
         step two = a.make() confirm \"Really?\"
         reply [one, two]",
    );
    let denied = after(10, Fail("denied.policy", No));
    let mut world = world(0).tool("a.flaky", [denied, give(json!(5))]);
    let paused = world.run(&text).await;
    assert_eq!(paused.outcome.state.name(), "paused");
    world.answers = vec![("two.confirm", json!(false))];
    let again = world.run(&text).await;
    assert_eq!(
        (
            again.outcome.state.name(),
            again.calls("a.flaky").len(),
            again.calls("a.make").len()
        ),
        ("paused", 2, 0)
    );
    let last = world.run(&text).await;
    assert_eq!(
        (last.calls("a.flaky").len(), last.calls("a.make").len()),
        (2, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_used_up_pause_where_the_step_says_so() {
    let text = format!(
        "{TOOLS}\nplan p() {{ step one = a.flaky() retry {{ attempts: 2, on: [tool.busy], on_exhausted: pause }} reply one }}"
    );
    let world = world(2);
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    assert_eq!(world.run(&text).await.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_run_that_is_paused_by_a_failure() {
    let text = plan("step one = a.make() undo a.drop(x: 1) step bad = a.flaky() reply bad");
    let world = world(9);
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.journal.as_ref().unwrap().send(r#"{"cancel": true}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("a.drop").len()),
        ("cancelled", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_journal_nothing_can_pause_and_nothing_is_undone() {
    let mut world = world(9);
    world.journal = None;
    let ran = world
        .run(&plan(
            "step one = a.make() undo a.drop(x: 1) step bad = a.flaky()",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.drop").len()),
        ("tool.busy", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_pauses_and_dies_after_any_event_comes_to_the_same_end() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make() undo a.drop(x: 1) step bad = a.flaky() reply bad }}"
    );
    let text = format!(
        "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{
            policy {{ on_failure: pause }}
            step first = a.make()
            step x = q.q()
            listener alarm on x is failed as e {{ step told = a.tell(x: e.class) }}
            step all = each n in [1, 2] max 5 parallel 1 {{ step made = a.flaky(x: n) yield made }}
            reply [x, size(all)]
        }}"
    );
    let scripts = || {
        let good = || after(10, give(json!(5)));
        [busy(), busy(), good(), busy(), good(), good()]
    };
    let fresh = || world(0).tool("a.flaky", scripts()).file("./q.plan", &inner);
    let to_the_end = async |world: &World| {
        for _ in 0..12 {
            let ran = world.run_until_it_dies(&text, BTreeMap::new()).await?;
            if ran.outcome.state.name() != "paused" {
                return Some(ran);
            }
            // The effects in flight when the process died are reported as happened.
            for (path, question) in &ran.outcome.questions {
                let value = if question.tool.ends_with("flaky") {
                    5
                } else {
                    7
                };
                let value = if question.tool.ends_with("drop") || question.tool.ends_with("tell") {
                    json!(true)
                } else {
                    json!(value)
                };
                let answer =
                    json!({ "answer": path, "value": { "happened": true, "value": value } });
                world.journal.as_ref().unwrap().send(&answer.to_string());
            }
        }
        panic!("it never ends");
    };
    let whole = fresh();
    let undisturbed = to_the_end(&whole).await.unwrap();
    assert_eq!(
        undisturbed.reply(),
        json!([5, 2]),
        "{:?}",
        undisturbed.outcome.error
    );
    let count = whole.journal.as_ref().unwrap().lines().len();
    for events in 1..count {
        let mut world = fresh();
        world.journal = Some(MemoryLog::default().dying_after(events));
        assert!(to_the_end(&world).await.is_none());
        let log = world.journal.take().unwrap();
        let (completed, before) = (completed_keys(&log), world.seen().len());
        world.journal = Some(log.revived());
        let ran = to_the_end(&world).await.unwrap();
        assert_eq!(
            ran.reply(),
            json!([5, 2]),
            "killed after {events}: {:?}",
            ran.outcome.error
        );
        assert!(keys(&ran, "a.tell").len() <= 1, "killed after {events}");
        let again: Vec<_> = ran.seen[before..]
            .iter()
            .filter(|seen| completed.contains(&seen.key))
            .collect();
        assert!(
            again.is_empty(),
            "killed after {events}: ended and called again: {again:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_approval_of_a_retried_step_is_replayed_although_its_call_was_attempted_twice() {
    let late = || after(10, Fail("transient.unavailable", No));
    let mut world = world(0).tool("a.flaky", [busy(), late(), after(10, give(json!(5)))]);
    let text = plan(
        "step one = a.flaky() confirm \"ok?\" retry { attempts: 2, on: [transient] } reply one",
    );
    for state in ["paused", "completed"] {
        world.answers = vec![("one.confirm", json!(true))];
        let ran = world.run(&text).await;
        assert_eq!(
            ran.outcome.state.name(),
            state,
            "{:?}",
            ran.outcome.questions
        );
    }
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(
        (seen.outcome.state.name(), seen.reply()),
        ("completed", json!(5))
    );
}

#[tokio::test(start_paused = true)]
async fn the_question_of_a_retried_step_is_asked_once_although_its_call_had_waited_before() {
    let transient = || after(10, Fail("transient.unavailable", No));
    let good = || after(10, give(json!(5)));
    let mut world = world(0).tool("a.flaky", [transient(), busy(), good(), good()]);
    let text = plan(
        "step all = each n in [1, 2] max 5 parallel 2 {
            step made = a.flaky(x: n) confirm \"ok?\" retry { attempts: 5, delay: 1h, on: [transient] }
            yield made
        } recover => fail transient.unavailable \"again\"
        reply all",
    );
    let answers = ["all[0].made.confirm", "all[1].made.confirm"];
    let answers = answers.map(|path| (path, json!(true)));
    let asked = |world: &World| {
        let lines = world.journal.as_ref().unwrap().lines();
        lines
            .iter()
            .filter(|line| line.contains(r#""for":"confirm""#))
            .count()
    };
    world.answers = answers.to_vec();
    let failed = world.run(&text).await;
    assert_eq!(failed.outcome.state.name(), "paused");
    assert!(failed.outcome.questions.is_empty());
    assert_eq!(asked(&world), 2);
    world.answers.clear();
    for _ in 0..3 {
        let waiting = world.run(&text).await;
        assert_eq!(waiting.outcome.questions.len(), 2);
        assert_eq!(asked(&world), 4);
    }
    world.answers = answers.to_vec();
    assert_eq!(world.run(&text).await.reply(), json!([5, 5]));
}

#[tokio::test(start_paused = true)]
async fn every_execution_of_a_step_that_was_done_again_is_undone_with_a_key_of_its_own() {
    let text = plan(
        "step all = do {
            step made = a.make() undo a.drop(x: made)
            step more = a.flaky(x: made)
        }
            recover => fail transient.unavailable \"again\"
        reply all",
    );
    for events in 1..20 {
        let mut world = world(3);
        for _ in 0..3 {
            assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
        }
        let log = world.journal.take().unwrap();
        log.send(r#"{"cancel": true}"#);
        let count = log.lines().len();
        world.journal = Some(log.dying_after(count + events));
        let died = world.run_until_it_dies(&text, BTreeMap::new()).await;
        world.journal = Some(world.journal.take().unwrap().revived());
        let mut ran = died.unwrap_or(world.run(&text).await);
        while let [(path, question)] = &ran.outcome.questions[..] {
            let value = if question.tool.ends_with("drop") {
                json!(true)
            } else {
                json!(7)
            };
            let announced = format!("\"tool\":\"{}\",\"attempt\"", question.tool);
            let lines = world.journal.as_ref().unwrap().lines();
            let announced = lines.iter().filter(|line| line.contains(&announced));
            let happened = announced.count() == ran.calls(&question.tool).len();
            let answer =
                json!({ "answer": path, "value": { "happened": happened, "value": value } });
            world.journal.as_ref().unwrap().send(&answer.to_string());
            ran = world.run(&text).await;
        }
        assert_eq!(ran.outcome.state.name(), "cancelled", "{events}");
        let (made, dropped) = (keys(&ran, "a.make"), keys(&ran, "a.drop"));
        assert_eq!(made.len(), dropped.len(), "{events}: {dropped:?}");
        assert_eq!(ran.calls("a.drop").len(), dropped.len(), "{events}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_that_begins_late_because_of_a_patch_is_taken_up() {
    let text = |read: &str| {
        plan(&format!(
            "task t \"T\" statuses [open, done]
             {read}
             set t done
             listener l on t is done {{ step made = a.make() }}
             reply 1"
        ))
    };
    let mut world = world(0);
    world.journal = Some(MemoryLog::default().dying_after(4));
    let died = world.run_until_it_dies(&text(""), BTreeMap::new()).await;
    assert!(died.is_none() && world.seen().len() == 1);
    world.journal = Some(world.journal.take().unwrap().revived());
    let ran = world.run(&text("step first = a.read()")).await;
    let questions = ran.outcome.questions.iter().map(|(path, _)| &**path);
    assert_eq!(questions.collect::<Vec<_>>(), ["l[0].made"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_failed_step_that_a_patch_delays_is_recorded() {
    let text = |read: &str| plan(&format!("{read} step made = a.flaky() reply made"));
    let world = world(2);
    for read in ["", "", "step first = a.read()"] {
        let paused = world.run(&text(read)).await;
        assert_eq!(paused.outcome.state.name(), "paused");
    }
    let ran = world.run(&text("step first = a.read()")).await;
    let ended = |line: &String| {
        line.contains("step.settled") && line.contains("\"made\"") && line.contains("completed")
    };
    let log = world.journal.as_ref().unwrap().lines();
    assert_eq!(
        (ran.reply(), log.iter().filter(|line| ended(line)).count()),
        (json!(5), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn every_retry_of_a_step_that_a_patch_delays_is_recorded() {
    let text = |read: &str| plan(&format!("{read} step made = a.flaky() reply made"));
    let patched = text("step first = a.read()");
    let mut world = world(3);
    for text in [&text(""), &text(""), &patched, &patched] {
        assert_eq!(world.run(text).await.outcome.state.name(), "paused");
    }
    let ran = world.run(&patched).await;
    assert_eq!((ran.reply(), ran.calls("a.flaky").len()), (json!(5), 4));
    let log = world.journal.as_ref().unwrap().lines();
    let retried = log.iter().filter(|line| line.contains("step.retried"));
    assert_eq!(retried.count(), 3);
    world.replay_only = true;
    assert_eq!(world.run(&patched).await.reply(), json!(5));
}

/// Both begin together, and the one that has to recover first fails later.
#[tokio::test(start_paused = true)]
async fn steps_that_were_retried_together_fail_in_the_same_order_for_who_looks() {
    let text = plan(
        "let zero = 0
         task t \"T\" statuses [open, done]
         set t done
         listener l on t is done {
             parallel {
                 step first = a.read(x: 1 / zero)
                     recover validation.expression => fail transient.unavailable \"first\"
                 step second = a.read(x: 2 / zero)
             }
         }
         reply 1",
    );
    let mut world = world(0);
    let failure = |ran: &Ran| {
        let error = ran.outcome.error.as_ref();
        error.map(|error| error.message.clone())
    };
    world.run(&text).await;
    let was = failure(&world.run(&text).await);
    world.replay_only = true;
    assert_eq!(
        (failure(&world.run(&text).await), was.is_some()),
        (was, true)
    );
}

/// What was cut off by the timer is not done again in the generation that the timer has ended.
#[tokio::test(start_paused = true)]
async fn a_block_that_a_patch_delays_ends_with_its_recorded_timer() {
    let text = |read: &str| {
        plan(&format!(
            "{read}
             step all = do {{
                 step made = a.make()
                 step slow = a.read(x: made)
                 step more = a.flaky(x: slow)
                 yield more
             }}
                 within 1s
             reply all"
        ))
    };
    let slow = after(5_000, give(json!(1)));
    let mut world = world(1).tool("a.read", [slow, give(json!(2)), give(json!(3))]);
    let patched = text("step first = a.read()");
    for text in [&text(""), &text(""), &patched] {
        assert_eq!(world.run(text).await.outcome.state.name(), "paused");
    }
    let ran = world.run(&patched).await;
    let tools = ["a.make", "a.read", "a.flaky"];
    let calls = tools.map(|tool| ran.calls(tool).len());
    assert_eq!((ran.reply(), calls), (json!(5), [1, 3, 2]));
    world.replay_only = true;
    assert_eq!(world.run(&patched).await.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_has_expired_and_pauses_the_run_is_not_woken_by_its_event() {
    let mut world = World::new().tool("a.make", [after(5_000, give(json!(7)))]);
    world.journal = Some(MemoryLog::default());
    let log = world.journal.clone().unwrap();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        log.send(r#"{"signal": "go", "payload": 1}"#);
    });
    let text = plan(
        "parallel {
            step heard = wait for signal \"go\" -> int within 1s
            step made = a.make()
        }
        reply [heard, made]",
    );
    let ran = world.run(&text).await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("paused", 5_000));
    assert_eq!(ran.step("heard").status.name(), "failed");
    // The wait that is done again takes the signal.
    assert_eq!(world.run(&text).await.reply(), json!([1, 7]));
}

#[tokio::test(start_paused = true)]
async fn executions_have_keys_of_their_own_however_a_step_comes_to_be_done_again() {
    let good = || after(10, give(json!(5)));
    let denied = after(10, Fail("auth.authorization", Answered));
    let failed = after(10, Fail("tool.failed", Refused));
    let mut world = World::new()
        .tool("a.make", [busy(), failed, good()])
        .tool("a.flaky", [denied, good()]);
    world.journal = Some(MemoryLog::default());
    // First the block as a whole is done again, then the step in it.
    let text = plan(
        "step all = do {
            step made = a.make() recover tool.busy => 0
            step more = a.flaky(x: made)
            yield more
        }
            recover auth => fail transient.unavailable \"again\"
        reply all",
    );
    for _ in 0..2 {
        assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    }
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), keys(&ran, "a.make").len()), (json!(5), 3));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_back_leaves_its_slot_to_a_firing() {
    let text = format!(
        r#"{TOOLS}
        plan p() {{
            policy {{ on_failure: pause, concurrency: 1 }}
            listener l on signal "go" {{ step told = a.tell(x: 1) }}
            parallel {{
                step bad = a.flaky()
                step other = a.read(x: 2)
            }}
        }}"#
    );
    let mut world = world(1);
    let log = MemoryLog::default();
    log.send(r#"{"signal": "go"}"#);
    world.journal = Some(log);
    world.limit = Duration::from_mins(1);
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "paused");
    assert_eq!(ran.order(), ["a.flaky", "a.tell"]);
}
