//! `irreversible-unconfirmed`: an irreversible call is made without asking a person.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::gate::is_gated;
use crate::types::Effect;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (site, call, signature) in subject.calls() {
        if call.effect != Effect::Irreversible || is_gated(&subject.nesting, site.block, site.node)
        {
            continue;
        }
        let message = format!(
            "`{}` cannot be undone, but it is called without confirmation",
            signature.path()
        );
        let finding = codes::effects::IRREVERSIBLE_UNCONFIRMED.at(call.span, message)
            .help("add `confirm \"…\"` to the step or to a statement around it; the arguments are shown with the question");
        // A call in an arm is not a step of its own, so the clause belongs to the step around it.
        let own = site.node.span.start < call.span.start && subject.is_text();
        found.push(if own {
            let text = format!(
                "\n        confirm \"{} cannot be undone. Continue?\"",
                signature.path()
            );
            finding.unsafe_fix("add `confirm`", vec![Edit::new(call.span.after(), text)])
        } else {
            finding
        });
    }
}
