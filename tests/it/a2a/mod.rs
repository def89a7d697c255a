//! A2A agents: reading their cards, and calls of a scripted agent that behaves like real ones.

mod agent;

use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};
pub use agent::Agent;

/// Returns a project with this agent as `desk`, locked, and a plan that calls it.
async fn project(agent: &Agent, call: &str) -> TempDir {
    let address = agent.open().await;
    let place = folder([
        (
            "planrun.yaml",
            format!("tools:\n  desk: {{ a2a: \"{address}\" }}\n"),
        ),
        ("a.plan", calling(call)),
    ]);
    let locked = run(&place, &["tools", "lock"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    place
}

fn calling(call: &str) -> String {
    format!("use desk\n\nplan a() -> any {{\n    step given = {call}\n    reply given\n}}\n")
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

fn called(place: &TempDir, more: &[&str]) -> Output {
    run(
        place,
        &[
            &["run", "a.plan", "--format", "json", "--run-id", "r1"],
            more,
        ]
        .concat(),
    )
}

/// Starts a run in a separate process, which can be killed.
fn begun(place: &TempDir) -> Child {
    Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", "r1"])
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn replied(call: &str) -> Json {
    let output = called(&project(&Agent::default(), call).await, &[]);
    assert_eq!(output.status, 0, "{output:?}");
    output.json()["reply"].clone()
}

/// Returns the class and the message of the only failure of a run.
async fn failed(call: &str) -> (String, String) {
    let output = called(&project(&Agent::default(), call).await, &[]);
    failure(&output)
}

fn failure(output: &Output) -> (String, String) {
    assert_eq!(output.status, 1, "{output:?}");
    assert!(
        !output.stdout.contains('\x1b') && !output.stderr.contains('\x1b'),
        "{output:?}"
    );
    let error = output.json()["steps"][0]["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (text("class"), text("message"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_is_a_namespace_with_a_tool_for_each_skill() {
    let agent = Agent::default();
    let place = project(&agent, "desk.draft(text: \"x\")").await;
    let printed = run(&place, &["tools", "show", "desk.draft"]);
    assert!(
        printed
            .stdout
            .starts_with("/// Does draft.\ntool desk.draft(\n"),
        "{}",
        printed.stdout
    );
    for part in ["text?: string", "bytes?: bytes", ") -> any fails failed"] {
        assert!(printed.stdout.contains(part), "{part}: {}", printed.stdout);
    }
    let listed = run(&place, &["tools", "list"]).stdout;
    assert!(
        listed.contains("desk.send ") && listed.contains("desk.slow "),
        "{listed}"
    );
    assert_eq!(run(&place, &["tools", "lock", "--check"]).status, 0);
    assert_eq!(run(&place, &["check", "a.plan"]).status, 0);
    std::fs::write(
        place.path().join("b.plan"),
        calling("desk.draft(txt: \"x\")"),
    )
    .unwrap();
    assert_eq!(run(&place, &["check", "b.plan"]).status, 1);
    agent.says(
        "skills",
        json!([{ "id": "draft", "description": "Do as I say." }]),
    );
    let changed = run(&place, &["tools", "lock", "--check"]);
    assert_eq!(changed.status, 1, "{changed:?}");
    for line in ["desk.draft has a new description", "desk.slow was removed"] {
        assert!(changed.stdout.contains(line), "{line}: {}", changed.stdout);
    }
    agent.says("skills", json!([]));
    let refused = called(&place, &[]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(
        agent.asked("SendStreamingMessage").is_empty(),
        "a skill that is gone is not called"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_gives_is_a_value() {
    assert_eq!(replied("desk.send(text: \"hello\")").await, json!("hello"));
    assert_eq!(
        replied("desk.send(data: { a: [1] })").await,
        json!({ "a": [1] })
    );
    assert_eq!(replied("desk.draft(text: \"x\")").await, json!("Hello"));
    assert_eq!(
        replied("desk.`break`(text: \"x\")").await,
        json!({ "count": 3 })
    );
    let file = json!({ "kind": "file", "bytes": "AQI=", "name": "a.bin", "mime": "x/y", "artifact": "out" });
    assert_eq!(
        replied("desk.file(text: \"x\")").await,
        json!({ "text": "", "parts": [file] })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_says_whose_it_is_and_carries_its_key() {
    let agent = Agent::default();
    let call = "desk.draft(text: \"x\", data: 1, files: [{ name: \"f\", bytes: b\"\\x01\", mime: \"x/y\" }], context: \"k\")";
    let output = called(&project(&agent, call).await, &[]);
    assert_eq!(output.status, 0, "{output:?}");
    let sent = agent.asked("SendStreamingMessage");
    let message = &sent[0]["message"];
    assert_eq!((sent.len(), &sent[0]["version"]), (1, &json!("1.0")));
    let parts = json!([{ "text": "x" }, { "data": 1 }, { "raw": "AQ==", "filename": "f", "mediaType": "x/y" }]);
    assert_eq!(
        (&message["parts"], &message["role"]),
        (&parts, &json!("ROLE_USER"))
    );
    assert_eq!(
        (&message["contextId"], &message["metadata"]["skillId"]),
        (&json!("k"), &json!("draft"))
    );
    assert!(
        message["messageId"]
            .as_str()
            .is_some_and(|id| !id.is_empty())
    );
    let (class, message) = failed("desk.send(context: \"k\")").await;
    assert_eq!(
        (class.as_str(), message.as_str()),
        (
            "validation.arguments",
            "a message to an agent must have `text`, `data` or `files`"
        )
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_does_not_stream_is_looked_at() {
    let agent = Agent::default();
    agent.says("capabilities", json!({}));
    let place = project(&agent, "desk.slow(text: \"x\")").await;
    let driving = {
        let agent = agent.clone();
        tokio::spawn(async move {
            agent.until_asked("GetTask", 2).await;
            agent.finish();
        })
    };
    let output = called(&place, &[]);
    driving.await.unwrap();
    assert_eq!(
        (output.status, output.json()["reply"].clone()),
        (0, json!("done")),
        "{output:?}"
    );
    assert!(
        agent.asked("SendStreamingMessage").is_empty() && agent.asked("SubscribeToTask").is_empty()
    );
    assert_eq!(
        agent.asked("SendMessage")[0]["configuration"]["returnImmediately"],
        json!(true)
    );
}

/// Returns the task and the text of each message that an agent was sent.
fn messages(agent: &Agent) -> Vec<(Json, Json)> {
    let sent = agent.asked("SendStreamingMessage").into_iter();
    let message = |one: Json| {
        let message = &one["message"];
        let text = message["parts"][0]["text"].clone();
        (message["taskId"].clone(), text)
    };
    sent.map(message).collect()
}

/// The task that has asked waits for the answer. Another one would do its work twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_an_agent_does_not_take_is_sent_again_to_the_same_task() {
    let call = "desk.ask(text: \"paint it\") retry { attempts: 2, on: [transient], delay: 1ms }";
    let answer = ["--answer", "given.asked={\"answer\": \"blue\"}"];
    let first = (Json::Null, json!("paint it"));
    let given = (json!("task-ask"), json!("blue"));
    let agent = Agent::default();
    agent.takes_no_answer(2);
    let output = called(&project(&agent, call).await, &answer);
    assert_eq!(output.status, 0, "{output:?}");
    let sent = [first.clone(), given.clone(), given.clone(), given.clone()];
    assert_eq!(messages(&agent), sent);
    let agent = Agent::default();
    agent.takes_no_answer(usize::MAX);
    let output = called(&project(&agent, call).await, &answer);
    let (class, message) = failure(&output);
    assert_eq!(class, "unknown_outcome", "{message}");
    let mut sent = vec![first];
    sent.resize(7, given);
    assert_eq!(messages(&agent), sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_needs_is_a_question_of_the_run() {
    let agent = Agent::default();
    let place = project(&agent, "desk.ask(text: \"paint it\")").await;
    let waiting = called(&place, &[]);
    assert_eq!(waiting.status, 4, "{waiting:?}");
    let inbox = run(&place, &["runs", "inbox"]);
    for line in [
        "Which colour?\\u{1b}[2J",
        "the message to the agent",
        "given.asked={",
    ] {
        assert!(inbox.stdout.contains(line), "{line}: {}", inbox.stdout);
    }
    let answer = |text: &str| {
        let given = format!("given.asked={{\"answer\": \"{text}\"}}");
        run(&place, &["runs", "answer", "r1", &given, "--resume"])
    };
    assert_eq!(
        answer("mauve").status,
        4,
        "it asks once more, in the same words"
    );
    let ended = answer("blue");
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(ended.stdout.contains("blue"), "{ended:?}");
    let sent = agent.asked("SendStreamingMessage");
    let messages = sent.iter().map(|one| {
        (
            &one["message"]["taskId"],
            &one["message"]["parts"][0]["text"],
        )
    });
    let (none, task) = (Json::Null, json!("task-ask"));
    let texts = [json!("paint it"), json!("mauve"), json!("blue")];
    let expected = [(&none, &texts[0]), (&task, &texts[1]), (&task, &texts[2])];
    assert_eq!(
        messages.collect::<Vec<_>>(),
        expected,
        "nothing is sent a second time"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_let_in_by_itself_is_told_nothing() {
    let agent = Agent::default();
    let place = project(&agent, "desk.login(text: \"x\")").await;
    assert_eq!(called(&place, &[]).status, 4);
    agent.finish();
    let given = "given.asked={\"answer\": \"you may\"}";
    let ended = run(&place, &["runs", "answer", "r1", given, "--resume"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(agent.asked("SendStreamingMessage").len(), 1);
    let other = Agent::default();
    let output = called(
        &project(&other, "desk.login(text: \"x\")").await,
        &["--answer", given],
    );
    assert_eq!(output.json()["reply"], json!("in"), "{output:?}");
    assert_eq!(other.asked("SendStreamingMessage").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_to_what_an_agent_asks_ends_its_task() {
    let agent = Agent::default();
    let place = project(&agent, "desk.ask(text: \"x\")").await;
    let output = called(&place, &["--answer", "given.asked=null"]);
    let (class, message) = failure(&output);
    assert_eq!(class, "denied.human", "{message}");
    assert_eq!(agent.asked("CancelTask").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_run_comes_back_to_its_task_and_sends_nothing_again() {
    let agent = Agent::default();
    let place = project(&agent, "desk.slow(text: \"x\")").await;
    let mut first = begun(&place);
    let handed_over = || run(&place, &["runs", "events", "r1", "--format", "ndjson"]).stdout;
    while !handed_over().contains("handle.given") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let driving = {
        let agent = agent.clone();
        tokio::spawn(async move {
            agent.until_asked("SubscribeToTask", 1).await;
            agent.finish();
        })
    };
    let output = run(&place, &["runs", "resume", "r1", "--format", "json"]);
    driving.await.unwrap();
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(output.json()["reply"], json!("done"));
    assert_eq!(agent.asked("SendStreamingMessage").len(), 1);
    assert!(agent.asked("CancelTask").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_stopped_is_cancelled_at_the_agent() {
    let agent = Agent::default();
    let place = project(&agent, "desk.slow(text: \"x\") timeout 500ms").await;
    let (class, message) = failure(&called(&place, &[]));
    assert_eq!(class, "unknown_outcome", "{message}");
    assert_eq!(
        agent.asked("CancelTask"),
        [json!({ "id": "task-slow", "version": "1.0" })]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_fails_says_why() {
    let expected = |message: &str| ("tool.failed".to_owned(), message.to_owned());
    assert_eq!(
        failed("desk.fail(text: \"x\")").await,
        expected("the agent has failed: out of luck")
    );
    assert_eq!(
        failed("desk.reject(text: \"x\")").await,
        expected("the agent has rejected the task: not mine")
    );
    let output = called(
        &project(&Agent::default(), "desk.fail(text: \"x\")").await,
        &[],
    );
    assert_eq!(
        output.json()["error"]["details"],
        json!({ "left": 2 }),
        "{output:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_answers_are_no_results_and_cost_no_memory() {
    let (class, message) = failed("desk.garbage(text: \"x\")").await;
    assert_eq!(class, "validation.result", "{message}");
    assert!(
        message.contains("/rpc did not answer like an A2A agent: "),
        "{message}"
    );
    let (class, message) = failed("desk.flood(text: \"x\")").await;
    assert_eq!(class, "validation.result", "{message}");
    assert!(
        message.contains("/rpc answered with more than 8388608 bytes"),
        "{message}"
    );
    let (class, message) = failed("desk.redirect(text: \"x\")").await;
    assert_eq!(class, "denied.policy", "{message}");
    assert!(message.contains("redirects are not followed"), "{message}");
    let (class, message) = failed("desk.other(text: \"x\")").await;
    assert_eq!(class, "validation.result", "{message}");
    // An endless stream ends with its timeout, and the task is cancelled.
    let agent = Agent::default();
    let place = project(&agent, "desk.endless(text: \"x\") timeout 1s").await;
    let (class, message) = failure(&called(&place, &[]));
    assert_eq!(class, "unknown_outcome", "{message}");
    assert_eq!(agent.asked("CancelTask").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_that_cannot_be_used_says_why() {
    let refusal = |card: &'static str, value: Json, allow: &'static str| async move {
        let agent = Agent::default();
        let address = agent.open().await;
        agent.says(card, value);
        let settings = format!(
            "{allow}tools:\n  desk: {{ a2a: {{ url: \"{address}\", headers: {{ x-team: blue }} }} }}\n"
        );
        let place = folder([("planrun.yaml", settings)]);
        let locked = run(&place, &["tools", "lock"]);
        (locked.status, locked.stderr)
    };
    let interface = |url: &str, binding: &str| json!([{ "url": url, "protocolBinding": binding, "protocolVersion": "1.0" }]);
    let away = || interface("http://127.0.0.2:9/rpc", "JSONRPC");
    for (card, value, allow, expected) in [
        (
            "supportedInterfaces",
            away(),
            "",
            "sends calls to http://127.0.0.2:9/rpc; add that host to `allow.net`",
        ),
        (
            "supportedInterfaces",
            interface("http://127.0.0.1:9", "GRPC"),
            "",
            "it speaks GRPC 1.0, but only JSONRPC and HTTP+JSON",
        ),
        (
            "supportedInterfaces",
            json!([]),
            "",
            "its card lists no interfaces",
        ),
        ("name", json!(7), "", "is not an agent card: invalid type"),
        (
            "name",
            json!("x"),
            "allow: { net: [example.com] }\n",
            "does not permit it; add \"127.0.0.1:",
        ),
    ] {
        let (status, stderr) = refusal(card, value, allow).await;
        assert_eq!(status, 3, "{stderr}");
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    let allow = "allow: { net: [\"127.0.0.1:*\", \"127.0.0.2:9\"] }\n";
    assert_eq!(refusal("supportedInterfaces", away(), allow).await.0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_calls_the_agents_that_it_lists_and_no_other() {
    let agent = Agent::default();
    let place = project(&agent, "desk.answer(text: \"x\")").await;
    let settings = std::fs::read_to_string(place.path().join("planrun.yaml")).unwrap();
    let listing = |agents: &str| {
        let text = "use desk\n\nplan inner() -> any {\n    step given = desk.answer(text: \"x\")\n    reply given\n}\n\nplan a() -> any {\n    allow { agents: AGENTS }\n    step given = inner()\n    reply given\n}\n";
        std::fs::write(place.path().join("a.plan"), text.replace("AGENTS", agents)).unwrap();
        let checked = run(&place, &["check", "a.plan", "--format", "json"]).json();
        let codes = checked["diagnostics"].as_array().unwrap().iter();
        codes
            .map(|one| one["code"].as_str().unwrap().to_owned())
            .filter(|code| code.starts_with("permission-"))
            .collect::<Vec<_>>()
    };
    assert_eq!(listing("[\"desk\"]"), [""; 0]);
    let ran = run(
        &place,
        &["run", "a.plan", "--plan", "a", "--format", "json"],
    );
    assert_eq!(
        (ran.status, &ran.json()["reply"]),
        (0, &json!("x")),
        "{ran:?}"
    );
    assert_eq!(listing("[\"desk\", \"review\"]"), ["permission-unused"]);
    assert_eq!(
        listing("[\"review\"]"),
        ["permission-unused", "permission-missing"]
    );
    assert_eq!(listing("[]"), ["permission-missing"]);
    let fixed = run(&place, &["check", "a.plan", "--unsafe-fix"]);
    let text = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    assert!(text.contains("agents: [\"desk\"]"), "{fixed:?} {text}");
    assert_eq!(listing("[\"desk.answer\"]"), ["permission-missing"]);
    // A call that the check cannot see is refused at run time, while the inner plan may make it when run by itself.
    let recovering = "use desk\n\nplan inner() -> any {\n    step given = desk.answer(text: \"x\")\n    reply given\n}\n\nplan a() -> any {\n    allow { agents: [] }\n    step given = inner()\n        recover denied.policy as e => e.message\n    reply given\n}\n";
    std::fs::write(place.path().join("a.plan"), recovering).unwrap();
    let asked = agent.asked("SendStreamingMessage").len();
    let ran = run(
        &place,
        &["run", "a.plan", "--plan", "a", "--format", "json"],
    );
    assert_eq!(
        ran.json()["reply"],
        "calling the agent desk is not allowed; to allow it, write `allow { agents: [\"desk\"] }` in the plan"
    );
    assert_eq!(agent.asked("SendStreamingMessage").len(), asked);
    let alone = run(&place, &["run", "a.plan", "--plan", "inner"]);
    assert_eq!(alone.status, 0, "{alone:?}");
    // The list of the project is a limit for every plan.
    let bounded = format!("{settings}allow: {{ net: [\"127.0.0.1:*\"], agents: [review] }}\n");
    std::fs::write(place.path().join("planrun.yaml"), bounded).unwrap();
    // One for each of the two plans, regardless of their own lists.
    let missing = ["permission-missing"; 2];
    assert_eq!(listing("[\"*\"]"), missing);
    let refused = run(&place, &["run", "a.plan", "--plan", "a"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    let message = "add `desk` to `agents` of `allow`: the project's planrun.yaml does not allow it";
    assert!(refused.stderr.contains(message), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_answers_for_an_agent_in_a_test() {
    let place = project(&Agent::default(), "desk.draft(text: \"x\")").await;
    let test = "use \"./a.plan\" as a\n\ntest \"drafted\" for a.a {\n    mock desk.draft => \"a letter\"\n    expect reply == \"a letter\"\n}\n";
    std::fs::write(place.path().join("a.plantest"), test).unwrap();
    let tested = run(&place, &["test", "a.plantest"]);
    assert_eq!(tested.status, 0, "{tested:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_credential_on_a_card_is_pinned() {
    const TOKEN: &str = "supersecrettoken123";
    let agent = Agent::default();
    agent.says("description", json!(format!("Works for {TOKEN}.")));
    let place = project(&agent, "desk.send(text: \"x\")").await;
    let settings = place.path().join("planrun.yaml");
    let address = std::fs::read_to_string(&settings).unwrap();
    let address = address.split('"').nth(1).unwrap();
    let headers = "headers: { Authorization: \"Bearer ${DESK_TOKEN}\" }";
    let with_token = format!(
        "env: [DESK_TOKEN]\ntools:\n  desk: {{ a2a: {{ url: \"{address}\", {headers} }} }}\n"
    );
    std::fs::write(settings, with_token).unwrap();
    for arguments in [&["tools", "lock"][..], &["run", "a.plan"]] {
        let program = planrun(arguments).variable("DESK_TOKEN", TOKEN);
        let output = program.within(place.path()).run();
        assert_eq!(output.status, 0, "{output:?}");
    }
    let lock = std::fs::read_to_string(place.path().join("planrun.lock")).unwrap();
    assert!(
        !lock.contains(TOKEN) && lock.contains("Works for [redacted]."),
        "{lock}"
    );
}
