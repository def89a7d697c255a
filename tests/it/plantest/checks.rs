//! Statements of tests, correct and incorrect, one at a time. `tests/fixtures/check/tests-of-*` contain their
//! diagnostics.

use super::kit::bench;
use crate::support::root;

/// Returns the plan of the fixture, without its tests.
fn plan() -> String {
    let text =
        std::fs::read_to_string(root().join("tests/fixtures/check/tests-of-a-plan/desk.plan"))
            .unwrap();
    text.split_once("\ntest \"").unwrap().0.to_owned()
}

/// Returns the codes of a test with these lines.
fn codes(plan: &str, lines: &str) -> Vec<&'static str> {
    let text = format!("{plan}\ntest \"it\" for settle {{\n    {lines}\n}}\n");
    let found = bench(&text);
    let start = u32::try_from(plan.len()).unwrap();
    found
        .findings()
        .iter()
        .filter(|found| found.span.start >= start)
        .map(|found| found.code.name)
        .collect()
}

const RIGHT: &[&str] = &[
    r#"mock desk.find => { id: id, state: deep == true ? "open" : "closed" }"#,
    r#"mock desk.find(id: 1, deep: true) => { id: 1, state: "open", owner: "${id}" } times 2 delay 3s, then generated"#,
    "mock desk.find(deep: null) => generated",
    r#"mock desk.find => fail tool.gone "it is ${1 + 1} late" times 3, then fail tool.failed, then fail transient.timeout"#,
    "mock desk.find => fail auth.authorization, then fail denied.policy, then fail validation.result",
    "mock desk.find => crash before, then crash after, then generated",
    "mock desk.close => fail unknown_outcome",
    "mock _ => generated",
    "mock _ => fail transient.unavailable",
    "mock 信.寄(给: \"张三\") => { 号: 给 }",
    "mock `信`.`寄` => fail tool.拒收",
    r#"answer form => { why: "x" }"#,
    r#"answer form => { why: "x", urgent: true } delay 3d"#,
    "answer late => fail expired",
    "answer done.confirm => true times 2",
    r#"answer done.confirm => { approve: false, by: "desk", note: "no" }"#,
    r#"answer done.confirm => fail denied.human "not now""#,
    "answer asked.confirm => fail expired",
    "answer done => { happened: false }",
    r#"answer done => { happened: true, value: { closed_at: "now" } }"#,
    "answer mails.sent.confirm => true",
    "answer mails[0].sent.confirm => true",
    r#"signal "go" => { by: "me" } at 1h"#,
    r#"signal "stage=closed" => { by: "me" } at 0s"#,
    r#"signal "stage=open" at 1d"#,
    r#"expect reply.at == "x" && size(reply.mails) > 0"#,
    r#"expect reply == { at: "x", mails: [] }"#,
    r#"expect status == "paused" || status != "failed""#,
    r#"expect error.class == "tool.gone" && error.attempt == 1"#,
    "expect usage.calls <= 3 && usage.tokens == 0 && usage.cost < 1.0",
    r#"expect steps.found.status == "completed" && steps.found.output.state == "open""#,
    r#"expect steps["mails[0].sent"]?.status == "completed""#,
    r#"expect "recovered" in steps.asked.attributes"#,
    r#"expect tasks.stage.status == "closed" && tasks.stage.context.by == "me""#,
    "expect calls(desk.find) == calls(found) && ran(信.寄) && !ran(sent)",
    "expect before(desk.find, done)",
    r#"expect id == 1 && kind == "a""#,
    "expect diagnostics []",
    "expect diagnostics [unused-let, unknown-name]",
    "snapshot trace",
    "snapshot reply\n    snapshot graph\n    snapshot diagnostics",
    "given [{ tags: [] }, { tags: [\"a\"] }]",
    "given { tags: null, kind: \"b\" }",
];

#[test]
fn what_is_right_passes() {
    let plan = plan();
    for lines in RIGHT {
        let found = codes(&plan, &format!("given {{ id: 1 }}\n    {lines}"));
        assert!(found.is_empty(), "{lines}: {found:?}");
    }
}

/// A line, and its only code.
const WRONG: &[(&str, &str)] = &[
    (
        r#"mock desk.find => { id: "1", state: "open" }"#,
        "wrong-type",
    ),
    ("mock desk.find => { id: 1 }", "wrong-type"),
    (
        r#"mock desk.find => { id: 1, state: "shut" }"#,
        "wrong-type",
    ),
    ("mock desk.find => fail tool.closed", "test-outcome"),
    (
        "mock desk.find => fail transiet.timeout",
        "unknown-error-class",
    ),
    ("mock desk.find => fail denied.human", "test-outcome"),
    ("mock desk.find => fail unknown_outcome", "test-outcome"),
    ("mock desk.find => fail budget.calls", "test-outcome"),
    ("mock desk.find => fail internal", "test-outcome"),
    ("mock desk.find => fail cancelled", "test-outcome"),
    ("mock desk.find => generated times 0", "test-outcome"),
    ("mock desk.find => generated times -1", "test-outcome"),
    (
        "mock desk.find => generated times 99999999999",
        "test-outcome",
    ),
    ("mock desk.find => generated times 2.0", "wrong-type"),
    ("mock desk.find => generated delay 3", "wrong-type"),
    ("mock desk.find(idd: 1) => generated", "unknown-argument"),
    ("mock desk.find(id: true) => generated", "wrong-type"),
    ("mock desk.find(id: found.id) => generated", "unknown-name"),
    ("mock desk.fund => generated", "unknown-tool"),
    ("mock dusk.find => generated", "unknown-namespace"),
    ("mock desk.idle => 1", "unused-mock"),
    ("mock _ => 1", "test-outcome"),
    ("answer form => { why: 1 }", "wrong-type"),
    ("answer form => {}", "wrong-type"),
    ("answer form => fail denied.human", "test-outcome"),
    ("answer form => fail expired", "test-outcome"),
    ("answer form => crash before", "test-outcome"),
    ("answer form.confirm => true", "test-path"),
    ("answer sent.confirm => true", "test-path"),
    ("answer mails.snt.confirm => true", "test-path"),
    ("answer mails[id].sent.confirm => true", "test-path"),
    ("answer found => { happened: true }", "test-path"),
    ("answer done => { happened: true, value: 1 }", "wrong-type"),
    ("answer done.confirm => 1", "wrong-type"),
    ("signal \"gone\" at 1s", "test-path"),
    ("signal \"go\" => { by: 1 } at 1s", "wrong-type"),
    ("signal \"go\" => { by: \"me\" } at 1", "wrong-type"),
    ("signal \"go\" at 1s", "wrong-type"),
    ("signal \"inner=done\" at 1s", "test-path"),
    ("signal \"stage=shut\" at 1s", "unknown-status"),
    ("signal \"stage=open\" => { by: 1 } at 1s", "wrong-type"),
    ("given { idd: 1 }", "unknown-argument"),
    ("given { id: 1.5 }", "wrong-type"),
    ("given { kind: \"c\" }", "wrong-type"),
    ("given { id: 2 }", "duplicate-field"),
    (
        "given [{ id: 2 }, { kind: \"b\" }, { id: 3 }]",
        "duplicate-field",
    ),
    ("given 7", "not-an-object"),
    ("given [7]", "not-an-object"),
    ("expect reply.at", "not-a-bool"),
    ("expect calls(desk.find)", "not-a-bool"),
    ("expect reply.att == \"\"", "unknown-field"),
    ("expect found.id == 1", "unknown-name"),
    ("expect status == \"done\"", "no-overload"),
    ("expect calls(desk.idle) == 0", "test-path"),
    ("expect calls(1) == 0", "test-path"),
    ("expect before(desk.find)", "no-overload"),
    ("expect ran()", "no-overload"),
    ("expect diagnostics [unused-lets]", "unknown-code"),
    (
        "expect diagnostics []\n    expect diagnostics []",
        "duplicate-clause",
    ),
    ("snapshot tracee", "unknown-setting"),
    (
        "snapshot reply\n    snapshot trace\n    snapshot reply",
        "duplicate-clause",
    ),
];

#[test]
fn what_is_wrong_has_one_code() {
    let plan = plan();
    for (lines, code) in WRONG {
        let gives_id = lines.starts_with("given { id: ") && *code != "duplicate-field";
        let given = if gives_id { "" } else { "given { id: 1 }" };
        let found = codes(&plan, &format!("{given}\n    {lines}"));
        assert_eq!(found, [*code], "{lines}");
    }
}

#[test]
fn no_run_of_a_test_is_running() {
    for (status, found) in [("stalled", vec![]), ("running", vec!["no-overload"])] {
        let lines = format!("given {{ id: 1 }}\n    expect status == \"{status}\"");
        assert_eq!(codes(&plan(), &lines), found, "{status}");
    }
}

/// Each of several steps that ask a model may be mocked with a value of its own type.
#[test]
fn mocks_of_a_model_are_of_the_types_of_all_steps() {
    let text = "plan p(n: int) -> string {
    step count = infer(\"count ${n}\") -> { count: int }
    step name = infer(\"name ${n}\") -> { name: string }
    reply \"${count.count} ${name.name}\"
}
test \"both\" for p {
    given { n: 1 }
    mock model.infer(prompt: \"count 1\") => { count: 2 }
    mock model.infer(prompt: \"name 1\") => { name: \"a\" }
    expect reply == \"2 a\"
}
test \"no rows\" for p {
    given { n: 1 }
    given []
    mock model.infer => generated
}
";
    let bench = super::kit::bench(text);
    let found: Vec<_> = bench.suite.checked.diagnostics.iter().collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        text.get(found[0].span.start as usize..)
            .unwrap()
            .starts_with("[]")
    );
}

/// The policy asks the agent for a verdict, the step for a text, and a mock answers the question that its value fits.
#[test]
fn an_agent_that_acts_and_verifies_is_mocked_by_the_types_of_its_answers() {
    let text = "use desk

tool desk.find(id: int) -> string read
tool desk.close(id: int) -> string effect

plan p() -> string {
    policy { verify: agents }
    step one = desk.close(id: 7)
    step asked = ask desk(\"Write to the customer.\") -> string
    reply asked
}
test \"confirmed\" for p {
    mock desk.close => \"closed\"
    mock desk.ask => { verified: true, why: \"seen\" }
    mock desk.ask => \"written\"
    expect reply == \"written\" && calls(desk.ask) == 2
}
test \"denied\" for p {
    mock desk.close => \"closed\"
    mock desk.ask => \"written\"
    mock desk.ask => { verified: false, why: \"it is open\" }
    expect error.class == \"validation.verify\"
}
test \"nobody verifies\" for p {
    mock desk.close => \"closed\"
    mock desk.ask => \"written\"
    expect reply == \"written\" && calls(desk.ask) == 1
}
test \"nobody writes\" for p {
    mock desk.close => \"closed\"
    mock desk.ask => { verified: true, why: \"seen\" }
}
";
    let bench = super::kit::bench(text);
    let ran = bench.run(planrun_test::plantest::suite::SuiteOptions::default());
    let faults: Vec<Vec<&str>> = ran
        .iter()
        .map(|ran| ran.faults.iter().map(|fault| &*fault.message).collect())
        .collect();
    let unanswered =
        "`asked` calls `desk.ask`, but none of its mocks matches this call, or all are used up";
    assert_eq!(faults, [vec![], vec![], vec![], vec![unanswered]]);
}

#[test]
fn every_fix_of_a_test_leaves_nothing_to_find() {
    let plan = plan();
    let mut fixed = 0;
    for (lines, _) in WRONG {
        let text =
            format!("{plan}\ntest \"it\" for settle {{\n    given {{ id: 1 }}\n    {lines}\n}}\n");
        let bench = bench(&text);
        for fix in bench
            .findings()
            .iter()
            .filter(|found| found.span.start as usize > plan.len())
            .filter_map(|found| found.fix.as_ref())
        {
            let mut mended = text.clone();
            let mut edits = fix.edits.clone();
            edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
            for edit in edits {
                mended.replace_range(edit.span.range(), &edit.text);
            }
            let left = codes(
                &plan,
                mended
                    .split_once("settle {\n    ")
                    .unwrap()
                    .1
                    .trim_end()
                    .trim_end_matches('}'),
            );
            let same = left
                .iter()
                .filter(|code| ["test-path", "unknown-code", "unknown-name"].contains(code))
                .count();
            assert_eq!(same, 0, "{lines}: {mended}: {left:?}");
            fixed += 1;
        }
    }
    assert!(fixed > 10, "{fixed}");
}

#[test]
fn all_that_is_required_is_given() {
    let plan = plan();
    assert_eq!(codes(&plan, "mock _ => generated"), ["missing-argument"]);
    assert_eq!(
        codes(&plan, "given [{ id: 1 }, { kind: \"b\" }]"),
        ["missing-argument"]
    );
    assert_eq!(
        codes(
            &plan,
            "given [{ tags: [] }, { kind: \"b\" }]\n    given { id: 1 }"
        ),
        [""; 0]
    );
    assert_eq!(
        codes(&plan, "expect diagnostics []"),
        [""; 0],
        "nothing runs"
    );
}

#[test]
fn a_task_of_a_called_plan_cannot_be_moved() {
    let plans = "plan inner() -> string {
    task agreed \"The customer agrees\" { by: string } external
    step sure = wait for agreed is done
        within 1d
    reply agreed.by ?? \"\"
}

plan outer() -> string {
    step asked = inner()
    reply asked
}
";
    let found = |plan: &str, task: &str| {
        let test = format!(
            "{plans}\ntest \"it\" for {plan} {{\n    signal \"{task}=done\" => {{ by: \"ann\" }} at 1h\n}}\n"
        );
        let found = bench(&test).findings().to_vec();
        found
            .into_iter()
            .map(|found| (found.code.name, found.message, found.help))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("inner", "agreed"), []);
    for task in ["agreed", "asked.agreed"] {
        let message = format!(
            "`{task}` is a task of the called plan `inner`, and nothing outside moves such a task"
        );
        let help = Some("move it in a test of `inner`".to_owned());
        assert_eq!(found("outer", task), [("test-path", message, help)]);
    }
    assert_eq!(
        found("outer", "agred")[0].1,
        "there is no external task `agred`"
    );
}

/// Secrets are redacted in what a failing test reports.
#[test]
fn faults_show_no_secret() {
    let text = "use x

tool x.login(user: string, password: secret) -> { token: secret, n: int } read
tool x.use(token: secret, note: string) -> { n: int } effect

plan p(password: secret) -> string {
    step l = x.login(user: \"u\", password: password)
    step u = x.use(token: l.token, note: \"tok ${l.token}\")
    reply \"got ${u.n}\"
}
test \"unanswered\" for p {
    given { password: \"hunter2!!\" }
    mock x.login => { token: \"tok-123456789\", n: 1 }
}
test \"input\" for p {
    given { password: \"hunter2!!\" }
    mock x.login => { token: \"tok-123456789\", n: 1 }
    mock x.use => { n: 2 }
    expect password == \"z\"
}
";
    shows_no_secret(text, 2);
}

/// Those in results and answers, too.
#[test]
fn faults_show_no_secret_of_a_result_or_an_answer() {
    let text = "use x

tool x.login(user: string) -> { token: secret, n: int } read
tool x.echo(key: secret) -> { text: string } read

plan p(user: string) -> { rows: string[] } {
    step l = x.login(user: user)
    step f = input \"Code?\" -> { code: secret } by \"desk\"
    step a = x.echo(key: l.token)
    step b = x.echo(key: f.code)
    reply { rows: [a.text, b.text] }
}
test \"result\" for p {
    given { user: \"u\" }
    mock x.login => { token: \"tok-123456789\", n: 1 }
    mock x.echo => { text: \"it is ${key}\" }
    answer f => { code: \"hunter2!!\" }
    expect reply.rows[0] == \"a\"
}
test \"answer\" for p {
    given { user: \"u\" }
    mock x.login => { token: \"tok-123456789\", n: 1 }
    mock x.echo => { text: \"it is ${key}\" }
    answer f => { code: \"hunter2!!\" }
    expect reply.rows[1] == \"b\"
}
";
    shows_no_secret(text, 2);
}

fn shows_no_secret(text: &str, faults: usize) {
    let bench = super::kit::bench(text);
    let mut told = 0;
    for ran in bench.run(planrun_test::plantest::suite::SuiteOptions::default()) {
        for fault in ran.faults {
            let text = format!("{fault:?}");
            assert!(text.contains("[redacted]"), "{text}");
            assert!(
                !text.contains("hunter2!!") && !text.contains("tok-1"),
                "{text}"
            );
            told += 1;
        }
    }
    assert_eq!(told, faults);
}

/// The name of a header tells that its value is secret, even if it is too short to be found elsewhere.
#[test]
fn credentials_of_requests_are_not_shown() {
    for token in ["t0ken-4711", "ab"] {
        let text = format!(
            "use http

plan p(token: string) -> any {{
    allow {{ net: [\"api.example.com\"] }}
    step a = http.fetch(url: \"https://api.example.com/\", headers: {{ authorization: \"Bearer ${{token}}\" }})
    reply a.body
}}
test \"unanswered\" for p {{
    given {{ token: \"{token}\" }}
}}
"
        );
        let bench = super::kit::bench(&text);
        let ran = bench.run(planrun_test::plantest::suite::SuiteOptions::default());
        let [fault] = ran[0].faults.as_slice() else {
            panic!("{:#?}", ran[0].faults);
        };
        let help = fault.help.as_deref().unwrap_or_default();
        assert!(help.contains("\"authorization\":\"[redacted]\""), "{help}");
        assert!(!help.contains(token), "{help}");
    }
}

/// What the plan makes of the failed call does not hide it.
#[test]
fn a_mock_without_a_value_fails_its_test() {
    let text = "use x

tool x.find(order: string) -> { cents: int } read

plan p(order: string) -> int {
    step found = x.find(order: order)
        recover _ => { cents: 1 }
    reply found.cents
}
test \"division\" for p {
    given { order: \"A\" }
    mock x.find => { cents: 10 / (size(order) - 1) }
    expect reply == 1
}
";
    let bench = super::kit::bench(text);
    let ran = bench.run(planrun_test::plantest::suite::SuiteOptions::default());
    let [fault] = ran[0].faults.as_slice() else {
        panic!("{:#?}", ran[0].faults);
    };
    assert_eq!(fault.code.name, "call-unanswered");
    assert!(
        fault
            .message
            .contains("cannot evaluate the mock of `x.find`: "),
        "{fault:?}"
    );
}

/// A run takes a signal only if its payload has the types of all receivers, so a test may send no other.
#[test]
fn a_payload_is_of_the_types_of_all_receivers() {
    let plan = "plan settle() -> string {
    step w = wait for signal \"go\" -> { by: string, n?: int } within 1h
        recover expired => { by: \"nobody\" }
    step v = wait for signal \"go\" -> { by: string } within 1h
        recover expired => { by: \"none\" }
    step u = wait for signal \"any\" within 1h
        recover expired => null
    reply \"${w.by} ${v.by}\" when u == null
    reply \"\"
}
";
    for (line, code) in [
        ("signal \"go\" => { by: \"a\" } at 1s", None),
        ("signal \"any\" at 1s", None),
        (
            "signal \"go\" => { by: \"a\", n: 3 } at 1s",
            Some("unknown-field"),
        ),
        ("signal \"go\" at 1s", Some("wrong-type")),
    ] {
        assert_eq!(codes(plan, line), Vec::from_iter(code), "{line}");
    }
}
