//! Section 3.7: the effects of a failed plan are undone, last first.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::{Asking, Interruption};
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};
use planrun_runs::driver::Asker;
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.make(x?: any) -> int effect fails busy
tool a.put(x?: any) -> int idempotent
tool a.drop(x?: any) -> bool effect
tool a.look(x?: any) -> { there: bool, id?: int } read
tool a.bad() -> int effect fails busy
";

/// The initial time of a world's clock: 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600_000_000_000;

fn world() -> World {
    World::new()
        .tool("a.read", [give(json!(1))])
        .tool(
            "a.make",
            [
                after(10, give(json!(7))),
                after(10, give(json!(8))),
                after(10, give(json!(9))),
            ],
        )
        .tool("a.put", [after(10, give(json!(2)))])
        .tool("a.drop", [after(10, give(json!(true)))])
        .tool("a.look", [give(json!({ "there": true, "id": 5 }))])
        .tool("a.bad", [after(10, Fail("tool.busy", Answered))])
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

/// Returns the arguments of the undo calls, in order.
fn dropped(ran: &Ran) -> Vec<serde_json::Value> {
    ran.calls("a.drop")
        .iter()
        .map(|seen| seen.arguments["x"].clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn r3_7_what_happened_is_taken_back_last_first_one_after_the_other() {
    let ran = world()
        .run(&plan(
            "step one = a.make() undo a.drop(x: \"one ${one}\")
             step two = a.make() undo a.drop(x: \"two ${two}\")
             step looked = a.read() undo a.drop(x: \"a read\")
             step bad = a.bad() undo a.drop(x: \"bad\")
             step never = a.make() undo a.drop(x: \"never\")",
        ))
        .await;
    assert_eq!(ran.class(), "tool.busy");
    assert_eq!(dropped(&ran), [json!("two 8"), json!("one 7")]);
    let times: Vec<u128> = ran.calls("a.drop").iter().map(|seen| seen.at).collect();
    assert!(times[1] >= times[0] + 10, "one after the other: {times:?}");
    assert_eq!(ran.step("one").attributes, ["undone"]);
    assert_eq!(
        (ran.step("one").status.name(), ran.status("one.undo")),
        ("completed", "completed".to_owned())
    );
    assert_eq!(
        ran.outcome.usage.calls, 4,
        "what takes back needs no budget"
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_a_failing_undo_stops_none_of_the_others_and_is_told() {
    let world = world().tool("a.drop", [Fail("tool.failed", Answered), give(json!(true))]);
    let ran = world
        .run(&plan(
            "step one = a.make() undo a.drop(x: 1)
             step two = a.make() undo a.drop(x: 2)
             step bad = a.bad()",
        ))
        .await;
    assert_eq!(dropped(&ran), [json!(2), json!(1)]);
    assert_eq!(
        (ran.step("two").attributes, ran.step("one").attributes),
        (vec!["undo_failed"], vec!["undone"])
    );
    assert_eq!(
        ran.class(),
        "tool.busy",
        "the run failed because of what failed first"
    );
    assert_eq!(&*ran.outcome.not_undone[0].step, "two.undo");
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_never_invents_the_value_of_a_let_that_has_failed() {
    for block in ["do", "each e in [1] max 1"] {
        let ran = world()
            .run(&plan(&format!(
                "step n = a.read()
                 step outer = {block} {{
                     let q = 10 / (n - 1)
                     step one = a.make() undo a.drop(x: q)
                     yield one
                 }}
                 step two = a.bad() after outer"
            )))
            .await;
        assert_eq!(dropped(&ran), [] as [serde_json::Value; 0], "{block}");
        assert_eq!(ran.outcome.not_undone.len(), 1, "{block}");
    }
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_has_retries_of_its_own_even_of_an_effect() {
    let world = world().tool(
        "a.drop",
        [
            Fail("transient.network", No),
            Fail("transient.network", No),
            give(json!(true)),
        ],
    );
    let ran = world
        .run(&plan(
            "step one = a.make() undo a.drop(x: 1) step bad = a.bad()",
        ))
        .await;
    assert_eq!(
        (dropped(&ran).len(), ran.step("one").attributes),
        (3, vec!["undone"])
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_one_undo_takes_the_place_of_those_inside() {
    let each = "step all = each x in [1, 2] max 5 parallel 1 { step made = a.make() undo a.drop(x: made) yield made }";
    let ran = world()
        .run(&plan(&format!(
            "{each} undo a.drop(x: \"all\") step bad = a.bad()"
        )))
        .await;
    assert_eq!(dropped(&ran), [json!("all")]);
    let ran = world()
        .run(&plan(&format!("{each} step bad = a.bad()")))
        .await;
    assert_eq!(dropped(&ran), [json!(8), json!(7)]);
}

#[tokio::test(start_paused = true)]
async fn r3_7_a_called_plan_that_fails_takes_back_what_it_did_unless_its_caller_says_how() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ step made = a.make() undo a.drop(x: \"inner\") step bad = a.bad() reply made }}"
    );
    let file = |body: &str| format!("{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ {body} }}");
    let ran = world()
        .file("./q.plan", &inner)
        .run(&file("step x = q.q() recover tool => 0 reply x"))
        .await;
    assert_eq!(
        (ran.reply(), dropped(&ran)),
        (json!(0), vec![json!("inner")])
    );
    let ran = world()
        .file("./q.plan", &inner)
        .run(&file("step x = q.q() undo a.drop(x: x)"))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("tool.busy", vec![json!("inner")]),
        "it gave nothing to read"
    );
    let whole = inner.replace("step bad = a.bad()", "");
    let ran = world()
        .file("./q.plan", &whole)
        .run(&file("step x = q.q() undo a.drop(x: x) step bad = a.bad()"))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("tool.busy", vec![json!(7)]),
        "in place of the inner one"
    );
}

#[tokio::test(start_paused = true)]
async fn r10_8_what_recovered_from_a_definitive_failure_is_not_taken_back_and_what_may_have_happened_is()
 {
    let body = |arm: &str| {
        plan(&format!(
            "step one = a.make() recover {arm} => 0 undo a.drop(x: 1) step bad = a.bad()"
        ))
    };
    let failed = world().tool("a.make", [Fail("tool.busy", Refused)]);
    assert!(dropped(&failed.run(&body("tool")).await).is_empty());
    let lost = world().tool("a.make", [Fail("transient.timeout", Maybe)]);
    assert_eq!(
        dropped(&lost.run(&body("unknown_outcome")).await),
        [json!(1)]
    );
    // A success with a result that breaks the contract counts as happened.
    let broken = world().tool("a.make", [give(json!("no number"))]);
    assert_eq!(
        dropped(
            &broken
                .run(&plan("step one = a.make() undo a.drop(x: 1)"))
                .await
        ),
        [json!(1)]
    );
}

#[tokio::test(start_paused = true)]
async fn r10_7_an_unknown_step_is_taken_back_and_what_can_tell_is_asked_first() {
    let lost = || world().tool("a.make", [Fail("transient.timeout", Maybe)]);
    let ran = lost()
        .run(&plan("step one = a.make() undo a.drop(x: \"it\")"))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.status("one"), dropped(&ran)),
        ("unknown_outcome", "unknown".to_owned(), vec![json!("it")])
    );
    let verified = "parallel { step bad = a.bad()
         step one = a.make() verify a.look() as found => found.there gives found.id ?? 0 undo a.drop(x: one) }";
    let slow = || world().tool("a.make", [after(50, Fail("transient.timeout", Maybe))]);
    let ran = slow().run(&plan(verified)).await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("tool.busy", vec![json!(5)])
    );
    let ran = slow()
        .tool("a.look", [give(json!({ "there": false }))])
        .run(&plan(verified))
        .await;
    assert!(dropped(&ran).is_empty(), "it did not happen");
    let broken = || slow().tool("a.look", [Fail("tool.failed", Answered)]);
    let ran = broken()
        .run(&plan(&verified.replace("x: one", "x: 1")))
        .await;
    assert_eq!(dropped(&ran), [json!(1)], "it may have happened");
    let ran = broken().run(&plan(verified)).await;
    assert!(
        dropped(&ran).is_empty(),
        "nobody knows what it gave, and no argument is made up"
    );
    assert_eq!(ran.step("one").attributes, ["undo_failed"]);
}

#[tokio::test(start_paused = true)]
async fn r3_6_settle_takes_back_only_where_the_plan_ends_itself() {
    let body = |end: &str| {
        plan(&format!(
            "policy {{ on_failure: settle }} step one = a.make() undo a.drop(x: 1) step bad = a.bad() {end}"
        ))
    };
    let ran = world().run(&body("reply one")).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply(), dropped(&ran).len()),
        ("failed", json!(7), 0)
    );
    let ran = world()
        .run(&body("ensure one > 100 else \"too small\""))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran).len()),
        ("validation.ensure", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_a_cancel_takes_back_unless_the_effects_shall_stay_and_ctrl_c_never_does() {
    let text = plan("step one = a.make() undo a.drop(x: 1) step long = wait 30s");
    for (command, expected) in [
        (r#"{"cancel": true}"#, 1),
        (r#"{"cancel": true, "keep": true}"#, 0),
    ] {
        let mut world = world();
        let log = MemoryLog::default();
        world.journal = Some(log.clone());
        let later = log.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            later.send(command);
        });
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), dropped(&ran).len()),
            ("cancelled", expected),
            "{command}"
        );
    }
    let mut world = world();
    world.stop_after = Some(std::time::Duration::from_secs(1));
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), dropped(&ran).len()),
        ("cancelled", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_while_it_takes_back_goes_on_with_that() {
    let text = plan(
        "step one = a.make() undo a.drop(x: \"one ${one}\")
         step two = a.make() verify a.look() as found => found.there gives found.id ?? 0 undo a.drop(x: \"two\")
         step put = a.put() undo a.drop(x: \"put\")
         step bad = a.bad()",
    );
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(&text).await;
    assert_eq!(
        dropped(&undisturbed),
        [json!("put"), json!("two"), json!("one 7")]
    );
    for events in 1..log.lines().len() {
        let mut world = world();
        world.journal = Some(MemoryLog::default().dying_after(events));
        let first = world
            .run_until_it_dies(&text, std::collections::BTreeMap::new())
            .await;
        assert!(first.is_none());
        let dying = world.journal.take().unwrap();
        world.journal = Some(dying.revived());
        let ran = world.run(&text).await;
        if ran.outcome.state.name() == "paused" {
            // An effect was in flight: its outcome is unknown, and nothing is undone before it is known.
            assert!(!ran.outcome.questions.is_empty(), "killed after {events}");
            continue;
        }
        assert_eq!(
            (ran.class(), ran.step("one").attributes.contains(&"undone")),
            (undisturbed.class(), true),
            "killed after {events}"
        );
        let keys: std::collections::BTreeSet<String> = ran
            .calls("a.drop")
            .iter()
            .map(|seen| seen.key.clone())
            .collect();
        assert_eq!(keys.len(), 3, "killed after {events}: each under one key");
    }
}

/// An asker that answers after an hour that the call happened, with the value 7.
struct SlowAsker;

impl Asker for SlowAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Some(SubmittedAnswer {
                path: asking.path,
                value: json!({ "happened": true, "value": 7 }),
                by: None,
                note: None,
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_within_of_a_step_that_has_ended_does_not_end_it_again_while_somebody_is_asked() {
    let mut world = world().tool("a.make", [Fail("transient.timeout", Maybe)]);
    world.journal = Some(MemoryLog::default());
    world.asker = Some(Arc::new(SlowAsker));
    let ran = world
        .run(&plan("step one = a.make() within 30s undo a.drop(x: one)"))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.status("one"), dropped(&ran)),
        ("unknown_outcome", "unknown".to_owned(), vec![json!(7)])
    );
}

/// Three effects, each of which takes a second to undo.
fn three() -> World {
    let mut world = world().tool("a.put", [after(1000, give(json!(2)))]);
    world.journal = Some(MemoryLog::default());
    world
}

fn three_and(last: &str) -> String {
    plan(&format!(
        "step one = a.make() undo a.put(x: 1)
         step two = a.make() undo a.put(x: 2)
         step three = a.make() undo a.put(x: 3)
         {last}"
    ))
}

const LONG: &str = "step long = wait 30s";

/// Sends commands to the run of a world, each after this number of milliseconds.
fn send(world: &World, commands: &[(u64, &'static str)]) {
    for (millis, command) in commands.iter().copied() {
        let log = world.journal.clone().unwrap();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            log.send(command);
        });
    }
}

/// Returns the undo calls, in order.
fn put(ran: &Ran) -> Vec<serde_json::Value> {
    let calls = ran.calls("a.put");
    calls
        .iter()
        .map(|seen| seen.arguments["x"].clone())
        .collect()
}

/// Returns the attributes of the three steps.
fn marks(ran: &Ran) -> [Vec<&'static str>; 3] {
    ["one", "two", "three"].map(|step| {
        let mut attributes = ran.step(step).attributes;
        attributes.retain(|attribute| *attribute != "reused");
        attributes
    })
}

/// Returns the steps of an outcome that were not undone, with the reasons.
fn stays(ran: &Ran) -> Vec<(String, String)> {
    let errors = ran.outcome.not_undone.iter();
    errors
        .map(|error| (error.step.to_string(), error.message.to_string()))
        .collect()
}

const CANCEL: &str = r#"{"cancel": true}"#;
const KEEP: &str = r#"{"cancel": true, "keep": true}"#;
const FORCE: &str = r#"{"cancel": true, "force": true}"#;

#[tokio::test(start_paused = true)]
async fn r3_7_a_cancel_that_ends_an_undo_awaits_what_is_in_flight_and_tells_what_stays() {
    for (last, first, second, state, why) in [
        (
            LONG,
            CANCEL,
            FORCE,
            "cancelled",
            "the run was cancelled by force",
        ),
        (
            LONG,
            CANCEL,
            KEEP,
            "cancelled",
            "the run was cancelled, and its effects are kept",
        ),
        (
            "step bad = a.bad()",
            "",
            FORCE,
            "failed",
            "the run was cancelled by force",
        ),
    ] {
        let mut world = three();
        if !first.is_empty() {
            send(&world, &[(100, first)]);
        }
        send(&world, &[(600, second)]);
        let text = three_and(last);
        let ran = world.run(&text).await;
        let picture = |ran: &Ran| {
            assert_eq!(ran.outcome.state.name(), state, "{last} {second}");
            assert_eq!(put(ran), [json!(3)], "{last} {second}");
            assert_eq!(
                marks(ran),
                [vec!["not_undone"], vec!["not_undone"], vec!["undone"]],
                "{last} {second}"
            );
            let expected = ["one.undo", "two.undo"].map(|step| (step.to_owned(), why.to_owned()));
            assert_eq!(stays(ran), expected, "{last} {second}");
        };
        picture(&ran);
        world.replay_only = true;
        let shown = world.run(&text).await;
        picture(&shown);
    }
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_that_was_announced_and_not_sent_is_not_undone() {
    let mut world = three();
    let text = three_and(LONG);
    // Both are waiting when the process looks, so the attempt at the first undo is not sent.
    send(&world, &[(100, CANCEL), (100, KEEP)]);
    let ran = world.run(&text).await;
    let picture = |ran: &Ran| {
        assert_eq!(put(ran), Vec::<serde_json::Value>::new());
        assert_eq!(marks(ran), [["not_undone"], ["not_undone"], ["not_undone"]]);
    };
    picture(&ran);
    assert!(
        ran.events.iter().any(|(_, path, _)| path == "three.undo"),
        "{:?}",
        ran.events
    );
    world.replay_only = true;
    picture(&world.run(&text).await);
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_that_was_ended_stays_ended_when_the_process_dies() {
    let mut world = three();
    let text = three_and(LONG);
    send(&world, &[(100, CANCEL), (600, FORCE)]);
    let log = world.journal.take().unwrap();
    log.dies_at(|line| String::from_utf8_lossy(line).contains("\"force\":true"));
    world.journal = Some(log);
    assert!(
        world
            .run_until_it_dies(&text, BTreeMap::new())
            .await
            .is_none()
    );
    let log = world.journal.take().unwrap().revived();
    assert!(log.lines().last().unwrap().contains("run.cancelling"));
    world.journal = Some(log);
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "cancelled");
    assert_eq!(put(&ran), [json!(3)]);
    assert_eq!(
        marks(&ran),
        [vec!["not_undone"], vec!["not_undone"], vec!["undo_failed"]]
    );
    let (step, why) = &stays(&ran)[2];
    assert_eq!(
        (step.as_str(), why.as_str()),
        (
            "three.undo",
            "the process that sent it ended before an answer arrived"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_that_was_ended_in_the_middle_tells_what_became_of_it() {
    let body = |undo: &str| plan(&format!("step one = a.make() undo {undo} {LONG}"));
    let world = three().tool("a.drop", [after(1000, Fail("tool.failed", Answered))]);
    send(&world, &[(100, CANCEL), (600, FORCE)]);
    let ran = world.run(&body("a.drop(x: 1)")).await;
    let message = stays(&ran)[0].1.clone();
    assert_eq!(ran.step("one").attributes, ["undo_failed"]);
    assert_eq!(message, "scripted tool.failed");
    let world = three();
    send(&world, &[(100, CANCEL), (600, FORCE)]);
    let ran = world
        .run(&body(
            "do { step first = a.put(x: 1) step second = a.put(x: 2) }",
        ))
        .await;
    assert_eq!(
        (put(&ran), ran.step("one").attributes),
        (vec![json!(1)], vec!["undo_failed"])
    );
    assert_eq!(
        stays(&ran),
        [(
            "one.undo".to_owned(),
            "it was cancelled before it completed".to_owned()
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_ctrl_c_interrupts_the_undo_of_a_cancelled_run_and_the_next_process_goes_on() {
    let mut world = three();
    let text = three_and(LONG);
    send(&world, &[(100, CANCEL)]);
    world.stop_after = Some(Duration::from_millis(600));
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "paused");
    assert!(ran.took < 1100, "{}", ran.took);
    assert_eq!(put(&ran), [json!(3)]);
    (world.stop_after, world.cancel) = (None, tokio_util::sync::CancellationToken::new());
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "cancelled");
    let mut numbers = put(&ran);
    numbers.dedup();
    assert_eq!(numbers, [json!(3), json!(2), json!(1)]);
    assert_eq!(
        marks(&ran),
        [["undone"], ["undone"], ["undone"]].map(|own| own.to_vec())
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_in_an_undo_ends_in_time_across_processes() {
    let waits = "plan q() -> int {
         step more = wait for signal \"more\" -> int within 1h recover expired => 7
         reply more
     }";
    let mut world = world().file("./q.plan", waits);
    world.journal = Some(MemoryLog::default());
    let text = format!(
        "use \"./q.plan\" as q\n{}",
        plan("step one = a.put(x: 1) undo q.q() fail tool.failed \"no\"")
    );
    for _ in 0..2 {
        let paused = world.run(&text).await.outcome;
        let Some(Interruption::Waiting { wake, .. }) = paused.interruption else {
            panic!("{:?}", paused.interruption)
        };
        // What limits the `undo` as a whole does not count while it waits.
        assert_eq!(wake, Some(BEGIN + 3_600_000_000_000));
        world.host.advance(Duration::from_mins(30));
    }
    let ran = world.run(&text).await;
    assert_eq!(ran.outcome.state.name(), "failed");
    assert!(ran.step("one").attributes.contains(&"undone"));
}
