//! Realistic plans with tasks and listeners: the statements S3-6 to S3-27 and S3-32b, against scripted tools.
//! `hiring.rs` tests those about processes and the mock.

use planrun_core::run::ListenerReport;
use planrun_lang::value::Value;
use planrun_runs::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::Script::{self, Fail};
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, No};

/// Onboarding as a network of tasks: every listener moves the next task with the result of its tool.
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
        .tool(
            "inventory.status",
            [
                give(json!("packed")),
                give(json!("packed")),
                give(json!("out")),
            ],
        )
        .tool("mail.send", one(json!("message")))
}

async fn onboard(world: &World) -> Ran {
    onboard_as(world, ONBOARDING).await
}

async fn onboard_as(world: &World, text: &str) -> Ran {
    world
        .run_with(
            text,
            [("name".into(), Value::from("Will"))].into_iter().collect(),
        )
        .await
}

/// Runs the onboarding with more statements before its reply.
async fn with_more(world: &World, more: &str) -> Ran {
    onboard_as(
        world,
        &ONBOARDING.replace("    reply {", &format!("    {more}\n    reply {{")),
    )
    .await
}

fn listener<'r>(ran: &'r Ran, path: &str) -> &'r ListenerReport {
    ran.outcome
        .listeners
        .iter()
        .find(|listener| &*listener.path == path)
        .unwrap()
}

fn failing() -> Script {
    Fail("tool.down", Answered)
}

fn status<'r>(ran: &'r Ran, name: &str) -> &'r str {
    &ran.outcome
        .tasks
        .iter()
        .find(|task| &*task.name == name)
        .unwrap()
        .status
}

fn attempts(tool: &str, scripts: impl IntoIterator<Item = Script>) -> World {
    desks().tool(tool, scripts)
}

#[tokio::test(start_paused = true)]
async fn s3_6_tasks_begin_in_their_first_status_and_the_trace_says_why_they_moved() {
    let ran = onboard(&desks()).await;
    for task in &ran.outcome.tasks {
        let first = if &*task.name == "main" {
            "started"
        } else {
            "pending"
        };
        let first = if &*task.name == "equipped" {
            "wanted"
        } else {
            first
        };
        assert_eq!(
            (&*task.trace[0].status, &*task.trace[0].reason),
            (first, "initialized"),
            "{}",
            task.name
        );
    }
    let main = &ran.outcome.tasks[0];
    let moves = main
        .trace
        .iter()
        .map(|moved| (&*moved.status, &*moved.reason))
        .collect::<Vec<_>>();
    assert_eq!(
        moves,
        [
            ("started", "initialized"),
            ("running", "set"),
            ("done", "welcome[0]")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn s3_7_the_happy_path_completes_and_a_task_that_nobody_moves_holds_nothing_up() {
    let ran = onboard(&desks()).await;
    assert_eq!(
        ran.reply(),
        json!({"welcome": "Welcome Will"}),
        "{:?}",
        ran.outcome.error
    );
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
    assert_eq!(
        ran.calls("mail.send")[0].arguments["body"],
        "Card C1",
        "a value of a result, not a text in braces"
    );
}

#[tokio::test(start_paused = true)]
async fn s3_9_a_change_of_a_task_that_a_listener_does_not_name_is_nothing_to_it() {
    // Its condition holds from start to end, and `idle` never moves.
    let more = r#"listener deaf on idle is pending max 9 {
        step told = mail.send(to: "deaf", body: "x")
    }
    set main running after finished"#;
    let ran = with_more(&desks(), more).await;
    let idle_listener = listener(&ran, "deaf");
    assert_eq!(
        (idle_listener.fired, idle_listener.surplus),
        (1, 0),
        "at the start, which is an event of every task"
    );
    assert_eq!(
        ran.outcome.tasks[0].trace.len(),
        4,
        "and `main` moved three times"
    );
}

#[tokio::test(start_paused = true)]
async fn s3_10_a_listener_fires_once_and_a_resume_repeats_the_firing_that_failed() {
    let ran = with_more(&desks(), "set main running after finished").await;
    let register = listener(&ran, "register");
    assert_eq!(
        (
            register.fired,
            register.surplus,
            ran.calls("hr.create").len()
        ),
        (1, 1, 1)
    );
    let mut world = attempts(
        "access.grant",
        [failing(), failing(), give(json!({"card": "C9"}))],
    );
    world.journal = Some(MemoryLog::default());
    let text = ONBOARDING.replace("policy { retry", "policy { on_failure: pause, retry");
    let mut states = Vec::new();
    for _ in 0..3 {
        let ran = onboard_as(&world, &text).await;
        let admit = listener(&ran, "admit");
        states.push((
            ran.outcome.state.name(),
            admit.fired,
            admit.surplus,
            ran.calls("access.grant").len(),
        ));
    }
    assert_eq!(
        states,
        [
            ("paused", 1, 0, 1),
            ("paused", 1, 0, 2),
            ("completed", 1, 0, 3)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn s3_11_status_and_context_are_there_together() {
    let ran = onboard(&desks()).await;
    assert_eq!(
        ran.calls("access.grant")[0].arguments,
        json!({"emp_id": "E1"})
    );
    assert_eq!(
        ran.calls("it.apply")[0].arguments,
        json!({"emp_id": "E1", "level": "L3"})
    );
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
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "main")),
        ("paused", "pending")
    );
    log.send(&json!({"task": "main", "status": "done", "context": {"by": "me"}}).to_string());
    let ran = world.run(text).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("completed", json!("over"))
    );
    assert_eq!(ran.calls("mail.send")[0].arguments["body"], "me");
}

#[tokio::test(start_paused = true)]
async fn s3_12_without_listeners_only_somebody_outside_ends_it_and_nothing_is_left_to_look_at() {
    let text = r#"
plan p() -> string {
    task main "Main" external
    step end = wait for main is done
    reply "over"
}"#;
    let mut world = desks();
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    for _ in 0..2 {
        let ran = world.run(text).await;
        assert_eq!(
            (ran.outcome.state.name(), status(&ran, "main")),
            ("paused", "pending")
        );
    }
    log.send(&json!({"task": "main", "status": "done"}).to_string());
    let ran = world.run(text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "main"), ran.reply()),
        ("completed", "done", json!("over"))
    );
    assert_eq!(
        (
            ran.outcome.verification().checks.len(),
            ran.outcome.verification().failed
        ),
        (0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_13_a_listener_that_only_computes_moves_several_tasks_and_its_error_is_a_failure() {
    let more = r#"task sorted "Sorted" { first: string, rest: int } task counted "Counted" { n: int }
    listener compute on admitted is done as person {
        let letters = person.card.split("")
        set sorted done { first: letters[0], rest: size(letters) - 1 }
        set counted done { n: 10 / (size(letters) - 2) }
    }"#;
    let card = |card: &str| attempts("access.grant", [give(json!({ "card": card }))]);
    let ran = with_more(&card("Card"), more).await;
    let context = |ran: &Ran, name: &str| {
        let task = ran
            .outcome
            .tasks
            .iter()
            .find(|task| &*task.name == name)
            .unwrap();
        task.context.to_json()
    };
    assert_eq!(
        context(&ran, "sorted"),
        json!({"first": "C", "rest": 3}),
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(context(&ran, "counted"), json!({"n": 5}));
    let ran = with_more(&card("C1"), more).await;
    let error = ran.outcome.error.as_ref().unwrap();
    assert_eq!(
        (ran.outcome.state.name(), ran.class().as_str()),
        ("failed", "validation.expression")
    );
    assert!(error.step.starts_with("compute[0]"), "{error:?}");
    assert_eq!(
        (status(&ran, "sorted"), status(&ran, "counted")),
        ("done", "failed")
    );
}

#[tokio::test(start_paused = true)]
async fn s3_14_a_result_that_says_it_did_not_work_is_no_success() {
    let card = "step card = access.grant(emp_id: person.emp_id)";
    let judged = format!("{card} fail tool.down \"no card\" when card.card == \"none\"");
    let moved = "set admitted done { card: card.card }";
    let instead = format!(
        "{card} set admitted failed {{ card: card.card }} when card.card == \"none\"
         set main failed {{ problem: \"no card\" }} when card.card == \"none\"
         {moved} when card.card != \"none\""
    );
    let none = || attempts("access.grant", [give(json!({"card": "none"}))]);
    let ran = onboard_as(&none(), &ONBOARDING.replace(card, &judged)).await;
    assert_eq!(
        (ran.class().as_str(), status(&ran, "admitted")),
        ("tool.down", "failed")
    );
    let text = ONBOARDING.replace(card, "").replace(moved, &instead);
    let ran = onboard_as(&none(), &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "admitted")),
        ("completed", "failed"),
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(
        (status(&ran, "main"), ran.calls("mail.send").len()),
        ("failed", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_17_s3_21_attempts_are_made_at_once_and_only_at_what_failed() {
    let down = || Fail("transient.unavailable", No);
    let ran = onboard(&attempts(
        "access.grant",
        [down(), down(), give(json!({"card": "C9"}))],
    ))
    .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("access.grant").len()),
        ("completed", 3)
    );
    for once in ["hr.create", "it.apply", "inventory.outbound", "mail.send"] {
        assert_eq!(ran.calls(once).len(), 1, "{once}");
    }
    let ran = onboard(&attempts("access.grant", [down()])).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("access.grant").len()),
        ("transient.unavailable", 3)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_18_a_listener_that_fails_fails_the_run_and_says_where() {
    let ran = onboard(&attempts("access.grant", [Fail("tool.down", Answered)])).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.class().as_str()),
        ("failed", "tool.down")
    );
    let error = ran.outcome.error.as_ref().unwrap();
    assert_eq!(
        (&*error.step, &*error.cause.as_ref().unwrap().step),
        ("admit[0]", "admit[0].card")
    );
    assert_eq!(
        (ran.calls("mail.send").len(), status(&ran, "main")),
        (0, "running")
    );
}

#[tokio::test(start_paused = true)]
async fn s3_19_a_listener_that_says_what_failure_means_moves_a_task_instead() {
    let card = "step card = access.grant(emp_id: person.emp_id)";
    let instead = format!(
        "{card} recover tool as e => null
        set main failed {{ problem: \"no card\" }} when card == null"
    );
    let text = ONBOARDING.replace(card, &instead).replace(
        "{ card: card.card }",
        "{ card: card?.card ?? \"\" } when card != null",
    );
    let ran = onboard_as(&attempts("access.grant", [failing()]), &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "main")),
        ("completed", "failed"),
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(
        ran.outcome.tasks[0].context.to_json(),
        json!({"problem": "no card"})
    );
    assert_eq!(
        (
            ran.calls("access.grant").len(),
            ran.calls("mail.send").len()
        ),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_20_a_failed_listener_is_done_again_by_itself_and_what_has_completed_is_not() {
    let mut world = attempts(
        "access.grant",
        [failing(), failing(), give(json!({"card": "C9"}))],
    );
    world.journal = Some(MemoryLog::default());
    let text = ONBOARDING.replace("policy { retry", "policy { on_failure: pause, retry");
    let paused = onboard_as(&world, &text).await;
    assert_eq!(
        (paused.outcome.state.name(), status(&paused, "main")),
        ("paused", "running")
    );
    assert_eq!(
        (status(&paused, "registered"), status(&paused, "admitted")),
        ("done", "failed")
    );
    let paused = onboard_as(&world, &text).await;
    let ran = onboard_as(&world, &text).await;
    assert_eq!(
        (paused.outcome.state.name(), ran.outcome.state.name()),
        ("paused", "completed")
    );
    for once in ["hr.create", "it.apply", "inventory.outbound", "mail.send"] {
        assert_eq!(ran.calls(once).len(), 1, "{once}");
    }
    assert_eq!(
        (
            ran.calls("access.grant").len(),
            ran.calls("mail.send")[0].arguments["body"].clone()
        ),
        (3, json!("Card C9"))
    );
}

/// Returns the moves of a task: status and reason.
fn moves(ran: &Ran, name: &str) -> Vec<(String, String)> {
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

fn owned(moves: &[(&str, &str)]) -> Vec<(String, String)> {
    moves
        .iter()
        .map(|(status, reason)| ((*status).to_owned(), (*reason).to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn s3_18_a_task_whose_work_has_failed_has_failed_with_it() {
    let more = "listener sorry on admitted is failed { step told = mail.send(to: name, body: \"no card\") }";
    let ran = with_more(&attempts("access.grant", [failing()]), more).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.class().as_str()),
        ("failed", "tool.down")
    );
    assert_eq!(
        moves(&ran, "admitted"),
        owned(&[("pending", "initialized"), ("failed", "admit[0]")])
    );
    let admitted = ran
        .outcome
        .tasks
        .iter()
        .find(|task| &*task.name == "admitted")
        .unwrap();
    let error = admitted.trace[1].error.as_ref().unwrap().to_json();
    assert_eq!(
        (&error["class"], &error["step"]),
        (&json!("tool.down"), &json!("admit[0].card")),
        "{error}"
    );
    assert_eq!(
        (status(&ran, "registered"), status(&ran, "main")),
        ("done", "running"),
        "others stay as they are"
    );
    assert_eq!(
        ran.calls("mail.send").len(),
        1,
        "and who listens hears of it"
    );
    assert_eq!(ran.calls("mail.send")[0].arguments["body"], "no card");
}

#[tokio::test(start_paused = true)]
async fn s3_18_only_what_the_work_would_have_set_fails_and_only_once() {
    // `equipped` has no status `failed`; `main` is set to it elsewhere; `registered` has ended before.
    let text = ONBOARDING
        .replace(
            "set main done after sent",
            "set main done after sent set main failed { problem: \"no\" } when sent == \"\"",
        )
        .replace(
            "set admitted done { card: card.card }",
            "set admitted done { card: card.card } set registered running after card",
        );
    let ran = onboard_as(&attempts("access.grant", [failing()]), &text).await;
    let others = ["main", "registered", "equipped", "welcomed", "idle"];
    assert_eq!(
        others.map(|task| status(&ran, task)),
        ["running", "done", "done", "pending", "pending"]
    );
    assert_eq!(status(&ran, "admitted"), "failed");
    // If the failure of the call in the listener is recovered, nothing fails.
    let caught = ONBOARDING.replace(
        "access.grant(emp_id: person.emp_id)",
        "access.grant(emp_id: person.emp_id) recover tool => { card: \"none\" }",
    );
    let ran = onboard_as(&attempts("access.grant", [failing()]), &caught).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "admitted")),
        ("completed", "done")
    );
}

#[tokio::test(start_paused = true)]
async fn s3_19_what_a_set_in_an_arm_was_for_is_told_and_the_run_can_be_gone_on_with() {
    let card = "step card = access.grant(emp_id: person.emp_id)";
    let instead = format!(
        "{card} recover tool as e => do {{
            set main failed {{ problem: e.message }}
            fail tool.down \"no card\"
        }}"
    );
    let text = ONBOARDING
        .replace(card, &instead)
        .replace("policy { retry", "policy { on_failure: pause, retry");
    let text = text.replace(
        "wait for main is done || main is failed",
        "wait for main is done",
    );
    let mut world = attempts("access.grant", [failing(), give(json!({"card": "C9"}))]);
    world.journal = Some(MemoryLog::default());
    let ran = onboard_as(&world, &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "main")),
        ("paused", "failed"),
        "{:?}",
        ran.outcome.error
    );
    let main = &ran.outcome.tasks[0];
    let moved = main.trace.last().unwrap();
    assert_eq!(
        (
            &*moved.reason,
            &moved.error.as_ref().unwrap().to_json()["class"]
        ),
        ("admit[0]", &json!("tool.down"))
    );
    let ran = onboard_as(&world, &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "main")),
        ("completed", "done"),
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(
        (
            ran.calls("access.grant").len(),
            ran.calls("hr.create").len()
        ),
        (2, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_20_a_task_that_failed_with_its_work_is_taken_up_again_with_it() {
    let mut world = attempts(
        "access.grant",
        [failing(), failing(), give(json!({"card": "C9"}))],
    );
    world.journal = Some(MemoryLog::default());
    let text = ONBOARDING.replace("policy { retry", "policy { on_failure: pause, retry");
    // Resetting the task is not an event, so a listener for `pending` does not fire.
    let text = text.replace(
        "    reply {",
        "    listener early on admitted is pending max 9 { step told = mail.send(to: \"early\", body: \"x\") }\n    reply {",
    );
    let ran = onboard_as(&world, &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "admitted")),
        ("paused", "failed"),
        "{:?}",
        ran.outcome.error
    );
    onboard_as(&world, &text).await;
    let ran = onboard_as(&world, &text).await;
    assert_eq!(
        (ran.outcome.state.name(), status(&ran, "admitted")),
        ("completed", "done"),
        "{:?}",
        ran.outcome.error
    );
    let failed = ("failed", "admit[0]");
    let expected = [
        ("pending", "initialized"),
        failed,
        ("pending", "retried"),
        failed,
        ("pending", "retried"),
        ("done", "admit[0]"),
    ];
    assert_eq!(moves(&ran, "admitted"), owned(&expected));
    assert_eq!(
        (listener(&ran, "early").fired, ran.calls("hr.create").len()),
        (1, 1)
    );
    // A process that only replays the journal sees the same.
    world.replay_only = true;
    let seen = onboard_as(&world, &text).await;
    assert_eq!(moves(&seen, "admitted"), owned(&expected));
}

/// A form with known fields, and then one for the fields that the first answer left empty.
const ENQUIRY: &str = r#"
use crm
tool crm.create(phone: string, region: string) -> string effect

plan enquiry(phone?: string, region?: string) -> string {
    step first = input "Who are you?" -> { phone: string? known phone, region: string? known region }
    step rest = input "What is still missing?" -> { phone: string known first.phone, region: string known first.region }
    step contact = crm.create(phone: rest.phone, region: rest.region)
    reply contact
}
"#;

#[tokio::test(start_paused = true)]
async fn s3_25_s3_26_each_form_asks_only_for_what_is_still_missing_and_nothing_is_called_before() {
    let mut world = World::new().tool("crm.create", [give(json!("K1"))]);
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let asked = |ran: &Ran| {
        assert_eq!(
            (ran.outcome.state.name(), ran.calls("crm.create").len()),
            ("paused", 0),
            "{:?}",
            ran.outcome.error
        );
        let (path, question) = &ran.outcome.questions[0];
        let fields = question
            .form
            .iter()
            .map(|field| field.name.to_string())
            .collect::<Vec<_>>();
        (path.to_string(), fields)
    };
    let both = || vec!["phone".to_owned(), "region".to_owned()];
    let ran = world.run(ENQUIRY).await;
    assert_eq!(asked(&ran), ("first".to_owned(), both()));
    log.send(&json!({"answer": "first", "value": {"region": "North"}}).to_string());
    let ran = world.run(ENQUIRY).await;
    assert_eq!(asked(&ran), ("rest".to_owned(), vec!["phone".to_owned()]));
    log.send(&json!({"answer": "rest", "value": {"phone": "1"}}).to_string());
    let ran = world.run(ENQUIRY).await;
    assert_eq!(
        (ran.reply(), ran.calls("crm.create")[0].arguments.clone()),
        (json!("K1"), json!({"phone": "1", "region": "North"}))
    );
}

#[tokio::test(start_paused = true)]
async fn s3_27_choices_come_from_the_first_that_has_some() {
    const TEXT: &str = r#"
use own, other
tool own.options() -> string[] read fails none
tool other.options() -> string[] read fails none

plan p() -> string {
    step near = own.options() recover tool => []
    step far = other.options() when size(near) == 0 recover tool => []
    let options = size(near) > 0 ? near : size(far ?? []) > 0 ? far ?? [] : ["post"]
    step form = input "How?" -> { way: string in options }
    reply form.way
}
"#;
    let options = |list: &[&str]| [give(json!(list))];
    let none = || [Fail("tool.none", Answered)];
    for (own, other, expected, asked) in [
        (
            options(&["mail", "phone"]),
            options(&["fax"]),
            json!(["mail", "phone"]),
            0,
        ),
        (none(), options(&["fax"]), json!(["fax"]), 1),
        (none(), none(), json!(["post"]), 1),
    ] {
        let mut world = World::new()
            .tool("own.options", own)
            .tool("other.options", other);
        world.journal = Some(MemoryLog::default());
        let ran = world.run(TEXT).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.calls("other.options").len()),
            ("paused", asked)
        );
        let offered = ran.outcome.questions[0].1.form[0].options.clone();
        assert_eq!(json!(offered), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn s3_27_a_choice_without_any_option_fails_instead_of_asking_what_nobody_can_answer() {
    let text = |ty: &str| {
        format!(
            "use own
tool own.options() -> string[] read
plan p() -> string? {{
    step near = own.options()
    step form = input \"How?\" -> {{ way: {ty} in near }} recover validation.expression as e => {{ way: e.message }}
    reply form.way
}}"
        )
    };
    let world = || {
        let mut world = World::new().tool("own.options", [give(json!([]))]);
        world.journal = Some(MemoryLog::default());
        world
    };
    let ran = world().run(&text("string")).await;
    let fault = "`way` has no options: the list after `in` is empty";
    assert_eq!(
        (ran.reply(), ran.outcome.questions.len()),
        (json!(fault), 0)
    );
    // An optional field without choices can be answered.
    let ran = world().run(&text("string?")).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.outcome.questions.len()),
        ("paused", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_32b_a_task_that_is_set_to_the_status_it_has_is_polled_until_it_moves_on() {
    let ran = onboard(&desks()).await;
    let poll = listener(&ran, "poll");
    assert_eq!(
        (
            poll.fired,
            poll.surplus,
            ran.calls("inventory.status").len()
        ),
        (3, 0, 3)
    );
    let ran = onboard(&attempts("inventory.status", [give(json!("packed"))])).await;
    let poll = listener(&ran, "poll");
    assert_eq!((poll.fired, poll.surplus), (5, 1), "polling is bounded");
    assert_eq!(ran.outcome.state.name(), "stalled");
    let error = ran.outcome.error.as_ref().unwrap();
    assert!(
        error
            .message
            .contains("`finished` waits for `main is done || main is failed`"),
        "{}",
        error.message
    );
}
