//! The order of the page in a drawing: dotted arrows between what stands beside each other, those left out that follow from
//! others.

use super::Picture;
use crate::graph::draw::{DrawnEdge, EdgeKind, NodeKind as Shape};
use crate::sema::OrderClass;

impl Picture {
    /// Adds the arrows of the order.
    pub(super) fn order(&mut self) {
        self.frames_take_part();
        let count = self.drawing.nodes.len();
        let mut into = vec![Vec::new(); count];
        for edge in &self.drawing.edges {
            if let Some((from, to)) = self
                .drawing
                .beside(edge.from, edge.to)
                .filter(|(from, to)| from < to)
            {
                into[to].push(from);
            }
        }
        let mut page = Page {
            picture: self,
            into,
            leads: vec![false; count],
            below: vec![Below::default(); count],
        };
        let mut edges = Vec::new();
        for (frame, inside) in page.picture.drawing.inside().into_iter().enumerate() {
            let frame = (frame < count).then_some(frame);
            if page.picture.sequences.contains(&frame) {
                page.sequence(&inside, &mut edges);
            }
        }
        let order = edges.into_iter().map(|(from, to)| DrawnEdge {
            from,
            to,
            kind: EdgeKind::Order,
        });
        self.drawing.edges.extend(order);
    }

    /// What an `if` or a `parallel` is in the order around it: the strictest that stands in it.
    fn frames_take_part(&mut self) {
        let inside = self.drawing.inside();
        // What stands in a frame has a higher number than the frame.
        for index in (0..self.drawing.nodes.len()).rev() {
            if !matches!(
                self.drawing.nodes[index].kind,
                Shape::If | Shape::Arm | Shape::Parallel
            ) {
                continue;
            }
            let parts = inside[index].iter().map(|part| self.standings[*part]);
            let mut own = super::Standing {
                floats: true,
                ..super::Standing::default()
            };
            for part in parts {
                own.order = own.order.max(part.order);
                own.acts |= part.acts;
                own.decides |= part.decides || part.ends;
                own.floats &= part.floats;
            }
            self.standings[index] = own;
        }
    }
}

/// What a statement is known to stand below, through arrows that are drawn.
#[derive(Clone, Copy, Default)]
struct Below {
    barrier: Option<usize>,
    decision: Option<usize>,
}

/// The statements of a frame, from above to below.
struct Page<'a> {
    picture: &'a Picture,
    /// The arrows to each from what stands above it in the same frame.
    into: Vec<Vec<usize>>,
    /// Whether an arrow leads from it to something that whatever waits for everything above will wait for as well.
    leads: Vec<bool>,
    below: Vec<Below>,
}

/// Where a page has come to.
#[derive(Default)]
struct Reached {
    /// The last barriers, of which none waits for another.
    barriers: Vec<usize>,
    /// What else acts below them.
    since: Vec<usize>,
    decision: Option<usize>,
}

impl Page<'_> {
    fn sequence(&mut self, inside: &[usize], edges: &mut Vec<(usize, usize)>) {
        let mut reached = Reached::default();
        for own in inside.iter().copied() {
            let standing = self.picture.standings[own];
            self.inherit(own, &reached);
            if standing.floats
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
            if standing.decides {
                reached.decision = Some(own);
            }
            let is_barrier = standing.acts && standing.order == OrderClass::Barrier;
            if is_barrier && !standing.placed {
                reached.barriers = vec![own];
                reached.since.clear();
            } else if is_barrier {
                reached.barriers.retain(|above| !self.leads[*above]);
                reached.barriers.push(own);
            } else if standing.acts || standing.ends {
                reached.since.push(own);
            }
        }
    }

    /// What a statement waits for by its place, as far as no arrow says so already.
    fn awaited(&self, own: usize, reached: &Reached) -> Vec<usize> {
        let standing = self.picture.standings[own];
        let places = standing.acts && !standing.placed;
        let everything = standing.ends || places && standing.order >= OrderClass::Clock;
        let barriers = everything || places && standing.order == OrderClass::Read;
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

    /// Notes what a statement stands below because of the arrows to it.
    fn inherit(&mut self, own: usize, reached: &Reached) {
        let mut below = self.below[own];
        for above in &self.into[own] {
            let inherited = self.below[*above];
            let barrier = reached.barriers.contains(above).then_some(*above);
            below.barrier = below.barrier.max(barrier).max(inherited.barrier);
            let decision = self.picture.standings[*above].decides.then_some(*above);
            below.decision = below.decision.max(decision).max(inherited.decision);
        }
        self.below[own] = below;
    }

    /// Marks what an arrow leads on from; a value is no statement, so what it was made of leads on with it.
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
