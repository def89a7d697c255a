//! `irreversible-unconfirmed`: what cannot be taken back is done without anybody being asked.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::gate::is_gated;
use crate::source::Span;
use crate::types::Effect;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (site, call, signature) in subject.calls() {
        if call.effect != Effect::Irreversible || is_gated(subject, site) {
            continue;
        }
        let message = format!(
            "`{}` cannot be taken back, and nobody is asked before it is called",
            signature.path()
        );
        let finding = Diagnostic::new(&codes::effects::IRREVERSIBLE_UNCONFIRMED, call.span, message)
            .help("ask somebody: `confirm \"…\"` on the step or on what it stands in; the arguments are shown with it");
        // A call in an arm is no step of its own, so the clause has to stand further out.
        let own = site.node.span.start < call.span.start && subject.is_text();
        found.push(if own {
            let text = format!(
                "\n        confirm \"{} cannot be taken back. Go on?\"",
                signature.path()
            );
            finding.unsafe_fix(
                "add `confirm`",
                vec![Edit::new(Span::at(call.span.end as usize), text)],
            )
        } else {
            finding
        });
    }
}
