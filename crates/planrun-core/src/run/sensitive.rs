//! Paths of sensitive values in arguments, results and answers. These values are redacted wherever they occur in the
//! output of a run.

use std::sync::Arc;

use planrun_lang::call::{sensitive_arguments, sensitive_result};
use planrun_lang::sema::{Step, StepKind};
use planrun_lang::value::{Value, path_below};

use crate::journal::Waiting;

/// Returns the sensitive paths in this value of a step; the empty path denotes the whole value.
pub(super) fn in_output(step: &Step, value: &Value) -> Vec<Arc<str>> {
    match step.tool() {
        Some(signature) => sensitive_result(signature, value),
        None => in_form(step),
    }
}

/// Returns the sensitive paths in the fields of a form; none if the step is not one.
pub(super) fn in_form(step: &Step) -> Vec<Arc<str>> {
    let StepKind::Input(input) = &step.kind else {
        return Vec::new();
    };
    let of_field = |field: &planrun_lang::sema::InputField| {
        let name = field.name.clone();
        field
            .sensitive
            .iter()
            .map(move |path| path_below(&name, path))
            .collect::<Vec<_>>()
    };
    input.fields.iter().flat_map(of_field).collect()
}

/// Returns the sensitive paths in the arguments of a step; for a form, in the known and prefilled fields.
pub(super) fn in_arguments(step: &Step, arguments: &Value) -> Vec<Arc<str>> {
    if let Some(signature) = step.tool() {
        return sensitive_arguments(signature, arguments);
    }
    in_form(step)
}

/// Returns paths in a field of an event.
pub(super) fn below(field: &str, paths: &[Arc<str>]) -> Vec<Arc<str>> {
    paths.iter().map(|path| path_below(field, path)).collect()
}

/// Returns the sensitive paths in the answer to a question of this kind about a step.
pub(super) fn in_answer(step: &Step, kind: Waiting, answer: &Value) -> Vec<Arc<str>> {
    match kind {
        Waiting::Input => in_form(step),
        // The answer contains the value of the call.
        Waiting::Answer => {
            let value = answer.get("value").unwrap_or(&Value::Null);
            below("value", &in_output(step, value))
        }
        Waiting::Confirm
        | Waiting::Approval
        | Waiting::Peer
        | Waiting::Retry
        | Waiting::Poll
        | Waiting::Outcome
        | Waiting::Effects
        | Waiting::Time => Vec::new(),
    }
}
