//! Programs of the project as tools: their input, their output, and that none of their processes outlives its call.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};

/// Returns a project whose namespace `text` is a script, with these tools and further settings of the program.
fn project(script: &str, settings: &str, tools: &str, call: &str) -> TempDir {
    let plan = format!(
        "use text\n\nplan a(given?: any) -> any {{\n    step given_back = {call}\n    reply given_back\n}}\n"
    );
    let configured = format!(
        "tools:\n  text:\n    process:\n      command: [./bin/text]\n{settings}      tools:\n{tools}"
    );
    let place = folder([
        ("planrun.yaml", configured.as_str()),
        ("a.plan", &plan),
        ("bin/text", &format!("#!/bin/sh\n{script}\n")),
    ]);
    let program = place.path().join("bin/text");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

fn replied(place: &TempDir) -> Json {
    let output = run(place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(output.status, 0, "{output:?}");
    output.json()["reply"].clone()
}

/// Returns the class and the message of the only failure of a run.
fn failed(place: &TempDir) -> (String, String) {
    let output = run(place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(output.status, 1, "{output:?}");
    let outcome = output.json();
    let error = outcome["steps"][0]["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (text("class"), text("message"))
}

const SHOW: &str = r#"        - name: show
          effect: read
          parameters: { type: object, properties: { path: { type: string }, max: { type: integer }, tags: { type: array, items: { type: string } } }, required: [path] }
          arguments: [show, "--max={max}", "{tags}", --, "{path}"]
"#;

#[test]
fn the_arguments_of_a_call_are_words_and_no_shell_reads_them() {
    let words = r#"for word in "$@"; do printf '<%s>' "$word"; done; cat"#;
    let call = r#"text.show(path: "$(id); * 'x'", tags: ["a b", "-c"])"#;
    let place = project(words, "", SHOW, call);
    let expected = "<show><a b><-c><--><$(id); * 'x'>";
    assert_eq!(replied(&place), json!(expected));
    let call = r#"text.show(path: "p", max: 3)"#;
    let place = project(words, "", SHOW, call);
    assert_eq!(replied(&place), json!("<show><--max=3><--><p>"));
}

const COUNT: &str = r"        - name: count
          description: Counts the words of a text.
          effect: read
          parameters: { type: object, properties: { text: { type: string }, least: { type: integer } }, required: [text] }
          returns: { type: object, properties: { words: { type: integer } }, required: [words] }
";

#[test]
fn json_goes_in_and_json_of_the_contract_comes_out() {
    let settings = "      input: stdin\n      output: json\n";
    let call = r#"text.count(text: "入职 表", least: null)"#;
    let keep = "cat > given.json; printf '{\"words\": 2}'";
    let place = project(keep, settings, COUNT, call);
    let checked = run(&place, &["check", "a.plan"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    assert_eq!(replied(&place), json!({ "words": 2 }));
    let given = std::fs::read_to_string(place.path().join("given.json")).unwrap();
    assert_eq!(
        given, r#"{"text":"入职 表"}"#,
        "what is not given is not there"
    );
    for (wrong, expected) in [
        ("printf '{\"words\": \"two\"}'", "words"),
        ("echo two", "text.count wrote invalid JSON"),
        (":", "text.count wrote invalid JSON"),
    ] {
        let (class, message) = failed(&project(wrong, settings, COUNT, call));
        assert_eq!(class, "validation.result", "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_text_of_an_argument_is_its_input_and_the_end_of_lines_is_no_output() {
    let settings = "      input: \"{text}\"\n";
    let tools = COUNT.replace(
        "properties: { text: { type: string }, least: { type: integer } }",
        "properties: { text: { type: string } }",
    );
    let tools = tools.replace(
        "returns: { type: object, properties: { words: { type: integer } }, required: [words] }",
        "returns: { type: string }",
    );
    let place = project(
        "cat; echo; echo",
        settings,
        &tools,
        "text.count(text: \"a\\n b\")",
    );
    assert_eq!(replied(&place), json!("a\n b"));
    let (class, message) = failed(&project(
        "printf '\\377'",
        settings,
        &tools,
        "text.count(text: \"a\")",
    ));
    assert_eq!(
        (class.as_str(), message.as_str()),
        ("validation.result", "text.count wrote invalid UTF-8")
    );
}

#[test]
fn exit_codes_mean_what_the_project_says() {
    let tools = r"        - name: pay
          effect: effect
          errors:
            - { exit: 3, class: tool.sold_out }
            - { exit: 4, class: tool.half_done, happened: maybe }
";
    let ended = |code: u8| {
        let script = format!("echo done; echo 'out of luck' >&2; exit {code}");
        failed(&project(&script, "", tools, "text.pay()"))
    };
    let message_for = |code: u8| format!("text.pay ended with exit code {code}: out of luck");
    assert_eq!(ended(3), ("tool.sold_out".to_owned(), message_for(3)));
    assert_eq!(ended(5), ("tool.failed".to_owned(), message_for(5)));
    let (class, message) = ended(4);
    assert_eq!(class, "unknown_outcome", "{message}");
    // The effects of a killed program are unknown.
    let (class, message) = failed(&project("kill -9 $$", "", tools, "text.pay()"));
    assert_eq!(class, "unknown_outcome", "{message}");
}

#[test]
fn a_program_gets_the_variables_that_it_was_given_and_its_key() {
    let tools = "        - { name: show, effect: effect }\n";
    let settings = "      env: [TOKEN]\n      cwd: bin\n";
    let place = project(
        "env | cut -d= -f1 | sort | tr '\\n' ' '; echo $TOKEN; basename \"$(pwd)\"",
        settings,
        tools,
        "text.show()",
    );
    let settings = std::fs::read_to_string(place.path().join("planrun.yaml")).unwrap();
    std::fs::write(
        place.path().join("planrun.yaml"),
        format!("env: [TOKEN]\n{settings}"),
    )
    .unwrap();
    let program = planrun(["run", "a.plan", "--format", "json"]).within(place.path());
    let output = program
        .variable("TOKEN", "hunter2-token")
        .variable("SECRET_WORD", "x")
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    let reply = output.json()["reply"].as_str().unwrap().to_owned();
    for name in ["HOME", "PATH", "PLANRUN_IDEMPOTENCY_KEY", "TOKEN"] {
        assert!(reply.contains(name), "{reply}");
    }
    assert!(
        !reply.contains("SECRET_WORD") && !reply.contains("hunter2"),
        "{reply}"
    );
    assert!(reply.ends_with("\nbin"), "{reply}");
}

#[test]
fn a_program_keeps_to_its_bounds() {
    let tools = "        - { name: show, effect: read }\n";
    let bounded = |script: &str, limits: &str| {
        let settings = format!("      limits: {limits}\n");
        failed(&project(
            script,
            &settings,
            tools,
            "text.show() retry { attempts: 1 }",
        ))
    };
    let (class, message) = bounded("while :; do echo yes; done", "{ output: 64KiB }");
    assert_eq!(class, "validation.result", "{message}");
    assert!(
        message.ends_with("bin/text wrote more than 65536 bytes"),
        "{message}"
    );
    let (class, message) = bounded("sleep 60", "{ time: 300ms }");
    assert_eq!(class, "transient.timeout", "{message}");
    assert!(
        message.ends_with("bin/text did not end within 300ms"),
        "{message}"
    );
    if cfg!(target_os = "linux") {
        let hog = "sleep 0.2; x=$(head -c 300000000 /dev/zero | tr '\\0' 'a'); echo ${#x}";
        let (class, message) = bounded(hog, "{ memory: 64MiB }");
        assert!(
            ["tool.failed", "transient.unavailable"].contains(&class.as_str()),
            "{class}: {message}"
        );
    }
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    let tools = "        - { name: show, effect: read }\n";
    let script = "(sleep 1; touch late) & echo done";
    let place = project(script, "", tools, "text.show()");
    assert_eq!(replied(&place), json!("done"));
    let late = place.path().join("late");
    assert!(!late.exists(), "what holds its outputs is waited for");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!late.exists(), "what it has started outlives it");
}

#[test]
fn what_comes_after_a_program_that_is_out_of_time_waits_until_it_has_ended() {
    let tools = "        - { name: put, effect: effect, arguments: [put] }\n        - { name: drop, effect: idempotent, arguments: [drop] }\n";
    let script = r#"if [ "$1" = drop ]; then echo undone >> log; exit 0; fi
trap 'sleep 0.3; echo effect >> log; exit 1' TERM
echo begun >> log
sleep 20 &
wait"#;
    let log = |place: &TempDir| std::fs::read_to_string(place.path().join("log")).unwrap();
    let undone = "text.put() within 500ms undo text.drop()";
    let place = project(script, "", tools, undone);
    assert_eq!(run(&place, &["run", "a.plan"]).status, 1);
    assert_eq!(log(&place), "begun\neffect\nundone\n");
    let recovered = "text.put() within 500ms recover unknown_outcome => text.drop()";
    let place = project(script, "", tools, recovered);
    assert_eq!(run(&place, &["run", "a.plan"]).status, 0);
    assert_eq!(log(&place), "begun\neffect\nundone\n");
    // Whoever is asked whether it happened can look at what has happened.
    let place = project(script, "", tools, "text.put() within 500ms");
    let plan = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    let paused = plan.replace("-> any {", "-> any {\n    policy { on_failure: pause }");
    std::fs::write(place.path().join("a.plan"), paused).unwrap();
    assert_eq!(run(&place, &["run", "a.plan"]).status, 4);
    assert_eq!(log(&place), "begun\neffect\n");
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_process_has_left_running_ends_before_the_run_goes_on() {
    let tools = "        - { name: put, effect: idempotent, key: {}, arguments: [put] }\n";
    let script = "echo begun >> log; sleep 2; echo ended >> log; echo put";
    let place = project(script, "", tools, "text.put()");
    let log = || std::fs::read_to_string(place.path().join("log")).unwrap_or_default();
    let mut first = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", "r"])
        .current_dir(place.path())
        .spawn()
        .unwrap();
    while log().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let resumed = run(&place, &["runs", "resume", "r"]);
    assert_eq!(
        (resumed.status, resumed.stdout.trim()),
        (0, "put"),
        "{resumed:?}"
    );
    assert_eq!(log(), "begun\nbegun\nended\n");
}

/// Arguments may have names that no input of a plan can have.
#[test]
fn a_call_from_the_command_line_may_name_its_arguments_as_the_tool_does() {
    let names = ["text", "result", "in", "null", "step", "true", "a b"];
    let properties = names.map(|name| format!("\"{name}\": {{ type: string }}, "));
    let properties = properties.concat();
    let tools = format!(
        "        - {{ name: show, effect: read, parameters: {{ type: object, properties: {{ {properties} }} }}, \
         arguments: [\"{{text}}\", \"{{result}}\", \"{{in}}\", \"{{null}}\", \"{{step}}\", \"{{true}}\"] }}\n"
    );
    let place = project("echo \"$@\"", "", &tools, "text.show(text: \"x\")");
    let input =
        json!({ "text": "1", "result": "2", "in": "3", "null": "4", "step": "5", "true": "6" });
    let called = run(
        &place,
        &["tools", "run", "text.show", "--input", &input.to_string()],
    );
    assert_eq!(
        (called.status, called.stdout.trim()),
        (0, "1 2 3 4 5 6"),
        "{called:?}"
    );
}

/// Runs `a.plan` as a process of its own, until its program has written to `log`.
fn begun(folder: &Path, run: &str) -> std::process::Child {
    let process = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", run])
        .current_dir(folder)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !folder.join("log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    process
}

#[test]
fn a_program_that_a_second_interrupt_kills_has_not_failed() {
    let tools = "        - { name: put, effect: effect, arguments: [put] }\n";
    let plan = "use text
plan a() -> string {
    step put = text.put()
    reply put
}
";
    let place = project(
        "echo begun >> log; sleep 30; echo put",
        "",
        tools,
        "text.put()",
    );
    std::fs::write(place.path().join("a.plan"), plan).unwrap();
    let log = place.path().join("log");
    for (number, pause) in [1, 10, 100, 1, 10, 100].into_iter().enumerate() {
        let id = format!("r{number}");
        let mut first = begun(place.path(), &id);
        let process = rustix::process::Pid::from_child(&first);
        // Signals that arrive before the first one is handled count as one, so that there may have to be more than two.
        while first.try_wait().unwrap().is_none() {
            rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(pause));
        }
        assert_eq!(first.wait().unwrap().code(), Some(130));
        let events = run(&place, &["runs", "events", &id]);
        assert!(!events.stdout.contains("step.settled"), "{events:?}");
        let listed = run(&place, &["runs", "list", "--format", "json"]).json();
        let runs = listed["runs"].as_array().unwrap();
        let state = runs.iter().find(|run| run["run"] == *id).unwrap();
        assert_eq!(state["status"], "interrupted");
        std::fs::remove_file(&log).unwrap();
    }
}

/// `timeout`, for one, signals the process and then its group.
#[test]
fn signals_that_follow_one_another_at_once_are_one_request() {
    let tools = "        - { name: put, effect: effect, arguments: [put] }\n";
    let place = project(
        "echo begun >> log; sleep 0.5; echo put",
        "",
        tools,
        "text.put()",
    );
    let log = place.path().join("log");
    for (number, pause) in [0, 5].into_iter().enumerate() {
        let id = format!("r{number}");
        let mut first = begun(place.path(), &id);
        let process = rustix::process::Pid::from_child(&first);
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
            rustix::process::kill_process(process, signal).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(pause));
        }
        first.wait().unwrap();
        let shown = run(&place, &["runs", "show", &id, "--format", "json"]).json();
        assert_eq!(shown["steps"][0]["status"], "completed", "{shown}");
        std::fs::remove_file(&log).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_to_survive_its_terminal_ignores_its_signal() {
    let tools = "        - { name: put, effect: effect, arguments: [put] }\n";
    let place = project(
        "echo begun >> log; sleep 0.5; echo put",
        "",
        tools,
        "text.put()",
    );
    let plan =
        "use text plan a() -> string { step one = text.put() step two = text.put() reply two }";
    std::fs::write(place.path().join("a.plan"), plan).unwrap();
    let program = env!("CARGO_BIN_EXE_planrun");
    let mut run = std::process::Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" run a.plan", program])
        .current_dir(place.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !place.path().join("log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::HUP).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

/// The program kills the process that calls it, before that has recorded anything.
#[test]
fn a_read_that_kills_its_processes_at_once_pauses_the_run_and_can_be_cancelled() {
    let tools = "        - { name: look, effect: read, arguments: [look] }\n";
    let script = "echo begun >> log; kill -9 $PPID; sleep 1";
    let place = project(script, "", tools, "text.look()");
    let begun = || {
        let log = std::fs::read_to_string(place.path().join("log"));
        log.unwrap_or_default().lines().count()
    };
    run(&place, &["run", "a.plan", "--run-id", "r"]);
    for deaths in 2..4 {
        run(&place, &["runs", "resume", "r"]);
        assert_eq!(begun(), deaths);
    }
    for command in ["resume", "resume", "show"] {
        let output = run(&place, &["runs", command, "r"]);
        let text = output.stdout + &output.stderr;
        assert!(text.contains("3 times"), "{command}: {text}");
    }
    let resumed = run(&place, &["runs", "resume", "r"]);
    assert_eq!((resumed.status, begun()), (4, 3), "{resumed:?}");
    let cancelled = run(&place, &["runs", "cancel", "r"]);
    assert_eq!((cancelled.status, begun()), (0, 3), "{cancelled:?}");
}

#[test]
fn a_run_that_was_killed_once_can_be_cancelled() {
    let tools = "        - { name: look, effect: read, arguments: [look] }\n";
    let script = "echo begun >> log; kill -9 $PPID; sleep 1";
    let place = project(script, "", tools, "text.look()");
    run(&place, &["run", "a.plan", "--run-id", "r"]);
    let cancelled = run(&place, &["runs", "cancel", "r"]);
    assert_eq!(cancelled.status, 0, "{cancelled:?}");
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert_eq!(log, "begun\n");
}

#[test]
fn an_answer_to_a_run_that_is_being_suspended_resumes_it() {
    let tools = "        - { name: put, effect: effect, arguments: [put] }\n";
    let place = project(
        "echo begun >> log; sleep 1; echo put",
        "",
        tools,
        "text.put()",
    );
    let plan = "use text
plan a() -> string {
    parallel {
        step put = text.put()
        step form = input \"How many?\" -> { count: int }
    }
    reply \"${put} ${form.count}\"
}
";
    std::fs::write(place.path().join("a.plan"), plan).unwrap();
    for (answer, status, printed) in [
        (
            ["runs", "answer", "r", "form={\"count\": 2}", "--resume"],
            0,
            "put 2",
        ),
        (["runs", "cancel", "s", "--keep", "-q"], 0, ""),
    ] {
        let log = place.path().join("log");
        let mut first = begun(place.path(), answer[2]);
        let id = rustix::process::Pid::from_child(&first);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let answered = run(&place, &answer);
        let got = (answered.status, answered.stdout.trim());
        assert_eq!(got, (status, printed), "{answered:?}");
        assert_eq!(first.wait().unwrap().code(), Some(130));
        std::fs::remove_file(log).unwrap();
    }
    let listed = run(&place, &["runs", "list", "--format", "json"]).json();
    let states = listed["runs"].as_array().unwrap().iter();
    let states: Vec<&Json> = states.map(|run| &run["status"]).collect();
    assert_eq!(states, [&json!("cancelled"), &json!("completed")]);
}

#[test]
fn a_project_that_says_what_may_be_run_says_it_of_these_programs_too() {
    let tools = "        - { name: show, effect: read }\n";
    let place = project("echo done", "", tools, "text.show()");
    let file = place.path().join("planrun.yaml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("allow: {{ run: [git] }}\n{settings}")).unwrap();
    let ran = run(&place, &["run", "a.plan"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    let message = "error: `text.show` cannot be called: `allow` in planrun.yaml does not permit it; add \"./bin/text\" to \
                   `allow.run` there\n";
    assert!(ran.stderr.ends_with(message), "{ran:?}");
    std::fs::write(&file, format!("allow: {{ run: [./bin/text] }}\n{settings}")).unwrap();
    assert_eq!(replied(&place), json!("done"));
}

#[test]
fn what_is_wrong_is_told_where_it_is() {
    let tools = r#"        - name: show
          efect: read
          parameters: { type: object, properties: { path: { type: string }, lost: { type: string } } }
          arguments: ["{pth}", "{print"]
          output: xml
        - name: show
          errors: [{ exit: 3 }]
"#;
    let settings = "      input: stdout\n      limits: { time: soon, memory: 64 }\n";
    let place = project("echo", settings, tools, "text.show()");
    let printed = run(&place, &["check", "--format", "short"]).stdout;
    for expected in [
        "the tool text.show has no key `efect`",
        "`{pth}` is not a parameter of text.show",
        "`{print` has an unmatched `{`; write `{NAME}` for an argument, or `{{` for a brace",
        "the parameter `lost` of text.show is never passed to the program",
        "`output` of the tool text.show cannot be `xml`",
        "an entry of `errors` lacks the key `class`",
        "the tool text.show is defined twice",
        "`input` must be `stdin`, for all arguments as one JSON object, or a string with arguments such as `\"{text}\"`, but is `stdout`",
        "`time` of `limits` must be a duration such as 30s, but is `soon`",
        "`memory` of `limits` must be a size such as 64MiB, but is `64`",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    let both = "tools:\n  text: { a2a: \"http://127.0.0.1:9\", process: { command: [x], tools: [] } }\n  sys: { process: { command: [x], tools: [] } }\n";
    let place = folder([("planrun.yaml", both), ("a.plan", "plan a() {}\n")]);
    let printed = run(&place, &["check", "--format", "short"]).stdout;
    assert!(
        printed.contains("the tools `text` have both `a2a` and `process`"),
        "{printed}"
    );
    assert!(
        printed.contains("`sys` is a built-in namespace of planrun"),
        "{printed}"
    );
}

#[test]
fn a_double_answers_for_a_program_and_no_lock_pins_it() {
    let test = r#"use "./a.plan" as a

test "counted" for a.a {
    mock text.count => { words: 7 }
    expect reply == { words: 7 }
}
"#;
    let place = project(
        "exit 1",
        "      input: stdin\n",
        COUNT,
        "text.count(text: \"x\")",
    );
    std::fs::write(place.path().join("a.plantest"), test).unwrap();
    let tested = run(&place, &["test", "a.plantest"]);
    assert_eq!(tested.status, 0, "{tested:?}");
    assert!(
        run(&place, &["tools", "list"])
            .stdout
            .contains("text.count ")
    );
    let locked = run(&place, &["tools", "lock"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    assert!(!place.path().join("planrun.lock").exists());
}
