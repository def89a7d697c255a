//! The mock server of a project: its app tools answer from their `mock:` sections.

use planrun_tools::mock::{MockOptions, MockServer};

use super::{Error, Workspace};

impl Workspace {
    /// Starts a mock server for the project's apps and documents, on a free port of the loopback interface.
    ///
    /// # Errors
    /// Returns an error if it cannot listen.
    pub async fn start_mock(&self) -> Result<MockServer, Error> {
        let apis = self.project.apis.iter().map(|one| one.api.clone());
        let options = MockOptions {
            apis: apis.collect(),
            ..MockOptions::default()
        };
        let started = MockServer::start(&self.project.apps, options, self.host.clone()).await;
        started
            .map_err(|error| Error::Unusable(format!("cannot start the mock of the apps: {error}")))
    }
}
