//! The catalog: every tool that a plan can call, by namespace and name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::permission::Permissions;
use planrun_lang::secrets::Redactor;
use planrun_lang::types::{Observed, Signature, Type, from_schema};
use tokio::task::JoinSet;

use super::app::{App, AppTransport};
use super::credential::{Credentials, in_variable};
use super::files::{FileWorld, file_tools};
use super::http::{Fetch, HttpClient, fetch_signature};
use super::process::{ProcessTool, process_signature};
use super::server::{PinnedTool, Server};
use super::system::system_tools;
use super::transport::Transport;
use crate::contract::{Change, Lock, ObservedResults};
use crate::host::Host;

/// One tool: what a plan is checked against, and the way to call it.
#[derive(Clone)]
pub struct Tool {
    pub signature: Arc<Signature>,
    pub transport: Arc<dyn Transport>,
}

/// The tools of one namespace by their names.
pub type Namespace = BTreeMap<Arc<str>, Tool>;

/// Every tool by namespace and name. Cloning is cheap enough to make one a run.
#[derive(Clone)]
pub struct Catalog {
    host: Arc<dyn Host>,
    root: PathBuf,
    client: HttpClient,
    /// What its tools send, and what must not come back from any of them.
    credentials: Credentials,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    /// The servers behind some of them, connected when they are first called.
    servers: Vec<(Arc<dyn Server>, Arc<Lock>)>,
}

/// The namespaces that every plan has.
pub const BUILT_IN: [&str; 4] = ["fs", "http", "proc", "sys"];

impl Catalog {
    /// The built-in tools, which may reach what `permissions` allow. Relative paths begin at `root`.
    #[must_use]
    pub fn new(host: Arc<dyn Host>, root: PathBuf, permissions: &Arc<Permissions>) -> Self {
        let client = HttpClient::default();
        let credentials = Credentials::default();
        let mut catalog = Self {
            host,
            root,
            client,
            credentials,
            namespaces: BTreeMap::new(),
            servers: Vec::new(),
        };
        catalog.add_built_in(permissions);
        catalog
    }

    /// The same tools, the built-in ones reaching what `permissions` allow instead. Apps are called where the
    /// project's own files say, whatever a plan allows.
    #[must_use]
    pub fn with_permissions(&self, permissions: &Arc<Permissions>) -> Self {
        let mut catalog = self.clone();
        catalog.add_built_in(permissions);
        catalog
    }

    /// Adds a tool, in place of the one that had its name. Credentials that tools of the catalog send do not come back
    /// from it.
    pub fn add(&mut self, signature: impl Into<Arc<Signature>>, transport: Arc<dyn Transport>) {
        self.put(signature.into(), self.credentials.guard(transport));
    }

    fn put(&mut self, signature: Arc<Signature>, transport: Arc<dyn Transport>) {
        let (namespace, name) = (signature.namespace.clone(), signature.name.clone());
        let tool = Tool {
            signature,
            transport,
        };
        self.namespaces
            .entry(namespace)
            .or_default()
            .insert(name, tool);
    }

    /// Adds the tools of an app. `endpoint` stands in for the endpoints that its file names, for mocks.
    pub fn add_app(&mut self, app: &App, endpoint: Option<&str>) {
        self.credentials.join(&app.credentials);
        let namespace = self.namespaces.entry(app.name.clone()).or_default();
        for tool in &app.tools {
            let transport = AppTransport::new(
                self.client.clone(),
                self.host.clone(),
                (app, tool),
                endpoint,
            );
            let transport = self.credentials.guard(Arc::new(transport));
            let tool = Tool {
                signature: tool.signature.clone(),
                transport,
            };
            namespace.insert(tool.signature.name.clone(), tool);
        }
    }

    /// Adds the tools of a server whose contracts are pinned. What is sent to it does not come back from any tool.
    pub fn add_server(
        &mut self,
        server: &Arc<dyn Server>,
        tools: impl IntoIterator<Item = Arc<Signature>>,
        lock: &Arc<Lock>,
        secrets: &[String],
    ) {
        let mut sent = Redactor::default();
        for secret in secrets {
            sent.add(secret);
        }
        self.credentials.join(&sent);
        for signature in tools {
            let tool = PinnedTool {
                signature: signature.clone(),
                lock: lock.clone(),
            };
            self.add(signature, server.clone().transport(tool));
        }
        self.servers.push((server.clone(), lock.clone()));
    }

    /// Which of these tools have another contract at their servers than the one that is pinned: their dotted names, sorted,
    /// and why in one sentence. Servers are asked at once; one that cannot be reached says nothing.
    pub async fn broken_contracts(
        &self,
        tools: impl IntoIterator<Item = &Arc<Signature>>,
    ) -> Vec<(String, String)> {
        let mut asking = JoinSet::new();
        for signature in tools {
            let server = self
                .servers
                .iter()
                .find(|(server, _)| *server.name() == signature.namespace);
            let Some((server, lock)) = server else {
                continue;
            };
            let (server, lock, signature) = (server.clone(), lock.clone(), signature.clone());
            let tool = PinnedTool { signature, lock };
            asking.spawn(async move { (tool.signature.path(), tool.change(&*server).await) });
        }
        let mut broken: Vec<_> = asking
            .join_all()
            .await
            .into_iter()
            .filter_map(|(path, change)| match change {
                Ok(Change::Broken(why)) => Some((path, why)),
                Ok(Change::None | Change::Documentation | Change::Compatible) | Err(_) => None,
            })
            .collect();
        broken.sort();
        broken
    }

    /// Adds what results looked like to the contracts that do not describe them.
    pub fn observe(&mut self, observed: &BTreeMap<String, ObservedResults>) {
        for (path, seen) in observed {
            let tool = path
                .split_once('.')
                .and_then(|(namespace, name)| self.namespaces.get_mut(namespace)?.get_mut(name));
            if let Some(tool) = tool.filter(|tool| tool.signature.returns == Type::Any) {
                Arc::make_mut(&mut tool.signature).observed = Some(Arc::new(Observed {
                    returns: from_schema(&seen.returns),
                    results: seen.results,
                }));
            }
        }
    }

    /// Lets go of all servers at once. A call that is made later connects again.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for (server, _) in &self.servers {
            let server = server.clone();
            closing.spawn(async move { server.close().await });
        }
        closing.join_all().await;
    }

    /// The tools of a namespace, if there is one with this name.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&Namespace> {
        self.namespaces.get(name)
    }

    /// The names of all namespaces, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.keys()
    }

    /// The tool with this name in this namespace.
    #[must_use]
    pub fn tool(&self, namespace: &str, name: &str) -> Option<&Tool> {
        self.namespaces.get(namespace)?.get(name)
    }

    /// Every tool's contract, sorted by namespace and name.
    pub fn signatures(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.namespaces
            .values()
            .flat_map(BTreeMap::values)
            .map(|tool| &tool.signature)
    }

    /// What its tools send, and must not be shown.
    #[must_use]
    pub fn secrets(&self) -> Redactor {
        self.credentials.known()
    }

    fn add_built_in(&mut self, permissions: &Arc<Permissions>) {
        let (host, root) = (self.host.clone(), self.root.clone());
        let files = FileWorld {
            host: host.clone(),
            permissions: permissions.clone(),
            root: root.clone(),
        };
        let mut given = Redactor::default();
        for name in permissions.env_names() {
            let value = self.host.variable(name).unwrap_or_default();
            for secret in in_variable(name, &value) {
                given.add(&secret);
            }
        }
        self.credentials.join(&given);
        // Nothing from outside comes out of these.
        for (signature, transport) in system_tools(&host) {
            self.put(signature, transport);
        }
        for (signature, transport) in file_tools(&Arc::new(files)) {
            self.add(signature, transport);
        }
        let signature = Arc::new(fetch_signature());
        let fetch = Fetch {
            client: self.client.clone(),
            permissions: permissions.clone(),
            host: host.clone(),
            signature: signature.clone(),
        };
        self.add(signature, Arc::new(fetch));
        let signature = Arc::new(process_signature());
        let process = ProcessTool {
            host,
            permissions: permissions.clone(),
            root,
            signature: signature.clone(),
        };
        self.add(signature, Arc::new(process));
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.signatures().map(|signature| signature.path()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::MemoryHost;

    #[test]
    fn the_built_in_tools_are_sorted() {
        let catalog = Catalog::new(Arc::new(MemoryHost::new(1)), "/".into(), &Arc::default());
        let paths: Vec<String> = catalog
            .signatures()
            .map(|signature| signature.path())
            .collect();
        let expected = "fs.list fs.read fs.write http.fetch proc.run sys.echo sys.fail sys.nothing sys.now sys.sleep sys.uuid";
        assert_eq!(paths.join(" "), expected);
        assert!(catalog.namespaces().map(AsRef::as_ref).eq(BUILT_IN));
        assert!(catalog.tool("sys", "banana").is_none() && catalog.namespace("banana").is_none());
    }
}
