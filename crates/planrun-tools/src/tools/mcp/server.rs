//! A server of the project. It is connected when it is first needed, and again when the connection is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::connection::{Connection, ListError};
use super::oauth::{Refusal, identify, remedy};
use super::{McpAddress, McpTransport};
use crate::contract::{OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::credential::Credentials;
use crate::tools::shared::Shared;
use crate::tools::{BoxFuture, Identity, PinnedTool, ProjectLimit, Server, ServerError, Transport};

/// A server that the project configures, by the name that the project gives it.
pub struct McpServer {
    name: Arc<str>,
    address: McpAddress,
    limit: ProjectLimit,
    host: Arc<dyn Host>,
    /// `None` before it is first needed, and after it was closed.
    connection: Shared<Connection>,
    /// Number of times that the tools have to be listed again, even if the connection is the same.
    renewals: AtomicU64,
    /// What is sent to it and is redacted in what it says: its credentials in the project, and the tokens of a login.
    credentials: Credentials,
}

impl McpServer {
    /// Returns the wall-clock time in nanoseconds since the Unix epoch.
    pub(super) fn now(&self) -> i128 {
        self.host.now()
    }

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
            connection: Shared::new(),
            renewals: AtomicU64::new(0),
            credentials: Credentials::default(),
        }
    }

    /// Redacts these credentials in what the server says about itself.
    #[must_use]
    pub fn redacting(self, secrets: &[String]) -> Self {
        self.credentials.add(secrets);
        self
    }

    /// Returns the configured address.
    pub fn address(&self) -> &McpAddress {
        &self.address
    }

    /// Returns the connection, which is opened if there is none or if it was lost. Concurrent callers share one
    /// connection.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ServerError> {
        let place = (&*self.name, &self.address);
        let opening = Connection::open(place, &self.limit, &self.host, &self.credentials);
        let is_open = |connection: &Connection| !connection.is_lost();
        let connection = self.connection.get(is_open, Box::pin(opening)).await;
        let connection = connection.unwrap_or_else(|| Err(Refusal::Broken("it was closed".into())));
        connection.map_err(|refusal| match refusal {
            Refusal::Denied(why) => self.denied(&why),
            Refusal::Broken(why) => self.unavailable("cannot be used", &why),
        })
    }

    /// Returns the number of times that the tools have to be listed again.
    pub(super) fn renewals(&self) -> u64 {
        self.renewals.load(Ordering::Acquire)
    }

    /// Returns the error for a refusal that a login can resolve.
    pub(super) fn login_required(&self, challenge: &str) -> ServerError {
        let url = match &self.address {
            McpAddress::Url { url, .. } => url,
            McpAddress::Program { .. } => "",
        };
        self.denied(&remedy(&self.name, url, challenge))
    }

    /// Adds the user's login to an identity.
    pub(super) fn identify_login(&self, url: &str, identity: &mut Identity) {
        identify(&*self.host, url, identity);
    }

    fn not_listed(&self, error: &ListError) -> ServerError {
        match error {
            ListError::Service(problem)
                if problem.auth_challenge().is_some() || problem.is_authorization_required() =>
            {
                self.login_required(problem.auth_challenge().unwrap_or_default())
            }
            ListError::Service(_) | ListError::Endless | ListError::Circular | ListError::Late => {
                let why = self.credentials.redacted(&error.to_string());
                self.unavailable("does not list its tools", &why)
            }
        }
    }

    fn denied(&self, why: &str) -> ServerError {
        ServerError::Denied(format!(
            "the MCP server `{}` cannot be used: {why}",
            self.name
        ))
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
            let connection = self.connection().await?;
            let mut offered = connection.offered().await;
            if offered.is_err() && connection.has_ended() {
                offered = self.connection().await?.offered().await;
            }
            let mut offered = offered.map_err(|error| self.not_listed(&error))?;
            offered.redact(&self.credentials.known());
            Ok(offered)
        })
    }

    fn current<'a>(
        &'a self,
        tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>> {
        Box::pin(async move {
            let renewals = self.renewals();
            let connection = self.connection().await?;
            let mut current = connection.current(tool, renewals).await;
            if current.is_err() && connection.has_ended() {
                current = self.connection().await?.current(tool, renewals).await;
            }
            let current = current.map_err(|error| self.not_listed(&error))?;
            let known = self.credentials.known();
            Ok(current.map(|tool| {
                if known.is_empty() {
                    return tool;
                }
                let mut tool = Arc::unwrap_or_clone(tool);
                tool.redact(&known);
                Arc::new(tool)
            }))
        })
    }

    /// A server at a URL may have been replaced by another version while the connection seems to be intact.
    fn renew(&self) {
        if matches!(self.address, McpAddress::Url { .. }) {
            self.renewals.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport> {
        let credentials = self.credentials.clone();
        credentials.guard(Arc::new(McpTransport::new(self, tool)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let connection = self.connection.take().await;
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
