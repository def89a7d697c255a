//! What the checks of one file share: its text, the tools, and what its `use` items lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::duplicate_name;
use super::plan::Plan;
use super::tools::Tools;
use crate::diag::Diagnostic;
use crate::source::{SourceFile, Span, SpanIndex};
use crate::syntax::ast;

/// What the plans of one file share.
pub(super) struct Shared<'a> {
    pub source: &'a SourceFile,
    pub tools: &'a Tools,
    pub namespaces: &'a BTreeMap<Arc<str>, Namespace>,
    /// Where a missing `use` would be written.
    pub first_use: Span,
    /// Whether what is called needs no `use`.
    pub infers_uses: bool,
    /// What could not be read.
    pub damage: SpanIndex,
    /// How many conditions may stand around the statements and names of a plan, counted for each of them.
    pub max_conditions: usize,
}

/// What a name behind `use` leads to.
#[derive(Debug)]
pub(super) enum Namespace {
    /// The name in the catalog.
    Tools(Arc<str>),
    Plans(Vec<Arc<Plan>>),
    /// Reported; calls of it are silent.
    Unresolved,
}

/// The namespaces of a file and where they were written.
pub(super) struct Uses {
    pub namespaces: BTreeMap<Arc<str>, Namespace>,
    /// Where each name was written.
    pub spans: BTreeMap<Arc<str>, Span>,
    /// Before the first item.
    pub first: Span,
}

impl Uses {
    pub fn add(
        &mut self,
        alias: &ast::Name,
        namespace: Namespace,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if let Some(first) = self.spans.get(&alias.text) {
            diagnostics.push(duplicate_name("namespace", alias, *first));
            return;
        }
        self.spans.insert(alias.text.clone(), alias.span);
        self.namespaces.insert(alias.text.clone(), namespace);
    }
}
