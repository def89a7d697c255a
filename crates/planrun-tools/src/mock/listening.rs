//! A server of a test double: it listens, turns away what browsers bring along, and ends.

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

/// Answers that are held back longer than this do not keep a stopped server up.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A server that answers.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

impl Listening {
    /// Begins to answer; port 0 lets the system choose one.
    ///
    /// # Errors
    /// The address is taken or none of this machine.
    pub async fn start(bind: SocketAddr, router: Router) -> io::Result<Self> {
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{bind}: {error}"));
        let listener = TcpListener::bind(bind).await.map_err(told)?;
        let address = listener.local_addr()?;
        // Small pieces of an answer go out as they come. Where that cannot be set they only come later.
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

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets what is under way end, and returns then.
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

/// Why a request is not answered. A browser says which page asks, and by which name it has found this machine: pages of other
/// places may not ask, and a mock for this machine alone goes by no other name.
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
    (local && !is_local).then(|| format!("this mock is not called `{name}`"))
}
