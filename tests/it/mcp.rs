//! MCP servers: locking their tools and calling them, with a scripted server that behaves like real servers.

use std::process::Command;

use planrun_lang::lint::suspicions;
use planrun_tools::contract::ToolIndex;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::discovery::offered;
use crate::support::{Output, cases, folder, has_python, planrun, root};

/// Returns a project with the scripted server as `notes`, with all declared effect classes accepted in the lock file.
/// `None` if Python is not available.
pub fn project(plan: &str) -> Option<TempDir> {
    let place = unpinned(plan)?;
    let locked = run(&place, &["tools", "lock", "--accept", "all"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    Some(place)
}

/// Returns the same project without a lock file.
pub fn unpinned(plan: &str) -> Option<TempDir> {
    served("scripted.py", &[], plan)
}

/// Returns a project with one of the servers in `tests/peers/mcp` as `notes`. The server gets these arguments and the
/// project's folder.
pub fn served(server: &str, arguments: &[&str], plan: &str) -> Option<TempDir> {
    if !has_python("servers of MCP") {
        return None;
    }
    let place = folder([("a.plan", plan)]);
    let server = root().join("tests/peers/mcp").join(server);
    let mut command = vec![json!("python3"), json!(server)];
    command.extend(arguments.iter().map(|argument| json!(argument)));
    command.push(json!(place.path()));
    let command = Json::Array(command);
    let settings = format!("tools:\n  notes: {{ mcp: {{ command: {command} }} }}\n");
    std::fs::write(place.path().join("planrun.yaml"), settings).unwrap();
    Some(place)
}

pub fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

/// Returns the calls that the server received, in order.
pub fn calls(place: &TempDir) -> Vec<Json> {
    let calls = std::fs::read_to_string(place.path().join("calls")).unwrap_or_default();
    calls
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns a plan that makes one call and replies with its result.
pub fn calling(call: &str) -> String {
    format!("use notes\n\nplan a() -> any {{\n    step given = {call}\n    reply given\n}}\n")
}

fn replied(call: &str) -> Option<Result<Json, Output>> {
    let place = project(&calling(call))?;
    let output = run(&place, &["run", "a.plan", "--format", "json"]);
    Some(match output.status {
        0 => Ok(output.json()["reply"].clone()),
        _ => Err(output),
    })
}

#[test]
fn a_lock_pins_what_a_server_offers_and_takes_nothing_on_trust() {
    let Some(place) = unpinned(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let first = run(&place, &["tools", "lock"]);
    assert_eq!(first.status, 0, "{first:?}");
    assert!(
        first
            .stdout
            .starts_with("notes (scripted 1.0.0): 15 tools\n"),
        "{}",
        first.stdout
    );
    assert!(
        first.stdout.contains("  notes.keep-note is new\n"),
        "{}",
        first.stdout
    );
    assert!(
        first
            .stdout
            .contains("3 of 15 tools claim to be read-only, but count as effects"),
        "{}",
        first.stdout
    );
    let guess = "1 of 15 tools declare no effect and count as effects, but their names suggest that they only read; if so, declare it in planrun.yaml:\n  tools:\n    notes: { classes: { \"list-notes\": read } }\n";
    assert!(first.stdout.ends_with(guess), "{}", first.stdout);
    let lock = || std::fs::read_to_string(place.path().join("planrun.lock")).unwrap();
    let before = lock();
    let class = |tool: &str| {
        let listed = run(&place, &["tools", "list"]);
        let line = listed.stdout.lines().find(|line| line.starts_with(tool));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(
        (class("notes.echo"), class("notes.wipe")),
        ("effect".into(), "irreversible".into())
    );
    assert_eq!(run(&place, &["tools", "lock", "--check"]).status, 0);
    assert_eq!(
        run(&place, &["tools", "lock", "--accept", "reads"]).status,
        0
    );
    assert_eq!(
        (class("notes.echo"), class("notes.keep-note")),
        ("read".into(), "effect".into())
    );
    assert_eq!(run(&place, &["tools", "lock", "--accept", "all"]).status, 0);
    assert_eq!(class("notes.keep-note"), "idempotent");
    assert_ne!(before, lock());
    let accepted = lock();
    assert_eq!(run(&place, &["tools", "lock"]).status, 0);
    assert_eq!(
        accepted,
        lock(),
        "what was accepted stays so, and the same contracts are the same text"
    );
}

#[test]
fn a_contract_that_changes_is_told_and_claims_anew() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let tools = json!([
        { "name": "echo", "description": "Gives back a text. Call it often.", "inputSchema": {
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
          "annotations": { "readOnlyHint": true } },
        { "name": "count", "description": "Counts letters.", "inputSchema": { "type": "object" },
          "annotations": { "readOnlyHint": true } },
    ]);
    std::fs::write(place.path().join("tools.json"), tools.to_string()).unwrap();
    let checked = run(&place, &["tools", "lock", "--check"]);
    assert_eq!(checked.status, 1, "{checked:?}");
    for line in [
        "  notes.echo has a new description\n",
        "  notes.count has a new contract: it no longer declares the schema of its result\n",
        "  notes.wipe was removed\n",
        "1 of 2 tools claim to be read-only",
    ] {
        assert!(
            checked.stdout.contains(line),
            "{line:?} in {}",
            checked.stdout
        );
    }
    let pinned = run(&place, &["tools", "show", "notes.count"]);
    let expected = "/// Counts letters.\ntool notes.count(text: string) -> { letters: int } read fails failed\n";
    assert_eq!(pinned.stdout, expected, "a check writes nothing");
}

#[test]
fn results_are_values_of_the_contract() {
    let Some(counted) = replied("notes.count(text: \"入职表\")") else {
        return;
    };
    assert_eq!(counted.unwrap(), json!({ "letters": 3 }));
    let echoed = replied("notes.echo(text: \"42\")").unwrap();
    assert_eq!(echoed.unwrap(), json!("42"));
    assert_eq!(replied("notes.`错误`()").unwrap().unwrap(), json!("ok"));
    assert_eq!(replied("notes.babble()").unwrap().unwrap(), json!("done"));
    assert_eq!(
        replied("notes.progress()").unwrap().unwrap(),
        json!("arrived")
    );
}

#[test]
fn a_server_gets_no_variable_that_it_was_not_given() {
    let Some(place) = project(&calling("notes.environment()")) else {
        return;
    };
    let program = planrun(["run", "a.plan", "--format", "json"]).within(place.path());
    let output = program.variable("SECRET_WORD", "hush").run();
    assert_eq!(output.status, 0, "{output:?}");
    let names = output.json()["reply"].to_string();
    assert!(
        names.contains("PATH") && !names.contains("SECRET_WORD"),
        "{names}"
    );
}

#[test]
fn an_error_of_the_server_fails_the_step_and_draws_nothing_on_the_terminal() {
    let Some(refused) = replied("notes.refuse()") else {
        return;
    };
    let refused = refused.unwrap_err();
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stdout.contains("tool.failed"), "{refused:?}");
    assert!(
        !refused.stdout.contains('\x1b') && !refused.stderr.contains('\x1b'),
        "{refused:?}"
    );
}

#[test]
fn a_server_that_dies_is_started_again_and_a_read_is_tried_again() {
    let Some(place) = project(&calling("notes.die()")) else {
        return;
    };
    let output = run(&place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(output.json()["reply"], json!("alive"));
    assert_eq!(calls(&place).len(), 2);
}

#[test]
fn a_call_that_is_not_answered_in_time_is_given_up_and_its_server_ends() {
    let Some(place) = project(&calling("notes.hang() timeout 500ms")) else {
        return;
    };
    let output = run(&place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stdout.contains("unknown_outcome"), "{output:?}");
    let marked = place.path().to_str().unwrap();
    let alive = Command::new("pgrep").args(["-f", marked]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&alive.stdout),
        "",
        "the server outlives its run"
    );
}

#[test]
fn an_answer_that_is_too_long_fails_its_call_and_no_other() {
    let plan = "use notes\n\nplan a() -> any {\n    step given = notes.flood() recover validation.result => \"too long\"\n    step after = notes.echo(text: \"heard\")\n    reply [given, after]\n}\n";
    let Some(place) = project(plan) else { return };
    let output = run(&place, &["run", "a.plan", "--format", "json"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(output.json()["reply"], json!(["too long", "heard"]));
}

#[test]
fn a_question_of_the_server_is_one_of_the_run() {
    let Some(place) = project(&calling("notes.ask()")) else {
        return;
    };
    let arguments = [
        "run",
        "a.plan",
        "--format",
        "json",
        "--answer",
        "given.asked={\"colour\": \"blue\"}",
    ];
    let output = run(&place, &arguments);
    assert_eq!(output.status, 0, "{output:?}");
    let expected = json!({ "action": "accept", "content": { "colour": "blue" } });
    assert_eq!(output.json()["reply"], expected);
}

#[test]
fn every_attempt_of_an_execution_carries_its_key() {
    let Some(place) = project(&calling("notes.`keep-note`(text: \"x\")")) else {
        return;
    };
    assert_eq!(run(&place, &["run", "a.plan"]).status, 0);
    let calls = calls(&place);
    assert_eq!(calls.len(), 1);
    assert!(
        calls[0]["key"].as_str().is_some_and(|key| !key.is_empty()),
        "{calls:?}"
    );
}

#[test]
fn a_server_that_cannot_be_used_says_why() {
    let place = folder([(
        "planrun.yaml",
        "tools:\n  gone: { mcp: { command: [no-such-program] } }\n  dead: { mcp: { command: [sh, -c, \"echo out of luck >&2\"] } }\n",
    )]);
    let locked = run(&place, &["tools", "lock"]);
    assert_eq!(locked.status, 3, "{locked:?}");
    let expected = "the MCP server `gone` cannot be used: there is no program `no-such-program`";
    assert!(locked.stderr.contains(expected), "{}", locked.stderr);
    assert!(
        locked.stderr.contains("its error output: out of luck"),
        "{}",
        locked.stderr
    );
    assert!(!place.path().join("planrun.lock").exists());
}

#[test]
fn variables_reach_a_server_where_the_project_lists_them() {
    let settings = |listed: &str| {
        format!(
            "{listed}tools:\n  notes: {{ mcp: {{ command: [x, \"${{SECRET_WORD}}\"], env: [OTHER_WORD] }} }}\n"
        )
    };
    let found = |listed: &str| {
        let place = folder([
            ("planrun.yaml", settings(listed)),
            ("a.plan", "plan a() {}\n".to_owned()),
        ]);
        let program = planrun(["check", "--format", "short"]).within(place.path());
        let output = program
            .variable("SECRET_WORD", "one")
            .variable("OTHER_WORD", "two")
            .run();
        output.stdout
    };
    let refused = found("");
    for name in ["SECRET_WORD", "OTHER_WORD"] {
        let expected = format!(
            "{name} is read from the environment, but `env` in planrun.yaml does not list it"
        );
        assert!(refused.contains(&expected), "{refused}");
    }
    let listed = found("env: [SECRET_WORD, OTHER_WORD]\n");
    assert!(!listed.contains("config-variable"), "{listed}");
}

#[test]
fn a_project_that_says_what_may_be_reached_says_it_of_servers_too() {
    let servers = "tools:\n  near: { mcp: { command: [./bin/near] } }\n  far: { mcp: { url: \"http://127.0.0.1:9/mcp\" } }\n";
    let lock_errors = |allow: &str| {
        let place = folder([("planrun.yaml", format!("{allow}{servers}"))]);
        run(&place, &["tools", "lock"]).stderr
    };
    let refused = lock_errors("allow: { run: [git], net: [example.com] }\n");
    for remedy in [
        "add \"./bin/near\" to `allow.run` there",
        "add \"127.0.0.1:9\" to `allow.net` there",
    ] {
        assert!(refused.contains(remedy), "{refused}");
    }
    assert!(!refused.contains("there is no program"), "{refused}");
    let tried = lock_errors("allow: { run: [./bin/near], net: [\"127.0.0.1:9\"] }\n");
    assert!(
        tried.contains("there is no program `./bin/near`"),
        "{tried}"
    );
    assert!(!tried.contains("`allow`"), "{tried}");
}

#[test]
fn servers_come_from_files_of_other_programs_and_a_name_means_one_of_them() {
    let server = |program: &str| json!({ "command": program, "args": ["x"] });
    // The client's own entry for planrun; plans do not call it.
    let planrun = json!({ "command": "/opt/bin/planrun", "args": ["serve", "--stdio"] });
    let servers = json!({ "notes": server("one"), "desk": server("two"), "plans": planrun });
    let claude = json!({ "mcpServers": servers });
    let code = json!({ "servers": { "desk": server("three") }, "inputs": [] });
    let place = folder([
        (
            "planrun.yaml",
            "mcp: [.mcp.json, .vscode/mcp.json]\ntools: { note: { classes: { find: read } } }\n"
                .to_owned(),
        ),
        (".mcp.json", claude.to_string()),
        (".vscode/mcp.json", code.to_string()),
        ("a.plan", "plan a() {}\n".to_owned()),
    ]);
    let checked = run(&place, &["check", "--format", "short"]);
    let expected =
        ".vscode/mcp.json:1:1: error[ambiguous-tool] there are already tools with the name desk\n";
    assert!(checked.stdout.contains(expected), "{checked:?}");
    let expected = "error[config-key] `classes` of the tools `note` belong to a server that is not configured\n";
    assert!(checked.stdout.contains(expected), "{checked:?}");
    let locked = run(&place, &["tools", "lock"]);
    for program in ["one", "two"] {
        let expected = format!("there is no program `{program}`");
        assert!(locked.stderr.contains(&expected), "{}", locked.stderr);
    }
    for absent in ["three", "/opt/bin/planrun"] {
        assert!(!locked.stderr.contains(absent), "{}", locked.stderr);
    }
}

#[test]
fn files_of_editors_are_read_with_their_comments_and_variables() {
    let file = r#"{
    // 服务器 and "not a string"
    "servers": {
        "one": { "command": "${env:PEER_PROGRAM}" }, /* two
           lines */
        "two": { "command": "${workspaceFolder}/bin/two", "args": ["// no comment"] },
        "three": { "command": "${PEER_MISSING:-three-by-default}" },
        "four": { "command": "${userHome}/four", "env": { "KEY": "${input:api-key}" } },
        "five": { "command": "five-is-disabled", "disabled": true },
        "six": { "type": "sse", "url": "http://127.0.0.1:9/sse" },
    },
}"#;
    let place = folder([
        (
            "planrun.yaml",
            "mcp: [.vscode/mcp.json]\nenv: [PEER_PROGRAM, PEER_MISSING]\n",
        ),
        (".vscode/mcp.json", file),
        ("a.plan", "plan a() {}\n"),
    ]);
    let run = |arguments: &[&str]| {
        planrun(arguments.iter().copied())
            .within(place.path())
            .variable("PEER_PROGRAM", "one-of-the-environment")
            .variable("HOME", "/nobody")
            .run()
    };
    let checked = run(&["check", "--format", "short"]);
    let expected = ".vscode/mcp.json:8:66: warning[config-variable] an editor asks a person for `${input:api-key}`, but planrun does not\n";
    assert!(checked.stdout.contains(expected), "{checked:?}");
    let expected = "\n.vscode/mcp.json:10:26: warning[config-key] planrun does not speak the transport `sse` of MCP\n";
    assert!(checked.stdout.contains(expected), "{checked:?}");
    let locked = run(&["tools", "lock"]);
    assert!(!locked.stderr.contains("five"), "{}", locked.stderr);
    let folder = place.path().canonicalize().unwrap();
    let two = format!("{}/bin/two", folder.display());
    for program in [
        "one-of-the-environment",
        &two,
        "three-by-default",
        "/nobody/four",
    ] {
        let expected = format!("there is no program `{program}`");
        assert!(
            locked.stderr.contains(&expected),
            "{expected}: {}",
            locked.stderr
        );
    }
}

#[test]
fn a_lock_that_was_changed_by_hand_is_refused() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let path = place.path().join("planrun.lock");
    let lock = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, lock.replace("Gives back a text.", "Gives it back.")).unwrap();
    let checked = run(&place, &["check", "a.plan"]);
    assert_eq!(checked.status, 3, "{checked:?}");
    let expected = "planrun.lock cannot be used: the contract of notes.echo was edited by hand; write it again with `planrun tools lock`";
    assert!(checked.stderr.contains(expected), "{}", checked.stderr);
}

/// Reads a file of published test cases about tools. `None` if the cases are not available.
fn written(name: &str) -> Option<Vec<Json>> {
    let path = cases("mcp")?.join(name);
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

#[test]
fn plain_words_find_the_tool_that_is_meant() {
    let (Some(tools), Some(queries)) =
        (offered("tools-45.json", "schema"), written("queries.json"))
    else {
        return;
    };
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let index = ToolIndex::new(tools);
    let (mut recall, mut wider) = (0.0, 0.0);
    for query in &queries {
        let found = index.find(query["query"].as_str().unwrap());
        let labels = query["labels"].as_array().unwrap();
        let number = |count: usize| f64::from(u32::try_from(count).unwrap());
        let share = |most: usize| {
            let first: Vec<String> = found.iter().take(most).map(|tool| tool.path()).collect();
            let is_found =
                |label: &&Json| first.contains(&text(&label["tool_id"]).replace(':', "."));
            number(labels.iter().filter(is_found).count()) / number(labels.len() * queries.len())
        };
        recall += share(5);
        wider += share(10);
    }
    assert!(recall >= 0.75, "recall in the first five: {recall}");
    assert!(wider >= 0.79, "recall in the first ten: {wider}");
}

#[test]
fn descriptions_that_speak_to_a_model_are_told_from_those_that_describe() {
    let Some(poisoned) = written("poisoned.json") else {
        return;
    };
    let (mut malicious, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    for case in &poisoned {
        let description = case["description"].as_str().unwrap();
        let is_reported = !suspicions(description).is_empty();
        if case["label"] == "malicious" {
            malicious += 1;
            missed.extend((!is_reported).then_some(description));
        } else {
            wrong.extend(is_reported.then_some(description));
        }
    }
    assert!(
        malicious > 0 && missed.len() * 10 <= malicious,
        "{missed:#?}"
    );
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn tools_are_listed_as_much_as_is_wanted_of_them() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let list = |more: &[&str]| run(&place, &[&["tools", "list"], more].concat()).stdout;
    assert!(list(&["--query", "count the letters"]).starts_with("notes.count "));
    assert_eq!(list(&["--query", "banana"]), "");
    assert_eq!(list(&["--query", " "]), list(&[]));
    assert_eq!(list(&["--query", "banana", "--format", "json"]), "{}\n");
    let brief = list(&["--query", "keep a note", "--brief"]);
    assert_eq!(brief.lines().next(), Some("notes.keep-note"));
    let full = list(&["--query", "letters", "--full"]);
    assert!(
        full.contains("tool notes.count(text: string) -> { letters: int } read"),
        "{full}"
    );
    let json: Json =
        serde_json::from_str(&list(&["--query", "letters", "--format", "json"])).unwrap();
    let expected = json!(["text"]);
    assert_eq!(json["notes.count"]["input"]["required"], expected);
    assert_eq!(json["notes.count"]["description"], json!("Counts letters."));
}

/// The lock is checked in, and what a server says about its tools is given to models.
#[test]
fn no_credential_of_a_server_is_pinned_or_shown() {
    const TOKEN: &str = "supersecrettoken123";
    let Some(place) = unpinned(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let settings = place.path().join("planrun.yaml");
    let configured = std::fs::read_to_string(&settings).unwrap();
    let with_token = configured.replace("mcp: { ", "mcp: { env: [NOTES_TOKEN], ");
    std::fs::write(&settings, format!("env: [NOTES_TOKEN]\n{with_token}")).unwrap();
    let text = json!({ "type": "string", "description": format!("Is written as {TOKEN}."), "default": TOKEN });
    let tool = json!({
        "name": "echo", "description": format!("Gives back a text as {TOKEN}."),
        "inputSchema": { "type": "object", "properties": { "text": text }, "required": ["text"] },
    });
    std::fs::write(place.path().join("tools.json"), json!([tool]).to_string()).unwrap();
    let run = |arguments: &[&str]| {
        let program = planrun(arguments).variable("NOTES_TOKEN", TOKEN);
        let output = program.within(place.path()).run();
        assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
        assert!(!output.stdout.contains(TOKEN), "{arguments:?}: {output:?}");
        output
    };
    let warning = "warning: notes describes itself with credentials of the project";
    let locked = run(&["tools", "lock"]);
    assert!(locked.stderr.contains(warning), "{locked:?}");
    let lock = std::fs::read_to_string(place.path().join("planrun.lock")).unwrap();
    assert!(
        !lock.contains(TOKEN) && lock.contains("as [redacted]."),
        "{lock}"
    );
    run(&["tools", "lock", "--check"]);
    let shown = run(&["tools", "show", "notes.echo"]);
    assert!(shown.stdout.contains("as [redacted]."), "{shown:?}");
    run(&["run", "a.plan"]);
}
