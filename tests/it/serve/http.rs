//! The server over HTTP: what a call's own stream carries.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError};
use planrun_runs::runs::Planrun;
use planrun_serve::mcp::{HttpServer, Server};
use planrun_serve::mode::PlanMode;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::browser;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const PLAN: &str = "use desk plan p() -> int { step c = desk.close() reply c }";

/// A server that listens, and one session of a client.
struct Connected {
    url: String,
    session: String,
    begun: Arc<Mutex<usize>>,
    cancel: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
    _folder: TempDir,
}

/// The stream that answers one request.
struct Events {
    response: reqwest::Response,
    read: String,
}

impl Connected {
    /// Its only tool is an effect that takes this long.
    async fn new(takes: Duration) -> Self {
        let begun = Arc::<Mutex<usize>>::default();
        let count = begun.clone();
        let close = tool::from_fn("tool desk.close() -> int effect", move |_: Json| {
            *count.lock().unwrap() += 1;
            std::thread::sleep(takes);
            Ok::<_, CallError>(7)
        });
        let folder = tempfile::tempdir().unwrap();
        let planrun = Planrun::open(folder.path()).unwrap();
        let server = Server::new(PlanMode::new(planrun.with_tools([close.unwrap()])));
        let any_port = "127.0.0.1:0".parse().unwrap();
        let server = HttpServer::bind(server, any_port, TOKEN).await.unwrap();
        let (url, cancel) = (server.url(), server.cancellation());
        let server = tokio::spawn(server.serve());
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "tester", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
        let response = post(&url, None, &hello).await;
        let session = response.headers()["mcp-session-id"].to_str().unwrap();
        let connected = Self {
            session: session.to_owned(),
            url,
            begun,
            cancel,
            server,
            _folder: folder,
        };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        connected.send(&ready).await;
        connected
    }

    async fn send(&self, message: &Json) -> Events {
        let response = post(&self.url, Some(&self.session), message).await;
        assert!(response.status().is_success(), "{response:?}");
        Events {
            response,
            read: String::new(),
        }
    }

    /// Calls `run`, and approves it on the stream of the call.
    async fn run_approved(&self) -> Events {
        let run = json!({ "name": "run", "arguments": { "plan": PLAN } });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": run });
        let mut events = self.send(&call).await;
        let asked = events.next().await.unwrap();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let yes = json!({ "action": "accept", "content": { "approve": true } });
        let yes = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes });
        self.send(&yes).await;
        events
    }
}

async fn post(url: &str, session: Option<&str>, message: &Json) -> reqwest::Response {
    let request = browser()
        .post(url)
        .header("authorization", format!("bearer {TOKEN}"))
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-06-18");
    let request = match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    };
    request.body(message.to_string()).send().await.unwrap()
}

impl Events {
    /// Returns the next message; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Json> {
        loop {
            while let Some(end) = self.read.find('\n') {
                let line: String = self.read.drain(..=end).collect();
                let message = line.strip_prefix("data:").unwrap_or_default();
                let message = serde_json::from_str(message).ok();
                if message.is_some() {
                    return message;
                }
            }
            let part = self.response.chunk().await.unwrap()?;
            self.read.push_str(str::from_utf8(&part).unwrap());
        }
    }
}

/// The client has no stream for messages that belong to no request.
#[tokio::test(flavor = "multi_thread")]
async fn the_question_of_a_call_is_asked_on_the_stream_of_the_call() {
    let connected = Connected::new(Duration::ZERO).await;
    let mut events = connected.run_approved().await;
    let done = events.next().await.unwrap();
    assert_eq!(done["id"], 2, "{done}");
    assert_eq!(done["result"]["structuredContent"]["reply"], 7, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_answered_when_the_server_ends() {
    let connected = Connected::new(Duration::from_secs(3)).await;
    let mut events = connected.run_approved().await;
    while *connected.begun.lock().unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    connected.cancel.cancel();
    let answer = events.next().await.expect("an answer");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(" continues at c in the background"), "{text}");
    connected.server.await.unwrap().unwrap();
    assert_eq!(*connected.begun.lock().unwrap(), 1);
}
