//! `planrun.yaml`: where tools come from, what plans may reach, and the defaults.

mod agent_types;
mod apis;
mod app_paths;
mod locate;
mod models;
mod own_folder;
mod programs;
mod servers;
mod settings;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::Language;
use planrun_lang::permission::{Grant, PermissionError, Permissions, ReachedProgram};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::{CallKind, Effect, Signature};
use tokio::task::JoinSet;

use crate::contract::{Lock, OfferedServer};
use crate::host::Host;
use crate::tools::a2a::AgentServer;
use crate::tools::app::{App, Findings, load_apps};
use crate::tools::mcp::McpServer;
use crate::tools::openapi::{CalledAt, Operation};
use crate::tools::process::Program;
use crate::tools::{Catalog, DeniedServer, ProjectLimit, Server, ServerError, ServerPool};

pub use agent_types::{AGENT_FILES, AgentType, AgentTypes};
pub use apis::ApiSettings;
pub use app_paths::load_app_paths;
pub use locate::Location;
pub use models::{ModelApi, ModelList, ModelSettings, Price};
pub use own_folder::{check_own_folder, journal_file, make_own_folder, own_folder};
use servers::Reach;
pub use servers::{ServerSettings, ToolSource};
pub use settings::{CheckSettings, Settings};

/// The largest lock: that of some 10,000 tools.
const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// What surrounds a plan.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder at which relative paths begin.
    pub root: PathBuf,
    /// `planrun.yaml` as it was read, where there is one.
    pub file: Option<Arc<SourceFile>>,
    pub settings: Settings,
    pub apps: Vec<App>,
    /// The servers whose tools plans call, by name.
    pub servers: Vec<ServerSettings>,
    /// The programs that are tools, by name.
    pub programs: Vec<Arc<Program>>,
    /// The documents of `OpenAPI` whose operations plans call, by name.
    pub apis: Vec<ApiSettings>,
    /// The contracts of the tools of servers.
    pub lock: Arc<Lock>,
    /// Where servers stay connected from one run to the next; without it each run connects to its own.
    pub pool: Option<Arc<ServerPool>>,
}

/// A project that cannot be used, in one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProjectError(pub String);

impl Project {
    /// The project around a plan: that of `folder` where it is given, else the nearest `planrun.yaml` at or above the
    /// plan, else the plan's own folder. `None` for a plan from standard input, which is in the current folder.
    ///
    /// # Errors
    /// Where `planrun.yaml` cannot be understood or names files that do not exist.
    pub fn load(
        host: &dyn Host,
        plan: Option<&Path>,
        folder: Option<&Path>,
    ) -> Result<(Self, Vec<Findings>), ProjectError> {
        Self::open(host, &Location::of(host, plan, folder)?)
    }

    /// The project at a place that has been found. Plans with the same place share one project.
    ///
    /// # Errors
    /// As for [`Project::load`].
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
            let source = Arc::new(SourceFile::new(shown(file), text));
            own_file = Some(source.clone());
            let mut found = Vec::new();
            read = settings::read(&source, (host, &root), &mut found)
                .map_err(|fault| fault.within(&source))?;
            if !found.is_empty() {
                found.sort_by_key(|finding: &Diagnostic| finding.span);
                findings.push(Findings {
                    source,
                    diagnostics: found,
                });
            }
        }
        let files = match (&read.apps, &location.file) {
            (Some(paths), Some(file)) => app_paths::listed(host, &location.folder, paths, file)?,
            _ => app_paths::beside(host, &location.folder),
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
                servers,
                programs,
                pool: None,
            },
            findings,
        ))
    }

    /// In which people are told what runs came to, and asked, where the project's file says so. What else is wrong with the
    /// file is told by whoever opens the project.
    #[must_use]
    pub fn language(host: &dyn Host, location: &Location) -> Option<Language> {
        let file = location
            .file
            .clone()
            .unwrap_or_else(|| location.folder.join(Location::FILE));
        let text = host.read_file(&file).ok()?;
        let source = SourceFile::new(shown(&file), text);
        let read = settings::read(&source, (host, &location.folder), &mut Vec::new());
        read.ok()?.settings.language
    }

    /// What a plan with this `allow` may reach: never more than the project's own `allow`, where it has one.
    ///
    /// # Errors
    /// The first pattern that cannot be understood.
    pub fn permissions(
        &self,
        plan: &Grant,
        host: &dyn Host,
    ) -> Result<Permissions, PermissionError> {
        let own = Permissions::new(plan, &self.root, host)?;
        match &self.settings.allow {
            Some(outer) => Ok(own.within(&Permissions::new(outer, &self.root, host)?)),
            None => Ok(own),
        }
    }

    /// Every tool that plans of this project can call. For mocks, `endpoint` gives the address that stands in for
    /// those in the file of the app with this name.
    #[must_use]
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
                    let place = Self::called_at(settings, operation, endpoint.as_deref(), &limit);
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
                Some(pool) => pool.server(&server.name, format!("{server:?} {limit:?}"), open),
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
    /// The servers that have no contracts in the lock.
    pub fn unlocked(&self) -> impl Iterator<Item = &Arc<str>> {
        let names = self.servers.iter().map(|server| &server.name);
        names.filter(|name| !self.lock.servers.contains_key(&***name))
    }
}

/// A server by its name, with what it offers now.
pub type Offer = (Arc<str>, Result<OfferedServer, ServerError>);

impl Project {
    /// A server, which nothing reaches where the project's own `allow` does not let it.
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
            ToolSource::Mcp(address) => Arc::new(McpServer::new(
                name,
                address.clone(),
                limit.clone(),
                host.clone(),
            )),
            ToolSource::A2a(address) => Arc::new(AgentServer::new(
                name,
                address.clone(),
                limit
                    .permissions()
                    .map(|permissions| (**permissions).clone()),
                host.clone(),
            )),
        }
    }

    /// What the project's own `allow` lets its tools reach; without one, naming a place is enough.
    #[must_use]
    pub fn limit(&self, host: &dyn Host) -> ProjectLimit {
        let allow = self.settings.allow.as_ref();
        let permissions = allow.map(|grant| Permissions::new(grant, &self.root, host));
        ProjectLimit::new(permissions)
    }

    /// Where an operation is called. `endpoint` stands in for its server, for mocks, which get no credentials.
    fn called_at(
        settings: &ApiSettings,
        operation: &Operation,
        endpoint: Option<&str>,
        limit: &ProjectLimit,
    ) -> CalledAt {
        if let Some(endpoint) = endpoint {
            return CalledAt {
                base: Ok(endpoint.into()),
                access: Arc::default(),
            };
        }
        let base = settings.base(operation);
        let base = base.ok_or_else(|| "nobody says where its server is".to_owned());
        let permitted = |base: Arc<str>| {
            let url = reqwest::Url::parse(&base).map_err(|error| error.to_string())?;
            limit.url(&url).map(|()| base)
        };
        CalledAt {
            base: base.and_then(permitted),
            access: settings.access.clone(),
        }
    }

    /// Whether the project lets something be reached.
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

    /// What these servers offer now, asked all at once, in the order of their names.
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

/// What plans are checked against of a tool that is pinned, in this class or in its own.
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

/// Whoever writes a project may name any file of whoever checks it: of one outside of the project no words are shown.
fn conceal(host: &dyn Host, root: &Path, found: &mut Findings) {
    let places = (
        host.canonical(Path::new(found.source.name())),
        host.canonical(root),
    );
    let (Ok(file), Ok(root)) = places else { return };
    // Of what could not be read, only that is told.
    if file.starts_with(root) || found.source.text().is_empty() {
        return;
    }
    let errors = found.diagnostics.iter().filter(|one| one.is_error());
    let worst = errors.chain(&found.diagnostics).next();
    let Some(worst) = worst else { return };
    let line = found.source.position(worst.span.start).line;
    let message = format!("this file cannot be used as it is: see its line {line}");
    let mut only = Diagnostic::new(worst.code, Span::at(0), message)
        .note("what is in it is not shown, because it lies outside of the project");
    only.severity = worst.severity;
    *found = Findings {
        source: Arc::new(SourceFile::new(found.source.name(), "")),
        diagnostics: vec![only],
    };
}

/// The contracts that are pinned; none where there is no lock yet.
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
            "{} cannot be used: {problem}; `planrun tools lock` writes it again",
            shown(path)
        ))
    })
}

/// Something in `planrun.yaml` that cannot be used.
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
    ProjectError(format!("{} cannot be read: {why}", shown(path)))
}

fn shown(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}
