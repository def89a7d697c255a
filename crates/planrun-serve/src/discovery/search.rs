//! Searches tools and plans by words. The result is one line for each, and is never empty.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::Signature;
use planrun_lang::value::counted;

use super::hit::{Hit, lines};
use super::{Index, PLANS, spelled};

/// Maximum number of results, whatever is requested.
const MAX_LIMIT: usize = 50;
/// Maximum number of namespaces that are listed if nothing was found.
const MAX_NAMESPACES: usize = 20;

impl Index {
    /// Returns the tools and saved plans that match the words, best first: one line each, at most `limit`, within
    /// `namespace` if it is given. If nothing matches, lists what exists.
    pub fn search(&self, query: &str, namespace: Option<&str>, limit: usize) -> String {
        let limit = limit.clamp(1, MAX_LIMIT);
        let own = match namespace {
            Some(namespace) => match self.members(namespace) {
                Some(own) => Some(own),
                None => return self.unknown_namespace(namespace),
            },
            None => None,
        };
        let mut found = self.words.find(query);
        if let Some(own) = &own {
            found.retain(|tool| own.iter().any(|one| Arc::ptr_eq(one, tool)));
        }
        let visible_query = visible_line(query.trim()).into_owned();
        match own {
            _ if !found.is_empty() => self.listed(&found, limit),
            Some(own) if visible_query.is_empty() => self.listed(&own, limit),
            Some(own) => {
                let namespace = namespace.unwrap_or_default();
                let nothing = format!("nothing in {} matches; it has\n", spelled(namespace));
                nothing + &self.listed(&own, limit)
            }
            None if visible_query.is_empty() => self.namespaces(query),
            None => format!("nothing matches; there are\n{}", self.namespaces(query)),
        }
    }

    /// Returns one line for each tool, at most `limit`, and the number of further ones.
    pub(super) fn listed(&self, tools: &[&Arc<Signature>], limit: usize) -> String {
        let listed = tools.iter().take(limit);
        let hits: Vec<Hit<'_>> = listed
            .map(|tool| Hit::new(tool, self.is_plan(tool)))
            .collect();
        let below = match tools.len() - hits.len() {
            0 => String::new(),
            more => format!("… {more} more; narrow the query or raise limit\n"),
        };
        lines(&hits, &below)
    }

    fn unknown_namespace(&self, requested: &str) -> String {
        let near = closest(requested, self.by_namespace.keys().map(AsRef::as_ref));
        let near = near.map(|near| format!(" (did you mean {}?)", spelled(near)));
        let near = near.unwrap_or_default();
        let text = format!(
            "there is no namespace {}{near}; there are",
            spelled(requested)
        );
        format!("{}\n{}", visible_line(&text), self.namespaces(requested))
    }

    /// Lists the namespaces with their sizes: those whose names are similar to a word first, then the largest.
    fn namespaces(&self, words: &str) -> String {
        let is_near = |name: &str| {
            words
                .split_whitespace()
                .any(|word| closest(word, [name]).is_some())
        };
        let mut known: Vec<(bool, usize, &str)> = self
            .by_namespace
            .iter()
            .map(|(name, tools)| (is_near(name), tools.len(), &**name))
            .collect();
        known.sort_by(|one, other| {
            let key = |(is_near, tools, name): &(bool, usize, &str)| {
                (!is_near, usize::MAX - tools, (*name).to_owned())
            };
            key(one).cmp(&key(other))
        });
        let mut text = String::new();
        for (_, tools, name) in known.iter().take(MAX_NAMESPACES) {
            let name = spelled(name);
            let _ = writeln!(text, "{}: {}", visible_line(&name), counted(*tools, "tool"));
        }
        if known.len() > MAX_NAMESPACES {
            let _ = writeln!(
                text,
                "… {}",
                counted(known.len() - MAX_NAMESPACES, "more namespace")
            );
        }
        if !self.plans.is_empty() {
            let _ = writeln!(text, "{PLANS}: {}", counted(self.plans.len(), "saved plan"));
        }
        if text.is_empty() {
            text.push_str("no tools and no saved plans: configure tools in planrun.yaml\n");
        }
        text
    }
}
