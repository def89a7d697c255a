//! Definitions that are reported if nothing uses them.

use std::sync::Arc;

use crate::source::Span;
use crate::syntax::ast;

/// Definitions of a plan whose uses are not known yet.
#[derive(Default)]
pub(super) struct Candidates {
    pub lets: Vec<LetCandidate>,
    /// Steps that only read: the first definition of the name, its own span, and what is called.
    pub results: Vec<(Span, Span, String)>,
    /// Steps with a result of unknown type: the first definition of the name, what is called, and the span of the call.
    pub unknown_results: Vec<(Span, String, Span)>,
    /// Tasks that only the plan itself can change.
    pub tasks: Vec<(Arc<str>, Span)>,
}

/// A `let` whose readers are not known yet.
pub(super) struct LetCandidate {
    pub name: ast::Name,
    /// Where its name was introduced first.
    pub origin: Span,
    pub statement: Span,
}
