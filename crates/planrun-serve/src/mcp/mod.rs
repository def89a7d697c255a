//! The server of the Model Context Protocol: revisions 2024-11-05 to 2026-07-28, over pipes and over HTTP.

mod app;
mod client;
mod elicitation;
mod ending;
mod followed;
mod http;
mod prompts;
mod resources;
mod results;
mod state;

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::client::McpClient;
use self::ending::Ending;
use self::followed::Followed;
use self::results::response;
use self::state::Seal;
use crate::asking::PutQuestion;
use crate::mode::{Asked, Call, Definition, INSTRUCTIONS, PlanMode};

pub use self::http::{HttpServer, HttpServerError};

/// How often it is looked whether something has changed of which a client wants to hear.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// One server over plan mode, for one connection.
pub struct Server {
    mode: Arc<PlanMode>,
    seal: Arc<Seal>,
    /// What the client of this connection follows.
    followed: Arc<Mutex<Followed>>,
    /// Fires when no call shall wait for its run any more.
    over: CancellationToken,
}

impl Server {
    /// A server over plan mode.
    #[must_use]
    pub fn new(mode: Arc<PlanMode>) -> Self {
        Self {
            seal: Arc::new(Seal::of(mode.planrun())),
            mode,
            followed: Arc::default(),
            over: CancellationToken::new(),
        }
    }

    /// The same server for another connection.
    fn for_another(&self) -> Self {
        Self {
            mode: self.mode.clone(),
            seal: self.seal.clone(),
            followed: Arc::default(),
            over: self.over.clone(),
        }
    }

    fn followed(&self) -> std::sync::MutexGuard<'_, Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (mode, over) = (self.mode.clone(), self.over.clone());
        let (stream, writer) = streams;
        let ended = CancellationToken::new();
        let is_over = ending::over(ended.clone(), cancel.clone());
        let reader = Ending { stream, ended };
        let serving = async {
            let running = self.serve_with_ct((reader, writer), cancel).await;
            let served = running.map_err(io::Error::other)?.waiting().await;
            served.map(drop).map_err(io::Error::other)
        };
        let mut serving = pin!(serving);
        let served = tokio::select! {
            served = &mut serving => served,
            () = is_over => {
                over.cancel();
                serving.await
            }
        };
        mode.close().await;
        served
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
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
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.mode.look();
        let has_panel = app::is_shown(&context);
        let tools = self.mode.tools().into_iter();
        let tools = tools.map(|definition| tool(definition, has_panel));
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
            client: Arc::new(McpClient::new(context, self.over.clone())),
        };
        let now = || self.mode.planrun().host().now();
        let reply = match &request.request_state {
            Some(state) => {
                let carried = self.seal.open(tool, state);
                let carried = carried.map_err(|why| ErrorData::invalid_params(why, None))?;
                let answers = request.input_responses.as_ref();
                let said = |question: &PutQuestion| carried.said(question, answers, now());
                let asked = Asked {
                    run: &carried.run,
                    path: &carried.path,
                    by_page: carried.by_page,
                };
                self.mode.answered(call, asked, &said).await
            }
            None => self.mode.call(call).await,
        };
        response(reply, |question, way| {
            self.seal.seal(tool, (question, way), now())
        })
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(request).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompts::complete(self.mode.planrun(), (&request.r#ref, &request.argument))
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

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let followed = self.followed().follow(self.mode.planrun(), &request.uri);
        followed.map_err(|why| ErrorData::resource_not_found(why, None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.followed().leave(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mode, followed, peer) = (self.mode.clone(), self.followed.clone(), context.peer);
        mode.look();
        let mut changes = mode.changes();
        tokio::spawn(async move {
            while let Some(news) = news(&mode, &mut changes, &followed).await {
                if peer.is_transport_closed() {
                    return;
                }
                if news.tools && peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
                for uri in news.runs {
                    let updated = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(updated).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut followed = Followed::default();
        let runs = requested.resource_subscriptions.iter().flatten();
        let runs = runs.filter(|uri| followed.follow(self.mode.planrun(), uri).is_ok());
        let filter = SubscriptionFilter::builder().tools_list_changed();
        Some(filter.resource_subscriptions(runs).build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let (accepted, sink) = (subscription.accepted(), subscription.sink());
        let mut followed = Followed::default();
        for uri in accepted.resource_subscriptions.iter().flatten() {
            // One that has gone meanwhile will not grow.
            let _ = followed.follow(self.mode.planrun(), uri);
        }
        let followed = Arc::new(Mutex::new(followed));
        self.mode.look();
        let mut changes = self.mode.changes();
        loop {
            let news = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                news = news(&self.mode, &mut changes, &followed) => news,
            };
            let Some(news) = news else { return Ok(()) };
            let mut told = Ok(());
            if news.tools && accepted.tools_list_changed == Some(true) {
                told = sink.notify_tool_list_changed().await;
            }
            for uri in news.runs {
                told = told.and(sink.notify_resource_updated(uri).await);
            }
            if told.is_err() {
                return Ok(());
            }
        }
    }
}

/// What has changed.
struct News {
    /// Whether it is the list of tools.
    tools: bool,
    /// The addresses of the runs whose journals have grown.
    runs: Vec<String>,
}

/// Waits until something may have changed, at most [`LOOK_INTERVAL`]; nothing where plan mode is gone.
async fn news(
    mode: &Arc<PlanMode>,
    changes: &mut watch::Receiver<()>,
    followed: &Arc<Mutex<Followed>>,
) -> Option<News> {
    tokio::select! {
        fired = changes.changed() => {
            let runs = Vec::new();
            return fired.is_ok().then_some(News { tools: true, runs });
        }
        () = sleep(LOOK_INTERVAL) => {}
    }
    let (mode, followed) = (mode.clone(), followed.clone());
    // Plans may be many, and are read and checked.
    let looked = spawn_blocking(move || {
        mode.look();
        let mut followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.grown(mode.planrun())
    });
    let runs = looked.await.ok()?;
    // That of the tools fires when this is next waited for.
    Some(News { tools: false, runs })
}

/// A definition as the protocol has it; `has_panel` where the client shows the panel.
fn tool(definition: Definition, has_panel: bool) -> Tool {
    let Definition {
        name,
        title,
        description,
        input,
        output,
        hints,
        may_ask,
    } = definition;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut tool = Tool::new(name, description, Arc::new(input)).annotate(annotations);
    tool.title = Some(title);
    tool.output_schema = output.map(Arc::new);
    tool.meta = (has_panel && may_ask).then(app::of_tool);
    tool
}
