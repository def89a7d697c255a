//! What of a plan its tests have reached, what they have not, and reports of both.

mod finder;
mod goals;
mod html;
mod json;
mod lcov;
mod lines;
mod missing;
mod seen;
mod spoken;
mod text;
mod words;

use std::collections::BTreeMap;
use std::ops::AddAssign;

pub use goals::{Goal, Goals, Kind, What};
pub use html::html;
pub use json::json;
pub use lcov::lcov;
pub use seen::{Item, Seen, Watching};
pub use text::text;

/// The goals of some plans, each with how often it was reached. Files and plans stand in the order in which they were
/// handed in.
#[derive(Debug)]
pub struct Coverage<'a> {
    pub plans: Vec<PlanCoverage<'a>>,
}

/// The goals of one plan.
#[derive(Debug)]
pub struct PlanCoverage<'a> {
    pub goals: &'a Goals,
    /// How often each was reached, by its place in the list of goals.
    pub counts: Vec<u64>,
}

/// How many of some goals were reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub reached: usize,
    pub all: usize,
}

impl<'a> Coverage<'a> {
    /// Holds what was seen against the goals.
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

    /// How much was reached in all plans.
    #[must_use]
    pub fn share(&self) -> Share {
        let mut share = Share::default();
        for plan in &self.plans {
            share += plan.share();
        }
        share
    }

    /// The plans by the files that they stand in, in order.
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
    /// Every goal with its count.
    pub fn goals(&self) -> impl Iterator<Item = (&Goal, u64)> {
        self.goals.list.iter().zip(self.counts.iter().copied())
    }

    /// The counts by what was reached.
    fn by_item(&self) -> BTreeMap<&Item, u64> {
        self.goals()
            .map(|(goal, count)| (&goal.item, count))
            .collect()
    }

    /// How much was reached of what a question picks out.
    #[must_use]
    pub fn share_of(&self, wanted: &dyn Fn(Kind) -> bool) -> Share {
        let wanted = self.goals().filter(|(goal, _)| wanted(goal.kind));
        wanted.fold(Share::default(), |share, (_, count)| share.with(count > 0))
    }

    /// How much was reached.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share_of(&|_| true)
    }
}

impl Share {
    /// Whole percent, rounded down so that only what is complete is 100; none of nothing is complete.
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
