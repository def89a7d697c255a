//! Lowers `test` items and their statements.

use super::expressions::{lower_arguments, lower_plain_text, next_expression, optional_expression};
use super::strays::optional_message;
use super::{Children, DamageKind, Lowering, Node, name};
use crate::source::Span;
use crate::syntax::ast::{
    Expr, MockOutcome, MockOutcomeKind, MockTarget, Test, TestStatement, TestStatementKind,
};
use crate::syntax::grammar::parse::Rule;

pub(super) fn lower_test_item(cx: &mut Lowering<'_>, node: Node<'_>) -> Test {
    let mut parts = Children::of(node);
    let title = parts.take(Rule::text);
    let title = lower_plain_text(cx, title);
    let first = name(parts.take(Rule::name));
    let (namespace, plan) = match parts.take(Rule::name) {
        Some(plan) => (Some(first), name(Some(plan))),
        None => (None, first),
    };
    let mut body = Vec::new();
    while let Some(node) = parts.next() {
        let span = cx.trim(cx.span(&node));
        body.push(TestStatement {
            span,
            kind: lower_test_statement(cx, node, span),
        });
    }
    Test {
        name: title,
        namespace,
        plan,
        body,
    }
}

fn lower_test_statement(cx: &mut Lowering<'_>, node: Node<'_>, span: Span) -> TestStatementKind {
    let rule = node.rule();
    let mut parts = Children::of(node);
    match rule {
        Rule::given_statement => TestStatementKind::Given(next_expression(cx, &mut parts)),
        Rule::mock_statement => lower_mock(cx, parts),
        Rule::answer_statement => {
            let path = next_expression(cx, &mut parts);
            let outcome = parts.next().map(|node| lower_outcome(cx, node));
            match outcome {
                Some(outcome) => TestStatementKind::Answer { path, outcome },
                None => TestStatementKind::Error,
            }
        }
        Rule::signal_statement => {
            let text = parts.take(Rule::text);
            let name = lower_plain_text(cx, text);
            let first = next_expression(cx, &mut parts);
            match optional_expression(cx, &mut parts) {
                Some(at) => TestStatementKind::Signal {
                    name,
                    payload: Some(first),
                    at,
                },
                None => TestStatementKind::Signal {
                    name,
                    payload: None,
                    at: first,
                },
            }
        }
        Rule::expect_statement => TestStatementKind::Expect(next_expression(cx, &mut parts)),
        Rule::expect_diagnostics => {
            TestStatementKind::ExpectDiagnostics(parts.nodes.map(|node| name(Some(node))).collect())
        }
        Rule::snapshot_statement => TestStatementKind::Snapshot(name(parts.take(Rule::name))),
        _ => {
            cx.damaged(span, DamageKind::TestStatement);
            TestStatementKind::Error
        }
    }
}

fn lower_mock(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> TestStatementKind {
    let target = match parts.take(Rule::wildcard) {
        Some(_) => MockTarget::Every,
        None => MockTarget::Tool {
            namespace: name(parts.take(Rule::name)),
            tool: name(parts.take(Rule::name)),
        },
    };
    let arguments = parts
        .take(Rule::call_arguments)
        .map(|node| lower_arguments(cx, node));
    let mut outcomes = Vec::new();
    while let Some(node) = parts.take(Rule::outcome) {
        outcomes.push(lower_outcome(cx, node));
    }
    TestStatementKind::Mock {
        target,
        arguments,
        outcomes,
    }
}

fn lower_outcome(cx: &mut Lowering<'_>, node: Node<'_>) -> MockOutcome {
    let span = cx.span(&node);
    let mut parts = Children::of(node);
    let kind = match parts.peek() {
        Some(Rule::expression) => MockOutcomeKind::Value(next_expression(cx, &mut parts)),
        Some(Rule::fail_body) => {
            let mut failure = parts.next().map_or_else(
                || Children {
                    nodes: parts.nodes.clone(),
                },
                Children::of,
            );
            let class = name(failure.take(Rule::class_name));
            let message = optional_message(cx, &mut failure);
            let details = parts.take(Rule::details_attribute);
            MockOutcomeKind::Fail {
                class,
                message,
                details: details.map(|node| Box::new(next_expression(cx, &mut Children::of(node)))),
            }
        }
        Some(Rule::outcome_crash) => MockOutcomeKind::Crash {
            after: parts
                .next()
                .is_some_and(|node| node.text().ends_with("after")),
        },
        _ => {
            parts.next();
            MockOutcomeKind::Generated
        }
    };
    let (mut times, mut delay): (Option<Expr>, Option<Expr>) = (None, None);
    while let Some(node) = parts.next() {
        let place = cx.span(&node);
        let is_times = node.rule() == Rule::times_attribute;
        let value = next_expression(cx, &mut Children::of(node));
        let (word, slot) = if is_times {
            ("`times`", &mut times)
        } else {
            ("`delay`", &mut delay)
        };
        if slot.replace(value).is_some() {
            cx.written_twice(word, place);
        }
    }
    MockOutcome {
        span,
        kind,
        times,
        delay,
    }
}
