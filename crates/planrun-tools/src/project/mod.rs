//! `planrun.yaml`: the sources of tools, the permissions of plans, and defaults.

mod agent_types;
mod apis;
mod app_paths;
mod editor_files;
mod locate;
mod models;
mod own_folder;
mod programs;
mod protected;
mod servers;
mod settings;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{Language, command};
use planrun_lang::permission::{Giver, Grant, PermissionError, Permissions, ReachedProgram};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::{CallKind, Effect, Signature};
use tokio::task::JoinSet;

use crate::contract::{Lock, OfferedServer};
use crate::host::Host;
use crate::tools::a2a::AgentServer;
use crate::tools::app::section::Mistakes;
use crate::tools::app::{App, Findings, load_apps};
use crate::tools::mcp::{McpAddress, McpServer};
use crate::tools::openapi::{Endpoint, Operation, Security};
use crate::tools::process::{Program, ProgramContext};
use crate::tools::{Catalog, DeniedServer, ProjectLimit, Server, ServerError, ServerPool};

pub use agent_types::{AGENT_FILES, AgentType, AgentTypes};
pub use apis::ApiSettings;
pub use app_paths::load_app_paths;
pub use locate::Location;
pub use models::{ModelApi, ModelList, ModelSettings, Price};
pub use own_folder::{check_own_folder, journal_file, make_own_folder, own_folder};
pub use settings::{CheckSettings, Settings};
use source::Reach;
pub use source::{ServerSettings, ToolSource};

/// Maximum size of a lock file, in bytes: about 10,000 tools.
const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// The project that a plan belongs to.
#[derive(Clone)]
pub struct Project {
    /// The folder that relative paths start from.
    pub root: PathBuf,
    /// `planrun.yaml` as it was read, if there is one.
    pub file: Option<Arc<SourceFile>>,
    pub settings: Settings,
    pub apps: Vec<App>,
    /// The servers whose tools plans call, by name.
    pub servers: Vec<ServerSettings>,
    /// The programs whose invocations are tools, by name.
    pub programs: Vec<Arc<Program>>,
    /// The `OpenAPI` documents whose operations plans call, by name.
    pub apis: Vec<ApiSettings>,
    /// The namespaces of the last three that need an environment variable which is not set, each with the first one.
    pub unset: Vec<(Arc<str>, Arc<str>)>,
    /// The pinned contracts of the servers' tools.
    pub lock: Arc<Lock>,
    /// Keeps servers connected between runs; with `None`, each run opens its own connections.
    pub pool: Option<Arc<ServerPool>>,
}

impl std::fmt::Debug for Project {
    /// Leaves out the text of the file, which may contain credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Project")
            .field("root", &self.root)
            .field("settings", &self.settings)
            .field("apps", &self.apps)
            .field("servers", &self.servers)
            .field("programs", &self.programs)
            .field("apis", &self.apis)
            .finish_non_exhaustive()
    }
}

/// Why a project cannot be used, as one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProjectError(pub String);

impl Project {
    /// Loads the project of a plan: the one in `folder` if it is given, otherwise the nearest `planrun.yaml` in the
    /// plan's folder or its parents, otherwise the plan's own folder. A `plan` of `None` is read from standard input
    /// and belongs to the current folder. Returns an error if `planrun.yaml` or the lock file cannot be read or is
    /// invalid, or if `planrun.yaml` names files that do not exist.
    pub fn load(
        host: &dyn Host,
        plan: Option<&Path>,
        folder: Option<&Path>,
    ) -> Result<(Self, Vec<Findings>), ProjectError> {
        Self::open(host, &Location::of(host, plan, folder)?)
    }

    /// Opens the project at a known location. Plans with the same location share one project. Fails like
    /// [`Project::load`].
    pub fn open(
        host: &dyn Host,
        location: &Location,
    ) -> Result<(Self, Vec<Findings>), ProjectError> {
        let mut findings = Vec::new();
        let root = if location.folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            location.folder.clone()
        };
        let mut read = settings::Read::default();
        let mut own_file = None;
        if let Some(file) = &location.file {
            let text = host
                .read_file(file)
                .map_err(|problem| unreadable(file, &problem))?;
            let source = Arc::new(SourceFile::new(display_path(file), text));
            own_file = Some(source.clone());
            let found = Mistakes::in_project();
            read = settings::read(&source, (host, &root), &found)
                .map_err(|fault| fault.within(&source))?;
            let diagnostics = found.sorted();
            if !diagnostics.is_empty() {
                findings.push(Findings {
                    source,
                    diagnostics,
                });
            }
        }
        let files = match (&read.apps, &location.file) {
            (Some(paths), Some(file)) => app_paths::listed(host, &location.folder, paths, file)?,
            _ => app_paths::in_default_folder(host, &location.folder),
        };
        let loaded = load_apps(host, &files, &read.variables);
        findings.extend(loaded.findings);
        let (servers, programs) = servers::all(host, &root, &mut read, &loaded.apps, &mut findings);
        for found in &mut findings {
            conceal(host, &root, found);
        }
        Ok((
            Self {
                lock: Arc::new(read_lock(host, &location.folder.join(Lock::FILE))?),
                root,
                file: own_file,
                settings: read.settings,
                apps: loaded.apps,
                apis: read.listed.apis,
                unset: read.listed.unset,
                servers,
                programs,
                pool: None,
            },
            findings,
        ))
    }

    /// Returns the language of observations, summaries and questions, if the project's file sets one. Other problems in
    /// the file are ignored here; they are reported when the project is opened.
    pub fn language(host: &dyn Host, location: &Location) -> Option<Language> {
        let file = location
            .file
            .clone()
            .unwrap_or_else(|| location.folder.join(Location::FILE));
        let text = host.read_file(&file).ok()?;
        let source = SourceFile::new(display_path(&file), text);
        let found = Mistakes::in_project();
        let read = settings::read(&source, (host, &location.folder), &found);
        read.ok()?.settings.language
    }

    /// Returns an environment variable without a default that the calls of a tool need and that is not set.
    pub fn unset_variable(&self, tool: &Signature) -> Option<&str> {
        let mut apps = self.apps.iter().filter(|app| app.name == tool.namespace);
        let by_app = apps.find_map(|app| app.unset_variable(&tool.name));
        let of_document = || {
            let mut documents = self.apis.iter();
            let settings = documents.find(|settings| settings.api.name == tool.namespace)?;
            let mut operations = settings.api.operations.iter();
            let operation = operations.find(|one| one.signature.name == tool.name)?;
            let unset = settings.unset.as_deref();
            unset.filter(|_| operation.security == Security::Required)
        };
        let mut listed = self.unset.iter();
        by_app.or_else(of_document).or_else(|| {
            let (_, variable) = listed.find(|(namespace, _)| *namespace == tool.namespace)?;
            Some(variable)
        })
    }

    /// Returns the permissions of a plan with this `allow`, limited by the project's own `allow` if it has one. Returns
    /// an error for the first invalid pattern.
    pub fn permissions(
        &self,
        plan: &Grant,
        host: &dyn Host,
    ) -> Result<Permissions, PermissionError> {
        let own = Permissions::new(plan, &self.root, host)?;
        match &self.settings.allow {
            Some(outer) => {
                let outer = Permissions::new(outer, &self.root, host)?;
                let outer = self.protecting(outer, host);
                Ok(own.within(&outer.given_by(&Giver::Project)))
            }
            None => Ok(self.protecting(own, host)),
        }
    }

    /// Returns every tool that plans of this project can call. For mocks, `endpoint` returns the address that replaces
    /// those in the app or document of the given name.
    pub fn catalog(
        &self,
        host: &Arc<dyn Host>,
        permissions: &Arc<Permissions>,
        endpoint: Option<&dyn Fn(&str) -> String>,
    ) -> Catalog {
        let mut catalog = Catalog::new(host.clone(), self.root.clone(), permissions);
        let limit = self.limit(&**host);
        for app in &self.apps {
            match endpoint {
                Some(endpoint) => catalog.add_mocked_app(app, &endpoint(&app.name)),
                None => catalog.add_app(app, &limit),
            }
        }
        for settings in &self.apis {
            let endpoint = endpoint.map(|endpoint| endpoint(&settings.api.name));
            catalog.add_api(
                settings.api.operations.iter().map(|operation| {
                    let place = Self::endpoint_of(settings, operation, endpoint.as_deref(), &limit);
                    (operation.clone(), place)
                }),
                &limit,
                &settings.secrets,
            );
        }
        for server in &self.servers {
            let pinned = self.lock.servers.get(&*server.name);
            let names = pinned.into_iter().flat_map(|pinned| pinned.tools.keys());
            let tools = names.map(|name| {
                let (lock, namespace) = (self.lock.clone(), server.name.clone());
                let (class, name) = (server.classes.get(name).copied(), Arc::from(&**name));
                let of = Arc::clone(&name);
                let kind = match server.source {
                    ToolSource::A2a(_) => CallKind::Skill,
                    ToolSource::Mcp(_) => CallKind::Tool,
                };
                (name, move || {
                    let pinned = pinned_signature(&lock, &namespace, &of, class);
                    Arc::new(Signature { kind, ..pinned })
                })
            });
            let open = || self.server(server, &limit, host);
            let opened = match &self.pool {
                Some(pool) => pool.server(&server.name, server.fingerprint(&limit), open),
                None => open(),
            };
            catalog.add_server(&opened, tools, &self.lock, &server.secrets);
        }
        for program in &self.programs {
            let name = program.command.first().map_or("", String::as_str);
            let denied = self.permits(Reach::Program(name), &limit, &**host).err();
            catalog.add_program(program, denied);
        }
        catalog.observe(&self.lock.observed);
        if self.pool.is_some() {
            catalog.keep_connections();
        }
        catalog
    }
}

impl Project {
    /// The servers without contracts in the lock file.
    pub fn unlocked(&self) -> impl Iterator<Item = &Arc<str>> {
        let names = self.servers.iter().map(|server| &server.name);
        names.filter(|name| !self.lock.servers.contains_key(&***name))
    }
}

/// The name of a server, and the tools that it offers now.
pub type Offer = (Arc<str>, Result<OfferedServer, ServerError>);

impl Project {
    /// Creates the client of a server. If the project's own `allow` does not permit the server, every call is denied.
    fn server(
        &self,
        settings: &ServerSettings,
        limit: &ProjectLimit,
        host: &Arc<dyn Host>,
    ) -> Arc<dyn Server> {
        let name = settings.name.clone();
        if let Err(why) = self.permits(settings.source.reach(), limit, &**host) {
            return Arc::new(DeniedServer::new(name, why));
        }
        match &settings.source {
            ToolSource::Mcp(address) => {
                let server = McpServer::new(name, address.clone(), limit.clone(), host.clone());
                Arc::new(server.redacting(&settings.secrets))
            }
            ToolSource::A2a(address) => {
                let permissions = limit.permissions();
                let permissions = permissions.map(|permissions| (**permissions).clone());
                let server = AgentServer::new(name, address.clone(), permissions, host.clone());
                Arc::new(server.redacting(&settings.secrets))
            }
        }
    }

    /// Returns the limits that the project's own `allow` imposes on its tools. Without one, every address that is named
    /// in the project is permitted.
    pub fn limit(&self, host: &dyn Host) -> ProjectLimit {
        let allow = self.settings.allow.as_ref();
        let permissions = allow.map(|grant| {
            let permissions = Permissions::new(grant, &self.root, host)?;
            Ok(permissions.given_by(&Giver::Project))
        });
        ProjectLimit::new(permissions)
    }

    /// Returns the address and credentials of an operation. `endpoint` replaces the server by a mock, which gets no
    /// credentials.
    fn endpoint_of(
        settings: &ApiSettings,
        operation: &Operation,
        endpoint: Option<&str>,
        limit: &ProjectLimit,
    ) -> Endpoint {
        if let Some(endpoint) = endpoint {
            return Endpoint {
                base: Ok(endpoint.into()),
                access: Arc::default(),
            };
        }
        let base = settings.base(operation);
        let base = base.ok_or_else(|| "the address of its server is unknown".to_owned());
        let permitted = |base: Arc<str>| {
            let url = reqwest::Url::parse(&base).map_err(|error| error.to_string())?;
            limit.url(&url).map(|()| base)
        };
        Endpoint {
            base: base.and_then(permitted),
            access: settings.access.clone(),
        }
    }

    /// Checks whether the project permits an address or a program.
    fn permits(&self, reach: Reach, limit: &ProjectLimit, host: &dyn Host) -> Result<(), String> {
        match reach {
            Reach::Program(program) => {
                limit.program(&ReachedProgram::of(host, &self.root, program))
            }
            Reach::Url(url) => {
                let url = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
                limit.url(&url)
            }
        }
    }

    /// Returns why `allow` of the project does not permit any call of a tool that the project configures.
    pub fn denied(&self, tool: &Signature, host: &dyn Host) -> Option<String> {
        let limit = self.limit(host);
        let is_own = |name: &str| *name == *tool.namespace;
        let app = self.apps.iter().filter(|app| is_own(&app.name));
        let endpoint = app
            .flat_map(|app| &app.tools)
            .find_map(|own| (own.signature.name == tool.name).then_some(&*own.endpoint));
        let mut documents = self
            .apis
            .iter()
            .filter(|settings| is_own(&settings.api.name));
        let operation = |settings: &ApiSettings| {
            let mut operations = settings.api.operations.iter();
            let operation = operations.find(|one| one.signature.name == tool.name)?;
            settings.base(operation)
        };
        let base = documents.find_map(operation);
        let program = self.programs.iter().find(|program| is_own(&program.name));
        let server = self.servers.iter().find(|server| is_own(&server.name));
        let reach = endpoint
            .or(base.as_deref())
            .map(Reach::Url)
            .or_else(|| Some(Reach::Program(program?.command.first()?)))
            .or_else(|| Some(server?.source.reach()))?;
        // An address that cannot be read has been reported.
        let is_url = |url: &&str| reqwest::Url::parse(url).is_ok();
        match reach {
            Reach::Url(url) if !is_url(&url) => None,
            reach => self.permits(reach, &limit, host).err(),
        }
    }

    /// Returns the program that a tool needs if it does not exist here.
    pub fn missing_program(&self, tool: &Signature, host: &dyn Host) -> Option<&str> {
        let programs = self.programs.iter();
        let programs = programs.map(|program| (&program.name, &program.command, &program.context));
        let servers = self
            .servers
            .iter()
            .filter_map(|server| match &server.source {
                ToolSource::Mcp(McpAddress::Program { command, context }) => {
                    Some((&server.name, command, context))
                }
                ToolSource::Mcp(McpAddress::Url { .. }) | ToolSource::A2a(_) => None,
            });
        let mut all = programs.chain(servers);
        let (_, command, context) = all.find(|(name, ..)| **name == tool.namespace)?;
        let program = command.first().filter(|word| context.lacks(word, host));
        program.map(String::as_str)
    }

    /// Returns true if a program that a call of `proc.run` names does not exist here.
    pub fn lacks(&self, program: &str, host: &dyn Host) -> bool {
        let context = ProgramContext {
            root: self.root.clone(),
            folder: self.root.clone(),
            environment: Vec::new(),
        };
        context.lacks(program, host)
    }

    /// Returns true if calls of a tool can only change other machines.
    pub fn is_remote(&self, tool: &Signature) -> bool {
        let apps = self.apps.iter().map(|app| &*app.name);
        let documents = self.apis.iter().map(|settings| &*settings.api.name);
        let is_url = |server: &&ServerSettings| matches!(server.source.reach(), Reach::Url(_));
        let servers = self.servers.iter().filter(is_url);
        let servers = servers.map(|server| &*server.name);
        let mut remote = apps.chain(documents).chain(servers);
        remote.any(|name| *name == *tool.namespace)
    }

    /// Queries what these servers offer now, concurrently. The result is sorted by name.
    pub async fn offered(&self, host: &Arc<dyn Host>, names: &[Arc<str>]) -> Vec<Offer> {
        let mut asking = JoinSet::new();
        for server in self.servers.iter().filter(|one| names.contains(&one.name)) {
            let limit = self.limit(&**host);
            let (name, server) = (server.name.clone(), self.server(server, &limit, host));
            asking.spawn(async move {
                let offered = server.offered().await;
                server.close().await;
                (name, offered)
            });
        }
        let mut offered = asking.join_all().await;
        offered.sort_by(|(one, _), (other, _)| one.cmp(other));
        offered
    }
}

/// Returns the signature of a pinned tool that plans are checked against, with the given effect class or the pinned
/// one.
fn pinned_signature(
    lock: &Lock,
    namespace: &Arc<str>,
    name: &str,
    class: Option<Effect>,
) -> Signature {
    match lock.tool(namespace, name) {
        Some(tool) => {
            let class = class.unwrap_or_else(|| tool.class());
            tool.offered.signature(namespace, name, class)
        }
        None => Signature::unknown(namespace.clone(), name.into()),
    }
}

/// Hides the text of files outside of the project in diagnostics: the author of a project may name any file that the
/// user who checks it can read.
fn conceal(host: &dyn Host, root: &Path, found: &mut Findings) {
    let places = (
        host.canonical(Path::new(found.source.name())),
        host.canonical(root),
    );
    let (Ok(file), Ok(root)) = places else { return };
    // A file that could not be read has no text; the diagnostic only states that.
    if file.starts_with(root) || found.source.text().is_empty() {
        return;
    }
    let errors = found.diagnostics.iter().filter(|one| one.is_error());
    let worst = errors.chain(&found.diagnostics).next();
    let Some(worst) = worst else { return };
    let line = found.source.position(worst.span.start).line;
    let message = format!("this file cannot be used: see line {line}");
    let mut only = Diagnostic::new(worst.code, Span::at(0), message)
        .note("its content is not displayed, because it is outside of the project");
    only.severity = worst.severity;
    *found = Findings {
        source: Arc::new(SourceFile::new(found.source.name(), "")),
        diagnostics: vec![only],
    };
}

/// Reads the pinned contracts; empty if there is no lock file yet.
fn read_lock(host: &dyn Host, path: &Path) -> Result<Lock, ProjectError> {
    let text = match host.read_bounded(path, MAX_LOCK_BYTES) {
        Ok(text) => text,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Lock::default());
        }
        Err(problem) => return Err(unreadable(path, &problem)),
    };
    Lock::parse(&text).map_err(|problem| {
        ProjectError(format!(
            "{} cannot be used: {problem}; write it again with `{}`",
            display_path(path),
            command("tools lock")
        ))
    })
}

/// An error in `planrun.yaml` that makes it unusable.
struct Fault {
    span: Span,
    message: String,
}

impl Fault {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }

    fn within(self, source: &SourceFile) -> ProjectError {
        let place = source.position(self.span.start);
        ProjectError(format!(
            "{}:{}:{}: {}",
            source.name(),
            place.line,
            place.column,
            self.message
        ))
    }
}

fn unreadable(path: &Path, problem: &std::io::Error) -> ProjectError {
    let why = if problem.kind() == std::io::ErrorKind::InvalidData {
        "it is not UTF-8 text".to_owned()
    } else {
        problem.to_string()
    };
    ProjectError(format!("{} cannot be read: {why}", display_path(path)))
}

fn display_path(path: &Path) -> String {
    let inside = path.strip_prefix(".").ok();
    let path = inside
        .filter(|inside| *inside != Path::new(""))
        .unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}
