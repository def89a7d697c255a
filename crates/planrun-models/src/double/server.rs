//! The HTTP server of a test double.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json as JsonBody, Router};
use parking_lot::Mutex;
use planrun_tools::host::Host;
use planrun_tools::mock::Listening;
use serde_json::Value as Json;

use super::body::body;
use super::event::Event;
use super::requests::{ReceivedRequest, RequestSummary, Requests, headers};
use super::script::{Answer, Failure, Reply, Script, ScriptTurn};
use super::shape::{SHAPES, Shape};

/// Maximum size of a request, in bytes.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Options of a test double.
#[derive(Clone, Debug)]
pub struct DoubleOptions {
    /// Address to listen on; port 0 picks a free port.
    pub bind: SocketAddr,
    /// File to append each request to, as a line of JSON.
    pub log: Option<PathBuf>,
}

/// A running test double.
pub struct ModelDouble {
    listening: Listening,
    shared: Arc<Shared>,
}

struct Shared {
    requests: Mutex<Requests>,
    log: Option<PathBuf>,
    host: Arc<dyn Host>,
}

impl Default for DoubleOptions {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            log: None,
        }
    }
}

impl ModelDouble {
    /// Starts a server that plays this script. Returns an error if the address cannot be bound, or the log cannot be
    /// written.
    pub async fn start(
        script: Script,
        options: DoubleOptions,
        host: Arc<dyn Host>,
    ) -> io::Result<Self> {
        if let Some(log) = &options.log {
            let with_path = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", log.display()))
            };
            host.append_file(log, b"").map_err(with_path)?;
        }
        let shared = Arc::new(Shared {
            requests: Mutex::new(Requests::new(script)),
            log: options.log,
            host,
        });
        let paths = SHAPES.into_iter().fold(Router::new(), |routes, api| {
            let answer =
                move |state: State<Arc<Shared>>, uri: Uri, sent: HeaderMap, body: Bytes| {
                    answer(api, state, uri, sent, body)
                };
            routes.route(api.path, post(answer))
        });
        let router = paths
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(shared.clone());
        let listening = Listening::start(options.bind, router).await?;
        Ok(Self { listening, shared })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Returns the base URL for clients of the APIs.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    /// Returns the last thousand requests, or fewer if they are large, oldest first.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.requests.lock().received()
    }

    /// Stops listening, and waits until the requests in progress have ended.
    pub async fn shutdown(self) {
        self.listening.shutdown().await;
    }
}

impl Shared {
    /// Records a request with a body of this size, takes its turn and generates missing call ids. Returns a message if
    /// no turn matches.
    fn take(
        &self,
        summary: &RequestSummary,
        (mut request, bytes): (ReceivedRequest, usize),
    ) -> Result<ScriptTurn, String> {
        let mut requests = self.requests.lock();
        let taken = requests.take(summary).map(|(number, mut turn)| {
            request.turn = Some(number);
            if let Reply::Answer(answer) = &mut turn.reply {
                for call in answer.calls.iter_mut().filter(|call| call.id.is_empty()) {
                    call.id = format!("call_{}", requests.next_call());
                }
            }
            turn
        });
        let taken = taken.ok_or_else(|| requests.refusal(summary));
        if let Some(log) = &self.log
            && let Ok(line) = serde_json::to_string(&request)
        {
            // The file was writable at the start; a full disk must not prevent an answer.
            let _ = self.host.append_file(log, format!("{line}\n").as_bytes());
        }
        requests.record(request, bytes);
        taken
    }
}

async fn answer(
    api: Shape,
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    sent: HeaderMap,
    received: Bytes,
) -> Response {
    let Ok(body) = serde_json::from_slice::<Json>(&received) else {
        return failed(
            api,
            400,
            &refused("the body of the request is not valid JSON".to_owned()),
        );
    };
    let summary = (api.parse_request)(&body);
    let (headers, key) = headers(&sent);
    let request = ReceivedRequest {
        turn: None,
        path: uri.path().to_owned(),
        headers,
        body: body.clone(),
        key,
    };
    let turn = match shared.take(&summary, (request, received.len())) {
        Ok(turn) => turn,
        Err(why) => return failed(api, 400, &refused(why)),
    };
    if !turn.delay.is_zero() {
        tokio::time::sleep(turn.delay).await;
    }
    reply(api, &turn, &summary, &body)
}

fn reply(api: Shape, turn: &ScriptTurn, summary: &RequestSummary, request: &Json) -> Response {
    match &turn.reply {
        Reply::Answer(answer) if summary.streams && answer.stream => {
            streamed((api.events)(answer, request), turn)
        }
        Reply::Answer(answer) => whole(api, answer, request, turn),
        Reply::Raw(text) => {
            let event = Event {
                text: text.clone(),
                is_token: true,
            };
            streamed(vec![event], turn)
        }
        Reply::Status {
            status,
            retry_after,
            failure,
        } => {
            let mut response = failed(api, *status, failure);
            let wait = retry_after.as_deref().and_then(|wait| wait.parse().ok());
            if let Some(wait) = wait {
                response.headers_mut().insert(header::RETRY_AFTER, wait);
            }
            response
        }
    }
}

fn streamed(events: Vec<Event>, turn: &ScriptTurn) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream")];
    (headers, body(events, &turn.delivery)).into_response()
}

fn whole(api: Shape, answer: &Answer, request: &Json, turn: &ScriptTurn) -> Response {
    if let Some(failure) = &answer.failure {
        return failed(api, 500, failure);
    }
    let event = Event {
        text: (api.whole)(answer, request).to_string(),
        is_token: true,
    };
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, body(vec![event], &turn.delivery)).into_response()
}

fn failed(api: Shape, status: u16, failure: &Failure) -> Response {
    let body = JsonBody((api.failure)(failure, status));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, body).into_response()
}

fn refused(message: String) -> Failure {
    Failure {
        message: Some(message),
        code: Some("no_turn".to_owned()),
    }
}
