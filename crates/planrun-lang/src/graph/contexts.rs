//! Which statements change the context of a task, so that whoever reads it below waits for them.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::graph::NodeIndex;

use super::order::{Dag, joined};
use super::{Edge, narrow};
use crate::sema::{Block, BlockId, Nesting, Node, NodeKind, Place, Plan, TaskId};

/// The contexts of the tasks of a plan.
pub(super) struct Contexts<'a> {
    /// The tasks by the block that declares them and the slot of their context.
    places: BTreeMap<(BlockId, u32), TaskId>,
    /// `None` if there are no tasks.
    nesting: Option<Nesting<'a>>,
    /// The tasks that each block may change, in inner blocks too but not in listeners, by block number. Blocks are
    /// added from the last to the first, each before the block around it.
    changed_in: Vec<BTreeSet<TaskId>>,
}

impl<'a> Contexts<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let tasks = plan.tasks.iter().enumerate();
        Self {
            places: tasks
                .map(|(index, task)| ((task.block, task.slot), TaskId(narrow(index))))
                .collect(),
            nesting: (!plan.tasks.is_empty()).then(|| Nesting::of(plan)),
            changed_in: vec![BTreeSet::new(); plan.blocks.len()],
        }
    }

    /// Returns the task whose context is at a place seen from a block.
    pub(super) fn task(&self, block: BlockId, place: Place) -> Option<TaskId> {
        let frame = self.nesting.as_ref()?.frame(block, place)?;
        self.places.get(&(frame, place.slot)).copied()
    }

    /// Records which tasks a block changes.
    pub(super) fn add_block(&mut self, index: usize, block: &Block) {
        if self.places.is_empty() {
            return;
        }
        let mut changed = BTreeSet::new();
        for node in &block.nodes {
            changed.extend(self.changed_by(node));
        }
        self.changed_in[index] = changed;
    }

    /// Returns the tasks that a statement may change before it ends.
    fn changed_by(&self, node: &Node) -> BTreeSet<TaskId> {
        let mut changed = BTreeSet::new();
        match &node.kind {
            NodeKind::Task(task) => drop(changed.insert(*task)),
            NodeKind::Set(set) => drop(changed.insert(set.task)),
            // Nothing waits for the firings of a listener.
            NodeKind::Listener(_) => {}
            _ => node.inner(&mut |inner| changed.extend(&self.changed_in[inner.0 as usize])),
        }
        changed
    }
}

/// The changes of contexts so far, while the edges of a block are added.
#[derive(Default)]
pub(super) struct Changes(BTreeMap<TaskId, NodeIndex>);

impl Changes {
    /// Returns the vertex that is settled when every change so far is.
    pub(super) fn last(&self, task: TaskId) -> Option<NodeIndex> {
        self.0.get(&task).copied()
    }

    /// Adds what a statement changes.
    pub(super) fn add(
        &mut self,
        dag: &mut Dag,
        contexts: &Contexts<'_>,
        block: &Block,
        index: usize,
    ) {
        let (own, node) = (NodeIndex::new(index), &block.nodes[index]);
        if contexts.places.is_empty() {
            return;
        }
        // It waits for the changes above, and is settled before them only if its guard is false.
        let is_last = node.guard.is_empty()
            && node.after.is_empty()
            && block.parallel_around(narrow(index)).is_none();
        for task in contexts.changed_by(node) {
            let above = self.last(task).filter(|_| !is_last);
            let last = joined(dag, above, own, Edge::Data);
            self.0.insert(task, last);
        }
    }
}
