//! The transport of a server's tools.

use std::sync::Arc;

use super::call::Call;
use super::{McpAddress, McpServer};
use crate::tools::server::describe;
use crate::tools::{BoxFuture, Conversation, Described, Identity, PinnedTool, Request, Transport};

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
                questions: 0,
            };
            call.make().await
        })
    }

    fn identify(&self, identity: &mut Identity) {
        match self.server.address() {
            McpAddress::Program { command, context } => {
                identity.add_all(command);
                context.identify(identity);
            }
            McpAddress::Url {
                url,
                headers,
                oauth,
            } => {
                identity.add_all([url]);
                identity.add_all(headers.iter().flat_map(|(name, value)| [name, value]));
                if oauth.is_some() {
                    self.server.identify_login(url, identity);
                }
            }
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(describe(&*self.server))
    }
}
