//! Goals by the line that they stand on.

use std::collections::BTreeMap;

use super::missing::missing;
use super::{Goal, PlanCoverage};

/// What stands on one line.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub goals: Vec<Found<'a>>,
    /// What is said of those that were not reached.
    pub missing: Vec<String>,
}

/// A goal on a line.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub goal: &'a Goal,
    pub count: u64,
    /// Whether what must be reached before it was reached.
    pub had_its_turn: bool,
}

/// The lines of one file that have goals, from 1.
pub(super) fn lines<'a>(plans: &[&'a PlanCoverage<'_>]) -> BTreeMap<u32, Line<'a>> {
    let mut lines: BTreeMap<u32, Line<'a>> = BTreeMap::new();
    for plan in plans {
        let counts = plan.by_item();
        for (goal, count) in plan.goals() {
            let before = goal.under.as_ref().and_then(|item| counts.get(item));
            let had_its_turn = before.is_some_and(|count| *count > 0);
            lines
                .entry(plan.goals.line(goal))
                .or_default()
                .goals
                .push(Found {
                    goal,
                    count,
                    had_its_turn,
                });
        }
        for (line, text) in missing(plan) {
            lines.entry(line).or_default().missing.push(text);
        }
    }
    lines
}

impl Line<'_> {
    /// How often the line ran: as often as the goal on it that was reached most.
    pub fn hits(&self) -> u64 {
        self.goals
            .iter()
            .map(|found| found.count)
            .max()
            .unwrap_or(0)
    }

    pub fn is_complete(&self) -> bool {
        self.goals.iter().all(|found| found.count > 0)
    }
}
