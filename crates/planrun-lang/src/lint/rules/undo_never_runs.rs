//! `undo-never-runs`: an `undo` in a listener that fires after compensation, in a plan that no plan of its file calls.
//! If a plan is called, the failure of its caller undoes what its listeners did.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{Event, EventKind, Node, NodeKind, PlanTest};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let Some(clause) = site.step.clause_spans("undo").next() else {
            continue;
        };
        let Some((_, listener)) = subject
            .outwards(site)
            .skip(1)
            .find(|(_, outer)| fires_at_the_end(outer))
        else {
            continue;
        };
        let message = "this runs only if another plan calls this one and fails afterwards";
        let finding = codes::failure::UNDO_NEVER_RUNS.at(clause, message);
        found.push(
            finding
                .label(listener.span, "fires at the end of the plan")
                .help("remove it if no plan calls this one, or act in the plan itself"),
        );
    }
}

fn fires_at_the_end(outer: &Node) -> bool {
    let NodeKind::Listener(listener) = &outer.kind else {
        return false;
    };
    needs_the_end(&listener.on)
}

/// Returns true if a condition is true only after the plan has ended.
fn needs_the_end(on: &Event) -> bool {
    match &on.kind {
        EventKind::Plan(test) => *test != PlanTest::Any,
        EventKind::All(parts) => parts.iter().any(needs_the_end),
        EventKind::Any(parts) => parts.iter().all(needs_the_end),
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Signal(_)
        | EventKind::Not(_)
        | EventKind::Damaged => false,
    }
}
