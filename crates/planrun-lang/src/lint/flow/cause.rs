//! Explains why a condition never comes true, by following the waiting statements to a root cause or a cycle.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::condition::{Alternative, Entity, alternatives, states_of};
use super::{At, Flow};
use crate::graph::{Edge, Vertex};
use crate::sema::{BlockId, Event, NodeKind, Set, Status, StepKind, TaskId};

/// Maximum number of statements to follow.
const MAX_LINKS: usize = 10_000;

/// Why a condition never comes true.
#[derive(Debug)]
pub(in crate::lint) enum Cause<'a> {
    /// The cause is in the condition itself.
    Root(Root),
    /// It waits for something that waits for it. Each link would have to happen before the next.
    Cycle(Vec<Link<'a>>),
    /// It is a consequence of another condition that never comes true.
    Elsewhere,
}

#[derive(Debug)]
pub(in crate::lint) enum Root {
    /// No `set` moves the task to one of these statuses.
    NotSet(TaskId, BTreeSet<Status>),
    /// The step cannot be in any of the required states.
    NoState(At),
    /// The parts of the condition exclude each other.
    Excluded,
    /// It waits for the end of the plan, which comes only after the flow of the plan has ended.
    PlanEnds,
    /// The condition can be true, but no event makes it true.
    NoEvent,
}

/// One statement of a cycle.
#[derive(Clone, Debug)]
pub(in crate::lint) struct Link<'a> {
    /// The listener or step that waits.
    pub at: At,
    /// The condition it waits for.
    pub event: &'a Event,
    /// The `set` that would make the condition true, if the condition concerns a task.
    pub set: Option<(At, &'a Set)>,
}

impl<'a> Flow<'a> {
    /// Returns why the condition of this statement never comes true.
    pub(in crate::lint) fn cause(&self, at: At, event: &'a Event) -> Cause<'a> {
        let mut links: Vec<Link<'a>> = Vec::new();
        let (mut at, mut event) = (at, event);
        while links.len() < MAX_LINKS {
            if let Some(start) = links.iter().position(|link| link.at == at) {
                // Causes are found after their consequences, so the order is reversed.
                let cycle = links.split_off(start).into_iter().rev().collect();
                return if start == 0 {
                    Cause::Cycle(cycle)
                } else {
                    Cause::Elsewhere
                };
            }
            let (missing, set) = match self.missing(at, event) {
                Ok(missing) => missing,
                Err(root) => {
                    return if links.is_empty() {
                        Cause::Root(root)
                    } else {
                        Cause::Elsewhere
                    };
                }
            };
            links.push(Link { at, event, set });
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

    /// Returns the statement that would have to run but cannot. If there is none, the error is the root cause.
    #[expect(
        clippy::type_complexity,
        reason = "a statement and the `set` that it is, if it is one"
    )]
    fn missing(&self, at: At, event: &Event) -> Result<(At, Option<(At, &'a Set)>), Root> {
        let Some(alternatives) = alternatives(self, at, event) else {
            return Err(Root::NoEvent);
        };
        let unreached = |alternative: &Alternative| {
            let found = alternative
                .iter()
                .find(|(entity, states)| states.is_disjoint(&states_of(self, at, **entity)));
            found.map(|(entity, states)| (*entity, states.clone()))
        };
        if alternatives.is_empty() {
            return Err(Root::Excluded);
        }
        // A `set` that cannot run is the most informative cause.
        let mut candidates = alternatives
            .iter()
            .filter_map(unreached)
            .collect::<Vec<_>>();
        candidates.sort_by_key(|(entity, states)| self.sources(*entity, states).is_empty());
        match candidates.into_iter().next() {
            None | Some((Entity::Outside, _)) => Err(Root::NoEvent),
            Some((Entity::Plan, _)) => Err(Root::PlanEnds),
            Some((Entity::Step(step), _)) if self.begins(step) => Err(Root::NoState(step)),
            Some((Entity::Step(step), _)) => Ok((step, None)),
            Some((entity @ Entity::Task(task), states)) => {
                match self.sources(entity, &states).first() {
                    Some(set) => Ok((set.0, Some(*set))),
                    None => Err(Root::NotSet(task, states.into_iter().map(Status).collect())),
                }
            }
        }
    }

    /// Returns the `set`s that move the task to one of these statuses.
    fn sources(&self, entity: Entity, states: &BTreeSet<u32>) -> Vec<(At, &'a Set)> {
        let Entity::Task(task) = entity else {
            return Vec::new();
        };
        let leads = |(_, set): &&(At, &'a Set)| set.task == task && states.contains(&set.status.0);
        self.sets.iter().filter(leads).copied().collect()
    }

    /// Returns what prevents a statement from beginning: a step that waits forever, or a listener that never fires.
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

    /// Returns a statement above that never settles.
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

    /// Returns the step that waits forever: this one, which begins and never ends, or one inside it. The error is a
    /// statement inside it to continue from, if there is one.
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
