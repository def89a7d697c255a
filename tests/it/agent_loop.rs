//! `planrun agent --mode loop`: the output of a loop, and that a killed loop resumes.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::support::{ModelProject, Output, Program};

/// Two tools, one of which has an effect.
const DESK: &str = "name: desk
tools:
  - { name: find, endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool', effect: read, parameters: { type: object, properties: { customer: { type: string } }, required: [customer] }, returns: { type: array, items: { type: integer } }, mock: [ { data: [1, 2] } ] }
  - { name: close, endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool', effect: effect, parameters: { type: object, properties: { id: { type: integer } }, required: [id] }, returns: { type: string }, mock: [ { data: closed } ] }
  - { name: note, endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool', effect: effect, parameters: { type: object, properties: { text: { type: string } }, required: [text] }, returns: { type: string }, mock: [ { data: noted } ] }
";

/// A project with these tools, and a model with scripted turns.
struct TestProject(ModelProject);

impl TestProject {
    fn new(turns: &str) -> Self {
        Self(ModelProject::new(DESK, turns, &[]))
    }

    fn program(&self, arguments: &[&str]) -> Program {
        self.0.program(arguments)
    }

    /// Runs a loop in the session `s`.
    fn agent(&self, arguments: &[&str]) -> Output {
        let all = ["agent", "--mode", "loop", "--session", "s"];
        self.program(&[&all[..], arguments].concat()).run()
    }

    /// Returns the contents of the messages in the last request.
    fn last_request(&self) -> Vec<Json> {
        let log = self.0.model.log();
        let messages = &log.last().unwrap()["body"]["messages"];
        let messages = messages.as_array().unwrap().iter();
        messages.map(|message| message["content"].clone()).collect()
    }
}

#[test]
fn s4_22_a_pipe_gets_the_answer_and_nothing_of_the_way() {
    let turns = "- { reasoning: hm, text: Looking, calls: [{ name: desk_find, arguments: { customer: Li } }] }\n- { text: Two. }\n- { text: And two. }";
    let setup = TestProject::new(turns);
    let output = setup.agent(&["How many?"]);
    assert_eq!(
        (output.status, &*output.stdout),
        (0, "Two.\n"),
        "{output:?}"
    );
    let hint = "continue this conversation with `planrun agent --mode loop --session s \"…\"`\n";
    assert_eq!(output.stderr, hint);
    let output = setup.agent(&["Once more", "--format", "json", "-q"]);
    let document = output.json();
    assert_eq!(
        (&document["ended"], &document["text"]),
        (&json!("done"), &json!("And two."))
    );
    assert_eq!((output.status, &*output.stderr), (0, ""));
    // The system prompt, two user messages, three model messages, one result.
    assert_eq!(setup.last_request().len(), 6, "{:?}", setup.last_request());
}

#[test]
fn s4_22_with_debug_the_way_is_told_block_by_block() {
    let turns = "- { reasoning: hm, text: Looking, calls: [{ name: desk_find, arguments: { customer: Li } }] }\n- { text: Two. }";
    let output = TestProject::new(turns).agent(&["How many?", "--debug"]);
    let way = "hm\nLooking\ndesk_find {\n  \"customer\": \"Li\"\n}\n[1,2]\nTwo.\n";
    assert!(output.stderr.starts_with(way), "{}", output.stderr);
}

#[test]
fn every_end_has_its_own_code_and_is_told() {
    let again = "planrun agent --mode loop --session s";
    for (turns, extra, status, message) in [
        ("- { text: '' }", "30", 1, "the model gave an empty answer"),
        (
            "- { calls: [{ name: desk_find, arguments: { customer: x } }], repeat: forever }",
            "2",
            1,
            "the model is not done after 2 rounds",
        ),
        (
            "- { status: 400, error: what }",
            "30",
            3,
            "the model gave no answer",
        ),
        (
            "- { calls: [{ name: desk_close, arguments: { id: 1 } }] }",
            "30",
            4,
            "is waiting for an answer",
        ),
    ] {
        let output = TestProject::new(turns).agent(&["Go", "--rounds", extra]);
        assert_eq!((output.status, &*output.stdout), (status, ""), "{output:?}");
        assert!(
            output.stderr.contains(message),
            "{message}: {}",
            output.stderr
        );
        assert!(status == 1 && extra == "30" || output.stderr.contains(again));
    }
}

/// Who approves a call reads its arguments, or how much of them is left out and where the rest is.
#[test]
fn an_approval_shows_the_arguments_of_the_call() {
    for (filler, is_whole) in [(600, true), (9_000, false)] {
        let text = format!("{} rm -rf / {}", "a".repeat(filler), "b".repeat(filler));
        let setup = TestProject::new(&format!(
            "- {{ calls: [{{ name: desk_note, arguments: {{ text: '{text}' }} }}] }}"
        ));
        assert_eq!(setup.agent(&["Note it"]).status, 4);
        let output = setup.program(&["runs", "inbox"]).run();
        let printed = output.stdout.replace("\n  │ ", "");
        assert_eq!(printed.contains(&text), is_whole, "{output:?}");
        assert_eq!(printed.contains(" more characters "), !is_whole);
        assert!(printed.contains("in full: planrun runs inbox --format json"));
        let output = setup.program(&["runs", "inbox", "--format", "json"]).run();
        let question = &output.json()["questions"][0];
        assert!(
            question["text"].as_str().unwrap().contains(&text),
            "{output:?}"
        );
    }
}

#[test]
fn what_waits_goes_on_after_the_answer() {
    let called = "- { calls: [{ name: desk_close, arguments: { id: 7 } }] }\n";
    let last = "- { text: Closed. }";
    for (turns, request, requests) in [
        (format!("{called}{last}"), "Close 7", 2),
        // A call in the request is made before the model is asked.
        (last.to_owned(), "@[desk.close{\"id\": 7}]", 1),
    ] {
        let setup = TestProject::new(&turns);
        let output = setup.agent(&[request]);
        assert_eq!((output.status, &*output.stdout), (4, ""), "{output:?}");
        assert!(output.stderr.contains("| id: 7"), "{}", output.stderr);
        let run = output.stderr.split("run ").nth(1).unwrap();
        let run = run.split(' ').next().unwrap();
        let answer = ["runs", "answer", run, "approval=true"];
        let answered = setup.program(&answer).run();
        assert_eq!(answered.status, 0, "{answered:?}");
        let output = setup.agent(&[]);
        assert_eq!(
            (output.status, &*output.stdout),
            (0, "Closed.\n"),
            "{output:?}"
        );
        let calls = (setup.0.desk.log().len(), setup.0.model.log().len());
        assert_eq!(calls, (1, requests), "{:?}", setup.last_request());
        let messages = setup.last_request();
        let seen = messages.last().unwrap().as_str().unwrap();
        assert!(seen.contains("closed"), "{seen}");
    }
}

#[test]
fn s4_23_a_killed_loop_goes_on_and_an_unreadable_session_is_left_as_it_is() {
    let setup = TestProject::new("- { text: late, delay: 60s }\n- { text: One }\n- { text: Two }");
    let begun = setup.program(&["agent", "--mode", "loop", "--session", "s", "First"]);
    begun.killed_after(Duration::from_secs(3));
    let output = setup.agent(&[]);
    assert_eq!((output.status, &*output.stdout), (0, "One\n"), "{output:?}");
    let file = setup.0.folder.path().join(".planrun/sessions/s.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &kept[..kept.len() / 2]).unwrap();
    let output = setup.agent(&["Second"]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("s.json"), "{}", output.stderr);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        kept[..kept.len() / 2]
    );
    std::fs::write(&file, kept).unwrap();
    let output = setup.agent(&["Second"]);
    assert_eq!((output.status, &*output.stdout), (0, "Two\n"), "{output:?}");
}

#[test]
fn a_session_in_which_a_process_is_at_work_is_refused_to_others() {
    let setup = TestProject::new("- { text: late, delay: 60s }\n- { text: One }");
    let lock = (setup.0.folder.path()).join(".planrun/sessions/s.process.lock");
    std::thread::scope(|scope| {
        let begun = setup.program(&["agent", "--mode", "loop", "--session", "s", "First"]);
        let first = scope.spawn(|| begun.killed_after(Duration::from_secs(8)));
        while !lock.exists() || setup.0.model.log().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let other = setup.agent(&[]);
        assert_eq!((other.status, &*other.stdout), (3, ""), "{other:?}");
        let why = "another process is at work in the session `s`";
        assert!(other.stderr.contains(why), "{other:?}");
        first.join().unwrap();
    });
    let output = setup.agent(&[]);
    assert_eq!((output.status, &*output.stdout), (0, "One\n"), "{output:?}");
}

#[test]
fn a_call_that_another_process_drives_is_waited_for_and_not_called_interrupted() {
    let program = "env: [DESK_URL]
apps: [apps/desk.yaml]
tools:
  slow:
    process:
      command: [sh, -c, 'echo begun >> log; sleep 3; echo put']
      output: text
      tools: [{ name: put, effect: effect, returns: { type: string } }]
";
    let turns = "- { calls: [{ name: slow_put, arguments: {} }] }\n- { text: Done. }";
    let setup = TestProject(ModelProject::new(DESK, turns, &[("planrun.yaml", program)]));
    let output = setup.agent(&["Put it"]);
    assert_eq!(output.status, 4, "{output:?}");
    let run = output.stderr.split("run ").nth(1).unwrap();
    let run = run.split(' ').next().unwrap();
    let log = setup.0.folder.path().join("log");
    let setup = &setup;
    std::thread::scope(|scope| {
        let answer = ["runs", "answer", run, "approval=true", "--resume"];
        let driving = scope.spawn(move || setup.program(&answer).run());
        while !log.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = setup.agent(&[]);
        assert_eq!(
            (output.status, &*output.stdout),
            (0, "Done.\n"),
            "{output:?}"
        );
        assert_eq!(driving.join().unwrap().status, 0);
    });
    let messages = setup.last_request();
    let result = messages.last().unwrap().as_str().unwrap();
    assert!(result.contains("\"reply\":\"put\""), "{messages:?}");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "begun\n");
}

#[test]
fn what_is_for_the_other_mode_is_refused() {
    let setup = TestProject::new("- { text: x }");
    for (arguments, message) in [
        (
            &["agent", "x", "--session", "s"][..],
            "`--session` requires `--mode loop`",
        ),
        (
            &["agent", "x", "--mode", "loop", "--dry-run"],
            "`--dry-run` requires `--mode plan`",
        ),
        (
            &["agent", "x", "--mode", "loop", "--form", "json"],
            "`--form` requires `--mode plan`",
        ),
        (
            &["agent", "x", "--mode", "loop", "--repairs", "2"],
            "`--repairs` requires `--mode plan`",
        ),
        (
            &["agent", "x", "--mode", "loop", "--output", "reply"],
            "`--output` requires `--mode plan`",
        ),
        (
            &["agent", "--mode", "loop", "--session", "new"],
            "there is no session `new` yet",
        ),
        (
            &["agent", "x", "--mode", "loop", "--session", "../x"],
            "is not a valid session name",
        ),
        (
            &["agent", "x", "--rounds", "0"],
            "must be a whole number of at least 1",
        ),
        (
            &["agent", "x", "--max-steps", "0"],
            "must be a whole number of at least 1",
        ),
        (
            &["agent", "x", "--dry-run", "--repeat", "0"],
            "must be a whole number of at least 1",
        ),
    ] {
        let output = setup.program(arguments).run();
        assert_eq!(output.status, 2, "{output:?}");
        assert!(
            output.stderr.contains(message),
            "{message}: {}",
            output.stderr
        );
    }
}

#[test]
fn files_that_a_request_brings_along_are_without_credentials() {
    let setup = TestProject::new("- { text: Read. }");
    let folder = setup.0.folder.path();
    let settings = "env: [DESK_URL]\napps: [apps/desk.yaml]\nallow: { read: [notes.md], net: [\"127.0.0.1:*\"] }\n";
    std::fs::write(folder.join("planrun.yaml"), settings).unwrap();
    std::fs::write(folder.join("notes.md"), "the key is sk-hunter2-is-secret\n").unwrap();
    let output = setup.agent(&["See @[notes.md]"]);
    assert_eq!(output.status, 0, "{output:?}");
    let request = setup.last_request().last().unwrap().to_string();
    assert!(request.contains("the key is [redacted]"), "{request}");
}

#[test]
fn a_model_gets_a_result_without_what_is_secret_in_it() {
    let app = "name: desk
tools:
  - name: login
    endpoint: '${DESK_URL:http://127.0.0.1:8009}/tool'
    effect: read
    parameters: { type: object, properties: { user: { type: string } }, required: [user] }
    returns: { type: object, properties: { token: { type: string, x-sensitive: true }, until: { type: string } }, required: [token, until] }
    mock: [ { data: { token: t0ken-4711, until: later } } ]
";
    let turns = "- { calls: [{ name: desk_login, arguments: { user: Li } }] }\n- { text: Done. }";
    let setup = TestProject(ModelProject::new(app, turns, &[]));
    let output = setup.agent(&["Log in"]);
    assert_eq!(
        (output.status, &*output.stdout),
        (0, "Done.\n"),
        "{output:?}"
    );
    let told = json!(setup.last_request()).to_string();
    assert!(
        told.contains("later") && told.contains("[redacted]"),
        "{told}"
    );
    assert!(!told.contains("t0ken-4711"), "{told}");
}

#[test]
fn a_conversation_that_goes_on_without_a_request_is_named_after_its_last_one() {
    let setup = TestProject::new("- { text: One }\n- { text: Two }");
    assert_eq!(setup.agent(&["Count them"]).status, 0);
    let output = setup.agent(&["--format", "json"]);
    assert!(output.stdout.contains("\"Count them...\""), "{output:?}");
}
