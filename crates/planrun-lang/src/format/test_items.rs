//! Prints `test` items and what stands in them.

use super::parts::{Part, present};
use super::printer::{Brackets, Printer};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, MockOutcome, MockOutcomeKind, MockTarget, Test, TestStatement, TestStatementKind,
};

impl<'a> Printer<'a> {
    pub fn test(&mut self, test: &'a Test, item: Span) {
        self.keyword("test");
        self.plain_text(&test.name);
        self.word(" for ");
        if let Some(namespace) = &test.namespace {
            self.name(namespace);
            self.word(".");
        }
        self.name(&test.plan);
        self.word(" ");
        let region = Span {
            start: self.comments.seek(test.plan.span.end, b'{'),
            end: item.end,
        };
        self.list(
            Brackets::BLOCK,
            region,
            &test.body,
            |statement| statement.span,
            Self::test_statement,
        );
    }

    fn test_statement(&mut self, statement: &'a TestStatement) {
        match &statement.kind {
            TestStatementKind::Given(value) => {
                self.keyword("given");
                self.value(value);
            }
            TestStatementKind::Mock {
                target,
                arguments,
                outcomes,
            } => {
                self.mock(target, arguments.as_deref(), outcomes);
            }
            TestStatementKind::Answer { path, outcome } => {
                self.keyword("answer");
                self.value(path);
                self.word(" => ");
                self.outcome(outcome);
            }
            TestStatementKind::Signal { name, payload, at } => {
                self.keyword("signal");
                self.plain_text(name);
                if let Some(payload) = payload {
                    self.word(" => ");
                    self.value(payload);
                }
                let behind = payload
                    .as_ref()
                    .map_or(name.span.end, |payload| payload.span.end);
                self.grouped(|this| this.parts(behind, &[Part::Expr("at ", at)]));
            }
            TestStatementKind::Expect(value) => {
                self.keyword("expect");
                self.expr_not_beginning_with(value, &["diagnostics"], true);
            }
            TestStatementKind::ExpectDiagnostics(codes) => {
                self.keyword("expect");
                self.word("diagnostics ");
                let end = statement.span.end;
                let first = codes.first().map_or(end, |code| code.span.start);
                let region = Span {
                    start: first.saturating_sub(1),
                    end,
                };
                self.list(
                    Brackets::LIST,
                    region,
                    codes,
                    |code| code.span,
                    |this, code| this.word(&*code.text),
                );
            }
            TestStatementKind::Snapshot(what) => {
                self.keyword("snapshot");
                self.name(what);
            }
            TestStatementKind::Error => {}
        }
    }

    fn mock(
        &mut self,
        target: &'a MockTarget,
        arguments: Option<&'a [Argument]>,
        outcomes: &'a [MockOutcome],
    ) {
        self.keyword("mock");
        match target {
            MockTarget::Every => self.word("_"),
            MockTarget::Tool { namespace, tool } => {
                self.name(namespace);
                self.word(".");
                self.name(tool);
            }
        }
        if let (Some(arguments), MockTarget::Tool { tool, .. }) = (arguments, target) {
            let behind = arguments
                .last()
                .map_or(tool.span.end, |argument| argument.span.end);
            let end = self.comments.seek(behind, b')') + 1;
            self.arguments(
                arguments,
                Span {
                    start: tool.span.end,
                    end,
                },
            );
        }
        self.word(" => ");
        self.begin();
        let mut behind = None;
        for outcome in outcomes {
            match behind {
                None => {
                    self.outcome(outcome);
                    self.indent();
                }
                Some(behind) => {
                    self.word(",");
                    let slot = self.between(behind, outcome.span.start);
                    self.word("then ");
                    self.outcome(outcome);
                    self.hoist(slot, outcome.span.start, outcome.span.end);
                }
            }
            behind = Some(outcome.span.end);
        }
        if behind.is_some() {
            self.dedent();
        }
        self.end();
    }

    fn outcome(&mut self, outcome: &'a MockOutcome) {
        match &outcome.kind {
            MockOutcomeKind::Value(value) => {
                self.expr_not_beginning_with(value, &["generated", "crash"], true);
            }
            MockOutcomeKind::Generated => self.word("generated"),
            MockOutcomeKind::Fail { class, message } => self.failure(class, message.as_ref()),
            MockOutcomeKind::Crash { after } => self.word(if *after {
                "crash after"
            } else {
                "crash before"
            }),
        }
        for part in present([
            outcome
                .times
                .as_ref()
                .map(|times| Part::Expr("times ", times)),
            outcome
                .delay
                .as_ref()
                .map(|delay| Part::Expr("delay ", delay)),
        ]) {
            self.word(" ");
            part.print(self);
        }
    }
}
