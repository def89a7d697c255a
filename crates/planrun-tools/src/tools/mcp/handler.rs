//! The client's side of the protocol: the capabilities of planrun, and the handling of messages that the server sends
//! on its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam,
    ProtocolVersion, TASKS_EXTENSION_ID,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext,
    RequestContext, RunningService,
};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, RoleClient};

use super::open_calls::OpenCalls;
use crate::tools::credential::Credentials;
use crate::tools::innermost;

/// Handles the messages that a server sends on its own.
#[derive(Clone, Default)]
pub(super) struct Handler {
    pub calls: OpenCalls,
    /// Number of times that the server has reported a change of its tools.
    pub version: Arc<AtomicU64>,
    /// Whether there is an open subscription to these changes.
    pub subscribed: Arc<AtomicBool>,
}

/// An established connection.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// Starts the protocol with the latest version if the server supports it, otherwise with the version that the server
/// selects. `transport` creates a new transport for each attempt.
pub(super) async fn serve<T, E, A>(
    calls: &OpenCalls,
    mut transport: impl FnMut() -> Result<T, String>,
) -> Result<Service, Refused>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let latest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let handler = || Handler {
        calls: calls.clone(),
        ..Handler::default()
    };
    let first = handler().serve_with_lifecycle(transport()?, latest).await;
    match first {
        // The server rejected the unknown version, or listed the older versions that it supports.
        Err(
            ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. },
        ) => {
            let older = ClientLifecycleMode::Initialize;
            let second = handler().serve_with_lifecycle(transport()?, older);
            Ok(second.await?)
        }
        first => Ok(first?),
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// One sentence.
    #[error("{0}")]
    Unprepared(String),
    #[error("{}", why(.0))]
    Unanswered(Box<ClientInitializeError>),
}

impl From<ClientInitializeError> for Refused {
    fn from(error: ClientInitializeError) -> Self {
        Self::Unanswered(Box::new(error))
    }
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Unprepared(why)
    }
}

impl Refused {
    /// Returns the reason, with credentials redacted in what the server has said.
    pub(super) fn reason(&self, credentials: &Credentials) -> String {
        match self {
            Self::Unprepared(why) => why.clone(),
            Self::Unanswered(problem) => credentials.redacted(&why(problem)),
        }
    }

    /// Returns the authentication challenge if the server requires a login. It may be empty.
    pub(super) fn challenge(&self) -> Option<&str> {
        let Self::Unanswered(problem) = self else {
            return None;
        };
        let silent = problem.is_authorization_required().then_some("");
        problem.auth_challenge().or(silent)
    }
}

const CLOSED: &str = "it closed the connection before it was ready";

/// Describes in one sentence why there is no connection.
fn why(problem: &ClientInitializeError) -> String {
    match problem {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => why(fallback),
        ClientInitializeError::ConnectionClosed(_) => CLOSED.to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            let problem = error.error.downcast_ref::<std::io::Error>();
            match problem.map(std::io::Error::kind) {
                Some(std::io::ErrorKind::BrokenPipe) => CLOSED.to_owned(),
                Some(_) | None => innermost(&*error.error),
            }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it does not support any known revision of the protocol".to_owned()
        }
        other => other.to_string(),
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let forms = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(forms);
        let tasks = (TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new());
        capabilities.extensions = Some([tasks].into());
        let name = Implementation::new("planrun", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, name).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.calls.ask(request).await)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.version.fetch_add(1, Ordering::Release);
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.progress(params);
    }
}
