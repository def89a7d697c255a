//! Files of MCP servers that other programs read too: `mcpServers` of Claude and Cursor, `servers` of VS Code.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::codes::contracts::CONFIG_VARIABLE;
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};
use planrun_lang::yaml::{self, Entry, Node};

use super::display_path;
use super::servers::{ServerReader, is_built_in};
use super::source::{ServerSettings, ToolSource};
use crate::host::Host;
use crate::tools::app::Findings;
use crate::tools::app::section::Mistakes;
use crate::tools::app::variables::{self, Variable, unset_in};
use crate::tools::mcp::McpAddress;

impl ServerReader<'_> {
    /// Reads the servers of a file. Those that need a variable that is not set are added to `unset`.
    pub(super) fn file(
        path: &Path,
        (host, root): (&dyn Host, &Path),
        variables: &BTreeSet<String>,
        unset: &mut Vec<(Arc<str>, Arc<str>)>,
        found: &mut Vec<Findings>,
    ) -> Vec<ServerSettings> {
        let text = host.read_bounded(path, MAX_FILE_BYTES as u64);
        let source = SourceFile::new(display_path(path), text.as_deref().unwrap_or_default());
        let own = Mistakes::in_project();
        let servers = match text {
            Ok(text) => servers(&text, (host, root), variables, unset, &own),
            Err(problem) => {
                let message = format!("this file of MCP servers cannot be read: {problem}");
                own.add(Span::at(0), message);
                Vec::new()
            }
        };
        let diagnostics = own.sorted();
        if !diagnostics.is_empty() {
            found.push(Findings {
                source: Arc::new(source),
                diagnostics,
            });
        }
        servers
    }
}

fn servers(
    text: &str,
    (host, root): (&dyn Host, &Path),
    variables: &BTreeSet<String>,
    unset: &mut Vec<(Arc<str>, Arc<str>)>,
    found: &Mistakes,
) -> Vec<ServerSettings> {
    let mut node = match yaml::parse(&without_comments(text)) {
        Ok(node) => node,
        Err(problem) => {
            let message = format!("this is not valid JSON: {}", problem.message);
            found.add(problem.span, message);
            return Vec::new();
        }
    };
    let asked = replace_editor_variables(&mut node, (host, root), found);
    let mut filled = variables::fill_in(&mut node, host, |_, _| None, found);
    filled.extend(asked);
    let reader = ServerReader {
        host,
        root,
        variables,
        filled: &filled,
        found,
    };
    let servers = ["mcpServers", "servers"].into_iter();
    let servers = servers.filter_map(|key| node.get(key)?.entries()).flatten();
    let servers = servers.filter_map(|Entry { name, value, .. }| {
        let missing = unset_in(value, &filled);
        unset.extend(missing.map(|variable| (name.as_str().into(), variable)));
        (!is_built_in(name, value, found)).then(|| reader.server(name, value))?
    });
    servers.filter(|server| !serves_plans(server)).collect()
}

/// Replaces the variables of editors: `${env:NAME}` becomes `${NAME}`, `${workspaceFolder}` the folder of the project
/// and `${userHome}` the home folder. Returns the values that an editor asks a person for, `${input:ID}`, which are
/// never set.
fn replace_editor_variables(
    node: &mut Node,
    (host, root): (&dyn Host, &Path),
    found: &Mistakes,
) -> Vec<Variable> {
    let mut asked = Vec::new();
    node.rewrite(&mut |text, span| {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_variable(rest) {
            out.push_str(before);
            let is_escaped = before.ends_with('$');
            let value = match (name, name.split_once(':')) {
                (_, Some(("env", name))) if !is_escaped => format!("${{{name}}}"),
                (_, Some(("input", _))) if !is_escaped => {
                    found.push(asks_a_person(name, span));
                    asked.push(Variable {
                        span,
                        name: name.to_owned(),
                        value: None,
                    });
                    String::new()
                }
                ("workspaceFolder", _) if !is_escaped => {
                    let root = host.canonical(root).unwrap_or_else(|_| root.to_owned());
                    escaped(&display_path(&root))
                }
                ("userHome", _) if !is_escaped => {
                    escaped(&host.variable("HOME").unwrap_or_default())
                }
                _ => format!("${{{name}}}"),
            };
            out.push_str(&value);
            rest = after;
        }
        out.push_str(rest);
        out
    });
    asked
}

/// Splits a text at its first `${NAME}`: the text before, the name, and the text after.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once("${")?;
    let (name, after) = after.split_once('}')?;
    Some((before, name, after))
}

/// Escapes a text in which no variables are to be filled in.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

fn asks_a_person(name: &str, span: Span) -> Diagnostic {
    let message = format!("an editor asks a person for `${{{name}}}`, but planrun does not");
    let help = "write `${env:NAME}` instead, which editors understand too, and set that environment variable";
    Diagnostic::new(&CONFIG_VARIABLE, span, message).help(help)
}

/// Replaces the comments of a JSON text by spaces, so that everything else keeps its place. Editors permit comments.
fn without_comments(text: &str) -> String {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut out = text.to_owned();
    while let Ok(Some(token)) = scanner.scan() {
        if matches!(token, Token::CommentLine(_) | Token::CommentBlock(_)) {
            let place = scanner.token_start()..scanner.token_end();
            let blank: String = text[place.clone()]
                .bytes()
                .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
                .collect();
            out.replace_range(place, &blank);
        }
    }
    out
}

/// Returns true if the server is planrun itself. Clients list it next to the servers whose tools its plans call, and a
/// plan that called it would run plans written by models.
fn serves_plans(server: &ServerSettings) -> bool {
    let ToolSource::Mcp(McpAddress::Program { command, .. }) = &server.source else {
        return false;
    };
    let program = command.first().map(Path::new).and_then(Path::file_stem);
    let has_word = command.iter().any(|argument| argument == "serve");
    has_word && program.is_some_and(|program| program == "planrun")
}
