//! What commands on runs do with effects that were made before: they are neither forgotten, nor made twice, nor sent
//! under the key of another call.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};

/// A call, such as `put 1`, and its idempotency key.
type Call = (String, String);

/// A status and a body.
type Answer = (u16, Json);

/// A server that logs calls, and gives prepared answers before it succeeds.
#[derive(Clone, Default)]
struct Server {
    calls: Arc<Mutex<Vec<Call>>>,
    prepared: Arc<Mutex<HashMap<String, VecDeque<Answer>>>>,
}

impl Server {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/tool", listener.local_addr().unwrap());
        let own = self.clone();
        let answer = move |headers: HeaderMap, body: String| async move {
            let body: Json = serde_json::from_str(&body).unwrap();
            let call = format!("{} {}", body["tool"].as_str().unwrap(), body["args"]["n"]);
            let key = headers.get("idempotency-key");
            let key = key.map_or("", |key| key.to_str().unwrap()).to_owned();
            own.calls.lock().unwrap().push((call.clone(), key));
            let mut prepared = own.prepared.lock().unwrap();
            let next = prepared.get_mut(&call).and_then(VecDeque::pop_front);
            let success =
                json!({ "success": true, "data": { "id": body["args"]["n"], "left": 1 } });
            let (status, answer) = next.unwrap_or((200, success));
            (StatusCode::from_u16(status).unwrap(), axum::Json(answer))
        };
        let router = Router::new().route("/tool", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// Prepares the next answer to a call.
    fn prepare(&self, call: &str, status: u16, answer: Json) {
        let mut prepared = self.prepared.lock().unwrap();
        let answers = prepared.entry(call.to_owned()).or_default();
        answers.push_back((status, answer));
    }

    fn calls(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(call, _)| call.clone()).collect()
    }

    fn keys(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(_, key)| key.clone()).collect()
    }
}

/// A project whose tools call a [`Server`].
struct Project {
    server: Server,
    files: TempDir,
}

impl Project {
    async fn new() -> Self {
        let server = Server::default();
        let address = server.start().await;
        let tool = |name: &str, effect: &str| {
            format!(
                "  - name: {name}\n    endpoint: {address}\n    effect: {effect}\n    \
                 parameters: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }}\n    \
                 returns: {{ type: object, properties: {{ id: {{ type: integer }}, left: {{ type: integer }} }}, required: [id, left] }}\n    \
                 errors: [{{ reason: busy, class: tool.busy, happened: \"no\" }}]\n"
            )
        };
        let tools = [
            ("put", "effect"),
            ("pay", "irreversible"),
            ("rev", "effect"),
            ("look", "read"),
        ];
        let tools: Vec<String> = tools
            .iter()
            .map(|(name, class)| tool(name, class))
            .collect();
        let app = format!("name: s\ntools:\n{}", tools.concat());
        let settings = "apps: [s.yaml]\nallow: { net: [\"127.0.0.1:*\"] }\n";
        let files = folder([("s.yaml", app.as_str()), ("planrun.yaml", settings)]);
        Self { server, files }
    }

    fn write(&self, name: &str, body: &str) {
        let text = format!("use s\n\nplan p() -> any {{\n{body}\n}}\n");
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    fn planrun(&self, arguments: &str) -> Output {
        planrun(arguments.split(' ')).within(self.path()).run()
    }
}

fn busy() -> Json {
    json!({ "success": false, "reason": "busy", "error": "it is busy" })
}

const TWO: &str = "step one = s.put(n: 1) undo s.rev(n: 1)
    step two = s.put(n: 2) undo s.rev(n: 2)
    reply one.id";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_that_ended_at_a_limit_on_steps_is_shown_as_it_was_and_its_undone_effects_are_made_again()
 {
    let project = Project::new().await;
    project.write("a.plan", TWO);
    let ended = project.planrun("run a.plan --run-id r --max-steps 1 --format json");
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_eq!(project.server.calls(), ["put 1", "rev 1"]);
    let shown = project.planrun("runs show r --format json");
    assert_eq!(shown.json(), ended.json());
    let again = project.planrun("run a.plan --base r");
    assert_eq!((again.status, &*again.stdout), (0, "1\n"), "{again:?}");
    assert_eq!(project.server.calls()[2..], ["put 1", "put 2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_failed_undo_of_a_run_that_ended_at_a_limit_on_steps_can_be_retried() {
    let project = Project::new().await;
    project.write("a.plan", TWO);
    project.server.prepare("rev 1", 200, busy());
    let ended = project.planrun("run a.plan --run-id r --max-steps 1");
    assert_eq!(ended.status, 1, "{ended:?}");
    let retried = project.planrun("runs retry r");
    assert_eq!(
        project.server.calls(),
        ["put 1", "rev 1", "rev 1"],
        "{retried:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancellation_comes_before_an_end_that_only_the_replay_has_reached() {
    for (until, keep) in [("one", false), ("two", false), ("two", true)] {
        let project = Project::new().await;
        let listener = "listener done on plan is completed { step mail = s.pay(n: 9) }\n";
        project.write("a.plan", &format!("{listener}{TWO}"));
        let stopped = project.planrun(&format!("run a.plan --run-id r --until {until}"));
        assert!(stopped.stderr.contains("stopped after"), "{stopped:?}");
        let keeps = if keep { " --keep" } else { "" };
        let cancelled = project.planrun(&format!("runs cancel r{keeps}"));
        let undone: &[&str] = match (until, keep) {
            (_, true) => &[],
            ("one", false) => &["rev 1"],
            _ => &["rev 2", "rev 1"],
        };
        let made = if until == "one" { 1 } else { 2 };
        assert_eq!(project.server.calls()[made..], *undone, "{cancelled:?}");
        let shown = project.planrun("runs show r --format json").json();
        assert_eq!(shown["status"], "cancelled", "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_patched_call_has_its_own_key() {
    let paused = "policy { on_failure: pause }\nstep one = s.put(n: 1)\nreply one.id";
    for (patch, call, same) in [
        (paused, "put 1", true),
        (
            "policy { on_failure: pause }\nstep one = s.put(n: 2)\nreply one.id",
            "put 2",
            false,
        ),
        (
            "policy { on_failure: pause }\nstep one = s.pay(n: 1)\nreply one.id",
            "pay 1",
            false,
        ),
    ] {
        let project = Project::new().await;
        project.write("a.plan", paused);
        project.write("b.plan", patch);
        project.server.prepare("put 1", 503, json!({}));
        let begun = project.planrun("run a.plan --run-id r");
        assert_eq!(begun.status, 4, "{begun:?}");
        let patched = project.planrun("runs patch r b.plan");
        assert_eq!(patched.status, 0, "{patched:?}");
        let resumed = project.planrun("runs resume r");
        assert_eq!(resumed.status, 0, "{resumed:?}");
        assert_eq!(project.server.calls(), ["put 1", call]);
        let keys = project.server.keys();
        assert_eq!(keys[0] == keys[1], same, "{patch}");
        // Who looks at the run later sees the same.
        let shown = project.planrun("runs show r --format json").json();
        assert_eq!(shown["status"], "completed", "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_covers_all_attempts_of_an_execution_also_after_a_resume() {
    let project = Project::new().await;
    project.write(
        "a.plan",
        "policy { on_failure: pause }\nstep one = s.put(n: 1) confirm \"Go?\"\nreply one.id",
    );
    project.server.prepare("put 1", 503, json!({}));
    project.server.prepare("put 1", 503, json!({}));
    project.planrun("run a.plan --run-id r");
    let answered = project.planrun("runs answer r one.confirm=true --resume");
    assert_eq!(answered.status, 4, "{answered:?}");
    let resumed = project.planrun("runs resume r");
    assert!(resumed.stderr.contains("503"), "{resumed:?}");
    let resumed = project.planrun("runs resume r");
    assert_eq!(
        (resumed.status, &*resumed.stdout),
        (0, "1\n"),
        "{resumed:?}"
    );
    let keys = project.server.keys();
    assert!(
        keys.len() == 3 && keys[0] == keys[1] && keys[0] == keys[2],
        "{keys:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_execution_needs_another_approval() {
    let project = Project::new().await;
    let plan = |n: u32| {
        format!(
            "policy {{ on_failure: pause }}\nstep one = s.put(n: {n}) confirm \"Go?\"\nreply one.id"
        )
    };
    project.write("a.plan", &plan(1));
    project.write("b.plan", &plan(2));
    project.server.prepare("put 1", 503, json!({}));
    project.planrun("run a.plan --run-id r");
    let answered = project.planrun("runs answer r one.confirm=true --resume");
    assert_eq!(answered.status, 4, "{answered:?}");
    let patched = project.planrun("runs patch r b.plan --resume");
    assert_eq!(patched.status, 4, "{patched:?}");
    assert_eq!(project.server.calls(), ["put 1"]);
    let answered = project.planrun("runs answer r one.confirm=true --resume");
    assert_eq!(answered.status, 0, "{answered:?}");
    assert_eq!(project.server.calls(), ["put 1", "put 2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_kept_effect_has_waited_for_is_decided_as_before() {
    // A called plan that has failed is done again as a whole.
    let text = |decision: &str| {
        format!(
            "use s\n\nplan p() -> any {{\n    policy {{ on_failure: pause }}\n    step order = item()\n    reply order\n}}\n\n\
             plan item() -> any {{\n    step stock = s.look(n: 9)\n    {decision}\n    step bought = s.put(n: 1)\n    \
             step shipped = s.put(n: 2)\n    reply shipped.id\n}}\n"
        )
    };
    for decision in [
        "ensure stock.left > 0 else \"sold out\"",
        "reply 0 when stock.left == 0",
        "fail tool.gone \"sold out\" when stock.left == 0",
    ] {
        let project = Project::new().await;
        std::fs::write(project.path().join("a.plan"), text(decision)).unwrap();
        project.server.prepare("put 2", 200, busy());
        let begun = project.planrun("run a.plan --plan p --run-id r");
        assert_eq!(begun.status, 4, "{decision}: {begun:?}");
        let sold_out = json!({ "success": true, "data": { "id": 9, "left": 0 } });
        project.server.prepare("look 9", 200, sold_out);
        let resumed = project.planrun("runs resume r");
        assert_eq!(
            (resumed.status, &*resumed.stdout),
            (0, "2\n"),
            "{decision}: {resumed:?}"
        );
        let calls = project.server.calls();
        assert_eq!(
            calls.iter().filter(|call| *call == "put 1").count(),
            1,
            "{calls:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_patch_does_not_change_what_an_old_failure_leads_to() {
    let project = Project::new().await;
    let body = "step one = s.put(n: 1) undo s.rev(n: 1)\nstep two = s.put(n: 2)\nreply two.id";
    project.write("a.plan", &format!("policy {{ on_failure: pause }}\n{body}"));
    project.write("b.plan", body);
    project.server.prepare("put 2", 200, busy());
    let begun = project.planrun("run a.plan --run-id r");
    assert_eq!(begun.status, 4, "{begun:?}");
    let patched = project.planrun("runs patch r b.plan");
    assert_eq!(patched.status, 2, "{patched:?}");
    assert!(
        patched.stderr.contains("the new `on_failure` would apply"),
        "{patched:?}"
    );
    let resumed = project.planrun("runs resume r");
    assert_eq!(
        (resumed.status, &*resumed.stdout),
        (0, "2\n"),
        "{resumed:?}"
    );
}

/// Values may have 256 levels, which is more than JSON readers accept by default.
#[test]
fn a_run_with_deeply_nested_values_can_be_resumed_shown_and_exported() {
    let plan = r#"use sys
plan deep(x: any) -> any {
    step a = sys.echo(value: { got: [[[[[[[[[[x]]]]]]]]]] })
    step b = sys.echo(value: { got: [[[[[[[[[[a]]]]]]]]]] })
    step g = sys.echo(value: [b])
        confirm "Go on?"
    step s = input "How deep?" -> { y: int }
    reply { deep: g, y: s.y }
}"#;
    let nested = format!("{{\"x\":{}1{}}}", "[".repeat(120), "]".repeat(120));
    let files = folder([("deep.plan", plan), ("in.json", &nested)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = run(&["run", "deep.plan", "--input", "in.json", "--run-id", "d"]);
    assert_eq!(begun.status, 4, "{}", begun.stderr);
    let asked = run(&["runs", "answer", "d", "g.confirm=true", "--resume"]);
    assert_eq!(asked.status, 4, "{}", asked.stderr);
    let ended = run(&["runs", "answer", "d", "s={\"y\":7}", "--resume"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(ended.stdout.matches('[').count(), 141);
    assert_eq!(run(&["runs", "show", "d"]).status, 0);
    assert_eq!(run(&["runs", "events", "d"]).status, 0);
    let exported = run(&["runs", "export", "d"]);
    std::fs::write(files.path().join("d.jsonl"), &exported.stdout).unwrap();
    let verified = run(&["runs", "export", "--verify", "d.jsonl"]);
    assert_eq!(verified.status, 0, "{verified:?}");
}
