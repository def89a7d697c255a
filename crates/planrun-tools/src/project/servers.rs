//! The servers whose tools plans call: those that `planrun.yaml` names itself, and those in files of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::{AMBIGUOUS_TOOL, CONFIG_KEY, CONFIG_VARIABLE, NOT_YET};
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};
use planrun_lang::types::Effect;

use super::settings::Read;
use super::{Location, shown};
use crate::host::Host;
use crate::tools::BUILT_IN;
use crate::tools::app::section::Section;
use crate::tools::app::variables::{self, Filled};
use crate::tools::app::yaml::{self, Node};
use crate::tools::app::{App, Findings};
use crate::tools::mcp::{McpAddress, OAuth};

/// The kinds of tools that a name in `tools` can have.
const KINDS: [&str; 4] = ["mcp", "openapi", "a2a", "process"];
/// Those that nothing reads yet.
const LATER: [&str; 3] = ["openapi", "a2a", "process"];
const MCP: [&str; 7] = ["command", "url", "auth", "env", "headers", "cwd", "type"];

/// Where the tools of a name come from.
#[derive(Clone, Debug)]
pub enum ToolSource {
    Mcp(McpAddress),
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

/// Every server of a project: those of `planrun.yaml`, then those of the files that it lists. A name that is taken is left out.
pub(super) fn all(
    host: &dyn Host,
    root: &Path,
    read: &mut Read,
    apps: &[App],
    found: &mut Vec<Findings>,
) -> Vec<ServerSettings> {
    let mut taken: BTreeSet<Arc<str>> = apps.iter().map(|app| app.name.clone()).collect();
    let mut servers = Vec::new();
    add(
        std::mem::take(&mut read.listed.servers),
        &mut servers,
        &mut taken,
        &root.join(Location::FILE),
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
            if let Some(classes) = read.listed.classes.get(&*server.name) {
                server.classes.clone_from(classes);
            }
        }
        add(further, &mut servers, &mut taken, &file, found);
    }
    servers
}

/// Adds the servers of a file. One whose name is taken is left out, and that is a finding: which of two was meant must not hang on
/// the order of files.
fn add(
    further: Vec<ServerSettings>,
    servers: &mut Vec<ServerSettings>,
    taken: &mut BTreeSet<Arc<str>>,
    file: &Path,
    found: &mut Vec<Findings>,
) {
    let mut twice = Vec::new();
    for server in further {
        if taken.insert(server.name.clone()) {
            servers.push(server);
            continue;
        }
        let message = format!("there are tools with the name {} already", server.name);
        let finding = Diagnostic::new(&AMBIGUOUS_TOOL, Span::at(0), message);
        twice.push(
            finding
                .note("this server is left out")
                .help("give one of them another name"),
        );
    }
    if !twice.is_empty() {
        found.push(Findings {
            source: Arc::new(SourceFile::new(shown(file), "")),
            diagnostics: twice,
        });
    }
}

/// What stands under `tools`.
#[derive(Default)]
pub(super) struct Listed {
    pub servers: Vec<ServerSettings>,
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
            let what = format!("the tools `{}`", entry.name);
            let Some(section) = Section::new(what, &entry.value, &CONFIG_KEY, found) else {
                continue;
            };
            let mut keys = KINDS.to_vec();
            keys.push("classes");
            section.expect_keys(&keys, &CONFIG_KEY, Severity::Error, found);
            for kind in LATER {
                if let Some(node) = section.get(kind) {
                    let message = format!("`{kind}` in planrun.yaml is not supported yet");
                    let help = "nothing reads it; take it out for now";
                    found.push(Diagnostic::new(&NOT_YET, node.span, message).help(help));
                }
            }
            let classes = classes(&section, found);
            let Some(server) = section.get("mcp") else {
                listed.classes.insert(entry.name.clone(), classes);
                continue;
            };
            if let Some(server) = self.server(&entry.name, server, filled, found) {
                listed.servers.push(ServerSettings { classes, ..server });
            }
        }
        listed
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
        let filled = variables::fill_in(&mut node, self.host, found);
        let servers = ["mcpServers", "servers"].into_iter();
        let servers = servers.filter_map(|key| node.get(key)?.entries()).flatten();
        servers
            .filter_map(|entry| self.server(&entry.name, &entry.value, &filled, found))
            .collect()
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
        if BUILT_IN.contains(&name) {
            let message = format!("`{name}` is a namespace of planrun itself");
            let help = "give the server another name";
            found.push(Diagnostic::new(&AMBIGUOUS_TOOL, node.span, message).help(help));
            return None;
        }
        let mut known = MCP.to_vec();
        // As other programs write it, the arguments stand beside the command.
        known.push("args");
        section.expect_keys(&known, &CONFIG_KEY, Severity::Warning, found);
        let mut secrets = Vec::new();
        for variable in filled.iter().filter(|one| node.has_part_at(one.span)) {
            if !self.variables.contains(&variable.name) {
                found.push(not_listed(&variable.name, variable.span));
            }
            secrets.push(variable.value.clone());
        }
        let environment = self.environment(&section, &mut secrets, found);
        let address = match (section.get("command"), section.get("url")) {
            (Some(command), None) => McpAddress::Program {
                command: command_of(command, &section, found)?,
                root: self.root.to_owned(),
                environment,
                folder: self.folder(&section, found),
            },
            (None, Some(_)) => McpAddress::Url {
                url: address(&section, found)?,
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

    fn folder(&self, section: &Section, found: &mut Vec<Diagnostic>) -> PathBuf {
        match section.text("cwd", found) {
            Some(folder) => self.root.join(folder),
            None => self.root.to_owned(),
        }
    }

    /// `env: [NAME…]` passes variables on; `env: { NAME: TEXT }` sets them.
    fn environment(
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
fn command_of(node: &Node, section: &Section, found: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
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

fn not_listed(name: &str, span: Span) -> Diagnostic {
    let message =
        format!("{name} is read from the environment, and `env` of planrun.yaml does not list it");
    let help =
        format!("add `env: [{name}]` to planrun.yaml; whatever it holds is a credential then");
    let mut finding = Diagnostic::new(&CONFIG_VARIABLE, span, message).help(help);
    finding.severity = Severity::Error;
    finding
}

fn address(section: &Section, found: &mut Vec<Diagnostic>) -> Option<String> {
    let text = section.required("url", found)?;
    let problem = match reqwest::Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => return Some(text),
        Ok(url) => format!("it begins with `{}:`", url.scheme()),
        Err(problem) => problem.to_string(),
    };
    // Not the text: variables may have put credentials into it.
    let span = section.get("url").map_or(section.span(), |node| node.span);
    section.report(span, format!("`url` is no web address: {problem}"), found);
    None
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
