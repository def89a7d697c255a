//! Resolves names under the permissions, so that the checked address is the one that is connected to.

use std::net::SocketAddr;
use std::sync::Arc;

use planrun_lang::permission::Permissions;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

tokio::task_local! {
    /// The URL that the current task is about to request.
    pub(super) static REQUESTED: Url;
}

/// Resolves names to those of their addresses that a request may connect to.
pub(super) struct PermittedResolver {
    pub permissions: Arc<Permissions>,
    /// The address of all requests, if there is only one.
    pub requested: Option<Url>,
}

impl Resolve for PermittedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let permissions = self.permissions.clone();
        let requested = match &self.requested {
            Some(url) => Ok(url.clone()),
            None => REQUESTED.try_with(Url::clone),
        };
        Box::pin(async move {
            let url = requested?;
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (mut permitted, mut denied) = (Vec::<SocketAddr>::new(), None);
            for address in found {
                match permissions.resolved(&url, address.ip()) {
                    Ok(()) => permitted.push(address),
                    Err(denial) => denied = Some(denial),
                }
            }
            match denied {
                Some(denial) if permitted.is_empty() => Err(denial.into()),
                Some(_) | None => Ok(Box::new(permitted.into_iter()) as Addrs),
            }
        })
    }
}
