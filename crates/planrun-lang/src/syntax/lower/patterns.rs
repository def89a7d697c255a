//! Lowers `match` expressions and the patterns of every `match`.

use super::expressions::word_literal;
use super::texts::TextValue;
use super::{Children, Lowering, Node, name};
use crate::source::Span;
use crate::syntax::ast::{ExprKind, Literal, MatchArm, Pattern, PatternKind};
use crate::syntax::grammar::quiet::Rule;

impl Lowering<'_> {
    pub(super) fn match_expression(&mut self, node: Node<'_>) -> ExprKind {
        let mut items = Children::of(node);
        let subject = Box::new(self.next_expression(&mut items));
        let mut arms = Vec::new();
        while let Some(node) = items.take(Rule::match_arm) {
            let span = self.span(&node);
            let mut parts = Children::of(node);
            let pattern = self.next_pattern(&mut parts);
            arms.push(MatchArm {
                span,
                pattern,
                value: self.next_expression(&mut parts),
            });
        }
        ExprKind::Match { subject, arms }
    }

    /// The `pattern` that comes next.
    pub(super) fn next_pattern(&mut self, items: &mut Children<'_>) -> Pattern {
        match items.take(Rule::pattern) {
            Some(node) => self.pattern(node),
            None => Pattern {
                span: Span::default(),
                kind: PatternKind::Any,
            },
        }
    }

    fn pattern(&mut self, node: Node<'_>) -> Pattern {
        let whole = self.span(&node);
        let mut items = Children::of(node);
        let mut alternatives = Vec::new();
        while let Some(node) = items.next() {
            alternatives.push(self.pattern_term(node, &mut items));
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
            None => Pattern {
                span: whole,
                kind: PatternKind::Any,
            },
        }
    }

    fn pattern_term(&mut self, node: Node<'_>, items: &mut Children<'_>) -> Pattern {
        let start = self.span(&node);
        let literal = match node.rule() {
            Rule::number => self.number(node.text(), start, false),
            Rule::sign => {
                let Some(number) = items.take(Rule::number) else {
                    return any(start);
                };
                let end = self.span(&number);
                let literal = self.number(number.text(), end, true);
                return pattern_of(start.to(end), literal);
            }
            Rule::pattern_word => word_literal(node.text()),
            Rule::text => match self.text_value(node) {
                TextValue::Text(text) => Some(Literal::String(text)),
                TextValue::Bytes(bytes) => Some(Literal::Bytes(bytes)),
                TextValue::Template(_) => {
                    self.not_constant(start);
                    None
                }
                TextValue::Error => None,
            },
            Rule::pattern_object => {
                let fields = node.inner().map(|field| {
                    let mut parts = Children::of(field);
                    (name(parts.take(Rule::name)), self.next_pattern(&mut parts))
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
}

fn any(span: Span) -> Pattern {
    Pattern {
        span,
        kind: PatternKind::Any,
    }
}

fn pattern_of(span: Span, literal: Option<Literal>) -> Pattern {
    Pattern {
        span,
        kind: literal.map_or(PatternKind::Any, PatternKind::Literal),
    }
}
