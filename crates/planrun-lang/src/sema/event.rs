//! Checks the conditions of listeners and of `wait for`: steps, tasks, the plan and signals.

use std::sync::Arc;

use super::checker::PlanChecker;
use super::expr::StateTest;
use super::finding::unknown;
use super::plan::{Event, EventKind, PlanTest, TaskTest};
use super::scope::{Lookup, NameKind, Scope as _};
use crate::diag::codes;
use crate::protocol::StepState;
use crate::source::Span;
use crate::syntax::ast;

/// The name of the plan itself.
const PLAN: &str = "plan";
/// The word that tests for any end state.
const SETTLED: &str = "settled";

/// Checks the condition of a listener or a `wait for`.
pub(super) fn check_event(checker: &mut PlanChecker<'_>, condition: &ast::Expr) -> Event {
    Event {
        span: condition.span,
        kind: check_event_kind(checker, condition),
    }
}

fn check_event_kind(checker: &mut PlanChecker<'_>, condition: &ast::Expr) -> EventKind {
    match &condition.kind {
        ast::ExprKind::Signal(name) => EventKind::Signal(name.text.clone()),
        ast::ExprKind::Error => EventKind::Damaged,
        ast::ExprKind::Chain { first, rest }
            if rest
                .iter()
                .all(|link| matches!(link.operator, ast::BinaryOp::And | ast::BinaryOp::Or)) =>
        {
            let any = rest.iter().any(|link| link.operator == ast::BinaryOp::Or);
            let parts = std::iter::once(&**first).chain(rest.iter().map(|link| &link.operand));
            let parts = parts.map(|part| check_event(checker, part)).collect();
            if any {
                EventKind::Any(parts)
            } else {
                EventKind::All(parts)
            }
        }
        ast::ExprKind::Unary { operators, operand }
            if operators
                .iter()
                .all(|(operator, _)| *operator == ast::UnaryOp::Not) =>
        {
            let inner = check_event(checker, operand);
            if operators.len() % 2 == 0 {
                inner.kind
            } else {
                negated(inner).kind
            }
        }
        ast::ExprKind::Is { subject, state } => check_event_state(checker, subject, state),
        ast::ExprKind::Name(name) => check_event_subject(checker, name, condition.span),
        _ => {
            let message = "an event can only refer to steps, tasks, `plan` and signals";
            let help = match condition.kind {
                ast::ExprKind::Literal(ast::Literal::Duration(_)) => {
                    "`wait 3s` waits for a time: remove `for`"
                }
                _ => {
                    "write `x is done` or `signal \"name\"`, combined with `&&` and `||`; put other conditions after `when`"
                }
            };
            checker.report(
                codes::text::UNEXPECTED_TOKEN
                    .at(condition.span, message)
                    .help(help),
            );
            EventKind::Damaged
        }
    }
}

/// Checks `x is STATE`.
fn check_event_state(
    checker: &mut PlanChecker<'_>,
    subject: &ast::Expr,
    state: &ast::Name,
) -> EventKind {
    let ast::ExprKind::Name(name) = &subject.kind else {
        return check_event_kind(checker, subject);
    };
    let word = &*state.text;
    match check_event_subject(checker, name, subject.span) {
        EventKind::Plan(_) => match PlanTest::find(word) {
            Some(test) => EventKind::Plan(test),
            None => report_no_state(
                checker,
                name,
                state,
                PlanTest::WORDS.iter().map(|(word, _)| *word).collect(),
            ),
        },
        EventKind::Task { task: id, .. } => {
            let Some(task) = checker.tasks.get(id.0 as usize) else {
                return EventKind::Damaged;
            };
            // A status with that name takes precedence.
            let settled = (word == SETTLED).then_some(TaskTest::Settled);
            if let Some(test) = task.status(word).map(TaskTest::Is).or(settled) {
                return EventKind::Task { task: id, test };
            }
            let known = task.statuses.clone();
            let known = known
                .iter()
                .map(|status| &**status)
                .chain([SETTLED])
                .collect();
            report_no_state(checker, name, state, known)
        }
        EventKind::Step { place, name, .. } => {
            let settled = (word == SETTLED).then_some(StateTest::Settled);
            if let Some(test) = StepState::find(word).map(StateTest::State).or(settled) {
                return EventKind::Step {
                    place,
                    name,
                    test: Some(test),
                };
            }
            let known = StepState::ALL
                .iter()
                .map(|state| state.name())
                .chain([SETTLED])
                .collect();
            report_no_state(checker, &name, state, known)
        }
        EventKind::Signal(_)
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_)
        | EventKind::Damaged => EventKind::Damaged,
    }
}

fn report_no_state(
    checker: &mut PlanChecker<'_>,
    subject: &str,
    state: &ast::Name,
    known: Vec<&str>,
) -> EventKind {
    let what = format!("status of `{subject}` named");
    let code = &codes::names::UNKNOWN_STATUS;
    let diagnostic = unknown(code, &what, &state.text, state.span, known.into_iter());
    checker.report(diagnostic);
    EventKind::Damaged
}

/// Checks a bare name, which matches any of its events.
fn check_event_subject(checker: &mut PlanChecker<'_>, name: &Arc<str>, span: Span) -> EventKind {
    checker.note_read(name);
    if &**name == PLAN {
        return EventKind::Plan(PlanTest::Any);
    }
    if let Some(task) = checker.task_named(name) {
        return EventKind::Task {
            task,
            test: TaskTest::Any,
        };
    }
    match checker.names.lookup(name) {
        Lookup::Found(binding) if binding.kind == NameKind::Step => {
            return EventKind::Step {
                place: binding.place,
                name: name.clone(),
                test: None,
            };
        }
        Lookup::Found(_) | Lookup::Namespace => {
            let message = format!("`{name}` is neither a step nor a task, so it has no events");
            checker.report(codes::names::UNKNOWN_NAME.at(span, message));
        }
        Lookup::Later(later) => {
            let message = format!("`{name}` is defined later");
            let diagnostic = codes::names::USE_BEFORE_DEFINITION.at(span, message);
            checker.report(
                diagnostic
                    .label(later, "it is defined here")
                    .help("move this below its definition"),
            );
        }
        Lookup::Missing => {
            let visible = checker.names.visible();
            let known = visible.iter().map(|name| &**name);
            let code = &codes::names::UNKNOWN_NAME;
            checker.report(unknown(code, "step or task", name, span, known));
        }
    }
    EventKind::Damaged
}

/// Returns the negation of a condition. Only leaves are negated, so that each still has its value.
fn negated(event: Event) -> Event {
    let all = |parts: Vec<Event>| parts.into_iter().map(negated).collect();
    let kind = match event.kind {
        EventKind::Not(inner) => inner.kind,
        EventKind::All(parts) => EventKind::Any(all(parts)),
        EventKind::Any(parts) => EventKind::All(all(parts)),
        EventKind::Damaged => EventKind::Damaged,
        kind @ (EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Signal(_)) => EventKind::Not(Box::new(Event {
            span: event.span,
            kind,
        })),
    };
    Event {
        span: event.span,
        kind,
    }
}
