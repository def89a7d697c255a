//! One connection to a server: how it begins, what it says unasked, how it ends.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientServiceExt as _, NotificationContext, Peer, RequestContext,
    RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Mutex;

use super::McpAddress;
use super::open_calls::OpenCalls;
use super::program::Program;
use crate::contract::{Annotations, OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::ProjectLimit;

/// How long a server may take until it can be called.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server gets to let go of a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Tools of one server.
const MAX_TOOLS: usize = 10_000;
/// Pages of the list of its tools.
const MAX_PAGES: usize = 1_000;

/// A connection that has been made.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    /// Where the server is a program.
    program: Option<Program>,
    /// What it has said of its tools, where they have not changed since.
    known: Mutex<Option<Known>>,
}

/// The tools that a server has listed.
struct Known {
    /// How often it had said by then that they have changed.
    version: u64,
    tools: BTreeMap<String, Arc<OfferedTool>>,
}

/// What the server may say unasked.
#[derive(Clone, Default)]
struct Handler {
    calls: OpenCalls,
    /// How often the server has said that its tools have changed.
    version: Arc<AtomicU64>,
}

impl Connection {
    /// Connects, within [`CONNECT_TIMEOUT`]. What keeps it from being made is told in one sentence.
    pub(super) async fn open(
        address: &McpAddress,
        limit: &ProjectLimit,
        host: &dyn Host,
    ) -> Result<Self, String> {
        let connecting = async {
            match address {
                McpAddress::Program { .. } => Self::start(address, host).await,
                McpAddress::Url { url, headers } => Self::reach(url, headers, limit).await,
            }
        };
        let in_time = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        in_time.unwrap_or_else(|_| {
            let seconds = CONNECT_TIMEOUT.as_secs();
            Err(format!("it is not ready after {seconds} s"))
        })
    }

    async fn start(address: &McpAddress, host: &dyn Host) -> Result<Self, String> {
        let (program, pipes) = Program::start(address, host)?;
        match Handler::default()
            .serve_with_lifecycle(pipes, lifecycle())
            .await
        {
            Ok(service) => Ok(Self {
                service,
                program: Some(program),
                known: Mutex::default(),
            }),
            Err(problem) => {
                let words = program.last_words().await;
                let words = words.map(|words| format!("; it says: {words}"));
                let words = words.unwrap_or_default();
                Err(format!("{}{words}", why(&problem)))
            }
        }
    }

    async fn reach(
        url: &str,
        headers: &[(String, String)],
        limit: &ProjectLimit,
    ) -> Result<Self, String> {
        let client = limit.client_of(url)?;
        let mut custom = HashMap::new();
        for (name, value) in headers {
            let header = HeaderName::try_from(name).ok().zip({
                let mut value = HeaderValue::try_from(value).ok();
                if let Some(value) = &mut value {
                    value.set_sensitive(true);
                }
                value
            });
            let (name, value) = header.ok_or_else(|| format!("`{name}` is no header"))?;
            custom.insert(name, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = Handler::default()
            .serve_with_lifecycle(transport, lifecycle())
            .await;
        Ok(Self {
            service: service.map_err(|problem| why(&problem))?,
            program: None,
            known: Mutex::default(),
        })
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// The calls in flight.
    pub(super) fn calls(&self) -> &OpenCalls {
        &self.service.service().calls
    }

    /// Whether the server has gone.
    pub(super) fn is_lost(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// What the server offers now.
    pub(super) async fn offered(&self) -> Result<OfferedServer, ServiceError> {
        let info = self.service.peer().peer_info();
        let info = info.as_ref().and_then(|info| info.server_info.clone());
        let (name, version) = info
            .map(|info| (info.name, info.version))
            .unwrap_or_default();
        let mut tools = BTreeMap::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.peer().list_tools(Some(params)).await?;
            let listed = page.tools.into_iter();
            tools.extend(listed.map(|tool| (tool.name.to_string(), offered(tool))));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > MAX_TOOLS {
                break;
            }
        }
        Ok(OfferedServer {
            name,
            version,
            tools,
        })
    }

    /// What the server says of one tool now. It is asked for all of them once, and again after they have changed.
    pub(super) async fn current(
        &self,
        tool: &str,
    ) -> Result<Option<Arc<OfferedTool>>, ServiceError> {
        let version = self.service.service().version.load(Ordering::Acquire);
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.version == version) {
            return Ok(known.tools.get(tool).cloned());
        }
        let tools = self.offered().await?.tools.into_iter();
        let tools: BTreeMap<_, _> = tools.map(|(name, tool)| (name, Arc::new(tool))).collect();
        let current = tools.get(tool).cloned();
        *known = Some(Known { version, tools });
        Ok(current)
    }

    /// Lets go of the server: a program is asked to stop, and stopped where it does not.
    pub(super) async fn close(mut self) {
        // A server that does not answer any more has let go.
        let _ = self.service.close_with_timeout(CLOSE_TIMEOUT).await;
        if let Some(program) = self.program {
            program.stop().await;
        }
    }
}

/// The revisions of the protocol: the latest where the server knows it, else the one that it chooses.
fn lifecycle() -> rmcp::service::ClientLifecycleMode {
    rmcp::service::ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

fn offered(tool: Tool) -> OfferedTool {
    let annotations = tool.annotations.unwrap_or_default();
    OfferedTool {
        title: tool.title.or(annotations.title),
        description: tool.description.map(Into::into),
        input: serde_json::Value::Object((*tool.input_schema).clone()),
        output: tool
            .output_schema
            .map(|schema| serde_json::Value::Object((*schema).clone())),
        annotations: Annotations {
            read_only: annotations.read_only_hint,
            destructive: annotations.destructive_hint,
            idempotent: annotations.idempotent_hint,
            open_world: annotations.open_world_hint,
        },
    }
}

/// Why there is no connection, in one sentence without the text of messages.
fn why(problem: &ClientInitializeError) -> String {
    match problem {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => why(fallback),
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => {
            "it closed the connection before it was ready".to_owned()
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no revision of the protocol that is known here".to_owned()
        }
        other => other.to_string(),
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let forms = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(forms);
        let name = Implementation::new("planrun", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, name)
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
