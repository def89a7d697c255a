//! `planrun test --replay`: compares a run in the journal with the current plan.

use std::fs;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, Program, folder, planrun};

/// A token that must be redacted, a door that opens on the third attempt, and a mail that may fail.
const APP: &str = "name: desk
tools:
  - name: login
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { pin: { type: string }, user: { type: string } }, required: [pin, user] }
    returns: { type: object, properties: { token: { type: string }, level: { type: integer } }, required: [token, level] }
    sensitive: [pin, result.token, result.level]
    mock: { token: 'tok-{args.user}-5ecret', level: 7 }
  - name: door
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { state: { type: string } }, required: [state] }
    mock:
      - { status: 503, times: 2 }
      - data: { state: open }
  - name: count
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { n: { type: integer } }, required: [n] }
    mock:
      - { data: { n: 1 }, times: 2 }
      - data: { n: 3 }
  - name: badge
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { who: { type: string } }, required: [who] }
    returns: { type: object, properties: { card: { type: string } }, required: [card] }
    mock: { card: 'C-{args.who}' }
  - name: mail
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { to: { type: string }, text: { type: string } }, required: [to, text] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock:
      - { when: { to: nobody }, status: 400 }
      - { when: { to: lost }, status: 504 }
      - { when: { to: slow }, data: { id: late }, delay: 5s }
      - data: { id: 'mail to {args.to}' }
";
const PLAN: &str = "use desk
use sys

plan welcome(people: string[], to: string = \"all\") -> { cards: string[], at: timestamp, mail: string } {
    step entry = desk.login(user: \"reception\", pin: \"pin-0815-s3cret\")
    step now = sys.now()
    step door = desk.door(id: \"north\") retry { attempts: 4, delay: 10ms } after entry
    step counted = desk.count(id: \"north\") until counted.n == 3 every 10ms within 1m
    step cards = each who in people max 10 {
        step card = desk.badge(who: who)
        yield card.card
    } after door
    step mail = desk.mail(to: to, text: \"${size(cards)} cards\") confirm \"Mail?\" within 2s after cards
    reply { cards: cards, at: now, mail: mail.id }
}
";

fn project() -> TempDir {
    folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", APP),
        ("welcome.plan", PLAN),
    ])
}

/// Runs the plan, and asserts this exit code.
fn run(place: &TempDir, arguments: &[&str], status: i32) {
    let program = planrun([
        "run",
        "welcome.plan",
        "--mock",
        "--run-id",
        "first",
        "-i",
        "people=[\"Ada\",\"Bob\"]",
    ]);
    let program = arguments
        .iter()
        .fold(program.within(place.path()), Program::argument);
    let output = program.run();
    assert_eq!(output.status, status, "{output:?}");
}

fn ran() -> TempDir {
    let place = project();
    run(&place, &["--answer", "mail.confirm=true"], 0);
    place
}

fn replay(place: &TempDir) -> Output {
    planrun(["test", "--replay", "first"])
        .within(place.path())
        .run()
}

fn agrees(place: &TempDir, end: &str) {
    let output = replay(place);
    assert_eq!(
        output.stdout,
        format!("the run first and `welcome` agree: {end}\n"),
        "{output:?}"
    );
    assert_eq!(output.status, 0);
}

/// Returns the kinds and paths of the differences, and the document.
fn parts(place: &TempDir) -> (Vec<(String, String)>, Json) {
    let output = planrun(["test", "--replay", "first", "--format", "json"])
        .within(place.path())
        .run();
    assert_eq!(output.status, 1, "{output:?}");
    let document = output.json();
    assert_eq!(document["agree"], false);
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let differences = document["differences"].as_array().unwrap();
    (
        differences
            .iter()
            .map(|one| (text(&one["kind"]), text(&one["path"])))
            .collect(),
        document,
    )
}

/// Returns the only difference.
fn part(place: &TempDir, kind: &str, path: &str) -> Json {
    let (found, document) = parts(place);
    assert_eq!(found, [(kind.to_owned(), path.to_owned())], "{document:#}");
    document["differences"][0].clone()
}

fn edit(place: &TempDir, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(place.path().join(name)).unwrap();
    assert!(text.contains(from), "{from}\n{text}");
    fs::write(place.path().join(name), text.replace(from, to)).unwrap();
}

#[test]
fn an_unchanged_plan_agrees_with_retries_polls_gates_and_moments() {
    let place = ran();
    agrees(&place, "8 steps, the same reply");
    // A change without effect on the meaning is not a difference, nor are the current answers of the mock or a moved
    // line.
    edit(
        &place,
        "welcome.plan",
        "    step now",
        "    // The moment of the reply.\n    step now",
    );
    edit(&place, "desk.yaml", "'C-{args.who}'", "'D-{args.who}'");
    agrees(&place, "8 steps, the same reply");
    let output = planrun(["test", "--replay", "fir", "--format", "json"])
        .within(place.path())
        .run();
    let expected = json!({"version": 1, "run": "first", "plan": "welcome", "file": "welcome.plan", "agree": true, "steps": 8, "differences": []});
    assert_eq!(output.json(), expected);
    fs::create_dir(place.path().join("below")).unwrap();
    let output = planrun(["test", "--replay", "first"])
        .within(place.path().join("below"))
        .run();
    assert_eq!(output.status, 0, "{output:?}");
}

#[test]
fn other_arguments_are_told_with_both_values_and_nothing_else_is() {
    let place = ran();
    edit(
        &place,
        "welcome.plan",
        "${size(cards)} cards",
        "${size(cards)} new cards",
    );
    let found = part(&place, "arguments", "mail");
    assert_eq!(found["expected"], r#"{"to":"all","text":"2 cards"}"#);
    assert_eq!(found["actual"], r#"{"to":"all","text":"2 new cards"}"#);
    assert_eq!((&found["line"], &found["column"]), (&json!(13), &json!(10)));
    let output = replay(&place);
    assert_eq!(output.status, 1);
    assert!(
        output.stdout.contains("error[replay-parts]"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("`mail` calls `desk.mail` with other arguments"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("expected: {\"to\":\"all\",\"text\":\"2 cards\"}"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .ends_with("the run first and `welcome` differ at 1 place\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn steps_that_come_and_go_are_told() {
    let place = ran();
    edit(
        &place,
        "welcome.plan",
        "    reply",
        "    step more = desk.mail(to: \"x\", text: \"y\")\n    reply",
    );
    let found = part(&place, "new", "more");
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .starts_with("`more` calls `desk.mail`"),
        "{found}"
    );
    fs::write(
        place.path().join("welcome.plan"),
        PLAN.replace("    step now", "    step later = wait 1s\n    step now"),
    )
    .unwrap();
    part(&place, "new", "later");
    let without = PLAN
        .lines()
        .filter(|line| !line.contains("step counted"))
        .collect::<Vec<_>>()
        .join("\n");
    fs::write(place.path().join("welcome.plan"), without).unwrap();
    let found = part(&place, "gone", "counted");
    assert_eq!(
        found["message"],
        "`counted` is missing: the original run called `desk.count` there"
    );
}

#[test]
fn effects_in_another_order_are_told_and_reads_are_not() {
    let plan = "use desk

plan welcome(people: string[]) -> string {
    step first = desk.badge(who: people[0])
    step north = desk.count(id: \"north\")
    step south = desk.count(id: \"south\")
    step mail = desk.mail(to: \"all\", text: \"x\")
    step last = desk.badge(who: people[1])
    reply \"${first.card} ${mail.id} ${last.card}\"
}
";
    let place = folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", APP),
        ("welcome.plan", plan),
    ]);
    run(&place, &[], 0);
    agrees(&place, "5 steps, the same reply");
    let order = |order: &[usize]| {
        let mut lines: Vec<&str> = plan.lines().collect();
        let steps: Vec<&str> = order.iter().map(|step| lines[3 + step]).collect();
        lines.splice(3..8, steps);
        fs::write(place.path().join("welcome.plan"), lines.join("\n")).unwrap();
    };
    order(&[0, 2, 1, 3, 4]);
    agrees(&place, "5 steps, the same reply");
    order(&[1, 2, 3, 0, 4]);
    let found = part(&place, "order", "first");
    assert_eq!(
        (&found["expected"], &found["actual"]),
        (&json!("first, mail"), &json!("mail, first"))
    );
    order(&[0, 2, 3, 1, 4]);
    let found = part(&place, "order", "north");
    assert_eq!(
        found["message"],
        "`north` makes its calls after `mail`, and made them before it in the original run"
    );
    order(&[1, 2, 3, 4, 0]);
    part(&place, "order", "first");
}

#[test]
fn effects_of_called_plans_and_of_elements_in_another_order_are_told() {
    let plan = "use desk

plan both(who: string) -> string {
    step card = desk.badge(who: who)
    step mail = desk.mail(to: who, text: \"x\")
    reply mail.id
}

plan welcome(people: string[]) -> string {
    step one = both(who: people[0])
    step all = each who in people max 9 by who {
        step card = desk.badge(who: who)
        step mail = desk.mail(to: who, text: \"x\")
        yield card.card
    }
    reply one + all[0]
}
";
    let place = folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", APP),
        ("welcome.plan", plan),
    ]);
    run(&place, &["--plan", "welcome"], 0);
    agrees(&place, "8 steps, the same reply");
    // The order differences of the plan with this change.
    let moved = |from: &str, to: &str| {
        assert!(plan.contains(from), "{from}");
        fs::write(
            place.path().join("welcome.plan"),
            plan.replacen(from, to, 1),
        )
        .unwrap();
        let (_, document) = parts(&place);
        let found = document["differences"].as_array().unwrap().iter();
        let order = found.filter(|one| one["kind"] == "order");
        order
            .map(|one| one["actual"].clone())
            .collect::<Vec<Json>>()
    };
    let (card, mail) = (
        "    step card = desk.badge(who: who)\n",
        "    step mail = desk.mail(to: who, text: \"x\")\n",
    );
    assert_eq!(
        moved(&format!("{card}{mail}"), &format!("{mail}{card}")),
        [json!("one.mail, one.card")]
    );
    assert_eq!(
        moved("in people max", "in [people[1], people[0]] max"),
        [json!(r#"all["Bob"].mail, all["Ada"].card"#)]
    );
    assert_eq!(
        moved(
            "in people max 9",
            "in [people[1], people[0]] max 9 parallel 2"
        ),
        [json!(null); 0],
        "elements that may run at the same time have no order"
    );
}

#[test]
fn another_guard_reply_policy_and_tool_are_told() {
    let place = ran();
    let change = |from: &str, to: &str| {
        fs::write(place.path().join("welcome.plan"), PLAN).unwrap();
        edit(&place, "welcome.plan", from, to);
    };
    change("cards: cards, at", "cards: [], at");
    let found = part(&place, "reply", "");
    assert!(
        found["expected"]
            .as_str()
            .unwrap()
            .contains(r#""cards":["C-Ada","C-Bob"]"#),
        "{found}"
    );
    assert!(
        found["actual"].as_str().unwrap().contains(r#""cards":[]"#),
        "{found}"
    );
    assert_eq!(found["line"], 14);
    change("within 1m\n", "within 1m when size(people) > 5\n");
    let found = part(&place, "state", "counted");
    assert_eq!(
        (&found["expected"], &found["actual"]),
        (&json!("completed"), &json!("skipped (guard)"))
    );
    change("attempts: 4", "attempts: 2");
    let (found, document) = parts(&place);
    assert!(
        found.contains(&("calls".to_owned(), "door".to_owned())),
        "{document:#}"
    );
    assert!(
        found.contains(&("end".to_owned(), String::new())),
        "{document:#}"
    );
    change(
        "desk.badge(who: who)\n        yield card.card",
        "desk.mail(to: who, text: who)\n        yield card.id",
    );
    let (found, document) = parts(&place);
    assert_eq!(
        found[0],
        ("tool".to_owned(), "cards[0].card".to_owned()),
        "{document:#}"
    );
    assert_eq!(document["differences"][0]["expected"], "desk.badge");
    change("people: string[], to", "persons: string[], to");
    change("each who in people", "each who in [\"Ada\", \"Bob\"]");
    edit(
        &place,
        "welcome.plan",
        "people: string[]",
        "persons: string[]",
    );
    let (found, _) = parts(&place);
    assert_eq!(
        found,
        [
            ("inputs".to_owned(), String::new()),
            ("inputs".to_owned(), String::new())
        ]
    );
}

#[test]
fn another_contract_is_told_where_it_is_called() {
    let place = ran();
    edit(
        &place,
        "desk.yaml",
        "{ card: { type: string } }",
        "{ card: { type: string, minLength: 1 } }",
    );
    let (found, document) = parts(&place);
    let both =
        ["cards[0].card", "cards[1].card"].map(|path| ("contract".to_owned(), path.to_owned()));
    assert_eq!(found, both, "{document:#}");
}

#[test]
fn a_run_that_failed_fails_again_and_no_more_than_that() {
    for (to, steps) in [("nobody", 8), ("lost", 8), ("slow", 8)] {
        let place = project();
        run(
            &place,
            &["--answer", "mail.confirm=true", "-i", &format!("to={to}")],
            1,
        );
        agrees(&place, &format!("{steps} steps, the same failure"));
        edit(
            &place,
            "welcome.plan",
            "within 2s",
            "within 2s recover unknown_outcome, tool => null",
        );
        edit(
            &place,
            "welcome.plan",
            "mail: mail.id",
            "mail: mail?.id ?? \"\"",
        );
        let (found, document) = parts(&place);
        assert!(
            found.contains(&("end".to_owned(), String::new())),
            "{document:#}"
        );
    }
}

#[test]
fn a_refusal_is_said_again_and_a_run_that_waits_waits() {
    let place = project();
    run(&place, &["--answer", "mail.confirm=false"], 1);
    agrees(&place, "8 steps, the same failure");
    let place = project();
    let output = planrun([
        "run",
        "welcome.plan",
        "--mock",
        "--run-id",
        "first",
        "-i",
        "people=[]",
    ])
    .within(place.path())
    .run();
    assert!(output.stderr.contains("runs answer"), "{output:?}");
    agrees(&place, "6 steps, the same end");
}

#[test]
fn forms_and_signals_are_given_again() {
    let place = project();
    let plan = "plan welcome() -> { city: string, go: int } {
    step form = input \"Where?\" -> { city: string, zip: int = 7 }
    step go = wait for signal \"go\" -> int
    reply { city: form.city, go: go }
}
";
    fs::write(place.path().join("welcome.plan"), plan).unwrap();
    let program = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    program(&[
        "run",
        "welcome.plan",
        "--run-id",
        "first",
        "--answer",
        "form={\"city\": \"Oslo\"}",
    ]);
    let output = program(&["runs", "signal", "first", "go=5", "--resume"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.contains("Oslo"), "{output:?}");
    agrees(&place, "2 steps, the same reply");
    edit(&place, "welcome.plan", "go: go }", "go: go + 1 }");
    part(&place, "reply", "");
}

#[test]
fn what_must_not_be_seen_is_compared_and_not_shown() {
    let place = ran();
    edit(
        &place,
        "welcome.plan",
        "\"pin-0815-s3cret\"",
        "\"pin-4711-s3cret\"",
    );
    edit(
        &place,
        "welcome.plan",
        "\"${size(cards)} cards\"",
        "\"${entry.token} ${entry.level}\"",
    );
    let human = replay(&place).stdout;
    let (found, document) = parts(&place);
    let paths: Vec<&str> = found.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["entry", "mail"]);
    assert!(
        document["differences"][0].get("expected").is_none(),
        "{document:#}"
    );
    // The source line in the finding is the author's own text.
    for text in [
        document.to_string(),
        human
            .lines()
            .filter(|line| !line.contains("step entry"))
            .collect(),
    ] {
        for secret in ["0815", "4711", "5ecret"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let place = project();
    let refused = |arguments: &[&str], status: i32, message: &str| {
        let output = planrun(arguments).within(place.path()).run();
        assert_eq!(output.status, status, "{output:?}");
        assert!(
            output.stderr.contains(message),
            "{message}
{output:?}"
        );
    };
    refused(&["test", "--replay", "first"], 3, "there is no journal");
    run(&place, &["--answer", "mail.confirm=true"], 0);
    refused(
        &["test", "--replay", "second"],
        2,
        "`planrun runs list` lists the runs",
    );
    refused(
        &["test", "--replay", "first", "a.plan", "b.plan"],
        2,
        "one plan file",
    );
    refused(
        &["test", "--replay", "first", "--format", "junit"],
        2,
        "only the formats `human` and `json`",
    );
    refused(
        &["test", "--replay", "first", "--seeds", "3"],
        2,
        "cannot be used with",
    );
    let elsewhere = folder([
        ("planrun.yaml", "apps: []\n"),
        ("welcome.plan", "plan welcome() {}\n"),
    ]);
    let other = elsewhere.path().join("welcome.plan");
    refused(
        &["test", "--replay", "first", other.to_str().unwrap()],
        3,
        "there is no journal",
    );
    edit(&place, "welcome.plan", "plan welcome", "plan hello");
    refused(&["test", "--replay", "first"], 2, "has no plan `welcome`");
    edit(&place, "welcome.plan", "reply {", "reply nothing {");
    let output = replay(&place);
    assert_eq!(output.status, 1, "{output:?}");
    fs::rename(
        place.path().join("welcome.plan"),
        place.path().join("moved.plan"),
    )
    .unwrap();
    refused(
        &["test", "--replay", "first"],
        3,
        "does not exist; name the plan file to compare it with",
    );
    fs::write(place.path().join("moved.plan"), PLAN).unwrap();
    let output = planrun(["test", "--replay", "first", "moved.plan"])
        .within(place.path())
        .run();
    assert_eq!(output.status, 0, "{output:?}");
}

const SLOW: &str = "name: slow
tools:
  - name: look
    endpoint: 'http://127.0.0.1:9/tool'
    effect: idempotent
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { n: { type: integer } }, required: [n] }
    mock:
      - { when: { id: b }, status: 400, delay: 60ms }
      - { data: { n: 4 }, delay: 40ms }
  - name: pay
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { n: { type: integer } }, required: [n] }
    mock:
      - { when: { id: c }, status: 400, delay: 70ms }
      - { data: { n: 1 }, delay: 50ms }
";
const SETTLED: &str = "use slow

plan many(xs: string[]) -> int {
    step rs = each x in xs max 20 parallel 3 settle {
        step looked = slow.look(id: x)
        step paid = slow.pay(id: x) when looked.n > 3
        step again = slow.look(id: \"${x}${paid?.n ?? 0}\")
        yield again.n
    }
    reply size(rs)
}
";

/// Runs [`SETTLED`], kills it after each of these times, then resumes it and answers its questions until it ends.
fn killed(place: &TempDir, id: &str, kills: &[u64]) {
    let xs = "xs=[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"]";
    let start =
        || planrun(["run", "many.plan", "--mock", "--run-id", id, "-i", xs]).within(place.path());
    for after in kills {
        start().killed_after(std::time::Duration::from_millis(*after));
    }
    let mut output = start().run();
    while output.status == 4 {
        let inbox = planrun(["runs", "inbox", "--format", "json"])
            .within(place.path())
            .run()
            .json();
        let mut asked = inbox["questions"].as_array().unwrap().iter();
        let Some(asked) = asked.find(|one| one["run"] == id) else {
            // Three processes died without progress.
            output = planrun(["runs", "resume", id, "--again"])
                .within(place.path())
                .run();
            continue;
        };
        let path = asked["path"].as_str().unwrap();
        let answer = format!("{path}={{\"happened\": true, \"value\": {{\"n\": 9}}}}");
        output = planrun(["runs", "answer", id, &answer, "--resume"])
            .within(place.path())
            .run();
    }
    assert_eq!(output.status, 0, "{output:?}");
}

#[test]
fn d4_a_parallel_each_that_was_killed_and_resumed_agrees() {
    let place = folder([
        ("planrun.yaml", "apps: [slow.yaml]\n"),
        ("slow.yaml", SLOW),
        ("many.plan", SETTLED),
    ]);
    for (number, kills) in [&[90][..], &[150], &[200, 60], &[120, 120, 120]]
        .iter()
        .enumerate()
    {
        let id = format!("run-{number}");
        killed(&place, &id, kills);
        let output = planrun(["test", "--replay", &id])
            .within(place.path())
            .run();
        assert_eq!(output.status, 0, "{kills:?}\n{output:?}");
        assert!(
            output.stdout.ends_with("steps, the same reply\n"),
            "{kills:?}\n{output:?}"
        );
    }
    // Only the change is reported.
    edit(&place, "many.plan", "reply size(rs)", "reply size(rs) + 1");
    let output = planrun(["test", "--replay", "run-3"])
        .within(place.path())
        .run();
    assert!(
        output.stdout.contains("the reply is different"),
        "{output:?}"
    );
    assert!(output.stdout.ends_with("differ at 1 place\n"), "{output:?}");
}

#[test]
fn d4_a_run_whose_process_died_for_good_agrees() {
    let place = folder([
        ("planrun.yaml", "apps: [slow.yaml]\n"),
        ("slow.yaml", SLOW),
        ("many.plan", SETTLED),
    ]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.args([
        "run",
        "many.plan",
        "--mock",
        "--run-id",
        "dead",
        "-i",
        "xs=[\"a\",\"b\",\"c\",\"d\"]",
    ]);
    let mut child = command
        .current_dir(place.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let events = || {
        planrun(["runs", "events", "dead"])
            .within(place.path())
            .run()
            .stdout
    };
    while !events().contains("slow.pay") {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = planrun(["test", "--replay", "dead"])
        .within(place.path())
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.ends_with("the same end\n"), "{output:?}");
}

#[test]
fn d4_a_tool_item_over_an_app_tool_has_its_own_contract() {
    let place = ran();
    let item = "use sys\n\ntool desk.badge(who: string) -> { card: string } effect\n";
    fs::write(
        place.path().join("welcome.plan"),
        PLAN.replace("use sys\n", item),
    )
    .unwrap();
    let again = ["--run-id", "second", "--answer", "mail.confirm=true"];
    let program =
        planrun(["run", "welcome.plan", "--mock", "-i", "people=[\"Ada\"]"]).within(place.path());
    let output = again
        .into_iter()
        .fold(program, super::support::Program::argument)
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    let output = planrun(["test", "--replay", "second"])
        .within(place.path())
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    // The item itself is the contract of the tool.
    edit(
        &place,
        "welcome.plan",
        "{ card: string } effect",
        "{ card: string, more?: string } effect",
    );
    let output = planrun(["test", "--replay", "second", "--format", "json"])
        .within(place.path())
        .run();
    assert_eq!(
        output.json()["differences"][0]["kind"],
        "contract",
        "{output:?}"
    );
}

const ASKED: &str = "plan welcome(people: string[]) -> string {
    task job \"Job\" { n: int }
    step name = input \"Who?\" -> { who: string } by \"desk\"
    step mail = desk.mail(to: name.who, text: \"Hello\") confirm \"Mail ${name.who}?\" by \"desk\"
    set job running { n: 7 }
    reply mail.id
}
";

#[test]
fn other_questions_and_tasks_are_told() {
    let place = project();
    let write = |text: &str| {
        let text = format!("use desk\n\n{text}");
        fs::write(place.path().join("welcome.plan"), text).unwrap();
    };
    write(ASKED);
    let answers = [
        "--answer",
        "name={\"who\":\"kim\"}",
        "--answer",
        "mail.confirm=true",
        "--by",
        "desk",
    ];
    run(&place, &answers, 0);
    agrees(&place, "2 steps, the same reply");
    let edits = [
        (" confirm \"Mail ${name.who}?\" by \"desk\"", "", "question"),
        ("Mail ${name.who}?", "Delete ${name.who}?", "question"),
        ("\"Who?\"", "\"Whom?\"", "question"),
        ("set job running", "set job done", "task"),
        ("n: 7", "n: 8", "task"),
        ("    set job running { n: 7 }\n", "", "task"),
    ];
    for (from, to, kind) in edits {
        let edited = ASKED.replace(from, to);
        assert_ne!(edited, ASKED);
        write(&edited);
        let (found, _) = parts(&place);
        let path = match (kind, from) {
            ("task", _) => "job",
            (_, "\"Who?\"") => "name",
            _ => "mail",
        };
        assert_eq!(found, [(kind.to_owned(), path.to_owned())], "{to}");
    }
}
