//! `undo-changes-nothing`: an `undo` that only reads takes nothing back.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{Node, NodeKind, StepKind};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.sound {
        return;
    }
    for site in subject.steps() {
        let (Some(undo), Some(clause)) = (site.step.undo(), site.step.clause_spans("undo").next())
        else {
            continue;
        };
        let nodes = &subject.plan.block(undo.body).nodes;
        if site.step.effect.is_read_only() || nodes.iter().any(may_change) {
            continue;
        }
        let message = "this only reads, so it does not take the step back";
        found.push(
            codes::effects::UNDO_CHANGES_NOTHING.at(clause, message).help(
                "call the tool that reverses the step; if this one does, declare it as `idempotent` or `effect` in its contract",
            ),
        );
    }
}

fn may_change(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Step(step) => {
            !step.effect.is_read_only()
                || matches!(step.kind, StepKind::Input(_) | StepKind::Wait(_))
        }
        NodeKind::Set(_) | NodeKind::Fail(_) => true,
        _ => false,
    }
}
