//! `default-type`: the initial value of a form's field is not among the field's options.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::StepKind;
use crate::value::Value;

/// Maximum number of characters of a value in a message.
const MAX_VALUE_CHARACTERS: usize = 60;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let StepKind::Input(input) = &site.step.kind else {
            continue;
        };
        for field in &input.fields {
            let written = field.prefill.as_ref().or(field.known.as_ref());
            let (Some(default), Some(options)) = (written, &field.options) else {
                continue;
            };
            let (Some(value), Some(Value::List(choices))) =
                (subject.known(default), subject.known(options))
            else {
                continue;
            };
            // A field whose value is null is asked for and is initially empty.
            if value.is_null() || choices.contains(value) {
                continue;
            }
            let listed = choices
                .iter()
                .map(|choice| choice.preview(MAX_VALUE_CHARACTERS))
                .collect::<Vec<_>>();
            let message = format!(
                "{} is not among the choices of `{}`",
                value.preview(MAX_VALUE_CHARACTERS),
                field.name
            );
            found.push(
                codes::types::DEFAULT_TYPE
                    .at(default.span, message)
                    .label(options.span, "these are the choices")
                    .expected(listed.join(" | "), value.preview(MAX_VALUE_CHARACTERS))
                    .help("use one of the choices, or add this value to them")
                    .available(listed),
            );
        }
    }
}
