//! The catalog: every tool that a plan can call, by namespace and name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use planrun_lang::permission::Permissions;
use planrun_lang::secrets::{Redactor, credentials_in};
use planrun_lang::sema::Tools;
use planrun_lang::types::{CallKind, Observed, Signature, Type, from_schema};
use tokio::task::JoinSet;

use super::app::{App, AppTool, AppTransport};
use super::credential::Credentials;
use super::files::{FileAccess, file_tools};
use super::http::{Fetch, HttpClient, fetch_signature};
use super::openapi::{Endpoint, OpenApiTransport, Operation};
use super::process::{ProcessTool, Program, ProgramTransport, process_signature};
use super::project_limit::ProjectLimit;
use super::server::{DeniedServer, PinnedTool, Server};
use super::system::system_tools;
use super::transport::Transport;
use crate::contract::{Change, Lock, ObservedResults};
use crate::host::Host;

/// One tool: the contract that plans are checked against, and the transport that calls it.
#[derive(Clone)]
pub struct Tool {
    pub signature: Arc<Signature>,
    pub transport: Arc<dyn Transport>,
}

/// A tool that is created on first use.
type LazyTool = LazyLock<Tool, Box<dyn FnOnce() -> Tool + Send>>;

/// The tools of one namespace by name.
type Namespace = BTreeMap<Arc<str>, Arc<LazyTool>>;

/// Every tool by namespace and name. Cloning is cheap enough to create one catalog for each run.
#[derive(Clone)]
pub struct Catalog {
    host: Arc<dyn Host>,
    root: PathBuf,
    client: HttpClient,
    /// The credentials that its tools send. They are redacted in the answers of all of them.
    credentials: Credentials,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    /// The servers of some namespaces. They are connected when they are first called.
    servers: Vec<(Arc<dyn Server>, Arc<Lock>)>,
    /// Answers prompts; `None` if there are no models.
    prompts: Option<Arc<dyn Prompts>>,
    /// The descriptions that apps provide for a model that uses them, by namespace.
    contexts: BTreeMap<Arc<str>, Arc<str>>,
    /// Whether the servers belong to a pool, which outlives this catalog.
    keeps_connections: bool,
}

/// The transports that answer prompts.
pub trait Prompts: Send + Sync {
    /// Returns the transport for `infer`.
    fn model(&self) -> Arc<dyn Transport>;

    /// Returns the credentials that prompts send to the servers of models.
    fn secrets(&self) -> Vec<String>;

    /// Returns why a prompt for this model, or for the project's default model, cannot be answered, as far as the
    /// project's configuration shows; `None` if no reason is known.
    fn refusal(&self, model: Option<&str>) -> Option<String>;

    /// Returns the transport for `ask`: a model that can call these tools and has the context of their app.
    fn agent(&self, context: Option<&Arc<str>>, tools: Vec<Tool>) -> Arc<dyn Transport>;
}

/// The result of comparing pinned contracts with their servers.
#[derive(Debug, Default)]
pub struct Compared {
    /// The dotted names of tools whose contract has changed, sorted, with the reason in one sentence.
    pub broken: Vec<(String, String)>,
    /// The servers that have not answered in time.
    pub late: BTreeSet<Arc<str>>,
    /// The servers that cannot be used, with the reason in one sentence.
    pub unavailable: BTreeMap<Arc<str>, String>,
}

impl Catalog {
    /// Maximum time, before a run starts, for connecting to a server and getting its contracts.
    pub const CONTRACT_TIMEOUT: Duration = Duration::from_secs(10);

    /// Creates a catalog of the built-in tools, which may reach what `permissions` allow. Relative paths start from
    /// `root`.
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
            prompts: None,
            contexts: BTreeMap::new(),
            keeps_connections: false,
        };
        catalog.add_built_in(permissions);
        catalog
    }

    /// Returns the same tools with other permissions for the built-in ones. Apps are called at the addresses in the
    /// project's own files, whatever a plan allows.
    #[must_use]
    pub fn with_permissions(&self, permissions: &Arc<Permissions>) -> Self {
        let mut catalog = self.clone();
        catalog.add_built_in(permissions);
        catalog
    }

    /// Adds a tool; a tool of the same name is replaced. Credentials that tools of the catalog send are redacted in its
    /// answers.
    pub fn add(&mut self, signature: impl Into<Arc<Signature>>, transport: Arc<dyn Transport>) {
        self.put(signature.into(), self.credentials.guard(transport));
    }

    fn put(&mut self, signature: Arc<Signature>, transport: Arc<dyn Transport>) {
        let (namespace, name) = (signature.namespace.clone(), signature.name.clone());
        let tool = Tool {
            signature,
            transport,
        };
        self.put_lazy(namespace, name, || tool);
    }

    fn put_lazy(
        &mut self,
        namespace: Arc<str>,
        name: Arc<str>,
        make: impl FnOnce() -> Tool + Send + 'static,
    ) {
        let tool = Arc::new(LazyTool::new(Box::new(make)));
        self.namespaces
            .entry(namespace)
            .or_default()
            .insert(name, tool);
    }

    /// Adds the tools of an app, which are called at the address in its file if the project permits it.
    pub fn add_app(&mut self, app: &App, limit: &ProjectLimit) {
        let (client, host) = (limit.client(), self.host.clone());
        self.add_app_tools(app, |tool| {
            AppTransport::new(client.clone(), host.clone(), (app, tool), limit)
        });
    }

    /// Adds the tools of an app, all of which are answered by the mock at `endpoint`. The mock gets no credentials.
    pub fn add_mocked_app(&mut self, app: &App, endpoint: &str) {
        let (client, host) = (self.client.clone(), self.host.clone());
        self.add_app_tools(app, |tool| {
            AppTransport::mocked(client.clone(), host.clone(), tool, endpoint)
        });
    }

    fn add_app_tools(&mut self, app: &App, transport: impl Fn(&AppTool) -> AppTransport) {
        self.credentials.join(&app.credentials);
        self.namespaces.entry(app.name.clone()).or_default();
        if let Some(context) = &app.system_context {
            self.contexts.insert(app.name.clone(), context.clone());
        }
        for tool in &app.tools {
            self.add(tool.signature.clone(), Arc::new(transport(tool)));
        }
    }

    /// Adds the operations of a document with their addresses. The secrets are redacted in the answers of all tools.
    pub fn add_api(
        &mut self,
        operations: impl IntoIterator<Item = (Arc<Operation>, Endpoint)>,
        limit: &ProjectLimit,
        secrets: &[String],
    ) {
        self.join_secrets(secrets);
        for (operation, place) in operations {
            let signature = operation.signature.clone();
            let (client, host) = (limit.client(), self.host.clone());
            let transport = OpenApiTransport::new(client, host, operation, place);
            self.add(signature, Arc::new(transport));
        }
    }

    fn join_secrets(&self, secrets: &[String]) {
        self.credentials.add(secrets);
    }

    /// Adds the tools of a server whose contracts are pinned: their names, and functions that create their contracts on
    /// first use. The secrets are redacted in the answers of all tools.
    pub fn add_server<M: FnOnce() -> Arc<Signature> + Send + 'static>(
        &mut self,
        server: &Arc<dyn Server>,
        tools: impl IntoIterator<Item = (Arc<str>, M)>,
        lock: &Arc<Lock>,
        secrets: &[String],
    ) {
        self.join_secrets(secrets);
        for (name, make) in tools {
            let (server, lock) = (server.clone(), lock.clone());
            let credentials = self.credentials.clone();
            self.put_lazy(server.name().clone(), name, move || {
                let signature = make();
                let tool = PinnedTool {
                    signature: signature.clone(),
                    lock,
                };
                Tool {
                    signature,
                    transport: credentials.guard(server.transport(tool)),
                }
            });
        }
        self.servers.push((server.clone(), lock.clone()));
    }

    /// Asks the servers of these tools, concurrently, whether the pinned contracts still hold. A server that cannot be
    /// reached is ignored, and one that takes longer than [`Self::CONTRACT_TIMEOUT`] is reported as late.
    pub async fn compare_contracts(
        &self,
        tools: impl IntoIterator<Item = &Arc<Signature>>,
    ) -> Compared {
        let mut asking = JoinSet::new();
        let mut renewed = BTreeSet::new();
        for signature in tools {
            let server = self
                .servers
                .iter()
                .find(|(server, _)| *server.name() == signature.namespace);
            let Some((server, lock)) = server else {
                continue;
            };
            if renewed.insert(&signature.namespace) {
                server.renew();
            }
            let (server, lock, signature) = (server.clone(), lock.clone(), signature.clone());
            let tool = PinnedTool { signature, lock };
            asking.spawn(async move {
                let change = tokio::time::timeout(Self::CONTRACT_TIMEOUT, tool.change(&*server));
                let change = change.await;
                (tool.signature, change)
            });
        }
        let mut compared = Compared::default();
        for (signature, change) in asking.join_all().await {
            match change {
                Ok(Ok(Change::Broken(why))) => compared.broken.push((signature.path(), why)),
                Ok(Ok(Change::None | Change::Documentation | Change::Compatible)) => {}
                Ok(Err(error)) => {
                    let server = signature.namespace.clone();
                    compared.unavailable.insert(server, error.to_string());
                }
                Err(_) => {
                    compared.late.insert(signature.namespace.clone());
                }
            }
        }
        compared.broken.sort();
        compared
    }

    /// Adds the tools of a program. If `denied` is a reason, the program is never started. Its secrets are redacted in
    /// the answers of all tools.
    pub fn add_program(&mut self, program: &Arc<Program>, denied: Option<String>) {
        self.join_secrets(&program.secrets);
        let denied = denied.map(|why| Arc::new(DeniedServer::new(program.name.clone(), why)));
        for tool in &program.tools {
            let transport: Arc<dyn Transport> = if let Some(denied) = &denied {
                denied.clone()
            } else {
                let host = self.host.clone();
                Arc::new(ProgramTransport::new(program.clone(), tool.clone(), host))
            };
            self.add(tool.signature.clone(), transport);
        }
    }

    /// Adds observed result shapes to contracts that do not describe their results.
    pub fn observe(&mut self, observed: &BTreeMap<String, ObservedResults>) {
        for (path, seen) in observed {
            let tool = path
                .split_once('.')
                .and_then(|(namespace, name)| self.namespaces.get_mut(namespace)?.get_mut(name));
            if let Some(tool) = tool {
                let (known, seen) = (tool.clone(), seen.clone());
                *tool = Arc::new(LazyTool::new(Box::new(move || known.observed(&seen))));
            }
        }
    }

    /// Marks the servers as belonging to a pool: they stay connected when this catalog is closed.
    pub fn keep_connections(&mut self) {
        self.keeps_connections = true;
    }

    /// Disconnects all servers concurrently, except those of a pool. A later call connects again.
    pub async fn close(&self) {
        if self.keeps_connections {
            return;
        }
        let mut closing = JoinSet::new();
        for (server, _) in &self.servers {
            let server = server.clone();
            closing.spawn(async move { server.close().await });
        }
        closing.join_all().await;
    }

    /// Returns the names of all namespaces, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.keys()
    }

    pub fn tool(&self, namespace: &str, name: &str) -> Option<&Tool> {
        self.namespaces
            .get(namespace)?
            .get(name)
            .map(|tool| &***tool)
    }

    /// Sets what answers prompts. The credentials that they send are redacted in the answers of all tools.
    pub fn set_prompts(&mut self, prompts: Arc<dyn Prompts>) {
        self.join_secrets(&prompts.secrets());
        self.prompts = Some(prompts);
    }

    /// Returns the transport for `infer`, if there are models. Credentials are redacted in its answers.
    pub fn model(&self) -> Option<Arc<dyn Transport>> {
        Some(self.credentials.guard(self.prompts.as_ref()?.model()))
    }

    /// Returns why a prompt cannot be answered, as far as the project's configuration shows; `None` if no reason is
    /// known or `called` is not a prompt.
    pub fn refuses_prompt(&self, called: &Signature, model: Option<&str>) -> Option<String> {
        let prompts = || self.prompts.as_ref()?.refusal(model);
        match called.kind {
            CallKind::Tool | CallKind::Skill => None,
            CallKind::Model => prompts(),
            CallKind::Agent | CallKind::ReadOnlyAgent => match self.server(&called.namespace) {
                Some(server) if server.clone().agent().is_some() => None,
                _ => prompts(),
            },
        }
    }

    fn server(&self, name: &str) -> Option<&Arc<dyn Server>> {
        let mut servers = self.servers.iter().map(|(server, _)| server);
        servers.find(|server| **server.name() == *name)
    }

    /// Returns the transport for `ask` in this namespace: the agent itself if the namespace is an agent, otherwise a
    /// model with the tools that `held` returns. Credentials are redacted in its answers.
    pub fn agent(
        &self,
        namespace: &str,
        held: impl FnMut(&Tool) -> Option<Tool>,
    ) -> Option<Arc<dyn Transport>> {
        let server = self.server(namespace);
        if let Some(agent) = server.and_then(|server| server.clone().agent()) {
            return Some(self.credentials.guard(agent));
        }
        let tools = self.namespaces.get(namespace)?.values();
        let tools = tools.map(|tool| &***tool).filter_map(held).collect();
        let prompts = self.prompts.as_ref()?;
        let agent = prompts.agent(self.contexts.get(namespace), tools);
        Some(self.credentials.guard(agent))
    }

    /// Returns the contracts that plans are checked against.
    pub fn tools(&self) -> Tools {
        let mut tools = Tools::default();
        for (namespace, all) in &self.namespaces {
            for (name, tool) in all {
                let tool = tool.clone();
                tools.insert_later(namespace.clone(), name.clone(), move || {
                    tool.signature.clone()
                });
            }
        }
        tools
    }

    /// Returns every tool's contract, sorted by namespace and name.
    pub fn signatures(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.namespaces
            .values()
            .flat_map(BTreeMap::values)
            .map(|tool| &tool.signature)
    }

    /// Returns the credentials that its tools send, which must be redacted.
    pub fn secrets(&self) -> Redactor {
        self.credentials.known()
    }

    fn add_built_in(&mut self, permissions: &Arc<Permissions>) {
        let (host, root) = (self.host.clone(), self.root.clone());
        let files = FileAccess {
            host: host.clone(),
            permissions: permissions.clone(),
            root: root.clone(),
        };
        let mut given = Redactor::default();
        for name in permissions.env_names() {
            let value = self.host.variable(name).unwrap_or_default();
            for secret in credentials_in(name, &value) {
                given.add(&secret);
            }
        }
        self.credentials.join(&given);
        // These tools return nothing that comes from outside.
        for (signature, transport) in system_tools(&host) {
            self.put(signature, transport);
        }
        for (signature, transport) in file_tools(&Arc::new(files)) {
            self.add(signature, transport);
        }
        let signature = Arc::new(fetch_signature());
        let fetch = Fetch {
            client: HttpClient::within(permissions.clone()),
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

impl Tool {
    /// Returns the tool with the observed shape of its results, if its contract does not describe them.
    fn observed(&self, seen: &ObservedResults) -> Self {
        let mut tool = self.clone();
        if tool.signature.returns == Type::Any {
            Arc::make_mut(&mut tool.signature).observed = Some(Arc::new(Observed {
                returns: from_schema(&seen.returns),
                results: seen.results,
            }));
        }
        tool
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
    use planrun_lang::call::Answer;
    use planrun_lang::value::Value;

    use super::*;
    use crate::contract::{LockedServer, OfferedServer, OfferedTool};
    use crate::host::MemoryHost;
    use crate::tools::{
        BUILT_IN, BoxFuture, Conversation, Described, Request, ServerError, described,
    };

    #[test]
    fn the_built_in_tools_are_sorted() {
        let catalog = Catalog::new(Arc::new(MemoryHost::new(1)), "/".into(), &Arc::default());
        let paths: Vec<String> = catalog
            .signatures()
            .map(|signature| signature.path())
            .collect();
        let expected = "fs.list fs.read fs.write http.fetch proc.run sys.echo sys.fail sys.nothing sys.now sys.sleep sys.uuid";
        assert_eq!(paths.join(" "), expected);
        let with_tools = BUILT_IN.into_iter().filter(|name| *name != "model");
        assert!(catalog.namespaces().map(AsRef::as_ref).eq(with_tools));
        assert!(catalog.tool("sys", "banana").is_none());
    }

    /// A server that is never ready.
    struct Asleep(Arc<str>);

    impl Server for Asleep {
        fn name(&self) -> &Arc<str> {
            &self.0
        }

        fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>> {
            Box::pin(std::future::pending())
        }

        fn current<'a>(
            &'a self,
            _: &'a str,
        ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>> {
            Box::pin(std::future::pending())
        }

        fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport> {
            Arc::new(DeniedServer::new(
                tool.signature.namespace.clone(),
                String::new(),
            ))
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_never_ready_is_named_and_waited_for_no_longer() {
        let tool = OfferedTool {
            input: serde_json::json!({}),
            ..OfferedTool::default()
        };
        let offered = OfferedServer {
            tools: BTreeMap::from([("send".to_owned(), tool)]),
            ..OfferedServer::default()
        };
        let mut lock = Lock::default();
        let pinned = LockedServer::default().renewed(offered);
        lock.servers.insert("asleep".to_owned(), pinned);
        let signature = Arc::new(Signature::unknown("asleep".into(), "send".into()));
        let server: Arc<dyn Server> = Arc::new(Asleep("asleep".into()));
        let mut catalog = Catalog::new(Arc::new(MemoryHost::new(1)), "/".into(), &Arc::default());
        let none = std::iter::empty::<(Arc<str>, fn() -> Arc<Signature>)>();
        catalog.add_server(&server, none, &Arc::new(lock), &[]);
        let begun = tokio::time::Instant::now();
        let compared = catalog.compare_contracts([&signature]).await;
        assert_eq!(compared.late, BTreeSet::from(["asleep".into()]));
        assert_eq!(compared.broken, []);
        assert_eq!(begun.elapsed(), Catalog::CONTRACT_TIMEOUT);
    }

    /// A model that repeats the key that it received and the credential of a tool.
    struct Repeating;

    impl Transport for Repeating {
        fn call(&self, _: Request) -> Conversation {
            Conversation::Now(Ok(Answer::Json("sk-model-key and hunter2-token".into())))
        }

        fn describe(&self) -> BoxFuture<'_, Described> {
            described([])
        }
    }

    impl Prompts for Repeating {
        fn model(&self) -> Arc<dyn Transport> {
            Arc::new(Self)
        }

        fn secrets(&self) -> Vec<String> {
            vec!["sk-model-key".to_owned()]
        }

        fn refusal(&self, _: Option<&str>) -> Option<String> {
            None
        }

        fn agent(&self, _: Option<&Arc<str>>, _: Vec<Tool>) -> Arc<dyn Transport> {
            Arc::new(Self)
        }
    }

    #[tokio::test]
    async fn no_credential_comes_back_in_an_answer_to_a_prompt() {
        let mut catalog = Catalog::new(Arc::new(MemoryHost::new(1)), "/".into(), &Arc::default());
        catalog.join_secrets(&["hunter2-token".to_owned()]);
        catalog.set_prompts(Arc::new(Repeating));
        let model = catalog.model().unwrap();
        let agent = catalog.agent("sys", |tool| Some(tool.clone())).unwrap();
        for transport in [model, agent] {
            let request = Request::new(
                "a",
                Arc::new(Signature::unknown("model".into(), "infer".into())),
                Value::Null,
                "key",
            );
            let Ok(Answer::Json(answer)) = transport.call(request).outcome().await else {
                panic!("it answers")
            };
            assert_eq!(answer, "[redacted] and [redacted]");
        }
        assert_eq!(catalog.secrets().text("sk-model-key"), "[redacted]");
    }
}
