//! State that the checks of one file share: its source, the tools, and the targets of its `use` items.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::duplicate_name;
use super::plan::Plan;
use super::tools::Tools;
use crate::diag::Diagnostic;
use crate::source::{SourceFile, Span, SpanIndex};
use crate::syntax::ast;

/// Data shared by the checks of all plans of a file.
pub(super) struct Shared<'a> {
    pub source: &'a SourceFile,
    pub tools: &'a Tools,
    pub namespaces: &'a BTreeMap<Arc<str>, Namespace>,
    /// Where a missing `use` would be written.
    pub first_use: Span,
    /// Whether namespaces can be called without a `use`.
    pub infers_uses: bool,
    /// Spans of text that could not be parsed.
    pub damage: SpanIndex,
    /// Maximum number of conditions around the statements and names of a plan, counted for each of them.
    pub max_conditions: usize,
}

/// The target of a name in a `use`.
#[derive(Debug)]
pub(super) enum Namespace {
    /// Name of the tools in the catalog.
    Tools(Arc<str>),
    Plans(Vec<Arc<Plan>>),
    /// Already reported; calls of it are not reported again.
    Unresolved,
}

/// The namespaces of a file and their spans.
pub(super) struct Uses {
    pub namespaces: BTreeMap<Arc<str>, Namespace>,
    /// Span of each name.
    pub spans: BTreeMap<Arc<str>, Span>,
    /// Position before the first item.
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
