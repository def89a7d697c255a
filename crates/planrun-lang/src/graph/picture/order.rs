//! Adds the arrows of source order to a drawing: dotted arrows between siblings, without those that other arrows imply.

use super::Picture;
use crate::graph::draw::{DrawnEdge, EdgeKind, NodeKind as Shape};
use crate::sema::OrderClass;

impl Picture {
    /// Adds the arrows of source order.
    pub(super) fn order(&mut self) {
        self.set_frame_roles();
        let count = self.drawing.nodes.len();
        let mut into = vec![Vec::new(); count];
        for edge in &self.drawing.edges {
            let siblings = self.drawing.siblings(edge.from, edge.to);
            // An arrow to a statement inside a branch says nothing about the other statements of the frame.
            if let Some((from, to)) = siblings
                && from < to
                && (edge.to == to || !self.branches(to))
            {
                into[to].push(from);
            }
        }
        let mut order = SourceOrder {
            picture: self,
            into,
            leads: vec![false; count],
            below: vec![Below::default(); count],
        };
        let mut edges = Vec::new();
        for (frame, inside) in order.picture.drawing.inside().into_iter().enumerate() {
            let frame = (frame < count).then_some(frame);
            if order.picture.sequences.contains(&frame) {
                order.sequence(&inside, &mut edges);
            }
        }
        let order = edges.into_iter().map(|(from, to)| DrawnEdge {
            from,
            to,
            kind: EdgeKind::Order,
        });
        self.drawing.edges.extend(order);
    }

    /// Returns true for a frame whose statements wait for what is above it each by itself.
    fn branches(&self, node: usize) -> bool {
        matches!(
            self.drawing.nodes[node].kind,
            Shape::If | Shape::Arm | Shape::Parallel
        )
    }

    /// Gives an `if` or a `parallel` the strictest order of its contents.
    fn set_frame_roles(&mut self) {
        let inside = self.drawing.inside();
        // The contents of a frame have higher numbers than the frame.
        for index in (0..self.drawing.nodes.len()).rev() {
            if !self.branches(index) {
                continue;
            }
            let parts = inside[index].iter().map(|part| self.roles[*part]);
            let mut own = super::Role {
                unordered: true,
                reads_shared: self.roles[index].reads_shared,
                ..super::Role::default()
            };
            for part in parts {
                own.order = own.order.max(part.order);
                own.acts |= part.acts;
                own.decides |= part.decides || part.ends;
                own.unordered &= part.unordered;
                own.reads_shared |= part.reads_shared;
            }
            self.roles[index] = own;
        }
    }
}

/// The statements that precede a statement because of arrows already drawn.
#[derive(Clone, Copy, Default)]
struct Below {
    barrier: Option<usize>,
    decision: Option<usize>,
}

/// The statements of a frame in source order.
struct SourceOrder<'a> {
    picture: &'a Picture,
    /// For each statement, the statements before it in the same frame that have an arrow to it.
    into: Vec<Vec<usize>>,
    /// Whether a later statement that would also be waited for has an arrow from it.
    leads: Vec<bool>,
    below: Vec<Below>,
}

/// The state after the statements visited so far.
#[derive(Default)]
struct Progress {
    /// The last barriers, none of which waits for another.
    barriers: Vec<usize>,
    /// Other actions after them.
    since: Vec<usize>,
    decision: Option<usize>,
}

impl SourceOrder<'_> {
    fn sequence(&mut self, inside: &[usize], edges: &mut Vec<(usize, usize)>) {
        let mut reached = Progress::default();
        for own in inside.iter().copied() {
            let role = self.picture.roles[own];
            self.inherit(own, &reached);
            if role.unordered && !role.reads_shared
                || matches!(
                    self.picture.drawing.nodes[own].kind,
                    Shape::Recover | Shape::Undo
                )
            {
                continue;
            }
            for above in self.into[own].clone() {
                self.lead(above);
            }
            for above in self.awaited(own, &reached) {
                edges.push((above, own));
                self.into[own].push(above);
                self.lead(above);
            }
            self.inherit(own, &reached);
            if role.decides {
                reached.decision = Some(own);
            }
            let is_barrier = role.acts && role.order == OrderClass::Barrier;
            if is_barrier && !role.has_after {
                reached.barriers = vec![own];
                reached.since.clear();
            } else if is_barrier {
                reached.barriers.retain(|above| !self.leads[*above]);
                reached.barriers.push(own);
            } else if role.acts || role.ends {
                reached.since.push(own);
            }
        }
    }

    /// Returns what a statement waits for because of source order, unless an arrow already implies it.
    fn awaited(&self, own: usize, reached: &Progress) -> Vec<usize> {
        let role = self.picture.roles[own];
        let places = role.acts && !role.has_after;
        let everything = role.ends || places && role.order >= OrderClass::Clock;
        let barriers = everything || role.reads_shared || places && role.order == OrderClass::Read;
        let mut awaited = Vec::new();
        if everything {
            let above = reached.barriers.iter().chain(&reached.since);
            awaited.extend(above.copied().filter(|above| !self.leads[*above]));
        } else if barriers {
            let is_below = |above: &usize| {
                self.into[own].contains(above) || self.below[own].barrier == Some(*above)
            };
            awaited.extend(
                reached
                    .barriers
                    .iter()
                    .copied()
                    .filter(|above| !is_below(above)),
            );
        }
        if let Some(decision) = reached.decision {
            let through_barrier =
                barriers && reached.barriers.iter().any(|barrier| *barrier > decision);
            let is_below =
                self.into[own].contains(&decision) || self.below[own].decision >= Some(decision);
            if !(through_barrier || is_below || everything && self.leads[decision]) {
                awaited.push(decision);
            }
        }
        awaited
    }

    /// Records what precedes a statement through the arrows to it.
    fn inherit(&mut self, own: usize, reached: &Progress) {
        let mut below = self.below[own];
        for above in &self.into[own] {
            let inherited = self.below[*above];
            let barrier = reached.barriers.contains(above).then_some(*above);
            below.barrier = below.barrier.max(barrier).max(inherited.barrier);
            let decision = self.picture.roles[*above].decides.then_some(*above);
            below.decision = below.decision.max(decision).max(inherited.decision);
        }
        self.below[own] = below;
    }

    /// Marks a statement with an outgoing arrow. For a `let`, which is not waited for itself, also marks what it reads.
    fn lead(&mut self, above: usize) {
        let mut open = vec![above];
        while let Some(above) = open.pop() {
            if !std::mem::replace(&mut self.leads[above], true)
                && self.picture.drawing.nodes[above].kind == Shape::Let
            {
                open.extend(&self.into[above]);
            }
        }
    }
}
