//! A path that is being followed: its position, and what is known of the value so far.

use super::narrow::path_text;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// The handling of a possibly absent value on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// It is reported.
    Reported,
    /// It makes the whole path null: left of `??`, and in `has`.
    Null,
}

/// A path that is being followed.
pub(super) struct Walk<'e> {
    pub(super) base: &'e ast::Expr,
    pub(super) links: &'e [ast::Link],
    /// Number of links that have been followed.
    pub(super) done: usize,
    /// Type of the value so far.
    pub(super) ty: Type,
    pub(super) absence: Absence,
    /// Whether the remaining links may be skipped, so that the whole path is null.
    pub(super) skipped: bool,
    /// A condition other than a null test that proves that the value so far is present, such as `r.ok`.
    pub(super) condition: Option<String>,
    /// Whether null can only mean that the field is missing.
    pub(super) missing_only: bool,
    /// Whether the last link read a field under a computed name that the value may not have.
    pub(super) may_have_no_field: bool,
}

impl Walk<'_> {
    /// Returns the canonical text of the first links of the path.
    pub(super) fn text(&self, links: usize) -> String {
        path_text(self.base, self.links.get(..links).unwrap_or(self.links))
    }

    /// Returns true if the text before the next link can be used elsewhere without parentheses.
    pub(super) fn is_self_contained(&self) -> bool {
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

    /// Returns the name that the path begins with.
    pub(super) fn root(&self) -> Option<&str> {
        if let ast::ExprKind::Name(name) = &self.base.kind {
            Some(name)
        } else {
            None
        }
    }

    /// Returns the span of the value so far.
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
