//! The transport of an agent's tools.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ANY_SKILL, CallKind, ErrorClass, Signature, Type, encode};
use serde_json::{Map, Value as Json};

use super::AgentServer;
use super::call::AgentCall;
use super::server::Known;
use crate::contract::arguments_type;
use crate::tools::server::describe;
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, PinnedTool, Request, ServerError, Transport,
};

/// One tool of an agent, or the agent as a whole.
pub(super) struct AgentTransport {
    server: Arc<AgentServer>,
    /// `None` for `ask`, which has no contract of the agent.
    tool: Option<PinnedTool>,
}

impl AgentTransport {
    /// Creates the transport of a tool, whose name is the requested skill.
    pub(super) fn new(server: Arc<AgentServer>, tool: PinnedTool) -> Self {
        let tool = Some(tool);
        Self { server, tool }
    }

    /// Creates the transport of the agent itself, for `ask`.
    pub(super) fn for_ask(server: Arc<AgentServer>) -> Self {
        let tool = None;
        Self { server, tool }
    }
}

/// Returns what is known from the agent's card. A new call requires that the contract that plans were checked against
/// still holds; a resumed call does not.
async fn known(
    server: &AgentServer,
    tool: Option<&PinnedTool>,
    request: &Request,
) -> Result<Arc<Known>, CallError> {
    if let (Some(tool), None) = (tool, &request.handle) {
        tool.check_contract(server).await?;
    }
    server.known().await.map_err(ServerError::into_call_error)
}

/// Converts the arguments of `ask` to those of a message: the prompt, with the schema of the answer if it is not a
/// text, and the data.
fn ask_arguments(mut arguments: Map<String, Json>, signature: &Signature) -> Map<String, Json> {
    let mut message = Map::new();
    if let Some(Json::String(prompt)) = arguments.remove("prompt") {
        let schema = signature
            .output_schema
            .as_ref()
            .map(|contract| contract.schema());
        let format_request = match (&signature.returns, schema) {
            (Type::String | Type::Any, _) | (_, None) => String::new(),
            (_, Some(schema)) => {
                format!("\n\nAnswer with JSON alone, of this JSON Schema:\n{schema}")
            }
        };
        message.insert("text".to_owned(), (prompt + &format_request).into());
    }
    message.extend(
        arguments
            .remove("with")
            .map(|data| ("data".to_owned(), data)),
    );
    message
}

impl Transport for AgentTransport {
    fn call(&self, request: Request) -> Conversation {
        let arguments = match encode(&request.arguments, &arguments_type(&request.signature)) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let arguments = match request.signature.kind {
            CallKind::Agent | CallKind::ReadOnlyAgent => {
                ask_arguments(arguments, &request.signature)
            }
            CallKind::Tool | CallKind::Skill | CallKind::Model => arguments,
        };
        let (server, tool) = (self.server.clone(), self.tool.clone());
        Conversation::with_events(move |events| async move {
            let connecting =
                request
                    .cancel
                    .run_until_cancelled(known(&server, tool.as_ref(), &request));
            let known = connecting.await.unwrap_or_else(|| {
                let message = "the call was cancelled before the agent was reached";
                Err(CallError::new(ErrorClass::Cancelled, message, Sent::No))
            });
            let known = known.map_err(|error| match &request.handle {
                // The earlier call may have had its effect, whether the agent is reachable now or not.
                Some(_) => CallError {
                    sent: Sent::Maybe,
                    ..error
                },
                None => error,
            })?;
            let skill = tool.as_ref().map(|tool| &*tool.signature.name);
            let skill = skill.filter(|name| *name != ANY_SKILL);
            let agent_call = AgentCall::new(&known.agent, skill, &request, events);
            agent_call.run(&arguments).await
        })
    }

    fn identify(&self, identity: &mut Identity) {
        let address = self.server.address();
        let headers = address.headers.iter();
        identity.add_all([&address.url]);
        identity.add_all(headers.flat_map(|(name, value)| [name, value]));
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(describe(&*self.server))
    }
}
