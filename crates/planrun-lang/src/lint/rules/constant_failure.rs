//! `constant-failure`: an expression that fails in every run that reaches it, or a promise that never holds.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::eval::Lost;
use crate::sema::NodeKind;
use crate::source::Span;
use crate::value::Value;

/// A value in a message is cut off there.
const SHOWN: usize = 60;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    found.extend(subject.constants().lost().iter().map(finding));
    for node in subject.plan.nodes() {
        let NodeKind::Ensure { condition, .. } = &node.kind else {
            continue;
        };
        if let Some(Value::Bool(false)) = subject.known(condition)
            && !condition.is_invalid()
        {
            found.push(
                Diagnostic::new(
                    &codes::order::CONSTANT_FAILURE,
                    condition.span,
                    "this is never true, so `ensure` always fails",
                )
                .note("false in every run")
                .help("compare with a value of the run; to end the plan here on purpose, write `fail`"),
            );
        }
    }
}

/// What is said of an expression that always fails, with the values that led to it.
pub(in crate::lint) fn finding(lost: &Lost) -> Diagnostic {
    let message = format!("this always fails: {}", lost.error.message);
    let finding = Diagnostic::new(&codes::order::CONSTANT_FAILURE, lost.error.span, message)
        .note("fails whenever it is evaluated")
        .help("correct the value, or take one that only the run knows");
    let mut told: Vec<Span> = Vec::new();
    lost.led.iter().fold(finding, |finding, led| {
        if told.contains(&led.span) {
            return finding;
        }
        told.push(led.span);
        finding.label(
            led.span,
            format!("`{}` is {}", led.name, led.value.preview(SHOWN)),
        )
    })
}
