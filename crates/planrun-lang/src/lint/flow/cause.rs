//! Why something never comes: followed from one statement that waits to the next, until a reason or a circle is found.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::condition::{Thing, Way, states_of, ways};
use super::{At, Flow};
use crate::graph::{Edge, Vertex};
use crate::sema::{BlockId, Event, NodeKind, Set, Status, StepKind, TaskId};

/// The longest way that is followed.
const MAX_LINKS: usize = 10_000;

/// Why a condition never comes true.
#[derive(Debug)]
pub(in crate::lint) enum Cause<'a> {
    /// Here, and nowhere else, is the reason.
    Root(Root),
    /// It waits for something that waits for it. In the order in which each would have to come before the next.
    Circle(Vec<Link<'a>>),
    /// Something else never comes, and this is what follows.
    Elsewhere,
}

#[derive(Debug)]
pub(in crate::lint) enum Root {
    /// No `set` moves the task to one of these.
    NotSet(TaskId, BTreeSet<Status>),
    /// No state of this step is one of those wanted.
    NoState(At),
    /// Its parts exclude each other.
    Excluded,
    /// The plan only ends when its flow has.
    PlanEnds,
    /// The condition can be true, and no event makes it so.
    NoEvent,
}

/// One statement of a circle.
#[derive(Clone, Debug)]
pub(in crate::lint) struct Link<'a> {
    /// What waits: a listener or a step.
    pub at: At,
    /// What it waits for.
    pub event: &'a Event,
    /// The task and the `set` that would bring it, if it waits for one.
    pub set: Option<(At, &'a Set)>,
}

impl<'a> Flow<'a> {
    /// Why the condition of this statement never comes true.
    pub(in crate::lint) fn cause(&self, at: At, event: &'a Event) -> Cause<'a> {
        let mut way: Vec<Link<'a>> = Vec::new();
        let (mut at, mut event) = (at, event);
        while way.len() < MAX_LINKS {
            if let Some(start) = way.iter().position(|link| link.at == at) {
                // What was found later has to come earlier.
                let circle = way.split_off(start).into_iter().rev().collect();
                return if start == 0 {
                    Cause::Circle(circle)
                } else {
                    Cause::Elsewhere
                };
            }
            let (missing, set) = match self.missing(at, event) {
                Ok(missing) => missing,
                Err(root) => {
                    return if way.is_empty() {
                        Cause::Root(root)
                    } else {
                        Cause::Elsewhere
                    };
                }
            };
            way.push(Link { at, event, set });
            let Some(next) = self.held_by(missing) else {
                return Cause::Elsewhere;
            };
            let Some(waited) = self.at(next).event() else {
                return Cause::Elsewhere;
            };
            (at, event) = (next, waited);
        }
        Cause::Elsewhere
    }

    /// The statement that would have to run, and cannot; or the reason where there is none.
    #[expect(
        clippy::type_complexity,
        reason = "a statement and the `set` that it is, if it is one"
    )]
    fn missing(&self, at: At, event: &Event) -> Result<(At, Option<(At, &'a Set)>), Root> {
        let Some(ways) = ways(self, at, event) else {
            return Err(Root::NoEvent);
        };
        let unreached = |way: &Way| {
            let found = way
                .iter()
                .find(|(thing, states)| states.is_disjoint(&states_of(self, at, **thing)));
            found.map(|(thing, states)| (*thing, states.clone()))
        };
        if ways.is_empty() {
            return Err(Root::Excluded);
        }
        // The way that a `set` would open says most.
        let mut candidates = ways.iter().filter_map(unreached).collect::<Vec<_>>();
        candidates.sort_by_key(|(thing, states)| self.sources(*thing, states).is_empty());
        match candidates.into_iter().next() {
            None | Some((Thing::Outside, _)) => Err(Root::NoEvent),
            Some((Thing::Plan, _)) => Err(Root::PlanEnds),
            Some((Thing::Step(step), _)) if self.begins(step) => Err(Root::NoState(step)),
            Some((Thing::Step(step), _)) => Ok((step, None)),
            Some((thing @ Thing::Task(task), states)) => match self.sources(thing, &states).first()
            {
                Some(set) => Ok((set.0, Some(*set))),
                None => Err(Root::NotSet(task, states.into_iter().map(Status).collect())),
            },
        }
    }

    /// The `set`s that lead a task to one of these statuses.
    fn sources(&self, thing: Thing, states: &BTreeSet<u32>) -> Vec<(At, &'a Set)> {
        let Thing::Task(task) = thing else {
            return Vec::new();
        };
        let leads = |(_, set): &&(At, &'a Set)| set.task == task && states.contains(&set.status.0);
        self.sets.iter().filter(leads).copied().collect()
    }

    /// What keeps a statement from beginning: a step that waits in vain, or a listener that never fires.
    fn held_by(&self, mut at: At) -> Option<At> {
        for _ in 0..MAX_LINKS {
            if !self.opens(at.block) {
                let owner = self.owner(at.block)?;
                let fires =
                    self.begins(owner) && matches!(self.at(owner).kind, NodeKind::Listener(_));
                if fires {
                    return Some(owner);
                }
                at = owner;
                continue;
            }
            let above = self.unsettled_above(at)?;
            if !self.begins(above) {
                at = above;
                continue;
            }
            match self.stuck_in(above) {
                Ok(waits) => return Some(waits),
                Err(inner) => at = inner?,
            }
        }
        None
    }

    /// A statement above that is never behind us.
    fn unsettled_above(&self, at: At) -> Option<At> {
        let graph = self.block_graph(at.block);
        let mut open = vec![at.node];
        while let Some(vertex) = open.pop() {
            for edge in graph
                .dag
                .edges_directed(NodeIndex::new(vertex), Direction::Incoming)
            {
                let source = edge.source().index();
                if *edge.weight() == Edge::Listener || self.settles[at.block.0 as usize][source] {
                    continue;
                }
                if source < graph.nodes {
                    return Some(At { node: source, ..at });
                }
                open.push(source);
            }
        }
        let waits = graph.vertex(u32::try_from(at.node).unwrap_or(u32::MAX));
        let above = |place: usize| {
            (0..place)
                .map(|node| At { node, ..at })
                .filter(|above| !self.settles(*above))
        };
        let undecided = || above(at.node).find(|above| self.at(*above).decides());
        let is_barrier = |above: &At| graph.barriers.get(above.node) == Some(&true);
        match waits {
            Vertex::Everything(place) => above(place as usize).next(),
            Vertex::Barriers(place) => {
                undecided().or_else(|| above(place as usize).find(is_barrier))
            }
            Vertex::Decisions => undecided(),
            Vertex::Free | Vertex::Join => None,
        }
    }

    /// The step that waits in vain, in or as a step that has begun and never ends; or a statement in it to go on from.
    fn stuck_in(&self, at: At) -> Result<At, Option<At>> {
        let Some(step) = self.at(at).step() else {
            return Err(None);
        };
        let body: Option<BlockId> = match &step.kind {
            StepKind::Wait(_) => return Ok(at),
            StepKind::Do(body) => Some(*body),
            StepKind::Repeat(repeat) => Some(repeat.body),
            StepKind::Race(branches) => branches.first().map(|(_, body)| *body),
            StepKind::Match { arms, .. } => arms.first().map(|(_, body)| *body),
            StepKind::Call(_) | StepKind::Each(_) | StepKind::Input(_) | StepKind::Damaged => None,
        };
        let Some(block) = body else { return Err(None) };
        let mut nodes = (0..self.plan.block(block).nodes.len()).map(|node| At { block, node });
        let Some(inner) = nodes.find(|inner| !self.settles(*inner)) else {
            return Err(None);
        };
        if self.begins(inner) {
            self.stuck_in(inner)
        } else {
            Err(Some(inner))
        }
    }
}
