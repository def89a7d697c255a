//! The outcomes that runs have reached, collected from the engine and summed over runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{BlockId, NodeId, Plan};

use super::What;
use planrun_core::journal::{AnswerError, Event};
use planrun_core::run::Reached;
use planrun_runs::driver::Observer;

/// One outcome of one statement of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub block: BlockId,
    pub node: NodeId,
    pub what: What,
}

impl Item {
    /// Returns the item of an outcome. Answers of an agent to checks are attributed to the first statement whose
    /// check asks that agent.
    fn of(plan: &Plan, spot: (BlockId, NodeId), reached: &Reached) -> Self {
        let what = What::of(reached);
        let agent = |(block, node): (BlockId, NodeId)| {
            Some(&plan.block(block).node(node).step()?.agent_check()?.agent)
        };
        let first = || {
            let mut spots = plan.sites().map(|(block, node, _)| (block, node));
            spots.find(|other| agent(*other) == agent(spot))
        };
        let own = matches!(what, What::Asked(_)).then(first).flatten();
        let (block, node) = own.unwrap_or(spot);
        Self { block, node, what }
    }
}

/// A plan: the name of its file, its own, and the hash of its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlanKey {
    file: Arc<str>,
    plan: Arc<str>,
    digest: Arc<str>,
}

impl PlanKey {
    fn of(plan: &Plan) -> Self {
        Self {
            file: plan.source.name().into(),
            plan: plan.name.clone(),
            digest: plan.digest.clone(),
        }
    }
}

/// The outcomes that runs have reached, with counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    plans: BTreeMap<PlanKey, BTreeMap<Item, u64>>,
}

impl Seen {
    /// Adds the outcomes of other runs.
    pub fn merge(&mut self, other: &Self) {
        for (key, items) in &other.plans {
            let own = self.plans.entry(key.clone()).or_default();
            for (item, count) in items {
                *own.entry(item.clone()).or_default() += count;
            }
        }
    }

    /// Returns the outcomes with other names for the files of the plans: a file may have been found by several paths.
    #[must_use]
    pub fn in_files(self, name_of: &dyn Fn(&str) -> Arc<str>) -> Self {
        let mut named = Self::default();
        for (key, items) in self.plans {
            let file = name_of(&key.file);
            let plans = [(PlanKey { file, ..key }, items)].into();
            named.merge(&Self { plans });
        }
        named
    }

    /// Returns how often an item was reached.
    #[must_use]
    pub fn count(&self, plan: &Plan, item: &Item) -> u64 {
        let own = self.plans.get(&PlanKey::of(plan));
        own.and_then(|own| own.get(item)).copied().unwrap_or(0)
    }

    /// Returns all items of a plan that were reached.
    pub fn of(&self, plan: &Plan) -> impl Iterator<Item = &Item> {
        self.plans
            .get(&PlanKey::of(plan))
            .into_iter()
            .flat_map(BTreeMap::keys)
    }

    /// Records one item.
    pub fn note(&mut self, plan: &Plan, item: Item) {
        let own = self.plans.entry(PlanKey::of(plan)).or_default();
        *own.entry(item).or_default() += 1;
    }
}

/// An observer that records coverage and forwards all events to another observer.
pub struct CoverageObserver<'a> {
    pub seen: &'a mut Seen,
    pub inner: &'a mut dyn Observer,
}

impl Observer for CoverageObserver<'_> {
    fn observe(&mut self, event: &Event) {
        self.inner.observe(event);
    }

    fn refused(&mut self, error: &AnswerError) {
        self.inner.refused(error);
    }

    fn idle(&mut self) {
        self.inner.idle();
    }

    fn watches(&self) -> bool {
        true
    }

    fn reached(&mut self, plan: &Plan, block: BlockId, node: NodeId, what: &Reached) {
        self.seen.note(plan, Item::of(plan, (block, node), what));
        self.inner.reached(plan, block, node, what);
    }
}
