//! Runs whose client disconnects, or whose server is terminated.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use planrun::tool::{self, CallError};
use planrun_runs::runs::{Planrun, RunFilter};
use planrun_serve::mcp::Server;
use planrun_serve::mode::PlanMode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::{Peer, Person};
use crate::support::folder;

const PLAN: &str =
    "use desk plan p() -> int { step c = desk.close() step d = desk.close() reply c + d }";

/// Returns the messages of a 2025-06-18 client, in order: initialization, one run, and the approval.
fn client_messages() -> [Json; 4] {
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "leaves", "version": "1" },
    });
    let run = json!({ "name": "run", "arguments": { "plan": PLAN } });
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": run }),
        json!({ "jsonrpc": "2.0", "id": Json::Null, "result": yes }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_in_the_middle_of_an_effect_leaves_no_doubt() {
    let log: Arc<Mutex<Vec<&str>>> = Arc::default();
    let done = log.clone();
    let close = tool::from_fn("tool desk.close() -> int effect", move |_: Json| {
        done.lock().unwrap().push("begun");
        std::thread::sleep(Duration::from_millis(500));
        done.lock().unwrap().push("done");
        Ok::<_, CallError>(1)
    });
    let folder = tempfile::tempdir().unwrap();
    let planrun = Planrun::open(folder.path())
        .unwrap()
        .with_tools([close.unwrap()]);
    let server = Server::new(PlanMode::new(planrun.clone()));
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let ended = tokio::spawn(server.serve_over(tokio::io::split(theirs)));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();

    let [hello, ready, run, mut yes] = client_messages();
    for message in [hello, ready, run] {
        writer
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    let question = loop {
        let line = lines.next_line().await.unwrap().expect("a question");
        let message: Json = serde_json::from_str(&line).unwrap();
        if message["method"] == "elicitation/create" {
            break message["id"].clone();
        }
    };
    yes["id"] = question;
    writer
        .write_all(format!("{yes}\n").as_bytes())
        .await
        .unwrap();
    while log.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    writer
        .write_all(format!("{cancelled}\n").as_bytes())
        .await
        .unwrap();
    drop((writer, lines));
    ended.await.unwrap().unwrap();

    // The call in flight is awaited, and nothing else is called.
    assert_eq!(*log.lock().unwrap(), ["begun", "done"]);
    let run = planrun.list(&RunFilter::default()).unwrap().remove(0);
    assert!(!run.driven);
    assert!(planrun.questions(&run.run).unwrap().questions().is_empty());
}

/// An HTTP service: the number of calls that have begun, and a switch that releases the answers.
struct SlowService {
    begun: watch::Receiver<usize>,
    answers: watch::Sender<bool>,
    folder: TempDir,
}

impl SlowService {
    async fn open() -> Self {
        let (begins, begun) = watch::channel(0);
        let answers = watch::Sender::new(false);
        let may_answer = answers.subscribe();
        let close = post(move || {
            begins.send_modify(|count| *count += 1);
            let mut may_answer = may_answer.clone();
            async move {
                may_answer.wait_for(|may| *may).await.unwrap();
                axum::Json(json!({ "success": true, "data": 1, "message": "ok" }))
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/tool", close);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let app = json!({ "name": "desk", "tools": [{
            "name": "close", "endpoint": format!("http://{address}/tool"), "effect": "effect",
            "parameters": { "type": "object", "properties": {} }, "returns": { "type": "integer" },
        }] });
        let files = [
            (
                "planrun.yaml",
                "apps: [desk.yaml]\nallow: { net: [\"127.0.0.1:*\"] }\n".to_owned(),
            ),
            ("desk.yaml", app.to_string()),
        ];
        Self {
            begun,
            answers,
            folder: folder(files),
        }
    }

    /// Starts a server of the project, and a client of it.
    async fn serve(&self, person: Person) -> (Child, Peer) {
        let mut server = Command::new(env!("CARGO_BIN_EXE_planrun"))
            .args(["serve", "--stdio"])
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (server.stdout.take().unwrap(), server.stdin.take().unwrap());
        let client = Peer::new(pipes, "2025-11-25", person).await;
        (server, client)
    }
}

/// Ends a server during an effect, by a signal or by closing its standard input. The effect is awaited, and another
/// server resumes the run.
async fn resumes_after(signal: Option<Signal>) {
    let mut desk = SlowService::open().await;
    let (mut server, mut client) = desk.serve(Person::yes()).await;
    let run = json!({ "name": "run", "arguments": { "plan": PLAN } });
    let call = client.begin("tools/call", run).await;
    loop {
        tokio::select! {
            _ = client.next() => {}
            begun = desk.begun.wait_for(|begun| *begun > 0) => break drop(begun.unwrap()),
        }
    }
    match signal {
        Some(signal) => {
            let pid = server.id().unwrap().try_into().unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
        None => client.writer = Box::new(tokio::io::sink()),
    }
    // The request is answered, although the run is still waiting.
    let text = loop {
        let message = client.next().await;
        if message["id"] == call {
            break message["result"]["content"][0]["text"].to_string();
        }
    };
    assert!(text.contains(" continues at c in the background"), "{text}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    desk.answers.send_replace(true);
    assert!(server.wait().await.unwrap().success());

    let planrun = Planrun::open(desk.folder.path()).unwrap();
    let run = planrun.list(&RunFilter::default()).unwrap().remove(0);
    assert!(!run.driven);
    assert_eq!(run.status(), "paused");
    assert!(planrun.questions(&run.run).unwrap().questions().is_empty());
    let (_server, mut client) = desk.serve(Person::Nobody).await;
    let wait = json!({ "id": run.run, "wait_s": 45 });
    let done = client.call("runs", wait).await;
    assert_eq!(done["structuredContent"]["reply"], 2, "{done}");
    assert_eq!(*desk.begun.borrow(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_at_the_next_server_when_one_is_terminated() {
    resumes_after(Some(Signal::TERM)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_at_the_next_server_when_one_is_interrupted() {
    resumes_after(Some(Signal::INT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_at_the_next_server_when_the_input_of_one_is_closed() {
    resumes_after(None).await;
}
