//! Parses texts that are one part of a plan: an expression, a type, a pattern.

use super::ast::{Expr, ExprKind, Pattern, PatternKind, TypeExpr, TypeExprKind};
use super::grammar::parse::Rule;
use super::lower::{DamageKind, Lowering};
use super::tree::Tree;
use super::{clamp, explain, scan, stack, stack_exhausted, too_large};
use crate::diag::Diagnostic;
use crate::source::{SourceFile, Span};

/// A tree that a whole text can be parsed as.
pub(super) trait Part: Sized + Send {
    const RULE: Rule;
    /// The kind of damage as which a text that cannot be parsed is reported.
    const KIND: DamageKind;

    fn lower(lowering: &mut Lowering<'_>, tree: &Tree<'_>) -> Self;

    /// Returns the placeholder for a text that cannot be parsed.
    fn missing(span: Span) -> Self;
}

impl Part for Expr {
    const RULE: Rule = Rule::one_expression;
    const KIND: DamageKind = DamageKind::Expression;

    fn lower(lowering: &mut Lowering<'_>, tree: &Tree<'_>) -> Self {
        lowering.whole_expression(tree)
    }

    fn missing(span: Span) -> Self {
        Self {
            span,
            kind: ExprKind::Error,
        }
    }
}

impl Part for TypeExpr {
    const RULE: Rule = Rule::one_type;
    const KIND: DamageKind = DamageKind::Type;

    fn lower(lowering: &mut Lowering<'_>, tree: &Tree<'_>) -> Self {
        lowering.whole_type(tree)
    }

    fn missing(span: Span) -> Self {
        Self {
            span,
            kind: TypeExprKind::Error,
        }
    }
}

impl Part for Pattern {
    const RULE: Rule = Rule::one_pattern;
    const KIND: DamageKind = DamageKind::Pattern;

    fn lower(lowering: &mut Lowering<'_>, tree: &Tree<'_>) -> Self {
        lowering.whole_pattern(tree)
    }

    fn missing(span: Span) -> Self {
        Self {
            span,
            kind: PatternKind::Error,
        }
    }
}

/// Parses the text and returns its tree with diagnostics.
pub(super) fn parse<T: Part>(source: &SourceFile) -> (T, Vec<Diagnostic>) {
    let whole = Span::new(0, source.text().len());
    if let Some(diagnostic) = too_large(source) {
        return (T::missing(whole), vec![diagnostic]);
    }
    let scanned = scan::scan(source.text());
    let read = stack::with_stack(scanned.depth, || read(&scanned, whole));
    let (part, mut diagnostics) =
        read.unwrap_or_else(|| (T::missing(whole), vec![stack_exhausted(source)]));
    clamp(&mut diagnostics, source.text());
    (part, diagnostics)
}

fn read<T: Part>(scan: &scan::Scan<'_>, whole: Span) -> (T, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
    let part = if let Ok(tree) = Tree::read(T::RULE, &scan.text, 0..scan.text.len()) {
        T::lower(&mut lowering, &tree)
    } else {
        lowering
            .diagnostics
            .extend(explain::explain_whole(scan, T::KIND));
        T::missing(whole)
    };
    let mut diagnostics = lowering.diagnostics;
    diagnostics.extend(scan.diagnostics.iter().cloned());
    (part, diagnostics)
}
