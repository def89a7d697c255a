//! Lays out nested frames, from the innermost outwards. Arrows cross the border of a frame at gates.

use std::collections::BTreeMap;

use super::layout::{Layout, Point, Wire, layers, layout};
use super::{Drawing, DrawnEdge, EdgeKind};

/// Space around the contents of a frame, in pixels.
const INNER_MARGIN: f64 = 14.0;
/// Space around the whole drawing, in pixels.
const OUTER_MARGIN: f64 = 16.0;
/// Maximum width of rows of boxes without arrows, in pixels; the width of the rest if that is larger.
const ROW: f64 = 640.0;
/// Space between such boxes, in pixels.
const ROW_GAP: f64 = 20.0;
/// Space between a gate and the contents of the frame, in pixels.
const GATE_GAP: f64 = 22.0;

/// The position and size of a box or frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub corner: Point,
    pub size: Point,
}

/// The finished layout of a drawing.
#[derive(Debug)]
pub(super) struct Nested {
    pub size: Point,
    pub spots: Vec<Spot>,
    /// The points of each edge; empty for an edge between a frame and its own contents.
    pub paths: Vec<Vec<Point>>,
}

/// Whether an arrow enters through the upper border of a frame or leaves through the lower one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    In,
    Out,
}

/// The point where the arrows of one kind to or from one node cross a border.
type Gate = (Side, usize, EdgeKind);

/// The contents of one frame, which are laid out together: its boxes, its gates, and the wires between them.
#[derive(Default)]
struct Level {
    wires: Vec<Wire>,
    /// The number of each gate and of its wire.
    gates: BTreeMap<Gate, (usize, usize)>,
    /// The wires that end at a gate of an inner frame, with that frame and gate.
    fixed: Vec<(usize, usize, Gate)>,
}

/// A part of an edge: a frame and a wire in it.
type Part = (usize, usize);

struct Nest<'a> {
    drawing: &'a Drawing,
    inside: Vec<Vec<usize>>,
    /// Indexed by frame; the plan comes last.
    levels: Vec<Level>,
    /// Indexed by edge.
    parts: Vec<Vec<Part>>,
}

/// Lays out the whole drawing. `heads` are the sizes of boxes and of the headings of frames. Returns `None` if more
/// than `max` places would be needed.
pub(super) fn nest(
    drawing: &Drawing,
    edges: &[DrawnEdge],
    heads: &[(f64, f64)],
    mut max: usize,
) -> Option<Nested> {
    let inside = drawing.inside();
    let levels = inside.iter().map(|_| Level::default()).collect();
    let mut nest = Nest {
        drawing,
        inside,
        levels,
        parts: Vec::new(),
    };
    for edge in edges {
        let parts = nest.route(*edge);
        nest.parts.push(parts);
    }
    let whole = drawing.nodes.len();
    let mut sizes = heads.to_vec();
    let mut layouts: Vec<Option<Layout>> = (0..=whole).map(|_| None).collect();
    // The contents of a frame have higher numbers than the frame, and the plan comes last.
    for frame in (0..whole)
        .rev()
        .chain([whole])
        .filter(|frame| !nest.inside[*frame].is_empty())
    {
        let layout = nest.lay_out(frame, &sizes, &layouts, &mut max)?;
        if let Some((width, height)) = sizes.get_mut(frame) {
            (*width, *height) = (width.max(layout.size.x), *height + layout.size.y);
        }
        layouts[frame] = Some(layout);
    }
    Some(nest.assemble(&sizes, heads, &layouts))
}

impl Nest<'_> {
    fn whole(&self) -> usize {
        self.drawing.nodes.len()
    }

    /// Returns the index of a node among the contents of its frame.
    fn place(&self, frame: usize, node: usize) -> usize {
        self.inside[frame].binary_search(&node).unwrap_or(0)
    }

    /// Lays the wires of an edge: out of the frames around its start, between the two siblings that contain its ends,
    /// and into the frames around its end.
    fn route(&mut self, edge: DrawnEdge) -> Vec<Part> {
        let Some((first, last)) = self.drawing.siblings(edge.from, edge.to) else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        let (out, into) = (
            (Side::Out, edge.from, edge.kind),
            (Side::In, edge.to, edge.kind),
        );
        parts.extend(self.gates(edge.from, first, out));
        let frame = self
            .drawing
            .around(first)
            .next()
            .unwrap_or_else(|| self.whole());
        let wire = Wire::new(self.place(frame, first), self.place(frame, last));
        let level = &mut self.levels[frame];
        level.wires.push(wire);
        let number = level.wires.len() - 1;
        if first != edge.from {
            level.fixed.push((number, first, out));
        }
        if last != edge.to {
            level.fixed.push((number, last, into));
        }
        parts.push((frame, number));
        let inwards = self.gates(edge.to, last, into);
        parts.extend(inwards.into_iter().rev());
        parts
    }

    /// Lays the wires from a node to the gates of the frames around it, up to the frame `outermost`.
    fn gates(&mut self, node: usize, outermost: usize, gate: Gate) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut inner = node;
        while inner != outermost {
            let Some(frame) = self.drawing.around(inner).next() else {
                break;
            };
            let (boxes, own) = (self.inside[frame].len(), self.place(frame, inner));
            let level = &mut self.levels[frame];
            let known = level.gates.get(&gate).map(|(_, wire)| *wire);
            let wire = known.unwrap_or_else(|| {
                let number = boxes + level.gates.len();
                let wire = match gate.0 {
                    Side::Out => Wire::new(own, number),
                    Side::In => Wire::new(number, own),
                };
                level.wires.push(wire);
                let wire = level.wires.len() - 1;
                level.gates.insert(gate, (number, wire));
                if inner != node {
                    level.fixed.push((wire, inner, gate));
                }
                wire
            });
            parts.push((frame, wire));
            inner = frame;
        }
        parts
    }

    fn lay_out(
        &self,
        frame: usize,
        sizes: &[(f64, f64)],
        layouts: &[Option<Layout>],
        max: &mut usize,
    ) -> Option<Layout> {
        let (inside, level) = (&self.inside[frame], &self.levels[frame]);
        let mut wires = level.wires.clone();
        for (wire, frame, gate) in &level.fixed {
            let offset = self.offset(*frame, gate, layouts);
            match gate.0 {
                Side::Out => wires[*wire].leaves = Some(offset),
                Side::In => wires[*wire].arrives = Some(offset),
            }
        }
        let own: Vec<(f64, f64)> = inside.iter().map(|node| sizes[*node]).collect();
        let margin = if frame == self.whole() {
            OUTER_MARGIN
        } else {
            INNER_MARGIN
        };
        let end = inside
            .len()
            .checked_sub(1)
            .filter(|last| self.drawing.nodes[inside[*last]].kind.ends());
        let mut loose: Vec<usize> = loose(inside.len(), &wires)
            .into_iter()
            .filter(|place| Some(*place) != end)
            .collect();
        if level.gates.keys().any(|(side, ..)| *side == Side::In) {
            // Lines that enter from above would cross the rows.
            loose.clear();
        }
        // The remaining places under new numbers: first boxes, then gates.
        let tied: Vec<usize> = (0..inside.len())
            .filter(|place| loose.binary_search(place).is_err())
            .collect();
        let number = |place: usize| match place.checked_sub(inside.len()) {
            Some(gate) => tied.len() + gate,
            None => tied.binary_search(&place).unwrap_or(0),
        };
        for wire in &mut wires {
            (wire.from, wire.to) = (number(wire.from), number(wire.to));
        }
        let mut boxes: Vec<(f64, f64)> = tied.iter().map(|place| own[*place]).collect();
        if end.is_some() {
            below_all(boxes.len(), &mut wires);
        }
        boxes.extend(level.gates.iter().map(|_| (0.0, 0.0)));
        apart(tied.len(), level, &mut boxes, &mut wires);
        let mut found = layout(&boxes, &wires, margin, max)?;
        shorten(&mut found, (tied.len(), inside.len()), level, &boxes);
        Some(with_rows(found, &tied, &loose, &own, margin))
    }

    /// Returns the horizontal distance of a gate from the middle of its frame.
    fn offset(&self, frame: usize, gate: &Gate, layouts: &[Option<Layout>]) -> f64 {
        let number = self.levels[frame]
            .gates
            .get(gate)
            .map(|(number, _)| *number);
        let layout = layouts[frame].as_ref();
        let middle = layout
            .zip(number)
            .and_then(|(layout, number)| layout.middles.get(number));
        match (middle, layout) {
            // The contents of a frame are centered in it.
            (Some(middle), Some(layout)) => middle.x - layout.size.x / 2.0,
            _ => 0.0,
        }
    }

    /// Combines the layouts of all frames.
    fn assemble(
        &self,
        sizes: &[(f64, f64)],
        heads: &[(f64, f64)],
        layouts: &[Option<Layout>],
    ) -> Nested {
        let whole = self.whole();
        let mut spots = vec![Spot::default(); whole];
        // The origin of the layout of each frame.
        let mut origins = vec![Point::default(); whole + 1];
        for frame in std::iter::once(whole).chain(0..whole) {
            let Some(layout) = &layouts[frame] else {
                continue;
            };
            if frame < whole {
                let Spot { corner, size } = spots[frame];
                let left = corner.x + (size.x - layout.size.x) / 2.0;
                origins[frame] = Point::new(left, corner.y + heads[frame].1);
            }
            let origin = origins[frame];
            for (node, middle) in self.inside[frame].iter().zip(&layout.middles) {
                let (width, height) = sizes[*node];
                let left = origin.x + middle.x - width / 2.0;
                spots[*node] = Spot {
                    corner: Point::new(left, origin.y + middle.y - height / 2.0),
                    size: Point::new(width, height),
                };
            }
        }
        let path = |parts: &Vec<Part>| {
            let points = parts.iter().flat_map(|(frame, wire)| {
                let path = layouts[*frame]
                    .as_ref()
                    .and_then(|layout| layout.paths.get(*wire));
                let origin = origins[*frame];
                path.into_iter().flatten().map(move |point| Point {
                    x: point.x + origin.x,
                    y: point.y + origin.y,
                })
            });
            points.collect()
        };
        let size = layouts[whole].as_ref().map_or(
            Point::new(2.0 * OUTER_MARGIN, 2.0 * OUTER_MARGIN),
            |layout| layout.size,
        );
        Nested {
            size,
            spots,
            paths: self.parts.iter().map(path).collect(),
        }
    }
}

/// Returns the boxes at which no wire ends.
fn loose(boxes: usize, wires: &[Wire]) -> Vec<usize> {
    let mut tied = vec![false; boxes];
    for end in wires.iter().flat_map(|wire| [wire.from, wire.to]) {
        if let Some(tied) = tied.get_mut(end) {
            *tied = true;
        }
    }
    (0..boxes).filter(|place| !tied[*place]).collect()
}

/// Adds hidden wires that place the last of these boxes below all others.
fn below_all(boxes: usize, wires: &mut Vec<Wire>) {
    let Some(end) = boxes.checked_sub(1) else {
        return;
    };
    let mut goes = vec![false; boxes];
    for wire in wires
        .iter()
        .filter(|wire| wire.to < boxes && wire.from != wire.to)
    {
        if let Some(goes) = goes.get_mut(wire.from) {
            *goes = true;
        }
    }
    let above = (0..end).filter(|place| !goes[*place]);
    wires.extend(above.map(|place| Wire {
        hidden: true,
        ..Wire::new(place, end)
    }));
}

/// Moves the gates of a frame closer to its contents; there are only lines between them.
fn shorten(layout: &mut Layout, (boxes, all): (usize, usize), level: &Level, sizes: &[(f64, f64)]) {
    if level.gates.is_empty() {
        return;
    }
    let edges =
        |side: f64| move |(middle, size): (&Point, &(f64, f64))| middle.y + side * size.1 / 2.0;
    let placed = || layout.middles.iter().zip(sizes).take(boxes);
    let (top, bottom) = (
        placed().map(edges(-1.0)).reduce(f64::min),
        placed().map(edges(1.0)).reduce(f64::max),
    );
    let (Some(top), Some(bottom)) = (top, bottom) else {
        return;
    };
    let gate = |side: Side| {
        let found = level.gates.iter().find(|((own, ..), _)| *own == side);
        found
            .and_then(|(_, (number, _))| layout.middles.get(number - all + boxes))
            .map(|middle| middle.y)
    };
    let above = gate(Side::In).map_or(0.0, |gate| (top - gate - GATE_GAP).max(0.0));
    let below = gate(Side::Out).map_or(0.0, |gate| (gate - bottom - GATE_GAP).max(0.0));
    let squeezed = |distance: f64, by: f64| {
        if by > 0.0 {
            distance * GATE_GAP / (GATE_GAP + by)
        } else {
            distance
        }
    };
    let moved = |y: f64| {
        let y = if y < top {
            top - squeezed(top - y, above)
        } else {
            y
        };
        let y = if y > bottom {
            bottom + squeezed(y - bottom, below)
        } else {
            y
        };
        y - above
    };
    for point in layout
        .middles
        .iter_mut()
        .chain(layout.paths.iter_mut().flatten())
    {
        point.y = moved(point.y);
    }
    layout.size.y -= above + below;
}

/// Places the boxes without arrows in rows above the layout, and restores the numbers of the others within the frame.
fn with_rows(
    found: Layout,
    tied: &[usize],
    loose: &[usize],
    sizes: &[(f64, f64)],
    margin: f64,
) -> Layout {
    let Layout {
        mut size,
        middles,
        mut paths,
    } = found;
    let widest = size.x.max(ROW);
    let mut all = vec![Point::default(); sizes.len()];
    let mut corner = Point::new(margin, margin);
    let (mut row_height, mut right) = (0.0_f64, 0.0_f64);
    for place in loose {
        let (width, height) = sizes[*place];
        if corner.x > margin && corner.x + width + margin > widest {
            corner = Point::new(margin, corner.y + row_height + ROW_GAP);
            row_height = 0.0;
        }
        all[*place] = Point::new(corner.x + width / 2.0, corner.y + height / 2.0);
        corner.x += width + ROW_GAP;
        row_height = row_height.max(height);
        right = right.max(corner.x - ROW_GAP + margin);
    }
    let down = match (loose.is_empty(), tied.is_empty()) {
        (true, _) => 0.0,
        (false, true) => corner.y + row_height + margin - size.y,
        (false, false) => corner.y + row_height + ROW_GAP - margin,
    };
    let aside = ((right - size.x) / 2.0).max(0.0);
    let moved = |point: Point| Point::new(point.x + aside, point.y + down);
    let (boxes, gates) = middles.split_at(tied.len().min(middles.len()));
    for (place, middle) in tied.iter().zip(boxes) {
        all[*place] = moved(*middle);
    }
    all.extend(gates.iter().copied().map(moved));
    paths
        .iter_mut()
        .flatten()
        .for_each(|point| *point = moved(*point));
    size = Point::new(size.x.max(right), size.y + down);
    Layout {
        size,
        middles: all,
        paths,
    }
}

/// Keeps the gates of a frame above and below its contents.
fn apart(boxes: usize, level: &Level, sizes: &mut Vec<(f64, f64)>, wires: &mut Vec<Wire>) {
    if level.gates.is_empty() {
        return;
    }
    let is_box = |place: usize| place < boxes;
    let among: Vec<Wire> = wires
        .iter()
        .filter(|wire| is_box(wire.from) && is_box(wire.to))
        .copied()
        .collect();
    let layers = layers(boxes, &among);
    let deepest = layers.iter().copied().max().unwrap_or(0);
    for ((side, ..), (_, wire)) in &level.gates {
        let wire = &mut wires[*wire];
        wire.layers = match side {
            Side::In => layers[wire.to] + 1,
            Side::Out => deepest - layers[wire.from] + 1,
        };
    }
    if level.gates.keys().any(|(side, ..)| *side == Side::In) {
        // Boxes that no wire leads to would end up next to the gates.
        let mut comes = vec![false; boxes];
        wires
            .iter()
            .filter(|wire| is_box(wire.to))
            .for_each(|wire| comes[wire.to] = true);
        let anchor = sizes.len();
        sizes.push((0.0, 0.0));
        let loose = (0..boxes).filter(|place| !comes[*place]);
        wires.extend(loose.map(|place| Wire {
            hidden: true,
            ..Wire::new(anchor, place)
        }));
    }
}
