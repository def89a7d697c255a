//! `planrun init`: the new project is valid immediately, in any directory, and nothing is ever overwritten.

use crate::support::{Program, folder, planrun, words};

#[test]
fn a_new_project_is_right_and_runs() {
    for name in ["shop", "订单/新项目", "with blank"] {
        let folder = folder([("readme.txt", "")]);
        let made = planrun(["init", name]).within(folder.path()).run();
        assert_eq!(made.status, 0, "{made:?}");
        let place = folder.path().join(name);
        let mut commands = made
            .stdout
            .split("Next steps\n")
            .nth(1)
            .unwrap()
            .lines()
            .map(|line| words(line.trim()));
        assert_eq!(commands.next().unwrap(), ["cd", name]);
        let mut outputs = Vec::new();
        for command in commands {
            let output = planrun(&command[1..]).within(&place).run();
            assert_eq!(output.status, 0, "{command:?}: {output:?}");
            outputs.push(output);
        }
        // The new project treats warnings as errors, and there are none.
        assert_eq!(outputs[0].stderr, "no problems found in 2 files\n");
        assert!(
            outputs[1].stdout.starts_with("5 passed ("),
            "{:?}",
            outputs[1]
        );
        assert_eq!(
            outputs[2].json(),
            serde_json::json!({ "closed": 2, "left": 1 })
        );
        let strict = planrun(["check", "--deny", "warnings"])
            .within(&place)
            .run();
        assert_eq!((strict.status, strict.stdout.as_str()), (0, ""));
        let formatted = planrun(["fmt", "--check"]).within(&place).run();
        assert_eq!(formatted.status, 0, "{formatted:?}");
    }
}

#[test]
fn the_tests_of_a_new_project_pass_in_ci_and_are_worth_something() {
    let folder = folder([("readme.txt", "")]);
    assert_eq!(planrun(["init"]).within(folder.path()).run().status, 0);
    let commands: [&[&str]; 5] = [
        &["test"],
        &["test", "--coverage", "--min", "100"],
        &["test", "--explore"],
        &["test", "--seeds", "10"],
        &["mutate", "--min", "80"],
    ];
    for command in commands {
        let output = in_ci(planrun(command)).within(folder.path()).run();
        assert_eq!(
            (output.status, output.stderr.as_str()),
            (0, ""),
            "{command:?}: {output:?}"
        );
    }
    // The new tests, including the snapshot, detect a change of the plan's behaviour.
    let plan = folder.path().join("plans/tidy.plan");
    let text = std::fs::read_to_string(&plan).unwrap();
    for (wrong, noticed) in [
        (
            text.replace("== \"solved\"", "== \"open\""),
            "1 passed, 4 failed (",
        ),
        (
            text.replace("solved, says", "told by"),
            "4 passed, 1 failed (",
        ),
    ] {
        assert_ne!(wrong, text);
        std::fs::write(&plan, wrong).unwrap();
        let output = in_ci(planrun(["test"])).within(folder.path()).run();
        assert_eq!(output.status, 1, "{output:?}");
        assert!(output.stdout.contains(noticed), "{output:?}");
    }
}

/// Sets an environment in which no snapshot is written.
fn in_ci(program: Program) -> Program {
    program
        .variable("CI", "true")
        .without_variable("INSTA_UPDATE")
}

#[test]
fn what_is_there_is_named_and_stays() {
    let folder = folder([("plans/tidy.plan", "mine"), ("planrun.yaml", "mine too")]);
    let refused = planrun(["init"]).within(folder.path()).run();
    assert_eq!(refused.status, 2);
    assert!(
        refused
            .stderr
            .contains("`planrun.yaml`, `plans/tidy.plan` already exist"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("plans/tidy.plan")).unwrap(),
        "mine"
    );
    assert!(!folder.path().join("apps").exists());
    let file = planrun(["init", "planrun.yaml/inside"])
        .within(folder.path())
        .run();
    assert_eq!(file.status, 3, "{file:?}");
}
