//! The effects that a run makes itself although it copies results of another run. What stands below them on the page is
//! not copied as it is: the results there are from before these effects.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::graph::{BlockGraph, Edge, Vertex};

use super::frame::{FrameId, NodeRef, Role};
use super::tree::Tree;

/// What an effect of the run means for results of the other run below it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Renewal {
    /// The other run has not made it, so what was read below it may differ now.
    First,
    /// The other run has made it, too, so effects below may have been lost with the earlier one.
    Again,
}

/// The steps that have made effects, and the steps around them.
#[derive(Default)]
pub(super) struct Renewed {
    steps: BTreeMap<NodeRef, Renewal>,
}

impl Renewed {
    /// Records that a call makes an effect.
    pub(super) fn note(&mut self, tree: &Tree, at: NodeRef, renewal: Renewal) {
        let mut inner = at;
        loop {
            let known = self.steps.get(&inner);
            if known.is_some_and(|known| *known >= renewal) {
                return;
            }
            self.steps.insert(inner, renewal);
            let Some(owner) = tree[inner.0].owner else {
                return;
            };
            match owner.role {
                Role::Body | Role::Recover | Role::Element(_) | Role::Round | Role::Branch(_) => {}
                // Nothing waits for a firing because of its place.
                Role::Firing(_) | Role::Verify | Role::Undo => return,
            }
            inner = (owner.frame, owner.node);
        }
    }

    /// Returns the most that effects above a call mean for its result. Elements of an `each` do not stand below each
    /// other: none can read what another has done.
    pub(super) fn above(&self, tree: &Tree, at: NodeRef) -> Option<Renewal> {
        if self.steps.is_empty() {
            return None;
        }
        let (mut found, mut inner) = (None, at);
        loop {
            found = found.max(self.above_in_block(tree, inner));
            let Some(owner) = tree[inner.0].owner else {
                return found;
            };
            let outer = (owner.frame, owner.node);
            match owner.role {
                Role::Recover => found = found.max(self.steps.get(&outer).copied()),
                Role::Round => {
                    let rounds = tree.inner_frames(outer).iter();
                    let earlier = rounds.filter(|round| **round < inner.0);
                    found = found.max(earlier.filter_map(|round| self.most_in(*round)).max());
                }
                Role::Body | Role::Element(_) | Role::Branch(_) | Role::Firing(_) => {}
                Role::Verify | Role::Undo => return None,
            }
            inner = outer;
        }
    }

    fn most_in(&self, frame: FrameId) -> Option<Renewal> {
        let steps = self.steps.range((frame, 0)..=(frame, u32::MAX));
        steps.map(|(_, renewal)| *renewal).max()
    }

    fn above_in_block(&self, tree: &Tree, (frame, node): NodeRef) -> Option<Renewal> {
        self.most_in(frame)?;
        let program = tree.program(frame);
        let awaited = awaited(tree.graph(&program, frame), node);
        let steps = self.steps.range((frame, 0)..=(frame, u32::MAX));
        let above = steps.filter(|((_, step), _)| *step != node && awaited.contains(step));
        above.map(|(_, renewal)| *renewal).max()
    }
}

/// Returns all nodes of a block that a node waits for, because of its place or because it depends on them, directly or
/// through others. A listener waits for what its firings read.
#[must_use]
pub fn awaited(graph: &BlockGraph, node: u32) -> BTreeSet<u32> {
    let reads = graph.firing_reads.iter();
    let reads = reads.filter(|read| read.listener == node);
    let mut found: BTreeSet<u32> = reads.map(|read| read.source).collect();
    let mut open: Vec<u32> = found.iter().copied().chain([node]).collect();
    // Up to where nodes were added because of a place.
    let (mut everything, mut barriers) = (0, 0);
    while let Some(vertex) = open.pop() {
        let mut sources: Vec<u32> = graph
            .dependencies(vertex as usize)
            .filter(|(_, edge)| *edge != Edge::Listener)
            .map(|(source, _)| u32::try_from(source).unwrap_or(u32::MAX))
            .collect();
        match graph.vertex(vertex) {
            Vertex::Everything(place) => {
                sources.extend(everything..place.max(everything));
                everything = place.max(everything);
            }
            Vertex::Barriers(place) => {
                let above = barriers..place.max(barriers);
                sources.extend(above.filter(|above| graph.is_barrier(*above)));
                barriers = place.max(barriers);
            }
            Vertex::Free | Vertex::Decisions | Vertex::Join => {}
        }
        open.extend(sources.into_iter().filter(|source| found.insert(*source)));
    }
    found
}
