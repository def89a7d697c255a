//! Calls that prevent a run from starting, because the run could not complete (10.12), and tests of effects.

use std::path::Path;

use crate::support::{Output, folder, planrun};

const APP: &str = "name: mail
tools:
  - name: send
    endpoint: http://127.0.0.1:1/tool
    effect: effect
    errors:
      - { reason: odd, class: tool.odd, happened: maybe }
      - { reason: full, class: tool.full, happened: no }
    parameters: { type: object, properties: { to: { type: string } }, required: [to] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
  - name: recall
    endpoint: http://127.0.0.1:1/tool
    effect: effect
    parameters: { type: object, properties: { to: { type: string } }, required: [to] }
    returns: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
";
const PROJECT: &str = "apps: [apps/*.yaml]\n";

/// Runs a command on a plan with that app, with or without a project file.
fn run_on_plan(command: &[&str], plan: &str, project: bool) -> Output {
    let mut files = vec![("a.plan", plan), ("apps/mail.yaml", APP)];
    files.extend(project.then_some(("planrun.yaml", PROJECT)));
    let files = folder(files);
    planrun(command.iter().chain(&["a.plan"]))
        .within(files.path())
        .run()
}

const NOBODY: &str = "use mail, desk

tool desk.open(to: string) -> { id: string } effect

plan a() {
    step sent = mail.send(to: \"x\")
    step desk_is_open = desk.open(to: sent.id)
}
";

#[test]
fn a6_r10_12_a_call_that_nothing_implements_keeps_the_run_from_beginning() {
    for project in [true, false] {
        let output = run_on_plan(&["run", "--no-journal"], NOBODY, project);
        assert_eq!(output.status, 1, "{}", output.stderr);
        assert!(
            output
                .stderr
                .contains("nothing in this project implements `desk.open`"),
            "{}",
            output.stderr
        );
        assert!(
            output.stderr.contains("the run was not started"),
            "{}",
            output.stderr
        );
        assert!(
            !output.stderr.contains("transient"),
            "the mail did not go out: {}",
            output.stderr
        );
    }
    let output = run_on_plan(&["check"], NOBODY, true);
    assert_eq!(
        output.status, 0,
        "a warning: {}{}",
        output.stdout, output.stderr
    );
    let all = output.stdout + &output.stderr;
    assert!(all.contains("unimplemented-tool"), "{all}");
    let output = run_on_plan(&["check"], NOBODY, false);
    let all = output.stdout + &output.stderr;
    assert!(
        !all.contains("unimplemented-tool"),
        "a plan alone may be meant for any project: {all}"
    );
}

#[test]
fn a6_r10_12_a_call_of_a_called_plan_counts_and_what_takes_back_does_too() {
    let undo = "use mail, desk
tool desk.close(to: string) -> { id: string } effect
plan a() { step sent = mail.send(to: \"x\") undo desk.close(to: sent.id) }
";
    let output = run_on_plan(&["run", "--no-journal"], undo, true);
    assert!(
        output.stderr.contains("implements `desk.close`"),
        "{}",
        output.stderr
    );
    let inner = NOBODY.replace("plan a()", "plan inner()");
    let outer = "use \"./inner.plan\" as other\nplan a() { step all = other.inner() }\n";
    let files = folder([
        ("a.plan", outer),
        ("inner.plan", inner.as_str()),
        ("apps/mail.yaml", APP),
        ("planrun.yaml", PROJECT),
    ]);
    let output = planrun(["run", "--no-journal", "a.plan"])
        .within(files.path())
        .run();
    assert_eq!(output.status, 1);
    assert!(
        output.stderr.contains("calls `desk.open`"),
        "{}",
        output.stderr
    );
}

#[test]
fn a6_r10_12_a_constant_that_is_not_allowed_keeps_the_run_from_beginning() {
    let plan = |allow: &str| {
        format!(
            "use mail, http
plan a() {{
    {allow}
    step sent = mail.send(to: \"x\")
    step page = http.fetch(url: \"https://example.com/\", method: \"POST\")
}}
"
        )
    };
    for (allow, checked) in [("", 0), ("allow { net: [\"other.example.com\"] }", 1)] {
        let output = run_on_plan(&["run", "--no-journal"], &plan(allow), true);
        assert_eq!(output.status, 1, "{}", output.stderr);
        assert!(
            output.stderr.contains("permission-missing"),
            "{}",
            output.stderr
        );
        assert!(
            !output.stderr.contains("transient"),
            "the mail did not go out: {}",
            output.stderr
        );
        // A plan without `allow` may be called by one that has it, so this is a warning.
        assert_eq!(
            run_on_plan(&["check"], &plan(allow), true).status,
            checked,
            "{allow}"
        );
    }
    // The comment suppresses the finding, but permits nothing.
    let quiet = plan("").replace(
        "    step page",
        "    // allow(permission-missing): another plan allows it\n    step page",
    );
    let output = run_on_plan(&["run", "--no-journal"], &quiet, true);
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(
        output.stderr.contains("the run was not started"),
        "{}",
        output.stderr
    );
}

#[test]
fn a10_an_undo_where_nothing_is_undone_any_more_is_told() {
    let plan = |on: &str| {
        format!(
            "use mail
plan a() {{
    task t \"T\"
    step sent = mail.send(to: \"x\")
    listener over on {on} {{
        step more = mail.send(to: \"y\")
            undo mail.recall(to: more.id)
    }}
    set t done
}}
"
        )
    };
    for (on, never) in [
        ("plan is failed", true),
        ("plan is completed || plan is failed", true),
        ("plan is failed && t is done", true),
        ("t is done", false),
        ("plan is failed || t is done", false),
        ("sent is failed", false),
    ] {
        let output = run_on_plan(&["check"], &plan(on), true);
        let all = output.stdout + &output.stderr;
        assert_eq!(all.contains("undo-never-runs"), never, "{on}: {all}");
        let caller = "plan b() {
    step called = a()
    fail tool.late \"too late\"
}
";
        let output = run_on_plan(&["check"], &(plan(on) + caller), true);
        let all = output.stdout + &output.stderr;
        assert!(!all.contains("undo-never-runs"), "{on}: {all}");
    }
}

#[test]
fn a9_a_declared_error_that_may_have_happened_is_in_tests_what_it_is_in_runs() {
    let tests = "use mail

plan a(to: string) -> string {
    step sent = mail.send(to: to)
        undo mail.recall(to: to)
    reply sent.id
}

test \"it may have happened\" for a {
    given { to: \"x\" }
    mock mail.send => fail tool.odd
    mock mail.recall => { ok: true }
    expect error.class == \"unknown_outcome\"
    expect steps.sent.status == \"unknown\"
    expect calls(mail.recall) == 1
}

test \"nothing has happened\" for a {
    given { to: \"x\" }
    mock mail.send => fail tool.full
    mock mail.recall => { ok: true }
    expect error.class == \"tool.full\"
    expect calls(mail.recall) == 0
}
";
    let output = run_on_plan(&["test"], tests, true);
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
}

#[test]
fn a7_r7_2_a_patch_puts_nothing_above_what_has_started_that_would_hold_it_back() {
    let plan = |above: &str, below: &str| {
        format!(
            "use fs
plan a(n: int = 1) {{
    policy {{ on_failure: pause }}
    allow {{ read: [\".\"], write: [\".\"] }}
    {above}
    step first = fs.write(path: \"first.txt\", content: \"1\")
    step second = fs.read(path: \"nowhere.txt\")
    {below}
}}
"
        )
    };
    let new = "step more = fs.write(path: \"more.txt\", content: \"2\")";
    let before = plan("", "");
    let files = folder([("a.plan", before.as_str())]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(within(&["run", "a.plan", "--run-id", "r"]).status, 4);
    let put = |above: &str, below: &str| {
        std::fs::write(files.path().join("new.plan"), plan(above, below)).unwrap();
        within(&["runs", "patch", "r", "new.plan"])
    };
    for above in [
        new,
        "step asked = input \"Really?\" -> { yes: bool }",
        "ensure n == 1 else \"no\"",
        "step looked = fs.read(path: \"x\") confirm \"Look?\"",
        "step all = do { step inner = fs.write(path: \"more.txt\", content: \"2\") yield inner }",
    ] {
        let output = put(above, "");
        assert_eq!(output.status, 2, "{above}: {}", output.stderr);
        assert!(
            output.stderr.contains("is now above `first`"),
            "{above}: {}",
            output.stderr
        );
    }
    assert_eq!(
        put("step looked = fs.read(path: \"first.txt\")", "").status,
        0,
        "a read holds nothing back"
    );
    let output = put("", new);
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// Starts a plan of these statements, patches it with others and answers its form `ok`.
fn patched_and_answered(before: &str, after: &str) -> (Output, Output) {
    let plan = |statements: &str| {
        format!(
            "use sys\n\nplan a() -> any {{\n    task t \"Work\" {{ n: int }}\n    listener l on t is done as d {{\n        \
             step n = sys.echo(value: d.n)\n    }}\n{statements}    reply ok.go\n}}\n"
        )
    };
    let files = folder([
        ("a.plan", plan(before).as_str()),
        ("new.plan", plan(after).as_str()),
    ]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = within(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!(begun.status, 4, "{begun:?}");
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    let answered = within(&["runs", "answer", "r", "ok={\"go\": true}", "--resume"]);
    (patched, answered)
}

#[test]
fn a7_r7_2_a_patch_leaves_what_was_set_as_it_is() {
    const SET: &str = "    set t done { n: 1 }\n";
    const REST: &str = "    step ok = input \"Go?\" -> { go: bool }\n    set t done { n: 2 }\n";
    for (patch, told) in [
        (REST.to_owned(), "`set t done { n: 1 }` cannot be changed"),
        (
            format!("    set t done {{ n: 3 }}\n{REST}"),
            "`set t done { n: 1 }` cannot be changed",
        ),
        (
            format!("    step more = sys.echo(value: 1)\n{SET}{REST}"),
            "`more` is now above `set t done { n: 1 }`",
        ),
    ] {
        let (patched, answered) = patched_and_answered(&format!("{SET}{REST}"), &patch);
        assert_eq!(patched.status, 2, "{patch}{patched:?}");
        assert!(patched.stderr.contains(told), "{patch}{patched:?}");
        assert_eq!(answered.status, 0, "{patch}{answered:?}");
    }
    // What has not been set yet may change, and what is not waited for may be put above.
    let changed = REST.replace("n: 2", "n: 3");
    let patch = format!("    let more = 1\n{SET}{changed}    step last = sys.echo(value: more)\n");
    let (patched, answered) = patched_and_answered(&format!("{SET}{REST}"), &patch);
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(answered.status, 0, "{answered:?}");
}

#[test]
fn what_has_started_does_not_wait_for_what_a_patch_puts_above_it() {
    let plan = |above: &str| {
        format!(
            "use fs\n\nplan a() -> any {{\n    policy {{ on_failure: pause }}\n    allow {{ read: [\".\"] }}\n{above}    \
             step ok = input \"Go?\" -> {{ go: bool }}\n    step last = input \"On?\" -> {{ on: bool }}\n    reply last.on\n}}\n"
        )
    };
    let files = folder([
        ("a.plan", plan("").as_str()),
        (
            "new.plan",
            plan("    step more = fs.read(path: \"more.txt\")\n").as_str(),
        ),
    ]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = within(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!(begun.status, 4, "{begun:?}");
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    assert_eq!(patched.status, 0, "{patched:?}");
    // The new step fails, and only what had not started waits until it is repeated.
    let answered = within(&["runs", "answer", "r", "ok={\"go\": true}", "--resume"]);
    assert_eq!(answered.status, 4, "{answered:?}");
    let states = || step_states(files.path());
    assert_eq!(states(), "more failed, ok completed, last pending");
    std::fs::write(files.path().join("more.txt"), "x").unwrap();
    let resumed = within(&["runs", "resume", "r"]);
    assert_eq!(resumed.status, 4, "{resumed:?}");
    assert_eq!(states(), "more completed, ok completed, last waiting");
    let ended = within(&["runs", "answer", "r", "last={\"on\": true}", "--resume"]);
    assert_eq!(ended.stdout, "true\n", "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_undone_cannot_be_patched() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let plan = |condition: &str| {
        format!(
            "use fs, sys\n\nplan a() -> any {{\n    allow {{ write: [\".\"] }}\n    \
             step one = fs.write(path: \"one.txt\", content: \"done\")\n        undo do {{\n            \
             step slow = sys.sleep(duration: 1s)\n            \
             step gone = fs.write(path: \"one.txt\", content: \"undone\")\n        }}\n    \
             step two = fs.write(path: \"two.txt\", content: \"done\")\n        \
             undo fs.write(path: \"two.txt\", content: \"undone\")\n{condition}    reply \"done\"\n}}\n"
        )
    };
    let files = folder([
        (
            "a.plan",
            plan("    ensure two == null else \"no\"\n").as_str(),
        ),
        ("new.plan", plan("").as_str()),
    ]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--format", "ndjson", "--run-id", "r"])
        .current_dir(files.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("one.undo.slow") {}
    let pid = child.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &pid]).status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    assert_eq!(patched.status, 2, "{patched:?}");
    let told = "the plan has ended, and only what follows";
    assert!(patched.stderr.contains(told), "{patched:?}");
    assert_eq!(within(&["runs", "resume", "r"]).status, 1);
    for name in ["one.txt", "two.txt"] {
        let content = std::fs::read_to_string(files.path().join(name)).unwrap();
        assert_eq!(content, "undone", "{name}");
    }
}

/// Returns the steps of the run `r` with their states.
fn step_states(folder: &Path) -> String {
    let show = planrun(["runs", "show", "r", "--format", "json"]);
    let shown = show.within(folder).run().json();
    let steps = shown["steps"].as_array().unwrap().iter();
    let states = steps.map(|step| format!("{} {}", step["path"], step["status"]));
    states.collect::<Vec<_>>().join(", ").replace('"', "")
}

#[test]
fn what_a_patch_puts_above_a_failed_step_comes_before_it_is_repeated() {
    let plan = |above: &str| {
        format!(
            "use fs\n\nplan a() -> any {{\n    policy {{ on_failure: pause }}\n    allow {{ read: [\".\"], write: [\".\"] }}\n{above}    \
             step got = fs.read(path: \"more.txt\")\n    reply got\n}}\n"
        )
    };
    let files = folder([
        ("a.plan", plan("").as_str()),
        (
            "new.plan",
            plan("    step made = fs.write(path: \"more.txt\", content: \"x\")\n").as_str(),
        ),
    ]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let failed = within(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!(failed.status, 4, "{failed:?}");
    let patched = within(&["runs", "patch", "r", "new.plan", "--resume"]);
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(patched.stdout, "x\n", "{patched:?}");
}

#[test]
fn a_step_that_was_retried_before_a_patch_does_not_wait_for_what_that_puts_above_it() {
    let plan = |above: &str| {
        format!(
            "use fs\n\nplan a() -> any {{\n    policy {{ on_failure: pause }}\n    allow {{ read: [\".\"] }}\n{above}    \
             step work = do {{\n        step ok = input \"Go?\" -> {{ go: bool }}\n        ensure ok.go else \"no\"\n        yield 1\n    }}\n        \
             recover _ => fail tool.failed \"not yet\"\n    reply work\n}}\n"
        )
    };
    let files = folder([
        ("a.plan", plan("").as_str()),
        (
            "new.plan",
            plan("    step more = fs.read(path: \"more.txt\")\n").as_str(),
        ),
    ]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = within(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!(begun.status, 4, "{begun:?}");
    let failed = within(&["runs", "answer", "r", "work.ok={\"go\": false}", "--resume"]);
    assert!(failed.stderr.contains("not yet"), "{failed:?}");
    let asked = within(&["runs", "resume", "r"]);
    assert!(asked.stderr.contains("a form: work.ok"), "{asked:?}");
    let patched = within(&["runs", "patch", "r", "new.plan"]);
    assert_eq!(patched.status, 0, "{patched:?}");
    let answered = within(&["runs", "answer", "r", "work.ok={\"go\": true}", "--resume"]);
    assert_eq!(answered.status, 4, "{answered:?}");
    assert_eq!(
        step_states(files.path()),
        "more failed, work completed, work.ok completed",
        "{answered:?}"
    );
}

#[test]
fn the_time_of_a_step_that_a_patch_adds_counts_from_its_begin() {
    const BEFORE: &str = "    step slept = sys.sleep(duration: 4s)\n    step ok = input \"Go?\" -> { go: bool }\n    \
                          set t done { n: 1 }\n";
    let patch = format!("    step more = sys.echo(value: 1)\n        within 3s\n{BEFORE}");
    let (patched, answered) = patched_and_answered(BEFORE, &patch);
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(answered.stdout, "true\n", "{answered:?}");
}

#[test]
fn an_answer_is_taken_by_a_patched_run() {
    const ASKS: &str = "    step ok = input \"Go?\" -> { go: bool }\n    set t done { n: 1 }\n";
    let patch = format!("    step more = sys.echo(value: 1)\n{ASKS}");
    let (patched, answered) = patched_and_answered(ASKS, &patch);
    assert_eq!(patched.status, 0, "{patched:?}");
    assert_eq!(answered.status, 0, "{answered:?}");
    assert_eq!(answered.stdout, "true\n", "{answered:?}");
}

#[test]
fn a_base_gives_the_real_values_of_its_calls() {
    let plan = |more: &str| {
        format!(
            "use fs, sys
plan a(password: secret) {{
    allow {{ write: [\".\"] }}
    step told = sys.echo(value: \"with ${{password}}\")
    step put = fs.write(path: \"a.txt\", content: told)
    {more}
}}
"
        )
    };
    let files = folder([("a.plan", plan("").as_str())]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let first = [
        "run",
        "a.plan",
        "-i",
        "password=hunter2hunter2",
        "--run-id",
        "r",
    ];
    assert_eq!(within(&first).status, 0);
    std::fs::remove_file(files.path().join("a.txt")).unwrap();
    let more = "step also = fs.write(path: \"b.txt\", content: told)";
    std::fs::write(files.path().join("a.plan"), plan(more)).unwrap();
    let output = within(&["run", "a.plan", "--base", "r"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let text = |name: &str| std::fs::read_to_string(files.path().join(name)).ok();
    assert_eq!(text("a.txt"), None, "it was done before");
    assert_eq!(text("b.txt").as_deref(), Some("with hunter2hunter2"));
}

#[test]
fn a_patch_and_a_base_see_changes_in_a_parallel_and_in_called_plans() {
    let plan = |first: &str, noted: &str, looked: &str| {
        format!(
            "use fs
plan a() {{
    policy {{ on_failure: pause }}
    allow {{ read: [\".\"], write: [\".\"] }}
    parallel {{
        step first = fs.write(path: \"first.txt\", content: \"{first}\")
        step other = fs.write(path: \"other.txt\", content: \"2\")
    }}
    step noted = note(text: \"x\")
    step second = fs.read(path: \"{looked}\")
}}
plan note(text: string) {{
    step deep = inner(text: text)
    reply deep
}}
plan inner(text: string) {{
    step put = fs.write(path: \"noted.txt\", content: \"{noted}\")
    reply put
}}
"
        )
    };
    let files = folder([("a.plan", plan("1", "${text}", "nowhere.txt").as_str())]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let started = within(&["run", "a.plan", "--plan", "a", "--run-id", "r"]);
    assert_eq!(started.status, 4, "{}", started.stderr);
    let write = |text: String| std::fs::write(files.path().join("new.plan"), text).unwrap();
    let changes = [
        (
            "3",
            "${text}",
            "first",
            "first (fs.write), noted.deep.put (fs.write, below an effect that is made again)",
        ),
        ("1", "${text}!", "noted", "noted.deep.put (fs.write)"),
    ];
    for (first, noted, refused, _) in changes {
        write(plan(first, noted, "first.txt"));
        let output = within(&["runs", "patch", "r", "new.plan"]);
        assert_eq!(output.status, 2, "{refused}: {}", output.stderr);
        let message = format!("`{refused}` cannot be changed");
        assert!(output.stderr.contains(&message), "{}", output.stderr);
    }
    // Comments and layout are no change.
    let same =
        plan("1", "${text}", "first.txt").replace("    reply put", "\n    // Done.\n    reply put");
    write(same);
    let output = within(&["runs", "patch", "r", "new.plan", "--resume"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let base = || within(&["run", "new.plan", "--plan", "a", "--base", "r"]);
    let output = base();
    assert_eq!(output.status, 0, "{}", output.stderr);
    for (first, noted, _, repeated) in changes {
        write(plan(first, noted, "first.txt"));
        let output = base();
        assert_eq!(output.status, 2, "{repeated}: {}", output.stderr);
        let message = format!("has already done: {repeated};");
        assert!(output.stderr.contains(&message), "{}", output.stderr);
    }
}

#[test]
fn from_a_step_on_everything_below_it_is_done_again() {
    let plan = "use fs
plan a() {
    allow { write: [\".\"] }
    task t \"T\" { n: int }
    listener over on t is done { step told = fs.write(path: \"told.txt\", content: \"1\") }
    step a = fs.write(path: \"a.txt\", content: \"1\")
    step b = fs.write(path: \"b.txt\", content: \"1\")
    set t done { n: 1 }
    step c = fs.write(path: \"c.txt\", content: \"1\")
    if 1 < 2 { step d = fs.write(path: \"d.txt\", content: \"1\") }
}
";
    let files = folder([("a.plan", plan)]);
    let within = |arguments: &[&str]| {
        let base = ["run", "a.plan", "--format", "json"];
        planrun([&base, arguments].concat())
            .within(files.path())
            .run()
    };
    assert_eq!(within(&["--run-id", "r"]).status, 0);
    let refused = within(&["--base", "r", "--from", "b"]);
    let asked = "has already done: b (fs.write), c (fs.write), d (fs.write);";
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains(asked), "{}", refused.stderr);
    let copied = |arguments: &[&str]| -> Vec<String> {
        let output = within(&[&["--base", "r", "--yes"], arguments].concat());
        assert_eq!(output.status, 0, "{}", output.stderr);
        let steps = output.json()["steps"].as_array().unwrap().clone();
        let copies = steps.iter().filter(|step| {
            let attributes = step["attributes"].as_array().unwrap();
            attributes.iter().any(|attribute| attribute == "copied")
        });
        copies
            .map(|step| step["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(copied(&["--from", "b"]), ["over[0].told", "a"]);
    assert_eq!(copied(&["--from", "c"]), ["over[0].told", "a", "b"]);
    assert_eq!(copied(&["--from", "a"]), ["over[0].told"]);
    assert_eq!(copied(&[]).len(), 5);
}

#[test]
fn a_patch_does_not_apply_the_failure_of_a_call_to_the_call_that_replaces_it() {
    let plan = |policy: &str, path: &str, more: &str| {
        format!(
            "use fs
plan a() -> string {{
    policy {{ on_failure: {policy} }}
    allow {{ read: [\".\"] }}
    step text = fs.read(path: \"{path}\")
        {more}
    reply text
}}
"
        )
    };
    let files = folder([
        ("a.plan", &*plan("pause", "nowhere.txt", "")),
        ("here.txt", "here"),
    ]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(within(&["run", "a.plan", "--run-id", "r"]).status, 4);
    let patches = [
        ("pause", "recover _ => \"none\"", "its `recover` arm"),
        ("undo", "", "the new `on_failure`"),
        ("pause", "confirm \"Read?\"", "its `confirm`"),
    ];
    for (policy, more, refused) in patches {
        std::fs::write(
            files.path().join("new.plan"),
            plan(policy, "here.txt", more),
        )
        .unwrap();
        let output = within(&["runs", "patch", "r", "new.plan"]);
        assert_eq!(output.status, 2, "{refused}: {}", output.stderr);
        assert!(output.stderr.contains(refused), "{}", output.stderr);
    }
    std::fs::write(files.path().join("new.plan"), plan("pause", "here.txt", "")).unwrap();
    let output = within(&["runs", "patch", "r", "new.plan", "--resume"]);
    assert_eq!(
        (output.status, output.stdout.trim()),
        (0, "here"),
        "{}",
        output.stderr
    );
}

#[test]
fn a6_r10_12_a_patch_brings_in_nothing_that_could_not_be_done() {
    let plan = |below: &str| {
        format!(
            "use fs, desk
tool desk.open(to: string) -> {{ id: string }} effect
plan a() {{
    policy {{ on_failure: pause }}
    allow {{ read: [\".\"], write: [\".\"] }}
    step first = fs.write(path: \"first.txt\", content: \"1\")
    step second = fs.read(path: \"nowhere.txt\")
    {below}
}}
"
        )
    };
    let files = folder([("a.plan", plan("").as_str())]);
    let within = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(within(&["run", "a.plan", "--run-id", "r"]).status, 4);
    for (below, status, message) in [
        (
            "step opened = desk.open(to: \"x\")",
            2,
            "implements `desk.open`",
        ),
        (
            "step more = fs.write(path: \"/elsewhere/more.txt\", content: \"2\")",
            1,
            "permission-missing",
        ),
    ] {
        std::fs::write(files.path().join("new.plan"), plan(below)).unwrap();
        let output = within(&["runs", "patch", "r", "new.plan"]);
        assert_eq!(output.status, status, "{below}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{}", output.stderr);
        assert!(!output.stderr.contains("patched:"), "{}", output.stderr);
    }
}

#[test]
fn inputs_come_from_one_place_and_each_is_given_once() {
    let plan = "use sys plan p(n: int = 1) -> int { step one = sys.echo(value: n) reply one }";
    let files = folder([("a.plan", plan), ("n.json", "{\"n\": 2, \"n\": 3}")]);
    let refused = |arguments: &[&str], why: &str| {
        let output = planrun(arguments).within(files.path()).run();
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains(why), "{why}: {output:?}");
    };
    refused(
        &["run", "-", "--input", "-"],
        "the plan and its inputs cannot both come from standard input",
    );
    refused(
        &["run", "a.plan", "-i", "n=1", "-i", "n=2"],
        "the input `n` is given more than once",
    );
    refused(
        &["run", "a.plan", "--input", "n.json"],
        "`n.json` has the input `n` more than once",
    );
    // A single input takes precedence over the document.
    let files = folder([("a.plan", plan), ("n.json", "{\"n\": 2}")]);
    let both = planrun(["run", "a.plan", "--input", "n.json", "-i", "n=4"]);
    assert_eq!(both.within(files.path()).run().stdout, "4\n");
}

#[test]
fn a_run_id_that_is_taken_tells_what_differs() {
    let plan = "use sys plan p(n: int = 1, s: string = \"x\") -> int {
        step one = sys.echo(value: n)
        reply one + size(s)
    }";
    let files = folder([
        ("a.plan", plan.to_owned()),
        ("b.plan", plan.replace('+', "-")),
    ]);
    let run = |arguments: &[&str]| {
        let arguments = ["run", "--run-id", "r"].iter().chain(arguments);
        planrun(arguments.copied()).within(files.path()).run()
    };
    assert_eq!(run(&["a.plan", "-i", "n=1"]).status, 0);
    for (arguments, told) in [
        (
            &["a.plan", "-i", "n=1", "-i", "s=x"][..],
            "what differs: the input `s` (not given then);",
        ),
        (
            &["a.plan", "-i", "n=2"],
            "what differs: the value of the input `n`;",
        ),
        (&["a.plan"], "what differs: the input `n` (given then);"),
        (&["b.plan", "-i", "n=1"], "what differs: the plan;"),
        (
            &["a.plan", "-i", "n=1", "--strict"],
            "what differs: the option `--strict`;",
        ),
    ] {
        let output = run(arguments);
        assert_ne!(output.status, 0, "{arguments:?}");
        assert!(output.stderr.contains(told), "{told}: {output:?}");
    }
}
