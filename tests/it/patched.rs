//! `runs patch`: what a run has begun with stays as it is, although no statement says so.

use super::support::{Output, folder, planrun};

/// Starts a plan with these arguments until it asks `ok`, and patches it. Returns the output of the patch, and that of
/// the run once it is answered.
fn patched(plan: &str, inputs: &[&str], patch: &str) -> (Output, Output) {
    let files = folder([("a.plan", plan), ("new.plan", patch)]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = within(&[&["run", "a.plan", "--run-id", "r"], inputs].concat());
    assert_eq!(begun.status, 4, "{begun:?}");
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    let answered = within(&["runs", "answer", "r", "ok={\"go\": true}", "--resume"]);
    (patched, answered)
}

fn assert_refused(plan: &str, inputs: &[&str], patch: &str, why: &str) {
    let (patched, answered) = self::patched(plan, inputs, patch);
    assert_eq!(patched.status, 2, "{patch}: {patched:?}");
    assert!(patched.stderr.contains(why), "{patch}: {patched:?}");
    assert_eq!(answered.status, 0, "{patch}: {answered:?}");
}

#[test]
fn the_inputs_of_a_run_and_the_defaults_that_it_has_begun_with_stay() {
    let plan = |head: &str| {
        format!(
            "use fs\n\nplan a({head}) -> any {{\n    allow {{ write: [\".\"] }}\n    \
             step one = fs.write(path: \"${{x}}.txt\", content: \"1\")\n        when on\n    \
             step ok = input \"Go?\" -> {{ go: bool }}\n    reply x\n}}\n"
        )
    };
    let before = plan("x: string = \"d\", on: bool = true, n?: int");
    let is_kept = "has begun with what the old text says";
    for (head, why) in [
        ("x: string = \"e\", on: bool = true, n?: int", is_kept),
        ("x: string = \"d\", on: bool = false, n?: int", is_kept),
        ("x: string = \"d\", on: bool = true, n: int = 3", is_kept),
        ("x: string = \"d\", on: bool = true", "has no input `n`"),
    ] {
        assert_refused(&before, &[], &plan(head), why);
    }
    // It cannot become something else that has the same name.
    let other = before
        .replace("x: string = \"d\", ", "")
        .replace("step one", "let x = \"e\"\n    step one");
    assert_refused(&before, &[], &other, "has no input `x`");
    assert_refused(&before, &["-i", "x=f"], &other, "has no input `x`");
    // A default that the run has not used may change, and inputs with defaults may be added.
    let head = "x: string = \"e\", on: bool = true, n?: int, more: int = 3";
    let (patched, answered) = patched(&before, &["-i", "x=f"], &plan(head));
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(answered.stdout, "f\n", "{answered:?}");
}

#[test]
fn the_types_that_started_statements_name_stay() {
    let plan = |types: &str| {
        format!(
            "{types}\n\nplan a() -> any {{\n    step ok = input \"Go?\" -> {{ go: bool, f: Form? }}\n    \
             step then = input \"And then?\" -> {{ other: Other? }}\n    reply ok.go\n}}\n"
        )
    };
    let before = plan("type Form = { n: Level? }\ntype Level = int\ntype Other = int");
    let patch = plan("type Form = { n: Level? }\ntype Level = string\ntype Other = int");
    let files = folder([("a.plan", before.as_str()), ("new.plan", patch.as_str())]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = within(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!(begun.status, 4, "{begun:?}");
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    assert_eq!(patched.status, 2, "{patched:?}");
    assert!(
        patched.stderr.contains("`ok` cannot be changed"),
        "{patched:?}"
    );
    let other = plan("type Level = int\ntype Form = { n: Level? }\ntype Other = string");
    std::fs::write(files.path().join("new.plan"), other).unwrap();
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    assert_eq!(patched.status, 0, "{patched:?}");
    assert!(
        patched.stderr.contains("patched: replaced then"),
        "{patched:?}"
    );
}

#[test]
fn what_a_run_has_decided_and_set_with_stays() {
    let plan = |limit: u32, context: u32| {
        format!(
            "use fs\n\nplan a(n: int = 5) -> any {{\n    allow {{ write: [\".\"] }}\n    \
             task t \"Work\" {{ n: int }}\n    let limit = {limit}\n    let context = {context}\n    \
             ensure n > limit else \"too few\"\n    set t done {{ n: context }}\n    \
             step one = fs.write(path: \"one.txt\", content: \"1\")\n    \
             step ok = input \"Go?\" -> {{ go: bool }}\n    reply ok.go\n}}\n"
        )
    };
    for (patch, name) in [(plan(9, 1), "`limit`"), (plan(1, 2), "`context`")] {
        let why = format!("{name} cannot be changed");
        assert_refused(&plan(1, 1), &[], &patch, &why);
    }
}

#[test]
fn a_patch_tells_which_files_of_the_project_it_replaces() {
    let plan = "plan a() -> bool { step ok = input \"Go?\" -> { go: bool } reply ok.go }";
    let files = folder([("a.plan", plan), ("planrun.yaml", "limits: { calls: 5 }\n")]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(within(&["run", "a.plan", "--run-id", "r"]).status, 4);
    let patched = within(&["runs", "patch", "r", "a.plan"]);
    let unchanged = "patched: no named statement has changed\n";
    assert!(patched.stderr.contains(unchanged), "{patched:?}");
    std::fs::write(files.path().join("planrun.yaml"), "limits: { calls: 6 }\n").unwrap();
    let patched = within(&["runs", "patch", "r", "a.plan"]);
    let taken = "the run takes over the changed planrun.yaml\n";
    assert!(patched.stderr.contains(taken), "{patched:?}");
}

#[test]
fn a_new_listener_waits_for_what_is_still_to_come() {
    let plan = |listeners: &str| {
        format!(
            "use fs\n\nplan a() -> any {{\n    allow {{ write: [\".\"] }}\n    \
             task t \"Work\" {{ n: int }}\n    task u \"Rest\" {{ n: int }}\n    \
             step one = fs.write(path: \"one.txt\", content: \"1\")\n    set t done {{ n: 1 }}\n    \
             step ok = input \"Go?\" -> {{ go: bool }}\n{listeners}    set u done {{ n: 2 }}\n    reply ok.go\n}}\n"
        )
    };
    let on = |event: &str| {
        format!(
            "    listener l on {event} {{\n        \
             step two = fs.write(path: \"two.txt\", content: \"2\")\n    }}\n"
        )
    };
    for (event, subject) in [
        ("t is done", "`t`"),
        ("one is completed", "`one`"),
        ("u is done && t is done", "`t`"),
    ] {
        let why = format!("the listener `l` cannot be added or changed: {subject} has begun");
        assert_refused(&plan(""), &[], &plan(&on(event)), &why);
    }
    let (patched, answered) = patched(&plan(""), &[], &plan(&on("u is done")));
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(answered.stdout, "true\n", "{answered:?}");
}
