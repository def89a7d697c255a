//! Checks calls against the permissions of a plan, whichever transport would answer them.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::permission::{Denial, Permissions};
use planrun_lang::types::{CallKind, Signature};

use super::{
    BoxFuture, Conversation, Described, Identity, Origin, Request, RequiredPermission, Transport,
};
use crate::host::Host;

/// Checks whether a plan may call the tool, model or agent that a signature describes. Fails with a denial that names
/// what to allow.
pub fn may_call(permissions: &Permissions, signature: &Signature) -> Result<(), Denial> {
    let (namespace, name) = (&*signature.namespace, &*signature.name);
    match signature.kind {
        CallKind::Tool | CallKind::Model => permissions.tool(namespace, name),
        CallKind::Skill => {
            permissions.tool(namespace, name)?;
            permissions.agent(namespace)
        }
        // The agent calls tools of its namespace; each of those calls is checked too.
        CallKind::Agent | CallKind::ReadOnlyAgent => {
            permissions.any_tool_of(namespace)?;
            permissions.agent(namespace)
        }
    }
}

/// A transport that checks calls against the permissions of a plan before they reach the inner transport.
pub struct Allowed {
    pub inner: Arc<dyn Transport>,
    pub origin: Origin,
    pub permissions: Arc<Permissions>,
    pub host: Arc<dyn Host>,
    /// The folder that relative paths start from.
    pub root: PathBuf,
}

impl Transport for Allowed {
    fn call(&self, request: Request) -> Conversation {
        let place = (&*self.host, &*self.root);
        let required =
            RequiredPermission::of(&request.signature, self.origin, &request.arguments, place);
        match may_call(&self.permissions, &request.signature)
            .map_err(CallError::from)
            .and_then(|()| required.check(&self.permissions))
        {
            Ok(()) => self.inner.call(request),
            Err(denied) => Conversation::Now(Err(denied)),
        }
    }

    fn identify(&self, identity: &mut Identity) {
        self.inner.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.inner.describe()
    }
}
