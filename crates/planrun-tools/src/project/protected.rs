//! The files that give plans their tools and permissions, and that plans therefore never write.

use std::path::Path;

use planrun_lang::permission::Permissions;
use planrun_lang::yaml::{self, Content, Node};

use super::{McpAddress, Project, ToolSource};
use crate::host::{FileKind, Host};

/// The settings that name files with tools.
const SETTINGS: [&str; 3] = ["apps", "mcp", "tools"];
/// The app files of a project that does not list them.
const DEFAULT_APPS: &str = "apps";

impl Project {
    /// Returns the permissions without writing what `planrun.yaml` names: app files, documents, files of servers, and
    /// the programs and scripts in command lines.
    pub fn protecting(&self, permissions: Permissions, host: &dyn Host) -> Permissions {
        permissions.protecting(&self.protected(host), &self.root, host)
    }

    /// Returns patterns of those files.
    fn protected(&self, host: &dyn Host) -> Vec<String> {
        let parsed = self.file.as_ref().map(|file| yaml::parse(file.text()));
        let parsed = parsed.and_then(Result::ok);
        let setting = |name: &str| parsed.as_ref()?.get(name);
        let mut patterns = match setting("apps") {
            Some(apps) => texts(apps),
            None => vec![DEFAULT_APPS.to_owned()],
        };
        let words = SETTINGS.into_iter().filter_map(setting).flat_map(texts);
        patterns.extend(words.filter_map(|word| file(host, &self.root, &word)));
        let servers = self
            .servers
            .iter()
            .filter_map(|server| match &server.source {
                ToolSource::Mcp(McpAddress::Program { command, context }) => {
                    Some((command, context))
                }
                ToolSource::Mcp(McpAddress::Url { .. }) | ToolSource::A2a(_) => None,
            });
        let programs = self.programs.iter();
        let programs = programs.map(|program| (&program.command, &program.context));
        for (command, context) in servers.chain(programs) {
            let words = command.iter();
            patterns.extend(words.filter_map(|word| file(host, &context.folder, word)));
        }
        patterns
    }
}

/// Returns the pattern of a file, if a word of the settings is its path.
fn file(host: &dyn Host, folder: &Path, word: &str) -> Option<String> {
    let path = folder.join(word);
    let is_file = matches!(host.kind(&path), Ok(FileKind::File));
    let path = is_file.then(|| host.canonical(&path).ok()).flatten()?;
    path.to_str().map(globset::escape)
}

/// Returns all texts in a setting.
fn texts(node: &Node) -> Vec<String> {
    match &node.content {
        Content::List(items) => items.iter().flat_map(texts).collect(),
        Content::Map(entries) => {
            let entries = entries.iter();
            entries.flat_map(|entry| texts(&entry.value)).collect()
        }
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {
            node.scalar().into_iter().collect()
        }
    }
}
