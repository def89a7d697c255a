//! `planrun tools run`: one call of one tool from the command line, checked before it is made, with its result printed
//! immediately or written to a file later.

use std::time::{Duration, Instant};

use planrun_runs::driver::Silence;
use planrun_runs::runs::{Planrun, ResultFile, ResumeOptions};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::mcp::{calling, calls, project, run};
use crate::secrets::EchoServer;
use crate::support::{Output, folder, planrun};

fn called(place: &TempDir, tool: &str, input: &str) -> Output {
    run(
        place,
        &["tools", "run", tool, "--input", input, "--format", "json"],
    )
}

/// Waits until the result of a deferred call is in its file, and returns it. The deadline only keeps a broken test from
/// waiting forever.
fn result(path: &str) -> Json {
    let read = || serde_json::from_slice::<Json>(&std::fs::read(path).unwrap()).unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while read()["status"] == "pending" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    read()
}

#[test]
fn a_call_is_a_run_whose_result_is_printed() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let plain = run(
        &place,
        &[
            "tools",
            "run",
            "notes.echo",
            "--input",
            r#"{"text": "你好 'x' \"y\""}"#,
        ],
    );
    assert_eq!(
        (plain.status, &*plain.stdout),
        (0, "你好 'x' \"y\"\n"),
        "{plain:?}"
    );
    let document = called(
        &place,
        "notes.keep-note",
        r#"{"text": "$(touch smuggled); x"}"#,
    )
    .json();
    assert_eq!(
        (&document["success"], &document["data"]),
        (&json!(true), &json!("ok"))
    );
    assert!(!place.path().join("smuggled").exists());
    assert_eq!(
        calls(&place)[1]["arguments"]["text"],
        "$(touch smuggled); x"
    );
    std::fs::write(place.path().join("in.json"), r#"{"text": "from a file"}"#).unwrap();
    let file = run(
        &place,
        &["tools", "call", "notes.echo", "--input", "@in.json"],
    );
    assert_eq!(file.stdout, "from a file\n");
    let piped = planrun(["tools", "run", "notes.echo", "--input", "-"]);
    let piped = piped
        .within(place.path())
        .stdin(r#"{"text": "from a pipe"}"#)
        .run();
    assert_eq!(piped.stdout, "from a pipe\n");
    let failed = called(&place, "notes.refuse", "{}");
    assert_eq!(
        (failed.status, &failed.json()["error"]["code"]),
        (1, &json!("tool.failed"))
    );
}

#[test]
fn a_call_that_is_wrong_is_refused_with_what_may_have_been_meant() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let cases = [
        (
            "notes.ecko",
            r#"{"text": "x"}"#,
            "unknown-tool",
            "notes.echo",
        ),
        (
            "notes.echo",
            r#"{"texts": "x"}"#,
            "unknown-argument",
            "text",
        ),
        ("notes.echo", "{}", "missing-argument", ""),
        ("notes.echo", r#"{"text": 5}"#, "invalid-argument", ""),
        ("notes.echo", r#"{"text": "#, "invalid-input", ""),
        ("notes.echo", "[]", "invalid-input", ""),
    ];
    for (tool, input, code, similar) in cases {
        for more in [&[][..], &["--defer"]] {
            let arguments = [
                &["tools", "run", tool, "--input", input, "--format", "json"],
                more,
            ];
            let refused = run(&place, &arguments.concat());
            let document = refused.json();
            assert_eq!(
                (refused.status, &document["success"]),
                (2, &json!(false)),
                "{refused:?}"
            );
            assert_eq!(document["error"]["code"], code, "{document}");
            assert!(
                document["error"]["similar"].to_string().contains(similar),
                "{document}"
            );
        }
    }
    assert_eq!(calls(&place), [] as [Json; 0]);
    assert!(
        !place.path().join(".planrun/results").exists(),
        "nobody waits for what is refused"
    );
}

#[test]
fn a_deferred_call_returns_at_once_and_its_file_tells_the_rest() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let deferred = run(
        &place,
        &[
            "tools",
            "run",
            "notes.count",
            "--input",
            r#"{"text": "abc"}"#,
            "--defer",
        ],
    )
    .json();
    assert_eq!(deferred["status"], "pending");
    assert_eq!(
        (&deferred["tool"], &deferred["input"]),
        (&json!("notes.count"), &json!({ "text": "abc" }))
    );
    let path = place.path().join(deferred["result"].as_str().unwrap());
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
    let done = result(path.to_str().unwrap());
    assert_eq!(
        (&done["status"], &done["data"]),
        (&json!("done"), &json!({ "letters": 3 }))
    );
}

#[test]
fn a_deferred_call_that_wants_a_yes_waits_for_it() {
    for (answer, status) in [("true", "done"), ("false", "rejected")] {
        let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
            return;
        };
        let file = place.path().join("planrun.yaml");
        let settings = std::fs::read_to_string(&file).unwrap() + "confirm: [notes.wipe]\n";
        std::fs::write(&file, settings).unwrap();
        let deferred = run(&place, &["tools", "run", "notes.wipe", "--defer"]).json();
        let path = place.path().join(deferred["result"].as_str().unwrap());
        let waiting = result(path.to_str().unwrap());
        assert_eq!(waiting["status"], "awaiting_confirmation", "{waiting}");
        let question = &waiting["questions"][0];
        assert_eq!(question["tool"], "notes.wipe", "{waiting}");
        assert!(question["effect"].is_string() && question["arguments"].is_object());
        assert_eq!(calls(&place), [] as [Json; 0]);
        let id = deferred["run"].as_str().unwrap();
        let asked = waiting["questions"][0]["path"].as_str().unwrap();
        assert_eq!(
            waiting["questions"][0]["answer_with"],
            format!("planrun runs answer {id} {asked}=true --resume"),
        );
        let answer = format!("{asked}={answer}");
        run(&place, &["runs", "answer", id, &answer, "--resume"]);
        let ended = result(path.to_str().unwrap());
        assert_eq!(ended["status"], status, "{ended}");
        assert_eq!(calls(&place).len(), usize::from(status == "done"));
        run(&place, &["runs", "prune", "--all"]);
        assert!(!path.exists(), "a deleted run leaves no result behind");
    }
}

#[tokio::test]
async fn the_file_of_a_deferred_call_tells_the_rest_whoever_drives_the_run() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let file = place.path().join("planrun.yaml");
    let settings = std::fs::read_to_string(&file).unwrap() + "confirm: [notes.wipe]\n";
    std::fs::write(&file, settings).unwrap();
    let deferred = run(&place, &["tools", "run", "notes.wipe", "--defer"]).json();
    let path = place.path().join(deferred["result"].as_str().unwrap());
    let waiting = result(path.to_str().unwrap());
    let id = deferred["run"].as_str().unwrap();
    let asked = waiting["questions"][0]["path"].as_str().unwrap();
    run(&place, &["runs", "answer", id, &format!("{asked}=true")]);
    // Neither the program nor a server, but a program that uses the library.
    let planrun = Planrun::open(place.path()).unwrap();
    let resumed = planrun.resume(id, ResumeOptions::default()).unwrap();
    let driven = resumed.drive(&mut Silence).await.unwrap();
    assert!(driven.unwritten.is_none(), "{:?}", driven.unwritten);
    let read = || serde_json::from_slice::<Json>(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(read()["status"], "done", "{}", read());
    // A driver that died after the end of the run and before it wrote the file has left this behind.
    std::fs::write(&path, r#"{"status": "pending"}"#).unwrap();
    let ended = planrun.resume(id, ResumeOptions::default()).unwrap();
    ended.drive(&mut Silence).await.unwrap();
    assert_eq!(read()["status"], "done", "{}", read());
}

#[test]
fn the_result_file_of_a_run_with_any_id_is_in_its_folder() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("planrun.yaml"), "").unwrap();
    let planrun = Planrun::open(place.path()).unwrap();
    let folder = ResultFile::of(&planrun, "r1");
    let folder = folder.path().parent().unwrap();
    for (id, name) in [
        ("r1", "r1.json"),
        ("../../planrun", "planrun.json"),
        ("/etc/r1", "r1.json"),
        ("..\\r1", "r1.json"),
        ("..", "...json"),
    ] {
        assert_eq!(
            ResultFile::of(&planrun, id).path(),
            folder.join(name),
            "{id}"
        );
    }
}

#[test]
fn a_result_with_a_secret_is_given_without_it() {
    let server = EchoServer::new(&[]);
    let app = format!(
        "name: vault
tools:
  - name: login
    endpoint: 'http://{}/tool'
    effect: read
    parameters: {{ type: object, properties: {{ user: {{ type: string }} }}, required: [user] }}
    returns: {{ type: object, properties: {{ body: {{ type: string, x-sensitive: true }} }}, required: [body] }}
",
        server.address
    );
    let place = folder([
        ("apps/vault.yaml", &*app),
        ("planrun.yaml", "apps: [apps/*.yaml]\n"),
    ]);
    let input = r#"{"user": "k1m-the-user"}"#;
    let printed = run(&place, &["tools", "run", "vault.login", "--input", input]);
    assert_eq!(printed.status, 0, "{printed:?}");
    assert!(printed.stdout.contains("[redacted]"), "{printed:?}");
    assert!(!printed.stdout.contains("k1m-the-user"), "{printed:?}");
    let document = called(&place, "vault.login", input).json();
    assert_eq!(document["data"]["body"], "[redacted]", "{document}");
    let arguments = ["tools", "run", "vault.login", "--input", input, "--defer"];
    let begun = run(&place, &arguments).json();
    let path = place.path().join(begun["result"].as_str().unwrap());
    let deferred = result(path.to_str().unwrap());
    assert_eq!(deferred["data"]["body"], "[redacted]", "{deferred}");
}

#[test]
fn a_call_without_a_permission_is_refused_with_the_setting_that_it_needs() {
    let input = r#"{"url": "http://127.0.0.1:9/x", "headers": {"X-Api-Key": "k3y-4711"}}"#;
    let place = folder([("planrun.yaml", "env: [NOT_SET]\n")]);
    let refused = called(&place, "http.fetch", input);
    let document = refused.json();
    assert_eq!(
        (refused.status, &document["error"]["code"]),
        (2, &json!("permission-missing"))
    );
    let remedy = document["error"]["suggestion"].as_str().unwrap();
    assert!(
        remedy.contains("`allow: { net: […] }` to planrun.yaml"),
        "{document}"
    );
    let plain = run(&place, &["tools", "run", "http.fetch", "--input", input]);
    assert!(
        plain
            .stderr
            .contains("`allow: { net: […] }` to planrun.yaml"),
        "{plain:?}"
    );

    let place = folder([("planrun.yaml", "allow: { net: [example.com] }\n")]);
    let denied = called(&place, "http.fetch", input).json();
    let message = denied["error"]["message"].as_str().unwrap();
    let remedy = "add \"127.0.0.1:9\" to `net` of `allow` in planrun.yaml";
    assert!(message.ends_with(remedy), "{denied}");
    let arguments = ["tools", "run", "http.fetch", "--input", input, "--defer"];
    let begun = run(&place, &arguments);
    assert!(!begun.stdout.contains("k3y-4711"), "{begun:?}");
    let path = place.path().join(begun.json()["result"].as_str().unwrap());
    result(path.to_str().unwrap());
}

#[test]
fn a_call_that_cannot_be_made_here_is_a_document_for_programs() {
    let app = "name: hr
headers: { X-Token: '${NOT_SET}' }
tools:
  - { name: find, endpoint: 'http://127.0.0.1:9/tool', effect: read }
";
    let place = folder([
        ("apps/hr.yaml", app),
        ("planrun.yaml", "env: [NOT_SET]\napps: [apps/*.yaml]\n"),
    ]);
    let refused = called(&place, "hr.find", "{}");
    let document = refused.json();
    assert_eq!((refused.status, &document["success"]), (3, &json!(false)));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("NOT_SET"), "{document}");
}

#[test]
fn a_call_that_cannot_be_recorded_is_one_document_whether_it_is_deferred_or_not() {
    let place = folder([(
        ".planrun",
        "a file where the folder of the journal would be",
    )]);
    let call = ["tools", "run", "sys.uuid", "--format", "json"];
    for more in [&[][..], &["--defer"]] {
        let refused = run(&place, &[&call[..], more].concat());
        assert_eq!(refused.status, 3, "{refused:?}");
        assert_eq!(
            refused.json()["error"]["code"],
            "environment",
            "{refused:?}"
        );
    }
    let human = run(&place, &["tools", "run", "sys.uuid", "--defer"]);
    assert_eq!((human.status, &*human.stdout), (3, ""), "{human:?}");
}
