//! What runs have reached: gathered from the engine, added up over runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{BlockId, NodeId, Plan};

use super::What;
use planrun_core::journal::{AnswerError, Event};
use planrun_core::run::Reached;
use planrun_runs::driver::Observer;

/// One thing that a statement of a plan can come to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub block: BlockId,
    pub node: NodeId,
    pub what: What,
}

impl Item {
    /// What a statement has come to. What an agent says counts for the agent, and stands at the first statement about which it
    /// may be asked.
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

/// A plan by its name and the hash of its text.
type PlanKey = (Arc<str>, Arc<str>);

/// What some runs have reached, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    plans: BTreeMap<PlanKey, BTreeMap<Item, u64>>,
}

impl Seen {
    /// Adds what other runs have reached.
    pub fn merge(&mut self, other: &Self) {
        for (key, items) in &other.plans {
            let own = self.plans.entry(key.clone()).or_default();
            for (item, count) in items {
                *own.entry(item.clone()).or_default() += count;
            }
        }
    }

    /// How often something was reached.
    #[must_use]
    pub fn count(&self, plan: &Plan, item: &Item) -> u64 {
        let own = self.plans.get(&(plan.name.clone(), plan.digest.clone()));
        own.and_then(|own| own.get(item)).copied().unwrap_or(0)
    }

    /// Everything that was reached of a plan.
    pub fn of(&self, plan: &Plan) -> impl Iterator<Item = &Item> {
        self.plans
            .get(&(plan.name.clone(), plan.digest.clone()))
            .into_iter()
            .flat_map(BTreeMap::keys)
    }

    /// Notes one thing.
    pub fn note(&mut self, plan: &Plan, item: Item) {
        let own = self
            .plans
            .entry((plan.name.clone(), plan.digest.clone()))
            .or_default();
        *own.entry(item).or_default() += 1;
    }
}

/// Listens to a run for coverage, and passes on what it hears.
pub struct Watching<'a> {
    pub seen: &'a mut Seen,
    pub inner: &'a mut dyn Observer,
}

impl Observer for Watching<'_> {
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
