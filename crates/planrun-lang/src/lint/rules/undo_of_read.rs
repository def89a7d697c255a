//! `undo-of-read`: an `undo` on a step that changes nothing.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::sema::StepKind;
use crate::types::Type;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        // On other steps the clause itself has been reported.
        let refused = matches!(
            site.step.kind,
            StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged
        );
        let known = !refused && site.step.ty != Type::Invalid;
        if !known || !site.step.effect.is_read_only() {
            continue;
        }
        for clause in site.step.clause_spans("undo") {
            let message = format!(
                "this step is of class `{}`: there is nothing to undo",
                site.step.effect
            );
            let finding = codes::effects::UNDO_OF_READ.at(clause, message)
                .help("remove the clause; if the call does change something, declare it as `effect` in its contract")
                .unsafe_fix("remove the clause", vec![Edit::removal(clause)]);
            found.push(finding);
        }
    }
}
