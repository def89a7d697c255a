//! What can come to pass in a plan: which statements can begin and end, which statuses tasks can take, which listeners
//! can fire. Conditions over data may come out either way, and everything outside may happen or not.

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

/// The work after which nothing more is looked for: everything is possible then.
const MAX_WORK: usize = 50_000_000;

/// What can come to pass, as the least that follows from what is there at the start.
pub(super) struct Flow<'a> {
    pub plan: &'a Plan,
    graph: Rc<Graph>,
    /// The statement that owns each block.
    owners: Vec<Option<At>>,
    /// Every `set`.
    sets: Vec<(At, &'a Set)>,
    /// What listeners and steps wait for.
    conditions: BTreeMap<At, Condition>,
    /// The tasks that fail with a listener, by its body.
    fails: Vec<(BlockId, Vec<(TaskId, Status)>)>,
    /// Whether what each statement waits for can come.
    begins: Vec<Vec<bool>>,
    /// Whether each vertex can be behind us: ended, or passed over.
    settles: Vec<Vec<bool>>,
    /// The statuses that each task can take.
    statuses: Vec<BTreeSet<Status>>,
    /// A failure leaves the rest going on.
    goes_on: bool,
}

impl<'a> Flow<'a> {
    /// Works it out; nothing where the plan waits for no events.
    pub(super) fn of(plan: &'a Plan, graph: &Rc<Graph>, goes_on: OnFailure) -> Option<Self> {
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
            statuses: plan.tasks.iter().map(at_first).collect(),
            goes_on: goes_on == OnFailure::Settle,
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

    /// Every listener and every step that waits for an event.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (At, &'a Event)> {
        let plan = self.plan;
        all(plan).filter_map(|(at, node)| node.event().map(|event| (at, event)))
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &(At, &'a Set)> {
        self.sets.iter()
    }

    /// Whether what a statement waits for can come.
    pub(super) fn begins(&self, at: At) -> bool {
        self.begins[at.block.0 as usize][at.node]
    }

    pub(super) fn settles(&self, at: At) -> bool {
        self.settles[at.block.0 as usize][at.node]
    }

    /// Whether what a statement waits for can come true; so can nothing at all.
    pub(super) fn comes(&self, at: At) -> bool {
        self.conditions
            .get(&at)
            .is_none_or(|condition| condition.can_hold(self, at))
    }

    /// The statement that a block belongs to.
    pub(super) fn owner(&self, block: BlockId) -> Option<At> {
        self.owners[block.0 as usize]
    }

    /// The listener in whose firings a block runs.
    pub(super) fn firing(&self, mut block: BlockId) -> Option<(At, &'a Listener)> {
        while let Some(owner) = self.owner(block) {
            if let NodeKind::Listener(listener) = &self.at(owner).kind {
                return Some((owner, listener));
            }
            block = owner.block;
        }
        None
    }

    /// The statements whose value a place holds, as seen from a block: several in branches of one `if`.
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

    /// Whether a block can run.
    fn opens(&self, block: BlockId) -> bool {
        let Some(owner) = self.owner(block) else {
            return true;
        };
        self.begins(owner)
            && match &self.at(owner).kind {
                NodeKind::Listener(_) => self.comes(owner),
                _ => true,
            }
    }

    /// Derives what follows from what is known; false where nothing is new.
    fn round(&mut self) -> bool {
        let mut news = false;
        for index in 0..self.plan.blocks.len() {
            let block = BlockId(u32::try_from(index).unwrap_or(u32::MAX));
            if self.opens(block) {
                news |= self.block_round(block);
            }
        }
        for index in 0..self.sets.len() {
            let (at, set) = self.sets[index];
            if self.begins(at) {
                news |= self.statuses[set.task.0 as usize].insert(set.status);
            }
        }
        for index in 0..self.fails.len() {
            if self.opens(self.fails[index].0) {
                for (task, status) in &self.fails[index].1 {
                    news |= self.statuses[task.0 as usize].insert(*status);
                }
            }
        }
        news
    }

    fn block_round(&mut self, block: BlockId) -> bool {
        let index = block.0 as usize;
        let mut news = false;
        let mut marks = Marks::default();
        let count = self.plan.block(block).nodes.len();
        // Joins come behind the statements, and each only joins what was there before the one that needs it.
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
            news |= begins && !std::mem::replace(&mut self.begins[index][node], begins);
            news |= settles && !std::mem::replace(&mut self.settles[index][node], settles);
            let is_barrier = self.block_graph(block).barriers.get(node) == Some(&true);
            marks.pass(
                node,
                settles,
                settles || !is_barrier,
                settles || !statement.decides(),
            );
        }
        news
    }

    /// Whether all that a statement has edges from can be behind us, and the part of it that decides its guard.
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

    /// Whether a statement that has begun can end.
    fn ends(&self, at: At) -> bool {
        let Some(step) = self.at(at).step() else {
            return true;
        };
        let fails = step.within().is_some() || !matches!(step.kind, StepKind::Wait(_));
        if fails && (self.goes_on || !step.recover.is_empty()) {
            return true;
        }
        match &step.kind {
            StepKind::Wait(wait) => match &**wait {
                Wait::Event { .. } => self.comes(at),
                Wait::For(_) | Wait::Until(_) => true,
            },
            StepKind::Do(body) => self.block_ends(*body),
            StepKind::Repeat(repeat) => self.block_ends(repeat.body),
            StepKind::Race(branches) => branches.iter().any(|(_, body)| self.block_ends(*body)),
            StepKind::Match { arms, .. } => arms.iter().any(|(_, body)| self.block_ends(*body)),
            // A list may be empty, and who is asked may answer.
            StepKind::Each(_) | StepKind::Call(_) | StepKind::Input(_) | StepKind::Damaged => true,
        }
    }

    /// Whether a block can come to its end: all of it, or what stands above an early one.
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

/// The first statement of a block that is never behind us; the first such barrier; the first such decision.
#[derive(Default)]
struct Marks {
    settled: usize,
    passed: usize,
    decided: usize,
}

impl Marks {
    /// Moves each mark past a statement that it has come to.
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

/// The first status, and all where somebody outside may move the task.
fn at_first(task: &Task) -> BTreeSet<Status> {
    task.all_statuses()
        .take(if task.external { usize::MAX } else { 1 })
        .collect()
}
