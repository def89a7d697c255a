//! `undo-never-runs`: an `undo` that another one replaces, or that stands where nothing is undone any more.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{EventKind, Node, NodeKind, PlanTest, StepKind};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let Some(clause) = site.step.clause_spans("undo").next() else { continue };
        for (_, outer) in subject.outwards(site).skip(1) {
            let finding = |message| Diagnostic::new(&codes::failure::UNDO_NEVER_RUNS, clause, message);
            if let Some(place) = replaced_by(outer) {
                let message =
                    "this never runs: the `undo` of the whole `each` takes the place of those of its elements";
                found.push(finding(message).label(place, "this one runs instead").help("remove one of the two"));
                break;
            }
            if fires_at_the_end(outer) {
                let message = "this never runs: from the moment that the plan is completed nothing is undone";
                found.push(
                    finding(message).label(outer.span, "fires then").help("remove it, or act in the plan itself"),
                );
                break;
            }
        }
    }
}

/// Where the `undo` stands that takes the place of those inside.
fn replaced_by(outer: &Node) -> Option<crate::source::Span> {
    let step = outer.step()?;
    matches!(step.kind, StepKind::Each(_)).then(|| step.clause_spans("undo").next())?
}

fn fires_at_the_end(outer: &Node) -> bool {
    let NodeKind::Listener(listener) = &outer.kind else { return false };
    matches!(listener.on.kind, EventKind::Plan(PlanTest::Completed))
}
