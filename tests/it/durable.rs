//! Durability: killed after any event, a run resumes at the same place, and no call is made twice.

use std::collections::{BTreeMap, BTreeSet};

use planrun_core::run::Interruption;
use planrun_runs::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, No, Refused};

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
        .tool(
            "a.read",
            [
                Fail("transient.unavailable", No),
                Fail("transient.unavailable", No),
                give(json!(7)),
            ],
        )
        .tool("a.list", one(json!(["x", "y", "z"])))
        .tool(
            "a.put",
            [Fail("tool.busy", Refused), after(30, give(json!(2)))],
        )
        .tool("a.write", one(json!(3)))
        .tool("a.poll", [give(json!(1)), give(json!(2)), give(json!(3))])
        .tool("a.broken", [Fail("tool.failed", Answered)])
        .file("./inner.plan", INNER)
}

/// A plan with tasks and listeners, and with signals that are sent before it starts.
const LISTENING: &str = r#"
use a, sys
use "./inner.plan" as inner
tool a.read(x?: any) -> int read fails busy
tool a.put(x?: any) -> int idempotent fails busy
tool a.write(x?: any) -> int idempotent

plan p() -> { seen: int, sum: int, went: int, doubled: int } {
    task found "Found" statuses [open, guessed, known] { n: int }
    task sent "Sent" { n: int }
    task theirs "Theirs" { by: string } external
    listener guess on found is guessed max 5 {
        step asked = a.read(x: "guess ${found.n}")
        set found guessed { n: found.n + 1 } when found.n < 3
        set found known { n: found.n } when found.n >= 3
    }
    listener both on found is known && theirs is done { step joined = a.write(x: "both") set sent done { n: joined } }
    listener heard on signal "go" -> int as s max 5 {
        step put = a.put(x: s) retry { attempts: 3, on: [transient, tool.busy] }
    }
    listener over on plan is completed { step last = a.write(x: "over") }
    step time = sys.now()
    listener clock on time is completed { step ticked = a.write(x: "clock ${found.n ?? 0}") }
    step one = a.read(x: 1) retry { attempts: 3, delay: 1s }
    step two = a.read(x: 2)
    set found guessed { n: one - 6 }
    listener late on two is completed { step wrote = a.write(x: "late ${one}") }
    step went = wait for signal "go" -> int
    step again = wait for signal "go" -> int after went
    step done = wait for sent is done
    step twice = inner.doubled(n: two * 2)
    reply { seen: done.n, sum: one + two, went: went + again, doubled: twice }
}
"#;

/// The plan that it calls.
const INNER: &str = r#"
use a
tool a.write(x?: any) -> int idempotent

plan doubled(n: int) -> int {
    task t "Inner" { n: int }
    listener told on t is done { step wrote = a.write(x: "inner ${t.n}") }
    set t done { n: n }
    step end = wait for told is completed
    reply t.n
}
"#;

const COMMANDS: [&str; 4] = [
    r#"{"signal": "go", "payload": 10}"#,
    r#"{"signal": "go", "payload": "no number"}"#,
    r#"{"task": "theirs", "status": "done", "context": {"by": "them"}}"#,
    r#"{"signal": "go", "payload": 20}"#,
];

fn log(commands: &[&str]) -> MemoryLog {
    let log = MemoryLog::default();
    for command in commands {
        log.send(command);
    }
    log
}

/// Runs a plan that dies after some events, and resumes it to its end. Fails if a completed call is made again.
async fn killed_after(events: usize, plan: &str, commands: &[&str]) -> (Ran, World) {
    let mut world = world();
    world.journal = Some(log(commands).dying_after(events));
    let first = world.run_until_it_dies(plan, BTreeMap::new()).await;
    let log = world.journal.take().unwrap();
    assert!(first.is_none() || !log.is_full());
    let completed = completed_keys(&log);
    let before = world.seen().len();
    world.journal = Some(log.revived());
    let ran = world.run_with(plan, BTreeMap::new()).await;
    let again: Vec<_> = ran.seen[before..]
        .iter()
        .filter(|seen| completed.contains(&seen.key))
        .collect();
    assert!(
        again.is_empty(),
        "killed after {events}: completed and called again: {again:?}"
    );
    (ran, world)
}

/// Returns the idempotency keys of settled calls that a retry in another process must not send again: those of calls
/// that completed, or that the tool refused for good. After any other failure, the call continues with its key.
pub fn keys_to_keep_from_retries(log: &MemoryLog) -> BTreeSet<String> {
    ended_keys(log, |event| {
        event["status"] == "completed" || event["error"]["sent"] == "refused"
    })
}

/// Returns the idempotency keys of calls that are settled in a journal.
pub fn completed_keys(log: &MemoryLog) -> BTreeSet<String> {
    ended_keys(log, |_| true)
}

fn ended_keys(log: &MemoryLog, counts: impl Fn(&Json) -> bool) -> BTreeSet<String> {
    let mut keys = BTreeMap::new();
    let mut completed = BTreeSet::new();
    for line in log.lines() {
        let event: Json = serde_json::from_str(&line).unwrap();
        let path = event["path"].as_str().unwrap_or_default().to_owned();
        if let Some(key) = event["key"].as_str() {
            keys.insert(path.clone(), key.to_owned());
        }
        if event["event"] == "step.settled" && counts(&event) {
            completed.extend(keys.get(&path).cloned());
        }
    }
    completed
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_after_any_event_goes_on_and_ends_as_if_it_had_not() {
    Box::pin(survives(PLAN, &[])).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_of_tasks_and_listeners_that_dies_after_any_event_hears_the_same() {
    Box::pin(survives(LISTENING, &COMMANDS)).await;
}

/// Returns the listener and task events of a journal, sorted.
fn reactions(log: &MemoryLog) -> Vec<String> {
    let event = |line: &String| -> Json { serde_json::from_str(line).unwrap() };
    let mut all: Vec<String> = log
        .lines()
        .iter()
        .map(event)
        .filter(|event| {
            ["task.set", "task.moved", "listener.fired"]
                .iter()
                .any(|name| event["event"] == *name)
        })
        .map(|event| {
            format!(
                "{} {} {} {}",
                event["event"], event["path"], event["status"], event["payload"]
            )
        })
        .collect();
    all.sort();
    all
}

async fn survives(plan: &str, commands: &[&str]) {
    let mut whole = world();
    let log = log(commands);
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(plan).await;
    assert_eq!(
        undisturbed.outcome.state.name(),
        "completed",
        "{:?}",
        undisturbed.outcome.error
    );
    let count = log.lines().len();
    assert!(count > 50, "{count}");
    let moves = |ran: &Ran| -> Vec<Json> {
        let report = |task: &planrun_core::run::TaskReport| {
            json!([
                *task.name,
                *task.status,
                task.context.to_json(),
                task.trace.len()
            ])
        };
        ran.outcome.tasks.iter().map(report).collect()
    };
    let keys = |ran: &Ran| -> BTreeSet<String> {
        ran.seen
            .iter()
            .filter(|seen| seen.tool != "a.poll")
            .map(|seen| seen.key.clone())
            .collect()
    };
    let expected = keys(&undisturbed);
    for events in 1..count {
        let (ran, world) = killed_after(events, plan, commands).await;
        assert_eq!(ran.reply(), undisturbed.reply(), "killed after {events}");
        // The lost answer may have been the one that starts a new execution.
        assert!(
            keys(&ran).is_subset(&expected),
            "killed after {events}: other keys"
        );
        let statuses = |ran: &Ran| -> Vec<(String, String)> {
            ran.outcome
                .steps()
                .iter()
                .map(|step| (step.path.to_string(), step.status.to_string()))
                .collect()
        };
        assert_eq!(
            statuses(&ran),
            statuses(&undisturbed),
            "killed after {events}"
        );
        assert_eq!(moves(&ran), moves(&undisturbed), "killed after {events}");
        assert_eq!(
            reactions(world.journal.as_ref().unwrap()),
            reactions(&log),
            "killed after {events}"
        );
        // An event is never written twice.
        let lines = world.journal.unwrap().lines();
        let settled = lines
            .iter()
            .filter(|line| line.contains("\"step.settled\""))
            .count();
        let expected = log
            .lines()
            .iter()
            .filter(|line| line.contains("\"step.settled\""))
            .count();
        assert_eq!(settled, expected, "killed after {events}");
    }
}

const WITH_PEOPLE: &str = r#"
use a, sys
tool a.read(x?: any) -> int read
tool a.put(x?: any) -> int idempotent fails busy
tool a.poll() -> int read

plan p() -> { total: int, names: string[], city: string, late: int, refused: int } {
    policy { concurrency: 2, deadline: 20m }
    step first = a.read(x: 1) confirm "Read?" within 10s
    step soon = wait 40s
    step put = a.put(x: first) after soon confirm "Put ${first}?" retry { attempts: 3, delay: 90s, on: [tool.busy] } within 15m
    step form = input "Where?" -> { city: string, zip: int = first }
    step names = each name in ["x", "y"] max 5 {
        step done = a.put(x: name) confirm "And ${name}?" expires 2d
        yield "${name}!"
    } after put
    step all = do {
        step later = wait 5m
        step polled = a.poll() until polled == 3 every 2m within 1h
        yield polled
    } confirm "All of it?"
    step no = a.put(x: "no") confirm "No?" recover denied.human => a.read(x: "no")
    step never = a.put(x: "never") confirm "Never?" expires 50s recover expired => 5
    reply { total: put, names: names, city: form.city, late: all, refused: no + never }
}
"#;

fn with_people() -> World {
    let mut world = World::new()
        .tool("a.read", [after(10, give(json!(7)))])
        .tool(
            "a.put",
            [Fail("tool.busy", Refused), after(30, give(json!(2)))],
        )
        .tool("a.poll", [give(json!(1)), give(json!(2)), give(json!(3))]);
    world.answers = vec![
        ("first.confirm", json!(true)),
        ("put.confirm", json!(true)),
        ("put.confirm", json!({"approve": true, "note": "again"})),
        ("form", json!({"city": "Oslo"})),
        ("names[0].done.confirm", json!(true)),
        ("names[1].done.confirm", json!(true)),
        ("all.confirm", json!(true)),
        ("no.confirm", json!(false)),
    ];
    world
}

/// Drives a run to its end: whenever it pauses, the clock is advanced to its wake time. `None` if its journal accepted
/// no more events.
async fn driven(world: &World) -> Option<Ran> {
    for _ in 0..40 {
        let ran = world
            .run_until_it_dies(WITH_PEOPLE, BTreeMap::new())
            .await?;
        let Some(Interruption::Waiting { wake, .. }) = ran.outcome.interruption else {
            return Some(ran);
        };
        world.host.set_now(wake.expect("everybody has answered"));
    }
    panic!("the run pauses for ever");
}

#[tokio::test(start_paused = true)]
async fn gates_forms_and_timers_survive_a_death_after_any_event() {
    let mut whole = with_people();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = driven(&whole).await.unwrap();
    assert_eq!(
        undisturbed.outcome.state.name(),
        "completed",
        "{:?}",
        undisturbed.outcome.error
    );
    let count_of = |log: &MemoryLog, text: &str| {
        log.lines()
            .iter()
            .filter(|line| line.contains(text))
            .count()
    };
    let answers = count_of(&log, "\"answer.given\"");
    assert_eq!(
        (answers, count_of(&log, "\"execution\":1,\"binding\"")),
        (8, 1),
        "{:#?}",
        log.lines()
    );
    let count = log.lines().len();
    assert!(count >= 60, "{count}");
    for events in 1..count {
        let mut world = with_people();
        world.journal = Some(MemoryLog::default().dying_after(events));
        let first = driven(&world).await;
        let dying = world.journal.take().unwrap();
        assert!(first.is_none() || !dying.is_full());
        let completed = completed_keys(&dying);
        let before = world.seen().len();
        world.journal = Some(dying.revived());
        let ran = driven(&world).await.unwrap();
        assert_eq!(
            ran.reply(),
            undisturbed.reply(),
            "killed after {events}: {:?}",
            ran.outcome.error
        );
        let again: Vec<_> = ran.seen[before..]
            .iter()
            .filter(|seen| completed.contains(&seen.key))
            .collect();
        assert!(
            again.is_empty(),
            "killed after {events}: completed and called again: {again:?}"
        );
        let log = world.journal.unwrap();
        // Each question has one answer, except one that is never answered.
        let asked = count_of(&log, "\"for\":\"confirm\"") + count_of(&log, "\"for\":\"input\"");
        assert_eq!(
            count_of(&log, "\"answer.given\"") + 1,
            asked,
            "killed after {events}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_lost_twice_is_asked_about_twice_and_sent_with_one_key() {
    const LOST: &str = "
    use a
    tool a.make() -> int effect
    tool a.tell(x: int) -> int effect
    plan p() -> int { step made = a.make() step told = a.tell(x: made) reply made + told }
    ";
    let mut world = World::new()
        .tool("a.make", [after(10, give(json!(7)))])
        .tool("a.tell", [after(10, give(json!(1)))]);
    world.answers = vec![("made", json!({"happened": false}))];
    let mut log = MemoryLog::default();
    // The run starts; then twice it is resumed, asks about the unknown outcome, is answered and starts the call again.
    for more in [2, 5, 5] {
        world.journal = Some(log.clone().dying_after(log.lines().len() + more));
        assert!(
            world
                .run_until_it_dies(LOST, BTreeMap::new())
                .await
                .is_none()
        );
        log = log.revived();
        assert!(
            log.lines().last().unwrap().contains("step.running"),
            "{:?}",
            log.lines()
        );
    }
    let settled = log.lines().len() + 6;
    world.journal = Some(log.clone().dying_after(settled));
    assert!(
        world
            .run_until_it_dies(LOST, BTreeMap::new())
            .await
            .is_none()
    );
    log = log.revived();
    world.journal = Some(log.clone());
    let ran = world.run(LOST).await;
    assert_eq!(
        (ran.reply(), ran.status("made")),
        (json!(8), "completed".to_owned())
    );
    assert_eq!(
        log.lines()
            .iter()
            .filter(|line| line.contains("answer.given"))
            .count(),
        3
    );
    let keys: BTreeSet<&str> = ran
        .calls("a.make")
        .iter()
        .map(|seen| seen.key.as_str())
        .collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn branches_of_a_race_that_answered_together_have_both_answered_in_the_next_process() {
    const RACE: &str = "
    use a
    tool a.read(x?: any) -> int read
    plan p() -> int { step fast = race { one: a.read(x: 1), two: a.read(x: 2) } reply fast }
    ";
    let world = || {
        World::new().tool(
            "a.read",
            [after(10, give(json!(1))), after(10, give(json!(2)))],
        )
    };
    let statuses = |ran: &Ran| {
        [
            ran.status("fast.one"),
            ran.status("fast.two"),
            ran.status("fast"),
        ]
    };
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = statuses(&whole.run(RACE).await);
    let both = log
        .lines()
        .iter()
        .rposition(|line| line.contains("fast."))
        .unwrap()
        + 1;
    let mut world = world();
    world.journal = Some(MemoryLog::default().dying_after(both));
    assert!(
        world
            .run_until_it_dies(RACE, BTreeMap::new())
            .await
            .is_none()
    );
    world.journal = world.journal.map(MemoryLog::revived);
    let ran = world.run(RACE).await;
    assert_eq!((statuses(&ran), ran.reply()), (undisturbed, json!(1)));
}
