//! Tools of an agent, as the engine calls them.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ANY_SKILL, CallKind, ErrorClass, Signature, Type, encode};
use serde_json::{Map, Value as Json};

use super::AgentServer;
use super::call::Talk;
use super::server::Known;
use crate::contract::arguments_type;
use crate::tools::server::describe;
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, PinnedTool, Request, ServerError, Transport,
};

/// One tool of an agent, or the agent as a whole.
pub(super) struct AgentTransport {
    server: Arc<AgentServer>,
    /// `None` for `ask`, which goes by no contract of the agent.
    tool: Option<PinnedTool>,
}

impl AgentTransport {
    /// The tool whose name is the skill that is meant.
    pub(super) fn new(server: Arc<AgentServer>, tool: PinnedTool) -> Self {
        let tool = Some(tool);
        Self { server, tool }
    }

    /// The agent, whatever its skills are.
    pub(super) fn asked(server: Arc<AgentServer>) -> Self {
        let tool = None;
        Self { server, tool }
    }
}

/// What the agent has told of itself. A call that begins needs the contract that plans were checked against; one that was begun
/// is taken up whatever has become of that.
async fn known(
    server: &AgentServer,
    tool: Option<&PinnedTool>,
    request: &Request,
) -> Result<Arc<Known>, CallError> {
    if let (Some(tool), None) = (tool, &request.handle) {
        tool.holds(server).await?;
    }
    server.known().await.map_err(ServerError::into_call_error)
}

/// The arguments of `ask` as what an agent is told: the prompt, with what is wanted where that is no text, and the data.
fn told(mut arguments: Map<String, Json>, signature: &Signature) -> Map<String, Json> {
    let mut told = Map::new();
    if let Some(Json::String(prompt)) = arguments.remove("prompt") {
        let schema = signature
            .output_schema
            .as_ref()
            .map(|contract| contract.schema());
        let wanted = match (&signature.returns, schema) {
            (Type::String | Type::Any, _) | (_, None) => String::new(),
            (_, Some(schema)) => {
                format!("\n\nAnswer with JSON alone, of this JSON Schema:\n{schema}")
            }
        };
        told.insert("text".to_owned(), (prompt + &wanted).into());
    }
    told.extend(
        arguments
            .remove("with")
            .map(|data| ("data".to_owned(), data)),
    );
    told
}

impl Transport for AgentTransport {
    fn call(&self, request: Request) -> Conversation {
        let arguments = match encode(&request.arguments, &arguments_type(&request.signature)) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let arguments = match request.signature.kind {
            CallKind::Agent | CallKind::ReadOnlyAgent => told(arguments, &request.signature),
            CallKind::Tool | CallKind::Skill | CallKind::Model => arguments,
        };
        let (server, tool) = (self.server.clone(), self.tool.clone());
        Conversation::with_events(move |events| async move {
            let connecting =
                request
                    .cancel
                    .run_until_cancelled(known(&server, tool.as_ref(), &request));
            let known = connecting.await.unwrap_or_else(|| {
                let message = "the call was stopped before the agent was reached";
                Err(CallError::new(ErrorClass::Cancelled, message, Sent::No))
            });
            let known = known.map_err(|error| match &request.handle {
                // What was begun before may have had its effect, whether the agent is there now or not.
                Some(_) => CallError {
                    sent: Sent::Maybe,
                    ..error
                },
                None => error,
            })?;
            let skill = tool.as_ref().map(|tool| &*tool.signature.name);
            let skill = skill.filter(|name| *name != ANY_SKILL);
            let talk = Talk::new(&known.agent, skill, &request, events);
            talk.run(&arguments).await
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
