//! What planrun says of itself to servers, and what it does with what they say unasked.

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

/// What the server may say unasked.
#[derive(Clone, Default)]
pub(super) struct Handler {
    pub calls: OpenCalls,
    /// How often the server has said that its tools have changed.
    pub version: Arc<AtomicU64>,
    /// Whether it was asked to say so, and has not stopped.
    pub subscribed: Arc<AtomicBool>,
}

/// A connection that is ready.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// Begins to talk over a transport that is made anew for each try: with the latest revision of the protocol where the server
/// knows it, else with the one that it chooses.
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
        // It answers what it does not know, or tells at once which older revisions it speaks.
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
    /// In one sentence.
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
    /// What the server says of logging in, where it wants somebody to; it may say nothing.
    pub(super) fn challenge(&self) -> Option<&str> {
        let Self::Unanswered(problem) = self else {
            return None;
        };
        let silent = problem.is_authorization_required().then_some("");
        problem.auth_challenge().or(silent)
    }
}

const CLOSED: &str = "it closed the connection before it was ready";

/// Why there is no connection, in one sentence.
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
            "it speaks no revision of the protocol that is known here".to_owned()
        }
        other => other.to_string(),
    }
}

/// The innermost cause of an error, which is the one that says something.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
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
