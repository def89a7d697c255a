//! Section 6: tasks and the listeners on them; and how a run closes, aborts, pauses and stalls.

use std::time::Duration;

use planrun_core::run::Interruption;
use planrun_runs::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, No};

const TOOLS: &str = "
use a, sys
tool a.read(x?: any) -> int read fails busy
tool a.put(x?: any) -> int idempotent
tool a.write(x?: any) -> int effect fails busy
tool a.mail(x?: any) -> int idempotent fails busy
";

fn world() -> World {
    let one = |value| [after(10, give(json!(value)))];
    World::new()
        .tool("a.read", one(1))
        .tool("a.put", one(2))
        .tool("a.write", one(3))
        .tool("a.mail", one(4))
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

async fn run(body: &str) -> Ran {
    world().run(&plan(body)).await
}

/// Returns a world with a journal that has these inbox commands before the run starts.
fn with_commands(commands: &[Json]) -> (World, MemoryLog) {
    let log = MemoryLog::default();
    for command in commands {
        log.send(&command.to_string());
    }
    let mut world = world();
    world.journal = Some(log.clone());
    (world, log)
}

/// Returns the bodies of the mails, in order.
fn mails(ran: &Ran) -> Vec<Json> {
    ran.calls("a.mail")
        .iter()
        .map(|seen| seen.arguments["x"].clone())
        .collect()
}

fn task(ran: &Ran, name: &str) -> (String, Json) {
    let task = ran
        .outcome
        .tasks
        .iter()
        .find(|task| &*task.name == name)
        .unwrap();
    (task.status.to_string(), task.context.to_json())
}

fn trace(ran: &Ran, name: &str) -> Vec<(String, String)> {
    let task = ran
        .outcome
        .tasks
        .iter()
        .find(|task| &*task.name == name)
        .unwrap();
    task.trace
        .iter()
        .map(|moved| (moved.status.to_string(), moved.reason.to_string()))
        .collect()
}

/// Returns how often a listener fired, and how often it would have without its limit.
fn fired(ran: &Ran, path: &str) -> (u32, u32) {
    let listener = ran
        .outcome
        .listeners
        .iter()
        .find(|listener| &*listener.path == path)
        .unwrap();
    (listener.fired, listener.surplus)
}

fn error(ran: &Ran) -> String {
    ran.outcome
        .error
        .as_ref()
        .map_or_else(String::new, |error| error.message.to_string())
}

#[tokio::test(start_paused = true)]
async fn r6_1_a_task_has_a_status_and_a_typed_context_that_the_main_flow_reads() {
    let ran = run(
        r#"task t "T" { n: int } step r = a.read() set t running { n: r } set t done reply t.n"#,
    )
    .await;
    assert_eq!(ran.reply(), json!(1));
    assert_eq!(task(&ran, "t"), ("done".into(), json!({"n": 1})));
    let moves = [
        ("pending", "initialized"),
        ("running", "set"),
        ("done", "set"),
    ];
    assert_eq!(
        trace(&ran, "t"),
        moves.map(|(status, reason)| (status.to_owned(), reason.to_owned()))
    );
    let mut json = Vec::new();
    ran.outcome.write_json(&mut json).unwrap();
    let json: Json = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        (&json["tasks"][0]["name"], &json["tasks"][0]["status"]),
        (&json!("t"), &json!("done"))
    );
}

#[tokio::test(start_paused = true)]
async fn r6_1_contexts_merge_and_store_null() {
    let ran = run(r#"task t "T" statuses [a, b] { n: int?, m: int } set t a { n: 1, m: 2 } set t b { n: null }"#).await;
    assert_eq!(task(&ran, "t"), ("b".into(), json!({"n": null, "m": 2})));
}

#[tokio::test(start_paused = true)]
async fn r6_1_what_does_not_fit_a_context_fails() {
    let body =
        r#"task t "T" { n: int } let x: any = "text" set t done { n: x } step w = a.write()"#;
    let ran = run(body).await;
    assert_eq!(
        ran.class(),
        "validation.expression",
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(task(&ran, "t").0, "pending");
}

#[tokio::test(start_paused = true)]
async fn r6_2_an_event_fires_the_listener_whose_condition_holds_with_what_it_brings() {
    let ran = run(r#"task t "T" { n: int }
        listener l on t is done as e { step told = a.mail(x: e.n) }
        listener other on t is failed { step untold = a.mail(x: "never") }
        step r = a.read()
        set t done { n: r }"#)
    .await;
    assert_eq!(
        (mails(&ran), ran.status("l[0].told")),
        (vec![json!(1)], "completed".into())
    );
    assert_eq!((fired(&ran, "l"), fired(&ran, "other")), ((1, 0), (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn r6_2_a_join_fires_once_and_max_bounds_the_rest() {
    let ran = run(r#"task p "P" task q "Q"
        listener both on p is done && q is done { step told = a.mail(x: "both") }
        set p done set q done set p done"#)
    .await;
    assert_eq!((mails(&ran).len(), fired(&ran, "both")), (1, (1, 1)));
    let ran = run(r#"task t "T"
        listener l on t is running max 2 { step told = a.mail() }
        set t running set t running set t running"#)
    .await;
    assert_eq!(
        (mails(&ran).len(), fired(&ran, "l")),
        (2, (2, 1)),
        "a set to the same status is an event"
    );
}

#[tokio::test(start_paused = true)]
async fn r6_2_only_events_of_what_a_condition_names_test_it() {
    let ran = run(r#"task p "P" task q "Q" task z "Z"
        listener l on p is done || q is done max 9 { step told = a.mail() }
        set p done set z done set q running"#)
    .await;
    assert_eq!(
        fired(&ran, "l"),
        (2, 0),
        "`z` is nobody's affair, and `p is done` still holds when `q` moves"
    );
}

#[tokio::test(start_paused = true)]
async fn r6_2_the_start_is_an_event_of_every_task_and_a_bare_name_means_any() {
    let ran = run(r#"task t "T"
        listener first on t is pending { step told = a.mail(x: "pending") }
        listener any on t max 9 { step again = a.mail(x: "any") }
        set t done"#)
    .await;
    assert_eq!((fired(&ran, "first"), fired(&ran, "any")), ((1, 0), (2, 0)));
}

#[tokio::test(start_paused = true)]
async fn r6_2_when_guards_over_the_contexts_of_the_snapshot() {
    let ran = run(r#"task t "T" { n: int }
        listener l on t is running when t.n > 1 max 9 { step told = a.mail(x: t.n) }
        set t running { n: 1 } set t running { n: 2 } set t running { n: 3 }"#)
    .await;
    assert_eq!(
        mails(&ran),
        [json!(2), json!(3)],
        "each firing sees the state right after its event"
    );
}

#[tokio::test(start_paused = true)]
async fn r6_2_a_firing_sees_the_contexts_of_its_event_whatever_is_set_meanwhile() {
    for task in ["t", "`the task`"] {
        let ran = run(&format!(
            r#"task {task} "T" {{ n: int }}
            listener l on {task} is running {{
                step first = wait 1s
                step told = a.mail(x: {task}.n)
            }}
            set {task} running {{ n: 1 }} set {task} done {{ n: 2 }}"#
        ))
        .await;
        assert_eq!(mails(&ran), [json!(1)], "{task}");
    }
}

#[tokio::test(start_paused = true)]
async fn r6_2_a_step_that_ends_is_an_event_and_brings_its_error() {
    let world = world().tool("a.write", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan(
            "step w = a.write() listener alarm on w is failed as e { step told = a.mail(x: e.class) }
             listener good on w is completed { step untold = a.mail(x: \"good\") }",
        ))
        .await;
    assert_eq!(
        (mails(&ran), ran.class(), fired(&ran, "good")),
        (vec![json!("tool.busy")], "tool.busy".into(), (0, 0))
    );
}

#[tokio::test(start_paused = true)]
async fn r6_3_firings_of_one_listener_queue_and_those_of_others_do_not() {
    let ran = run(r#"task t "T" { n: int }
        listener l on t is running max 2 { step told = a.mail(x: t.n) }
        listener other on t is running { step put = a.put(x: t.n) }
        set t running { n: 1 } set t running { n: 2 }"#)
    .await;
    let at: Vec<u128> = ran.calls("a.mail").iter().map(|seen| seen.at).collect();
    assert_eq!((mails(&ran), at), (vec![json!(1), json!(2)], vec![0, 10]));
    assert_eq!(ran.calls("a.put")[0].at, 0);
    assert_eq!(ran.status("l[1].told"), "completed");
}

#[tokio::test(start_paused = true)]
async fn r6_3_sets_in_firings_are_events_and_a_policy_bounds_their_number() {
    let ran = run(r#"task t "T" { n: int }
        listener more on t is running when t.n < 4 max 9 { set t running { n: t.n + 1 } }
        set t running { n: 1 }"#)
    .await;
    assert_eq!(task(&ran, "t"), ("running".into(), json!({"n": 4})));
    assert_eq!(trace(&ran, "t")[2], ("running".into(), "more[0]".into()));
    let ran = run(r#"policy { max_firings: 5 }
        task t "T" { n: int }
        listener more on t is running max 1000000 { set t running { n: 1 } }
        set t running { n: 1 }"#)
    .await;
    assert_eq!(
        (ran.class().as_str(), fired(&ran, "more").0),
        ("budget.calls", 6),
        "{}",
        error(&ran)
    );
}

#[tokio::test(start_paused = true)]
async fn r6_3_firings_count_for_their_own_plan_and_for_its_callers() {
    let inner = plan(
        r#"policy { max_firings: 1 }
        task t "T"
        listener l on t is done { step told = a.mail() }
        set t done
        reply 1"#,
    );
    let world = world().file("./inner.plan", &inner);
    for (limit, state) in [(2, "completed"), (1, "failed")] {
        let ran = world
            .run(&format!(
                "use \"./inner.plan\" as inner\n{}",
                plan(&format!(
                    "policy {{ max_firings: {limit} }}
                    step one = inner.p()
                    step two = inner.p() after one
                    reply one"
                ))
            ))
            .await;
        assert_eq!(ran.outcome.state.name(), state, "{}", error(&ran));
    }
}

#[tokio::test(start_paused = true)]
async fn r6_4_a_failure_of_a_listener_is_that_of_a_step() {
    let failing = || world().tool("a.mail", [Fail("tool.busy", Answered)]);
    let body = r#"task t "T" listener l on t is done { step told = a.mail() } set t done
        step r = a.read() step w = a.write(x: r) reply w"#;
    let ran = failing().run(&plan(body)).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.class()),
        ("failed", "tool.busy".into())
    );
    assert_eq!(
        (ran.reply(), ran.status("w")),
        (json!(null), "cancelled".into())
    );
    let error = ran.outcome.error.as_ref().unwrap().to_value().to_json();
    assert_eq!(
        (&error["step"], &error["cause"]["step"]),
        (&json!("l[0]"), &json!("l[0].told"))
    );
    let ran = failing()
        .run(&plan(&format!("policy {{ on_failure: settle }} {body}")))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("failed", json!(3)),
        "the rest goes on"
    );
}

#[tokio::test(start_paused = true)]
async fn r6_4_a_listener_retries_as_its_steps_say_and_may_recover() {
    let world = world().tool(
        "a.mail",
        [Fail("transient.network", No), Fail("tool.busy", Answered)],
    );
    let body = r#"task t "T" statuses [pending, told, untold]
        listener l on plan is completed {
            step told = a.mail() recover tool.busy => 0
            set t untold when told == 0
            set t told when told != 0
        }
        reply 1"#;
    let ran = world.run(&plan(body)).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("a.mail").len()),
        ("completed", 2)
    );
    assert_eq!(task(&ran, "t").0, "untold");
}

#[tokio::test(start_paused = true)]
async fn r6_4_after_the_reply_is_frozen_a_failing_listener_fails_the_run_and_the_reply_stays() {
    let world = world().tool("a.mail", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan(
            "listener l on plan is completed { step told = a.mail() } reply 1",
        ))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.class(), ran.reply()),
        ("failed", "tool.busy".into(), json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn r6_4_a_firing_waits_for_the_names_above_that_it_reads() {
    let body = r#"task t "T" set t running
        step slow = a.read()
        listener l on t is running { step told = a.mail(x: slow) }"#;
    let ran = run(body).await;
    assert_eq!(
        (mails(&ran), ran.calls("a.mail")[0].at),
        (vec![json!(1)], 10)
    );
    let world = world().tool("a.read", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan(&format!("policy {{ on_failure: settle }} {body}")))
        .await;
    assert_eq!(
        (ran.status("l[0].told"), mails(&ran).len()),
        ("skipped(upstream)".into(), 0)
    );
}

#[tokio::test(start_paused = true)]
async fn r6_5_a_signal_reaches_every_listener_and_each_wait_takes_the_oldest() {
    let go = |n: i32| json!({"signal": "go", "payload": {"n": n}});
    let (world, log) = with_commands(&[go(1), go(2), json!({"signal": "unheard", "payload": 7})]);
    let ran = world
        .run(&plan(
            r#"listener one on signal "go" -> { n: int } as s max 9 { step told = a.mail(x: s.n) }
            listener two on signal "go" { step put = a.put() }
            step first = wait for signal "go" -> { n: int }
            step second = wait for signal "go" -> { n: int } after first
            reply [first.n, second.n]"#,
        ))
        .await;
    assert_eq!(ran.reply(), json!([1, 2]), "{}", error(&ran));
    assert_eq!(
        (mails(&ran), fired(&ran, "two")),
        (vec![json!(1), json!(2)], (1, 1))
    );
    let received = log
        .lines()
        .iter()
        .filter(|line| line.contains("signal.received"))
        .count();
    assert_eq!(received, 3, "what nobody knows is written down as well");
}

#[tokio::test(start_paused = true)]
async fn r6_5_a_bounded_number_of_signals_is_kept() {
    let log = MemoryLog::default();
    let mut world = world();
    world.journal = Some(log.clone());
    for number in 0..10_002 {
        log.send(&format!(r#"{{"signal": "go", "payload": {number}}}"#));
    }
    log.send(r#"{"signal": "open", "payload": 1}"#);
    let ran = world
        .run(&plan(
            r#"step first = wait for signal "open" -> int
            step second = wait for signal "go" -> int after first
            reply second"#,
        ))
        .await;
    let lines = log.lines();
    let refused = lines
        .iter()
        .filter(|line| line.contains("and no more are kept"));
    assert_eq!(refused.count(), 2);
    assert_eq!(ran.reply(), json!(0));
}

#[tokio::test(start_paused = true)]
async fn r6_5_signals_are_typed_and_kept_until_somebody_waits() {
    let wrong = json!({"signal": "go", "payload": {"n": "text"}});
    let (world, log) = with_commands(&[wrong, json!({"signal": "go", "payload": {"n": 5}})]);
    let ran = world
        .run(&plan(
            r#"step r = a.read() step s = wait for signal "go" -> { n: int } after r reply s.n"#,
        ))
        .await;
    assert_eq!(ran.reply(), json!(5), "{}", error(&ran));
    let refused = log
        .lines()
        .into_iter()
        .find(|line| line.contains("signal.received"))
        .unwrap();
    assert!(
        refused.contains("\"reason\":\"the payload does not have the declared type"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn r6_5_a_run_that_only_waits_for_a_signal_pauses_and_goes_on_when_it_came() {
    let (world, log) = with_commands(&[]);
    let text = plan(
        r#"policy { deadline: 1m } step r = a.write() step s = wait for signal "go" -> int step w = a.put(x: s + r) reply w"#,
    );
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.status("s")),
        ("paused", "waiting".into())
    );
    let Some(Interruption::Waiting { events: what, .. }) = &ran.outcome.interruption else {
        panic!("{:?}", ran.outcome.interruption)
    };
    assert_eq!(what, "`s` waits for `signal \"go\"`");
    tokio::time::sleep(Duration::from_hours(48)).await;
    log.send(r#"{"signal": "go", "payload": 4}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.calls("a.write").len()),
        (json!(2), 1),
        "{}",
        error(&ran)
    );
    assert_eq!(ran.calls("a.put")[0].arguments, json!({"x": 7}));
}

#[tokio::test(start_paused = true)]
async fn r6_5_a_signal_may_come_while_the_run_works() {
    let (world, log) = with_commands(&[]);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        log.send(r#"{"signal": "stop"}"#);
    });
    let ran = world
        .run(&plan(
            r#"listener l on signal "stop" { step told = a.mail() } step w = a.write() reply w"#,
        ))
        .await;
    assert_eq!((ran.reply(), ran.calls("a.mail")[0].at), (json!(3), 5));
}

#[tokio::test(start_paused = true)]
async fn r6_1_only_an_external_task_is_moved_from_outside() {
    let moves = [
        json!({"task": "own", "status": "done"}),
        json!({"task": "theirs", "status": "nowhere"}),
        json!({"task": "theirs", "status": "done", "context": {"n": "text"}}),
        json!({"task": "theirs", "status": "done", "context": {"n": 3}}),
    ];
    let (world, log) = with_commands(&moves);
    let ran = world
        .run(&plan(
            r#"task own "Own" task theirs "Theirs" { n: int } external
            step w = wait for theirs is done
            reply w.n"#,
        ))
        .await;
    assert_eq!(ran.reply(), json!(3), "{}", error(&ran));
    assert_eq!(
        (task(&ran, "own").0, trace(&ran, "theirs")[1].clone()),
        ("pending".into(), ("done".into(), "signal".into()))
    );
    let lines = log.lines();
    let refused: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("task.moved") && line.contains("reason"))
        .collect();
    assert_eq!(refused.len(), 3);
    assert!(
        refused[0].contains("not declared `external`"),
        "{}",
        refused[0]
    );
}

#[tokio::test(start_paused = true)]
async fn r6_5_without_a_journal_nobody_can_signal() {
    let ran = run(r#"step s = wait for signal "go" -> int reply s"#).await;
    assert_eq!(ran.outcome.state.name(), "stalled");
    assert!(error(&ran).contains("without a journal"), "{}", error(&ran));
}

#[tokio::test(start_paused = true)]
async fn r4_5_wait_for_goes_on_at_once_where_it_is_true_already_and_within_bounds_it() {
    let ran =
        run(r#"task t "T" { n: int } set t done { n: 7 } step w = wait for t is done reply w.n"#)
            .await;
    assert_eq!((ran.reply(), ran.took), (json!(7), 0));
    let body = r#"task t "T" step r = a.read() set t done when r > 5
        step w = wait for t is done within 3s recover expired => null reply 1"#;
    let ran = run(body).await;
    assert_eq!((ran.reply(), ran.took), (json!(1), 3010), "{}", error(&ran));
}

#[tokio::test(start_paused = true)]
async fn r4_5_wait_for_hears_of_steps_and_of_what_listeners_do() {
    let ran = run(r#"task t "T" { n: int }
        step r = a.read()
        listener l on r is completed { step m = a.mail() set t done { n: m } }
        step w = wait for t is done
        reply w.n"#)
    .await;
    assert_eq!((ran.reply(), ran.took), (json!(4), 20), "{}", error(&ran));
}

#[tokio::test(start_paused = true)]
async fn r1_stalled_names_the_conditions_that_wait() {
    let ran = run(r#"task t "T" task u "U"
        listener late on plan is stalled { step told = a.mail(x: "stalled") }
        step r = a.read()
        set t done when r > 5
        step w = wait for t is done && !(u is failed)
        step z = a.write() after w
        reply 1"#)
    .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("stalled", json!(null))
    );
    assert_eq!(
        error(&ran),
        "the run waits for events that can no longer occur: `w` waits for `t is done && !(u is failed)`"
    );
    assert_eq!(
        (ran.status("w"), mails(&ran)),
        ("cancelled".into(), vec![json!("stalled")])
    );
}

#[tokio::test(start_paused = true)]
async fn r1_closing_the_reply_is_frozen_and_firings_run_to_their_end() {
    let ran = run(r#"task t "T" { n: int }
        listener l on t is done { step told = a.mail() set t failed { n: told } }
        listener end on plan is completed || plan is failed { step last = a.mail(x: t.n) }
        set t done { n: 1 }
        reply t.n"#)
    .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply(), ran.took),
        ("completed", json!(1), 20)
    );
    assert_eq!(
        (mails(&ran)[1].clone(), fired(&ran, "end")),
        (json!(4), (1, 0)),
        "the end comes after all firings"
    );
    assert_eq!(task(&ran, "t").0, "failed");
}

#[tokio::test(start_paused = true)]
async fn r1_abort_listeners_are_shielded_and_hear_of_the_end_last() {
    let world = world().tool("a.read", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan(
            r#"step r = a.read()
            step other = a.put()
            listener alarm on r is failed { step one = a.mail(x: "alarm") step two = a.mail(x: "again") after one }
            listener gone on other is cancelled { step told = a.mail(x: "cancelled") }
            listener end on plan is failed as e { step last = a.mail(x: e.class) }
            step never = a.write() after r"#,
        ))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.status("never")),
        ("failed", "cancelled".into())
    );
    let mails = mails(&ran);
    assert_eq!(mails.last(), Some(&json!("tool.busy")), "{mails:?}");
    assert!(
        mails.contains(&json!("again")) && mails.contains(&json!("cancelled")),
        "{mails:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_a_listener_that_never_fired_keeps_no_run_open() {
    let ran = run(r#"task t "T" listener l on t is failed { step told = a.mail() } reply 1"#).await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("completed", 0));
}

#[tokio::test(start_paused = true)]
async fn r1_a_cancel_ends_firings_too() {
    let mut world = world().tool("a.mail", [after(1000, give(json!(4)))]);
    world.stop_after = Some(Duration::from_millis(50));
    let ran = world
        .run(&plan(
            r#"task t "T" listener l on t is done { step told = a.mail() step more = a.mail() after told } set t done
            listener end on plan is cancelled { step put = a.put() }"#,
        ))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.status("l[0].more")),
        ("cancelled", "cancelled".into())
    );
    assert_eq!(
        (ran.calls("a.mail").len(), ran.calls("a.put").len()),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r6_2_what_reads_a_context_that_others_change_waits_for_what_stands_above_it() {
    let ran = run(r#"task t "T" { n: int }
        step begun = a.write()
        listener l on begun is completed { step put = a.put() set t done { n: put } }
        step done = wait for t is done
        let read = t.n ?? 0
        ensure t.n != null else "nothing is known"
        if t.n != null {
            step told = a.mail(x: t.n)
        }
        parallel {
            step pure = sys.echo(value: t.n ?? 0)
            if t.n != null {
                let more = t.n + 1
            }
        }
        reply [read, pure, more]"#)
    .await;
    assert_eq!(
        (ran.reply(), mails(&ran)),
        (json!([2, 2, 3]), vec![json!(2)])
    );
    // What stands above what others wait for is read as it was then.
    let ran = run(r#"task t "T" { n: int }
        let before = t.n ?? 0
        step begun = a.write()
        listener l on begun is completed { step put = a.put() set t done { n: put } }
        step done = wait for t is done
        reply [before, t.n]"#)
    .await;
    assert_eq!(ran.reply(), json!([0, 2]));
}

#[tokio::test(start_paused = true)]
async fn r1_an_abort_takes_back_what_waits_and_a_deadline_ends_firings() {
    let world = world().tool("a.read", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan(
            r#"task t "T" external parallel {
                step w = wait for t is done step d = do { step v = wait for t is done yield 1 } step r = a.read()
            }"#,
        ))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.class()),
        ("failed", "tool.busy".into()),
        "{}",
        error(&ran)
    );
    assert_eq!(
        (ran.status("w"), ran.status("d.v")),
        ("cancelled".into(), "cancelled".into())
    );
    let world = self::world().tool("a.mail", [after(60_000, give(json!(4)))]);
    let ran = world
        .run(&plan(
            r#"policy { deadline: 1s } task t "T"
            listener l on t is done { step told = a.mail() step more = a.mail() after told }
            listener end on plan is failed as e { step put = a.put(x: e.class) }
            set t done"#,
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.mail").len()),
        ("budget.time", 1),
        "{}",
        error(&ran)
    );
    assert_eq!(ran.calls("a.put")[0].arguments, json!({"x": "budget.time"}));
}

#[tokio::test(start_paused = true)]
async fn r5_3_the_tasks_of_a_called_plan_are_its_own_and_its_firings_belong_to_the_call() {
    let inner = plan(
        r#"task t "T" { n: int }
        listener l on t is done { step told = a.mail(x: t.n) }
        set t done { n: 8 }
        reply t.n"#,
    );
    let world = world().file("./inner.plan", &inner);
    let ran = world
        .run(&format!(
            "use \"./inner.plan\" as inner\n{}",
            plan(
                r#"task t "Outer"
                listener outer on t is done { step told = a.mail(x: "outer") }
                step called = inner.p()
                step w = a.write() after called
                reply called"#
            )
        ))
        .await;
    assert_eq!((ran.reply(), mails(&ran)), (json!(8), vec![json!(8)]));
    assert_eq!(ran.status("called.l[0].told"), "completed");
    assert_eq!(
        ran.calls("a.write")[0].at,
        10,
        "the call ends with its last firing"
    );
    assert_eq!(ran.outcome.tasks.len(), 1);
    assert_eq!(task(&ran, "t").0, "pending");
}

#[tokio::test(start_paused = true)]
async fn r2_1_a_listener_under_a_condition_listens_only_where_it_holds() {
    let ran = run(r#"task t "T" step r = a.read()
        if r == 1 { listener yes on t is done { step told = a.mail(x: "yes") } }
        else { listener no on t is done { step untold = a.mail(x: "no") } }
        set t done after r"#)
    .await;
    assert_eq!(mails(&ran), [json!("yes")]);
}

#[tokio::test(start_paused = true)]
async fn r4_1_waits_that_expired_before_a_message_end_one_after_the_other_as_in_a_replay() {
    let (mut world, log) = with_commands(&[]);
    let text = plan(
        r#"parallel {
             step one = wait for signal "one" within 1h recover expired => a.read()
             step two = wait for signal "two" within 1h
           }"#,
    );
    assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
    world.host.advance(std::time::Duration::from_hours(2));
    log.send(r#"{"signal": "two"}"#);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.read").len()),
        ("expired", 1)
    );
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(seen.class(), "expired");
    assert_eq!(seen.status("one"), ran.status("one"));
}
