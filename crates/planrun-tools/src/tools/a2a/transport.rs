//! Tools of an agent, as the engine calls them.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Type, encode};
use serde_json::{Map, Value as Json};

use super::AgentServer;
use super::call::Talk;
use super::card::SEND;
use super::server::Known;
use crate::contract::arguments_type;
use crate::tools::server::describe;
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, PinnedTool, Request, ServerError, Transport,
};

/// One tool of an agent.
pub(super) struct AgentTransport {
    server: Arc<AgentServer>,
    tool: PinnedTool,
    arguments: Type,
}

impl AgentTransport {
    /// The tool whose name is the skill that is meant.
    pub(super) fn new(server: Arc<AgentServer>, tool: PinnedTool) -> Self {
        Self {
            server,
            arguments: arguments_type(&tool.signature),
            tool,
        }
    }
}

/// What the agent has told of itself. A call that begins needs the contract that plans were checked against; one that was begun
/// is taken up whatever has become of that.
async fn known(
    server: &AgentServer,
    tool: &PinnedTool,
    request: &Request,
) -> Result<Arc<Known>, CallError> {
    if request.handle.is_none() {
        tool.holds(server).await?;
    }
    server.known().await.map_err(ServerError::into_call_error)
}

impl Transport for AgentTransport {
    fn call(&self, request: Request) -> Conversation {
        let arguments = match encode(&request.arguments, &self.arguments) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let (server, tool) = (self.server.clone(), self.tool.clone());
        Conversation::with_events(move |events| async move {
            let connecting = request
                .cancel
                .run_until_cancelled(known(&server, &tool, &request));
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
            let skill = Some(&*tool.signature.name).filter(|name| *name != SEND);
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
