//! The goals of a plan that no test reaches, without those whose prerequisite is not reached either.

use super::{Item, PlanCoverage, What, messages};

/// Returns a line number and a message for each goal that was not reached, except for goals whose prerequisite was
/// not reached. A condition that was never evaluated gets one message for both of its goals.
pub(super) fn missing(plan: &PlanCoverage<'_>) -> Vec<(u32, String)> {
    let counts = plan.by_item();
    let unreached = |item: &Item| counts.get(item) == Some(&0);
    let mut lines = Vec::new();
    for (goal, _) in plan.goals().filter(|(_, count)| *count == 0) {
        if goal.prerequisite.as_ref().is_some_and(unreached) {
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
            Some(_) => lines.push((plan.goals.line(goal), messages::undecided(&goal.name))),
            None => lines.push((plan.goals.line(goal), goal.missing.clone())),
        }
    }
    lines
}
