//! A server of the project: connected when it is first needed, and again when the connection is lost.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::connection::Connection;
use super::{McpAddress, McpTransport};
use crate::contract::{OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::{BoxFuture, PinnedTool, ProjectLimit, Server, ServerError, Transport};

/// A server that the project configures, under the name that the project gives it.
pub struct McpServer {
    name: Arc<str>,
    address: McpAddress,
    limit: ProjectLimit,
    host: Arc<dyn Host>,
    /// `None` before it is first needed, and after it was closed.
    connection: Mutex<Option<Arc<Connection>>>,
}

impl McpServer {
    #[must_use]
    pub fn new(
        name: Arc<str>,
        address: McpAddress,
        limit: ProjectLimit,
        host: Arc<dyn Host>,
    ) -> Self {
        Self {
            name,
            address,
            limit,
            host,
            connection: Mutex::new(None),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &McpAddress {
        &self.address
    }

    /// The connection; made where there is none, or where it was lost. Those that ask at once share one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ServerError> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(connection.clone());
        }
        let opened = Connection::open(&self.address, &self.limit, &*self.host).await;
        let opened = opened.map_err(|why| self.unavailable("cannot be used", &why))?;
        Ok(kept.insert(Arc::new(opened)).clone())
    }

    fn unavailable(&self, what: &str, why: &dyn std::fmt::Display) -> ServerError {
        ServerError::Unavailable(format!("the MCP server `{}` {what}: {why}", self.name))
    }
}

impl Server for McpServer {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>> {
        Box::pin(async {
            let offered = self.connection().await?.offered().await;
            offered.map_err(|why| self.unavailable("does not list its tools", &why))
        })
    }

    fn current<'a>(
        &'a self,
        tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>> {
        Box::pin(async move {
            let current = self.connection().await?.current(tool).await;
            current.map_err(|why| self.unavailable("does not list its tools", &why))
        })
    }

    fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport> {
        Arc::new(McpTransport::new(self, tool))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let connection = self.connection.lock().await.take();
            // A call in flight keeps its connection until it has ended.
            if let Some(connection) = connection.and_then(Arc::into_inner) {
                connection.close().await;
            }
        })
    }
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
