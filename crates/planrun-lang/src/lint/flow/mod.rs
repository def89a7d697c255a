//! Computes what is possible in a plan: which statements can begin and end, which statuses tasks can have, which
//! listeners can fire. Conditions over data may be true or false, and external events may or may not occur.

mod cause;
mod condition;
mod path;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use crate::graph::{self, BlockGraph, Graph, Vertex};
use crate::sema::{
    BlockId, Event, Listener, Node, NodeId, NodeKind, OnFailure, Place, Plan, Set, Status,
    StepKind, Task, TaskId, Wait,
};

pub(super) use cause::{Cause, Link, Root};
use condition::Condition;
pub(super) use path::is_before;

/// A statement of a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct At {
    pub block: BlockId,
    pub node: usize,
}

impl At {
    fn new(block: BlockId, node: NodeId) -> Self {
        let node = node.0 as usize;
        Self { block, node }
    }
}

/// Maximum amount of work, in visits of vertices and edges, after which the analysis gives up.
const MAX_WORK: usize = 50_000_000;

/// The possible events of a plan, as the least fixed point of what follows from its initial state.
pub(super) struct Flow<'a> {
    pub plan: &'a Plan,
    graph: Rc<Graph>,
    /// The statement that owns each block.
    owners: Vec<Option<At>>,
    /// All `set` statements.
    sets: Vec<(At, &'a Set)>,
    /// The conditions that listeners and steps wait for.
    conditions: BTreeMap<At, Condition>,
    /// The tasks that fail together with a listener, by its body.
    fails: Vec<(BlockId, Vec<(TaskId, Status)>)>,
    /// Whether each statement can begin, by block and node.
    begins: Vec<Vec<bool>>,
    /// Whether each vertex can settle, by ending or being skipped.
    settles: Vec<Vec<bool>>,
    /// The statuses that each task can have.
    statuses: Vec<BTreeSet<Status>>,
    /// Whether the other statements continue after a failure.
    continues: bool,
}

impl<'a> Flow<'a> {
    /// Computes the fixed point; `None` if it exceeds [`MAX_WORK`].
    pub(super) fn of(plan: &'a Plan, graph: &Rc<Graph>, on_failure: OnFailure) -> Option<Self> {
        let mut flow = Self {
            plan,
            owners: owners(plan),
            sets: sets(plan),
            conditions: BTreeMap::new(),
            fails: fails(plan),
            begins: plan
                .blocks
                .iter()
                .map(|block| vec![false; block.nodes.len()])
                .collect(),
            settles: graph
                .blocks
                .iter()
                .map(|block| vec![false; block.dag.node_count()])
                .collect(),
            statuses: plan.tasks.iter().map(initial_statuses).collect(),
            continues: on_failure == OnFailure::Settle,
            graph: graph.clone(),
        };
        flow.conditions = flow
            .waiting()
            .map(|(at, event)| (at, Condition::of(&flow, at, event)))
            .collect();
        let size: usize = graph
            .blocks
            .iter()
            .map(|block| block.dag.node_count() + block.dag.edge_count())
            .sum();
        for _ in 0..=MAX_WORK / size.max(1) {
            if !flow.round() {
                return Some(flow);
            }
        }
        None
    }

    pub(super) fn at(&self, at: At) -> &'a Node {
        &self.plan.block(at.block).nodes[at.node]
    }

    /// Returns all listeners and all steps that wait for an event.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (At, &'a Event)> {
        let plan = self.plan;
        all(plan).filter_map(|(at, node)| node.event().map(|event| (at, event)))
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &(At, &'a Set)> {
        self.sets.iter()
    }

    /// Returns true if a statement can begin.
    pub(super) fn begins(&self, at: At) -> bool {
        self.begins[at.block.0 as usize][at.node]
    }

    pub(super) fn settles(&self, at: At) -> bool {
        self.settles[at.block.0 as usize][at.node]
    }

    /// Returns true if the condition of a statement can come true, or if it has none.
    pub(super) fn can_occur(&self, at: At) -> bool {
        self.conditions
            .get(&at)
            .is_none_or(|condition| condition.can_hold(self, at))
    }

    /// Returns the statement that a block belongs to.
    pub(super) fn owner(&self, block: BlockId) -> Option<At> {
        self.owners[block.0 as usize]
    }

    /// Returns the listener in whose firings a block runs.
    pub(super) fn firing(&self, mut block: BlockId) -> Option<(At, &'a Listener)> {
        while let Some(owner) = self.owner(block) {
            if let NodeKind::Listener(listener) = &self.at(owner).kind {
                return Some((owner, listener));
            }
            block = owner.block;
        }
        None
    }

    /// Returns the statements whose value is in `place`, as seen from a block; several if they are in branches of one
    /// `if`.
    pub(super) fn places(&self, mut block: BlockId, place: Place) -> Vec<At> {
        for _ in 0..place.up {
            let Some(owner) = self.owner(block) else {
                return Vec::new();
            };
            block = owner.block;
        }
        self.block_graph(block)
            .slots
            .nodes(place.slot)
            .map(|node| At {
                block,
                node: node as usize,
            })
            .collect()
    }

    pub(super) fn block_graph(&self, block: BlockId) -> &BlockGraph {
        &self.graph.blocks[block.0 as usize]
    }

    fn statuses(&self, task: TaskId) -> &BTreeSet<Status> {
        &self.statuses[task.0 as usize]
    }

    /// Returns true if a block can run.
    fn opens(&self, block: BlockId) -> bool {
        let Some(owner) = self.owner(block) else {
            return true;
        };
        self.begins(owner)
            && match &self.at(owner).kind {
                NodeKind::Listener(_) => self.can_occur(owner),
                _ => true,
            }
    }

    /// Derives one round of consequences; returns false if nothing changed.
    fn round(&mut self) -> bool {
        let mut changed = false;
        for index in 0..self.plan.blocks.len() {
            let block = BlockId(u32::try_from(index).unwrap_or(u32::MAX));
            if self.opens(block) {
                changed |= self.block_round(block);
            }
        }
        for index in 0..self.sets.len() {
            let (at, set) = self.sets[index];
            if self.begins(at) {
                changed |= self.statuses[set.task.0 as usize].insert(set.status);
            }
        }
        for index in 0..self.fails.len() {
            if self.opens(self.fails[index].0) {
                for (task, status) in &self.fails[index].1 {
                    changed |= self.statuses[task.0 as usize].insert(*status);
                }
            }
        }
        changed
    }

    fn block_round(&mut self, block: BlockId) -> bool {
        let index = block.0 as usize;
        let mut changed = false;
        let mut marks = Marks::default();
        let count = self.plan.block(block).nodes.len();
        // Joins follow the statements and are ordered like the statements that need them, so they can be computed on
        // the way.
        let mut join = count;
        for node in 0..count {
            let at = At { block, node };
            let (above, guards) = self.above(at, &mut join);
            let begins = above
                && match self
                    .block_graph(block)
                    .vertex(u32::try_from(node).unwrap_or(u32::MAX))
                {
                    Vertex::Everything(place) => marks.settled >= place as usize,
                    Vertex::Barriers(place) => {
                        marks.decided >= node && marks.passed >= place as usize
                    }
                    Vertex::Decisions => marks.decided >= node,
                    Vertex::Free | Vertex::Join => true,
                };
            let statement = self.at(at);
            let settles = (begins && self.ends(at)) || (!statement.guard.is_empty() && guards);
            changed |= begins && !std::mem::replace(&mut self.begins[index][node], begins);
            changed |= settles && !std::mem::replace(&mut self.settles[index][node], settles);
            let is_barrier = self.block_graph(block).barriers.get(node) == Some(&true);
            marks.pass(
                node,
                settles,
                settles || !is_barrier,
                settles || !statement.decides(),
            );
        }
        changed
    }

    /// Returns whether all predecessors of a statement can settle, and whether those that decide its guard can.
    fn above(&mut self, at: At, join: &mut usize) -> (bool, bool) {
        let index = at.block.0 as usize;
        let dag = &self.graph.blocks[index].dag;
        let (mut all, mut guards) = (true, true);
        for edge in dag.edges_directed(NodeIndex::new(at.node), Direction::Incoming) {
            if *edge.weight() == graph::Edge::Listener {
                continue;
            }
            let source = edge.source().index();
            while *join <= source {
                let mut joined = dag.neighbors_directed(NodeIndex::new(*join), Direction::Incoming);
                let settles = joined.all(|vertex| self.settles[index][vertex.index()]);
                self.settles[index][*join] = settles;
                *join += 1;
            }
            let settles = self.settles[index][source];
            all &= settles;
            guards &= settles || !edge.weight().decides_guard();
        }
        (all, guards)
    }

    /// Returns true if a statement that has begun can end.
    fn ends(&self, at: At) -> bool {
        let Some(step) = self.at(at).step() else {
            return true;
        };
        let fails = step.within().is_some() || !matches!(step.kind, StepKind::Wait(_));
        if fails && (self.continues || !step.recover.is_empty()) {
            return true;
        }
        match &step.kind {
            StepKind::Wait(wait) => match &**wait {
                Wait::Event { .. } => self.can_occur(at),
                Wait::For(_) | Wait::Until(_) => true,
            },
            StepKind::Do(body) => self.block_ends(*body),
            StepKind::Repeat(repeat) => self.block_ends(repeat.body),
            StepKind::Race(branches) => branches.iter().any(|(_, body)| self.block_ends(*body)),
            StepKind::Match { arms, .. } => arms.iter().any(|(_, body)| self.block_ends(*body)),
            // A list may be empty, and a person may answer.
            StepKind::Each(_) | StepKind::Call(_) | StepKind::Input(_) | StepKind::Damaged => true,
        }
    }

    /// Returns true if a block can end: after all its statements, or after those above an early end.
    fn block_ends(&self, block: BlockId) -> bool {
        let nodes = &self.plan.block(block).nodes;
        for (node, statement) in nodes.iter().enumerate() {
            let early = !statement.guard.is_empty()
                && matches!(
                    statement.kind,
                    NodeKind::Yield(_) | NodeKind::Reply(_) | NodeKind::Fail(_)
                );
            if early {
                return true;
            }
            if !self.settles(At { block, node }) {
                return false;
            }
        }
        true
    }
}

/// Indices of the first statement, the first barrier and the first decision of a block that cannot settle.
#[derive(Default)]
struct Marks {
    settled: usize,
    passed: usize,
    decided: usize,
}

impl Marks {
    /// Moves each mark that is at `node` past it if the corresponding flag is set.
    fn pass(&mut self, node: usize, settled: bool, passed: bool, decided: bool) {
        let marks = [
            (&mut self.settled, settled),
            (&mut self.passed, passed),
            (&mut self.decided, decided),
        ];
        for (mark, behind) in marks {
            *mark += usize::from(behind && *mark == node);
        }
    }
}

fn all(plan: &Plan) -> impl Iterator<Item = (At, &Node)> {
    plan.sites()
        .map(|(block, id, node)| (At::new(block, id), node))
}

fn owners(plan: &Plan) -> Vec<Option<At>> {
    let owners = plan.owners().into_iter();
    owners
        .map(|owner| owner.map(|(block, id)| At::new(block, id)))
        .collect()
}

fn sets(plan: &Plan) -> Vec<(At, &Set)> {
    all(plan)
        .filter_map(|(at, node)| {
            if let NodeKind::Set(set) = &node.kind {
                Some((at, &**set))
            } else {
                None
            }
        })
        .collect()
}

fn fails(plan: &Plan) -> Vec<(BlockId, Vec<(TaskId, Status)>)> {
    let bodies = all(plan).filter_map(|(_, node)| match &node.kind {
        NodeKind::Listener(listener) => Some(listener.body),
        _ => None,
    });
    bodies
        .map(|body| (body, plan.fails_with(body)))
        .filter(|(_, tasks)| !tasks.is_empty())
        .collect()
}

/// Returns the initial status of a task; all statuses if the task is external.
fn initial_statuses(task: &Task) -> BTreeSet<Status> {
    task.all_statuses()
        .take(if task.external { usize::MAX } else { 1 })
        .collect()
}
