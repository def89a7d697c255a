//! Prints `test` items and their statements.

use super::expressions::print_expr_not_beginning_with;
use super::parts::{Part, present, print_parts};
use super::printer::{Brackets, Printer};
use super::steps::print_failure;
use super::texts::print_plain_text;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, MockOutcome, MockOutcomeKind, MockTarget, Test, TestStatement, TestStatementKind,
};
use crate::syntax::print::{Style, print_arguments, print_value};

pub(super) fn print_test<'a>(out: &mut Printer<'a>, test: &'a Test, item: Span) {
    out.keyword("test");
    print_plain_text(out, &test.name);
    out.word(" for ");
    if let Some(namespace) = &test.namespace {
        out.name(namespace);
        out.word(".");
    }
    out.name(&test.plan);
    out.word(" ");
    let region = Span::from(out.comments.seek(test.plan.span.end, b'{')..item.end);
    out.list(
        Brackets::BLOCK,
        region,
        &test.body,
        |statement| statement.span,
        print_test_statement,
    );
}

fn print_test_statement<'a>(out: &mut Printer<'a>, statement: &'a TestStatement) {
    match &statement.kind {
        TestStatementKind::Given(value) => {
            out.keyword("given");
            print_value(out, value);
        }
        TestStatementKind::Mock {
            target,
            arguments,
            outcomes,
        } => {
            print_mock(out, target, arguments.as_deref(), outcomes);
        }
        TestStatementKind::Answer { path, outcome } => {
            out.keyword("answer");
            print_value(out, path);
            out.word(" => ");
            print_outcome(out, outcome);
        }
        TestStatementKind::Signal { name, payload, at } => {
            out.keyword("signal");
            print_plain_text(out, name);
            if let Some(payload) = payload {
                out.word(" => ");
                print_value(out, payload);
            }
            let behind = payload
                .as_ref()
                .map_or(name.span.end, |payload| payload.span.end);
            out.grouped(|out| print_parts(out, behind, &[Part::Expr("at ", at)]));
        }
        TestStatementKind::Expect(value) => {
            out.keyword("expect");
            print_expr_not_beginning_with(out, value, &["diagnostics"], true);
        }
        TestStatementKind::ExpectDiagnostics(codes) => {
            out.keyword("expect");
            out.word("diagnostics ");
            let end = statement.span.end;
            let first = codes.first().map_or(end, |code| code.span.start);
            let region = Span::from(first.saturating_sub(1)..end);
            out.list(
                Brackets::LIST,
                region,
                codes,
                |code| code.span,
                |out, code| out.word(&*code.text),
            );
        }
        TestStatementKind::Snapshot(what) => {
            out.keyword("snapshot");
            out.name(what);
        }
        TestStatementKind::Error => {}
    }
}

fn print_mock<'a>(
    out: &mut Printer<'a>,
    target: &'a MockTarget,
    arguments: Option<&'a [Argument]>,
    outcomes: &'a [MockOutcome],
) {
    out.keyword("mock");
    match target {
        MockTarget::Every => out.word("_"),
        MockTarget::Tool { namespace, tool } => {
            out.name(namespace);
            out.word(".");
            out.name(tool);
        }
    }
    if let (Some(arguments), MockTarget::Tool { tool, .. }) = (arguments, target) {
        let behind = arguments
            .last()
            .map_or(tool.span.end, |argument| argument.span.end);
        let end = out.comments.seek(behind, b')') + 1;
        print_arguments(out, arguments, Span::from(tool.span.end..end));
    }
    out.word(" => ");
    out.begin();
    let mut behind = None;
    for outcome in outcomes {
        match behind {
            None => {
                print_outcome(out, outcome);
                out.indent();
            }
            Some(behind) => {
                out.word(",");
                let slot = out.between(behind, outcome.span.start);
                out.word("then ");
                print_outcome(out, outcome);
                out.hoist(slot, outcome.span.start, outcome.span.end);
            }
        }
        behind = Some(outcome.span.end);
    }
    if behind.is_some() {
        out.dedent();
    }
    out.end();
}

fn print_outcome<'a>(out: &mut Printer<'a>, outcome: &'a MockOutcome) {
    match &outcome.kind {
        MockOutcomeKind::Value(value) => {
            print_expr_not_beginning_with(out, value, &["generated", "crash"], true);
        }
        MockOutcomeKind::Generated => out.word("generated"),
        MockOutcomeKind::Fail {
            class,
            message,
            details,
        } => {
            print_failure(out, class, message.as_ref());
            if let Some(details) = details {
                out.word(" ");
                Part::Expr("details ", details).print(out);
            }
        }
        MockOutcomeKind::Crash { after } => out.word(if *after {
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
        out.word(" ");
        part.print(out);
    }
}
