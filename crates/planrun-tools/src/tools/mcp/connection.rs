//! One connection to a server: connecting, its tools, and closing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult,
    SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::Deserialize as _;
use serde_json::json;
use tokio::sync::Mutex;

use super::McpAddress;
use super::handler::{Service, serve};
use super::oauth::Refusal;
use super::open_calls::OpenCalls;
use super::program::Program;
use super::remote::Remote;
use crate::contract::{Annotations, OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::credential::Credentials;
use crate::tools::{ProjectLimit, causes, innermost};

/// Timeout for connecting to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server may take to close a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for listing all tools of a server.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout for subscribing to changes of the tools.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(2);
/// The name of the tool that reads resources of a server.
const RESOURCE: &str = "resource";
/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 10_000;
/// Maximum number of pages of the list of tools.
const MAX_PAGES: usize = 1_000;
/// Maximum size of the list of tools, as JSON.
const MAX_LIST_BYTES: usize = 32 * 1024 * 1024;

/// An open connection.
pub(super) struct Connection {
    service: Service,
    /// Present if the server is a program.
    program: Option<Program>,
    /// The tools that it has listed, unless they have changed since.
    known: Mutex<Option<Known>>,
    /// Whether the server has ended the session.
    has_ended: AtomicBool,
}

/// The tools that a server has listed.
struct Known {
    /// Number of changes that the server had reported by then.
    version: u64,
    /// Number of times that the tools had to be listed again by then, whatever the server had reported.
    renewals: u64,
    tools: BTreeMap<String, Arc<OfferedTool>>,
}

/// One page of the list of tools.
struct Page {
    tools: Vec<Tool>,
    /// The cursor of the next page.
    next: Option<String>,
    /// Number of tools that could not be read.
    unread: usize,
}

/// Why a server's tools are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("{}", innermost(.0))]
    Service(#[from] ServiceError),
    #[error(
        "the list has more than {MAX_PAGES} pages, {MAX_TOOLS} tools or {MAX_LIST_BYTES} bytes"
    )]
    Endless,
    #[error("the list does not end: the server refers to the same page twice")]
    Circular,
    #[error("the list is not complete after {} s", LIST_TIMEOUT.as_secs())]
    Late,
}

impl Connection {
    /// Connects to a server within [`CONNECT_TIMEOUT`]. `name` is the name that the project gives it.
    pub(super) async fn open(
        (name, address): (&str, &McpAddress),
        limit: &ProjectLimit,
        host: &Arc<dyn Host>,
        credentials: &Credentials,
    ) -> Result<Self, Refusal> {
        let connecting = async {
            match address {
                McpAddress::Program { .. } => Ok(Self::start(address, &**host, credentials).await?),
                McpAddress::Url {
                    url,
                    headers,
                    oauth,
                } => {
                    let remote = Remote {
                        url,
                        headers,
                        limit,
                        credentials,
                    };
                    let service = match oauth {
                        Some(_) => remote.connect_as(name, host).await?,
                        None => remote.connect(name).await?,
                    };
                    Ok(Self::new(service, None))
                }
            }
        };
        let in_time = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        in_time.unwrap_or_else(|_| {
            let seconds = CONNECT_TIMEOUT.as_secs();
            Err(format!("it is not ready after {seconds} s").into())
        })
    }

    fn new(service: Service, program: Option<Program>) -> Self {
        Self {
            service,
            program,
            known: Mutex::default(),
            has_ended: AtomicBool::new(false),
        }
    }

    async fn start(
        address: &McpAddress,
        host: &dyn Host,
        credentials: &Credentials,
    ) -> Result<Self, String> {
        let mut program = None;
        let calls = OpenCalls::default();
        let served = serve(&calls, || {
            let (started, pipes) = Program::start(address, host, &calls)?;
            program = Some(started);
            Ok(pipes)
        });
        let refused = match served.await {
            Ok(service) => return Ok(Self::new(service, program)),
            Err(refused) => refused.reason(credentials),
        };
        let error_line = match program {
            Some(program) => program.last_error_line().await,
            None => None,
        };
        let error_line =
            error_line.map(|line| format!("; its error output: {}", credentials.redacted(&line)));
        Err(refused + &error_line.unwrap_or_default())
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// The calls in flight.
    pub(super) fn calls(&self) -> &OpenCalls {
        &self.service.service().calls
    }

    /// Returns true if the connection to the server is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.has_ended() || self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Returns true if the server has ended the session.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns true if a request has failed because the server has ended the session, so it was not carried out. Later
    /// requests need a new connection.
    pub(super) fn ends_with(&self, problem: &ServiceError) -> bool {
        let has_ended = is_unknown_session(problem);
        self.has_ended.fetch_or(has_ended, Ordering::AcqRel);
        has_ended
    }

    /// Returns what the server offers now.
    pub(super) async fn offered(&self) -> Result<OfferedServer, ListError> {
        let listing = tokio::time::timeout(LIST_TIMEOUT, self.list()).await;
        let listed = listing.unwrap_or(Err(ListError::Late));
        if let Err(ListError::Service(problem)) = &listed {
            self.ends_with(problem);
        }
        let (mut tools, left_out) = listed?;
        let info = self.service.peer().peer_info();
        let resources = info
            .as_ref()
            .and_then(|info| info.capabilities.resources.as_ref());
        if resources.is_some() {
            // If the server itself has a tool with that name, that tool is used.
            let tool = tools.entry(RESOURCE.to_owned());
            tool.or_insert_with(resource_tool);
        }
        let info = info.as_ref().and_then(|info| info.server_info.clone());
        let (name, version) = info
            .map(|info| (info.name, info.version))
            .unwrap_or_default();
        let offered = OfferedServer {
            name,
            version,
            tools,
            left_out,
        };
        Ok(offered.with_names())
    }

    /// Returns the tools by name, and how many others could not be read.
    async fn list(&self) -> Result<(BTreeMap<String, OfferedTool>, usize), ListError> {
        let (mut tools, mut bytes, mut unread) = (BTreeMap::new(), 0, 0);
        let mut cursor: Option<String> = None;
        // Hashes of the cursors, which may be long.
        let mut seen = BTreeSet::new();
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.page(params).await?;
            unread += page.unread;
            for tool in page.tools {
                bytes += serde_json::to_vec(&tool).map_or(0, |json| json.len());
                tools.insert(tool.name.to_string(), offered(tool));
            }
            if tools.len() > MAX_TOOLS || bytes > MAX_LIST_BYTES {
                return Err(ListError::Endless);
            }
            let Some(next) = page.next else {
                return Ok((tools, unread));
            };
            if !seen.insert(*blake3::hash(next.as_bytes()).as_bytes()) {
                return Err(ListError::Circular);
            }
            cursor = Some(next);
        }
        Err(ListError::Endless)
    }

    async fn page(&self, params: PaginatedRequestParams) -> Result<Page, ServiceError> {
        match self.service.peer().list_tools(Some(params.clone())).await {
            Err(ServiceError::UnexpectedResponse) => self.readable(params).await,
            page => page.map(|page| Page {
                tools: page.tools,
                next: page.next_cursor,
                unread: 0,
            }),
        }
    }

    /// Returns a page without those tools that are not described as the protocol requires.
    async fn readable(&self, params: PaginatedRequestParams) -> Result<Page, ServiceError> {
        let request = ListToolsRequest {
            params: Some(params),
            ..ListToolsRequest::default()
        };
        let answer = self.service.peer();
        let answer = answer.send_request(ClientRequest::ListToolsRequest(request));
        let ServerResult::CustomResult(CustomResult(page)) = answer.await? else {
            return Err(ServiceError::UnexpectedResponse);
        };
        let listed = page["tools"].as_array();
        let listed = listed.ok_or(ServiceError::UnexpectedResponse)?;
        let tools = listed
            .iter()
            .filter_map(|tool| Tool::deserialize(tool).ok());
        let tools: Vec<Tool> = tools.collect();
        Ok(Page {
            unread: listed.len() - tools.len(),
            tools,
            next: page["nextCursor"].as_str().map(str::to_owned),
        })
    }

    /// Returns true if the tool with this name is the one that reads resources, and not a tool of the server itself.
    pub(super) async fn reads_resources_as(&self, tool: &str, renewals: u64) -> bool {
        let current = match tool {
            RESOURCE => self.current(tool, renewals).await.ok().flatten(),
            _ => None,
        };
        current.is_some_and(|current| *current == resource_tool())
    }

    /// Subscribes to changes of the tools at a server with a stateless protocol version; other servers report them
    /// without a subscription. When such a stream ends, the tools count as changed.
    async fn subscribe(&self) {
        let handler = self.service.service();
        let reports_changes = self.service.peer().peer_info().is_some_and(|info| {
            let tools = info.capabilities.tools.as_ref();
            let reports_changes = tools.and_then(|tools| tools.list_changed) == Some(true);
            reports_changes && !info.protocol_version.has_initialize()
        });
        if !reports_changes || handler.subscribed.swap(true, Ordering::AcqRel) {
            return;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let listening = self.service.peer().listen(filter);
        let Ok(Ok(mut subscription)) = tokio::time::timeout(LISTEN_TIMEOUT, listening).await else {
            return;
        };
        let (version, subscribed) = (handler.version.clone(), handler.subscribed.clone());
        tokio::spawn(async move {
            while let Ok(Some(_)) = subscription.next().await {
                version.fetch_add(1, Ordering::Release);
            }
            subscribed.store(false, Ordering::Release);
            version.fetch_add(1, Ordering::Release);
        });
    }

    /// Returns the current description of one tool. The tools are listed once, again after they have changed, and
    /// again for each new number of `renewals`.
    pub(super) async fn current(
        &self,
        tool: &str,
        renewals: u64,
    ) -> Result<Option<Arc<OfferedTool>>, ListError> {
        let version = self.service.service().version.load(Ordering::Acquire);
        let mut known = self.known.lock().await;
        let is_current = |known: &&Known| (known.version, known.renewals) == (version, renewals);
        if let Some(known) = known.as_ref().filter(is_current) {
            return Ok(known.tools.get(tool).cloned());
        }
        self.subscribe().await;
        let tools = self.offered().await?.tools.into_iter();
        let tools: BTreeMap<_, _> = tools.map(|(name, tool)| (name, Arc::new(tool))).collect();
        let current = tools.get(tool).cloned();
        *known = Some(Known {
            version,
            renewals,
            tools,
        });
        Ok(current)
    }

    /// Closes the connection. A program is asked to stop, and killed if it does not.
    pub(super) async fn close(mut self) {
        // A server that does not answer any more counts as closed.
        let _ = self.service.close_with_timeout(CLOSE_TIMEOUT).await;
        if let Some(program) = self.program {
            program.stop().await;
        }
    }
}

/// Returns true if the server did not know the session of a request.
fn is_unknown_session(problem: &ServiceError) -> bool {
    causes(problem).any(|error| {
        let http = error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        matches!(http, Some(StreamableHttpError::SessionExpired))
    })
}

/// Returns the tool that reads a resource. By the protocol it only reads, which is treated as a claim of the server.
fn resource_tool() -> OfferedTool {
    OfferedTool {
        description: Some("Reads a resource of the server.".to_owned()),
        input: json!({
            "type": "object",
            "properties": { "uri": { "type": "string" } },
            "required": ["uri"],
            "additionalProperties": false,
        }),
        annotations: Annotations {
            read_only: Some(true),
            ..Annotations::default()
        },
        ..OfferedTool::default()
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
