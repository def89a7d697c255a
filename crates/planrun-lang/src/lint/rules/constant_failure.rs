//! `constant-failure` and `schema-violation`: an expression or a call that fails in every run that evaluates it, or an
//! `ensure` that is always false.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::eval::ConstantFailure;
use crate::sema::NodeKind;
use crate::source::Span;
use crate::value::Value;

/// Maximum number of characters of a value in a message.
const MAX_VALUE_CHARACTERS: usize = 60;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    found.extend(subject.constants().failures().iter().map(finding));
    for node in subject.plan.nodes() {
        let NodeKind::Ensure { condition, .. } = &node.kind else {
            continue;
        };
        if let Some(Value::Bool(false)) = subject.known(condition)
            && !condition.is_invalid()
        {
            found.push(
                codes::order::CONSTANT_FAILURE
                    .at(condition.span, "this is never true, so `ensure` always fails")
                    .note("false in every run")
                    .help("compare with a value that is known only at run time; to end the plan here on purpose, write `fail`"),
            );
        }
    }
}

/// Returns the diagnostic for an expression that always fails, with labels for the values that cause the failure.
pub(in crate::lint) fn finding(failure: &ConstantFailure) -> Diagnostic {
    let error = &failure.error;
    let finding = if failure.breaks_contract {
        codes::types::SCHEMA_VIOLATION
            .at(error.span, error.message.to_string())
            .help("change the value to one that the contract allows")
    } else {
        let message = format!("this always fails: {}", error.message);
        codes::order::CONSTANT_FAILURE
            .at(error.span, message)
            .note("fails whenever it is evaluated")
            .help("correct the value, or use one that is known only at run time")
    };
    let mut labeled: Vec<Span> = Vec::new();
    failure.causes.iter().fold(finding, |finding, cause| {
        if labeled.contains(&cause.span) {
            return finding;
        }
        labeled.push(cause.span);
        finding.label(
            cause.span,
            format!(
                "`{}` is {}",
                cause.name,
                cause.value.preview(MAX_VALUE_CHARACTERS)
            ),
        )
    })
}
