//! `retry-repeats-effect`: an effect is to be sent again after an error that says that it may have happened.

use super::Subject;
use super::subject::tool_call;
use crate::diag::{Diagnostic, codes};
use crate::types::{ErrorClass, ErrorPattern, Signature};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let (Some(retry), Some((call, signature))) = (site.step.retry(), tool_call(site.step))
        else {
            continue;
        };
        if call.effect.repeatable() {
            continue;
        }
        let inherited = subject.retry();
        let patterns = retry
            .on
            .as_ref()
            .or(inherited.on.as_ref())
            .into_iter()
            .flatten();
        for (name, why) in patterns.filter_map(|pattern| may_have_happened(pattern, signature)) {
            let Some(clause) = site.step.clause_spans("retry").next() else {
                continue;
            };
            let message = format!(
                "after `{name}` this effect may have happened, and a retry would do it twice"
            );
            let finding = Diagnostic::new(&codes::failure::RETRY_REPEATS_EFFECT, subject.word(clause, &name), message)
                .note(why)
                .help(format!(
                    "take `{name}` out of `on`: it becomes `unknown_outcome` and is never retried; catch that with \
                     `recover unknown_outcome => …` and look whether it happened"
                ));
            found.push(finding);
        }
    }
}

/// The error that a pattern names outright, where an effect may have happened after it, and why.
fn may_have_happened(
    pattern: &ErrorPattern,
    signature: &Signature,
) -> Option<(String, &'static str)> {
    match pattern {
        ErrorPattern::Class(class @ ErrorClass::UnknownOutcome) => {
            Some((class.to_string(), "sent, and no answer came"))
        }
        ErrorPattern::Class(class @ ErrorClass::Tool(name))
            if signature.may_have_happened.contains(name) =>
        {
            Some((class.to_string(), "the contract says: happened, maybe"))
        }
        ErrorPattern::Class(_) | ErrorPattern::Family(_) => None,
    }
}
