//! `undo-missing`: a step without `undo` in a plan that undoes other steps, although its contract names an inverse.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{Node, NodeKind};
use crate::types::Effect;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.steps().any(|site| has_undo(site.node)) {
        return;
    }
    for (site, call, signature) in subject.calls() {
        let Some(inverse) = signature
            .inverse
            .as_deref()
            .filter(|_| call.effect >= Effect::Idempotent)
        else {
            continue;
        };
        let covered = subject.outwards(site).any(|(_, node)| has_undo(node));
        let can_fail_later = subject.outwards(site).any(|(block, node)| {
            let below = subject
                .plan
                .block(block)
                .nodes
                .iter()
                .skip_while(|other| !std::ptr::eq(*other, node))
                .skip(1);
            below.into_iter().any(|node| {
                matches!(
                    node.kind,
                    NodeKind::Step(_) | NodeKind::Ensure { .. } | NodeKind::Fail(_)
                )
            })
        });
        if covered || !can_fail_later {
            continue;
        }
        let message = format!(
            "if a later step fails, `{}` is not undone, while other steps are",
            signature.path()
        );
        let finding = codes::effects::UNDO_MISSING
            .at(call.span, message)
            .help(format!(
                "add `undo {inverse}(…)`: its contract names this as the inverse"
            ))
            .available([inverse]);
        found.push(finding);
    }
}

fn has_undo(node: &Node) -> bool {
    node.step().is_some_and(|step| step.undo().is_some())
}
