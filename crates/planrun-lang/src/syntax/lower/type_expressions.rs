//! Lowers types as written, and parameters.

use super::expressions::{SeenNames, word_literal};
use super::texts::TextValue;
use super::{Children, DamageKind, Lowering, Node, name, unquoted};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{FieldType, Literal, Parameter, TypeExpr, TypeExprKind, TypeSuffix};
use crate::syntax::grammar::quiet::Rule;

impl Lowering<'_> {
    /// The `type_union` that comes next, or an error node.
    pub(super) fn next_type(&mut self, items: &mut Children<'_>) -> TypeExpr {
        self.optional_type(items).unwrap_or(TypeExpr {
            span: Span::default(),
            kind: TypeExprKind::Error,
        })
    }

    /// The `type_union` that comes next, if one does.
    pub(super) fn optional_type(&mut self, items: &mut Children<'_>) -> Option<TypeExpr> {
        items
            .take(Rule::type_union)
            .map(|node| self.type_union(node))
    }

    fn type_union(&mut self, node: Node<'_>) -> TypeExpr {
        let whole = self.span(&node);
        let mut items = Children::of(node);
        let mut terms = Vec::new();
        while let Some(node) = items.next() {
            terms.push(self.type_term(node, &mut items));
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

    fn type_term(&mut self, node: Node<'_>, items: &mut Children<'_>) -> TypeExpr {
        let start = self.span(&node);
        let base = self.type_base(node, items);
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
            extent = extent.to(self.span(&node));
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

    fn type_base(&mut self, node: Node<'_>, items: &mut Children<'_>) -> TypeExpr {
        let span = self.span(&node);
        let kind = match node.rule() {
            Rule::type_name => match word_literal(node.text()) {
                Some(literal) => TypeExprKind::Literal(literal),
                None => TypeExprKind::Name(node.shared(unquoted(node.text()))),
            },
            Rule::number => literal_type(self.number(node.text(), span, false)),
            Rule::sign => {
                let Some(number) = items.take(Rule::number) else {
                    return TypeExpr {
                        span,
                        kind: TypeExprKind::Error,
                    };
                };
                let end = self.span(&number);
                let kind = literal_type(self.number(number.text(), end, true));
                return TypeExpr {
                    span: span.to(end),
                    kind,
                };
            }
            Rule::text => match self.text_value(node) {
                TextValue::Text(text) => TypeExprKind::Literal(Literal::String(text)),
                TextValue::Bytes(bytes) => TypeExprKind::Literal(Literal::Bytes(bytes)),
                TextValue::Template(_) => {
                    self.not_constant(span);
                    TypeExprKind::Error
                }
                TextValue::Error => TypeExprKind::Error,
            },
            Rule::type_paren => return self.next_type(&mut Children::of(node)),
            Rule::type_map => {
                let mut parts = Children::of(node);
                let key = Box::new(self.next_type(&mut parts));
                TypeExprKind::Map {
                    key,
                    value: Box::new(self.next_type(&mut parts)),
                }
            }
            Rule::type_result => {
                TypeExprKind::Result(Box::new(self.next_type(&mut Children::of(node))))
            }
            Rule::type_object => TypeExprKind::Object(self.field_types(node)),
            _ => TypeExprKind::Error,
        };
        TypeExpr { span, kind }
    }

    /// A `type_object` node as a type.
    pub(super) fn object_type(&mut self, node: Node<'_>) -> TypeExpr {
        TypeExpr {
            span: self.span(&node),
            kind: TypeExprKind::Object(self.field_types(node)),
        }
    }

    fn field_types(&mut self, node: Node<'_>) -> Vec<FieldType> {
        let mut fields = Vec::new();
        let mut seen = SeenNames::default();
        for node in node.inner() {
            let span = self.span(&node);
            let mut parts = Children::of(node);
            let name = name(parts.take(Rule::name));
            let optional = parts.take(Rule::optional_mark).is_some();
            let ty = self.next_type(&mut parts);
            if let Some(first) = seen.before(&name) {
                self.given_twice("field", &name, first);
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

    /// The parameters of a plan, which are variables, or of a tool, which are only arguments.
    pub(super) fn parameters(&mut self, node: Option<Node<'_>>, variables: bool) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for node in node.into_iter().flat_map(Node::inner) {
            let span = self.span(&node);
            let damaged = node.rule() == Rule::junk_parameter;
            let mut parts = Children::of(node);
            let word = parts.take(Rule::name);
            if damaged {
                self.damaged(span, DamageKind::Parameter);
                let ty = TypeExpr {
                    span,
                    kind: TypeExprKind::Error,
                };
                parameters.extend(word.map(|word| Parameter {
                    span,
                    name: name(Some(word)),
                    optional: false,
                    ty,
                    default: None,
                }));
                continue;
            }
            let name = if variables {
                self.variable(word)
            } else {
                name(word)
            };
            let optional = parts.take(Rule::optional_mark).is_some();
            let ty = self.next_type(&mut parts);
            let default = self.optional_expression(&mut parts);
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

    /// Reports a text with `${` where only constants stand.
    pub(super) fn not_constant(&mut self, span: Span) {
        self.diagnostics.push(
            Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, "this text must be constant")
                .help("write the text out, without `${`"),
        );
    }
}

fn literal_type(literal: Option<Literal>) -> TypeExprKind {
    literal.map_or(TypeExprKind::Error, TypeExprKind::Literal)
}
