//! Streamable HTTP on the loopback interface: one address, a required token, and no requests from other origins.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::mode::PlanMode;

/// The path of the protocol's endpoint.
const PATH: &str = "/mcp";
/// Maximum size of a request, in bytes.
const MAX_REQUEST: usize = 4 * 1024 * 1024;
/// How long calls may still be answered after the server was cancelled.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long streams may take to end after that.
const LAST_STREAMS: Duration = Duration::from_secs(1);
/// The scheme of the header with the token, and the space behind it. Its case does not matter.
const BEARER: &str = "bearer ";

/// A listening server.
pub struct HttpServer {
    address: SocketAddr,
    listener: TcpListener,
    routes: Router,
    mode: Arc<PlanMode>,
    cancel: CancellationToken,
    /// Ends the streams of the protocol.
    streams: CancellationToken,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpServerError {
    #[error("{0} is not a loopback address; planrun serves only 127.0.0.1 and [::1]")]
    NotLoopback(IpAddr),
    #[error("cannot listen on {0}: {1}")]
    Unusable(SocketAddr, std::io::Error),
}

impl HttpServer {
    /// Listens on an address of the loopback interface. Port 0 selects a free port. Requests must contain the token.
    /// Fails with a [`HttpServerError`] if the address is not a loopback address or cannot be used.
    pub async fn bind(
        server: Server,
        address: SocketAddr,
        token: &str,
    ) -> Result<Self, HttpServerError> {
        if !address.ip().is_loopback() {
            return Err(HttpServerError::NotLoopback(address.ip()));
        }
        let unusable = |error| HttpServerError::Unusable(address, error);
        let listener = TcpListener::bind(address).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let (cancel, streams) = (server.closed.clone(), CancellationToken::new());
        let port = address.port();
        let names = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(names.clone())
            .with_allowed_origins(names.map(|name| format!("http://{name}")))
            .enforce_origin_validation()
            .with_max_request_body_bytes(MAX_REQUEST)
            .with_cancellation_token(streams.clone());
        let mode = server.mode.clone();
        let sessions = Arc::new(LocalSessionManager::default());
        let service =
            StreamableHttpService::new(move || Ok(server.for_connection()), sessions, config);
        let token: Arc<str> = token.into();
        let routes = Router::new()
            .route_service(PATH, service)
            .layer(from_fn_with_state(token, authorized));
        Ok(Self {
            address,
            listener,
            routes,
            mode,
            cancel,
            streams,
        })
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Returns the token that stops the server.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Serves until it is cancelled. Calls then stop waiting for their runs, and the runs are suspended. Returns an
    /// error if the listener fails.
    pub async fn serve(self) -> std::io::Result<()> {
        let cancel = self.cancel.clone();
        let serving = axum::serve(self.listener, self.routes)
            .with_graceful_shutdown(self.cancel.cancelled_owned());
        let served = tokio::select! {
            served = serving.into_future() => served,
            () = async {
                cancel.cancelled().await;
                sleep(LAST_ANSWERS).await;
                self.streams.cancel();
                sleep(LAST_STREAMS).await;
            } => Ok(()),
        };
        self.streams.cancel();
        self.mode.close().await;
        served
    }
}

/// Refuses requests without the token.
async fn authorized(State(token): State<Arc<str>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION);
    let given = given.map(HeaderValue::as_bytes).unwrap_or_default();
    let token_of = |(scheme, given): (&[u8], &[u8])| {
        scheme.eq_ignore_ascii_case(BEARER.as_bytes()) && is_same(given, token.as_bytes())
    };
    if given.split_at_checked(BEARER.len()).is_some_and(token_of) {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response()
    }
}

/// Compares in constant time, so that the duration does not reveal how much of the token was correct.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let differs = given
        .iter()
        .zip(expected)
        .fold(0, |differs, (one, other)| differs | (one ^ other));
    given.len() == expected.len() && differs == 0
}
