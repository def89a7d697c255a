//! `effect-unknown`: the contract of a tool has no effect class, so the worst is assumed.

use super::Subject;
use crate::diag::{Diagnostic, codes};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (_, call, signature) in subject.calls() {
        if signature.effect_declared {
            continue;
        }
        let path = signature.path();
        let message =
            format!("the effect class of `{path}` is not declared, so it is treated as an effect");
        let finding = codes::effects::EFFECT_UNKNOWN.at(call.span, message)
            .note("waits for everything above it, and is not retried")
            .help("declare the class of the tool: `read` allows it to run in parallel and to be retried, `effect` keeps this behavior");
        found.push(finding);
    }
}
