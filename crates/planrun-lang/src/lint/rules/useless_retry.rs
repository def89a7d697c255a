//! `useless-retry`: a retry that can never make a second attempt, or has nothing to try again.

use super::Subject;
use super::subject::tool_call;
use crate::diag::{Diagnostic, codes};
use crate::types::{Effect, Signature};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let (Some(retry), Some((call, signature))) = (site.step.retry(), tool_call(site.step))
        else {
            continue;
        };
        let once = retry.attempts == Some(1) && retry.pause_when_exhausted != Some(true);
        let message = if never_fails(signature) {
            format!(
                "`{}` never fails, so there is nothing to try again",
                signature.path()
            )
        } else if once && !call.effect.repeatable() {
            format!(
                "one attempt is all that a call of class `{}` gets without this",
                call.effect
            )
        } else {
            continue;
        };
        for clause in site.step.clause_spans("retry") {
            let finding = Diagnostic::new(&codes::failure::USELESS_RETRY, clause, message.clone())
                .help("remove the clause, or raise `attempts`: it counts all attempts, the first included")
                .fix("remove the clause", clause, "");
            found.push(finding);
        }
    }
}

/// Whether no answer of the tool is a failure: the built-in ones that only look at this machine, or at nothing.
fn never_fails(signature: &Signature) -> bool {
    &*signature.namespace == "sys"
        && &*signature.name != "fail"
        && signature.effect < Effect::Idempotent
}
