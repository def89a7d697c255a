//! The HTTP server of a mock: it listens, refuses requests from other web sites' pages, and shuts down.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a server that is shutting down waits for delayed answers.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A running server.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

impl Listening {
    /// Starts the server. Port 0 lets the system choose a port. Returns an error if the address is in use or does not
    /// belong to this machine.
    pub async fn start(bind: SocketAddr, router: Router) -> io::Result<Self> {
        let with_address =
            |error: io::Error| io::Error::new(error.kind(), format!("{bind}: {error}"));
        let listener = TcpListener::bind(bind).await.map_err(with_address)?;
        let address = listener.local_addr()?;
        // Small pieces of an answer are sent at once. If the option cannot be set, they only arrive later.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let stop = CancellationToken::new();
        let local = address.ip().is_loopback();
        let router = router.layer(middleware::from_fn(move |request: Request, next: Next| {
            admit(local, request, next)
        }));
        let server =
            axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
        let task = tokio::spawn(async move { server.await });
        Ok(Self {
            address,
            stop,
            task,
        })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and returns when the requests in progress have finished, or after a grace period of two seconds.
    pub async fn shutdown(self) {
        self.stop.cancel();
        let task = self.task;
        let abort = task.abort_handle();
        if tokio::time::timeout(SHUTDOWN_GRACE, task).await.is_err() {
            abort.abort();
        }
    }
}

async fn admit(local: bool, request: Request, next: Next) -> Response {
    match refusal(local, request.headers()) {
        Some(error) => {
            let body = Json(json!({"success": false, "error": error}));
            (StatusCode::FORBIDDEN, body).into_response()
        }
        None => next.run(request).await,
    }
}

/// Returns why a request is refused; `None` if it is accepted. A browser reports the origin of the page and the host
/// name that it used: pages of other origins are refused, and a mock on a loopback address accepts only local host
/// names, which prevents DNS rebinding.
fn refusal(local: bool, headers: &HeaderMap) -> Option<String> {
    let header = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    let host = header(header::HOST).unwrap_or_default();
    if let Some(origin) = header(header::ORIGIN)
        && origin
            .split_once("://")
            .is_none_or(|(_, place)| place != host)
    {
        return Some(format!("pages of {origin} may not call this mock"));
    }
    let ported = host
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'));
    let name = ported.map_or(host, |(name, _)| name);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_local = name == "localhost" || address.is_ok_and(|address| address.is_loopback());
    (local && !is_local).then(|| format!("`{name}` is not a host name of this mock"))
}
