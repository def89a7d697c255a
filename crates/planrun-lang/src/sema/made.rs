//! What a plan makes, remembered until it is known who uses it.

use std::sync::Arc;

use crate::source::Span;
use crate::syntax::ast;

/// What a plan makes, until it is known who uses it.
#[derive(Default)]
pub(super) struct Made {
    pub lets: Vec<MadeLet>,
    /// Steps that only read: where the name of each was introduced, its own place, and what is called.
    pub results: Vec<(Span, Span, String)>,
    /// Steps of whose result nothing is known: where the name was introduced, what is called, and where.
    pub unknown_results: Vec<(Span, String, Span)>,
    /// Tasks that only the plan itself can move.
    pub tasks: Vec<(Arc<str>, Span)>,
}

/// A `let`, until it is known who reads it.
pub(super) struct MadeLet {
    pub name: ast::Name,
    /// Where its name was introduced first.
    pub origin: Span,
    pub statement: Span,
}
