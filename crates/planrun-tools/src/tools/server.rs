//! Servers whose contracts a lock pins: what they offer now, the way to call their tools, and letting go of them.

use std::sync::Arc;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Signature, Transient};

use super::{BoxFuture, Conversation, DescribeError, Described, Request, Transport};
use crate::contract::{Change, Lock, OfferedServer, OfferedTool};

/// Why a server cannot be called, in one sentence. Parts of it may be text from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The project does not let it be reached.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    Unavailable(String),
}

/// A server that the project configures. It is connected when it is first needed, and again when the connection is lost.
pub trait Server: Send + Sync {
    /// The name that the project gives it: the namespace of its tools.
    fn name(&self) -> &Arc<str>;

    /// What it offers now.
    ///
    /// # Errors
    /// Where it cannot be reached, or does not tell what it offers.
    fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>>;

    /// What it says of one tool now; nothing where it does not offer it. It is asked once a connection, and again after it
    /// has said that its tools have changed.
    ///
    /// # Errors
    /// As for [`Self::offered`].
    fn current<'a>(
        &'a self,
        tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>>;

    /// The way to call one of its tools, whose contract is pinned.
    fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport>;

    /// The way to `ask` it, where it is an agent.
    fn agent(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        None
    }

    /// Lets go of it. The next call connects again.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A tool with its contract as it was when plans were checked against it.
#[derive(Clone, Debug)]
pub struct PinnedTool {
    /// Its name is the one by which the server knows it.
    pub signature: Arc<Signature>,
    pub lock: Arc<Lock>,
}

/// A server that the project does not let be reached.
pub struct DeniedServer {
    name: Arc<str>,
    why: String,
}

/// What a server offers now as contracts, nothing of it taken on trust.
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
    /// What this means for a step that calls the server: nothing was sent.
    #[must_use]
    pub fn into_call_error(self) -> CallError {
        CallError::new(self.class(), self.to_string(), Sent::No)
    }

    /// What this means for somebody who asks what the server offers.
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
    /// What has become of the contract at its server.
    ///
    /// # Errors
    /// Where the server does not tell.
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

    /// Passes where a call that was right by the pinned contract is right now.
    ///
    /// # Errors
    /// `denied.contract` where it may not be, and where the server cannot be reached what that means for a step.
    pub async fn holds(&self, server: &dyn Server) -> Result<(), CallError> {
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
    /// The server with this name, and the reason in one sentence.
    #[must_use]
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
