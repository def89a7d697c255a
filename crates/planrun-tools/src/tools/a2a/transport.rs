//! Tools of an agent, as the engine calls them.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature, Type, encode};
use serde_json::{Map, Value as Json};

use super::AgentServer;
use super::call::Talk;
use super::card::SEND;
use crate::contract::arguments_type;
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, Request, Server, ServerError, Transport,
};

/// One tool of an agent.
pub(super) struct AgentTransport {
    server: Arc<AgentServer>,
    signature: Arc<Signature>,
    arguments: Type,
}

impl AgentTransport {
    /// The tool with this contract; its name is the skill that is meant.
    pub(super) fn new(server: Arc<AgentServer>, signature: Arc<Signature>) -> Self {
        Self {
            server,
            arguments: arguments_type(&signature),
            signature,
        }
    }
}

impl Transport for AgentTransport {
    fn call(&self, request: Request) -> Conversation {
        let arguments = match encode(&request.arguments, &self.arguments) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let (server, signature) = (self.server.clone(), self.signature.clone());
        Conversation::with_events(move |events| async move {
            let agent = request.cancel.run_until_cancelled(server.agent()).await;
            let agent = match agent {
                Some(Ok(agent)) => agent,
                // What was begun before may have had its effect, whether the agent is there now or not.
                Some(Err(error)) if request.handle.is_some() => {
                    let error = error.into_call_error();
                    return Err(CallError {
                        sent: Sent::Maybe,
                        ..error
                    });
                }
                Some(Err(error)) => return Err(error.into_call_error()),
                None => {
                    let message = "the call was stopped before it was sent";
                    let sent = if request.handle.is_some() {
                        Sent::Maybe
                    } else {
                        Sent::No
                    };
                    return Err(CallError::new(ErrorClass::Cancelled, message, sent));
                }
            };
            let skill = Some(&*signature.name).filter(|name| *name != SEND);
            Talk::new(&agent, skill, &request, events)
                .run(&arguments)
                .await
        })
    }

    fn identify(&self, identity: &mut Identity) {
        let address = self.server.address();
        let headers = address
            .headers
            .iter()
            .flat_map(|(name, value)| [name, value]);
        [&address.url]
            .into_iter()
            .chain(headers)
            .for_each(|part| identity.add(part.as_bytes()));
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(async {
            let offered = self.server.offered().await;
            let offered = offered.map_err(ServerError::into_describe_error)?;
            let tools = offered.tools.iter().map(|(name, tool)| {
                let class = tool.annotations.class(false);
                Arc::new(tool.signature(self.server.name(), name, class))
            });
            Ok(tools.collect())
        })
    }
}
