//! The server of the Model Context Protocol: versions 2024-11-05 to 2026-07-28, over pipes and over HTTP.

mod app;
mod client;
mod elicitation;
mod ending;
mod followed;
mod http;
mod panics;
mod prompts;
mod resources;
mod results;
mod state;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::client::McpClient;
use self::ending::Ending;
use self::followed::Followed;
use self::panics::answered;
use self::results::response;
use self::state::{CallMark, Seal};
use crate::asking::PendingQuestion;
use crate::blocking::blocking;
use crate::mode::{AskedQuestion, Call, Definition, INSTRUCTIONS, PlanMode};

pub use self::http::{HttpServer, HttpServerError};

/// Interval at which followed runs and the list of tools are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The methods that the server implements. A request of one of them is taken for a custom one if its parameters cannot be
/// read.
const METHODS: [&str; 8] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];
/// The methods that it also implements in the revisions that have them, which are those with `initialize`.
const SESSION_METHODS: [&str; 2] = ["resources/subscribe", "resources/unsubscribe"];

/// A server for plan mode, for one connection.
pub struct Server {
    mode: Arc<PlanMode>,
    seal: Arc<Seal>,
    /// The runs that the client of this connection follows.
    followed: Arc<Mutex<Followed>>,
    /// The changes of the list of tools since the connection was made. The client may list them before it is ready for
    /// notifications, and none may be missed in between.
    changes: watch::Receiver<()>,
    /// Cancelled when calls have to stop waiting for their runs.
    closed: CancellationToken,
}

impl Server {
    /// Creates a server for plan mode.
    pub fn new(mode: Arc<PlanMode>) -> Self {
        Self {
            seal: Arc::new(Seal::of(mode.planrun())),
            changes: mode.listing().changes(),
            mode,
            followed: Arc::default(),
            closed: CancellationToken::new(),
        }
    }

    /// Returns the same server for another connection.
    fn for_connection(&self) -> Self {
        Self {
            mode: self.mode.clone(),
            seal: self.seal.clone(),
            changes: self.mode.listing().changes(),
            followed: Arc::default(),
            closed: self.closed.clone(),
        }
    }

    /// Serves standard input and output until the client closes them or the server is cancelled. Running runs are then
    /// suspended and can be resumed later. Returns an error if the client does not start the protocol correctly, or if
    /// the serving task fails.
    pub async fn serve_stdio(self, cancel: CancellationToken) -> io::Result<()> {
        Box::pin(self.serve_until(stdio(), cancel)).await
    }

    /// Like [`Self::serve_stdio`], over any pair of streams. Fails like [`Self::serve_stdio`].
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
        let (mode, closed) = (self.mode.clone(), self.closed.clone());
        let (stream, writer) = streams;
        let ended = CancellationToken::new();
        let ended_or_cancelled = ending::wait_for_end(ended.clone(), cancel.clone());
        let reader = Ending { stream, ended };
        let serving = async {
            let running = self.serve_with_ct((reader, writer), cancel).await;
            let served = running.map_err(io::Error::other)?.waiting().await;
            served.map(drop).map_err(io::Error::other)
        };
        let mut serving = pin!(serving);
        let served = tokio::select! {
            served = &mut serving => served,
            () = ended_or_cancelled => {
                closed.cancel();
                serving.await
            }
        };
        mode.close().await;
        served
    }
}

impl Server {
    /// Answers a call of a tool.
    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Reply<CallToolResponse> {
        let tool = &*request.name;
        let mark = CallMark::of(tool, request.arguments.as_ref());
        let call = Call {
            tool,
            arguments: request.arguments.unwrap_or_default(),
            client: Arc::new(McpClient::new(context, self.closed.clone())),
        };
        let now = || self.mode.planrun().host().now();
        let reply = match &request.request_state {
            Some(state) => {
                let request_state = self.seal.open(&mark, state);
                let request_state =
                    request_state.map_err(|why| ErrorData::invalid_params(why, None))?;
                let answers = request.input_responses.as_ref();
                let outcome_of =
                    |question: &PendingQuestion| request_state.outcome(question, answers, now());
                let asked = AskedQuestion {
                    run: &request_state.run,
                    path: &request_state.path,
                    by_page: request_state.by_page,
                };
                self.mode.resume_call(call, asked, &outcome_of).await
            }
            None => self.mode.call(call).await,
        };
        response(reply, |question, channel| {
            self.seal.seal(&mark, (question, channel), now())
        })
    }
}

/// The types of requests and replies, whose names in the protocol's crate are long.
type Context = RequestContext<RoleServer>;
type Page = PaginatedRequestParams;
type Reply<T> = Result<T, ErrorData>;

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

    async fn list_tools(&self, _: Option<Page>, context: Context) -> Reply<ListToolsResult> {
        let has_panel = app::is_supported(&context);
        let tools = blocking(&self.mode, |mode| {
            mode.listing().check_for_changes();
            mode.listing().tools()
        });
        let tools = answered(async { Ok(tools.await) }).await?.into_iter();
        let tools = tools.map(|definition| tool(definition, has_panel));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Reply<CallToolResponse> {
        answered(self.answer(request, context)).await
    }

    async fn list_prompts(&self, _: Option<Page>, _: Context) -> Reply<ListPromptsResult> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Reply<GetPromptResponse> {
        prompts::get(request).map(Into::into)
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Reply<CompleteResult> {
        let complete = move |mode: &Arc<PlanMode>| {
            prompts::complete(mode.planrun(), (&request.r#ref, &request.argument))
        };
        answered(blocking(&self.mode, complete)).await
    }

    async fn list_resources(&self, _: Option<Page>, _: Context) -> Reply<ListResourcesResult> {
        Ok(resources::list())
    }

    async fn list_resource_templates(
        &self,
        _: Option<Page>,
        _: Context,
    ) -> Reply<ListResourceTemplatesResult> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Reply<ReadResourceResponse> {
        let read = move |mode: &Arc<PlanMode>| resources::read(mode.planrun(), &request.uri);
        let read = answered(blocking(&self.mode, read)).await;
        read.map(Into::into)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Reply<()> {
        let followed = self.followed.clone();
        let follow =
            move |mode: &Arc<PlanMode>| followed.lock().follow(mode.planrun(), &request.uri);
        let followed = async {
            let followed = blocking(&self.mode, follow).await;
            followed.map_err(|why| ErrorData::resource_not_found(why, None))
        };
        answered(followed).await
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Reply<()> {
        let followed = self.followed.clone();
        // The runs that the client follows may be read just now.
        let unfollow = move |_: &Arc<PlanMode>| followed.lock().unfollow(&request.uri);
        blocking(&self.mode, unfollow).await;
        Ok(())
    }

    /// Refuses a request that is not one of the protocol.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Reply<CustomResult> {
        let method = request.method;
        let version = context.protocol_version();
        let has_sessions = version.is_some_and(|version| version.has_initialize());
        if METHODS.contains(&&*method) || has_sessions && SESSION_METHODS.contains(&&*method) {
            let message = format!("the parameters of {method} do not fit");
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mode, followed, peer) = (self.mode.clone(), self.followed.clone(), context.peer);
        let mut changes = self.changes.clone();
        blocking(&mode, |mode| mode.listing().check_for_changes()).await;
        tokio::spawn(async move {
            while let Some(update) = next_changes(&mode, &mut changes, &followed).await {
                if peer.is_transport_closed() {
                    return;
                }
                if update.tools && peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
                for uri in update.runs {
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

    async fn listen(&self, subscription: SubscriptionContext) -> Reply<()> {
        let (accepted, sink) = (subscription.accepted(), subscription.sink());
        let runs = accepted.resource_subscriptions.clone();
        let mut changes = self.changes.clone();
        let begun = blocking(&self.mode, move |mode| {
            let mut followed = Followed::default();
            for uri in runs.iter().flatten() {
                // A run that no longer exists cannot grow.
                let _ = followed.follow(mode.planrun(), uri);
            }
            mode.listing().check_for_changes();
            followed
        });
        let followed = Arc::new(Mutex::new(begun.await));
        loop {
            let update = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                update = next_changes(&self.mode, &mut changes, &followed) => update,
            };
            let Some(update) = update else { return Ok(()) };
            let mut sent = Ok(());
            if update.tools && accepted.tools_list_changed == Some(true) {
                sent = sink.notify_tool_list_changed().await;
            }
            for uri in update.runs {
                sent = sent.and(sink.notify_resource_updated(uri).await);
            }
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

/// The changes since the last notification.
struct Changes {
    /// Whether the list of tools has changed.
    tools: bool,
    /// The addresses of the runs whose journals have grown.
    runs: Vec<String>,
}

/// Waits until something may have changed, at most [`POLL_INTERVAL`]. Returns `None` if plan mode is gone.
async fn next_changes(
    mode: &Arc<PlanMode>,
    changes: &mut watch::Receiver<()>,
    followed: &Arc<Mutex<Followed>>,
) -> Option<Changes> {
    tokio::select! {
        fired = changes.changed() => {
            let runs = Vec::new();
            return fired.is_ok().then_some(Changes { tools: true, runs });
        }
        () = sleep(POLL_INTERVAL) => {}
    }
    let followed = followed.clone();
    let checked = blocking(mode, move |mode| {
        mode.listing().check_for_changes();
        followed.lock().grown(mode.planrun())
    });
    let runs = checked.await;
    // A change of the tools is signalled by the next wait.
    Some(Changes { tools: false, runs })
}

/// Converts a definition to the protocol; `has_panel` states whether the client displays the panel.
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
