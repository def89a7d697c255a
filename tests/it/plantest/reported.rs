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
