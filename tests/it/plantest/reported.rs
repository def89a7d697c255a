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
