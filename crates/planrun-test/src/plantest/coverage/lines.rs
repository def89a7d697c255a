//! Goals grouped by line.

use std::collections::BTreeMap;

use super::missing::missing;
use super::{Goal, PlanCoverage};

/// The goals of one line.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub goals: Vec<Found<'a>>,
    /// The messages for goals that were not reached.
    pub missing: Vec<String>,
}

/// A goal on a line.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub goal: &'a Goal,
    pub count: u64,
    /// Whether its prerequisite was reached.
    pub was_reachable: bool,
}

/// Returns the lines of a file that have goals, numbered from 1.
pub(super) fn lines<'a>(plans: &[&'a PlanCoverage<'_>]) -> BTreeMap<u32, Line<'a>> {
    let mut lines: BTreeMap<u32, Line<'a>> = BTreeMap::new();
    for plan in plans {
        let counts = plan.by_item();
        for (goal, count) in plan.goals() {
            let before = goal.prerequisite.as_ref().and_then(|item| counts.get(item));
            let was_reachable = before.is_some_and(|count| *count > 0);
            lines
                .entry(plan.goals.line(goal))
                .or_default()
                .goals
                .push(Found {
                    goal,
                    count,
                    was_reachable,
                });
        }
        for (line, text) in missing(plan) {
            lines.entry(line).or_default().missing.push(text);
        }
    }
    lines
}

impl Line<'_> {
    /// Returns how often the line ran: the highest count of its goals.
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
