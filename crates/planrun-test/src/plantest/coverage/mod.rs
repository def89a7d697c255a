//! Coverage of plans by their tests, and reports of it.

mod finder;
mod goals;
mod html;
mod json;
mod lcov;
mod lines;
mod messages;
mod missing;
mod observed;
mod seen;
mod text;

use std::collections::BTreeMap;
use std::ops::AddAssign;

pub use goals::{Goal, Goals, Kind, What};
pub use html::html;
pub use json::json;
pub use lcov::lcov;
pub use seen::{CoverageObserver, Item, Seen};
pub use text::text;

/// The goals of several plans, each with its count, in the order of the given plans.
#[derive(Debug)]
pub struct Coverage<'a> {
    pub plans: Vec<PlanCoverage<'a>>,
}

/// The goals of one plan.
#[derive(Debug)]
pub struct PlanCoverage<'a> {
    pub goals: &'a Goals,
    /// How often each goal was reached, in the order of the goals.
    pub counts: Vec<u64>,
}

/// The number of goals that were reached, out of all goals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub reached: usize,
    pub all: usize,
}

impl<'a> Coverage<'a> {
    /// Matches the outcomes of runs with the goals.
    #[must_use]
    pub fn of(plans: &'a [Goals], seen: &Seen) -> Self {
        let of_plan = |goals: &'a Goals| {
            let counts = goals
                .list
                .iter()
                .map(|goal| seen.count(goals.plan(), &goal.item))
                .collect();
            PlanCoverage { goals, counts }
        };
        Self {
            plans: plans.iter().map(of_plan).collect(),
        }
    }

    /// Returns the share of reached goals in all plans.
    #[must_use]
    pub fn share(&self) -> Share {
        let mut share = Share::default();
        for plan in &self.plans {
            share += plan.share();
        }
        share
    }

    /// Returns the plans grouped by file, in order.
    #[must_use]
    pub fn files(&self) -> Vec<(&str, Vec<&PlanCoverage<'a>>)> {
        let mut files: Vec<(&str, Vec<&PlanCoverage<'a>>)> = Vec::new();
        for plan in &self.plans {
            let name = plan.goals.file().name();
            match files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, plans)) => plans.push(plan),
                None => files.push((name, vec![plan])),
            }
        }
        files
    }
}

impl PlanCoverage<'_> {
    /// Returns every goal with its count.
    pub fn goals(&self) -> impl Iterator<Item = (&Goal, u64)> {
        self.goals.list.iter().zip(self.counts.iter().copied())
    }

    /// Returns the counts by item.
    fn by_item(&self) -> BTreeMap<&Item, u64> {
        self.goals()
            .map(|(goal, count)| (&goal.item, count))
            .collect()
    }

    /// Returns the share of reached goals of the selected kinds.
    #[must_use]
    pub fn share_of(&self, selects: &dyn Fn(Kind) -> bool) -> Share {
        let selected = self.goals().filter(|(goal, _)| selects(goal.kind));
        selected.fold(Share::default(), |share, (_, count)| share.with(count > 0))
    }

    /// Returns the share of reached goals.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share_of(&|_| true)
    }
}

impl Share {
    /// Returns whole percent, rounded down so that only complete coverage is 100; no goals count as complete.
    #[must_use]
    pub fn percent(self) -> usize {
        (self.reached * 100).checked_div(self.all).unwrap_or(100)
    }

    fn with(self, reached: bool) -> Self {
        Self {
            reached: self.reached + usize::from(reached),
            all: self.all + 1,
        }
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.reached += other.reached;
        self.all += other.all;
    }
}
