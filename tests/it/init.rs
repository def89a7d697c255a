//! `planrun init`: what it makes is right at once, wherever it is made, and nothing is ever overwritten.

use crate::support::{folder, planrun, words};

#[test]
fn a_new_project_is_right_and_runs() {
    for name in ["shop", "订单/新项目", "with blank"] {
        let folder = folder([("readme.txt", "")]);
        let made = planrun(["init", name]).within(folder.path()).run();
        assert_eq!(made.status, 0, "{made:?}");
        let place = folder.path().join(name);
        let mut commands = made.stdout.split("Next\n").nth(1).unwrap().lines().map(|line| words(line.trim()));
        assert_eq!(commands.next().unwrap(), ["cd", name]);
        let mut outputs = Vec::new();
        for command in commands {
            let output = planrun(&command[1..]).within(&place).run();
            assert_eq!(output.status, 0, "{command:?}: {output:?}");
            outputs.push(output);
        }
        // Warnings are errors there, and there are none.
        assert_eq!(outputs[0].stderr, "nothing found in 1 file\n");
        assert_eq!(outputs[1].json(), serde_json::json!({ "closed": 2, "left": 1 }));
        let strict = planrun(["check", "--deny", "warnings"]).within(&place).run();
        assert_eq!((strict.status, strict.stdout.as_str()), (0, ""));
    }
}

#[test]
fn what_is_there_is_named_and_stays() {
    let folder = folder([("plans/tidy.plan", "mine"), ("planrun.yaml", "mine too")]);
    let refused = planrun(["init"]).within(folder.path()).run();
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("`planrun.yaml`, `plans/tidy.plan` are there already"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("plans/tidy.plan")).unwrap(), "mine");
    assert!(!folder.path().join("apps").exists());
    let file = planrun(["init", "planrun.yaml/inside"]).within(folder.path()).run();
    assert_eq!(file.status, 3, "{file:?}");
}
