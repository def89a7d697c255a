//! The servers that a project configures: their addresses, and the credentials that they get.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Effect;

use crate::tools::a2a::AgentAddress;
use crate::tools::mcp::McpAddress;
use crate::tools::{Fingerprint, ProjectLimit};

/// The source of an entry's tools.
#[derive(Clone, Debug, Hash)]
pub enum ToolSource {
    Mcp(McpAddress),
    A2a(AgentAddress),
}

/// The permission that calls of tools require.
#[derive(Clone, Copy)]
pub(super) enum Reach<'a> {
    /// A program, by the first word of its command.
    Program(&'a str),
    Url(&'a str),
}

impl ToolSource {
    pub(super) fn reach(&self) -> Reach<'_> {
        match self {
            Self::Mcp(McpAddress::Program { command, .. }) => {
                Reach::Program(command.first().map_or("", String::as_str))
            }
            Self::Mcp(McpAddress::Url { url, .. }) | Self::A2a(AgentAddress { url, .. }) => {
                Reach::Url(url)
            }
        }
    }
}

/// A server, by the name that the project gives it.
#[derive(Clone)]
pub struct ServerSettings {
    pub name: Arc<str>,
    pub source: ToolSource,
    /// The effect classes that the project assigns to tools.
    pub classes: BTreeMap<String, Effect>,
    /// Values that are sent to the server and must be redacted in its answers.
    pub secrets: Vec<String>,
}

impl ServerSettings {
    /// Creates the settings of a server. `secrets` are redacted in its answers, and so are the credentials that its
    /// address contains, whether they come from the environment or are written in the file.
    pub(super) fn new(name: &str, source: ToolSource, mut secrets: Vec<String>) -> Self {
        secrets.extend(match &source {
            ToolSource::Mcp(address) => address.credentials(),
            ToolSource::A2a(address) => address.credentials(),
        });
        Self {
            name: name.into(),
            source,
            classes: BTreeMap::new(),
            secrets,
        }
    }

    /// Returns a hash of everything that a connection to the server depends on.
    pub(super) fn fingerprint(&self, limit: &ProjectLimit) -> Fingerprint {
        Fingerprint::of(&(&self.source, format!("{limit:?}")))
    }
}

impl std::fmt::Debug for ServerSettings {
    /// Leaves out the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSettings")
            .field("name", &self.name)
            .field("source", &self.source)
            .field("classes", &self.classes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use planrun_lang::permission::Permissions;

    use crate::host::{Host, MemoryHost};
    use crate::project::{Location, Project};

    const SETTINGS: &str = "
env: [TOKEN, API_KEY]
tools:
  desk:
    mcp:
      url: https://ann:literal-in-url@a.example/mcp
      headers: { Authorization: Bearer literal-bearer, X-Api-Key: '${TOKEN}', Accept-Language: english }
      auth: { oauth: { client: planrun, secret: literal-client-secret } }
  notes:
    mcp: { command: [notes], env: { NOTES_PASSWORD: literal-password, STAGE: production } }
  agent:
    a2a: { url: https://b.example, headers: { Cookie: literal-cookie } }
  lint:
    process:
      command: [lint]
      env: { DATABASE_URL: 'postgres://app:literal-database@db/x' }
      tools: [{ name: run }]
  shop:
    openapi: shop.yaml
    server: https://only-literal-user@c.example
    auth: { bearer: API_KEY }
";
    const SHOP: &str = "
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths: { /a: { get: { operationId: a, responses: { '200': { description: a } } } } }
";
    const APP: &str = "
name: hr
headers: { authorization: Basic YW5uOmxpdGVyYWwtYmFzaWM= }
tools:
  - name: find
    endpoint: https://app:literal-endpoint@d.example/tool
    request: { method: GET, path: /a, headers: { X-Token: literal-in-request } }
";

    fn project() -> (Project, Arc<dyn Host>) {
        let host = MemoryHost::default()
            .with_file("/p/planrun.yaml", SETTINGS)
            .with_file("/p/shop.yaml", SHOP)
            .with_file("/p/apps/hr.yaml", APP)
            .with_variable("TOKEN", "value-of-token")
            .with_variable("API_KEY", "value-of-key");
        let location = Location::of(&host, None, Some(Path::new("/p"))).unwrap();
        let (project, found) = Project::open(&host, &location).unwrap();
        let messages = found.iter().flat_map(|one| &one.diagnostics);
        let messages: Vec<&String> = messages.map(|finding| &finding.message).collect();
        assert!(messages.is_empty(), "{messages:?}");
        (project, Arc::new(host))
    }

    const SECRETS: [&str; 12] = [
        "literal-in-url",
        "literal-bearer",
        "literal-client-secret",
        "literal-password",
        "literal-cookie",
        "literal-database",
        "only-literal-user",
        "literal-basic",
        "literal-endpoint",
        "literal-in-request",
        "value-of-token",
        "value-of-key",
    ];

    #[test]
    fn credentials_in_the_configuration_are_redacted_wherever_they_come_from() {
        let (project, host) = project();
        let catalog = project.catalog(&host, &Arc::new(Permissions::none()), None);
        let known = catalog.secrets();
        for secret in SECRETS {
            assert_eq!(known.text(secret), "[redacted]", "{secret}");
        }
        for harmless in ["production", "english", "planrun"] {
            assert_eq!(known.text(harmless), harmless);
        }
    }

    #[test]
    fn debug_output_contains_no_credentials() {
        let (project, _) = project();
        let output = format!("{project:#?}");
        for shown in ["a.example", "X-Api-Key", "NOTES_PASSWORD", "DATABASE_URL"] {
            assert!(output.contains(shown), "{shown}: {output}");
        }
        let leaked = SECRETS.iter().filter(|secret| output.contains(**secret));
        assert_eq!(leaked.collect::<Vec<_>>(), [&""; 0], "{output}");
    }
}
