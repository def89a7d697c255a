//! Lowers expressions: operator precedence over the grammar's flat lists, paths, calls, lists and objects.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use super::numbers::lower_number;
use super::patterns::lower_match_expression;
use super::texts::{TextValue, lower_text_value};
use super::{Children, Lowering, Node, missing, name, unquoted};
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal, Name,
    Text, UnaryOp,
};
use crate::syntax::grammar::parse::Rule;
use crate::syntax::precedence::{Level, operator_level};

/// An operand with its extent, which includes parentheses around it.
struct Operand {
    expr: Expr,
    extent: Span,
}

impl Operand {
    /// Creates an operand without parentheses around it.
    fn new(span: Span, kind: ExprKind) -> Self {
        Self::of(Expr::new(span, kind), span)
    }

    fn of(expr: Expr, extent: Span) -> Self {
        Self { expr, extent }
    }
}

/// An operator between two operands; `None` is `??`.
type Operator = Option<BinaryOp>;

/// The operands and operators of one flat list, consumed by [`fold`].
struct Terms {
    operands: IntoIter<Operand>,
    operators: Peekable<IntoIter<(Operator, Span)>>,
    end: u32,
}

/// Lowers an `expression` node.
pub(super) fn lower_expression(cx: &mut Lowering<'_>, node: Node<'_>) -> Expr {
    let mut items = Children::of(node);
    let mut condition = lower_binary(cx, &mut items);
    let mut arms = Vec::new();
    let start = condition.extent;
    while items.take(Rule::question).is_some() {
        let value = lower_binary(cx, &mut items);
        items.take(Rule::otherwise);
        arms.push((condition.expr, value.expr));
        condition = lower_binary(cx, &mut items);
    }
    if arms.is_empty() {
        return condition.expr;
    }
    let otherwise = Box::new(condition.expr);
    Expr::new(
        start.to(condition.extent),
        ExprKind::Conditional { arms, otherwise },
    )
}

/// Lowers the next child if it is an `expression`; otherwise returns an error node.
pub(super) fn next_expression(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Expr {
    optional_expression(cx, items).unwrap_or_else(|| missing(Span::default()))
}

/// Lowers the next child if it is an `expression`.
pub(super) fn optional_expression(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Option<Expr> {
    items
        .take(Rule::expression)
        .map(|node| lower_expression(cx, node))
}

fn lower_binary(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Operand {
    let first = lower_operand(cx, items);
    if items.peek() != Some(Rule::operator) {
        return first;
    }
    let (mut operands, mut operators) = (vec![first], Vec::new());
    while let Some(node) = items.take(Rule::operator) {
        operators.push((BinaryOp::find(node.text()), cx.span(&node)));
        operands.push(lower_operand(cx, items));
    }
    let end = operands.last().map_or(0, |operand| operand.extent.end);
    fold(
        Level::Or,
        &mut Terms {
            operands: operands.into_iter(),
            operators: operators.into_iter().peekable(),
            end,
        },
    )
}

fn lower_operand(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Operand {
    let mut signs = Vec::new();
    while let Some(node) = items.take(Rule::sign) {
        let operator = if node.text() == "!" {
            UnaryOp::Not
        } else {
            UnaryOp::Negate
        };
        signs.push((operator, cx.span(&node)));
    }
    let mut operand = match items.take(Rule::number) {
        Some(node) => lower_number_operand(cx, &node, &mut signs, items.peek()),
        None => lower_primary(cx, items),
    };
    operand = lower_links(cx, operand, items);
    if let Some(node) = items.take(Rule::is_state) {
        let extent = operand.extent.to(cx.span(&node));
        let state = name(Children::of(node).next());
        let kind = ExprKind::Is {
            subject: Box::new(operand.expr),
            state,
        };
        operand = Operand::new(extent, kind);
    }
    let Some((_, first)) = signs.first() else {
        return operand;
    };
    let extent = first.to(operand.extent);
    let kind = match operand.expr.kind {
        // Parentheses around signs change nothing: `!(!x)` is `!!x`.
        ExprKind::Unary { operators, operand } => {
            signs.extend(operators);
            ExprKind::Unary {
                operators: signs,
                operand,
            }
        }
        kind => ExprKind::Unary {
            operators: signs,
            operand: Box::new(Expr::new(operand.expr.span, kind)),
        },
    };
    Operand::new(extent, kind)
}

/// Lowers a number together with a minus directly before it, so that the smallest integer can be written.
fn lower_number_operand(
    cx: &mut Lowering<'_>,
    node: &Node<'_>,
    signs: &mut Vec<(UnaryOp, Span)>,
    next: Option<Rule>,
) -> Operand {
    let linked = matches!(next, Some(Rule::field_link | Rule::index_link));
    let minus = signs.pop_if(|(operator, _)| *operator == UnaryOp::Negate && !linked);
    let extent = minus.map_or_else(|| cx.span(node), |(_, sign)| sign.to(cx.span(node)));
    let kind = match lower_number(cx, node.text(), cx.span(node), minus.is_some()) {
        Some(literal) => ExprKind::Literal(literal),
        None => ExprKind::Error,
    };
    Operand::new(extent, kind)
}

fn lower_links(cx: &mut Lowering<'_>, base: Operand, items: &mut Children<'_>) -> Operand {
    let mut links = Vec::new();
    let mut extent = base.extent;
    while let Some(node) = items
        .take(Rule::field_link)
        .or_else(|| items.take(Rule::index_link))
    {
        let span = cx.span(&node);
        extent = extent.to(span);
        let safe = node.text().starts_with('?');
        let field = node.rule() == Rule::field_link;
        let mut parts = Children::of(node);
        let kind = if field {
            let name = name(parts.take(Rule::name));
            match parts.take(Rule::call_arguments) {
                Some(node) => LinkKind::Call {
                    name,
                    safe,
                    arguments: lower_arguments(cx, node),
                },
                None => LinkKind::Field { name, safe },
            }
        } else {
            LinkKind::Index {
                index: next_expression(cx, &mut parts),
                safe,
            }
        };
        links.push(Link { span, kind });
    }
    if links.is_empty() {
        return base;
    }
    let kind = ExprKind::Path {
        base: Box::new(base.expr),
        links,
    };
    Operand::new(extent, kind)
}

fn lower_primary(cx: &mut Lowering<'_>, items: &mut Children<'_>) -> Operand {
    let Some(node) = items.next() else {
        return Operand::of(missing(Span::default()), Span::default());
    };
    let extent = cx.span(&node);
    let kind = match node.rule() {
        Rule::text => lower_text_expression(cx, node),
        Rule::name => return lower_word_or_call(cx, &node, items),
        Rule::paren => {
            let expr = next_expression(cx, &mut Children::of(node));
            return Operand::of(expr, extent);
        }
        Rule::list => ExprKind::List(
            node.inner()
                .map(|element| lower_expression(cx, element))
                .collect(),
        ),
        Rule::object => ExprKind::Object(lower_entries(cx, node)),
        Rule::match_expression => lower_match_expression(cx, node),
        Rule::signal_condition => {
            let text = Children::of(node).take(Rule::text);
            ExprKind::Signal(lower_plain_text(cx, text))
        }
        _ => ExprKind::Error,
    };
    Operand::new(extent, kind)
}

fn lower_word_or_call(cx: &mut Lowering<'_>, node: &Node<'_>, items: &mut Children<'_>) -> Operand {
    let extent = cx.span(node);
    if let Some(arguments) = items.take(Rule::call_arguments) {
        let extent = extent.to(cx.span(&arguments));
        let function = name(Some(*node));
        let kind = ExprKind::Call {
            function,
            arguments: lower_arguments(cx, arguments),
        };
        return Operand::new(extent, kind);
    }
    let kind = match word_literal(node.text()) {
        Some(literal) => ExprKind::Literal(literal),
        None => ExprKind::Name(node.shared(unquoted(node.text()))),
    };
    Operand::new(extent, kind)
}

fn lower_text_expression(cx: &mut Lowering<'_>, node: Node<'_>) -> ExprKind {
    match lower_text_value(cx, node) {
        TextValue::Text(text) => ExprKind::Literal(Literal::String(text)),
        TextValue::Bytes(bytes) => ExprKind::Literal(Literal::Bytes(bytes)),
        TextValue::Template(parts) => ExprKind::Template(parts),
        TextValue::Error => ExprKind::Error,
    }
}

/// Lowers a text without interpolations: a title, a path, the name of a signal.
pub(super) fn lower_plain_text(cx: &mut Lowering<'_>, node: Option<Node<'_>>) -> Text {
    let Some(node) = node else {
        return Text {
            text: Arc::from(""),
            span: Span::default(),
        };
    };
    let span = cx.span(&node);
    let text = match lower_text_value(cx, node) {
        TextValue::Text(text) => text,
        TextValue::Error => Arc::from(""),
        TextValue::Bytes(_) => {
            cx.report(
                codes::UNEXPECTED_TOKEN
                    .at(span, "bytes are not allowed here")
                    .help("remove the `b` before the quotes"),
            );
            Arc::from("")
        }
        TextValue::Template(_) => {
            cx.not_constant(span);
            Arc::from("")
        }
    };
    Text { text, span }
}

/// Lowers the arguments of a `call_arguments` node.
pub(super) fn lower_arguments(cx: &mut Lowering<'_>, node: Node<'_>) -> Vec<Argument> {
    let nodes = node.inner();
    let mut arguments = Vec::with_capacity(nodes.len());
    let mut seen = SeenNames::default();
    for node in nodes {
        let span = cx.span(&node);
        let mut parts = Children::of(node);
        let name = parts.take(Rule::name).map(|node| name(Some(node)));
        let value = next_expression(cx, &mut parts);
        if let Some((name, first)) = name
            .as_ref()
            .and_then(|name| Some((name, seen.before(name)?)))
        {
            cx.given_twice("argument", name, first);
        }
        arguments.push(Argument { span, name, value });
    }
    arguments
}

pub(super) fn lower_entries(cx: &mut Lowering<'_>, node: Node<'_>) -> Vec<Entry> {
    let nodes = node.inner();
    let mut seen = SeenNames::default();
    let mut entries = Vec::with_capacity(nodes.len());
    for node in nodes {
        let span = cx.span(&node);
        let mut parts = Children::of(node);
        let key = match parts.take(Rule::name) {
            Some(node) => match word_literal(node.text()) {
                Some(literal) => {
                    EntryKey::Expr(Expr::new(cx.span(&node), ExprKind::Literal(literal)))
                }
                None => EntryKey::Name(name(Some(node))),
            },
            None => EntryKey::Expr(next_expression(cx, &mut parts)),
        };
        let value = next_expression(cx, &mut parts);
        if let Some((name, first)) =
            field_name(&key).and_then(|name| seen.before(&name).map(|first| (name, first)))
        {
            cx.given_twice("field", &name, first);
        }
        entries.push(Entry { span, key, value });
    }
    entries
}

/// The names of one list, with the span of each first occurrence.
#[derive(Default)]
pub(super) struct SeenNames {
    /// The first [`FEW`] names, searched linearly since most lists are short.
    few: Vec<Name>,
    more: HashMap<Arc<str>, Span>,
}

/// Number of names that are searched linearly.
const FEW: usize = 12;

impl SeenNames {
    /// Returns the span of the first occurrence of the name; records it and returns `None` if this is the first.
    pub fn before(&mut self, name: &Name) -> Option<Span> {
        if let Some(first) = self.few.iter().find(|seen| seen.text == name.text) {
            return Some(first.span);
        }
        if self.few.len() < FEW {
            self.few.push(name.clone());
            return None;
        }
        match self.more.entry(name.text.clone()) {
            MapEntry::Occupied(first) => Some(*first.get()),
            MapEntry::Vacant(place) => {
                place.insert(name.span);
                None
            }
        }
    }
}

/// Returns the literal for `true`, `false` or `null`. In back quotes, these words are names.
pub(super) fn word_literal(word: &str) -> Option<Literal> {
    match word {
        "true" => Some(Literal::Bool(true)),
        "false" => Some(Literal::Bool(false)),
        "null" => Some(Literal::Null),
        _ => None,
    }
}

/// Returns the name of the field if the key is constant.
fn field_name(key: &EntryKey) -> Option<Name> {
    match key {
        EntryKey::Name(name) => Some(name.clone()),
        EntryKey::Expr(Expr {
            span,
            kind: ExprKind::Literal(Literal::String(text)),
        }) => Some(Name::new(text.clone(), *span)),
        EntryKey::Expr(_) => None,
    }
}

/// Joins the terms of one precedence level and all tighter ones.
fn fold(level: Level, terms: &mut Terms) -> Operand {
    if level == Level::Unary {
        let end = terms.end as usize;
        return terms
            .operands
            .next()
            .unwrap_or_else(|| Operand::of(missing(Span::at(end)), Span::at(end)));
    }
    let first = fold(level.tighter(), terms);
    let mut extent = first.extent;
    let mut rest = Vec::new();
    while let Some((operator, operator_span)) = terms
        .operators
        .next_if(|(operator, _)| operator.map_or(Level::Coalesce, operator_level) == level)
    {
        let operand = fold(level.tighter(), terms);
        extent = extent.to(operand.extent);
        rest.push((operator, operator_span, operand.expr));
    }
    if rest.is_empty() {
        return first;
    }
    let kind = chain(first.expr, rest);
    Operand::new(extent, kind)
}

fn chain(first: Expr, rest: Vec<(Operator, Span, Expr)>) -> ExprKind {
    let mut links = Vec::new();
    let mut alternatives = Vec::new();
    for (operator, operator_span, operand) in rest {
        match operator {
            Some(operator) => links.push(ChainLink {
                operator,
                operator_span,
                operand,
            }),
            None => alternatives.push(operand),
        }
    }
    if alternatives.is_empty() {
        return ExprKind::Chain {
            first: Box::new(first),
            rest: links,
        };
    }
    alternatives.insert(0, first);
    ExprKind::Coalesce(alternatives)
}
