//! Describes tools, namespaces, saved plans and pages of the language by name.

use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;
use planrun_lang::value::counted;

use super::contract::{Kind, contract};
use super::language::page;
use super::{Index, spelled};

/// Maximum number of names in one call.
const MAX_NAMES: usize = 20;
/// Maximum number of lines of a namespace.
const MAX_LINES: usize = 40;
/// Maximum number of similar names that are suggested for an unknown one.
const MAX_NEAR: usize = 3;

impl Index {
    /// Returns a description of each name: the contract of a tool (`ns.tool`) or of a saved plan in the language of
    /// plans, the lines of a namespace, or a page of the language (`language`, `language/TOPIC`). A contract has at
    /// most 400 tokens and lists what was left out, unless it is requested in `full`.
    pub fn describe(&self, names: &[impl AsRef<str>], full: bool) -> String {
        let shown = names.iter().take(MAX_NAMES);
        let mut parts: Vec<String> = shown
            .map(|name| self.one(name.as_ref().trim(), full))
            .collect();
        if let Some(more) = names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            parts.push(format!(
                "{}; at most {MAX_NAMES} are described at once\n",
                counted(more, "more name")
            ));
        }
        if parts.is_empty() {
            parts.push("name tools, namespaces, saved plans or language/TOPIC\n".to_owned());
        }
        parts.join("\n")
    }

    fn one(&self, name: &str, full: bool) -> String {
        if let Some(page) = page(name) {
            return page;
        }
        // Accepts the name as plans write it, and as the server does.
        let bare = name.replace('`', "");
        if let Some(tool) = self.by_path.get(&bare) {
            return contract(tool, Kind::Tool, full);
        }
        if let Some(plan) = self.plans.get(&*bare) {
            return contract(plan, Kind::Plan, full);
        }
        match self.members(&bare) {
            Some(own) => self.listed(&own, MAX_LINES),
            None => self.unknown(&bare),
        }
    }

    /// Suggests similar names: the one with the most similar spelling, then the tools that match its words.
    fn unknown(&self, name: &str) -> String {
        let tools = self.by_path.keys().map(String::as_str);
        let others = self.plans.keys().chain(self.by_namespace.keys());
        let nearest = if name.contains('.') {
            closest(name, tools)
        } else {
            closest(name, tools.chain(others.map(AsRef::as_ref)))
        };
        let mut near: Vec<String> = nearest.map(str::to_owned).into_iter().collect();
        for tool in self.words.find(name) {
            let path = if self.is_plan(tool) {
                tool.name.to_string()
            } else {
                tool.path()
            };
            if near.len() < MAX_NEAR && !near.contains(&path) {
                near.push(path);
            }
        }
        let near = if near.is_empty() {
            "search finds tools by plain words".to_owned()
        } else {
            let spelled_path =
                |path: &String| path.split('.').map(spelled).collect::<Vec<_>>().join(".");
            let near: Vec<String> = near.iter().map(spelled_path).collect();
            format!("nearest: {}", near.join(", "))
        };
        format!(
            "{}\n",
            visible_line(&format!("there is no `{name}`; {near}"))
        )
    }
}
