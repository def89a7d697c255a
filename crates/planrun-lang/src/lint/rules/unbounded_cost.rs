//! `unbounded-cost`: a model is asked in a loop, and nothing bounds what that costs.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::sema::{NodeKind, StepKind};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let own = subject
        .setting(policy)
        .and_then(|policy| entry(policy, "budget"))
        .is_some();
    if own || !subject.project.policy.budget.is_empty() {
        return;
    }
    for site in subject.steps() {
        let Some((call, word)) = site.step.call().and_then(|call| Some((call, call.word()?)))
        else {
            continue;
        };
        let span = call.span;
        let around = subject
            .outwards(site)
            .skip(1)
            .find_map(|(_, node)| match &node.kind {
                NodeKind::Listener(_) => Some((node.span, "listener")),
                NodeKind::Step(step) if matches!(step.kind, StepKind::Each(_)) => {
                    Some((step.span, "each"))
                }
                NodeKind::Step(step) if matches!(step.kind, StepKind::Repeat(_)) => {
                    Some((step.span, "repeat"))
                }
                _ => None,
            });
        let Some((outer, kind)) = around else {
            continue;
        };
        let message = format!(
            "`{word}` in this `{kind}` costs something each time round, and the plan has no budget"
        );
        let finding = Diagnostic::new(&codes::safety::UNBOUNDED_COST, span, message)
            .label(outer, "as often as this goes round")
            .help("say what a run may cost: `policy { budget: { calls: 50 } }`");
        found.push(finding);
    }
}
