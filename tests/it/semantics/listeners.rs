//! Plans of tasks and listeners as people write them: the statements S3-6 to S3-24 and S3-32b that need nobody's answer.

use planrun::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::Script::{self, Fail};
use crate::world::{Ran, World, after, give};
use planrun::protocol::Sent::{Answered, No};

/// Onboarding as a net of tasks: every listener moves the next task with what its tool gave.
const ONBOARDING: &str = r#"
use hr, access, it, inventory, mail
tool hr.create(name: string) -> { emp_id: string, level: string } idempotent
tool access.grant(emp_id: string) -> { card: string } idempotent fails down
tool it.apply(emp_id: string, level: string) -> { model: string } idempotent
tool inventory.outbound(model: string) -> int effect
tool inventory.status(number: int) -> string read
tool mail.send(to: string, body: string) -> string effect

plan onboarding(name: string) -> { welcome: string } {
    policy { retry: { attempts: 3, delay: 10ms, jitter: none } }
    task main "Onboarding" statuses [started, running, done, failed] { problem: string? }
    task registered "In HR" { emp_id: string, level: string }
    task admitted "Has a card" { card: string }
    task equipped "Has a computer" statuses [wanted, ordered, done] { model: string, number: int }
    task welcomed "Was told" { message: string }
    task idle "Nobody moves it"

    listener register on main is running {
        step created = hr.create(name: name)
        set registered done { emp_id: created.emp_id, level: created.level }
    }
    listener admit on registered is done as person {
        step card = access.grant(emp_id: person.emp_id)
        set admitted done { card: card.card }
    }
    listener order on registered is done as person {
        step pc = it.apply(emp_id: person.emp_id, level: person.level)
        step number = inventory.outbound(model: pc.model)
        set equipped ordered { model: pc.model, number: number }
    }
    listener poll on equipped is ordered as ordered max 5 {
        step status = inventory.status(number: ordered.number)
        set equipped done { model: ordered.model, number: ordered.number } when status == "out"
        set equipped ordered { model: ordered.model, number: ordered.number } when status != "out"
    }
    listener welcome on admitted is done && equipped is done {
        step sent = mail.send(to: name, body: "Card ${admitted.card}")
        set welcomed done { message: sent }
        set main done after sent
    }
    set main running
    step finished = wait for main is done || main is failed
    reply { welcome: "Welcome ${name}" }
}
"#;

fn desks() -> World {
    let one = |json: Json| [after(10, give(json))];
    World::new()
        .tool("hr.create", one(json!({"emp_id": "E1", "level": "L3"})))
        .tool("access.grant", one(json!({"card": "C1"})))
        .tool("it.apply", one(json!({"model": "M3"})))
        .tool("inventory.outbound", one(json!(77)))
        .tool("inventory.status", [give(json!("packed")), give(json!("packed")), give(json!("out"))])
        .tool("mail.send", one(json!("message")))
}

async fn onboard(world: &World) -> Ran {
    let name = planrun::value::Value::from("Will");
    world.run_with(ONBOARDING, [("name".into(), name)].into_iter().collect()).await
}

fn status<'r>(ran: &'r Ran, name: &str) -> &'r str {
    &ran.outcome.tasks.iter().find(|task| &*task.name == name).unwrap().status
}

fn attempts(tool: &str, scripts: impl IntoIterator<Item = Script>) -> World {
    desks().tool(tool, scripts)
}

#[tokio::test(start_paused = true)]
async fn s3_6_tasks_begin_in_their_first_status_and_the_trace_says_why_they_moved() {
    let ran = onboard(&desks()).await;
    for task in &ran.outcome.tasks {
        assert_eq!(&*task.trace[0].reason, "started", "{}", task.name);
    }
    let main = &ran.outcome.tasks[0];
    let moves = main.trace.iter().map(|moved| (&*moved.status, &*moved.reason)).collect::<Vec<_>>();
    assert_eq!(moves, [("started", "started"), ("running", "set"), ("done", "welcome[0]")]);
}

#[tokio::test(start_paused = true)]
async fn s3_7_the_happy_path_completes_and_a_task_that_nobody_moves_holds_nothing_up() {
    let ran = onboard(&desks()).await;
    assert_eq!(ran.reply(), json!({"welcome": "Welcome Will"}), "{:?}", ran.outcome.error);
    let order = ran.order();
    assert_eq!(order[0], "hr.create");
    assert_eq!(order.last(), Some(&"mail.send"));
    let place = |tool: &str| order.iter().position(|called| *called == tool).unwrap();
    assert!(place("it.apply") < place("inventory.outbound"));
    for done in ["main", "registered", "admitted", "equipped", "welcomed"] {
        assert_eq!(status(&ran, done), "done");
    }
    assert_eq!(status(&ran, "idle"), "pending");
}

#[tokio::test(start_paused = true)]
async fn s3_8_the_join_fires_once_though_both_tasks_change() {
    let ran = onboard(&desks()).await;
    assert_eq!(ran.calls("mail.send").len(), 1);
    assert_eq!(ran.calls("mail.send")[0].arguments["body"], "Card C1", "a value of a result, not a text in braces");
}

#[tokio::test(start_paused = true)]
async fn s3_11_status_and_context_are_there_together() {
    let ran = onboard(&desks()).await;
    assert_eq!(ran.calls("access.grant")[0].arguments, json!({"emp_id": "E1"}));
    assert_eq!(ran.calls("it.apply")[0].arguments, json!({"emp_id": "E1", "level": "L3"}));
}

#[tokio::test(start_paused = true)]
async fn s3_12_s3_16_a_task_that_only_others_move_pauses_the_run_and_moving_it_fires_listeners() {
    let text = r#"
use mail
tool mail.send(to: string, body: string) -> string effect
plan p() -> string {
    task main "Main" { by: string } external
    listener told on main is done as e { step sent = mail.send(to: "a", body: e.by ?? "nobody") }
    step end = wait for main is done || main is failed
    reply "over"
}"#;
    let mut world = desks();
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let ran = world.run(text).await;
    assert_eq!((ran.outcome.state.name(), status(&ran, "main")), ("paused", "pending"));
    log.say(&json!({"task": "main", "status": "done", "context": {"by": "me"}}).to_string());
    let ran = world.run(text).await;
    assert_eq!((ran.outcome.state.name(), ran.reply()), ("completed", json!("over")));
    assert_eq!(ran.calls("mail.send")[0].arguments["body"], "me");
}

#[tokio::test(start_paused = true)]
async fn s3_17_s3_21_attempts_are_made_at_once_and_only_at_what_failed() {
    let down = || Fail("transient.unavailable", No);
    let ran = onboard(&attempts("access.grant", [down(), down(), give(json!({"card": "C9"}))])).await;
    assert_eq!((ran.outcome.state.name(), ran.calls("access.grant").len()), ("completed", 3));
    for once in ["hr.create", "it.apply", "inventory.outbound", "mail.send"] {
        assert_eq!(ran.calls(once).len(), 1, "{once}");
    }
}

#[tokio::test(start_paused = true)]
async fn s3_18_a_listener_that_fails_fails_the_run_and_says_where() {
    let ran = onboard(&attempts("access.grant", [Fail("tool.down", Answered)])).await;
    assert_eq!((ran.outcome.state.name(), ran.class().as_str()), ("failed", "tool.down"));
    let error = ran.outcome.error.as_ref().unwrap();
    assert_eq!((&*error.step, &*error.cause.as_ref().unwrap().step), ("admit[0]", "admit[0].card"));
    assert_eq!((ran.calls("mail.send").len(), status(&ran, "main")), (0, "running"));
}

#[tokio::test(start_paused = true)]
async fn s3_19_a_listener_that_says_what_failure_means_moves_a_task_instead() {
    let card = "step card = access.grant(emp_id: person.emp_id)";
    let instead = format!(
        "{card} recover tool as e => null
        set main failed {{ problem: \"no card\" }} when card == null"
    );
    let text = ONBOARDING
        .replace(card, &instead)
        .replace("{ card: card.card }", "{ card: card?.card ?? \"\" } when card != null");
    let name = planrun::value::Value::from("Will");
    let world = attempts("access.grant", [Fail("tool.down", Answered)]);
    let ran = world.run_with(&text, [("name".into(), name)].into_iter().collect()).await;
    assert_eq!((ran.outcome.state.name(), status(&ran, "main")), ("completed", "failed"), "{:?}", ran.outcome.error);
    assert_eq!(ran.outcome.tasks[0].context.to_json(), json!({"problem": "no card"}));
    assert_eq!((ran.calls("access.grant").len(), ran.calls("mail.send").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn s3_32b_a_task_that_is_set_to_the_status_it_has_is_polled_until_it_moves_on() {
    let ran = onboard(&desks()).await;
    let poll = ran.outcome.listeners.iter().find(|listener| &*listener.path == "poll").unwrap();
    assert_eq!((poll.fired, poll.surplus, ran.calls("inventory.status").len()), (3, 0, 3));
    let ran = onboard(&attempts("inventory.status", [give(json!("packed"))])).await;
    let poll = ran.outcome.listeners.iter().find(|listener| &*listener.path == "poll").unwrap();
    assert_eq!((poll.fired, poll.surplus), (5, 1), "polling is bounded");
    assert_eq!(ran.outcome.state.name(), "stalled");
    let error = ran.outcome.error.as_ref().unwrap();
    assert!(error.message.contains("`finished` waits for `main is done || main is failed`"), "{}", error.message);
}
