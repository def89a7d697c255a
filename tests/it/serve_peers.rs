//! What becomes of runs when the client of a server goes away.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun::tool::{self, CallError};
use planrun_runs::runs::Planrun;
use planrun_serve::mcp::Server;
use planrun_serve::mode::PlanMode;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const PLAN: &str =
    "use desk plan p() -> int { step c = desk.close() step d = desk.close() reply c + d }";

/// What a client of 2025-06-18 says, in order: that it is there, one run, and the yes to its question.
fn said() -> [Json; 4] {
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
    let served = tokio::spawn(server.serve_over(tokio::io::split(theirs)));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();

    let [hello, ready, run, mut yes] = said();
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
    served.await.unwrap().unwrap();

    // What was called is awaited, and nothing more is called.
    assert_eq!(*log.lock().unwrap(), ["begun", "done"]);
    let run = planrun
        .list(&planrun_runs::runs::RunFilter::default())
        .unwrap()
        .remove(0);
    assert!(!run.driven);
    assert!(planrun.questions(&run.run).unwrap().questions().is_empty());
}
