//! What a plan does not allow is not called, whoever answers in place of the tool.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::permission::Permissions;

use super::{Reply, Request, Transport, wanted_permission};
use crate::host::Host;

/// Holds calls of built-in tools against what a plan may reach, before anybody answers them.
pub struct Allowed {
    pub inner: Arc<dyn Transport>,
    pub permissions: Arc<Permissions>,
    pub host: Arc<dyn Host>,
    /// Where relative paths begin.
    pub root: PathBuf,
}

impl Transport for Allowed {
    fn call(&self, request: Request) -> Reply {
        let wanted = wanted_permission(
            &request.signature,
            &request.arguments,
            (&*self.host, &self.root),
        );
        match wanted.map_or(Ok(()), |wanted| wanted.check(&self.permissions)) {
            Ok(()) => self.inner.call(request),
            Err(denied) => Reply::Now(Err(denied)),
        }
    }
}
