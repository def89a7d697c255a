//! `--explore`: each violated invariant is found, and each finding can be reproduced.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::Plan;
use planrun_lang::types::{Effect, ErrorClass};
use planrun_test::plantest::explore::invariants::{Violation, violations};
use planrun_test::plantest::play::{Played, RunOptions};
use planrun_test::plantest::suite::SuiteOptions;
use planrun_test::plantest::world::Called;

use super::kit::{Bench, bench};
use crate::support::{folder, planrun};

const TOOLS: &str = "use api

tool api.read(id: int) -> { n: int } read
tool api.post(id: int) -> { n: int } effect fails full
tool api.drop(id: int) -> { n: int } idempotent
";

/// Plays a plan whose test has these lines.
fn played(plan: &str, test: &str) -> (Bench, Played) {
    let bench = bench(&format!(
        "{TOOLS}\n{plan}\ntest \"it\" for it {{\n    {test}\n}}\n"
    ));
    let case = bench.cases().remove(0);
    let played = bench.play(&case, RunOptions::default());
    (bench, played)
}

/// Returns the plan of a text, to compare the result of another one with it.
fn other(plan: &str) -> (Bench, Arc<Plan>) {
    let bench = bench(&format!("{TOOLS}\n{plan}\n"));
    let plan = bench
        .suite
        .checked
        .plans
        .iter()
        .find(|plan| &*plan.name == "it")
        .unwrap()
        .clone();
    (bench, plan)
}

fn names(plan: &Plan, played: &Played) -> Vec<&'static str> {
    violations(plan, played)
        .iter()
        .map(Violation::name)
        .collect()
}

const POSTS: &str = "plan it() -> int {
    step a = api.post(id: 1)
    step b = api.post(id: 2)
    reply b.n
}";

fn call(played: &mut Played, index: usize, change: impl FnOnce(&mut Called)) {
    change(&mut played.calls[index]);
}

#[test]
fn an_effect_under_two_keys_is_one_too_many() {
    let twice = |change: &dyn Fn(&mut Played)| {
        let (_, mut run) = played(POSTS, "mock api.post => { n: 1 }");
        let again = run.calls[0].clone();
        run.calls.push(again);
        change(&mut run);
        names(&other(POSTS).1, &run)
    };
    assert_eq!(twice(&|_| {}), [""; 0], "the same key is the same effect");
    assert_eq!(
        twice(&|run| call(run, 2, |call| call.key = "another".into())),
        ["effect-twice"]
    );
    assert_eq!(
        twice(&|run| call(run, 2, |call| (call.key, call.happened) =
            ("another".into(), false))),
        [""; 0],
        "a refusal is no effect"
    );
    assert_eq!(
        twice(&|run| {
            for index in [0, 2] {
                call(run, index, |call| call.effect = Effect::Idempotent);
            }
            call(run, 2, |call| call.key = "another".into());
        }),
        [""; 0],
        "what may be repeated may"
    );
    assert_eq!(
        twice(&|run| call(run, 2, |call| (call.key, call.path) =
            ("another".into(), "c".into()))),
        [""; 0]
    );
}

#[test]
fn a_result_that_breaks_its_contract_has_happened() {
    let (_, run) = played(POSTS, "mock api.post => fail validation.result");
    assert!(run.calls[0].happened);
    let (_, run) = played(POSTS, "mock api.post => fail tool.full");
    assert!(!run.calls[0].happened);
    let (_, run) = played(POSTS, "mock api.post => fail transient.timeout");
    assert!(run.calls[0].happened, "nobody knows");
}

#[test]
fn what_went_out_before_anybody_agreed_is_seen() {
    let gated = "plan it() -> int {
    step a = api.post(id: 1)
        confirm \"Post?\"
    step b = api.post(id: 2)
    reply b.n
}";
    let (_, run) = played(POSTS, "mock api.post => { n: 1 }");
    assert_eq!(names(&other(gated).1, &run), ["ungated"]);
    let (bench, run) = played(
        gated,
        "mock api.post => { n: 1 }\n    answer a.confirm => true",
    );
    assert_eq!(names(&bench.suite.checked.plans[0], &run), [""; 0]);
}

#[test]
fn gates_are_those_of_the_plan_in_which_the_step_stands() {
    let gate = |outer: &str, inner: &str| {
        format!(
            "plan pay() -> int {{
    step a = api.post(id: 3)
        {inner}
    reply a.n
}}

plan it() -> int {{
    step a = api.post(id: 1)
        {outer}
    step paid = shop.pay()
    reply paid
}}"
        )
    };
    // Plans of other files are called through a namespace; with both plans in one file, the paths would differ.
    let files = |outer: &str, inner: &str| {
        let text = gate(outer, inner);
        let (pay, it) = text.split_once("\n\nplan it").unwrap();
        let pay = format!("{TOOLS}\n{pay}\n");
        let it = format!(
            "use \"./pay.plan\" as shop\n{TOOLS}\nplan it{it}\n\ntest \"it\" for it {{\n    mock api.post => {{ n: 1 }}\n    answer a.confirm => true\n}}\n"
        );
        (pay, it)
    };
    for (outer, inner) in [("confirm \"Post?\"", ""), ("", "confirm \"Pay?\"")] {
        let (pay, mut it) = files(outer, inner);
        if outer.is_empty() {
            it = it.replace("answer a.confirm", "answer paid.a.confirm");
        }
        let folder = folder([("pay.plan", pay), ("it.plan", it)]);
        let output = planrun(["test", "--explore", "--seeds", "1", "."])
            .within(folder.path())
            .run();
        assert_eq!(output.status, 0, "{}", output.stdout);
    }
}

const UNDOES: &str = "plan it() -> int {
    step a = api.post(id: 1)
        undo api.drop(id: 1)
    step b = api.post(id: 2)
    reply b.n
}";

#[test]
fn what_is_not_taken_back_is_seen() {
    let fails = "mock api.post(id: 1) => { n: 1 }\n    mock api.post => fail tool.full\n    mock api.drop => { n: 0 }";
    let (_, run) = played(
        POSTS,
        "mock api.post(id: 1) => { n: 1 }\n    mock api.post => fail tool.full",
    );
    assert_eq!(names(&other(UNDOES).1, &run), ["not-undone"]);
    let (bench, run) = played(UNDOES, fails);
    assert_eq!(names(&bench.suite.checked.plans[0], &run), [""; 0]);
    for class in ["unknown_outcome", "validation.result"] {
        let (_, run) = played(POSTS, &format!("mock api.post => fail {class}"));
        assert_eq!(names(&other(UNDOES).1, &run), ["not-undone"], "{class}");
        let (bench, run) = played(
            UNDOES,
            &format!("mock api.post => fail {class}\n    mock api.drop => {{ n: 0 }}"),
        );
        assert_eq!(
            names(&bench.suite.checked.plans[0], &run),
            [""; 0],
            "{class}"
        );
    }
    let (_, run) = played(POSTS, "mock api.post => fail tool.full");
    assert_eq!(
        names(&other(UNDOES).1, &run),
        [""; 0],
        "nothing had happened"
    );
    let settles = UNDOES.replace("-> int {", "-> int {\n    policy { on_failure: settle }");
    let (_, run) = played(
        POSTS,
        "mock api.post(id: 1) => { n: 1 }\n    mock api.post => fail tool.full",
    );
    assert_eq!(
        names(&other(&settles).1, &run),
        [""; 0],
        "it says that nothing is taken back"
    );
}

#[test]
fn what_need_not_be_taken_back_is_not_missed() {
    let plans = [
        // A block without effects.
        (
            "plan it() -> int {
    step first = api.read(id: 1)
    step a = do {
        step done = api.post(id: 1)
            when first.n > 5
        yield done?.n ?? 0
    }
        undo api.drop(id: 1)
    step b = api.post(id: 2)
    reply b.n
}",
            "mock api.read => { n: 1 }\n    mock api.post => fail tool.full\n    mock api.drop => { n: 0 }",
        ),
        // A failure after all steps have settled: nothing is undone any more.
        (
            "plan it() {
    step a = api.post(id: 1)
        undo api.drop(id: 1)
    listener last on plan is completed {
        step told = api.post(id: 9)
    }
}",
            "mock api.post(id: 1) => { n: 1 }\n    mock api.post => fail tool.full\n    mock api.drop => { n: 0 }",
        ),
        // A step that recovered from a refusal has no effect to undo; one that recovered from an unknown outcome has.
        (
            "plan it() -> int {
    step a = api.post(id: 1)
        recover tool.full => { n: 0 }
        undo api.drop(id: 1)
    step c = api.post(id: 3)
        recover unknown_outcome => { n: 0 }
        undo api.drop(id: 3)
    step b = api.post(id: 2)
    reply b.n + a.n + c.n
}",
            "mock api.post(id: 3) => fail unknown_outcome\n    mock api.post => fail tool.full\n    mock api.drop => { n: 0 }",
        ),
    ];
    for (plan, test) in plans {
        let (bench, run) = played(plan, test);
        assert_eq!(run.state, RunState::Failed, "{plan}");
        assert_eq!(
            names(&bench.suite.checked.plans[0], &run),
            [""; 0],
            "{plan}"
        );
    }
}

#[test]
fn other_things_that_must_not_be_are_seen() {
    let (_, mut run) = played(POSTS, "mock api.post => { n: 1 }");
    let budget = POSTS.replace("-> int {", "-> int {\n    policy { budget: { calls: 1 } }");
    assert_eq!(names(&other(&budget).1, &run), ["over-budget"]);
    let text = POSTS
        .replace("-> int", "-> string")
        .replace("b.n", "string(b.n)");
    assert_eq!(names(&other(&text).1, &run), ["reply-type"]);
    let plan = other(POSTS).1;
    run.state = RunState::Stalled;
    assert_eq!(names(&plan, &run), ["stalled"]);
    run.outcome = None;
    assert_eq!(names(&plan, &run), ["stands-still"]);
    let (_, mut run) = played(POSTS, "mock api.post => fail tool.full");
    for (class, violation) in [
        (ErrorClass::Internal, "internal"),
        (
            ErrorClass::find("validation.expression").unwrap(),
            "plan-fault",
        ),
        (
            ErrorClass::find("validation.arguments").unwrap(),
            "plan-fault",
        ),
    ] {
        let outcome = run.outcome.as_mut().unwrap();
        let mut error = (**outcome.error.as_ref().unwrap()).clone();
        error.class = class;
        outcome.error = Some(Arc::new(error));
        assert_eq!(names(&plan, &run), [violation]);
    }
}

const TROUBLED: &str = r#"use desk, mail

tool desk.find(id: int) -> { names: string[] } read fails gone
tool desk.take(id: int) -> { ok: bool } effect fails full
tool mail.send(to: string) -> { id: string } effect

plan first(id: int) -> string {
    step found = desk.find(id: id)
        recover tool.gone => { names: [] }
    step sent = mail.send(to: found.names[0])
    reply sent.id
}

plan waits(id: int) -> bool {
    task stage "Where it is" statuses [open, closed]
    step taken = desk.take(id: id)
        recover tool.full => { ok: false }
    set stage closed when taken.ok
    step over = wait for stage is closed
    reply taken.ok
}

plan order(id: int) -> string[] {
    step one = desk.find(id: id)
    step two = desk.find(id: id)
    reply one.names + two.names
}

test "somebody is there: ${not} \"a name\"" for first {
    given { id: 7 }
    mock desk.find(id: 7) => { names: ["a ${1}{b}"] }
    mock mail.send => { id: "m" }
    expect reply == "m" && calls(desk.find) == 1
}

test "it closes" for waits {
    given { id: 1 }
    mock desk.take => { ok: true }
    expect reply == true
}

test "one after the other" for order {
    given { id: 1 }
    mock desk.find => { names: ["a"] } times 1, then { names: ["b"] }
    expect size(reply) == 2
}
"#;

/// Returns the printed tests, without the parts that differ between machines.
fn explored(folder: &Path) -> String {
    let output = planrun(["test", "--explore", "."]).within(folder).run();
    assert_eq!(output.status, 1, "{output:?}");
    output.stdout.split_once(")\n").unwrap().1.to_owned()
}

#[test]
fn what_is_found_is_shown_again_by_the_test_that_is_printed() {
    let text = TROUBLED.replace("${not} ", "");
    let folder = folder([("trouble.plan", &text)]);
    let printed = explored(folder.path());
    insta::assert_snapshot!("explored", printed);
    let tests: Vec<String> = printed
        .split("\n\n")
        .filter(|part| part.starts_with("test "))
        .map(str::to_owned)
        .collect();
    assert_eq!(tests.len(), printed.matches("FOUND").count(), "{printed}");
    for kind in ["plan-fault", "stalled", "order-dependent"] {
        assert!(printed.contains(&format!("[{kind}]")), "{kind}: {printed}");
    }
    for test in tests {
        let path = folder.path().join("trouble.plan");
        std::fs::write(&path, format!("{text}\n{test}\n")).unwrap();
        let seeds = test
            .split_once("--seeds ")
            .map_or("0", |(_, rest)| rest.split_whitespace().next().unwrap());
        let output = planrun(["test", "-k", "explored:", "--seeds", seeds, "."])
            .within(folder.path())
            .run();
        assert_eq!(output.status, 1, "{test}\n{output:?}");
        assert!(
            output.stdout.contains("0 passed, 1 failed"),
            "{test}\n{}",
            output.stdout
        );
        std::fs::write(&path, &text).unwrap();
    }
}

#[test]
fn what_is_found_in_the_json_form_is_shown_as_text() {
    let text = TROUBLED.replace("${not} ", "");
    let folder = folder([("trouble.plan", &text)]);
    let printed = explored(folder.path());
    let file = folder.path().join("trouble.plan");
    let exported = planrun(["export", "trouble.plan"])
        .within(folder.path())
        .run();
    std::fs::write(file.with_extension("plan.json"), exported.stdout).unwrap();
    std::fs::remove_file(file).unwrap();
    let of_json = explored(folder.path());
    assert_eq!(of_json.replace("plan.json", "plan"), printed);
}

const SECRETS: &str = r#"use x

tool x.login(user: string) -> { token: secret, n: int } read
tool x.use(token: secret, n: int) -> { n: int } effect
tool x.note(token: secret) -> { text: string } read

plan generated(user: string) -> int {
    step login = x.login(user: user)
    step used = x.use(token: login.token, n: 1)
    reply 12 / used.n
}

plan both(user: string) -> string {
    step one = x.login(user: user)
    step two = x.login(user: user)
    step note = x.note(token: one.token)
    reply "${note.text} ${two.n}"
}

test "made up" for generated {
    given { user: "kim" }
    mock x.login => generated
    mock x.use => generated
}

test "one answer after the other" for both {
    given { user: "kim" }
    mock x.login => { token: "tok-1-of-two", n: 1 }, then { token: "tok-2-of-two", n: 2 }
    mock x.note => { text: "used ${token}" }
    expect size(reply) > 0
}
"#;

/// The reports of a run are redacted, and a test with `[redacted]` in it would be another test.
#[test]
fn what_is_found_behind_secrets_is_shown_again() {
    let folder = folder([("secrets.plan", SECRETS)]);
    let printed = explored(folder.path());
    assert!(!printed.contains("[redacted]"), "{printed}");
    let parts = printed.split("\n\n");
    let tests: Vec<&str> = parts.filter(|part| part.starts_with("test ")).collect();
    assert_eq!(tests.len(), 2, "{printed}");
    for test in tests {
        let file = folder.path().join("secrets.plan");
        std::fs::write(&file, format!("{SECRETS}\n{test}\n")).unwrap();
        let run = |seeds: &str| {
            planrun(["test", "-k", "explored:", "--seeds", seeds, "."])
                .within(folder.path())
                .run()
        };
        if test.contains("--seeds") {
            assert_eq!(run("0").status, 0, "{test}");
            let flaky = run("8");
            assert_eq!(flaky.status, 1, "{test}\n{flaky:?}");
            assert!(
                flaky.stdout.contains("fails in the order of seed"),
                "{flaky:?}"
            );
        } else {
            let failed = run("0");
            assert!(
                failed.stdout.contains("(validation.expression: divide by"),
                "{test}\n{failed:?}"
            );
        }
    }
}

/// The printed test has no recording, so it contains the recorded answers.
#[test]
fn what_is_found_with_a_recording_is_shown_again() {
    let plan = r#"use x

tool x.find(id: int) -> { n: int } read fails gone

plan it(id: int) -> int {
    step one = x.find(id: id)
    step two = x.find(id: one.n)
        recover tool.gone => { n: 0 }
    reply one.n / two.n
}

test "recorded" for it {
    given { id: 1 }
    expect reply == 2
}
"#;
    let answers = [(1, 4), (4, 2)].map(|(id, n)| {
        let path = if id == 1 { "one" } else { "two" };
        format!(
            "  - path: {path}\n    call: 1\n    tool: x.find\n    contract: CONTRACT\n    arguments:\n      id: {id}\n    value:\n      n: {n}\n"
        )
    });
    let bench = bench(plan);
    let calls = bench.suite.checked.plans[0].tool_calls();
    let contract = calls.map(|signature| signature.digest()).next().unwrap();
    let recording = format!("version: 1\ncalls:\n{}", answers.concat());
    let recording = recording.replace("CONTRACT", &format!("\"{contract}\""));
    let folder = folder([
        ("it.plan", plan),
        ("recordings/it__recorded.yaml", &recording),
    ]);
    let printed = explored(folder.path());
    let test = printed.split("\n\n").find(|part| part.starts_with("test "));
    let test = test.unwrap();
    std::fs::write(folder.path().join("it.plan"), format!("{plan}\n{test}\n")).unwrap();
    let output = planrun(["test", "-k", "explored:", "."])
        .within(folder.path())
        .run();
    assert!(
        output.stdout.contains("(validation.expression: divide by"),
        "{test}\n{output:?}"
    );
}

/// A plan that pauses where it is not known whether its call has happened.
const DOUBTS: &str = "plan it() -> int {
    policy { on_failure: pause }
    step a = api.post(id: 1)
    reply a.n
}";

/// Explores a test of [`DOUBTS`] with these lines, and returns what is printed.
fn explored_doubts(lines: &str) -> String {
    let test = format!("{TOOLS}\n{DOUBTS}\n\ntest \"it\" for it {{\n    {lines}\n}}\n");
    let folder = folder([("it.plan", test)]);
    let output = planrun(["test", "--explore", "--seeds", "1", "."])
        .within(folder.path())
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    output.stdout.split_once(")\n").unwrap().1.to_owned()
}

#[test]
fn an_unknown_outcome_is_answered_once_for_each_fault() {
    let lines = "mock api.post => fail unknown_outcome\n    expect status == \"paused\"";
    assert_eq!(explored_doubts(lines), "explored 19 runs: 0 found\n");
}

#[test]
fn a_run_that_makes_too_many_calls_is_stopped_and_counted() {
    // With the fault, the outcome is unknown each time, and each time the answer is that nothing has happened.
    let lines = "mock api.post => fail unknown_outcome times 1, then { n: 1 }
    answer a => { happened: false }
    expect reply == 1";
    assert_eq!(
        explored_doubts(lines),
        "explored 19 runs: 0 found\n2 runs stopped: a step was called again and again\n"
    );
}

#[test]
fn a_test_that_answers_for_ever_fails() {
    let lines = "mock api.post => fail unknown_outcome\n    answer a => { happened: false }
    expect status == \"paused\"";
    let text = format!("{TOOLS}\n{DOUBTS}\n\ntest \"it\" for it {{\n    {lines}\n}}\n");
    let ran = super::kit::bench(&text).run(SuiteOptions::default());
    let faults: Vec<&str> = ran[0].faults.iter().map(|fault| &*fault.message).collect();
    assert_eq!(faults, ["the run does not end: `a` was called 1000 times"]);
}

#[test]
fn what_is_known_not_to_have_happened_needs_no_undo() {
    // The outcome of `x` is unknown, and `undo` reads its result, so that a person is asked what it was.
    let asks = "plan it() -> int {
    step x = api.post(id: 1)
        recover unknown_outcome => { n: 0 }
        undo api.drop(id: x.n)
    step y = api.post(id: 2)
    reply y.n
}";
    // The arm loses an answer, while the call of the step was refused.
    let refused = "plan it() -> int {
    step x = api.post(id: 1)
        recover tool.full => do {
            step told = api.post(id: 3)
            fail tool.full \"no room\"
        }
        undo api.drop(id: 1)
    reply x.n
}";
    let lines = [
        (
            asks,
            "mock api.post(id: 1) => fail transient.timeout\n    mock api.post(id: 2) => fail tool.full
    mock api.drop => { n: 1 }\n    expect status == \"paused\" && calls(api.drop) == 0",
        ),
        (
            refused,
            "mock api.post(id: 1) => fail tool.full\n    mock api.post(id: 3) => { n: 1 }
    mock api.drop => { n: 1 }\n    expect status == \"failed\" && calls(api.drop) == 0",
        ),
    ];
    for (plan, lines) in lines {
        let test = format!("{TOOLS}\n{plan}\n\ntest \"it\" for it {{\n    {lines}\n}}\n");
        let folder = folder([("it.plan", test)]);
        let output = planrun(["test", "--explore", "--seeds", "1", "."])
            .within(folder.path())
            .run();
        assert_eq!(output.status, 0, "{plan}: {output:?}");
        assert!(!output.stdout.contains("not-undone"), "{output:?}");
    }
}
