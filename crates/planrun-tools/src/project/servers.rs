//! The servers whose tools plans call: those in `planrun.yaml` and those in the configuration files of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::codes::contracts::{AMBIGUOUS_TOOL, CONFIG_KEY, CONFIG_VARIABLE};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::Effect;

use super::apis::ApiSettings;
use super::settings::Read;
use super::source::{ServerSettings, ToolSource};
use super::{Location, display_path};
use crate::host::Host;
use crate::tools::BUILT_IN;
use crate::tools::a2a::AgentAddress;
use crate::tools::app::section::{Mistakes, Section};
use crate::tools::app::variables::{Variable, not_listed, unset_in};
use crate::tools::app::{App, Findings};
use crate::tools::mcp::{McpAddress, OAuth};
use crate::tools::process::{Program, ProgramContext};
use planrun_lang::yaml::{Entry, Node};

/// The kinds of sources that an entry in `tools` can have.
const KINDS: [&str; 4] = ["mcp", "openapi", "a2a", "process"];
/// The keys next to `openapi`.
const OPENAPI: [&str; 2] = ["server", "auth"];
const A2A: [&str; 2] = ["url", "headers"];
const MCP: [&str; 8] = [
    "command", "url", "auth", "env", "headers", "cwd", "type", "disabled",
];
/// The transports that an MCP server may have, as the configuration files of other programs call them.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "streamable-http"];

/// Returns every server of a project, first those of `planrun.yaml`, then those of the files that it lists, and its
/// programs. Entries whose name is already taken are left out.
pub(super) fn all(
    host: &dyn Host,
    root: &Path,
    read: &mut Read,
    apps: &[App],
    found: &mut Vec<Findings>,
) -> (Vec<ServerSettings>, Vec<Arc<Program>>) {
    let mut taken: BTreeSet<Arc<str>> = apps.iter().map(|app| app.name.clone()).collect();
    let own = &root.join(Location::FILE);
    let listed = &mut read.listed;
    let documents = std::mem::take(&mut listed.apis);
    listed.apis = fresh(documents, |one| &one.api.name, &mut taken, own, found);
    found.append(&mut listed.documents);
    let own_servers = std::mem::take(&mut listed.servers);
    let mut servers = fresh(own_servers, |one| &one.name, &mut taken, own, found);
    let programs = std::mem::take(&mut listed.programs);
    let programs = fresh(programs, |one| &one.name, &mut taken, own, found);
    for (path, _) in &read.server_files {
        let file = root.join(path);
        let unset = &mut read.listed.unset;
        let mut further = ServerReader::file(&file, (host, root), &read.variables, unset, found);
        for server in &mut further {
            if let Some(classes) = read.listed.classes.remove(&*server.name) {
                server.classes = classes;
            }
        }
        servers.extend(fresh(further, |one| &one.name, &mut taken, &file, found));
    }
    let left = read.listed.classes.keys().map(|name| unused_classes(name));
    report(own, left.collect(), found);
    (servers, programs)
}

/// Reports `classes` for the tools of a server that does not exist.
fn unused_classes(name: &str) -> Diagnostic {
    let message =
        format!("`classes` of the tools `{name}` belong to a server that is not configured");
    let help = "configure the server next to them, or list a file of servers under `mcp`";
    Diagnostic::new(&CONFIG_KEY, Span::at(0), message).help(help)
}

/// Returns the entries whose names are not taken yet and reports the others, because the order of files must not decide
/// which of two is used.
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
        let message = format!("there are already tools with the name {}", name(one));
        let finding = Diagnostic::new(&AMBIGUOUS_TOOL, Span::at(0), message);
        finding
            .note("this server is ignored")
            .help("rename one of them")
    });
    report(file, twice.collect(), found);
    fresh
}

/// Reports diagnostics that concern a whole file.
fn report(file: &Path, diagnostics: Vec<Diagnostic>, found: &mut Vec<Findings>) {
    if !diagnostics.is_empty() {
        found.push(Findings {
            source: Arc::new(SourceFile::new(display_path(file), "")),
            diagnostics,
        });
    }
}

/// The entries under `tools`.
#[derive(Default)]
pub(super) struct Listed {
    pub servers: Vec<ServerSettings>,
    pub programs: Vec<Arc<Program>>,
    pub apis: Vec<ApiSettings>,
    /// The namespaces that need an environment variable which is not set, each with the first one.
    pub unset: Vec<(Arc<str>, Arc<str>)>,
    /// The diagnostics in those documents.
    pub documents: Vec<Findings>,
    /// The effect classes of tools of servers in other files.
    pub classes: BTreeMap<String, BTreeMap<String, Effect>>,
}

/// Reads servers, with the environment variables that the project allows its configuration to read.
pub(super) struct ServerReader<'a> {
    pub host: &'a dyn Host,
    /// The folder of the project.
    pub root: &'a Path,
    /// The names in `env`.
    pub variables: &'a BTreeSet<String>,
    /// The variables that have been filled into the file.
    pub filled: &'a [Variable],
    pub found: &'a Mistakes,
}

impl ServerReader<'_> {
    /// Reads the entries under `tools` of `planrun.yaml`, after variables have been filled in. Entries with `classes`
    /// only are for servers that are defined in other files.
    pub(super) fn listed(&self, node: &Node) -> Listed {
        let Some(entries) = node.entries() else {
            let message = format!(
                "`tools` must be a mapping from names, but is {}",
                node.kind()
            );
            self.found.add(node.span, message);
            return Listed::default();
        };
        let mut listed = Listed::default();
        for entry in entries {
            self.read_entry(entry, &mut listed);
            let unset = unset_in(&entry.value, self.filled);
            let unset = unset.or_else(|| self.unset_name(&entry.value));
            let unset = unset.map(|variable| (entry.name.as_str().into(), variable));
            listed.unset.extend(unset);
        }
        listed
    }

    /// Returns the first variable of an entry that its list `env` passes on and that is not set.
    fn unset_name(&self, entry: &Node) -> Option<Arc<str>> {
        let lists = KINDS
            .iter()
            .filter_map(|kind| entry.get(kind)?.get("env")?.items());
        let mut names = lists.flatten().filter_map(Node::scalar);
        let unset = names.find(|name| self.host.variable(name).is_none());
        unset.map(Into::into)
    }

    /// Reads one entry.
    fn read_entry(&self, entry: &Entry, listed: &mut Listed) {
        let name = &*entry.name;
        let what = format!("the tools `{name}`");
        let Some(section) = Section::new(what, &entry.value, self.found) else {
            return;
        };
        let mut keys = KINDS.to_vec();
        keys.push("classes");
        if section.get("openapi").is_some() {
            keys.extend(OPENAPI);
        }
        section.expect_keys(&keys);
        let classes = classes(&section);
        let sources = KINDS
            .iter()
            .filter_map(|kind| Some((*kind, section.get(kind)?)));
        let sources: Vec<(&str, &Node)> = sources.collect();
        match *sources {
            [] => drop(listed.classes.insert(name.to_owned(), classes)),
            [(_, node)] if is_built_in(name, node, self.found) => {}
            [("openapi", _)] => {
                let documents = &mut listed.documents;
                let api = self.api((name, &section), &entry.value, &classes, documents);
                listed.apis.extend(api);
            }
            [("process", node)] => {
                if let Some(node) = section.get("classes") {
                    let message =
                        "`classes` applies to tools of servers, but these belong to a program";
                    let help = "set `effect` of each tool instead";
                    self.found.explain(node.span, message, help);
                }
                let program = self.program(name, node);
                listed.programs.extend(program.map(Arc::new));
            }
            [(kind, node)] => {
                let server = match kind {
                    "a2a" => self.agent(name, node),
                    _ => self.server(name, node),
                };
                let server = server.map(|server| ServerSettings { classes, ..server });
                listed.servers.extend(server);
            }
            [(one, _), (other, _), ..] => {
                let message = format!("the tools `{name}` have both `{one}` and `{other}`");
                let help = "use a separate name for each of them";
                self.found.explain(entry.span, message, help);
            }
        }
    }

    pub(super) fn server(&self, name: &str, node: &Node) -> Option<ServerSettings> {
        let what = format!("the MCP server `{name}`");
        let section = Section::new(what.clone(), node, self.found)?;
        let mut known = MCP.to_vec();
        // Other programs write the arguments next to the command.
        known.push("args");
        section.prefer_keys(&known);
        if section.flag("disabled") {
            return None;
        }
        check_transport(&section);
        let mut secrets = self.secrets(node);
        let environment = self.environment(&section, &mut secrets);
        let address = match (section.get("command"), section.get("url")) {
            (Some(command), None) => McpAddress::Program {
                command: command_of(command, &section)?,
                context: ProgramContext {
                    root: self.root.to_owned(),
                    folder: self.folder(&section),
                    environment,
                },
            },
            (None, Some(_)) => McpAddress::Url {
                url: address(&section, "url")?,
                headers: pairs(&section, "headers"),
                oauth: oauth(&section),
            },
            (Some(_), Some(url)) => {
                let message = format!("{what} has both a `command` and a `url`");
                let help = "remove one of them";
                self.found.explain(url.span, message, help);
                return None;
            }
            (None, None) => {
                let message = format!("{what} has neither a `command` nor a `url`");
                let help = "write `command: [PROGRAM, ARGUMENT…]` or `url: \"https://…\"`";
                self.found.explain(section.span(), message, help);
                return None;
            }
        };
        Some(ServerSettings::new(name, ToolSource::Mcp(address), secrets))
    }

    /// Reads an agent: an address, or a mapping with an address and headers.
    fn agent(&self, name: &str, node: &Node) -> Option<ServerSettings> {
        let what = format!("the agent `{name}`");
        let (url, headers) = if let Some(url) = node.text() {
            (
                web_address(url, (&what, node.span), self.found)?,
                Vec::new(),
            )
        } else {
            let section = Section::new(what, node, self.found)?;
            section.expect_keys(&A2A);
            let url = address(&section, "url")?;
            (url, pairs(&section, "headers"))
        };
        let source = ToolSource::A2a(AgentAddress { url, headers });
        let secrets = self.secrets(node);
        Some(ServerSettings::new(name, source, secrets))
    }

    /// Returns the values of the variables that have been filled into a part of the file. Each is a credential, and is
    /// reported if it is not listed in `env`.
    pub(super) fn secrets(&self, node: &Node) -> Vec<String> {
        let within = self.filled.iter().filter(|one| node.has_part_at(one.span));
        let secrets = within.filter_map(|variable| {
            let value = variable.value.clone()?;
            if !self.variables.contains(&variable.name) {
                self.found.push(not_listed(&variable.name, variable.span));
            }
            Some(value)
        });
        secrets.collect()
    }

    pub(super) fn folder(&self, section: &Section) -> PathBuf {
        match section.text("cwd") {
            Some(folder) => self.root.join(folder),
            None => self.root.to_owned(),
        }
    }

    /// Reads `env: [NAME…]`, which passes variables on, or `env: { NAME: TEXT }`, which sets them.
    pub(super) fn environment(
        &self,
        section: &Section,
        secrets: &mut Vec<String>,
    ) -> Vec<(String, String)> {
        let Some(names) = section.get("env").and_then(Node::items) else {
            return pairs(section, "env");
        };
        let mut environment = Vec::new();
        for node in names {
            let Some(name) = node.scalar() else { continue };
            if !self.variables.contains(&name) {
                self.found.push(not_listed(&name, node.span));
            }
            if let Some(value) = self.host.variable(&name) {
                secrets.push(value.clone());
                environment.push((name, value));
            } else {
                let message = format!("the environment variable {name} is not set");
                let help = format!(
                    "set {name}, or remove it from `env`; if the program can do without it, write `env: {{ {name}: \"${{{name}:-}}\" }}`"
                );
                self.found
                    .push(Diagnostic::new(&CONFIG_VARIABLE, node.span, message).help(help));
            }
        }
        environment
    }
}

/// Reads `command: [PROGRAM, ARGUMENT…]`, or a program with `args` next to it.
pub(super) fn command_of(node: &Node, section: &Section) -> Option<Vec<String>> {
    let nodes = match node.items() {
        Some(items) => items.iter().chain(&[]),
        None => std::slice::from_ref(node)
            .iter()
            .chain(section.list("args")),
    };
    let mut command: Vec<String> = Vec::new();
    for node in nodes {
        let Some(word) = node.scalar() else {
            let kind = node.kind();
            section.report(
                node.span,
                format!("a word of a command must be a string, but is {kind}"),
            );
            return None;
        };
        command.push(word);
    }
    if command.is_empty() {
        section.report(node.span, "`command` is empty");
        return None;
    }
    Some(command)
}

/// Reads the web address under a key.
pub(super) fn address(section: &Section, key: &str) -> Option<String> {
    let text = section.required(key)?;
    let span = section.get(key).map_or(section.span(), |node| node.span);
    web_address(&text, (&format!("`{key}`"), span), section.found)
}

/// Returns the text if it is a web address.
fn web_address(text: &str, (what, span): (&str, Span), found: &Mistakes) -> Option<String> {
    let problem = match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            return Some(text.to_owned());
        }
        Ok(url) => format!("it begins with `{}:`", url.scheme()),
        Err(problem) => problem.to_string(),
    };
    // The text itself is left out, because variables may have put credentials into it.
    let message = format!("{what} is not an HTTP or HTTPS URL: {problem}");
    found.add(span, message);
    None
}

/// Warns of a transport that is not implemented.
fn check_transport(section: &Section) {
    let Some(node) = section.get("type") else {
        return;
    };
    let transport = node.scalar().unwrap_or_default();
    if !TRANSPORTS.contains(&&*transport) {
        let message = format!("planrun does not speak the transport `{transport}` of MCP");
        let known = TRANSPORTS.join(", ");
        let help = format!("if the server has another address for one of {known}, write that one");
        section.found.warn(node.span, message, help);
    }
}

/// Reports a name that is a built-in namespace, and returns true for it.
pub(super) fn is_built_in(name: &str, node: &Node, found: &Mistakes) -> bool {
    let is_built_in = BUILT_IN.contains(&name);
    if is_built_in {
        let message = format!("`{name}` is a built-in namespace of planrun");
        let help = "rename the server";
        found.push(Diagnostic::new(&AMBIGUOUS_TOOL, node.span, message).help(help));
    }
    is_built_in
}

/// Reads `auth: oauth`, or `auth: { oauth: { client: ID, secret: TEXT, scopes: [SCOPE…] } }`.
fn oauth(section: &Section) -> Option<OAuth> {
    let node = section.get("auth")?;
    if node.scalar().as_deref() == Some("oauth") {
        return Some(OAuth::default());
    }
    let Some(written) = node.get("oauth") else {
        let message = "`auth` must be `oauth`";
        let help = "put a fixed token into `headers: { Authorization: \"Bearer ${NAME}\" }`";
        section.found.explain(node.span, message, help);
        return None;
    };
    let own = Section::new("`oauth`", written, section.found)?;
    own.expect_keys(&["client", "secret", "scopes"]);
    let scopes = own.texts("scopes").into_iter();
    Some(OAuth {
        client: own.text("client"),
        secret: own.text("secret"),
        scopes: scopes.map(|(scope, _)| scope).collect(),
    })
}

/// Reads a mapping from names to texts.
fn pairs(section: &Section, key: &str) -> Vec<(String, String)> {
    let entries = section.entries(key, &format!("`{key}`"));
    let pairs = entries.iter().filter_map(|entry| {
        let (value, name) = (entry.value.scalar(), &entry.name);
        if value.is_none() {
            let message = format!("`{name}` must be a string, but is {}", entry.value.kind());
            section.report(entry.value.span, message);
        }
        Some((name.clone(), value?))
    });
    pairs.collect()
}

/// Reads `classes: { TOOL: CLASS }`, the effect classes that the project assigns to tools.
fn classes(section: &Section) -> BTreeMap<String, Effect> {
    let node = section.get("classes");
    let mut classes = BTreeMap::new();
    for (tool, class) in pairs(section, "classes") {
        if let Some(effect) = Effect::find(&class) {
            classes.insert(tool, effect);
            continue;
        }
        let span = node.map_or(section.span(), |node| node.span);
        let names = Effect::ALL.map(Effect::name).join(", ");
        let message =
            format!("`{class}` of {tool} is not an effect class; the classes are {names}");
        section.report(span, message);
    }
    classes
}
