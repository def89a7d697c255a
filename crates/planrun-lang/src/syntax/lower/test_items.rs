//! Lowers `test` items and what stands in them.

use super::{Children, DamageKind, Lowering, Node, name};
use crate::source::Span;
use crate::syntax::ast::{
    Expr, MockOutcome, MockOutcomeKind, MockTarget, Test, TestStatement, TestStatementKind,
};
use crate::syntax::grammar::quiet::Rule;

impl Lowering<'_> {
    pub(super) fn test_item(&mut self, node: Node<'_>) -> Test {
        let mut parts = Children::of(node);
        let title = parts.take(Rule::text);
        let title = self.plain_text(title);
        let first = name(parts.take(Rule::name));
        let (namespace, plan) = match parts.take(Rule::name) {
            Some(plan) => (Some(first), name(Some(plan))),
            None => (None, first),
        };
        let mut body = Vec::new();
        while let Some(node) = parts.next() {
            let span = self.trim(self.span(&node));
            body.push(TestStatement {
                span,
                kind: self.test_statement(node, span),
            });
        }
        Test {
            name: title,
            namespace,
            plan,
            body,
        }
    }

    fn test_statement(&mut self, node: Node<'_>, span: Span) -> TestStatementKind {
        let rule = node.rule();
        let mut parts = Children::of(node);
        match rule {
            Rule::given_statement => TestStatementKind::Given(self.next_expression(&mut parts)),
            Rule::mock_statement => self.mock(parts),
            Rule::answer_statement => {
                let path = self.next_expression(&mut parts);
                let outcome = parts.next().map(|node| self.outcome(node));
                match outcome {
                    Some(outcome) => TestStatementKind::Answer { path, outcome },
                    None => TestStatementKind::Error,
                }
            }
            Rule::signal_statement => {
                let text = parts.take(Rule::text);
                let name = self.plain_text(text);
                let first = self.next_expression(&mut parts);
                match self.optional_expression(&mut parts) {
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
            Rule::expect_statement => TestStatementKind::Expect(self.next_expression(&mut parts)),
            Rule::expect_diagnostics => TestStatementKind::ExpectDiagnostics(
                parts.nodes.map(|node| name(Some(node))).collect(),
            ),
            Rule::snapshot_statement => TestStatementKind::Snapshot(name(parts.take(Rule::name))),
            _ => {
                self.damaged(span, DamageKind::TestStatement);
                TestStatementKind::Error
            }
        }
    }

    fn mock(&mut self, mut parts: Children<'_>) -> TestStatementKind {
        let target = match parts.take(Rule::wildcard) {
            Some(_) => MockTarget::Every,
            None => MockTarget::Tool {
                namespace: name(parts.take(Rule::name)),
                tool: name(parts.take(Rule::name)),
            },
        };
        let arguments = parts
            .take(Rule::call_arguments)
            .map(|node| self.arguments(node));
        let mut outcomes = Vec::new();
        while let Some(node) = parts.take(Rule::outcome) {
            outcomes.push(self.outcome(node));
        }
        TestStatementKind::Mock {
            target,
            arguments,
            outcomes,
        }
    }

    fn outcome(&mut self, node: Node<'_>) -> MockOutcome {
        let span = self.span(&node);
        let mut parts = Children::of(node);
        let kind = match parts.peek() {
            Some(Rule::expression) => MockOutcomeKind::Value(self.next_expression(&mut parts)),
            Some(Rule::fail_body) => {
                let mut failure = parts.next().map_or_else(
                    || Children {
                        nodes: parts.nodes.clone(),
                    },
                    Children::of,
                );
                let class = name(failure.take(Rule::class_name));
                MockOutcomeKind::Fail {
                    class,
                    message: self.optional_expression(&mut failure),
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
            let place = self.span(&node);
            let is_times = node.rule() == Rule::times_attribute;
            let value = self.next_expression(&mut Children::of(node));
            let (word, slot) = if is_times {
                ("`times`", &mut times)
            } else {
                ("`delay`", &mut delay)
            };
            if slot.replace(value).is_some() {
                self.written_twice(word, place);
            }
        }
        MockOutcome {
            span,
            kind,
            times,
            delay,
        }
    }
}
