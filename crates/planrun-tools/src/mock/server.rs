//! The HTTP interface of the mock: calls on any path, and paths that control failures.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, json};

use super::api::{ApiAnswer, ApiResponder};
use super::calls::{Answer, LoggedCall};
use super::listening::Listening;
use super::respond::{Call, Responder};
use crate::host::Host;
use crate::tools::app::{App, Received};
use crate::tools::http::percent;
use crate::tools::openapi::Api;

/// Maximum size of a request body, in bytes.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct MockOptions {
    /// The address to listen on. Port 0 lets the system choose.
    pub bind: SocketAddr,
    /// The seed of generated data.
    pub seed: u64,
    /// A file to which each call appends a line of JSON.
    pub log: Option<PathBuf>,
    /// The number of first calls that fail, by tool.
    pub failures: BTreeMap<String, u64>,
    /// The documents whose operations are answered too, each below a path with its name.
    pub apis: Vec<Api>,
}

/// A running mock.
pub struct MockServer {
    listening: Listening,
    responder: Arc<Responder>,
}

impl Default for MockOptions {
    fn default() -> Self {
        let bind = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            bind,
            seed: 0,
            log: None,
            failures: BTreeMap::new(),
            apis: Vec::new(),
        }
    }
}

impl MockServer {
    /// Starts a mock of these apps. Returns an error if the address is in use, the log cannot be written, or a `mock:`
    /// section is invalid; one of the kind [`io::ErrorKind::InvalidInput`] if a tool that is to fail does not exist.
    pub async fn start(
        apps: &[App],
        options: MockOptions,
        host: Arc<dyn Host>,
    ) -> io::Result<Self> {
        if let Some(log) = &options.log {
            let with_path = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", log.display()))
            };
            host.append_file(log, b"").map_err(with_path)?;
        }
        let responder = Responder::new(apps, options.seed, options.log, host);
        let responder = Arc::new(
            responder.map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, problem))?,
        );
        let unknown = |problem| io::Error::new(io::ErrorKind::InvalidInput, problem);
        responder.configure(options.failures).map_err(unknown)?;
        let documents = Arc::new(ApiResponder::new(options.apis, options.seed));
        let router = router(responder.clone(), documents);
        let listening = Listening::start(options.bind, router).await?;
        Ok(Self {
            listening,
            responder,
        })
    }

    /// The address that the mock listens on.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Returns the endpoint for the tools of one app. Several apps may have tools of the same name.
    pub fn endpoint(&self, app: &str) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let escape = |byte: u8| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        };
        let app: String = app.bytes().map(escape).collect();
        format!("http://{}/{app}/tool", self.address())
    }

    /// Returns the last ten thousand calls, or fewer if they are large, oldest first.
    pub fn calls(&self) -> Vec<LoggedCall> {
        self.responder.calls.lock().log()
    }

    /// Stops listening and returns when the requests in progress have finished, or after a grace period.
    pub async fn shutdown(self) {
        self.listening.shutdown().await;
    }
}

fn router(responder: Arc<Responder>, apis: Arc<ApiResponder>) -> Router {
    Router::new()
        .route(
            "/health",
            get(|| async { Json(json!({"status": "healthy", "service": "mock_api"})) }),
        )
        .route("/calls", get(calls))
        .route("/configure_failures", post(configure))
        .route("/reset_failures", post(reset))
        .fallback(move |state, method, uri, headers, body| {
            call(state, apis, method, uri, headers, body)
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(responder)
}

async fn calls(State(responder): State<Arc<Responder>>) -> Json<Vec<LoggedCall>> {
    Json(responder.calls.lock().log())
}

async fn configure(State(responder): State<Arc<Responder>>, body: axum::body::Bytes) -> Response {
    #[derive(serde::Deserialize)]
    struct Configuration {
        failures: BTreeMap<String, u64>,
    }
    match serde_json::from_slice::<Configuration>(&body) {
        Ok(configuration) => match responder.configure(configuration.failures) {
            Ok(()) => {
                let calls = responder.calls.lock();
                let config = calls.failures();
                let answer = json!({"message": "Failure configuration updated", "config": config});
                Json(answer).into_response()
            }
            Err(unknown) => bad_request(&unknown),
        },
        Err(problem) => bad_request(&format!(
            "expected {{\"failures\": {{\"tool\": 3}}}}: {problem}"
        )),
    }
}

async fn reset(State(responder): State<Arc<Responder>>) -> Json<serde_json::Value> {
    responder.calls.lock().configure(BTreeMap::new());
    Json(json!({"message": "Failure configuration reset"}))
}

/// The body of a call of a tool that does not define its own `request`.
#[derive(serde::Deserialize)]
struct Envelope {
    tool: String,
    #[serde(default)]
    args: Map<String, serde_json::Value>,
}

/// Handles any other request as a call: of an operation of a document, of a tool with a `request`, or in an envelope.
async fn call(
    State(responder): State<Arc<Responder>>,
    apis: Arc<ApiResponder>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Response {
    let received = Received {
        method,
        path: uri.path().to_owned(),
        query: Received::pairs(uri.query().unwrap_or_default()),
        headers,
        body: body.to_vec(),
    };
    if let Some(answer) = apis.answer(&received) {
        return api_response(answer);
    }
    let key = received.headers.get("idempotency-key");
    let key = key.and_then(|key| key.to_str().ok());
    let envelope = serde_json::from_slice::<Envelope>(&received.body);
    let is_envelope = envelope
        .as_ref()
        .is_ok_and(|body| responder.takes_envelope(&body.tool));
    if !is_envelope && let Some((answer, delay)) = responder.rest_answer(&received, key) {
        return delayed(answer, delay).await;
    }
    if received.method != Method::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return (status, [(header::ALLOW, "POST")]).into_response();
    }
    let body = match envelope {
        Ok(body) => body,
        Err(problem) => {
            return bad_request(&format!(
                "expected {{\"tool\": …, \"args\": {{…}}}}: {problem}"
            ));
        }
    };
    let path = percent::decode(received.path.trim_start_matches('/'));
    let app = path.split('/').next().filter(|app| responder.has_app(app));
    let (answer, delay) = responder.answer(&Call {
        app,
        tool: &body.tool,
        arguments: &body.args,
        key,
    });
    delayed(answer, delay).await
}

async fn delayed(answer: Answer, delay: Duration) -> Response {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    response(answer)
}

fn api_response(answer: ApiAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, answer.body).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    let lines = [
        (header::CONTENT_TYPE, answer.media_type),
        (header::ALLOW, answer.allow),
    ];
    for (name, line) in lines {
        if let Some(line) = line.and_then(|line| line.parse().ok()) {
            headers.insert(name, line);
        }
    }
    response
}

fn response(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(answer.body)).into_response();
    if let Some(seconds) = answer.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn bad_request(error: &str) -> Response {
    (
        StatusCode::BAD_REQUEST,
        Json(json!({"success": false, "error": error})),
    )
        .into_response()
}
