//! The limits that `allow` of planrun.yaml imposes on the tools that the project configures: app files and servers.

use std::sync::Arc;

use planrun_lang::permission::{PermissionError, Permissions, ReachedProgram};
use reqwest::{Client, Url};

use super::http::{HttpClient, build};

/// The permissions of the project's tools: everything that its configuration names, or only what `allow` of
/// planrun.yaml lists if there is one.
#[derive(Clone, Debug, Default)]
pub struct ProjectLimit {
    allow: Option<Result<Arc<Permissions>, PermissionError>>,
}

impl ProjectLimit {
    /// Creates the limit of an `allow`; `None` permits everything, and an invalid one permits nothing.
    pub fn new(allow: Option<Result<Permissions, PermissionError>>) -> Self {
        Self {
            allow: allow.map(|permissions| permissions.map(Arc::new)),
        }
    }

    /// Checks whether requests may be sent to an address. Fails with the reason why not, with what to add to
    /// planrun.yaml.
    pub fn url(&self, url: &Url) -> Result<(), String> {
        let place = url.authority().rsplit('@').next().unwrap_or_default();
        self.check("net", place, |permissions| permissions.net(url).is_ok())
    }

    /// Checks whether a program may be run. Fails with the reason why not, with what to add to planrun.yaml.
    pub fn program(&self, program: &ReachedProgram) -> Result<(), String> {
        let permits = |permissions: &Permissions| permissions.run(program).is_ok();
        self.check("run", program.written(), permits)
    }

    fn check(
        &self,
        setting: &str,
        place: &str,
        permits: impl FnOnce(&Permissions) -> bool,
    ) -> Result<(), String> {
        match &self.allow {
            None => Ok(()),
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(permissions)) if permits(permissions) => Ok(()),
            Some(Ok(_)) => Err(format!(
                "`allow` in planrun.yaml does not permit it; add \"{place}\" to `allow.{setting}` there"
            )),
        }
    }

    /// Returns true if there is an `allow`; without one, everything is permitted.
    pub(super) fn is_set(&self) -> bool {
        self.allow.is_some()
    }

    /// Returns the permissions of a valid `allow`; `None` if there is none.
    pub(crate) fn permissions(&self) -> Option<&Arc<Permissions>> {
        self.allow.as_ref()?.as_ref().ok()
    }

    /// Returns an HTTP client that resolves only permitted addresses.
    pub fn client(&self) -> HttpClient {
        self.permissions()
            .map_or_else(HttpClient::default, |permissions| {
                HttpClient::within(permissions.clone())
            })
    }

    /// Returns a `reqwest` client with the same limit for requests to one address.
    pub(super) fn client_of(&self, url: &str) -> Result<Client, String> {
        let permissions = self.permissions();
        let requested = Url::parse(url).map_err(|error| error.to_string())?;
        build(permissions.map(|permissions| (permissions, Some(&requested))))
    }
}
