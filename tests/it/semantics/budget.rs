//! Section 5.4: the budget of a run, and the event that little is left.

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::No;
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> any read
tool a.make(x?: any) -> any effect
tool a.drop(x?: any) -> any effect
";

/// Returns a world with a tool that reports its cost.
fn world() -> World {
    let answer = json!({ "value": 1, "usage": { "total_tokens": 40, "cost": 0.25 } });
    World::new()
        .tool("a.read", [after(10, give(answer.clone()))])
        .tool("a.make", [after(10, give(answer))])
        .tool("a.drop", [give(json!(true))])
        .reporting("a.read")
        .reporting("a.make")
}

fn plan(budget: &str, body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ policy {{ budget: {{ {budget} }}, concurrency: 1 }} {body} }}")
}

fn warnings(ran: &Ran) -> Vec<&str> {
    ran.events
        .iter()
        .filter(|(name, ..)| *name == "budget.low")
        .map(|(_, budget, _)| budget.as_str())
        .collect()
}

const FIVE: &str =
    "step all = each n in [1, 2, 3, 4, 5] max 9 { step r = a.read(x: n) yield n } reply size(all)";

#[tokio::test(start_paused = true)]
async fn r5_4_calls_are_attempts_and_four_fifths_are_told() {
    let ran = world().run(&plan("calls: 5", FIVE)).await;
    assert_eq!((ran.reply(), warnings(&ran)), (json!(5), vec!["calls"]));
    let ran = world().run(&plan("calls: 4", FIVE)).await;
    assert_eq!(
        (
            ran.class().as_str(),
            ran.calls("a.read").len(),
            warnings(&ran)
        ),
        ("budget.calls", 4, vec!["calls"])
    );
    let flaky = world().tool(
        "a.read",
        [
            Fail("transient.network", No),
            Fail("transient.network", No),
            give(json!(1)),
        ],
    );
    let ran = flaky
        .run(&plan("calls: 2", "step r = a.read() reply 1"))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.read").len()),
        ("budget.calls", 2)
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_and_cost_are_what_answers_report() {
    let ran = world().run(&plan("tokens: 1000, cost: 10", FIVE)).await;
    assert_eq!(
        (ran.outcome.usage.tokens, ran.outcome.usage.cost.to_bits()),
        (200, 1.25_f64.to_bits())
    );
    assert!(warnings(&ran).is_empty());
    let ran = world().run(&plan("tokens: 100", FIVE)).await;
    assert_eq!(
        (
            ran.class().as_str(),
            ran.calls("a.read").len(),
            warnings(&ran)
        ),
        ("budget.tokens", 3, vec!["tokens"])
    );
    let ran = world().run(&plan("cost: 0.5", FIVE)).await;
    assert_eq!(
        (
            ran.class().as_str(),
            ran.calls("a.read").len(),
            warnings(&ran)
        ),
        ("budget.cost", 2, vec!["cost"])
    );
}

#[tokio::test(start_paused = true)]
async fn ten_tenths_of_a_coin_are_one() {
    let tenth = || {
        World::new()
            .tool("a.read", [give(json!({ "usage": { "cost": 0.1 } }))])
            .reporting("a.read")
    };
    let reads = |count: usize| {
        let list = vec!["1"; count].join(", ");
        format!(
            "step all = each n in [{list}] max 99 {{ step r = a.read(x: n) yield n }} reply size(all)"
        )
    };
    let ran = tenth().run(&plan("cost: 1", &reads(11))).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.read").len()),
        ("budget.cost", 10)
    );
    let ran = tenth().run(&plan("cost: 1", &reads(10))).await;
    assert_eq!(
        (ran.reply(), ran.outcome.usage.cost.to_string()),
        (json!(10), "1".to_owned())
    );
    let ran = tenth().run(&plan("cost: 1", &reads(3))).await;
    assert_eq!(ran.outcome.usage.cost.to_string(), "0.3");
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_time_ends_the_run() {
    let ran = world()
        .tool("a.read", [after(1000, give(json!(1)))])
        .run(&plan("time: 3s", FIVE))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("budget.time", 3000));
}

#[tokio::test(start_paused = true)]
async fn r5_3_a_called_plan_has_a_budget_of_its_own_within_that_of_its_caller() {
    let inner = |budget: &str| {
        format!(
            "{TOOLS}\nplan q() -> int {{ policy {{ budget: {{ {budget} }} }} step a1 = a.read() step a2 = a.read() reply 1 }}"
        )
    };
    let outer = |budget: &str| {
        format!(
            "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ budget: {{ {budget} }} }} step first = a.read() step x = q.q() after first reply x }}"
        )
    };
    for (own, callers, expected) in [
        ("calls: 2", "calls: 3", ""),
        ("calls: 1", "calls: 9", "budget.calls"),
        ("calls: 9", "calls: 2", "budget.calls"),
    ] {
        let ran = world()
            .file("./q.plan", &inner(own))
            .run(&outer(callers))
            .await;
        assert_eq!(ran.class(), expected, "{own} in {callers}");
    }
}

#[tokio::test(start_paused = true)]
async fn r10_8_a_budget_that_is_spent_takes_back_what_was_done_and_that_needs_no_budget() {
    let ran = world()
        .run(&plan(
            "calls: 2",
            "step one = a.make() undo a.drop() step two = a.make(x: one) step three = a.make(x: two)",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.drop").len()),
        ("budget.calls", 1)
    );
    assert_eq!(
        (ran.outcome.usage.calls, ran.outcome.usage.exempt_calls),
        (2, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_used_before_a_crash_counts() {
    let text = plan("tokens: 200", FIVE);
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(&text).await;
    assert_eq!(
        (undisturbed.reply(), undisturbed.outcome.usage.tokens),
        (json!(5), 200)
    );
    for events in 1..log.lines().len() {
        let mut world = world();
        world.journal = Some(MemoryLog::default().dying_after(events));
        assert!(
            world
                .run_until_it_dies(&text, std::collections::BTreeMap::new())
                .await
                .is_none()
        );
        let dying = world.journal.take().unwrap();
        world.journal = Some(dying.revived());
        let ran = world.run(&text).await;
        let lines = world.journal.unwrap().lines();
        let reported = lines
            .iter()
            .filter(|line| line.contains("\"usage.reported\""))
            .count() as u64;
        assert_eq!(
            ran.outcome.usage.tokens,
            reported * 40,
            "killed after {events}: nothing that was reported is lost"
        );
        assert!(
            lines
                .iter()
                .filter(|line| line.contains("\"budget.low\""))
                .count()
                <= 1,
            "killed after {events}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn who_looks_sees_that_a_budget_was_spent_between_two_polls() {
    let text = plan(
        "calls: 3",
        "step r = a.read() until r.value == 2 every 1s within 1h reply 1",
    );
    let mut world = world();
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.read").len()),
        ("budget.calls", 3)
    );
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(
        (seen.outcome.state, seen.class(), seen.status("r")),
        (ran.outcome.state, ran.class(), ran.status("r"))
    );
}
