//! `retry-repeats-effect`: an effect is retried after an error that leaves open whether it happened.

use super::Subject;
use super::subject::tool_call;
use crate::diag::{Diagnostic, codes};
use crate::types::{ErrorClass, ErrorPattern, Signature};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
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
                "after `{name}` this effect may have happened, and a retry would repeat it"
            );
            let finding = codes::failure::RETRY_REPEATS_EFFECT
                .at(subject.word(clause, &name), message)
                .note(why)
                .help(format!(
                    "remove `{name}` from `on`: it becomes `unknown_outcome` and is never retried; catch that with `recover unknown_outcome => …` and verify whether it happened"
                ));
            found.push(finding);
        }
    }
}

/// Returns the error that a pattern names, and the reason, if the effect may have happened despite it.
fn may_have_happened(
    pattern: &ErrorPattern,
    signature: &Signature,
) -> Option<(String, &'static str)> {
    match pattern {
        ErrorPattern::Class(class @ ErrorClass::UnknownOutcome) => {
            Some((class.to_string(), "sent, but no answer was received"))
        }
        ErrorPattern::Class(class @ ErrorClass::Tool(name))
            if signature.may_have_happened.contains(name) =>
        {
            Some((
                class.to_string(),
                "the contract states that it may have happened",
            ))
        }
        ErrorPattern::Class(_) | ErrorPattern::Family(_) => None,
    }
}
