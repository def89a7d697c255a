//! `effect-unknown`: nobody says what a tool does to the world, so the worst is assumed.

use super::Subject;
use crate::diag::{Diagnostic, codes};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (_, call, signature) in subject.calls() {
        if signature.effect_declared {
            continue;
        }
        let path = signature.path();
        let message = format!("nothing says what `{path}` changes, so it is treated as an effect");
        let finding = Diagnostic::new(&codes::effects::EFFECT_UNKNOWN, call.span, message)
            .note("waits for what is above it, and is not retried")
            .help("declare its class with the tool: `read` lets it run in parallel and be tried again, `effect` says that this is meant");
        found.push(finding);
    }
}
