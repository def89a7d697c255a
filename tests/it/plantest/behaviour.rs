//! The view of tests on runs: the plans in `tests/fixtures/plantest` with tests that pass, and those in `failing` with
//! tests that fail, each for its reason.

use std::path::PathBuf;

use planrun_core::run::Order;
use planrun_lang::types::check_value;
use planrun_test::plantest::play::RunOptions;
use planrun_test::plantest::suite::{SuiteOptions, unused_in_every_row};
use planrun_test::plantest::trace::trace;

use super::kit::bench;
use crate::support::{compare, planrun, root};

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "plan"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{folder}");
    files
}

#[test]
fn every_test_of_the_fixtures_passes_in_every_order() {
    for path in files("tests/fixtures/plantest") {
        let bench = bench(&std::fs::read_to_string(&path).unwrap());
        for ran in bench.run(SuiteOptions {
            seeds: 12,
            ..SuiteOptions::default()
        }) {
            let faults: Vec<&str> = ran
                .faults
                .iter()
                .map(|fault| fault.message.as_str())
                .collect();
            assert!(
                faults.is_empty(),
                "{}: {}: {faults:#?}",
                path.display(),
                ran.title
            );
        }
    }
}

/// The result of a case is deterministic, although its idempotency keys are random.
#[test]
fn a_case_comes_to_the_same_text_each_time() {
    for path in files("tests/fixtures/plantest") {
        let bench = bench(&std::fs::read_to_string(&path).unwrap());
        for case in bench.cases() {
            let trace_of = || {
                trace(
                    bench.program(&case),
                    &bench.play(&case, RunOptions::default()),
                )
            };
            assert_eq!(
                trace_of(),
                trace_of(),
                "{}: {}",
                path.display(),
                case.title()
            );
        }
    }
}

/// `PLANRUN_BLESS=1` rewrites the expected output; read it from the view of a user whose test has failed.
#[test]
fn every_failure_is_told_with_its_reason() {
    let folder = root().join("tests/fixtures/plantest/failing");
    let output = planrun(["test", "."])
        .within(&folder)
        .variable("CI", "1")
        .without_variable("INSTA_UPDATE")
        .run();
    let (printed, last) = output.stdout.trim_end().rsplit_once('\n').unwrap();
    let counts = last.split(" (").next().unwrap();
    compare(
        &folder.join("expected.txt"),
        &format!(
            "{printed}\n{counts}\n{}exit {}\n",
            output.stderr, output.status
        ),
    )
    .unwrap();
}

const MADE_UP: &str = r#"use api

type Item = { name: string, size: int, tag?: "a" | "b" }

tool api.list(page: int) -> { items: Item[], next?: int, at: timestamp, ratio: double } read

plan both(page: int) -> string {
    step one = api.list(page: page)
    step two = api.list(page: page + 1)
    reply json(one)
}

test "made up" for both {
    given { page: 1 }
    mock _ => generated
}
"#;

#[test]
fn what_is_made_up_fits_its_contract_and_is_the_same_for_the_same_seed() {
    let bench = bench(MADE_UP);
    let case = &bench.cases()[0];
    let signature = bench
        .program(case)
        .plan
        .body()
        .nodes
        .iter()
        .find_map(|node| match &node.step()?.kind {
            planrun_lang::sema::StepKind::Call(call) => match &call.target {
                planrun_lang::sema::Target::Tool(signature) => Some(signature.clone()),
                planrun_lang::sema::Target::Plan(..) => None,
            },
            _ => None,
        });
    let signature = signature.unwrap();
    let returns = signature.returns.clone();
    let outputs = |options: RunOptions| {
        let played = bench.play(case, options);
        assert_eq!(
            played.state.name(),
            "completed",
            "{}",
            trace(bench.program(case), &played)
        );
        let steps = played.outcome.unwrap().steps();
        for step in &steps {
            check_value(&step.output, &returns)
                .unwrap_or_else(|mismatch| panic!("{mismatch}: {}", step.output));
        }
        steps
            .iter()
            .map(|step| step.output.to_json())
            .collect::<Vec<_>>()
    };
    let usual = outputs(RunOptions::default());
    assert_eq!(
        usual,
        outputs(RunOptions {
            order: Order::Seeded(3),
            ..RunOptions::default()
        }),
        "the order changes nothing"
    );
    assert_ne!(
        usual,
        outputs(RunOptions {
            seed: 1,
            ..RunOptions::default()
        }),
        "another seed makes up something else"
    );
    assert_ne!(usual[0], usual[1], "other arguments give another result");
    let edges = bench.environment.results.edges(&signature);
    assert!(edges > 3, "{edges}");
    let mut seen = vec![usual.clone()];
    for edge in 0..edges {
        let made = outputs(RunOptions {
            edge: Some(edge),
            ..RunOptions::default()
        });
        seen.push(made);
    }
    seen.dedup();
    assert!(seen.len() > 3, "edges differ");
    assert!(
        seen.iter()
            .any(|made| made[0]["items"].as_array().is_some_and(Vec::is_empty)),
        "an empty list is an edge"
    );
}

const HANGS_ON_ORDER: &str = r#"use a, b

tool a.write(n: int) -> { seen: int } effect
tool b.write(n: int) -> { seen: int } effect
tool b.next() -> { seen: int } read

plan race() -> { first: int, second: int } {
    step one = b.next()
    step two = b.next()
    step x = a.write(n: one.seen)
    step y = b.write(n: two.seen)
    reply { first: x.seen, second: y.seen }
}

test "it is taken for granted who comes first" for race {
    mock b.next => { seen: 1 }, then { seen: 2 }
    mock a.write => { seen: n }
    mock b.write => { seen: n }
    expect reply == { first: 1, second: 2 }
}
"#;

#[test]
fn a_test_that_hangs_on_the_order_is_flaky() {
    let bench = bench(HANGS_ON_ORDER);
    assert!(bench.run(SuiteOptions::default())[0].faults.is_empty());
    let ran = &bench.run(SuiteOptions {
        seeds: 20,
        ..SuiteOptions::default()
    })[0];
    assert!(ran.is_flaky);
    let message = &ran.faults[0].message;
    assert!(
        message.starts_with("it passes in source order, but fails in the order of seed "),
        "{message}"
    );
}

#[test]
fn rows_are_crossed_and_the_last_table_changes_fastest() {
    let text = r#"plan add(a: int, b: int) -> int {
    reply a + b
}

test "sums" for add {
    given [{ a: 1 }, { a: 2 }]
    given [{ b: 10 }, { b: 20 }, { b: 30 }]
    expect reply == a + b && reply > 10
}

test "one row has no number" for add {
    given [{ a: 1, b: 1 }]
}
"#;
    let bench = bench(text);
    let titles: Vec<String> = bench
        .run(SuiteOptions::default())
        .into_iter()
        .map(|ran| ran.title)
        .collect();
    let expected = [
        "sums #1",
        "sums #2",
        "sums #3",
        "sums #4",
        "sums #5",
        "sums #6",
        "one row has no number",
    ];
    assert_eq!(titles, expected);
    let inputs: Vec<String> = bench
        .cases()
        .iter()
        .take(6)
        .map(|case| {
            case.inputs
                .values()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("+")
        })
        .collect();
    assert_eq!(inputs, ["1+10", "1+20", "1+30", "2+10", "2+20", "2+30"]);
}

#[test]
fn too_many_rows_are_refused() {
    let rows = (0..101)
        .map(|n| format!("{{ a: {n} }}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        "plan add(a: int, b: int) -> int {{\n    reply a + b\n}}\n\ntest \"many\" for add {{\n    given [{rows}]\n    given [{}]\n    expect reply >= 0\n}}\n",
        rows.replace("a:", "b:")
    );
    let ran = bench(&text).run(SuiteOptions::default());
    assert_eq!(ran.len(), 1);
    assert_eq!(
        ran[0].faults[0].message,
        "the tables of this test have more than 10000 combined rows"
    );
}

#[test]
fn b12_an_answer_that_nobody_asks_for_fails_the_test() {
    let plan = "plan p(n: int) -> int {
    step form = input \"how many?\" -> { a: int }
        when n > 1
    reply form?.a ?? 0
}
";
    let faults = |given: &str| {
        let text = format!(
            "{plan}test \"t\" for p {{ given {given} answer form => {{ a: 2 }} expect reply in [0, 2] }}\n"
        );
        let mut ran = bench(&text).run(SuiteOptions::default());
        unused_in_every_row(&mut ran);
        ran.iter()
            .map(|ran| {
                ran.faults
                    .iter()
                    .map(|fault| fault.code.name)
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(faults("{ n: 2 }"), [[]; 1] as [[&str; 0]; 1]);
    assert_eq!(faults("{ n: 1 }"), [["answer-unused"]]);
    // It is enough that one row of a table uses the answer.
    assert_eq!(faults("[{ n: 1 }, { n: 2 }]"), [[]; 2] as [[&str; 0]; 2]);
    assert_eq!(
        faults("[{ n: 1 }, { n: 0 }]"),
        [vec!["answer-unused"], Vec::new()]
    );
}

#[test]
fn b12_the_command_shows_which_answer_it_was() {
    let text = "plan p() -> int { reply 1 }
plan q(n: int) -> int {
    step form = input \"how many?\" -> { a: int }
        when n > 1
    reply form?.a ?? 0
}
test \"t\" for q { given { n: 1 } answer form => { a: 2 } expect reply == 0 }
";
    let folder = crate::support::folder([("a.plan", text)]);
    let output = planrun(["test"]).within(folder.path()).run();
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(
        output
            .stdout
            .contains("this answer is never used: the run never waits at `form`"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_arguments_of_a_step_that_was_not_called_are_told_as_that() {
    let plan = "use sys plan p() -> string {
        step one = sys.fail(class: \"tool.failed\", message: \"no\")
        step two = sys.echo(value: { text: \"a\" }) after one
        reply two.text
    }
    test \"t\" for p {
        expect status == \"failed\"
        expect steps.two.arguments.value.text == \"a\"
    }";
    let place = crate::support::folder([("a.plan", plan)]);
    let output = crate::support::planrun(["test", "a.plan"])
        .within(place.path())
        .run();
    assert_eq!(output.status, 1, "{output:?}");
    let told = "`two` was not called, so it has no arguments";
    assert!(output.stdout.contains(told), "{output:?}");
}

/// Returns the messages of what is wrong with the tests of a plan.
fn faults(text: &str) -> Vec<String> {
    let ran = bench(text).run(SuiteOptions::default());
    let faults = ran.iter().flat_map(|ran| &ran.faults);
    faults.map(|fault| fault.message.clone()).collect()
}

#[test]
fn a_null_input_is_null_if_its_type_has_null() {
    let text = "plan main(n: int? = 3, m: int = 4, k?: int) -> string {
    reply \"${n ?? 7} ${m} ${k ?? 8}\"
}
test \"null\" for main {
    given { n: null, m: null, k: null }
    expect reply == \"7 4 8\"
}
test \"left out\" for main {
    expect reply == \"3 4 8\"
}
";
    assert_eq!(faults(text), Vec::<String>::new());
}

#[test]
fn a_form_may_have_a_field_named_by() {
    let text = "plan it() -> string {
    step f = input \"Who?\" -> { by: string, note: string } by \"desk\"
    reply \"${f.by} ${f.note}\"
}
test \"it\" for it {
    answer f => { by: \"ann\", note: \"n\" }
    expect reply == \"ann n\"
}
";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn a_whole_number_without_a_type_keeps_its_fraction() {
    let text = "use odd

tool odd.get(k: any) -> any read

plan it(x: any) -> any {
    step a = odd.get(k: x)
    reply { half: a.n / 2, list: json(a.list), k: json(x) }
}
test \"it\" for it {
    given { x: 3.0 }
    mock odd.get => { n: 5.0, list: [1.0, 2, 2.5] }
    expect reply == { half: 2.5, list: \"[1.0,2,2.5]\", k: \"3.0\" }
    expect json(steps.a.arguments) == \"{\\\"k\\\":3.0}\"
}
";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn an_expectation_reads_defaults_that_read_other_inputs() {
    let text = "plan it(a: int, b: int = a + 1, c: string = \"t${b}\") -> int {
    reply b
}
test \"default\" for it {
    given { a: 1 }
    expect b == 2 && reply == b && c == \"t2\"
}
test \"given\" for it {
    given { a: 1, b: 7 }
    expect b == 7 && reply == b && c == \"t7\"
}
";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn calls_of_a_step_are_the_same_for_a_block_and_for_a_plan() {
    let tools = "use x

tool x.make(n: int) -> { id: string } effect fails busy
tool x.unmake(id: string) -> { ok: bool } idempotent
tool x.look(n: int) -> { n: int } read

plan inner() -> string {
BODY    reply i.id
}
";
    let body = "    step i = x.make(n: 1)
        undo x.unmake(id: i.id)
        verify x.look(n: 1) as v => v.n == 1
";
    let tests = "plan it() -> string {
    step s = WORK
    step z = x.make(n: 2)
    reply s
}
test \"undone\" for it {
    mock x.make(n: 2) => fail tool.busy
    mock x.make => { id: \"i\" }
    mock x.look => { n: 1 }
    mock x.unmake => { ok: true }
    expect status == \"failed\" && calls(x.unmake) == 1
    expect calls(s) == 1 && before(s, z)
}
test \"verified\" for it {
    mock x.make => { id: \"i\" }
    mock x.look => { n: 1 }
    expect calls(x.look) == 1
    expect calls(s) == 1 && before(s, z)
}
";
    for work in ["inner()", &format!("do {{\n{body}    yield i.id\n}}")] {
        let text = tools.replace("BODY", body) + &tests.replace("WORK", work);
        assert_eq!(faults(&text), [""; 0], "{work}");
    }
}

#[test]
fn ids_do_not_depend_on_the_order() {
    let text = "use sys

plan it() -> string {
    step one = sys.uuid()
    step two = sys.uuid()
    step list = each n in [1, 2] max 2 { step id = sys.uuid()  yield id }
    reply \"${one} ${two} ${list[0]} ${list[1]}\"
}
test \"it\" for it {
    expect size(reply) == 4 * 36 + 3 && steps.one.output != steps.two.output
    snapshot reply
}
";
    let bench = bench(text);
    let ran = bench.run(SuiteOptions {
        seeds: 10,
        ..SuiteOptions::default()
    });
    let messages: Vec<_> = ran[0].faults.iter().map(|fault| &fault.message).collect();
    assert!(messages.is_empty(), "{messages:?}");
    let ids: Vec<&str> = ran[0].snapshots[0].text.split_whitespace().collect();
    let ids: std::collections::BTreeSet<&str> = ids.into_iter().collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[test]
fn a_plan_with_errors_is_not_run() {
    let text = "plan broken() -> int {
    reply fund
}
plan outer() -> int {
    step b = broken()
    reply 1
}
test \"expected\" for broken {
    expect diagnostics [unknown-name]
}
test \"run\" for broken {
    expect status == \"failed\" || status != \"failed\"
}
test \"called\" for outer {
    expect status == \"failed\" || status != \"failed\"
}
";
    let told = "`broken` has errors, so it cannot run";
    assert_eq!(faults(text), [told, told]);
}

#[test]
fn a_run_that_waits_too_long_is_told_as_that() {
    let text = "plan it() -> int {
    step pause = wait 8000d
    reply 1
}
test \"it\" for it {}
";
    let told =
        "the run has not ended after twenty years of virtual time, the most that a test supports";
    assert_eq!(faults(text), [told]);
}

#[test]
fn an_answer_for_one_element_comes_before_one_for_all() {
    let text = "use x

tool x.make(n: int) -> { id: string } effect

plan it() -> string[] {
    step r = each n in [1, 2, 3] max 3 {
        step e = x.make(n: n)
            confirm \"Make ${n}?\"
            recover denied.human => { id: \"no\" }
        yield e.id
    }
    reply r
}
test \"it\" for it {
    mock x.make => { id: \"yes\" }
    answer r.e.confirm => true
    answer r[1].e.confirm => fail denied.human
    expect reply == [\"yes\", \"no\", \"yes\"]
}
";
    assert_eq!(faults(text), [""; 0]);
}
