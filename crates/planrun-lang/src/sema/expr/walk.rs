//! A path that is being followed: how far, and what is known of the value so far.

use super::narrow::path_text;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// What is done about a value that may be absent and is read through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// It is a finding.
    Reported,
    /// It makes the whole path null: left of `??`, and in `has`.
    Null,
}

/// A path that is being followed.
pub(super) struct Walk<'e> {
    pub(super) base: &'e ast::Expr,
    pub(super) links: &'e [ast::Link],
    /// How many links are behind.
    pub(super) done: usize,
    /// The type of the value so far.
    pub(super) ty: Type,
    pub(super) absence: Absence,
    /// Whether the rest may have been skipped, so that the whole is null.
    pub(super) skipped: bool,
    /// What else than itself says that the value so far is there, such as `r.ok`.
    pub(super) condition: Option<String>,
    /// Whether null can only mean that the field is missing.
    pub(super) missing_only: bool,
}

impl Walk<'_> {
    /// The canonical text of the path up to a link.
    pub(super) fn text(&self, links: usize) -> String {
        path_text(self.base, self.links.get(..links).unwrap_or(self.links))
    }

    /// Whether what stands before the next link can be written elsewhere as it stands.
    pub(super) fn stands_bare(&self) -> bool {
        !matches!(
            self.base.kind,
            ast::ExprKind::Error
                | ast::ExprKind::Unary { .. }
                | ast::ExprKind::Chain { .. }
                | ast::ExprKind::Coalesce(_)
                | ast::ExprKind::Conditional { .. }
                | ast::ExprKind::Match { .. }
                | ast::ExprKind::Is { .. }
                | ast::ExprKind::Signal(_)
        )
    }

    /// The name that the path begins with.
    pub(super) fn root(&self) -> Option<&str> {
        if let ast::ExprKind::Name(name) = &self.base.kind {
            Some(name)
        } else {
            None
        }
    }

    /// Where the value so far is written.
    pub(super) fn span_before(&self) -> Span {
        match self
            .done
            .checked_sub(1)
            .and_then(|last| self.links.get(last))
        {
            Some(link) => self.base.span.to(link.span),
            None => self.base.span,
        }
    }
}
