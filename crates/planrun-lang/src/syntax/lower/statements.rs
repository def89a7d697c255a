//! Lowers blocks and statements, and reports misplaced ones.

use std::sync::Arc;

use super::clauses::{Attributes, lower_clauses, lower_object, read_attributes};
use super::expressions::{lower_plain_text, next_expression};
use super::steps::{lower_damaged_step, lower_step};
use super::strays::{missing_do, optional_message};
use super::type_expressions::{lower_object_type, optional_type};
use super::{Children, DamageKind, Lowering, Node, name};
use crate::diag::misspelt;
use crate::source::Span;
use crate::syntax::ast::{
    Block, Expr, Guarded, Name, Statement, StatementKind, Step, StepBody, Text, TypeExpr,
    TypeExprKind,
};
use crate::syntax::grammar::parse::Rule;
use crate::syntax::place::Place;
use crate::syntax::scan::STATEMENT_WORDS;

/// Lowers the next child if it is a `block`; otherwise returns an empty one.
pub(super) fn next_block(cx: &mut Lowering<'_>, items: &mut Children<'_>, place: Place) -> Block {
    let Some(node) = items.take(Rule::block) else {
        return Block::default();
    };
    let span = cx.span(&node);
    let nodes = node.inner();
    let mut statements = Vec::with_capacity(nodes.len());
    for node in nodes {
        lower_statement(cx, node, place, &mut statements);
    }
    Block { span, statements }
}

/// Lowers statements in braces that lack their `do`, or the `=> do` of a handler, and reports what is missing.
pub(super) fn block_without_do(cx: &mut Lowering<'_>, parts: &mut Children<'_>) -> Option<Block> {
    let (node, missing) = match parts.take(Rule::stray_do) {
        Some(node) => (node, "do"),
        None => (parts.take(Rule::stray_handler)?, "=> do"),
    };
    missing_do(cx, cx.span(&node), missing);
    Some(next_block(cx, &mut Children::of(node), Place::Value))
}

pub(super) fn lower_statement(
    cx: &mut Lowering<'_>,
    node: Node<'_>,
    place: Place,
    statements: &mut Vec<Statement>,
) {
    let span = cx.trim(cx.span(&node));
    let doc = cx.doc_above(span.start);
    let rule = node.rule();
    let mut parts = Children::of(node);
    check_place(cx, rule, span, place);
    let kind = match rule {
        Rule::step_statement => StatementKind::Step(Box::new(lower_step(cx, parts, span))),
        Rule::damaged_step => StatementKind::Step(Box::new(lower_damaged_step(cx, parts, span))),
        Rule::let_statement => {
            let word = parts.take(Rule::name);
            let name = cx.variable(word);
            let ty = optional_type(cx, &mut parts).map(Box::new);
            StatementKind::Let {
                name,
                ty,
                value: next_expression(cx, &mut parts),
            }
        }
        Rule::reply_statement => StatementKind::Reply(lower_guarded(cx, parts)),
        Rule::yield_statement => StatementKind::Yield(lower_guarded(cx, parts)),
        Rule::next_statement => StatementKind::Next(lower_guarded(cx, parts)),
        Rule::policy_statement => StatementKind::Policy(lower_object(cx, parts.next())),
        Rule::allow_statement => StatementKind::Allow(lower_object(cx, parts.next())),
        Rule::if_statement => lower_if_statement(cx, parts, place),
        Rule::parallel_statement => {
            StatementKind::Parallel(next_block(cx, &mut parts, Place::Parallel))
        }
        Rule::task_statement => lower_task(cx, parts),
        Rule::set_statement => lower_set(cx, parts),
        Rule::ensure_statement => {
            let condition = next_expression(cx, &mut parts);
            StatementKind::Ensure {
                condition,
                message: Box::new(next_expression(cx, &mut parts)),
            }
        }
        Rule::fail_statement => {
            let class = name(parts.take(Rule::class_name));
            let message = optional_message(cx, &mut parts).map(Box::new);
            StatementKind::Fail {
                class,
                message,
                when: optional_when(cx, &mut parts),
            }
        }
        Rule::listener_statement | Rule::damaged_listener => lower_listener(cx, parts, span),
        Rule::junk_statement => lower_junk_statement(cx, parts, span),
        _ => StatementKind::Error,
    };
    statements.push(Statement { span, doc, kind });
}

/// Reports a statement that is not allowed in its block.
fn check_place(cx: &mut Lowering<'_>, rule: Rule, span: Span, place: Place) {
    let word = match rule {
        Rule::policy_statement => "policy",
        Rule::allow_statement => "allow",
        Rule::reply_statement => "reply",
        Rule::yield_statement => "yield",
        Rule::next_statement => "next",
        Rule::task_statement => "task",
        Rule::set_statement => "set",
        Rule::listener_statement => "listener",
        Rule::ensure_statement => "ensure",
        Rule::fail_statement => "fail",
        Rule::parallel_statement => "parallel",
        _ => return,
    };
    let start = span.start as usize;
    cx.diagnostics
        .extend(place.refuses(word, Span::new(start, start + word.len())));
}

fn lower_guarded(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> Guarded {
    let value = next_expression(cx, &mut parts);
    Guarded {
        value,
        when: optional_when(cx, &mut parts),
    }
}

fn optional_when(cx: &mut Lowering<'_>, parts: &mut Children<'_>) -> Option<Box<Expr>> {
    let node = parts.take(Rule::when_clause)?;
    Some(Box::new(next_expression(cx, &mut Children::of(node))))
}

fn lower_if_statement(
    cx: &mut Lowering<'_>,
    mut parts: Children<'_>,
    place: Place,
) -> StatementKind {
    let mut arms = Vec::new();
    while let Some(node) = parts.take(Rule::if_arm) {
        let start = cx.span(&node);
        let mut arm = Children::of(node);
        let condition = match arm.take(Rule::junk_head) {
            Some(junk) => damaged_head(cx, start, &junk),
            None => next_expression(cx, &mut arm),
        };
        arms.push((condition, next_block(cx, &mut arm, place.inner())));
    }
    let otherwise = parts
        .nodes
        .peek()
        .map(|_| next_block(cx, &mut parts, place.inner()));
    StatementKind::If { arms, otherwise }
}

/// Records that the text before a body could not be parsed; `whole` begins with it.
pub(super) fn damaged_head(cx: &mut Lowering<'_>, whole: Span, junk: &Node<'_>) -> Expr {
    let junk = cx.span(junk);
    cx.damaged(Span::from(whole.start..junk.end), DamageKind::Statement);
    super::missing(cx.trim(junk))
}

fn lower_task(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> StatementKind {
    let word = parts.take(Rule::name);
    let name = cx.variable(word);
    let title = parts.take(Rule::text);
    let title = lower_plain_text(cx, title);
    let (mut statuses, mut context, mut external) = (None, None, false);
    while let Some(node) = parts.next() {
        let place = cx.span(&node);
        let (word, twice) = match node.rule() {
            Rule::task_statuses => {
                let names: Vec<Name> = node.inner().map(|node| super::name(Some(node))).collect();
                ("`statuses`", statuses.replace(names).is_some())
            }
            Rule::type_object => (
                "the context",
                context
                    .replace(Box::new(lower_object_type(cx, node)))
                    .is_some(),
            ),
            _ => ("`external`", std::mem::replace(&mut external, true)),
        };
        if twice {
            cx.written_twice(word, place);
        }
    }
    StatementKind::Task {
        name,
        title,
        statuses: statuses.unwrap_or_default(),
        context,
        external,
    }
}

fn lower_set(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> StatementKind {
    let task = name(parts.take(Rule::name));
    let status = name(parts.take(Rule::name));
    let context = parts
        .take(Rule::object)
        .map(|node| Box::new(lower_object(cx, Some(node))));
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    StatementKind::Set {
        task,
        status,
        context,
        when: attributes.when,
        after: attributes.after,
    }
}

fn lower_listener(cx: &mut Lowering<'_>, mut parts: Children<'_>, whole: Span) -> StatementKind {
    let word = parts.take(Rule::name);
    let damaged = parts.peek() == Some(Rule::junk_head);
    let name = if damaged {
        name(word)
    } else {
        cx.variable(word)
    };
    let on = match parts.take(Rule::junk_head) {
        Some(junk) => damaged_head(cx, whole, &junk),
        None => next_expression(cx, &mut parts),
    };
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    StatementKind::Listener {
        name,
        on: Box::new(on),
        payload: attributes.payload,
        binding: attributes.binding,
        when: attributes.when,
        max: attributes.max,
        body: next_block(cx, &mut parts, Place::Listener),
    }
}

/// Lowers text that is not a statement. The name it seems to declare stays declared, so that uses of it are not
/// reported as well.
fn lower_junk_statement(
    cx: &mut Lowering<'_>,
    mut parts: Children<'_>,
    whole: Span,
) -> StatementKind {
    parts.take(Rule::junk_run);
    let end = parts
        .nodes
        .peek()
        .map_or(whole.end, |next| cx.span(&next).start);
    let head = cx.trim(Span::from(whole.start..end));
    cx.damaged(head, DamageKind::Statement);
    let block = next_block(cx, &mut parts, Place::Unknown);
    let clauses = lower_clauses(cx, &mut parts, Vec::new());
    let words = cx.text.get(head.range()).unwrap_or("");
    if misspelt(words, ["parallel"]).is_some() {
        return StatementKind::Parallel(block);
    }
    match declared(cx.text, head) {
        Some(StatementKind::Step(step)) => StatementKind::Step(Box::new(Step { clauses, ..*step })),
        Some(other) => other,
        None => StatementKind::Error,
    }
}

/// Guesses by its first words the statement that a damaged text was meant to be: `let x …`, `task x …`, `stpe x = …`,
/// `x = …`.
fn declared(text: &str, head: Span) -> Option<StatementKind> {
    let head = without_doubled_word(text, head);
    let slice = text.get(head.range()).unwrap_or("");
    let mut words = slice.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_'));
    let first = words.next()?;
    let keyword = first.trim_end();
    let second = words.next().unwrap_or("");
    let named = |word: &str, at: usize| {
        let word = word.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        let starts = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let start = head.start as usize + at;
        starts.then(|| Name::new(Arc::from(word), Span::new(start, start + word.len())))
    };
    let name = named(second, first.len());
    let behind_second = slice
        .get(first.len() + second.trim_end().len()..)
        .unwrap_or("")
        .trim_start();
    let is_task =
        behind_second.starts_with('"') && keyword != "ask" && misspelt(keyword, ["task"]).is_some();
    match keyword {
        _ if is_task => name.map(|name| undefined_task(name, head)),
        "let" => name.map(|name| StatementKind::Let {
            name,
            ty: Some(Box::new(unknown_type(head))),
            value: super::missing(head),
        }),
        "task" => name.map(|name| undefined_task(name, head)),
        // These declare no name; a damaged `listener` has a rule of its own.
        "reply" | "yield" | "next" | "ensure" | "fail" | "set" | "listener" | "if" | "policy"
        | "allow" => None,
        _ => {
            let behind_first = slice.get(keyword.len()..).unwrap_or("");
            let name = if is_assignment(behind_first) {
                named(keyword, 0)
            } else if first.ends_with(' ') && is_assignment(behind_second) {
                name
            } else {
                None
            }?;
            Some(StatementKind::Step(Box::new(Step {
                name,
                body: StepBody::Error,
                clauses: Vec::new(),
            })))
        }
    }
}

/// Returns the span without its first word if that is the beginning of a statement, written twice.
fn without_doubled_word(text: &str, head: Span) -> Span {
    let slice = text.get(head.range()).unwrap_or("");
    let mut words = slice.split_whitespace();
    match (words.next(), words.next()) {
        (Some(first), Some(second)) if first == second && STATEMENT_WORDS.contains(&first) => {
            let rest = slice.get(first.len()..).unwrap_or("").trim_start();
            Span::new(head.end as usize - rest.len(), head.end as usize)
        }
        _ => head,
    }
}

fn unknown_type(span: Span) -> TypeExpr {
    TypeExpr {
        span,
        kind: TypeExprKind::Error,
    }
}

/// Returns a task of which only the name is known.
fn undefined_task(name: Name, span: Span) -> StatementKind {
    StatementKind::Task {
        name,
        title: empty(span),
        statuses: Vec::new(),
        context: Some(Box::new(unknown_type(span))),
        external: false,
    }
}

/// Returns true if the text after a name is an assignment.
fn is_assignment(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('=') && !rest.starts_with("==")
}

fn empty(span: Span) -> Text {
    Text {
        text: Arc::from(""),
        span,
    }
}
