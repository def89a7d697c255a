//! Lowers `match` expressions and the patterns of every `match`.

use super::expressions::{next_expression, word_literal};
use super::numbers::lower_number;
use super::texts::{TextValue, lower_text_value};
use super::{Children, Lowering, Node, name};
use crate::source::Span;
use crate::syntax::ast::{ExprKind, Literal, MatchArm, Pattern, PatternKind};
use crate::syntax::grammar::parse::Rule;

pub(super) fn lower_match_expression(cx: &mut Lowering<'_>, node: Node<'_>) -> ExprKind {
    let mut items = Children::of(node);
    let subject = Box::new(next_expression(cx, &mut items));
    let mut arms = Vec::new();
    while let Some(node) = items.take(Rule::match_arm) {
        let span = cx.span(&node);
        let mut parts = Children::of(node);
        let pattern = next_pattern(cx, &mut parts);
        arms.push(MatchArm {
            span,
            pattern,
            value: next_expression(cx, &mut parts),
        });
    }
    ExprKind::Match { subject, arms }
}

/// Lowers the next child if it is a `pattern`; otherwise returns an error.
pub(super) fn next_pattern(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Pattern {
    match items.take(Rule::pattern) {
        Some(node) => lower_pattern(cx, node),
        None => unreadable(Span::default()),
    }
}

fn lower_pattern(cx: &mut Lowering<'_>, node: Node<'_>) -> Pattern {
    let whole = cx.span(&node);
    let mut items = Children::of(node);
    let mut alternatives = Vec::new();
    while let Some(node) = items.next() {
        alternatives.push(lower_pattern_term(cx, node, &mut items));
    }
    match alternatives.pop() {
        Some(only) if alternatives.is_empty() => only,
        Some(last) => {
            alternatives.push(last);
            Pattern {
                span: whole,
                kind: PatternKind::Or(alternatives),
            }
        }
        None => unreadable(whole),
    }
}

fn lower_pattern_term(cx: &mut Lowering<'_>, node: Node<'_>, items: &mut Children<'_>) -> Pattern {
    let start = cx.span(&node);
    let literal = match node.rule() {
        Rule::number => lower_number(cx, node.text(), start, false),
        Rule::sign => {
            let Some(number) = items.take(Rule::number) else {
                return unreadable(start);
            };
            let end = cx.span(&number);
            let literal = lower_number(cx, number.text(), end, true);
            return pattern_of(start.to(end), literal);
        }
        Rule::wildcard => return any(start),
        Rule::pattern_word => word_literal(node.text()),
        Rule::text => match lower_text_value(cx, node) {
            TextValue::Text(text) => Some(Literal::String(text)),
            TextValue::Bytes(bytes) => Some(Literal::Bytes(bytes)),
            TextValue::Template(_) => {
                cx.not_constant(start);
                None
            }
            TextValue::Error => None,
        },
        Rule::pattern_object => {
            let fields = node.inner().map(|field| {
                let mut parts = Children::of(field);
                (name(parts.take(Rule::name)), next_pattern(cx, &mut parts))
            });
            return Pattern {
                span: start,
                kind: PatternKind::Object(fields.collect()),
            };
        }
        _ => None,
    };
    pattern_of(start, literal)
}

fn any(span: Span) -> Pattern {
    Pattern {
        span,
        kind: PatternKind::Any,
    }
}

/// Returns the placeholder for a pattern that cannot be read, which has been or will be reported.
pub(super) fn unreadable(span: Span) -> Pattern {
    Pattern {
        span,
        kind: PatternKind::Error,
    }
}

fn pattern_of(span: Span, literal: Option<Literal>) -> Pattern {
    Pattern {
        span,
        kind: literal.map_or(PatternKind::Error, PatternKind::Literal),
    }
}
