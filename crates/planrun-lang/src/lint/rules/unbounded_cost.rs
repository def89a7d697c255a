//! `unbounded-cost`: a model or agent is called in a loop without a budget.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::sema::{NodeKind, StepKind};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
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
            "`{word}` in this `{kind}` has a cost in each round, but the plan has no budget"
        );
        let finding = codes::safety::UNBOUNDED_COST
            .at(span, message)
            .label(outer, "repeated by this")
            .help("limit the cost of a run: `policy { budget: { calls: 50 } }`");
        found.push(finding);
    }
}
