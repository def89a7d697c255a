//! `useless-retry`: a `retry` that can never make a second attempt.

use super::Subject;
use super::subject::tool_call;
use crate::diag::{Diagnostic, codes};
use crate::types::{Effect, Signature};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let (Some(retry), Some((call, signature))) = (site.step.retry(), tool_call(site.step))
        else {
            continue;
        };
        let once = retry.attempts == Some(1) && retry.pause_when_exhausted != Some(true);
        let by_project = subject.project.calls;
        let repeated = by_project.is_some_and(|calls| calls.retries(signature));
        let message = if never_fails(signature) && site.step.timeout().is_none() {
            format!(
                "`{}` never fails, so there is nothing to retry",
                signature.path()
            )
        } else if once && !call.effect.repeatable() && !repeated {
            format!(
                "a call of class `{}` is attempted only once even without this",
                call.effect
            )
        } else {
            continue;
        };
        for clause in site.step.clause_spans("retry") {
            let finding = codes::failure::USELESS_RETRY.at(clause, message.clone())
                .help("remove the clause, or raise `attempts`: it counts all attempts, including the first")
                .fix("remove the clause", clause, "");
            found.push(finding);
        }
    }
}

/// Returns true if the tool cannot fail, like the tools of `sys` that read only from the local machine or read nothing.
fn never_fails(signature: &Signature) -> bool {
    &*signature.namespace == "sys"
        && &*signature.name != "fail"
        && signature.effect < Effect::Idempotent
}
