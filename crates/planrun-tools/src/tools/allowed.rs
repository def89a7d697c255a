//! What a plan does not allow is not called, whoever answers.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::permission::Permissions;
use planrun_lang::types::Signature;

use super::{
    BoxFuture, Conversation, Described, Identity, Origin, Request, RequiredPermission, Transport,
};
use crate::host::Host;

/// Holds calls against what a plan may reach, before anybody answers them.
pub struct Allowed {
    pub inner: Arc<dyn Transport>,
    pub origin: Origin,
    pub permissions: Arc<Permissions>,
    pub host: Arc<dyn Host>,
    /// Where relative paths begin.
    pub root: PathBuf,
}

impl Transport for Allowed {
    fn call(&self, request: Request) -> Conversation {
        let place = (&*self.host, &*self.root);
        let required =
            RequiredPermission::of(request.signature(), self.origin, &request.arguments, place);
        let Signature {
            namespace,
            name,
            is_agent,
            ..
        } = &**request.signature();
        let may = self.permissions.call(namespace, name, *is_agent);
        match may
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
