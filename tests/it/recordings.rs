//! `planrun test --record`: the answers of real tools are stored next to the plan, and replayed without calls.

use std::fs;

use tempfile::TempDir;

use crate::support::{Mock, Output, folder, planrun};

/// Two systems: the mock answers a badge late and a mail immediately, with a token that must be redacted.
const APP: &str = "name: desk
tools:
  - name: badge
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { who: { type: string } }, required: [who] }
    returns: { type: object, properties: { card: { type: string }, zones: { type: integer } }, required: [card, zones] }
    mock:
      - when: { who: Bob }
        data: { card: 'B-{args.who}', zones: 1 }
      - data: { card: 'C-{args.who}', zones: 3 }
        delay: 40ms
  - name: login
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { pin: { type: string }, user: { type: string } }, required: [pin, user] }
    returns: { type: object, properties: { token: { type: string }, level: { type: integer } }, required: [token, level] }
    sensitive: [pin, result.token, result.level]
    mock: { token: 'tok-{args.user}-5ecret', level: 777123 }
  - name: mail
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { to: { type: string }, text: { type: string } }, required: [to, text] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock: { id: 'mail to {args.to}' }
";
const PLAN: &str = "use desk

plan welcome(people: string[]) -> { cards: string[] } {
    step cards = each who in people max 10 parallel 4 {
        step card = desk.badge(who: who)
        yield card.card
    }
    step mail = desk.mail(to: \"all\", text: \"是 no: \\\"yes\\\"\\n${size(cards)} cards\")
    reply { cards: cards }
}

test \"Everybody gets a card\" for welcome {
    given { people: [\"Ada\", \"Bob\", \"王伟\"] }
    expect reply.cards == [\"C-Ada\", \"B-Bob\", \"C-王伟\"]
}
";
const FILE: &str = "recordings/welcome__everybody_gets_a_card.yaml";

fn project(plan: &str) -> TempDir {
    folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", APP),
        ("welcome.plan", plan),
    ])
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(["test", "welcome.plan"])
        .within(place.path())
        .run_with(arguments)
}

trait RunWith {
    fn run_with(self, arguments: &[&str]) -> Output;
}

impl RunWith for crate::support::Program {
    fn run_with(self, arguments: &[&str]) -> Output {
        arguments
            .iter()
            .fold(self, crate::support::Program::argument)
            .run()
    }
}

fn passes(output: &Output) {
    assert_eq!(output.status, 0, "{output:?}");
}

fn fails(output: &Output, messages: &[&str]) {
    assert_eq!(output.status, 1, "{output:?}");
    // The output is wrapped.
    let text = output
        .stdout
        .replace("\n\n  × ", ": ")
        .replace("\n  │ ", " ")
        .replace("\n        ", " ");
    for message in messages {
        assert!(text.contains(message), "{message}\n{}", output.stdout);
    }
}

fn read(place: &TempDir, name: &str) -> String {
    fs::read_to_string(place.path().join(name)).unwrap()
}

fn edit(place: &TempDir, name: &str, from: &str, to: &str) {
    let text = read(place, name);
    assert!(text.contains(from), "{from}\n{text}");
    fs::write(place.path().join(name), text.replace(from, to)).unwrap();
}

#[test]
fn what_is_recorded_is_given_again_and_nothing_is_called() {
    let place = project(PLAN);
    // Without the flag nothing is called, in CI or not.
    for ci in ["", "true"] {
        let output = planrun(["test"])
            .variable("CI", ci)
            .within(place.path())
            .run();
        fails(
            &output,
            &[
                "error[call-unanswered]",
                "`cards[0].card` calls `desk.badge`",
            ],
        );
    }
    assert!(!place.path().join("recordings").exists());
    fails(
        &run(&place, &["--record", "none"]),
        &["error[call-unanswered]"],
    );
    let output = run(&place, &["--record", "once", "--mock"]);
    passes(&output);
    assert!(
        output
            .stderr
            .contains(&format!("4 calls recorded in `{FILE}`")),
        "{output:?}"
    );
    let first = read(&place, FILE);
    let paths: Vec<&str> = first
        .lines()
        .filter_map(|line| line.strip_prefix("  - path: "))
        .collect();
    assert_eq!(
        paths,
        [
            r#""cards[0].card""#,
            r#""cards[1].card""#,
            r#""cards[2].card""#,
            r#""mail""#
        ]
    );
    assert!(
        first.contains("      who: \"王伟\"\n    value:\n      card: \"C-王伟\"\n      zones: 3\n"),
        "{first}"
    );
    assert!(
        first.contains(r#"text: "是 no: \"yes\"\n3 cards""#),
        "{first}"
    );
    passes(&run(&place, &[]));
    passes(&run(&place, &["--seeds", "8"]));
    // Existing entries are kept, so the changed mock is not called.
    edit(&place, "desk.yaml", "C-{args.who}", "D-{args.who}");
    passes(&run(&place, &["--record", "once", "--mock"]));
    passes(&run(&place, &["--record", "new", "--mock"]));
    assert_eq!(read(&place, FILE), first);
    fails(
        &run(&place, &["--record", "all", "--mock"]),
        &["error[expectation-failed]"],
    );
    assert!(read(&place, FILE).contains("D-Ada"));
    edit(&place, "desk.yaml", "D-{args.who}", "C-{args.who}");
    passes(&run(&place, &["--record", "all", "--mock"]));
    assert_eq!(
        read(&place, FILE),
        first,
        "the same world is recorded to the same bytes"
    );
}

#[test]
fn each_way_in_which_a_recording_does_not_fit_has_a_name() {
    let place = project(PLAN);
    passes(&run(&place, &["--record", "once", "--mock"]));
    let recorded = read(&place, FILE);
    let again = "`planrun test --record new welcome.plan`";

    edit(&place, "welcome.plan", "to: \"all\"", "to: \"both\"");
    let output = run(&place, &[]);
    fails(
        &output,
        &[
            "error[recording-drifted]: `mail` calls `desk.mail` with other arguments",
            again,
        ],
    );
    fails(
        &output,
        &[
            "expected: {\"text\":",
            "actual:   {\"text\":",
            "\"to\":\"both\"",
        ],
    );
    passes(&run(&place, &["--record", "new", "--mock"]));
    let drifted = recorded
        .replace("\"all\"", "\"both\"")
        .replace("mail to all", "mail to both");
    assert_eq!(read(&place, FILE), drifted, "what fitted is as it was");
    edit(&place, "welcome.plan", "to: \"both\"", "to: \"all\"");
    fs::write(place.path().join(FILE), &recorded).unwrap();

    edit(
        &place,
        "desk.yaml",
        "zones: { type: integer }",
        "zones: { type: integer, minimum: 0 }",
    );
    fails(
        &run(&place, &[]),
        &[
            "error[recording-stale]: the contract of `desk.badge` has changed since `cards[0].card`",
            again,
        ],
    );
    passes(&run(&place, &["--record", "new", "--mock"]));
    passes(&run(&place, &[]));
    assert!(read(&place, FILE) != recorded);

    edit(&place, "welcome.plan", "\"Bob\", ", "");
    edit(&place, "welcome.plan", "\"B-Bob\", ", "");
    let output = run(&place, &[]);
    fails(&output, &["error[recording-drifted]: `cards[1].card`"]);
    passes(&run(&place, &["--record", "new", "--mock"]));
    assert!(
        !read(&place, FILE).contains("cards[2]"),
        "what nothing asks for is taken out"
    );
    let kept = read(&place, FILE);
    edit(
        &place,
        "welcome.plan",
        "cards\")\n",
        "cards\")\n        when size(people) > 9\n",
    );
    fails(
        &run(&place, &[]),
        &[
            "error[recording-unused]: the answer of `desk.mail` for `mail` in `",
            again,
        ],
    );
    // A test that fails may not have reached all calls.
    edit(&place, "welcome.plan", "\"C-Ada\"", "\"E-Ada\"");
    let output = run(&place, &[]);
    fails(&output, &["error[expectation-failed]"]);
    assert!(!output.stdout.contains("recording-unused"), "{output:?}");
    fails(
        &run(&place, &["--record", "new", "--mock"]),
        &["error[expectation-failed]"],
    );
    assert_eq!(read(&place, FILE), kept);
}

#[test]
fn a_recording_that_cannot_be_read_fails_its_test_with_its_place() {
    let place = project(PLAN);
    passes(&run(&place, &["--record", "once", "--mock"]));
    edit(&place, FILE, "version: 1", "version: 7");
    let messages = [
        "error[recording-unusable]: the recording `recordings/welcome__everybody_gets_a_card.yaml`, line 3, cannot be used: it has \
         version 7, but this planrun supports 1",
        "planrun test --record all",
    ];
    fails(&run(&place, &[]), &messages);
    fails(&run(&place, &["--record", "new", "--mock"]), &messages);
    passes(&run(&place, &["--record", "all", "--mock"]));
}

#[test]
fn mocks_come_before_recordings_and_recordings_before_the_rest() {
    let plan = PLAN.replace(
        "    expect reply",
        "    mock desk.badge(who: \"Bob\") => { card: \"B-Bob\", zones: 9 }\n    mock _ => generated\n    expect reply",
    );
    let place = project(&plan);
    // A call that `_` answers is not made.
    fails(
        &run(&place, &["--record", "all", "--mock"]),
        &["error[expectation-failed]"],
    );
    assert!(!place.path().join("recordings").exists());
    fs::write(place.path().join("welcome.plan"), PLAN).unwrap();
    passes(&run(&place, &["--record", "once", "--mock"]));
    fs::write(place.path().join("welcome.plan"), &plan).unwrap();
    fails(
        &run(&place, &[]),
        &["error[recording-unused]: the answer of `desk.badge` for `cards[1].card` in `"],
    );
    passes(&run(&place, &["--record", "new", "--mock"]));
    assert!(!read(&place, FILE).contains("Bob") && read(&place, FILE).contains("C-Ada"));
}

const SECRET_PLAN: &str = "use desk

plan welcome(pin: secret) -> { told: string } {
    step session = desk.login(pin: pin, user: \"ada\")
    step mail = desk.mail(to: \"ada\", text: \"Your session is ${session.token} and ${pin}\")
    reply { told: mail.id }
}

test \"Nobody sees it\" for welcome {
    given { pin: \"90210-pin\" }
    expect reply.told == \"mail to ada\"
}
";

#[test]
fn drifted_arguments_show_no_secret() {
    let place = project(SECRET_PLAN);
    passes(&run(&place, &["--record", "once", "--mock"]));
    edit(&place, "welcome.plan", "90210-pin", "11111-pin");
    edit(&place, "welcome.plan", "Your session", "The session");
    let output = run(&place, &[]);
    fails(&output, &["error[recording-drifted]: `mail`"]);
    let actual = "actual:   {\"text\":\"The session is [redacted] and [redacted]\"";
    assert!(output.stdout.contains(actual), "{output:?}");
}

#[test]
fn a_number_that_is_secret_elsewhere_stays_a_number() {
    let app = "name: desk
tools:
  - name: login
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: {} }
    returns: { type: object, properties: { pin: { type: integer } }, required: [pin] }
    sensitive: [result.pin]
    mock: { pin: 471123 }
  - name: count
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    returns: { type: object, properties: { n: { type: integer }, all: { type: array, items: { type: integer } } }, required: [n, all] }
    mock: { n: 471123, all: [1, 471123] }
";
    let plan = "use desk

plan welcome() -> int {
    step entry = desk.login()
    step counted = desk.count(n: entry.pin)
    reply size(counted.all)
}

test \"It counts\" for welcome {
    expect reply == 2
}
";
    let place = project(plan);
    fs::write(place.path().join("desk.yaml"), app).unwrap();
    passes(&run(&place, &["--record", "once", "--mock"]));
    let text = read(&place, "recordings/welcome__it_counts.yaml");
    assert!(
        !text.contains("471123") && text.contains("\"n\": 0\n"),
        "{text}"
    );
    passes(&run(&place, &[]));
}

#[test]
fn secrets_are_in_no_recording_and_the_marks_replay() {
    let place = project(SECRET_PLAN);
    passes(&run(&place, &["--record", "once", "--mock"]));
    let file = "recordings/welcome__nobody_sees_it.yaml";
    let text = read(&place, file);
    for secret in ["90210", "5ecret", "777123"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains("text: \"Your session is [redacted] and [redacted]\""),
        "{text}"
    );
    assert!(
        text.contains("      token: \"[redacted]\"\n      level: 0\n"),
        "{text}"
    );
    passes(&run(&place, &[]));
    // A different secret is the same call; different text around it is not.
    edit(&place, "welcome.plan", "90210-pin", "11111-pin");
    passes(&run(&place, &[]));
    edit(&place, "welcome.plan", "Your session", "The session");
    fails(&run(&place, &[]), &["error[recording-drifted]: `mail`"]);
    let output = planrun([
        "run",
        "welcome.plan",
        "--mock",
        "-i",
        "pin=90210-pin",
        "--record",
        "run.yaml",
        "--no-journal",
    ]);
    passes(&output.within(place.path()).run());
    let text = read(&place, "run.yaml");
    assert!(
        text.starts_with(
            "# To use it in a test of `welcome`, save it next to the file with the test as recordings/"
        ),
        "{text}"
    );
    assert!(
        !text.contains("90210") && !text.contains("5ecret") && text.contains("tool: \"desk.mail\""),
        "{text}"
    );
}

/// Whether the file can be written is known before anything is sent, and no other file is overwritten.
#[test]
fn a_run_is_not_recorded_over_another_file_or_to_no_place() {
    let place = project(PLAN);
    let run = |file: &str| {
        let run = planrun(["run", "welcome.plan", "--mock", "--record", file]);
        run.within(place.path())
            .run_with(&["-i", "people=[\"Ada\"]"])
    };
    for (file, status) in [("nowhere/it.yaml", 3), ("welcome.plan", 2), (".", 2)] {
        let output = run(file);
        assert_eq!((output.status, &*output.stdout), (status, ""), "{output:?}");
    }
    assert_eq!(read(&place, "welcome.plan"), PLAN);
    let runs = planrun(["runs", "list"]).within(place.path()).run();
    assert!(
        !runs.stdout.contains("welcome"),
        "something was run: {runs:?}"
    );
    for _ in 0..2 {
        passes(&run("it.yaml"));
        assert!(read(&place, "it.yaml").contains("version: 1"));
    }
}

#[test]
fn retries_are_calls_of_their_own_and_what_varies_is_kept() {
    let plan = "use hr, sys

plan hire(name: string) -> { level: string, at: timestamp } {
    step at = sys.now()
    step profile = hr.create_employee_profile(id: \"WZ001\", name: \"${name} ${string(at)}\", department: \"sales\")
        retry { attempts: 5, delay: 1ms, on: [transient, tool.failed] }
    reply { level: profile.level, at: at }
}

test \"The third time\" for hire {
    given { name: \"Will\" }
    expect reply.level == \"L1\" && calls(hr.create_employee_profile) == 3
}

test \"Nobody answers\" for hire {
    given { name: \"Ines\" }
    expect reply.level == \"L1\"
}
";
    let mock = Mock::start(["--failures", "create_employee_profile=2"]);
    let app = crate::support::root().join("plans/apps/hr.yaml");
    let files = [
        ("planrun.yaml", b"apps: [hr.yaml]\nenv: [HR_URL]\n".to_vec()),
        ("hr.yaml", fs::read(app).unwrap()),
        ("hire.plan", plan.into()),
    ];
    let place = folder(files);
    let test = |arguments: &[&str]| planrun(["test"]).within(place.path()).run_with(arguments);
    let output = mock
        .answering(
            planrun(["test", "-k", "third", "--record", "once"]),
            &["hr"],
        )
        .within(place.path())
        .run();
    passes(&output);
    assert_eq!(mock.calls().len(), 3);
    let recorded = read(&place, "recordings/hire__the_third_time.yaml");
    assert_eq!(
        recorded.matches("    failure:\n      class: ").count(),
        2,
        "{recorded}"
    );
    assert!(
        recorded.contains("    call: 3\n") && recorded.contains("tool: \"sys.now\""),
        "{recorded}"
    );
    passes(&test(&["-k", "third"]));
    passes(&test(&["-k", "third", "--explore"]));
    drop(mock);
    passes(&test(&["-k", "third"]));
    // Nothing is recorded if the systems cannot be reached.
    let unreachable = planrun(["test", "-k", "Nobody", "--record", "once"])
        .variable("HR_URL", "http://127.0.0.1:1");
    let output = unreachable.within(place.path()).run();
    assert!(
        output.status == 1 && output.stderr.contains("no tool could be reached"),
        "{output:?}"
    );
    // An old recording is kept, and does not hide that there is no new one.
    let kept = read(&place, "recordings/hire__the_third_time.yaml");
    let unreachable = planrun(["test", "-k", "third", "--record", "all"])
        .variable("HR_URL", "http://127.0.0.1:1");
    let output = unreachable.within(place.path()).run();
    assert_eq!(output.status, 3, "{output:?}");
    assert!(
        output.stderr.contains("/tool cannot be reached: "),
        "{output:?}"
    );
    assert_eq!(read(&place, "recordings/hire__the_third_time.yaml"), kept);
    assert!(
        !place
            .path()
            .join("recordings/hire__nobody_answers.yaml")
            .exists()
    );
}

#[test]
fn a_call_that_took_too_long_takes_too_long_again() {
    let plan = PLAN.replace(
        "desk.badge(who: who)",
        "desk.badge(who: who)\n            timeout 50ms\n            retry { attempts: 1 }\n            recover _ => { card: \"none\", zones: 0 }",
    );
    let plan = plan.replace(
        "expect reply.cards == [\"C-Ada\", \"B-Bob\", \"C-王伟\"]",
        "expect reply.cards[0] == \"none\" && reply.cards[2] == \"none\"",
    );
    let place = project(&plan);
    let (first, rest) = APP.split_once("effect: effect").unwrap();
    fs::write(
        place.path().join("desk.yaml"),
        format!("{first}effect: read{rest}").replace("40ms", "20s"),
    )
    .unwrap();
    let recorded = run(&place, &["--record", "once", "--mock"]);
    passes(&recorded);
    assert!(read(&place, FILE).contains("    unanswered: true\n"));
    passes(&run(&place, &[]));
}
