//! Finds the statements that change the context of a task, so that readers below them wait for them.

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
    /// The tasks that somebody else may change at any time: external ones, and those that a listener sets.
    shared: BTreeSet<TaskId>,
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
            shared: shared(plan),
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
        if self.places.is_empty() {
            return changed;
        }
        match &node.kind {
            NodeKind::Task(task) => drop(changed.insert(*task)),
            NodeKind::Set(set) => drop(changed.insert(set.task)),
            NodeKind::Step(step) => {
                let arms = step.recover.iter().map(|arm| arm.body);
                for inner in step.bodies().chain(arms) {
                    changed.extend(&self.changed_in[inner.0 as usize]);
                }
            }
            // Nothing waits for the firings of a listener.
            NodeKind::Listener(_)
            | NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_) => {}
        }
        changed
    }
}

/// Returns the tasks that are external, and those that the firings of a listener set.
fn shared(plan: &Plan) -> BTreeSet<TaskId> {
    let ids = || (0..plan.tasks.len()).map(|index| TaskId(narrow(index)));
    let mut shared: BTreeSet<TaskId> = ids().filter(|task| plan.task(*task).external).collect();
    if plan.tasks.is_empty() {
        return shared;
    }
    let listeners = plan.blocks.iter().flat_map(|block| &block.nodes);
    for listener in listeners.filter_map(Node::listener) {
        shared.extend(plan.tasks_set_in(listener.body));
    }
    shared
}

/// The nodes that have used the contexts so far, while the edges of a block are added.
#[derive(Default)]
pub(super) struct Uses {
    changes: BTreeMap<TaskId, NodeIndex>,
    readers: BTreeMap<TaskId, NodeIndex>,
    /// Whether a statement with `after` changes a context: it has no place below the readers above it.
    out_of_place: bool,
    /// The statements that read a context which others may change at any time.
    pub(super) shared_reads: BTreeSet<u32>,
}

impl Uses {
    pub(super) fn of(contexts: &Contexts<'_>, block: &Block) -> Self {
        let mut nodes = block.nodes.iter().filter(|node| !node.after.is_empty());
        let out_of_place =
            !contexts.places.is_empty() && nodes.any(|node| !contexts.changed_by(node).is_empty());
        Self {
            out_of_place,
            ..Self::default()
        }
    }

    /// Lets a statement that reads a context wait for every change so far.
    pub(super) fn add_read(
        &mut self,
        dag: &mut Dag,
        contexts: &Contexts<'_>,
        task: TaskId,
        index: usize,
        edge: Edge,
    ) {
        let own = NodeIndex::new(index);
        if contexts.shared.contains(&task) {
            self.shared_reads.insert(narrow(index));
        }
        if let Some(changed) = self.changes.get(&task) {
            dag.add_edge(*changed, own, edge);
        }
        if self.out_of_place {
            let above = self.readers.get(&task).copied();
            let readers = joined(dag, above, own, Edge::Place);
            self.readers.insert(task, readers);
        }
    }

    /// Lets a statement with `after` wait for the readers and changes above it of what it changes, since it has no place.
    pub(super) fn add_order(
        &self,
        dag: &mut Dag,
        contexts: &Contexts<'_>,
        block: &Block,
        index: usize,
    ) {
        let node = &block.nodes[index];
        let changed = contexts.changed_by(node);
        if changed.is_empty()
            || node.after.is_empty()
            || block.parallel_around(narrow(index)).is_some()
        {
            return;
        }
        for task in changed {
            for uses in [&self.changes, &self.readers] {
                if let Some(above) = uses.get(&task) {
                    dag.add_edge(*above, NodeIndex::new(index), Edge::Place);
                }
            }
        }
    }

    /// Adds what a statement changes.
    pub(super) fn add_changes(
        &mut self,
        dag: &mut Dag,
        contexts: &Contexts<'_>,
        block: &Block,
        index: usize,
    ) {
        let (own, node) = (NodeIndex::new(index), &block.nodes[index]);
        let changed = contexts.changed_by(node);
        if changed.is_empty() {
            return;
        }
        // It waits for the changes above, and is settled before them only if its guard is false.
        let is_last = node.guard.is_empty()
            && node.after.is_empty()
            && block.parallel_around(narrow(index)).is_none();
        for task in changed {
            let above = self.changes.get(&task).copied().filter(|_| !is_last);
            let last = joined(dag, above, own, Edge::Data);
            self.changes.insert(task, last);
        }
    }
}
