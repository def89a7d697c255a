//! What a project lets the tools that it configures reach: app files and servers, by the `allow` of planrun.yaml.

use std::sync::Arc;

use planrun_lang::permission::{PermissionError, Permissions, ReachedProgram};
use reqwest::{Client, Url};

use super::http::{HttpClient, build};

/// What tools of the project may reach: all that configuration names, or of that what `allow` of planrun.yaml lists where it has one.
#[derive(Clone, Debug, Default)]
pub struct ProjectLimit {
    allow: Option<Result<Arc<Permissions>, PermissionError>>,
}

impl ProjectLimit {
    /// The limit of an `allow`, where there is one that can be understood.
    #[must_use]
    pub fn new(allow: Option<Result<Permissions, PermissionError>>) -> Self {
        Self {
            allow: allow.map(|permissions| permissions.map(Arc::new)),
        }
    }

    /// Passes where requests may go there.
    ///
    /// # Errors
    /// Why not, with what to add to planrun.yaml.
    pub fn url(&self, url: &Url) -> Result<(), String> {
        let place = url.authority().rsplit('@').next().unwrap_or_default();
        self.check("net", place, |permissions| permissions.net(url).is_ok())
    }

    /// Passes where a program may be run.
    ///
    /// # Errors
    /// Why not, with what to add to planrun.yaml.
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
                "`allow` of planrun.yaml does not let it be reached; add \"{place}\" to `allow.{setting}` there"
            )),
        }
    }

    /// What is granted, where there is an `allow`.
    pub(crate) fn permissions(&self) -> Option<&Arc<Permissions>> {
        self.allow.as_ref()?.as_ref().ok()
    }

    /// A client whose names resolve to what may be reached.
    #[must_use]
    pub fn client(&self) -> HttpClient {
        self.permissions()
            .map_or_else(HttpClient::default, |permissions| {
                HttpClient::within(permissions.clone())
            })
    }

    /// The same for requests to one address, made by another client.
    pub(super) fn client_of(&self, url: &str) -> Result<Client, String> {
        let permissions = self.permissions();
        let requested = Url::parse(url).map_err(|error| error.to_string())?;
        build(permissions.map(|permissions| (permissions, Some(&requested))))
    }
}
