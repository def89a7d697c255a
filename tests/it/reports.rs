//! Reports about runs for models: the result, the undone effects, the remaining effects, and the unknown outcomes.

use planrun_lang::protocol::Sent::{Answered, Maybe};
use planrun_serve::report::{failure, success};
use planrun_serve::tokens::tokens;
use serde_json::{Value as Json, json};

use crate::world::Script::Fail;
use crate::world::{Ran, World, give};

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.make(x?: any) -> int effect
tool a.drop(x?: any) -> bool effect
tool a.long() -> { entries: string[] } read
tool a.bad() -> int effect fails busy
tool a.lost() -> int effect
tool a.refused() -> int effect
";

async fn ran(body: &str) -> Ran {
    let entries: Vec<String> = (0..5000).map(|number| format!("entry {number}")).collect();
    let world = World::new()
        .tool("a.read", [give(json!(1))])
        .tool("a.make", [give(json!(7))])
        .tool("a.drop", [give(json!(true))])
        .tool("a.long", [give(json!({ "entries": entries }))])
        .tool("a.bad", [Fail("tool.busy", Answered)])
        .tool("a.refused", [Fail("denied.human", Answered)])
        .tool("a.lost", [Fail("transient.timeout", Maybe)]);
    world.run(&format!("{TOOLS}\nplan p() {{ {body} }}")).await
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_completed_tells_its_reply_and_how_many_calls_it_made() {
    let ran = ran(
        "step r = a.read() step m = each x in [1, 2, 3] max 3 { step one = a.make(x: x) undo a.drop(x: x) yield one }
         step b = a.bad() recover tool.busy => a.make() reply { made: m, read: r + b }",
    )
    .await;
    let (report, blocks) = success(&ran.outcome, None);
    assert!(blocks.is_empty());
    let expected = json!({
        "run": ran.outcome.run,
        "state": "completed",
        "reply": { "made": [7, 7, 7], "read": 8 },
        "calls": { "read": 1, "effect": 4 },
    });
    assert_eq!(serde_json::from_str::<Json>(&report).unwrap(), expected);
    assert!(
        tokens(&report) - tokens(&expected["reply"].to_string()) <= 60,
        "{report}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_reply_is_shortened_and_the_cut_is_listed() {
    let ran = ran("step l = a.long() reply l").await;
    let (report, _) = success(&ran.outcome, Some(500));
    assert!(tokens(&report) <= 560, "{}", tokens(&report));
    let report: Json = serde_json::from_str(&report).unwrap();
    let kept = report["reply"]["entries"].as_array().unwrap().len();
    assert!(kept > 100, "{kept}");
    assert_eq!(
        report["cut"],
        json!([{ "path": "/entries", "kept": kept, "of": 5000 }])
    );
}

/// The refusal of a person is final, so nothing invites the model to ask again.
#[tokio::test(start_paused = true)]
async fn a_run_that_a_person_has_refused_is_not_to_be_corrected() {
    let refused = ran("step one = a.make() step two = a.refused() after one").await;
    let report = failure(&refused.outcome);
    assert!(report.contains("denied.human"), "{report}");
    assert!(!report.contains("Correct the plan"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_failed_tells_what_is_left_of_it() {
    let undone = ran(
        "step r = a.read() step one = a.make() undo a.drop(x: one)
         step many = each x in [1, 2] max 9 { step it = a.make(x: x) undo do { step d = a.drop(x: it) yield d } yield it }
         step kept = a.make(x: \"k\") step end = a.bad()",
    )
    .await;
    let run = &undone.outcome.run;
    let report = failure(&undone.outcome);
    let expected = format!(
        "run {run} failed at end: tool.busy: {}\n\
         done: 1 reads, 4 effects\n\
         undone: one, many[0].it, many[1].it\n\
         unknown: nothing\n\
         stays: kept\n\
         Correct the plan and run(plan, base: \"{run}\"): what stays is kept and not repeated.\n",
        undone.outcome.error.as_ref().unwrap().message
    );
    assert_eq!(report, expected);
}

/// The `undo` of a step replaces those of the steps in it.
#[tokio::test(start_paused = true)]
async fn a_step_that_is_undone_leaves_nothing_that_it_holds() {
    let undone = ran(
        "step box = do { step in_box = a.make() step none = a.make(x: 1) when in_box == 0 yield in_box } undo a.drop(x: box)
         step boxed = a.make() step end = a.bad()",
    )
    .await;
    let report = failure(&undone.outcome);
    assert!(
        report.contains("\nundone: box.in_box\nunknown: nothing\nstays: boxed\n"),
        "{report}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_nobody_knows_is_to_be_looked_at_first() {
    let lost = ran("step one = a.make() step end = a.lost()").await;
    let report = failure(&lost.outcome);
    assert!(report.contains("\nunknown: end\nstays: one\n"), "{report}");
    assert!(
        report.contains("\nFirst check whether the unknown effects have happened"),
        "{report}"
    );
    // A recovered unknown outcome is still unknown.
    let caught = ran("step one = a.lost() recover unknown_outcome => 0 step end = a.bad()").await;
    let report = failure(&caught.outcome);
    assert!(report.contains("\nunknown: one\n"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_short_however_much_was_done() {
    let name = "n".repeat(70);
    let body = format!(
        "step {name} = each x in [{}] max 100 {{ step of_this_one_too = a.make(x: x) yield of_this_one_too }}
         step lost = each x in [1, 2, 3, 4, 5, 6] max 9 settle {{ step {name}_lost = a.lost() recover unknown_outcome => 0 yield {name}_lost }}
         fail tool.{name} \"{}\"",
        (0..90).map(|number| number.to_string()).collect::<Vec<_>>().join(", "),
        "no ".repeat(2000),
    );
    let report = failure(&ran(&body).await.outcome);
    assert!(
        tokens(&report) <= 300,
        "{} tokens\n{report}",
        tokens(&report)
    );
    assert!(
        report.contains("done: 0 reads, 90 effects\n") && report.contains(" more\n"),
        "{report}"
    );
}
