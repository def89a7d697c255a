//! The servers whose tools plans call: those that `planrun.yaml` names itself, and those in files of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::{AMBIGUOUS_TOOL, CONFIG_KEY, CONFIG_VARIABLE};
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};
use planrun_lang::types::Effect;

use super::apis::ApiSettings;
use super::settings::Read;
use super::{Location, shown};
use crate::host::Host;
use crate::tools::BUILT_IN;
use crate::tools::a2a::AgentAddress;
use crate::tools::app::section::Section;
use crate::tools::app::variables::{self, Filled, not_listed};
use crate::tools::app::{App, Findings};
use crate::tools::mcp::{McpAddress, OAuth};
use crate::tools::process::{Program, Surroundings};
use planrun_lang::yaml::{self, Entry, Node};

/// The kinds of tools that a name in `tools` can have.
const KINDS: [&str; 4] = ["mcp", "openapi", "a2a", "process"];
/// What stands beside `openapi`.
const OPENAPI: [&str; 2] = ["server", "auth"];
const A2A: [&str; 2] = ["url", "headers"];
const MCP: [&str; 7] = ["command", "url", "auth", "env", "headers", "cwd", "type"];

/// Where the tools of a name come from.
#[derive(Clone, Debug)]
pub enum ToolSource {
    Mcp(McpAddress),
    A2a(AgentAddress),
}

/// What has to be let be reached before tools can be called.
#[derive(Clone, Copy)]
pub(super) enum Reach<'a> {
    /// A program, by the word that calls it.
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

/// A server under the name that the project gives it.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub name: Arc<str>,
    pub source: ToolSource,
    /// The classes that the project itself gives to tools.
    pub classes: BTreeMap<String, Effect>,
    /// What is sent to the server, and must not come back from it.
    pub secrets: Vec<String>,
}

/// Every server of a project: those of `planrun.yaml`, then those of the files that it lists; and its programs. A name that is
/// taken is left out.
pub(super) fn all(
    host: &dyn Host,
    root: &Path,
    read: &mut Read,
    apps: &[App],
    found: &mut Vec<Findings>,
) -> (Vec<ServerSettings>, Vec<Arc<Program>>) {
    let mut taken: BTreeSet<Arc<str>> = apps.iter().map(|app| app.name.clone()).collect();
    let own = &root.join(Location::FILE);
    let Listed {
        servers,
        programs,
        apis,
        documents,
        ..
    } = &mut read.listed;
    *apis = fresh(
        std::mem::take(apis),
        |one| &one.api.name,
        &mut taken,
        own,
        found,
    );
    found.append(documents);
    let mut servers = fresh(
        std::mem::take(servers),
        |one| &one.name,
        &mut taken,
        own,
        found,
    );
    let programs = fresh(
        std::mem::take(programs),
        |one| &one.name,
        &mut taken,
        own,
        found,
    );
    let reader = ServerReader {
        host,
        root,
        variables: &read.variables,
    };
    for (path, _) in &read.server_files {
        let file = root.join(path);
        let mut further = reader.file(&file, found);
        for server in &mut further {
            if let Some(classes) = read.listed.classes.remove(&*server.name) {
                server.classes = classes;
            }
        }
        servers.extend(fresh(further, |one| &one.name, &mut taken, &file, found));
    }
    let left = read.listed.classes.keys().map(|name| of_nobody(name));
    report(own, left.collect(), found);
    (servers, programs)
}

/// `classes` for tools of a server that does not exist.
fn of_nobody(name: &str) -> Diagnostic {
    let message = format!("`classes` of the tools `{name}` are of a server that no file names");
    let help = "name the server beside them, or a file of servers under `mcp`";
    Diagnostic::new(&CONFIG_KEY, Span::at(0), message).help(help)
}

/// What a file names, but for that whose name is taken, which is a finding: which of two was meant must not hang on the order of
/// files.
fn fresh<T>(
    further: Vec<T>,
    name: impl Fn(&T) -> &Arc<str>,
    taken: &mut BTreeSet<Arc<str>>,
    file: &Path,
    found: &mut Vec<Findings>,
) -> Vec<T> {
    let (fresh, twice): (Vec<T>, Vec<T>) = further
        .into_iter()
        .partition(|one| taken.insert(name(one).clone()));
    let twice = twice.iter().map(|one| {
        let message = format!("there are tools with the name {} already", name(one));
        let finding = Diagnostic::new(&AMBIGUOUS_TOOL, Span::at(0), message);
        finding
            .note("this server is left out")
            .help("give one of them another name")
    });
    report(file, twice.collect(), found);
    fresh
}

/// Reports what concerns a file as a whole.
fn report(file: &Path, diagnostics: Vec<Diagnostic>, found: &mut Vec<Findings>) {
    if !diagnostics.is_empty() {
        found.push(Findings {
            source: Arc::new(SourceFile::new(shown(file), "")),
            diagnostics,
        });
    }
}

/// What stands under `tools`.
#[derive(Default)]
pub(super) struct Listed {
    pub servers: Vec<ServerSettings>,
    pub programs: Vec<Arc<Program>>,
    pub apis: Vec<ApiSettings>,
    /// What is found in the documents of those.
    pub documents: Vec<Findings>,
    /// The classes of tools of servers that other files name.
    pub classes: BTreeMap<String, BTreeMap<String, Effect>>,
}

/// Reads where servers are, with the variables of the environment that the project lets its configuration read.
pub(super) struct ServerReader<'a> {
    pub host: &'a dyn Host,
    /// The folder of the project.
    pub root: &'a Path,
    /// The names in `env`.
    pub variables: &'a BTreeSet<String>,
}

impl ServerReader<'_> {
    /// The servers under the key `tools` of `planrun.yaml`, whose variables have been filled in, and the classes that stand
    /// there for tools of servers from elsewhere.
    pub(super) fn listed(
        &self,
        node: &Node,
        filled: &[Filled],
        found: &mut Vec<Diagnostic>,
    ) -> Listed {
        let Some(entries) = node.entries() else {
            let message = format!(
                "`tools` must be a mapping from names, and is {}",
                node.kind()
            );
            found.push(Diagnostic::new(&CONFIG_KEY, node.span, message));
            return Listed::default();
        };
        let mut listed = Listed::default();
        for entry in entries {
            self.named(entry, filled, &mut listed, found);
        }
        listed
    }

    /// Adds what stands under one name.
    fn named(
        &self,
        entry: &Entry,
        filled: &[Filled],
        listed: &mut Listed,
        found: &mut Vec<Diagnostic>,
    ) {
        let name = &*entry.name;
        let what = format!("the tools `{name}`");
        let Some(section) = Section::new(what, &entry.value, &CONFIG_KEY, found) else {
            return;
        };
        let mut keys = KINDS.to_vec();
        keys.push("classes");
        if section.get("openapi").is_some() {
            keys.extend(OPENAPI);
        }
        section.expect_keys(&keys, &CONFIG_KEY, Severity::Error, found);
        let classes = classes(&section, found);
        let named = KINDS
            .iter()
            .filter_map(|kind| Some((*kind, section.get(kind)?)));
        let named: Vec<(&str, &Node)> = named.collect();
        match *named {
            [] => drop(listed.classes.insert(name.to_owned(), classes)),
            [(_, node)] if is_built_in(name, node, found) => {}
            [("openapi", _)] => {
                let documents = &mut listed.documents;
                let place = (&entry.value, filled);
                let api = self.api((name, &section), place, &classes, (found, documents));
                listed.apis.extend(api);
            }
            [("process", node)] => {
                if let Some(node) = section.get("classes") {
                    let message = "`classes` is for tools of servers, and these are of a program";
                    let help = "write `effect` at the tool";
                    found.push(Diagnostic::new(&CONFIG_KEY, node.span, message).help(help));
                }
                let program = self.program(name, node, filled, found);
                listed.programs.extend(program.map(Arc::new));
            }
            [(kind, node)] => {
                let server = match kind {
                    "a2a" => self.agent(name, node, filled, found),
                    _ => self.server(name, node, filled, found),
                };
                let server = server.map(|server| ServerSettings { classes, ..server });
                listed.servers.extend(server);
            }
            [(one, _), (other, _), ..] => {
                let message = format!("the tools `{name}` are of `{one}` and of `{other}`");
                let help = "give each of them a name of its own";
                found.push(Diagnostic::new(&CONFIG_KEY, entry.span, message).help(help));
            }
        }
    }

    /// The servers in a file that other programs read too: of Claude and Cursor under `mcpServers`, of VS Code under
    /// `servers`.
    pub(super) fn file(&self, path: &Path, found: &mut Vec<Findings>) -> Vec<ServerSettings> {
        let text = self.host.read_bounded(path, MAX_FILE_BYTES as u64);
        let source = SourceFile::new(shown(path), text.as_deref().unwrap_or_default());
        let mut own = Vec::new();
        let servers = match text {
            Ok(text) => self.text(&text, &mut own),
            Err(problem) => {
                let message = format!("this file of MCP servers cannot be read: {problem}");
                own.push(Diagnostic::new(&CONFIG_KEY, Span::at(0), message));
                Vec::new()
            }
        };
        if !own.is_empty() {
            own.sort_by_key(|finding| finding.span);
            found.push(Findings {
                source: Arc::new(source),
                diagnostics: own,
            });
        }
        servers
    }

    fn text(&self, text: &str, found: &mut Vec<Diagnostic>) -> Vec<ServerSettings> {
        let mut node = match yaml::parse(text) {
            Ok(node) => node,
            Err(problem) => {
                let message = format!("this is no valid JSON: {}", problem.message);
                found.push(Diagnostic::new(&CONFIG_KEY, problem.span, message));
                return Vec::new();
            }
        };
        let filled = variables::fill_in(&mut node, self.host, |_, _| None, found);
        let servers = ["mcpServers", "servers"].into_iter();
        let servers = servers.filter_map(|key| node.get(key)?.entries()).flatten();
        let servers = servers.filter_map(|entry| {
            let Entry { name, value, .. } = entry;
            (!is_built_in(name, value, found)).then(|| self.server(name, value, &filled, found))?
        });
        servers.filter(|server| !serves_plans(server)).collect()
    }

    fn server(
        &self,
        name: &str,
        node: &Node,
        filled: &[Filled],
        found: &mut Vec<Diagnostic>,
    ) -> Option<ServerSettings> {
        let what = format!("the MCP server `{name}`");
        let section = Section::new(what.clone(), node, &CONFIG_KEY, found)?;
        let mut known = MCP.to_vec();
        // As other programs write it, the arguments stand beside the command.
        known.push("args");
        section.expect_keys(&known, &CONFIG_KEY, Severity::Warning, found);
        let mut secrets = self.secrets(node, filled, found);
        let environment = self.environment(&section, &mut secrets, found);
        let address = match (section.get("command"), section.get("url")) {
            (Some(command), None) => McpAddress::Program {
                command: command_of(command, &section, found)?,
                surroundings: Surroundings {
                    root: self.root.to_owned(),
                    folder: self.folder(&section, found),
                    environment,
                },
            },
            (None, Some(_)) => McpAddress::Url {
                url: address(&section, "url", found)?,
                headers: pairs(&section, "headers", found),
                oauth: oauth(&section, found),
            },
            (Some(_), Some(url)) => {
                let message = format!("{what} has a `command` and a `url`");
                let help = "leave out the one that is not meant";
                found.push(Diagnostic::new(&CONFIG_KEY, url.span, message).help(help));
                return None;
            }
            (None, None) => {
                let message = format!("{what} has neither a `command` nor a `url`");
                let help = "write `command: [PROGRAM, ARGUMENT…]` or `url: \"https://…\"`";
                found.push(Diagnostic::new(&CONFIG_KEY, section.span(), message).help(help));
                return None;
            }
        };
        Some(ServerSettings {
            name: name.into(),
            source: ToolSource::Mcp(address),
            classes: BTreeMap::new(),
            secrets,
        })
    }

    /// An agent: its address, or a mapping with that and headers.
    fn agent(
        &self,
        name: &str,
        node: &Node,
        filled: &[Filled],
        found: &mut Vec<Diagnostic>,
    ) -> Option<ServerSettings> {
        let what = format!("the agent `{name}`");
        let (url, headers) = if let Some(url) = node.text() {
            (web_address(url, (&what, node.span), found)?, Vec::new())
        } else {
            let section = Section::new(what, node, &CONFIG_KEY, found)?;
            section.expect_keys(&A2A, &CONFIG_KEY, Severity::Error, found);
            let url = address(&section, "url", found)?;
            (url, pairs(&section, "headers", found))
        };
        Some(ServerSettings {
            name: name.into(),
            source: ToolSource::A2a(AgentAddress { url, headers }),
            classes: BTreeMap::new(),
            secrets: self.secrets(node, filled, found),
        })
    }

    /// The variables that have been filled in within a part of the file: each is a credential, and has to be listed.
    pub(super) fn secrets(
        &self,
        node: &Node,
        filled: &[Filled],
        found: &mut Vec<Diagnostic>,
    ) -> Vec<String> {
        let within = filled.iter().filter(|one| node.has_part_at(one.span));
        let secrets = within.map(|variable| {
            if !self.variables.contains(&variable.name) {
                found.push(not_listed(&variable.name, variable.span));
            }
            variable.value.clone()
        });
        secrets.collect()
    }

    pub(super) fn folder(&self, section: &Section, found: &mut Vec<Diagnostic>) -> PathBuf {
        match section.text("cwd", found) {
            Some(folder) => self.root.join(folder),
            None => self.root.to_owned(),
        }
    }

    /// `env: [NAME…]` passes variables on; `env: { NAME: TEXT }` sets them.
    pub(super) fn environment(
        &self,
        section: &Section,
        secrets: &mut Vec<String>,
        found: &mut Vec<Diagnostic>,
    ) -> Vec<(String, String)> {
        let Some(names) = section.get("env").and_then(Node::items) else {
            return pairs(section, "env", found);
        };
        let mut environment = Vec::new();
        for node in names {
            let Some(name) = node.scalar() else { continue };
            if !self.variables.contains(&name) {
                found.push(not_listed(&name, node.span));
            }
            if let Some(value) = self.host.variable(&name) {
                secrets.push(value.clone());
                environment.push((name, value));
            } else {
                let message = format!("the environment variable {name} is not set");
                let help = format!("set {name}, or take it out of `env`");
                found.push(Diagnostic::new(&CONFIG_VARIABLE, node.span, message).help(help));
            }
        }
        environment
    }
}

/// `command: [PROGRAM, ARGUMENT…]`, or a program with `args` beside it.
pub(super) fn command_of(
    node: &Node,
    section: &Section,
    found: &mut Vec<Diagnostic>,
) -> Option<Vec<String>> {
    let nodes = match node.items() {
        Some(items) => items.iter().chain(&[]),
        None => std::slice::from_ref(node)
            .iter()
            .chain(section.list("args", found)),
    };
    let mut command: Vec<String> = Vec::new();
    for node in nodes {
        let Some(word) = node.scalar() else {
            let message = format!("a word of a command must be text, and is {}", node.kind());
            found.push(Diagnostic::new(&CONFIG_KEY, node.span, message));
            return None;
        };
        command.push(word);
    }
    if command.is_empty() {
        section.report(node.span, "`command` is empty".to_owned(), found);
        return None;
    }
    Some(command)
}

/// The address of the web under a key.
pub(super) fn address(section: &Section, key: &str, found: &mut Vec<Diagnostic>) -> Option<String> {
    let text = section.required(key, found)?;
    let span = section.get(key).map_or(section.span(), |node| node.span);
    web_address(&text, (&format!("`{key}`"), span), found)
}

/// The text, where it is the address of something on the web.
fn web_address(
    text: &str,
    (what, span): (&str, Span),
    found: &mut Vec<Diagnostic>,
) -> Option<String> {
    let problem = match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            return Some(text.to_owned());
        }
        Ok(url) => format!("it begins with `{}:`", url.scheme()),
        Err(problem) => problem.to_string(),
    };
    // Not the text: variables may have put credentials into it.
    let message = format!("{what} is no web address: {problem}");
    found.push(Diagnostic::new(&CONFIG_KEY, span, message));
    None
}

/// Whether it is planrun as a server: a client lists it beside the servers whose tools its plans call, and a plan that called
/// it would call plans of models.
fn serves_plans(server: &ServerSettings) -> bool {
    let ToolSource::Mcp(McpAddress::Program { command, .. }) = &server.source else {
        return false;
    };
    let program = command.first().map(Path::new).and_then(Path::file_stem);
    let has_word = command.iter().any(|argument| argument == "serve");
    has_word && program.is_some_and(|program| program == "planrun")
}

/// Whether a name is one of planrun itself, which is a finding.
fn is_built_in(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> bool {
    let is_built_in = BUILT_IN.contains(&name);
    if is_built_in {
        let message = format!("`{name}` is a namespace of planrun itself");
        let help = "give the server another name";
        found.push(Diagnostic::new(&AMBIGUOUS_TOOL, node.span, message).help(help));
    }
    is_built_in
}

/// `auth: oauth`, or `auth: { oauth: { client: ID, secret: TEXT, scopes: [SCOPE…] } }`.
fn oauth(section: &Section, found: &mut Vec<Diagnostic>) -> Option<OAuth> {
    let node = section.get("auth")?;
    if node.scalar().as_deref() == Some("oauth") {
        return Some(OAuth::default());
    }
    let Some(written) = node.get("oauth") else {
        let message = "`auth` can be `oauth` only".to_owned();
        let help = "a fixed token stands in `headers: { Authorization: \"Bearer ${NAME}\" }`";
        found.push(Diagnostic::new(&CONFIG_KEY, node.span, message).help(help));
        return None;
    };
    let own = Section::new("`oauth`", written, &CONFIG_KEY, found)?;
    let keys = ["client", "secret", "scopes"];
    own.expect_keys(&keys, &CONFIG_KEY, Severity::Error, found);
    let scopes = own.texts("scopes", found).into_iter();
    Some(OAuth {
        client: own.text("client", found),
        secret: own.text("secret", found),
        scopes: scopes.map(|(scope, _)| scope).collect(),
    })
}

/// A mapping from names to texts.
fn pairs(section: &Section, key: &str, found: &mut Vec<Diagnostic>) -> Vec<(String, String)> {
    let Some(node) = section.get(key) else {
        return Vec::new();
    };
    let Some(entries) = node.entries() else {
        section.report(
            node.span,
            format!("`{key}` must be a mapping, and is {}", node.kind()),
            found,
        );
        return Vec::new();
    };
    let pairs = entries.iter().filter_map(|entry| {
        let value = entry.value.scalar();
        if value.is_none() {
            let message = format!(
                "`{}` must be text, and is {}",
                entry.name,
                entry.value.kind()
            );
            section.report(entry.value.span, message, found);
        }
        Some((entry.name.clone(), value?))
    });
    pairs.collect()
}

/// `classes: { TOOL: CLASS }`: what the project knows of the effect of tools.
fn classes(section: &Section, found: &mut Vec<Diagnostic>) -> BTreeMap<String, Effect> {
    let written = pairs(section, "classes", found);
    let node = section.get("classes");
    let mut classes = BTreeMap::new();
    for (tool, class) in written {
        if let Some(effect) = Effect::find(&class) {
            classes.insert(tool, effect);
            continue;
        }
        let span = node.map_or(section.span(), |node| node.span);
        let names = Effect::ALL.map(Effect::name).join(", ");
        let message = format!("`{class}` of {tool} is no effect class: they are {names}");
        section.report(span, message, found);
    }
    classes
}
