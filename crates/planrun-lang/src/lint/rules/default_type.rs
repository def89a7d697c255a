//! `default-type`: what stands in a field of a form is none of the choices that the field has.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::StepKind;
use crate::value::Value;

/// A value in a message is cut off there.
const SHOWN: usize = 60;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
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
            // A field of which nothing is known is asked for, and nothing stands in it.
            if value.is_null() || choices.contains(value) {
                continue;
            }
            let told = choices
                .iter()
                .map(|choice| choice.preview(SHOWN))
                .collect::<Vec<_>>();
            let message = format!(
                "{} is not among the choices of `{}`",
                value.preview(SHOWN),
                field.name
            );
            found.push(
                Diagnostic::new(&codes::types::DEFAULT_TYPE, default.span, message)
                    .label(options.span, "these are the choices")
                    .expected(told.join(" | "), value.preview(SHOWN))
                    .help("write one of the choices, or add this one to them")
                    .available(told),
            );
        }
    }
}
