//! Servers whose contracts are pinned in the lock file: the tools that they offer now, the transports for their tools,
//! and closing their connections.

use std::sync::Arc;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Signature, Transient};

use super::{BoxFuture, Conversation, DescribeError, Described, Request, Transport};
use crate::contract::{Change, Lock, OfferedServer, OfferedTool};

/// Why a server cannot be called, in one sentence. Parts of it may be untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The project does not permit access to it.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    Unavailable(String),
}

/// A server that the project configures. It is connected when it is first needed, and again when the connection is
/// lost.
pub trait Server: Send + Sync {
    /// The name that the project gives it, which is the namespace of its tools.
    fn name(&self) -> &Arc<str>;

    /// Returns the tools that it offers now. Returns an error if it cannot be reached or does not list its tools.
    fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>>;

    /// Returns the current description of one tool; `None` if it does not offer the tool. The server is queried once
    /// per connection, and again after it has reported that its tools changed. Fails like [`Self::offered`].
    fn current<'a>(
        &'a self,
        tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>>;

    /// Called before a run begins or continues: the tools that were listed before are listed again when they are next
    /// compared, if the server may have changed them without planrun noticing.
    fn renew(&self) {}

    /// Returns the transport for one of its tools, whose contract is pinned.
    fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport>;

    /// Returns the transport for `ask`, if it is an agent.
    fn agent(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        None
    }

    /// Disconnects from the server. The next call connects again.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A tool with the contract that plans were checked against.
#[derive(Clone, Debug)]
pub struct PinnedTool {
    /// Its name is the name of the tool at the server.
    pub signature: Arc<Signature>,
    pub lock: Arc<Lock>,
}

/// A server that the project does not permit access to.
pub struct DeniedServer {
    name: Arc<str>,
    why: String,
}

/// Describes what a server offers now as contracts. Claims about effects are not accepted.
pub(super) async fn describe(server: &dyn Server) -> Described {
    let offered = server.offered().await;
    let offered = offered.map_err(ServerError::into_describe_error)?;
    let tools = offered.tools.iter().map(|(name, tool)| {
        let class = tool.annotations.class(false);
        Arc::new(tool.signature(server.name(), name, class))
    });
    Ok(tools.collect())
}

impl ServerError {
    /// Converts this into the error of a step that calls the server. Nothing was sent.
    #[must_use]
    pub fn into_call_error(self) -> CallError {
        CallError::new(self.class(), self.to_string(), Sent::No)
    }

    /// Converts this into the error of a query for the server's tools.
    #[must_use]
    pub fn into_describe_error(self) -> DescribeError {
        DescribeError {
            class: self.class(),
            message: self.to_string(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Denied(_) => ErrorClass::Denied(Denied::Policy),
            Self::Unavailable(_) => ErrorClass::Transient(Transient::Unavailable),
        }
    }
}

impl PinnedTool {
    /// Compares the pinned contract with the server's current one. Returns an error if the server cannot be queried.
    pub async fn change(&self, server: &dyn Server) -> Result<Change, ServerError> {
        let Signature {
            namespace, name, ..
        } = &*self.signature;
        let Some(pinned) = self.lock.tool(namespace, name) else {
            return Ok(Change::None);
        };
        let now = server.current(name).await?;
        Ok(pinned.change(now.as_deref()))
    }

    /// Checks that calls that are valid under the pinned contract are still valid. Fails with `denied.contract` if they
    /// may not be, or the error of the step if the server cannot be reached.
    pub async fn check_contract(&self, server: &dyn Server) -> Result<(), CallError> {
        match self.change(server).await {
            Ok(Change::None | Change::Documentation | Change::Compatible) => Ok(()),
            Ok(Change::Broken(why)) => {
                let message = format!(
                    "the contract of {} has changed since it was pinned: {why}",
                    self.signature.path()
                );
                let class = ErrorClass::Denied(Denied::Contract);
                Err(CallError::new(class, message, Sent::No))
            }
            Err(error) => Err(error.into_call_error()),
        }
    }
}

impl DeniedServer {
    /// Creates a server with this name and the reason for the denial in one sentence.
    pub fn new(name: Arc<str>, why: String) -> Self {
        Self { name, why }
    }

    fn error(&self) -> ServerError {
        ServerError::Denied(format!(
            "the server `{}` cannot be used: {}",
            self.name, self.why
        ))
    }
}

impl Server for DeniedServer {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>> {
        Box::pin(std::future::ready(Err(self.error())))
    }

    fn current<'a>(
        &'a self,
        _tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>> {
        Box::pin(std::future::ready(Err(self.error())))
    }

    fn transport(self: Arc<Self>, _tool: PinnedTool) -> Arc<dyn Transport> {
        self
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Transport for DeniedServer {
    fn call(&self, _request: Request) -> Conversation {
        let outcome: CallOutcome = Err(self.error().into_call_error());
        Conversation::Now(outcome)
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(std::future::ready(Err(self.error().into_describe_error())))
    }
}
