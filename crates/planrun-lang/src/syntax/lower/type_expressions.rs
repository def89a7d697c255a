//! Lowers type expressions and parameters.

use super::expressions::{SeenNames, optional_expression, word_literal};
use super::numbers::lower_number;
use super::texts::{TextValue, lower_text_value};
use super::{Children, DamageKind, Lowering, Node, name, unquoted};
use crate::source::Span;
use crate::syntax::ast::{FieldType, Literal, Parameter, TypeExpr, TypeExprKind, TypeSuffix};
use crate::syntax::grammar::parse::Rule;

/// Lowers the next child if it is a `type_union`; otherwise returns an error node.
pub(super) fn next_type(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> TypeExpr {
    optional_type(cx, items).unwrap_or(TypeExpr {
        span: Span::default(),
        kind: TypeExprKind::Error,
    })
}

/// Lowers the next child if it is a `type_union`.
pub(super) fn optional_type(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Option<TypeExpr> {
    items
        .take(Rule::type_union)
        .map(|node| lower_type_union(cx, node))
}

fn lower_type_union(cx: &mut Lowering<'_>, node: Node<'_>) -> TypeExpr {
    let whole = cx.span(&node);
    let mut items = Children::of(node);
    let mut terms = Vec::new();
    while let Some(node) = items.next() {
        terms.push(lower_type_term(cx, node, &mut items));
    }
    match terms.pop() {
        Some(only) if terms.is_empty() => only,
        Some(last) => {
            terms.push(last);
            TypeExpr {
                span: whole,
                kind: TypeExprKind::Union(terms),
            }
        }
        None => TypeExpr {
            span: whole,
            kind: TypeExprKind::Error,
        },
    }
}

fn lower_type_term(cx: &mut Lowering<'_>, node: Node<'_>, items: &mut Children<'_>) -> TypeExpr {
    let start = cx.span(&node);
    let base = lower_type_base(cx, node, items);
    let mut suffixes = Vec::new();
    let mut extent = start.to(base.span);
    while let Some(node) = items
        .take(Rule::list_suffix)
        .or_else(|| items.take(Rule::optional_suffix))
    {
        let list = node.rule() == Rule::list_suffix;
        suffixes.push(if list {
            TypeSuffix::List
        } else {
            TypeSuffix::Optional
        });
        extent = extent.to(cx.span(&node));
    }
    if suffixes.is_empty() {
        return base;
    }
    TypeExpr {
        span: extent,
        kind: TypeExprKind::Suffixed {
            base: Box::new(base),
            suffixes,
        },
    }
}

fn lower_type_base(cx: &mut Lowering<'_>, node: Node<'_>, items: &mut Children<'_>) -> TypeExpr {
    let span = cx.span(&node);
    let kind = match node.rule() {
        Rule::type_name => match word_literal(node.text()) {
            Some(literal) => TypeExprKind::Literal(literal),
            None => TypeExprKind::Name(node.shared(unquoted(node.text()))),
        },
        Rule::number => literal_type(lower_number(cx, node.text(), span, false)),
        Rule::sign => {
            let Some(number) = items.take(Rule::number) else {
                return TypeExpr {
                    span,
                    kind: TypeExprKind::Error,
                };
            };
            let end = cx.span(&number);
            let kind = literal_type(lower_number(cx, number.text(), end, true));
            return TypeExpr {
                span: span.to(end),
                kind,
            };
        }
        Rule::text => match lower_text_value(cx, node) {
            TextValue::Text(text) => TypeExprKind::Literal(Literal::String(text)),
            TextValue::Bytes(bytes) => TypeExprKind::Literal(Literal::Bytes(bytes)),
            TextValue::Template(_) => {
                cx.not_constant(span);
                TypeExprKind::Error
            }
            TextValue::Error => TypeExprKind::Error,
        },
        Rule::type_paren => return next_type(cx, &mut Children::of(node)),
        Rule::type_map => {
            let mut parts = Children::of(node);
            let key = Box::new(next_type(cx, &mut parts));
            TypeExprKind::Map {
                key,
                value: Box::new(next_type(cx, &mut parts)),
            }
        }
        Rule::type_result => TypeExprKind::Result(Box::new(next_type(cx, &mut Children::of(node)))),
        Rule::type_object => TypeExprKind::Object(lower_field_types(cx, node)),
        _ => TypeExprKind::Error,
    };
    TypeExpr { span, kind }
}

/// Lowers a `type_object` node.
pub(super) fn lower_object_type(cx: &mut Lowering<'_>, node: Node<'_>) -> TypeExpr {
    TypeExpr {
        span: cx.span(&node),
        kind: TypeExprKind::Object(lower_field_types(cx, node)),
    }
}

fn lower_field_types(cx: &mut Lowering<'_>, node: Node<'_>) -> Vec<FieldType> {
    let mut fields = Vec::new();
    let mut seen = SeenNames::default();
    for node in node.inner() {
        let span = cx.span(&node);
        let mut parts = Children::of(node);
        let name = name(parts.take(Rule::name));
        let optional = parts.take(Rule::optional_mark).is_some();
        let ty = next_type(cx, &mut parts);
        if let Some(first) = seen.before(&name) {
            cx.given_twice("field", &name, first);
        }
        fields.push(FieldType {
            span,
            name,
            optional,
            ty,
        });
    }
    fields
}

/// Lowers the parameters of a plan, which are variables, or of a tool, which are only names of arguments.
pub(super) fn lower_parameters(
    cx: &mut Lowering<'_>,
    node: Option<Node<'_>>,
    variables: bool,
) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for node in node.into_iter().flat_map(Node::inner) {
        let span = cx.span(&node);
        let damaged = node.rule() == Rule::junk_parameter;
        let mut parts = Children::of(node);
        let word = parts.take(Rule::name);
        if damaged {
            cx.damaged(span, DamageKind::Parameter);
            let further = parts
                .take(Rule::junk_slot)
                .into_iter()
                .flat_map(Node::inner);
            parameters.extend(word.into_iter().chain(further).map(|word| Parameter {
                span,
                name: name(Some(word)),
                optional: false,
                ty: TypeExpr {
                    span,
                    kind: TypeExprKind::Error,
                },
                default: None,
            }));
            continue;
        }
        let name = if variables {
            cx.variable(word)
        } else {
            name(word)
        };
        let optional = parts.take(Rule::optional_mark).is_some();
        let ty = next_type(cx, &mut parts);
        let default = optional_expression(cx, &mut parts);
        parameters.push(Parameter {
            span,
            name,
            optional,
            ty,
            default,
        });
    }
    parameters
}

fn literal_type(literal: Option<Literal>) -> TypeExprKind {
    literal.map_or(TypeExprKind::Error, TypeExprKind::Literal)
}
