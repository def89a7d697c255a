//! `--explore` takes every path of a plan: for each case, behind calls that the test does not mock, and beside failures
//! that the test has itself.

use crate::support::{folder, planrun};

const TOOLS: &str = "use lab

tool lab.echo(n: int) -> { n: int } read
tool lab.other(n: int) -> { n: int } read
tool lab.odd(n: int) -> any read
tool lab.make(n: int) -> { id: string } effect fails busy
tool lab.unmake(id: string) -> { ok: bool } idempotent
";

/// Explores the tests of this text.
fn explored(text: &str) -> String {
    let folder = folder([("it.plan", format!("{TOOLS}\n{text}\n"))]);
    let output = planrun(["test", "--explore", "--seeds", "1", "."])
        .within(folder.path())
        .run();
    output.stdout.split_once(")\n").unwrap().1.to_owned()
}

/// Explores tests, and returns what the printed test of their only finding says when it is run.
fn reproduced(text: &str) -> String {
    let printed = explored(text);
    let tests = printed
        .split("\n\n")
        .filter(|part| part.starts_with("test "));
    let tests: Vec<&str> = tests.collect();
    assert_eq!(tests.len(), 1, "{printed}");
    let text = format!("{TOOLS}\n{text}\n{}\n", tests[0]);
    let folder = folder([("it.plan", text)]);
    let output = planrun(["test", "-k", "explored:"])
        .within(folder.path())
        .run();
    assert!(
        output.stdout.contains("(validation.expression: divide by"),
        "{printed}\n{output:?}"
    );
    output.stdout
}

const KINDS: &str = "plan it(kind: \"a\" | \"b\") -> int {
    step p = lab.echo(n: 1)
        recover transient => null
    reply 1 when kind == \"a\"
    reply 10 / (has(p) ? p.n : 0)
}
";

#[test]
fn every_row_and_every_test_has_its_own_faults() {
    let rows = "test \"both\" for it {
    given [{ kind: \"a\" }, { kind: \"b\" }]
    mock lab.echo => { n: 5 }
    expect reply == (kind == \"a\" ? 1 : 2)
}";
    reproduced(&format!("{KINDS}{rows}"));
    let test = |kind| {
        format!(
            "test \"{kind}\" for it {{\n    given {{ kind: \"{kind}\" }}\n    mock lab.echo => {{ n: 5 }}\n}}\n"
        )
    };
    reproduced(&format!("{KINDS}{}{}", test("a"), test("b")));
}

fn elements(count: usize) -> String {
    format!(
        "plan it(ks: int[]) -> int[] {{
    step r = each k in ks max 20 {{
        step p = lab.echo(n: k)
            recover transient => null
        yield k == 0 ? 1 : 10 / (has(p) ? p.n : 0)
    }}
    reply r
}}
test \"it\" for it {{
    given {{ ks: {:?} }}
    mock lab.echo => {{ n: 5 }}
}}
",
        (0..count).collect::<Vec<_>>()
    )
}

#[test]
fn every_element_has_its_own_faults_up_to_a_limit() {
    reproduced(&elements(3));
    assert!(!explored(&elements(8)).contains("without faults"));
    let printed = explored(&elements(11));
    assert!(
        printed.ends_with("3 calls without faults: only 8 elements of an `each` have them\n"),
        "{printed}"
    );
}

#[test]
fn calls_that_only_a_fault_leads_to_are_answered() {
    let plan = |tool| {
        format!(
            "plan it(x: int) -> int {{
    step a = lab.echo(n: x)
        recover transient => do {{
            step f = {tool}(n: x)
            yield {{ n: 0 * int(f.n) }}
        }}
    reply 10 / a.n
}}
test \"it\" for it {{
    given {{ x: 1 }}
    mock lab.echo => {{ n: 5 }}
}}
"
        )
    };
    let text = reproduced(&plan("lab.other"));
    assert!(!text.contains("call-unanswered"), "{text}");
    let printed = explored(&plan("lab.odd"));
    assert!(
        printed.ends_with(
            " runs ended at calls that no mock answers: `lab.odd` (at `a.recover.f`); add `mock _ => generated`\n"
        ),
        "{printed}"
    );
}

#[test]
fn a_failure_of_the_test_itself_hides_no_other() {
    reproduced(
        "plan it(x: int) -> int {
    step a = lab.echo(n: x)
    step b = lab.other(n: 7)
        recover transient => { n: 0 }
    let q = 10 / b.n
    reply q + 100 / a.n
}
test \"zero fails\" for it {
    given { x: 0 }
    mock lab.echo => { n: 0 }
    mock lab.other => { n: 5 }
    expect error.class == \"validation.expression\"
}
",
    );
}

#[test]
fn the_printed_test_answers_the_calls_of_the_roll_back() {
    let text = reproduced(
        "plan it(x: int) -> int {
    step a = lab.make(n: x)
        undo lab.unmake(id: a.id)
    step b = lab.echo(n: 5)
        recover transient => { n: 0 }
    reply 10 / b.n
}
test \"it\" for it {
    given { x: 1 }
    mock lab.make => { id: \"i\" }
    mock lab.echo => { n: 5 }
    mock lab.unmake => { ok: true }
}
",
    );
    assert!(!text.contains("call-unanswered"), "{text}");
}
