//! `recover-swallows`: a catch-all arm turns every failure of an effect into the same constant.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{NodeKind, Recover};
use crate::types::Effect;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let step = site.step;
        if step.effect < Effect::Effect {
            continue;
        }
        for (arm, place) in step.recover.iter().zip(step.clause_spans("recover")) {
            if !arm.patterns.is_empty() || !is_constant(subject, arm) {
                continue;
            }
            let name = site.node.name.as_deref().unwrap_or("this step");
            let message = format!(
                "every failure of the effect `{name}` is replaced by a constant and goes unnoticed"
            );
            let diagnostic = codes::failure::RECOVER_SWALLOWS.at(place, message)
                .note("catches all errors")
                .help("name the errors that may be ignored, such as `recover tool.bounced => …`, or use the error with `as e`");
            found.push(diagnostic);
        }
    }
}

/// Returns true if the arm only yields a constant.
fn is_constant(subject: &Subject<'_>, arm: &Recover) -> bool {
    let [only] = subject.plan.block(arm.body).nodes.as_slice() else {
        return false;
    };
    matches!(&only.kind, NodeKind::Yield(code) if code.constant().is_some() && only.guard.is_empty())
}
