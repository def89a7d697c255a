//! What `planrun test` must not keep to itself: files with errors, traces of refused runs, plans that no test reaches.

use crate::support::folder;

use super::program::{counts, test};

const PLAN: &str = r#"use desk

tool desk.make(tag: string) -> { id: string } effect fails busy
tool desk.unmake(id: string) -> { ok: bool } idempotent
tool desk.look(tag: string) -> { n: int } read

plan it(tag: string) -> any {
    step made = desk.make(tag: tag)
        undo desk.unmake(id: "one of ${tag}")
    reply made.id
}

test "it is made" for it {
    given { tag: "a" }
    mock desk.make => { id: "i" }
    snapshot reply
}
"#;

#[test]
fn a_syntax_error_in_a_test_is_an_error_of_its_file() {
    let heads = [
        "test \"one\" file.it { given { tag: \"a\" } }",
        "tset \"one\" for file.it { given { tag: \"a\" } }",
        "test one for file.it { given { tag: \"a\" } }",
        "test \"one\" for file.it { given { tag: \"a\" \n}",
    ];
    for head in heads {
        let text = format!("use \"./it.plan\" as file\n\n{head}\n");
        let folder = folder([("it.plan", PLAN), ("it.plantest", &text)]);
        assert_eq!(test(folder.path(), &["--accept", "it.plan"]).status, 0);
        for arguments in [&["."][..], &["it.plan", "it.plantest"]] {
            let output = test(folder.path(), arguments);
            let counted = (output.status, counts(&output));
            assert_eq!(counted, (1, "1 passed, 1 file not tested"), "{head}");
            assert!(output.stdout.contains("it.plantest:3"), "{output:?}");
        }
        let alone = test(folder.path(), &["it.plantest"]);
        assert_eq!(counts(&alone), "0 passed, 1 file not tested", "{alone:?}");
    }
}

#[test]
fn a_syntax_error_removes_no_snapshot() {
    let folder = folder([("it.plan", PLAN)]);
    assert_eq!(test(folder.path(), &["--accept"]).status, 0);
    let broken = PLAN.replace("given { tag: \"a\" }", "given { tag: \"a\" ");
    std::fs::write(folder.path().join("it.plan"), broken).unwrap();
    let output = test(folder.path(), &["--unreferenced", "delete"]);
    let counted = (output.status, counts(&output));
    assert_eq!(counted, (1, "0 passed, 1 file not tested"), "{output:?}");
    let kept = std::fs::read_dir(folder.path().join("snapshots")).unwrap();
    assert_eq!(kept.count(), 1);
}

/// Returns the trace of a plan that ends with these statements after an effect with an `undo`.
fn trace(statements: &str, expect: &str) -> String {
    let reply = "    reply made.id\n";
    let plan = PLAN
        .split("\ntest ")
        .next()
        .unwrap()
        .replace(reply, &format!("    {statements}\n"));
    let text = format!(
        "{plan}\ntest \"traced\" for it {{\n    given {{ tag: \"a\" }}\n    mock desk.make => {{ id: \"i\" }}\n    mock _ => generated\n    {expect}\n    snapshot trace\n}}\n"
    );
    let folder = folder([("it.plan", text)]);
    let output = test(folder.path(), &["--accept", "--seeds", "8"]);
    assert_eq!(output.status, 0, "{output:?}");
    let stored = std::fs::read_dir(folder.path().join("snapshots")).unwrap();
    let stored = stored.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    stored.collect()
}

#[test]
fn a_trace_has_everything_above_the_statement_that_ends_the_plan() {
    let failed = "expect status == \"failed\"";
    let endings = [
        "fail tool.busy \"bad\" when made.id == \"i\"",
        "ensure made.id == \"z\" else \"no\"",
        "ensure 1 / (size(made.id) - 1) == 1 else \"no\"",
        "reply string(1 / (size(made.id) - 1)) when made.id == \"i\"",
    ];
    let below =
        |ending| format!("{ending}\n    step below = desk.look(tag: \"b\")\n    reply below.n");
    let mut plans: Vec<String> = endings.iter().map(below).collect();
    plans.push("fail tool.busy \"bad\"".to_owned());
    for plan in plans {
        let trace = trace(&plan, failed);
        assert!(
            trace.contains("made desk.make: completed (undone)\n  with: {\"tag\":\"a\"}"),
            "{plan}: {trace}"
        );
        assert!(
            trace.contains("made.undo desk.unmake: completed\n  with: {\"id\":\"one of a\"}"),
            "{plan}: {trace}"
        );
        let open = plan.contains("below");
        assert_eq!(trace.contains("below: left open"), open, "{plan}: {trace}");
    }
}

#[test]
fn a_trace_of_a_paused_run_has_what_has_settled() {
    let form = "step form = input \"How?\" -> { n: int } by \"desk\"\n    step below = desk.make(tag: \"b\")\n    reply below.id";
    let trace = trace(form, "expect status == \"paused\"");
    assert!(
        trace.contains("made desk.make: completed\n  with: {\"tag\":\"a\"}"),
        "{trace}"
    );
    assert!(trace.contains("below: left open"), "{trace}");
}

#[test]
fn a_copy_of_a_plan_is_covered_by_its_own_tests_only() {
    let plan = PLAN.split("\ntest ").next().unwrap();
    let text = "use \"./it.plan\" as file\n\ntest \"it is made\" for file.it {\n    given { tag: \"a\" }\n    mock desk.make => { id: \"i\" }\n}\n";
    let folder = folder([
        ("a/it.plan", plan),
        ("a/it.plantest", text),
        ("b/it.plan", plan),
    ]);
    let output = test(folder.path(), &[".", "--coverage", "--min", "100"]);
    assert_eq!(output.status, 1, "{output:?}");
    let whole = folder.path().join("a/it.plan");
    let whole = whole.to_str().unwrap();
    let reached = |path: &str| test(folder.path(), &["a/it.plantest", path, "--min", "50"]).status;
    for path in ["a/it.plan", "./a/../a/it.plan", whole] {
        assert_eq!(reached(path), 0, "{path}");
    }
    assert_eq!(reached("b/it.plan"), 1);
}

#[test]
fn an_arm_for_a_refusal_needs_a_refusal() {
    let plan = PLAN.split("\ntest ").next().unwrap().replace(
        "        undo",
        "        confirm \"Make it?\"\n        recover denied.human => { id: \"no\" }\n        undo",
    );
    let text = format!(
        "{plan}\ntest \"it is made\" for it {{\n    given {{ tag: \"a\" }}\n    mock desk.make => {{ id: \"i\" }}\n    answer made.confirm => true\n}}\n"
    );
    let folder = folder([("it.plan", text)]);
    let output = test(folder.path(), &["--coverage"]);
    let told = "`made.recover` was never taken: no test refuses `made.confirm`";
    assert!(output.stdout.contains(told), "{output:?}");
}
