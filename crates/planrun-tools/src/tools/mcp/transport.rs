//! Tools of a server, as the engine calls them.

use std::sync::Arc;

use super::call::Call;
use super::{McpAddress, McpServer};
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, PinnedTool, Request, Server, ServerError,
    Transport,
};

/// One tool of a server.
#[derive(Debug)]
pub struct McpTransport {
    server: Arc<McpServer>,
    tool: PinnedTool,
}

impl McpTransport {
    pub(super) fn new(server: Arc<McpServer>, tool: PinnedTool) -> Self {
        Self { server, tool }
    }
}

impl Transport for McpTransport {
    fn call(&self, request: Request) -> Conversation {
        let (server, tool) = (self.server.clone(), self.tool.clone());
        Conversation::with_events(move |events| async move {
            let call = Call {
                server: &server,
                tool: &tool,
                request: &request,
                events,
            };
            call.make().await
        })
    }

    fn identify(&self, identity: &mut Identity) {
        match self.server.address() {
            McpAddress::Program {
                command,
                surroundings,
            } => {
                for word in command {
                    identity.add(word.as_bytes());
                }
                surroundings.identify(identity);
            }
            McpAddress::Url {
                url,
                headers,
                oauth,
            } => {
                let headers = headers.iter().flat_map(|(name, value)| [name, value]);
                [url]
                    .into_iter()
                    .chain(headers)
                    .for_each(|part| identity.add(part.as_bytes()));
                if oauth.is_some() {
                    self.server.identify_login(url, identity);
                }
            }
        }
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
