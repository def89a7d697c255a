//! Malicious MCP servers: whatever they do, a step fails or a connection is refused, nothing hangs, and no control
//! sequence reaches the terminal.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use planrun_runs::runs::{PlanText, Planrun};
use tempfile::TempDir;

use crate::mcp::{calling, run, served};
use crate::support::{Output, root};

/// A hostile server of one kind, which behaves correctly until it is armed.
struct Hostile {
    place: TempDir,
    over: &'static str,
    /// The server process, if it uses HTTP.
    process: Option<Child>,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Fails if the process has already exited.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Hostile {
    /// Starts the server over standard input and output, and over HTTP. Empty if Python is not available.
    fn both(mode: &str, call: &str) -> Vec<Self> {
        ["stdio", "http"]
            .into_iter()
            .filter_map(|over| Self::new(mode, over, call))
            .collect()
    }

    fn new(mode: &str, over: &'static str, call: &str) -> Option<Self> {
        let place = served("hostile.py", &[mode], &calling(call))?;
        let mut hostile = Self {
            place,
            over,
            process: None,
        };
        if over == "http" {
            let mut process = Command::new("python3")
                .arg(root().join("tests/peers/mcp/hostile.py"))
                .args([mode.as_ref(), hostile.place.path(), "http".as_ref()])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut port = String::new();
            let output = process.stdout.take().unwrap();
            BufReader::new(output).read_line(&mut port).unwrap();
            hostile.process = Some(process);
            let url = format!("http://127.0.0.1:{}/mcp", port.trim());
            let settings = format!("tools: {{ notes: {{ mcp: {{ url: \"{url}\" }} }} }}\n");
            std::fs::write(hostile.place.path().join("planrun.yaml"), settings).unwrap();
        }
        Some(hostile)
    }

    fn tools(&self, arguments: &[&str]) -> Output {
        let output = run(&self.place, &[&["tools"], arguments].concat());
        self.check(&output);
        output
    }

    /// Locks the tools, arms the server and runs the plan.
    fn run(&self) -> Output {
        let locked = self.tools(&["lock", "--accept", "all"]);
        assert_eq!(locked.status, 0, "{}: {locked:?}", self.over);
        std::fs::write(self.place.path().join("armed"), "").unwrap();
        let output = run(&self.place, &["run", "a.plan"]);
        self.check(&output);
        output
    }

    fn check(&self, output: &Output) {
        for text in [&output.stdout, &output.stderr] {
            let acts = |character: char| matches!(character, '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' | '\u{202a}'..='\u{202e}');
            assert!(!text.contains(acts), "{}: {text:?}", self.over);
            assert!(!text.contains("panicked"), "{}: {text}", self.over);
        }
        assert_ne!(output.status, -1, "{}: {output:?}", self.over);
    }
}

fn fails_with(output: &Output, parts: &[&str]) {
    assert_eq!(output.status, 1, "{output:?}");
    for part in parts {
        assert!(output.stderr.contains(part), "{part:?} in {output:?}");
    }
}

#[test]
fn an_answer_that_never_comes_is_waited_for_as_long_as_the_step_says() {
    for mode in ["hang", "endless"] {
        for server in Hostile::both(mode, "notes.call() timeout 300ms") {
            fails_with(
                &server.run(),
                &["transient.timeout", "no answer within 300ms"],
            );
        }
    }
}

#[test]
fn whatever_is_told_before_the_answer_the_answer_is_heard() {
    for server in Hostile::both("flood", "notes.call()") {
        let output = server.run();
        assert!(output.stdout.contains("after the flood"), "{output:?}");
    }
    let server = Hostile::new("garbage", "stdio", "notes.call()");
    let Some(server) = server else { return };
    let output = server.run();
    assert!(output.stdout.contains("after the garbage"), "{output:?}");
}

#[test]
fn an_answer_that_is_not_json_fails_its_call() {
    let server = Hostile::new("nan", "stdio", "notes.call() retry { attempts: 1 }");
    let Some(server) = server else { return };
    fails_with(
        &server.run(),
        &["validation.result", "the answer is not valid JSON"],
    );
}

/// A server that refuses a request says so with a status, as any HTTP tool does.
#[test]
fn a_status_over_http_has_its_class() {
    for (mode, class, attempts) in [
        ("status-401", "auth.authentication", 1),
        ("status-403", "auth.authorization", 1),
        ("status-400", "tool.failed", 1),
        ("status-404", "tool.failed", 1),
        ("status-422", "tool.failed", 1),
        ("status-307", "denied.policy", 1),
        ("status-429", "transient.rate_limited", 2),
        ("status-503", "transient.unavailable", 2),
    ] {
        let call = "notes.call() retry { attempts: 2, delay: 1ms }";
        let Some(server) = Hostile::new(mode, "http", call) else {
            return;
        };
        let status = mode.trim_start_matches("status-");
        fails_with(
            &server.run(),
            &[class, &format!("answered with status {status}")],
        );
        let refused = std::fs::read_to_string(server.place.path().join("refused")).unwrap();
        assert_eq!(refused.len(), attempts, "{mode}");
    }
}

#[test]
fn an_answer_that_breaks_off_fails_the_step() {
    for mode in ["half", "garbage"] {
        let Some(server) = Hostile::new(mode, "http", "notes.call() retry { attempts: 1 }") else {
            return;
        };
        fails_with(
            &server.run(),
            &["transient.network", "closed the connection"],
        );
    }
    let server = Hostile::new("half", "stdio", "notes.call() retry { attempts: 1 }").unwrap();
    fails_with(
        &server.run(),
        &["transient.network", "closed the connection"],
    );
}

#[test]
fn an_answer_of_a_hundred_megabytes_is_not_read() {
    for (mode, over, part) in [
        ("large", "stdio", "the answer has more than 16 MiB"),
        ("large", "http", "closed the connection"),
        ("large-json", "http", "16777216 bytes"),
    ] {
        let Some(server) = Hostile::new(mode, over, "notes.call() retry { attempts: 1 }") else {
            return;
        };
        fails_with(&server.run(), &[part]);
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_told_to_whoever_waits_for_it() {
    for (mode, part) in [
        ("deep", "nested more than 127 levels deep"),
        ("anonymous", "without the id of its request"),
        ("no-answer", "the answer is not a JSON-RPC answer"),
    ] {
        let Some(server) = Hostile::new(mode, "stdio", "notes.call()") else {
            return;
        };
        fails_with(&server.run(), &["validation.result", part]);
    }
}

#[test]
fn a_server_that_is_not_ready_is_named_before_the_run_begins() {
    let call = "notes.call() timeout 300ms retry { attempts: 1 }";
    let Some(server) = Hostile::new("hang-initialize", "stdio", call) else {
        return;
    };
    let warning = "warning: the server `notes` did not list its tools within 10 s; its contracts are compared when it is called";
    fails_with(&server.run(), &[warning, "no answer within 300ms"]);
}

#[test]
fn names_and_texts_of_a_server_draw_nothing() {
    for server in Hostile::both("names", "notes.call()") {
        fails_with(&server.run(), &["tool.failed", "owned"]);
        let listed = server.tools(&["list", "--full"]);
        assert!(listed.stdout.contains("../../x"), "{listed:?}");
        assert!(!listed.stdout.contains("xxxxxxxx"), "{listed:?}");
        let locked = server.tools(&["lock"]);
        let warning = "warning: 2 tools of notes omitted: their names are empty or longer than 200 characters";
        assert!(locked.stderr.contains(warning), "{locked:?}");
        server.tools(&["show", "notes.call"]);
        server.tools(&["lock", "--check"]);
    }
}

#[test]
fn a_tool_that_cannot_be_read_is_left_out_alone() {
    for server in Hostile::both("no-schema", "notes.call()") {
        let locked = server.tools(&["lock"]);
        let warning = "warning: a tool of notes omitted: its name is empty or longer than 200 characters, or it is not described";
        assert!(
            locked.status == 0 && locked.stderr.contains(warning),
            "{locked:?}"
        );
        let listed = server.tools(&["list"]);
        let (call, broken) = ("notes.call", "notes.broken");
        assert!(
            listed.stdout.contains(call) && !listed.stdout.contains(broken),
            "{listed:?}"
        );
    }
}

#[test]
fn a_list_that_does_not_end_or_goes_too_deep_is_refused() {
    for (mode, part) in [
        ("pages", "more than 1000 pages"),
        ("heavy", "or 33554432 bytes"),
        (
            "circle",
            "the list does not end: the server refers to the same page twice",
        ),
        ("schemas", "notes"),
    ] {
        for server in Hostile::both(mode, "notes.call()") {
            let locked = server.tools(&["lock"]);
            assert_eq!(locked.status, 3, "{}: {locked:?}", server.over);
            assert!(locked.stderr.contains(part), "{locked:?}");
        }
    }
}

#[test]
fn the_message_of_a_failure_is_kept_up_to_its_bound() {
    for mode in ["talk", "talk-error"] {
        for server in Hostile::both(mode, "notes.call()") {
            let output = server.run();
            fails_with(&output, &["éé… (4000000 bytes in total)"]);
            assert!(output.stderr.len() < 20_000, "{}", output.stderr.len());
        }
    }
}

#[test]
fn content_that_is_none_fails_the_step() {
    for server in Hostile::both("bomb", "notes.call()") {
        fails_with(&server.run(), &["validation.result", "not valid base64"]);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let Some(server) = Hostile::new("redirect", "http", "notes.call() retry { attempts: 1 }")
    else {
        return;
    };
    fails_with(&server.run(), &["307"]);
    assert!(!server.place.path().join("visited").exists());
}

/// A server that has been started again may be another version, so its tools are compared before the call is sent to it.
#[test]
fn a_server_that_has_ended_the_session_is_asked_for_its_tools_before_it_is_called_again() {
    let server = |mode: &str| Hostile::new(mode, "http", "notes.call()");
    let requests = |server: &Hostile| {
        let requests = std::fs::read_to_string(server.place.path().join("requests")).unwrap();
        let requests = requests.lines().map(|line| line.split_once(' ').unwrap());
        // The run begins with the second session, after the one of the lock.
        let first = requests.clone().map(|(_, session)| session).next().unwrap();
        let run = requests.filter(|(_, session)| *session != first);
        let methods = run.map(|(method, _)| method.to_owned());
        let methods = methods.filter(|method| method.starts_with("tools/"));
        methods.collect::<Vec<_>>()
    };
    let Some(same) = server("session-same") else {
        return;
    };
    let output = same.run();
    assert!(output.stdout.contains("in a new session"), "{output:?}");
    let twice = ["tools/list", "tools/call", "tools/list", "tools/call"];
    assert_eq!(requests(&same), twice);
    let changed = server("session-new").unwrap();
    let output = changed.run();
    assert_ne!(output.status, 0, "{output:?}");
    let why = "the contract of notes.call has changed since it was pinned";
    assert!(output.stderr.contains(why), "{output:?}");
    assert_eq!(requests(&changed), twice[..3]);
    let none = server("session-none").unwrap();
    fails_with(
        &none.run(),
        &["tool.failed", "status 404 in a new session, too"],
    );
    assert_eq!(requests(&none), twice);
}

/// A process may start a run long after the one before it, over the same connection.
#[tokio::test]
async fn a_server_at_an_address_is_asked_for_its_tools_before_each_run() {
    let Some(server) = Hostile::new("session-new", "http", "notes.call()") else {
        return;
    };
    server.tools(&["lock"]);
    let planrun = Planrun::open(server.place.path()).unwrap();
    let text = PlanText::from_file(&server.place.path().join("a.plan")).unwrap();
    let plan = planrun.check(text).unwrap().plan(None).unwrap();
    plan.verify_contracts().await.unwrap();
    std::fs::write(server.place.path().join("ended"), "").unwrap();
    assert!(plan.verify_contracts().await.is_err());
}

#[test]
fn servers_are_connected_to_all_at_once() {
    let Some(place) = served("hostile.py", &["together-20"], &calling("notes.call()")) else {
        return;
    };
    let settings = std::fs::read_to_string(place.path().join("planrun.yaml")).unwrap();
    let one = settings.strip_prefix("tools:\n  notes: ").unwrap();
    let servers: Vec<String> = (0..20).map(|count| format!("  s{count}: {one}")).collect();
    let all = format!("tools:\n{}", servers.concat());
    std::fs::write(place.path().join("planrun.yaml"), all).unwrap();
    // Each server waits for the last one, so connecting to them in sequence would block forever.
    let locked = run(&place, &["tools", "lock"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    assert_eq!(
        locked.stdout.matches(": 1 tool\n").count(),
        20,
        "{locked:?}"
    );
}
