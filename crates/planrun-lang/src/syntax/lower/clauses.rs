//! Lowers the clauses of steps and the attributes of other statements, and reports repeated ones.

use super::expressions::{lower_entries, next_expression};
use super::statements::{block_without_do, next_block};
use super::steps::{lower_arm_body, lower_ask};
use super::type_expressions::next_type;
use super::{Children, DamageKind, Lowering, Node, missing, name};
use crate::diag::Edit;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    CLAUSE_WORDS, Clause, ClauseKind, ErrorPattern, Expr, ExprKind, Name, Probe, TypeExpr, Undo,
};
use crate::syntax::grammar::parse::Rule;
use crate::syntax::place::Place;

/// The attributes of a statement's head or of a clause, which may come in any order.
#[derive(Default)]
pub(super) struct Attributes {
    pub when: Option<Box<Expr>>,
    pub after: Option<Vec<Name>>,
    pub max: Option<Box<Expr>>,
    pub parallel: Option<Box<Expr>>,
    pub by: Option<Box<Expr>>,
    pub expires: Option<Box<Expr>>,
    pub every: Option<Box<Expr>>,
    pub within: Option<Box<Expr>>,
    pub gives: Option<Box<Expr>>,
    pub payload: Option<Box<TypeExpr>>,
    pub binding: Option<Name>,
    pub settle: bool,
}

/// Lowers the remaining clauses and appends them to those from the head of the step.
pub(super) fn lower_clauses(
    cx: &mut Lowering<'_>,
    parts: &mut Children<'_>,
    mut clauses: Vec<Clause>,
) -> Vec<Clause> {
    while let Some(node) = parts.next() {
        add_clause(cx, node, &mut clauses);
    }
    clauses
}

pub(super) fn add_clause(cx: &mut Lowering<'_>, node: Node<'_>, clauses: &mut Vec<Clause>) {
    let span = cx.trim(cx.span(&node));
    let kind = lower_clause(cx, node, span);
    let once = !matches!(kind, ClauseKind::Recover { .. } | ClauseKind::Error);
    let rank = kind.rank();
    if let Some(first) = clauses
        .iter()
        .find(|other| once && other.kind.rank() == rank)
    {
        let word = CLAUSE_WORDS.get(rank).copied().unwrap_or_default();
        repeated_clause(cx, word, span, first.span);
    }
    clauses.push(Clause { span, kind });
}

fn lower_clause(cx: &mut Lowering<'_>, node: Node<'_>, place: Span) -> ClauseKind {
    let rule = node.rule();
    let mut parts = Children::of(node);
    match rule {
        Rule::when_clause => ClauseKind::When(next_expression(cx, &mut parts)),
        Rule::after_clause => ClauseKind::After(after(parts)),
        Rule::confirm_clause => {
            let text = next_expression(cx, &mut parts);
            let mut attributes = Attributes::default();
            read_attributes(cx, &mut attributes, &mut parts);
            ClauseKind::Confirm {
                text,
                by: attributes.by,
                expires: attributes.expires,
            }
        }
        Rule::timeout_clause => ClauseKind::Timeout(next_expression(cx, &mut parts)),
        Rule::within_clause => ClauseKind::Within(next_expression(cx, &mut parts)),
        Rule::by_clause => ClauseKind::By(next_expression(cx, &mut parts)),
        Rule::expires_clause => ClauseKind::Expires(next_expression(cx, &mut parts)),
        Rule::retry_clause => ClauseKind::Retry(next_expression(cx, &mut parts)),
        Rule::until_clause => {
            let condition = next_expression(cx, &mut parts);
            let mut attributes = Attributes::default();
            read_attributes(cx, &mut attributes, &mut parts);
            ClauseKind::Until {
                condition,
                every: attributes.every.unwrap_or_else(|| Box::new(missing(place))),
            }
        }
        Rule::cache_clause => ClauseKind::Cache(next_expression(cx, &mut parts)),
        Rule::verify_clause => lower_verify(cx, parts),
        Rule::recover_clause | Rule::arm_recover => lower_recover(cx, parts),
        Rule::undo_clause | Rule::arm_undo => ClauseKind::Undo(lower_undo(cx, parts)),
        _ => {
            cx.damaged(place, DamageKind::Clause);
            ClauseKind::Error
        }
    }
}

fn lower_verify(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> ClauseKind {
    let probe = match parts.take(Rule::ask_body) {
        Some(node) => Probe::Ask(lower_ask(cx, Children::of(node))),
        None => Probe::Call(next_expression(cx, &mut parts)),
    };
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    let check = next_expression(cx, &mut parts);
    read_attributes(cx, &mut attributes, &mut parts);
    ClauseKind::Verify {
        probe,
        every: attributes.every,
        within: attributes.within,
        binding: attributes.binding.unwrap_or_else(|| name(None)),
        check: Box::new(check),
        gives: attributes.gives,
    }
}

fn lower_recover(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> ClauseKind {
    let pattern = match parts.take(Rule::error_pattern) {
        Some(node) => error_pattern(node),
        None => ErrorPattern::Any,
    };
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    ClauseKind::Recover {
        pattern,
        binding: attributes.binding,
        body: lower_arm_body(cx, &mut parts),
    }
}

fn lower_undo(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> Undo {
    match parts.take(Rule::do_body) {
        Some(node) => Undo::Do(next_block(cx, &mut Children::of(node), Place::Value)),
        None => match block_without_do(cx, &mut parts) {
            Some(block) => Undo::Do(block),
            None => Undo::Call(next_expression(cx, &mut parts)),
        },
    }
}

/// Reads attributes in any order, up to the first child that is not one.
pub(super) fn read_attributes(
    cx: &mut Lowering<'_>,
    attributes: &mut Attributes,
    parts: &mut Children<'_>,
) {
    while let Some(rule) = parts.peek().filter(|rule| is_attribute(*rule)) {
        let Some(node) = parts.next() else { return };
        let place = cx.span(&node);
        let mut inner = Children::of(node);
        let (word, twice) = match rule {
            Rule::when_clause => ("`when`", fill(cx, &mut attributes.when, inner)),
            Rule::max_attribute => ("`max`", fill(cx, &mut attributes.max, inner)),
            Rule::parallel_attribute => ("`parallel`", fill(cx, &mut attributes.parallel, inner)),
            Rule::by_attribute => ("`by`", fill(cx, &mut attributes.by, inner)),
            Rule::expires_attribute => ("`expires`", fill(cx, &mut attributes.expires, inner)),
            Rule::every_attribute => ("`every`", fill(cx, &mut attributes.every, inner)),
            Rule::within_clause => ("`within`", fill(cx, &mut attributes.within, inner)),
            Rule::gives_attribute => ("`gives`", fill(cx, &mut attributes.gives, inner)),
            Rule::after_clause => ("`after`", attributes.after.replace(after(inner)).is_some()),
            Rule::payload => (
                "the type",
                attributes
                    .payload
                    .replace(Box::new(next_type(cx, &mut inner)))
                    .is_some(),
            ),
            Rule::binding => {
                let word = inner.take(Rule::name);
                let name = cx.variable(word);
                ("`as`", attributes.binding.replace(name).is_some())
            }
            _ => ("`settle`", std::mem::replace(&mut attributes.settle, true)),
        };
        if twice {
            cx.written_twice(word, place);
        }
    }
}

fn fill(cx: &mut Lowering<'_>, slot: &mut Option<Box<Expr>>, mut parts: Children<'_>) -> bool {
    slot.replace(Box::new(next_expression(cx, &mut parts)))
        .is_some()
}

fn repeated_clause(cx: &mut Lowering<'_>, word: &str, place: Span, first: Span) {
    let same = cx.text.get(place.range()) == cx.text.get(first.range());
    let diagnostic = codes::DUPLICATE_CLAUSE
        .at(place, format!("clause `{word}` is written twice"))
        .label(first, "first written here")
        .help("keep one of the two");
    let edits = vec![Edit::removal(place)];
    cx.report(if same {
        diagnostic.fix_all("remove the repeated clause", edits)
    } else {
        diagnostic.unsafe_fix("remove the second clause", edits)
    });
}

/// Lowers an `object` node as an expression.
pub(super) fn lower_object(cx: &mut Lowering<'_>, node: Option<Node<'_>>) -> Expr {
    let Some(node) = node else {
        return missing(Span::default());
    };
    let span = cx.span(&node);
    Expr::new(span, ExprKind::Object(lower_entries(cx, node)))
}

fn is_attribute(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::when_clause
            | Rule::max_attribute
            | Rule::parallel_attribute
            | Rule::by_attribute
            | Rule::expires_attribute
            | Rule::every_attribute
            | Rule::within_clause
            | Rule::gives_attribute
            | Rule::after_clause
            | Rule::payload
            | Rule::binding
            | Rule::settle_attribute
    )
}

fn after(parts: Children<'_>) -> Vec<Name> {
    parts.nodes.map(|node| name(Some(node))).collect()
}

fn error_pattern(node: Node<'_>) -> ErrorPattern {
    let mut parts = Children::of(node);
    if parts.take(Rule::wildcard).is_some() {
        return ErrorPattern::Any;
    }
    ErrorPattern::Classes(parts.nodes.map(|node| name(Some(node))).collect())
}
