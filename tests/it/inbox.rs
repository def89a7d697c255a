//! The questions to people as the program displays them, and the validation of their answers.

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};

const BANK: &str = r#"
name: bank
display_name: Bank
tools:
  - name: pay
    description: Money that goes out does not come back.
    endpoint: http://127.0.0.1:8009/tool
    effect: irreversible
    parameters:
      type: object
      properties:
        iban: { type: string, pattern: "^[A-Z]{2}[0-9]{4,}$", description: The account that gets the money }
        cents: { type: integer, minimum: 1 }
        note: { type: string, maxLength: 10 }
        pin: { type: string, writeOnly: true, description: The PIN of the desk }
      required: [iban, cents]
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock: { id: "P1" }
"#;

/// Returns a project with one plan.
fn project(plan: &str) -> TempDir {
    folder([
        ("planrun.yaml", "{}\n"),
        ("apps/bank.yaml", BANK),
        ("a.plan", plan),
    ])
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

fn begun(plan: &str, arguments: &[&str]) -> TempDir {
    let place = project(plan);
    let output = run(
        &place,
        &[&["run", "a.plan", "--run-id", "r1", "--mock"], arguments].concat(),
    );
    assert_eq!(output.status, 4, "{output:?}");
    place
}

const FORM: &str = r#"
use bank

plan refund(to?: string) -> string {
    step form = input "Whom do we pay?" -> { iban: string known to, cents: int = 500, why: string in ["late", "lost"] }
        by "desk"
        within 2d
    step paid = bank.pay(iban: form.iban, cents: form.cents, note: form.why)
        confirm "Pay ${form.cents} cents?" by "boss" expires 1d
    reply paid.id
}
"#;

#[test]
fn d1_the_inbox_tells_what_is_asked_of_whom_and_how_to_answer() {
    let place = begun(FORM, &[]);
    let printed = run(&place, &["runs", "inbox"]);
    let expected = [
        "a form: form\n",
        "  run r1 of refund\n",
        "  asked just now, open until ",
        "  for \"desk\"\n",
        "  │ Whom do we pay?\n",
        "  to be filled in\n",
        "  │ iban: string\n",
        "  │     The account that gets the money\n",
        "  │     matches ^[A-Z]{2}[0-9]{4,}$\n",
        "  │ cents: int = 500\n",
        "  │     at least 1\n",
        "  │ why: string\n",
        "  │     one of \"late\", \"lost\"\n",
        "  │     at most 10 characters\n",
        "  answer: planrun runs answer r1 'form={\"iban\": <string>, \"why\": <\"late\" | \"lost\">}' --by desk --resume\n",
    ];
    for line in expected {
        assert!(printed.stdout.contains(line), "{line}: {}", printed.stdout);
    }
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    for command in [
        &["runs", "show", "r1"][..],
        &["runs", "list", "--waiting"],
        &["runs", "events", "r1"],
    ] {
        let printed = run(&place, command).stdout;
        assert!(
            printed.contains("  │ Whom do we pay?\n") && printed.contains("  for \"desk\"\n"),
            "{command:?}: {printed}"
        );
    }
    let inbox = run(&place, &["runs", "inbox", "--format", "json"]).json();
    let question = &inbox["questions"][0];
    assert_eq!(
        (&inbox["version"], &question["run"], &question["plan"]),
        (&json!(1), &json!("r1"), &json!("refund"))
    );
    assert_eq!(
        (&question["path"], &question["for"], &question["by"]),
        (&json!("form"), &json!("input"), &json!("desk"))
    );
    assert_eq!(
        (
            &question["form"][1]["name"],
            &question["arguments"]["cents"]
        ),
        (&json!("cents"), &json!(500))
    );
    assert_eq!(
        question["form"][0]["label"],
        "The account that gets the money"
    );
    assert!(
        run(&place, &["runs", "inbox", "--by", "boss"])
            .stdout
            .is_empty()
    );
    assert!(
        run(&place, &["runs", "inbox", "--plan", "other"])
            .stderr
            .contains("no open questions")
    );
}

#[test]
fn f1_a_gate_shows_the_tool_its_class_and_the_arguments_wherever_it_asks() {
    let place = begun(FORM, &[]);
    let answer = r#"form={"iban": "DE1234", "why": "late"}"#;
    let output = run(
        &place,
        &["runs", "answer", "r1", answer, "--by", "desk", "--resume"],
    );
    let expected = [
        "yes or no: paid.confirm\n",
        "  for \"boss\"\n",
        "  │ Pay 500 cents?\n",
        "  what will be sent (irreversible): bank.pay\n",
        "  │ iban: \"DE1234\"\n",
        "  │ cents: 500\n",
        "  │ note: \"late\"\n",
        "  answer: planrun runs answer r1 paid.confirm=true --by boss --resume\n",
    ];
    let outputs = [
        format!("{}\n", output.stderr.trim_end()),
        run(&place, &["runs", "inbox"]).stdout,
        run(&place, &["runs", "show", "r1"]).stdout,
        run(&place, &["runs", "list", "--waiting"]).stdout,
    ];
    for text in outputs {
        for line in expected {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
    let events = run(&place, &["runs", "events", "r1"]).stdout;
    assert!(
        events.contains("  │ iban: \"DE1234\"\n") && events.contains("  by \"desk\"\n"),
        "{events}"
    );
}

/// A form whose field is passed through one plan to another.
const PASSED_ON: &str = r#"
use bank

plan refund() -> string {
    step form = input "Whom do we pay?" -> { iban: string, cents: int = 500 }
    step paid = checked(account: form.iban, cents: form.cents)
    reply paid
}

plan checked(account: string, cents: int) -> string {
    step paid = pay(to: account, cents: cents)
    reply paid
}

plan pay(to: string, cents: int) -> string {
    step paid = bank.pay(iban: to, cents: cents)
    reply paid.id
}
"#;

#[test]
fn r4_2_a_field_keeps_the_contract_of_an_argument_that_it_becomes_in_a_called_plan() {
    let place = project(PASSED_ON);
    let output = run(
        &place,
        &[
            "run", "a.plan", "--plan", "refund", "--run-id", "r1", "--mock",
        ],
    );
    assert_eq!(output.status, 4, "{output:?}");
    let printed = run(&place, &["runs", "inbox"]).stdout;
    assert!(
        printed.contains("The account that gets the money"),
        "{printed}"
    );
    let output = run(
        &place,
        &["runs", "answer", "r1", r#"form={"iban": "1234"}"#],
    );
    assert!(
        output
            .stderr
            .contains("the field `iban` must match the pattern"),
        "{output:?}"
    );
    // If its value may prevent the call, the field need not fit.
    let ensured = PASSED_ON.replace(
        "    step paid = pay(",
        "    ensure size(account) > 2 else \"none\"\n    step paid = pay(",
    );
    let place = project(&ensured);
    assert_eq!(
        run(
            &place,
            &[
                "run", "a.plan", "--plan", "refund", "--run-id", "r1", "--mock"
            ]
        )
        .status,
        4
    );
    let output = run(
        &place,
        &["runs", "answer", "r1", r#"form={"iban": "1234"}"#],
    );
    assert_eq!(output.status, 0, "{output:?}");
    let wrong = PASSED_ON.replace("cents: int = 500", "cents: int = 0");
    let printed = run(&project(&wrong), &["check"]);
    assert!(
        printed
            .stdout
            .contains("`cents` is passed on as `cents` of `bank.pay`"),
        "{printed:?}"
    );
}

#[test]
fn d2_r4_3_a_field_that_is_passed_on_keeps_the_contract_of_the_argument() {
    let place = begun(FORM, &["-i", "to=DE12"]);
    let inbox = run(&place, &["runs", "inbox"]).stdout;
    assert!(
        inbox.contains("  │ iban: string = \"DE12\"\n"),
        "what is known does not fit, so it is asked: {inbox}"
    );
    for (answer, fault) in [
        (
            r#"form={"iban": "1234", "why": "late"}"#,
            "the field `iban` must match the pattern",
        ),
        (
            r#"form={"why": "late"}"#,
            "the field `iban` must match the pattern",
        ),
        (
            r#"form={"iban": "DE1234", "why": "late", "cents": 0}"#,
            "the field `cents` must be at least 1",
        ),
        (
            r#"form={"iban": "DE1234", "why": "old"}"#,
            "one of \"late\", \"lost\"",
        ),
        (r#"form={"iban": "DE1234"}"#, "`why` is missing"),
        (r#"form={"iban": 7, "why": "late"}"#, "the field `iban`"),
    ] {
        let output = run(
            &place,
            &["runs", "answer", "r1", answer, "--by", "desk", "--resume"],
        );
        assert_eq!(output.status, 2, "{answer}: {output:?}");
        assert!(output.stderr.contains(fault), "{answer}: {}", output.stderr);
    }
    assert!(
        run(&place, &["runs", "inbox"])
            .stdout
            .contains("a form: form\n"),
        "it stays open"
    );
    let fits = r#"form={"iban": "DE1234", "why": "late"}"#;
    let output = run(
        &place,
        &["runs", "answer", "r1", fits, "--by", "desk", "--resume"],
    );
    assert!(output.stderr.contains("Pay 500 cents?"), "{output:?}");
}

#[test]
fn r4_3_only_what_a_call_without_a_further_guard_takes_is_bound_by_it() {
    let bound = |body: &str| {
        let plan = format!(
            "use bank plan p(go: bool) -> string {{
                step form = input \"?\" -> {{ iban: string, really: bool }}
                {body} }}"
        );
        let place = project(&plan);
        let output = run(
            &place,
            &["run", "a.plan", "-i", "go=true", "--run-id", "r1", "--mock"],
        );
        assert_eq!(output.status, 4, "{body}: {output:?}");
        let inbox = run(&place, &["runs", "inbox", "--format", "json"]).json();
        let field = &inbox["questions"][0]["form"][0];
        assert_eq!(field["label"], "The account that gets the money", "{body}");
        field["contracts"].is_array()
    };
    let pay = "bank.pay(iban: form.iban, cents: 1)";
    assert!(bound(&format!("step a = {pay} reply a.id")));
    assert!(bound(&format!(
        "step d = do {{ step a = {pay} yield a.id }} reply d"
    )));
    assert!(
        bound(&format!("ensure go else \"no\" step a = {pay} reply a.id")),
        "what does not ask for the answer"
    );
    assert!(!bound(&format!(
        "step a = {pay} when form.really reply a?.id ?? \"\""
    )));
    assert!(!bound(&format!(
        "reply \"no\" when !form.really step a = {pay} reply a.id"
    )));
    assert!(!bound(&format!(
        "fail denied.human \"no\" when !form.really step a = {pay} reply a.id"
    )));
    assert!(!bound(&format!(
        "ensure form.really else \"no\" step a = {pay} reply a.id"
    )));
    assert!(!bound(&format!(
        "step l = each x in [1] max 1 {{ step a = {pay} yield a.id }} reply l[0]"
    )));
}

#[test]
fn r4_3_a_value_that_stands_in_a_form_keeps_the_contract_or_the_check_says_so() {
    let found = |field: &str| {
        let plan = format!(
            "use bank\n\nplan p() -> string {{\n    step form = input \"?\" -> {{ iban: string, {field} }}\n    step paid = bank.pay(iban: form.iban, cents: form.cents)\n    reply paid.id\n}}\n"
        );
        let output = run(&project(&plan), &["check", "a.plan", "--format", "json"]);
        let found = output.json()["diagnostics"].as_array().unwrap().clone();
        found
            .iter()
            .filter(|found| found["severity"] == "error")
            .map(|found| found["message"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("cents: int = 5"), [""; 0]);
    for field in [
        "cents: int = 0",
        "cents: int known 0",
        "cents: int in [1, 0]",
    ] {
        let findings = found(field);
        assert!(
            findings.len() == 1
                && findings[0].contains("`cents` of `bank.pay`")
                && findings[0].contains("at least 1"),
            "{findings:?}"
        );
    }
    let findings = found("cents: int in [1, 2] = 3");
    assert!(
        findings.len() == 1 && findings[0].contains("3 is not among the choices of `cents`"),
        "{findings:?}"
    );
}

#[test]
fn a_field_that_goes_to_a_secret_argument_is_shown_nowhere() {
    let plan = "use bank plan p() -> string {
        step form = input \"?\" -> { iban: string, pin: string }
        step paid = bank.pay(iban: form.iban, cents: 1, pin: form.pin) confirm \"Pay?\"
        reply paid.id }";
    let place = begun(plan, &[]);
    let answer = r#"form={"iban": "DE1234", "pin": "s3cret-0815"}"#;
    let output = run(&place, &["runs", "answer", "r1", answer, "--resume"]);
    assert_eq!(output.status, 4, "{output:?}");
    let twice = run(
        &place,
        &[
            "runs",
            "answer",
            "r1",
            r#"form={"iban": "DE1235", "pin": "1"}"#,
        ],
    );
    let outputs = [
        output.stderr,
        run(&place, &["runs", "inbox"]).stdout,
        run(&place, &["runs", "events", "r1"]).stdout,
        twice.stderr,
    ];
    for text in outputs {
        assert!(
            !text.contains("s3cret-0815") && text.contains("DE1234"),
            "{text}"
        );
    }
}

const GATE: &str = "use sys plan p(x: any) { step w = sys.echo(value: x) confirm \"Say it?\" }";

#[test]
fn a8_f2_a_contradicting_answer_is_refused_at_once_before_anybody_has_resumed() {
    let place = begun(GATE, &["-i", "x=1"]);
    let answer = |value: &str, by: &str| {
        run(
            &place,
            &[
                "runs",
                "answer",
                "r1",
                &format!("w.confirm={value}"),
                "--by",
                by,
            ],
        )
    };
    for (word, remedy) in [
        ("yes", "write `true` to confirm"),
        ("No", "write `false` to refuse"),
        ("later", "write a string in quotes"),
    ] {
        let told = answer(word, "ann");
        assert!(told.status == 2 && told.stderr.contains(remedy), "{told:?}");
    }
    assert_eq!(answer("true", "ann").status, 0);
    let again = answer("true", "ann");
    assert!(
        again.status == 0 && again.stderr.contains("already has this answer"),
        "{again:?}"
    );
    let no = answer("false", "bob");
    assert_eq!(no.status, 2);
    for part in [
        "`w.confirm` has already been answered with yes by ann at ",
        "cancel the run with `planrun runs cancel r1`",
    ] {
        assert!(no.stderr.contains(part), "{}", no.stderr);
    }
    assert!(
        run(&place, &["runs", "inbox"]).stdout.is_empty(),
        "nothing is open any more"
    );
    let ended = run(&place, &["runs", "resume", "r1"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(answer("false", "bob").status, 2);
}

#[test]
fn f19_outside_text_forges_no_line_and_acts_on_no_terminal() {
    let padding = " ".repeat(300);
    let hostile = format!(
        "a{padding}answer: planrun runs answer r1 w.confirm=true\n  for \"boss\"\u{1b}[2J\u{202e}\u{9b}2J"
    );
    let text = format!("{hostile}{}", "x".repeat(5000));
    let plan = "use sys plan p(t: string) { step w = sys.echo(value: t) confirm t by t }";
    let place = begun(plan, &["-i", &format!("t={text}")]);
    let printed = run(&place, &["runs", "inbox"]).stdout;
    assert!(
        !printed.contains(['\u{1b}', '\u{202e}', '\u{9b}']),
        "{printed:?}"
    );
    let own = [
        "yes or no: ",
        "  run ",
        "  asked ",
        "  for ",
        "  what will be sent (",
        "  answer: ",
    ];
    let lines: Vec<&str> = printed.lines().collect();
    for line in &lines {
        let ours = own.iter().filter(|begin| line.starts_with(**begin)).count();
        assert!(line.starts_with("  │ ") || ours == 1, "{line}");
        assert!(
            line.starts_with("  answer: ") || line.chars().count() <= 100,
            "{line}"
        );
    }
    for begin in own {
        assert_eq!(
            lines.iter().filter(|line| line.starts_with(begin)).count(),
            1,
            "{begin}"
        );
    }
    assert!(
        printed.contains(" more characters "),
        "the middle is cut out, and that is told: {printed}"
    );
    let json = run(&place, &["runs", "inbox", "--format", "json"]).json();
    assert_eq!(
        json["questions"][0]["arguments"]["value"], text,
        "programs get all of it"
    );
}

#[test]
fn d1_the_command_that_answers_is_safe_in_a_shell_and_means_what_it_says() {
    let plan = r#"use sys plan p(names: string[]) -> int {
        step m = each name in names max 9 parallel 9 by name { step w = sys.echo(value: name) confirm "Say it?" yield w }
        reply size(m) }"#;
    let names = [
        "it's",
        "a b  c",
        "$(touch owned)",
        "x=\"1\"];]",
        "\u{202e}back",
        "`id`",
    ];
    let place = begun(
        plan,
        &["-i", &format!("names={}", Json::from(names.to_vec()))],
    );
    let commands: Vec<String> = run(&place, &["runs", "inbox"])
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  answer: planrun "))
        .map(|command| command.replace(" --resume", ""))
        .collect();
    assert_eq!(commands.len(), names.len());
    for command in &commands {
        let answered = std::process::Command::new("sh")
            .args(["-c", &format!("printf '%s\\n' {command}")])
            .output()
            .unwrap();
        let words = String::from_utf8(answered.stdout).unwrap();
        let words: Vec<&str> = words.lines().collect();
        assert_eq!(
            (words.len(), words[..3].join(" ")),
            (4, "runs answer r1".to_owned()),
            "{command}"
        );
        let output = run(&place, &words);
        assert_eq!(output.status, 0, "{command}: {output:?}");
    }
    assert!(!place.path().join("owned").exists());
    assert_eq!(run(&place, &["runs", "resume", "r1"]).stdout, "6\n");
}

#[test]
fn d1_one_answer_serves_all_elements_and_many_answers_are_taken_or_none() {
    let plan = r#"use sys plan p(names: string[]) -> int {
        step first = sys.echo(value: 1) confirm "First?"
        step m = parallel_free(names: names)
        reply m }"#
        .replace(
            "step m = parallel_free(names: names)",
            "step m = each name in names max 9 { step w = sys.echo(value: name) confirm \"Say ${name}?\" yield w }",
        )
        .replace("reply m", "reply size(m)");
    let place = begun(
        &plan,
        &[
            "-i",
            "names=[\"a\", \"b\", \"c\"]",
            "--answer",
            "first.confirm=true",
        ],
    );
    let open = || {
        run(&place, &["runs", "inbox", "--format", "json"]).json()["questions"]
            .as_array()
            .unwrap()
            .len()
    };
    let before = open();
    assert!(before > 0);
    // One answer that does not fit refuses all of them.
    let output = run(
        &place,
        &[
            "runs",
            "answer",
            "r1",
            "m[*].w.confirm=true",
            "m[7].w.confirm=true",
        ],
    );
    assert_eq!((output.status, open()), (2, before), "{output:?}");
    let output = run(
        &place,
        &[
            "runs",
            "answer",
            "r1",
            "m[*].w.confirm=true",
            "--format",
            "json",
        ],
    );
    let document = output.json();
    assert_eq!(
        (
            output.status,
            document["answers"].as_array().unwrap().len(),
            open()
        ),
        (0, before, 0)
    );
    assert_eq!(
        (
            &document["answers"][0]["path"],
            &document["answers"][0]["before"]
        ),
        (&json!("m[0].w.confirm"), &json!(false))
    );
    assert_eq!(
        run(&place, &["runs", "answer", "r1", "n[*].w.confirm=true"]).status,
        2
    );
}

#[test]
fn d1_every_run_that_asks_is_answered_at_once_or_one_question_after_the_other() {
    let place = project(GATE);
    for id in ["r1", "r2", "r3"] {
        assert_eq!(
            run(&place, &["run", "a.plan", "--run-id", id, "-i", "x=1"]).status,
            4
        );
    }
    assert_eq!(
        run(&place, &["runs", "answer", "--all", "v.confirm=true"]).status,
        2
    );
    let output = planrun(["runs", "answer", "--all", "--interactive"])
        .within(place.path())
        .stdin("yes\nmaybe\nskip\nq\n")
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(
        output.stderr.matches("yes or no: w.confirm").count(),
        3,
        "{}",
        output.stderr
    );
    assert_eq!(run(&place, &["runs", "resume", "r1"]).status, 0);
    let output = run(
        &place,
        &["runs", "answer", "--all", "w.confirm=true", "--resume"],
    );
    assert_eq!(output.status, 0, "{output:?}");
    let states = run(&place, &["runs", "list", "--format", "json"]).json();
    assert!(
        states["runs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|run| run["status"] == "completed"),
        "{states}"
    );
    assert_eq!(
        run(&place, &["runs", "answer", "w.confirm=true"]).status,
        2,
        "which run?"
    );
    assert_eq!(run(&place, &["runs", "answer", "r1"]).status, 2, "what?");
}

#[test]
fn d1_forms_are_filled_in_line_by_line_and_each_line_is_held_against_its_field() {
    let place = begun(FORM, &[]);
    let output = planrun(["runs", "answer", "r1", "-i", "--resume"])
        .within(place.path())
        .stdin("f\nnonsense\nDE1234\n\nlate\n")
        .run();
    assert!(
        output
            .stderr
            .contains("the field `iban` must match the pattern"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("  │ cents: 500\n"),
        "an empty line keeps what stands there: {}",
        output.stderr
    );
}

#[test]
fn d1_the_inbox_reaches_every_project_below() {
    let gate = "use sys plan p() { step w = sys.echo(value: 1) confirm \"Say it?\" }";
    let place = folder([
        ("one/planrun.yaml", "{}\n"),
        ("one/a.plan", gate),
        ("it's/b/planrun.yaml", "{}\n"),
        ("it's/b/a.plan", gate),
    ]);
    for project in ["one", "it's/b"] {
        let at = place.path().join(project);
        assert_eq!(
            planrun(["run", "a.plan", "--run-id", "r1"])
                .within(&at)
                .run()
                .status,
            4
        );
    }
    let printed = run(&place, &["runs", "inbox", "--all"]).stdout;
    for command in [
        "planrun --project ./one runs answer r1",
        r"planrun --project './it'\''s/b' runs answer r1",
    ] {
        assert!(printed.contains(command), "{printed}");
    }
}

#[test]
fn f1_an_unknown_outcome_is_asked_about_with_what_was_sent_and_why() {
    let plan = "use bank plan p() -> string {
        policy { on_failure: pause }
        step paid = bank.pay(iban: \"DE1234\", cents: 7) confirm \"Pay?\"
        reply paid.id }";
    let place = project(plan);
    std::fs::write(
        place.path().join("apps/bank.yaml"),
        BANK.replace("mock: { id: \"P1\" }", "mock: [{ status: 504 }]"),
    )
    .unwrap();
    let output = run(
        &place,
        &[
            "run",
            "a.plan",
            "--run-id",
            "r1",
            "--mock",
            "--answer",
            "paid.confirm=true",
        ],
    );
    assert_eq!(output.status, 4, "{output:?}");
    let printed = run(&place, &["runs", "inbox"]).stdout;
    for line in [
        "did it happen: paid\n",
        "  │ Did `paid` happen?\n",
        "  because\n",
        "  │ unknown_outcome: ",
        "  what was sent (irreversible): bank.pay\n",
        "  │ cents: 7\n",
        "  to be filled in\n",
        "  │ happened: bool\n",
        "  │ value: { id: string }\n",
        "  answer: planrun runs answer r1 'paid={\"happened\": <true | false>, \"value\": <{ id: string }>}' --resume\n",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

#[test]
fn documents_and_plans_for_programs_are_printed_exactly() {
    // Continuous integration would read `##[…]` in a line as a command, so text for people has an escape there.
    let plan = "// ##[group]\nuse sys\n\nplan p(t: string) {\n    step w = sys.echo(value: t) confirm \"##[error]${t}\"\n}\n";
    let place = begun(plan, &["-i", "t=##[warning]x"]);
    let inbox = run(&place, &["runs", "inbox", "--format", "json"]).json();
    assert_eq!(
        inbox["questions"][0]["text"], "##[error]##[warning]x",
        "{inbox}"
    );
    let pinned = run(&place, &["runs", "show", "r1", "--plan"]);
    assert_eq!((pinned.status, pinned.stdout.as_str()), (0, plan));
    let fixed = ["export", "a.plan", "-i", "t=##[warning]x", "--name", "q"];
    let text = run(&place, &fixed).stdout;
    assert!(text.contains("\"##[warning]x\""), "{text}");
    let json = run(&place, &[&fixed[..], &["--format", "json"]].concat()).json();
    assert!(json.to_string().contains("##[warning]x"), "{json}");
}

#[test]
fn the_exit_code_of_a_cancel_states_whether_the_run_is_cancelled() {
    let plan = "plan p() -> int { step form = input \"How many?\" -> { n: int } reply form.n }";
    let place = begun(plan, &[]);
    let cancelled = run(&place, &["runs", "cancel", "r1"]);
    assert_eq!(
        (cancelled.status, cancelled.stderr.as_str()),
        (0, "the run r1 is cancelled\n")
    );
    assert_eq!(run(&place, &["runs", "cancel", "r1"]).status, 2);
    // It comes before an end that no process has reached yet.
    let place = begun(plan, &[]);
    let answered = run(&place, &["runs", "answer", "r1", r#"form={"n": 3}"#]);
    assert_eq!(answered.status, 0, "{answered:?}");
    assert_eq!(run(&place, &["runs", "cancel", "r1"]).status, 0);
    // The plan has ended, and only what follows from that can be cancelled.
    let told = "plan p() -> int { listener end on plan is completed { step form = input \"?\" -> { n: int } } reply 1 }";
    let place = begun(told, &[]);
    let late = run(&place, &["runs", "cancel", "r1"]);
    assert_eq!(late.status, 1, "{late:?}");
    assert!(late.stderr.contains("the run r1 is completed"), "{late:?}");
}

#[cfg(unix)]
#[test]
fn a_run_whose_process_is_stopped_during_a_wait_is_due_when_the_wait_is_over() {
    use std::process::{Command, Stdio};
    let plan = "plan p() { step w = wait 40s }";
    let place = folder([("a.plan", plan)]);
    let waiting = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", "r1"])
        .current_dir(place.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begins = || {
        run(&place, &["runs", "events", "r1"])
            .stdout
            .contains("step.waiting")
    };
    while !begins() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let signalled = Command::new("kill")
        .args(["-TERM", &waiting.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let list = run(&place, &["runs", "list", "--format", "json"]).json();
    let row = &list["runs"][0];
    assert_eq!(
        (&row["status"], &row["wakes"]),
        (&"paused".into(), &"resumes".into())
    );
    assert!(row["wake_at"].is_string(), "{row}");
}

#[cfg(unix)]
#[test]
fn a_cancel_that_is_interrupted_while_it_undoes_can_be_ended_with_the_effects_kept() {
    use std::process::{Command, Stdio};
    let plan = "use fs, sys
        plan p() {
            allow { write: [\"*.txt\"] }
            step one = fs.write(path: \"1.txt\", content: \"1\") undo sys.sleep(duration: 2s)
            step two = fs.write(path: \"2.txt\", content: \"2\") undo sys.sleep(duration: 2s)
            step form = input \"How many?\" -> { n: int } after two
        }";
    let place = begun(plan, &[]);
    let cancel = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["runs", "cancel", "r1"])
        .current_dir(place.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begins = || {
        run(&place, &["runs", "events", "r1"])
            .stdout
            .contains("two.undo")
    };
    while !begins() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let signalled = Command::new("kill")
        .args(["-TERM", &cancel.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    let ended = cancel.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{told}");
    assert!(told.contains("the run r1 is paused"), "{told}");
    let listed = run(&place, &["runs", "list"]).stdout;
    assert!(listed.contains("paused"), "{listed}");
    let kept = run(&place, &["runs", "cancel", "r1", "--keep"]);
    assert_eq!(kept.status, 0, "{kept:?}");
    let line = "not undone, since `one.undo` did not complete: the run was cancelled, and its effects are kept";
    assert!(kept.stderr.contains(line), "{kept:?}");
    let shown = run(&place, &["runs", "show", "r1"]).stdout;
    assert!(
        shown.contains(line) && shown.contains("not_undone"),
        "{shown}"
    );
}

#[test]
fn runs_with_unread_answers_are_due_and_a_damaged_one_holds_up_no_other() {
    let plan =
        "plan ask() -> int { step form = input \"How many?\" -> { count: int } reply form.count }";
    let place = project(plan);
    for id in ["r1", "r2", "r3"] {
        let output = run(&place, &["run", "a.plan", "--run-id", id]);
        assert_eq!(output.status, 4, "{output:?}");
    }
    assert_eq!(run(&place, &["runs", "resume", "--due"]).stderr, "");
    for id in ["r1", "r2", "r3"] {
        let output = run(&place, &["runs", "answer", id, "form={\"count\": 2}"]);
        assert_eq!(output.status, 0, "{output:?}");
    }
    let journal = rusqlite::Connection::open(place.path().join(".planrun/journal.db")).unwrap();
    let damage = "UPDATE segments SET text = replace(text, 'step', 'stop') WHERE id >> 32 = (SELECT id FROM runs WHERE run = 'r2')";
    assert!(journal.execute(damage, []).unwrap() > 0);
    let output = run(&place, &["runs", "inbox"]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("r2: "), "{}", output.stderr);
    let output = run(&place, &["runs", "resume", "--due"]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("r2: "), "{}", output.stderr);
    let listed = run(&place, &["runs", "list", "--format", "json"]).json();
    let runs = listed["runs"].as_array().unwrap().iter();
    let completed = runs.filter(|run| run["status"] == "completed");
    assert_eq!(
        completed.map(|run| &run["run"]).collect::<Vec<_>>(),
        [&json!("r3"), &json!("r1")]
    );
}

#[test]
fn a_damaged_run_is_named_when_all_are_answered_and_can_be_deleted() {
    let plan =
        "plan ask() -> int { step form = input \"How many?\" -> { count: int } reply form.count }";
    let place = project(plan);
    for id in ["r1", "r2"] {
        let output = run(&place, &["run", "a.plan", "--run-id", id]);
        assert_eq!(output.status, 4, "{output:?}");
    }
    let journal = rusqlite::Connection::open(place.path().join(".planrun/journal.db")).unwrap();
    let damage = "UPDATE segments SET text = replace(text, 'step', 'stop') WHERE id >> 32 = (SELECT id FROM runs WHERE run = 'r2')";
    assert!(journal.execute(damage, []).unwrap() > 0);
    drop(journal);
    let output = run(&place, &["runs", "prune", "--damaged", "r1"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(
        output.stderr.contains("`planrun runs cancel r1` ends it"),
        "{output:?}"
    );
    let all = ["runs", "answer", "--all", "form={\"count\": 2}", "--resume"];
    let output = run(&place, &all);
    assert_eq!(output.status, 3, "{output:?}");
    let delete = "runs prune --damaged r2";
    assert!(output.stderr.contains(delete), "{}", output.stderr);
    let shown = run(&place, &["runs", "show", "r1", "--format", "json"]).json();
    assert_eq!(shown["status"], "completed", "the other one is answered");
    let output = run(&place, &["runs", "prune", "--damaged", "r2"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stderr.contains("deleted 1 run"), "{output:?}");
    let output = run(&place, &["runs", "inbox"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(run(&place, &["runs", "show", "r2"]).status, 2);
}

#[test]
fn a_field_that_may_be_left_out_is_not_among_those_to_fill_in() {
    for (fields, answer) in [
        ("name: string, note: string?", "{\"name\": <string>}"),
        ("note: string?", "{\"note\": <string?>}"),
    ] {
        let plan = format!("plan p() {{ step form = input \"Who?\" -> {{ {fields} }} }}");
        let place = crate::support::folder([("a.plan", plan)]);
        let run = |arguments: &[&str]| {
            let command = crate::support::planrun(arguments);
            command.within(place.path()).run()
        };
        run(&["run", "a.plan", "--run-id", "r1"]);
        let printed = run(&["runs", "inbox"]).stdout;
        let command = format!("answer: planrun runs answer r1 'form={answer}' --resume");
        assert!(printed.contains(&command), "{printed}");
    }
}
