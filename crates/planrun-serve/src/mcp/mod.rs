//! The server of the Model Context Protocol: revisions 2024-11-05 to 2026-07-28, over pipes and over HTTP.

mod client;
mod elicitation;
mod http;
mod resources;
mod results;
mod state;

use std::io;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::client::McpClient;
use self::results::response;
use self::state::Seal;
use crate::asking::PutQuestion;
use crate::mode::{Call, Definition, INSTRUCTIONS, PlanMode};

pub use self::http::{HttpServer, HttpServerError};

/// One server over plan mode; clones share it, and each connection has one.
#[derive(Clone)]
pub struct Server {
    mode: Arc<PlanMode>,
    seal: Arc<Seal>,
}

impl Server {
    /// A server over plan mode.
    #[must_use]
    pub fn new(mode: Arc<PlanMode>) -> Self {
        let seal = Arc::new(Seal::of(mode.planrun()));
        Self { mode, seal }
    }

    /// Serves standard input and output until the client closes them, or it is cancelled. Runs that go on then are suspended,
    /// and go on with whoever resumes them.
    ///
    /// # Errors
    /// When the client says nothing that the protocol begins with.
    pub async fn serve_stdio(self, cancel: CancellationToken) -> io::Result<()> {
        Box::pin(self.serve_until(stdio(), cancel)).await
    }

    /// The same over any pair of streams.
    ///
    /// # Errors
    /// As for [`Self::serve_stdio`].
    pub async fn serve_over<R, W>(self, streams: (R, W)) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_until(streams, CancellationToken::new()).await
    }

    async fn serve_until<R, W>(self, streams: (R, W), cancel: CancellationToken) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let mode = self.mode.clone();
        let running = self.serve_with_ct(streams, cancel).await;
        let served = running.map_err(io::Error::other)?.waiting().await;
        mode.close().await;
        served.map(drop).map_err(io::Error::other)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        let own = Implementation::new("planrun", env!("CARGO_PKG_VERSION"))
            .with_title("planrun: checked plans over all tools");
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.mode.tools().into_iter().map(tool);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = &*request.name;
        let call = Call {
            tool,
            arguments: request.arguments.unwrap_or_default(),
            client: Arc::new(McpClient::new(context)),
        };
        let now = || self.mode.planrun().host().now();
        let reply = match &request.request_state {
            Some(state) => {
                let carried = self.seal.open(tool, state);
                let carried = carried.map_err(|why| ErrorData::invalid_params(why, None))?;
                let answers = request.input_responses.as_ref();
                let said = |question: &PutQuestion| carried.said(question, answers, now());
                self.mode
                    .answered(call, (&carried.run, &carried.path), &said)
                    .await
            }
            None => self.mode.call(call).await,
        };
        Ok(response(reply, |question| {
            self.seal.seal(tool, question, now())
        }))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources::list())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(self.mode.planrun(), &request.uri).map(Into::into)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.mode.changes();
        let peer = context.peer;
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.mode.changes();
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                news = changes.changed() => {
                    let told = subscription.sink().notify_tool_list_changed().await;
                    if news.is_err() || told.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

fn tool(definition: Definition) -> Tool {
    let Definition {
        name,
        title,
        description,
        input,
        output,
        hints,
    } = definition;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut tool = Tool::new(name, description, Arc::new(input)).annotate(annotations);
    tool.title = Some(title);
    tool.output_schema = output.map(Arc::new);
    tool
}
