//! A server of the project: connected when it is first needed, and again when the connection is lost.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::McpAddress;
use super::connection::Connection;
use crate::contract::OfferedServer;
use crate::host::Host;

/// Why a server cannot be called, in one sentence. Parts of it may be text from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The project does not let it be reached.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    Unavailable(String),
}

impl McpError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Unavailable(message.into())
    }
}

/// A server that the project configures, under the name that the project gives it.
pub struct McpServer {
    pub name: Arc<str>,
    address: McpAddress,
    host: Arc<dyn Host>,
    /// Why the project does not let it be reached, where it does not.
    denial: Option<String>,
    /// `None` before it is first needed, and after it was closed.
    connection: Mutex<Option<Arc<Connection>>>,
}

impl McpServer {
    #[must_use]
    pub fn new(name: Arc<str>, address: McpAddress, host: Arc<dyn Host>) -> Self {
        Self {
            name,
            address,
            host,
            denial: None,
            connection: Mutex::new(None),
        }
    }

    /// The same, which nothing reaches for this reason.
    #[must_use]
    pub fn denied(self, why: String) -> Self {
        Self {
            denial: Some(why),
            ..self
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &McpAddress {
        &self.address
    }

    /// The connection; made where there is none, or where it was lost. Those that ask at once share one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        if let Some(why) = &self.denial {
            let message = format!("the MCP server `{}` cannot be used: {why}", self.name);
            return Err(McpError::Denied(message));
        }
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(connection.clone());
        }
        let opened = Connection::open(&self.address, &*self.host).await;
        let opened = opened.map_err(|error| {
            McpError::new(format!(
                "the MCP server `{}` cannot be used: {error}",
                self.name
            ))
        })?;
        Ok(kept.insert(Arc::new(opened)).clone())
    }

    /// What it offers now.
    ///
    /// # Errors
    /// Where it cannot be reached, or does not list its tools.
    pub async fn offered(&self) -> Result<OfferedServer, McpError> {
        let connection = self.connection().await?;
        let offered = connection.offered().await;
        offered.map_err(|problem| {
            McpError::new(format!(
                "the MCP server `{}` does not list its tools: {problem}",
                self.name
            ))
        })
    }

    /// Lets go of it. The next call connects again.
    pub async fn close(&self) {
        let connection = self.connection.lock().await.take();
        // A call in flight keeps its connection until it has ended.
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
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
