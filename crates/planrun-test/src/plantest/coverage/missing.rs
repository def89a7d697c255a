//! The goals of a plan that no test reaches, without those that lie behind others.

use super::{Item, PlanCoverage, What, words};

/// A sentence, with its line, for each goal that was not reached. Goals that lie behind another such goal are left out.
pub(super) fn missing(plan: &PlanCoverage<'_>) -> Vec<(u32, String)> {
    let counts = plan.by_item();
    let unreached = |item: &Item| counts.get(item) == Some(&0);
    let mut lines = Vec::new();
    for (goal, _) in plan.goals().filter(|(_, count)| *count == 0) {
        if goal.under.as_ref().is_some_and(unreached) {
            continue;
        }
        let other = match goal.item.what {
            What::Decided(truth) => Some(Item {
                what: What::Decided(!truth),
                ..goal.item.clone()
            }),
            _ => None,
        };
        match other.filter(unreached) {
            Some(_) if goal.item.what == What::Decided(false) => {}
            Some(_) => lines.push((plan.goals.line(goal), words::undecided(&goal.name))),
            None => lines.push((plan.goals.line(goal), goal.missing.clone())),
        }
    }
    lines
}
