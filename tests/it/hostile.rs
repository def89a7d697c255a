//! Malicious input: plans of models and strangers, app files, answers of tools, special files.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::any;
use serde_json::json;

use crate::support::{Output, folder, planrun};

fn run(place: &Path, arguments: &[&str]) -> Output {
    planrun(arguments).within(place).run()
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Runs a plan. Returns its reply and its error message.
fn replied(place: &Path, plan: &str) -> (String, String) {
    std::fs::write(place.join("p.plan"), plan).unwrap();
    let output = run(place, &["run", "p.plan", "--no-journal"]);
    (output.stdout, output.stderr)
}

/// Answers all requests on a free port, and counts them.
struct Listener {
    port: u16,
    asked: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

impl Listener {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
        let counted = asked.clone();
        let answer = move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let answer = json!({"success": true, "data": "well"});
            std::future::ready((
                [("set-cookie", "session=hunter2-cookie")],
                axum::Json(answer),
            ))
        };
        let router = Router::new().fallback(any(answer));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            port,
            asked,
            _runtime: runtime,
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[test]
fn f3_what_app_files_reach_is_held_to_the_project() {
    let server = Listener::start();
    let port = server.port;
    let plan = "use hr\nplan p() {\n    step found = hr.find()\n    reply found\n}\n";
    let app = format!(
        "name: hr\ntools: [{{ name: find, effect: read, endpoint: 'http://127.0.0.1:{port}/tool' }}]\n"
    );
    let place = folder([("apps/hr.yaml", app.as_str())]);
    assert_eq!(replied(place.path(), plan).0, "\"well\"\n".replace('"', ""));
    for allow in ["{}", "{ net: [\"example.com\"] }", "{ net: [\"*\"] }"] {
        std::fs::write(
            place.path().join("planrun.yaml"),
            format!("allow: {allow}\n"),
        )
        .unwrap();
        let (_, stderr) = replied(place.path(), plan);
        let remedy = format!(
            "error: `hr.find` cannot be called: `allow` in planrun.yaml does not permit it; add \"127.0.0.1:{port}\" to `allow.net` there"
        );
        assert!(stderr.contains(&remedy), "{stderr}");
    }
    assert_eq!(server.asked(), 1);
    let named = format!("allow: {{ net: [\"127.0.0.1:{port}\"] }}\n");
    std::fs::write(place.path().join("planrun.yaml"), named).unwrap();
    assert_eq!(replied(place.path(), plan).0, "well\n");
}

#[test]
fn f3_a_variable_that_nobody_listed_is_shown_nowhere() {
    let app = "name: hr\nsystem_context: ${TOKEN}\ntools: [{ name: find, description: \"${TOKEN}\", \
               endpoint: 'http://127.0.0.1:1/${TOKEN}' }]\n";
    let plan = "use hr\nplan p() {\n    step s = hr.find()\n}\n";
    let place = folder([("p.plan", plan), ("apps/hr.yaml", app)]);
    for file in [None, Some("env: [TOKEN]\n")] {
        if let Some(text) = file {
            std::fs::write(place.path().join("planrun.yaml"), text).unwrap();
        }
        for arguments in [
            &["check"][..],
            &["schema", "--catalog"],
            &["schema", "p.plan", "--catalog"],
            &["tools", "list"],
            &["tools", "show", "hr.find"],
            &["run", "p.plan"],
        ] {
            let program = planrun(arguments).variable("TOKEN", "hunter2-token");
            let output = program.within(place.path()).run();
            assert!(
                !output.stdout.contains("hunter2") && !output.stderr.contains("hunter2"),
                "{arguments:?} {output:?}"
            );
            if arguments == ["check"] {
                assert_eq!(output.status, 1);
                let suggests_env = output.stdout.contains("add `env: [TOKEN]` to planrun.yaml");
                assert_eq!(suggests_env, file.is_none(), "{}", output.stdout);
                assert!(
                    output
                        .stdout
                        .contains("variables are allowed only in `endpoint` and `headers`")
                );
            }
        }
    }
}

#[test]
fn f10_nothing_that_a_program_has_started_outlives_its_call() {
    let place = folder([("a", "")]);
    let plan = |script: &str| {
        let script = script.replace('"', "\\\"");
        format!(
            "use proc\nplan p() {{\n    allow {{ run: [\"sh\"] }}\n    step s = proc.run(argv: [\"sh\", \"-c\", \"{script}\"])\n    reply s.stdout\n}}\n"
        )
    };
    // In the background, in a separate session, and with the pipe kept open.
    for leaves in [
        "(sleep 2; echo late > late) & echo done",
        "setsid sh -c 'sleep 2; echo late > late' & echo done",
        "setsid sh -c 'trap : TERM HUP; sleep 2; echo late > late' > /dev/null 2>&1 & echo done",
        "(setsid sh -c '(sleep 2; echo late > late) &') ; echo done",
    ] {
        let begun = Instant::now();
        let (stdout, stderr) = replied(place.path(), &plan(leaves));
        assert_eq!(stdout.trim(), "done", "{leaves}: {stderr}");
        std::thread::sleep(Duration::from_millis(2300).saturating_sub(begun.elapsed()));
        assert!(!place.path().join("late").exists(), "{leaves}");
    }
}

#[test]
fn f10_a_second_signal_ends_what_a_run_has_started() {
    for signals in [["-TERM", "-TERM"], ["-HUP", "-INT"], ["-INT", "-INT"]] {
        let script = "setsid sh -c 'echo $$ > there; sleep 60' & echo > ready; sleep 60";
        let plan = format!(
            "use proc\nplan p() {{\n    allow {{ run: [\"sh\"] }}\n    step s = proc.run(argv: [\"sh\", \"-c\", \"{script}\"])\n}}\n"
        );
        let place = folder([("p.plan", plan)]);
        let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
            .args(["run", "p.plan", "--no-journal"])
            .current_dir(place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let written = |name: &str| fs::read_to_string(place.path().join(name)).unwrap_or_default();
        while written("ready").is_empty() || !written("there").ends_with('\n') {
            std::thread::sleep(Duration::from_millis(10));
        }
        let started = written("there").trim().to_owned();
        for signal in signals {
            let sent = Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status();
            assert!(sent.unwrap().success());
            std::thread::sleep(Duration::from_millis(600));
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signals:?}");
        let lives = || {
            let asked = Command::new("kill").args(["-0", &started]).output();
            asked.unwrap().status.success()
        };
        let mut tries = 0..100;
        while lives() {
            assert!(tries.next().is_some(), "{signals:?}: {started} still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn f14_what_has_no_end_is_not_read() {
    let plan = "plan p() {\n    reply 1\n}\n";
    let place = folder([("p.plan", plan), ("data/a", "")]);
    let path = |name: &str| place.path().join(name);
    let refusal = |arguments: &[&str]| {
        let output = run(place.path(), arguments);
        assert_ne!(output.status, 0, "{arguments:?}");
        output.stdout + &output.stderr
    };
    let no_file = "it is a pipe or a device, not a file";
    for end_less in ["/dev/zero", "pipe"] {
        if end_less == "pipe" {
            pipe(&path("pipe"));
        }
        std::fs::create_dir_all(path("apps")).unwrap();
        let link = |name: &str| {
            let _ = std::fs::remove_file(path(name));
            symlink(
                if end_less == "pipe" {
                    path("pipe")
                } else {
                    end_less.into()
                },
                path(name),
            )
            .unwrap();
        };
        link("apps/a.yaml");
        assert!(refusal(&["check", "--deny", "warnings"]).contains(no_file));
        std::fs::remove_file(path("apps/a.yaml")).unwrap();
        link("planrun.yaml");
        assert!(refusal(&["check"]).contains(no_file));
        std::fs::remove_file(path("planrun.yaml")).unwrap();
        std::fs::write(path("planrun.yaml"), "apps: [\"/**\"]\n").unwrap();
        assert!(refusal(&["check"]).contains("searched"));
        std::fs::write(path("planrun.yaml"), "mcp: [pipe.json]\n").unwrap();
        link("pipe.json");
        assert!(refusal(&["check"]).contains(no_file));
        std::fs::remove_file(path("planrun.yaml")).unwrap();
        link("used.plan");
        std::fs::write(path("p.plan"), format!("use \"used.plan\" as used\n{plan}")).unwrap();
        let used = refusal(&["check", "p.plan"]);
        assert!(used.contains(no_file) || used.contains("is outside of the project"));
        std::fs::write(path("p.plan"), plan).unwrap();
    }
}

#[test]
fn f15_no_finding_shows_what_lies_outside_of_the_project() {
    let outside = folder([
        ("secret.plan", "root:hunter2-hash:0:0\n"),
        ("secret.yaml", "name: [hunter2-hash\n"),
    ]);
    let place = folder([("planrun.yaml", "")]);
    let climbs = "../".repeat(place.path().components().count());
    let written = format!("{climbs}{}", outside.path().join("secret.plan").display());
    symlink(
        outside.path().join("secret.plan"),
        place.path().join("link.plan"),
    )
    .unwrap();
    for used in [written.replace("//", "/"), "link.plan".to_owned()] {
        let plan = format!("use \"{used}\" as other\nplan p() {{\n    step s = other.q()\n}}\n");
        std::fs::write(place.path().join("p.plan"), plan).unwrap();
        for format in ["human", "json", "short"] {
            let output = run(place.path(), &["check", "p.plan", "--format", format]);
            let printed = output.stdout + &output.stderr;
            assert!(!printed.contains("hunter2"), "{used} {format}: {printed}");
            assert!(
                printed.contains("outside of the project"),
                "{used} {format}: {printed}"
            );
        }
    }
    let listed = outside.path().join("secret.yaml");
    std::fs::write(place.path().join("p.plan"), "plan p() {\n    reply 1\n}\n").unwrap();
    std::fs::remove_file(place.path().join("link.plan")).unwrap();
    std::fs::write(
        place.path().join("planrun.yaml"),
        format!("apps: [{listed:?}]\n"),
    )
    .unwrap();
    let output = run(place.path(), &["check", "--deny", "warnings"]);
    let printed = output.stdout + &output.stderr;
    assert!(
        !printed.contains("hunter2") && printed.contains("secret.yaml"),
        "{printed}"
    );
}

#[test]
fn f16_a_pipe_is_no_file_to_read() {
    let place = folder([("data/a", "")]);
    pipe(&place.path().join("data/pipe"));
    let plan = "use fs\nplan p() {\n    allow { read: [\"data\"], write: [\"data\"] }\n    step s = fs.read(path: \"data/pipe\") \
                recover tool.failed as e => e.message\n    step w = fs.write(path: \"data/pipe\", content: \"x\") recover tool.failed as e => \
                { bytes: 0 }\n    reply [s, w.bytes]\n}\n";
    let (stdout, stderr) = replied(place.path(), plan);
    assert!(
        stdout.contains("a pipe or a device") && stdout.contains('0'),
        "{stdout} {stderr}"
    );
}

#[test]
fn a_path_with_a_slash_at_its_end_is_no_file_to_write() {
    let place = folder([("data/a", "")]);
    for path in ["data/new/", "data/new/."] {
        let plan = format!(
            "use fs\nplan p() {{\n    allow {{ write: [\"data/**\"] }}\n    step w = fs.write(path: \"{path}\", content: \"x\")\n    \
             reply w\n}}\n"
        );
        let (stdout, stderr) = replied(place.path(), &plan);
        assert!(stderr.contains("names a folder"), "{stdout} {stderr}");
        assert!(!place.path().join("data/new").exists());
    }
}

#[test]
fn f20_names_are_held_to_what_they_resolve_to() {
    let server = Listener::start();
    let port = server.port;
    let plan = |allow: &str, url: &str| {
        format!(
            "use http\nplan p() {{\n    allow {{ net: [{allow}] }}\n    step s = http.fetch(url: \"{url}\")\n    reply s.status\n}}\n"
        )
    };
    let place = folder([("a", "")]);
    let url = format!("http://localhost:{port}/");
    for allow in ["\"local*:*\"", "\"*\"", "\"l*:*\", \"10.*:*\""] {
        let (stdout, stderr) = replied(place.path(), &plan(allow, &url));
        assert_eq!(stdout, "", "{allow}");
        assert!(
            stderr.contains("denied.policy") && stderr.contains("resolves to"),
            "{allow}: {stderr}"
        );
    }
    assert_eq!(server.asked(), 0);
    for allow in ["\"localhost:*\"", "\"local*:*\", \"127.0.0.1:*\""] {
        let (stdout, stderr) = replied(place.path(), &plan(allow, &url));
        assert_eq!(stdout.trim(), "200", "{allow}: {stderr}");
    }
    assert_eq!(server.asked(), 2);
}

#[test]
fn f21_the_folder_of_the_project_is_no_link() {
    let elsewhere = folder([("a", "")]);
    let plan = "plan p() {\n    reply 1\n}\n";
    for journal_alone in [false, true] {
        let place = folder([("p.plan", plan)]);
        let own = place.path().join(".planrun");
        if journal_alone {
            std::fs::create_dir(&own).unwrap();
            symlink(elsewhere.path().join("a"), own.join("journal.db")).unwrap();
        } else {
            symlink(elsewhere.path(), &own).unwrap();
        }
        let output = run(place.path(), &["run", "p.plan"]);
        assert_ne!(output.status, 0, "{output:?}");
        assert!(output.stderr.contains("is a link"), "{output:?}");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }
}

#[test]
fn f17_a_run_is_held_to_the_limits_of_its_project() {
    let plan = |policy: &str| {
        format!(
            "use sys\nplan p(list: int[] = [1, 2, 3, 4]) {{\n    {policy}\n    step all = each n in list max 4 {{\n        step s = sys.echo(value: n)\n    }}\n    reply \"done\"\n}}\n"
        )
    };
    let place = folder([("planrun.yaml", "limits: { calls: 3 }\n")]);
    let (_, stderr) = replied(place.path(), &plan(""));
    assert!(stderr.contains("budget.calls"), "{stderr}");
    let (_, stderr) = replied(place.path(), &plan("policy { budget: { calls: 2 } }"));
    assert!(
        stderr.contains("the budget of 2 calls is spent"),
        "{stderr}"
    );
    let (stdout, stderr) = replied(place.path(), &plan("policy { budget: { calls: 9 } }"));
    assert!(
        stdout.contains("beyond-limit") || stderr.contains("beyond-limit"),
        "{stdout} {stderr}"
    );
    // The project's policy is a default, not a limit.
    std::fs::write(
        place.path().join("planrun.yaml"),
        "policy: { budget: { calls: 3 } }\n",
    )
    .unwrap();
    let (stdout, stderr) = replied(place.path(), &plan("policy { budget: { calls: 9 } }"));
    assert_eq!(stdout, "done\n", "{stderr}");
    std::fs::write(
        place.path().join("planrun.yaml"),
        "limits: { memory: lots }\n",
    )
    .unwrap();
    let (_, stderr) = replied(place.path(), &plan(""));
    assert!(
        stderr.contains("planrun.yaml: limits: `memory` expects a whole number above zero"),
        "{stderr}"
    );
}

#[test]
fn f8_what_calls_give_has_a_budget_of_memory() {
    let hundred = vec!["0"; 100].join(", ");
    let plan = |policy: &str| {
        format!(
            "use fs\nplan p() {{\n    allow {{ read: [\"large\"] }}\n    {policy}\n    step all = each n in [{hundred}] max 100 {{\n        step some = each m in [{hundred}] max 100 {{\n            \
                 step s = fs.read(path: \"large\")\n            yield s\n        }}\n        yield some\n    }}\n    reply size(all)\n}}\n"
        )
    };
    let place = folder([
        ("large", "x".repeat(1 << 20)),
        ("planrun.yaml", String::new()),
    ]);
    let (stdout, stderr) = replied(
        place.path(),
        &plan("policy { budget: { memory: 20000000 } }"),
    );
    assert_eq!(stdout, "");
    assert!(
        stderr.contains("budget.memory") && stderr.contains("the budget of 20000000 bytes"),
        "{stderr}"
    );
    std::fs::write(
        place.path().join("planrun.yaml"),
        "limits: { memory: 16MiB }\n",
    )
    .unwrap();
    let (_, stderr) = replied(place.path(), &plan(""));
    assert!(stderr.contains("the budget of 16777216 bytes"), "{stderr}");
}

#[test]
fn f24_a_cookie_is_no_part_of_an_answer() {
    let server = Listener::start();
    let plan = format!(
        "use http\nplan p() {{\n    allow {{ net: [\"127.0.0.1:*\"] }}\n    step s = http.fetch(url: \"http://127.0.0.1:{}/\")\n    reply s\n}}\n",
        server.port
    );
    let place = folder([("p.plan", plan)]);
    let output = run(
        place.path(),
        &["run", "p.plan", "--output", "full", "--format", "json"],
    );
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stdout.contains("content-type") && !output.stdout.contains("hunter2"),
        "{output:?}"
    );
    for file in std::fs::read_dir(place.path().join(".planrun")).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            let bytes = std::fs::read(file).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
        }
    }
}

#[test]
fn f13_no_error_shows_what_was_given_for_a_field() {
    let plan = "type Mode = \"fast\" | \"slow\"\nplan p(password: secret, mode: Mode, n: int) {\n    reply [password, mode, n]\n}\n";
    let place = folder([("p.plan", plan)]);
    let (password, mode, n) = ("password=abcdef", "mode=fast", "n=1");
    for inputs in [
        ["password:hunter2", mode, n],
        [password, "mode=hunter2", n],
        [password, mode, "n=hunter2"],
        [password, mode, "=hunter2"],
    ] {
        let arguments = inputs.iter().flat_map(|input| ["-i", input]);
        let output = planrun(
            ["run", "p.plan", "--no-journal"]
                .into_iter()
                .chain(arguments),
        )
        .within(place.path())
        .run();
        assert_ne!(output.status, 0, "{inputs:?}");
        assert!(
            !output.stderr.contains("hunter2") && !output.stdout.contains("hunter2"),
            "{output:?}"
        );
        assert!(
            output.stderr.contains("KEY=VALUE") || output.stderr.contains("the input `"),
            "{output:?}"
        );
    }
    for json in [
        json!({"password": "abcdef", "mode": "hunter2", "n": 1}),
        json!({"password": ["hunter2"], "mode": "fast", "n": 1}),
        json!({"password": "abcdef", "mode": "fast", "n": "hunter2"}),
    ] {
        let program = planrun(["run", "p.plan", "--no-journal", "--input", "-"]);
        let output = program.stdin(json.to_string()).within(place.path()).run();
        assert_ne!(output.status, 0, "{json}");
        assert!(
            !output.stderr.contains("hunter2") && output.stderr.contains("the input `"),
            "{output:?}"
        );
    }
}

/// Backtracking would take exponential time, and large repetition counts would take all memory.
#[test]
fn regular_expressions_end() {
    let place = folder([("a", "")]);
    let long = "a".repeat(50_000);
    let output = run(
        place.path(),
        &["eval", &format!("'{long}b'.matches('^(a+)+$')")],
    );
    assert_eq!(output.stdout, "false\n", "{output:?}");
    let output = run(
        place.path(),
        &["eval", "'a'.matches('((a{1000}){1000}){1000}')"],
    );
    assert_ne!(output.status, 0, "{output:?}");
}

#[test]
fn a_plan_does_not_choose_what_an_allowed_program_is_by_its_search_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder([("evil/uname", "#!/bin/sh\necho EVIL\n")]);
    let program = folder.path().join("evil/uname");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let plan = r#"use proc plan p() -> string { allow { run: ["uname"], env: ["PATH"] }
        step x = proc.run(argv: ["uname"], env: { PATH: "evil" }) reply x.stdout }"#;
    let (reply, message) = replied(folder.path(), plan);
    assert!(
        !reply.is_empty() && !reply.contains("EVIL"),
        "{reply}{message}"
    );
}

#[test]
fn a_plan_writes_none_of_the_files_that_give_it_permissions() {
    let settings = "allow: { write: [\"**\"] }\napps: [\"services/*.yaml\"]\n\
                    tools: { x: { process: { command: [sh, scripts/x.sh], tools: [{ name: r, effect: read }] } } }\n";
    let folder = folder([
        ("planrun.yaml", settings),
        ("scripts/x.sh", "echo"),
        ("services/.keep", ""),
    ]);
    for (file, is_refused) in [
        ("planrun.yaml", true),
        ("data/../planrun.lock", true),
        (".agents/rules/default.md", true),
        ("services/new.yaml", true),
        ("scripts/x.sh", true),
        ("scripts/y.sh", false),
    ] {
        fs::create_dir_all(folder.path().join(".agents/rules")).unwrap();
        fs::create_dir_all(folder.path().join("data")).unwrap();
        let plan = format!(
            "use fs plan p() -> int {{ allow {{ write: [\"**\"] }} \
             step x = fs.write(path: [\"{file}\"][0], content: \"a\") reply x.bytes }}"
        );
        let (reply, message) = replied(folder.path(), &plan);
        let why = "says what plans and agents may do, so no plan may write it";
        assert_eq!(
            message.contains(why),
            is_refused,
            "{file}: {reply}{message}"
        );
    }
    let kept = fs::read_to_string(folder.path().join("planrun.yaml")).unwrap();
    assert_eq!(kept, settings);
}
