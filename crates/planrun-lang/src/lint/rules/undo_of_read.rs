//! `undo-of-read`: something is to be taken back that changes nothing.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::sema::StepKind;
use crate::types::Type;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        // Elsewhere the clause itself has been reported.
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
                "this step is of class `{}`: there is nothing to take back",
                site.step.effect
            );
            let finding = Diagnostic::new(&codes::effects::UNDO_OF_READ, clause, message)
                .help("remove the clause; where the call does change something, say so in its contract: `effect`")
                .unsafe_fix("remove the clause", vec![Edit::removal(clause)]);
            found.push(finding);
        }
    }
}
