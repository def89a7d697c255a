//! Runs that survive: killed after every event, a run goes on where it was, and nothing happens twice.

use std::collections::{BTreeMap, BTreeSet};

use planrun::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun::protocol::Sent::{Answered, No};

const PLAN: &str = r#"
use a, sys
tool a.read(x?: any) -> int read fails busy
tool a.list() -> string[] read
tool a.put(x?: any) -> int idempotent fails busy
tool a.write(x?: any) -> int idempotent
tool a.poll() -> int read
tool a.broken() -> int idempotent

plan inner(n: int) -> int {
    step doubled = a.put(x: n * 2)
    reply doubled
}

plan p() -> { total: int, names: string[], late: int, saved: int, drafts: int[], fast: int, at: bool } {
    policy { concurrency: 3 }
    step time = sys.now()
    step first = a.read(x: 1) retry { attempts: 3, delay: 1s }
    step names = a.list()
    let twice = first * 2
    step put = a.put(x: twice) retry { attempts: 3, on: [transient, tool.busy] }
    step each_one = each name in names max 10 parallel 2 by name {
        step done = a.write(x: name) within 5m
        yield "${name}!"
    }
    step polled = a.poll() until polled == 3 every 1m within 1h
    step saved = a.broken() recover tool => a.put(x: "instead")
    step drafts = repeat draft = 0 max 5 {
        step written = a.write(x: draft)
        yield draft
        next draft + 1 when draft < 2
        next null when draft >= 2
    }
    step fast = race { one: a.read(x: "slow"), two: a.list() }
    step called = match names {
        _ => do {
            step deep = a.write(x: "deep")
            yield deep
        }
    }
    if first > 100 { step never = a.write(x: "never") }
    ensure put > 0 else "no"
    reply {
        total: put + called, names: each_one, late: polled, saved: saved, drafts: drafts, fast: size(drafts),
        at: time == time,
    }
}
"#;

fn world() -> World {
    let one = |value: Json| [after(10, give(value))];
    World::new()
        .tool("a.read", [Fail("transient.unavailable", No), Fail("transient.unavailable", No), give(json!(7))])
        .tool("a.list", one(json!(["x", "y", "z"])))
        .tool("a.put", [Fail("tool.busy", Answered), after(30, give(json!(2)))])
        .tool("a.write", one(json!(3)))
        .tool("a.poll", [give(json!(1)), give(json!(2)), give(json!(3))])
        .tool("a.broken", [Fail("tool.failed", Answered)])
}

/// Runs to the end, whatever it takes; tells the end, every call, and those that a completed step made again.
async fn killed_after(events: usize) -> (Ran, World) {
    let mut world = world();
    world.journal = Some(MemoryLog::default().dying_after(events));
    let first = world.run_until_it_dies(PLAN, BTreeMap::new()).await;
    let log = world.journal.take().unwrap();
    assert!(first.is_none() || !log.is_full());
    let completed = completed_keys(&log);
    let before = world.seen().len();
    world.journal = Some(log.living());
    let ran = world.run_with(PLAN, BTreeMap::new()).await;
    let again: Vec<_> = ran.seen[before..].iter().filter(|seen| completed.contains(&seen.key)).collect();
    assert!(again.is_empty(), "killed after {events}: completed and called again: {again:?}");
    (ran, world)
}

/// The keys of calls that a journal tells the end of.
fn completed_keys(log: &MemoryLog) -> BTreeSet<String> {
    let mut keys = BTreeMap::new();
    let mut completed = BTreeSet::new();
    for line in log.lines() {
        let event: Json = serde_json::from_str(&line).unwrap();
        let path = event["path"].as_str().unwrap_or_default().to_owned();
        if let Some(key) = event["key"].as_str() {
            keys.insert(path.clone(), key.to_owned());
        }
        if event["event"] == "step.settled" {
            completed.extend(keys.get(&path).cloned());
        }
    }
    completed
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_after_any_event_goes_on_and_ends_as_if_it_had_not() {
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(PLAN).await;
    assert_eq!(undisturbed.outcome.state.name(), "completed", "{:?}", undisturbed.outcome.error);
    let count = log.lines().len();
    assert!(count > 50, "{count}");
    let keys = |ran: &Ran| -> BTreeSet<String> {
        ran.seen.iter().filter(|seen| seen.tool != "a.poll").map(|seen| seen.key.clone()).collect()
    };
    let expected = keys(&undisturbed);
    for events in 1..count {
        let (ran, world) = killed_after(events).await;
        assert_eq!(ran.reply(), undisturbed.reply(), "killed after {events}");
        // An answer that was lost may have been the one that makes a new execution.
        assert!(keys(&ran).is_subset(&expected), "killed after {events}: other keys");
        let statuses = |ran: &Ran| -> Vec<(String, String)> {
            ran.outcome.steps().iter().map(|step| (step.path.to_string(), step.status.to_string())).collect()
        };
        assert_eq!(statuses(&ran), statuses(&undisturbed), "killed after {events}");
        // What is written once is not written again.
        let lines = world.journal.unwrap().lines();
        let settled = lines.iter().filter(|line| line.contains("\"step.settled\"")).count();
        let expected = log.lines().iter().filter(|line| line.contains("\"step.settled\"")).count();
        assert_eq!(settled, expected, "killed after {events}");
    }
}
