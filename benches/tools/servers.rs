//! Servers with one tool that echoes its input: over pipes, as another process of this program, and over HTTP.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value as Json, json};

/// The argument that makes this program a server; the next one is its start-up time in milliseconds.
pub const SERVE: &str = "serve-pipe";

/// Returns the start-up time if this process was started as a server.
pub fn asked_to_serve(arguments: &[String]) -> Option<Duration> {
    match arguments {
        [word, millis] if word == SERVE => millis.parse().ok().map(Duration::from_millis),
        _ => None,
    }
}

/// Serves over standard input and output until the input ends.
pub fn serve_pipe(delay: Duration) -> ExitCode {
    std::thread::sleep(delay);
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = serde_json::from_str(&line)
            .ok()
            .and_then(|request| answer(&request));
        if let Some(answer) = answer
            && writeln!(output, "{answer}")
                .and_then(|()| output.flush())
                .is_err()
        {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Serves the protocol at `/mcp` and a tool of an app at `/echo`, on a free port. Returns the address.
pub async fn serve_web() -> Result<String, String> {
    let router = Router::new()
        .route("/mcp", post(mcp))
        .route("/echo", post(echo));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

async fn mcp(body: String) -> Response {
    let request = serde_json::from_str(&body).unwrap_or_default();
    match answer(&request) {
        Some(answer) => axum::Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

async fn echo(body: String) -> Response {
    let request: Json = serde_json::from_str(&body).unwrap_or_default();
    axum::Json(json!({ "success": true, "data": request["args"] })).into_response()
}

/// Returns the answer to a message. `None` if the message is not a request.
fn answer(request: &Json) -> Option<Json> {
    let id = request.get("id")?;
    let parameters = &request["params"];
    let result = match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1.0.0" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "echo",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
            "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" => {
            let text = &parameters["arguments"]["text"];
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => {
            let error = json!({ "code": -32601, "message": "there is no such method" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}
