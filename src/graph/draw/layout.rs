//! Where boxes and arrows go: a layered layout, without randomness, in time that its caps bound.
//!
//! The steps are Sugiyama's: turn back edges round, put each node one layer below what it waits for, give long edges a
//! place in every layer that they cross, order each layer by the middle of its neighbours, then move the nodes as near
//! to their neighbours as order and gaps allow.

/// Between boxes of a layer, in pixels.
const GAP: f64 = 28.0;
/// Between layers.
const LAYER_GAP: f64 = 56.0;
/// Width that an arrow takes where it crosses a layer.
const LANE: f64 = 10.0;
/// Around everything.
const MARGIN: f64 = 16.0;
/// Rounds of ordering and of moving; more change little.
const ROUNDS: usize = 8;

/// A place in pixels from the upper left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// The finished layout.
#[derive(Debug)]
pub(super) struct Layout {
    pub size: Point,
    /// Middles of the boxes, in the order of the sizes.
    pub middles: Vec<Point>,
    /// For each edge the points it passes, from its start to its end; empty for an edge from a box to itself.
    pub paths: Vec<Vec<Point>>,
}

/// Lays out boxes of these sizes (width, height). `None` where more than `most` places would be needed.
pub(super) fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)], most: usize) -> Option<Layout> {
    let forward = without_cycles(sizes.len(), edges);
    let ranks = ranks(sizes.len(), &forward);
    let mut layers = Layers::new(sizes, &forward, &ranks, most)?;
    for round in 0..ROUNDS {
        layers.order(round % 2 == 0);
    }
    layers.place();
    Some(layers.finish(sizes, edges, &forward))
}

/// Each edge with its ends in an order that has no cycles: those that close one are turned round.
fn without_cycles(nodes: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut next = vec![Vec::new(); nodes];
    for (index, (from, to)) in edges.iter().enumerate() {
        if from != to {
            next[*from].push((index, *to));
        }
    }
    let mut forward = edges.to_vec();
    // 0 not seen, 1 on the way from the root, 2 done.
    let mut state = vec![0_u8; nodes];
    for root in 0..nodes {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut way = vec![(root, 0)];
        while let Some((node, taken)) = way.last_mut() {
            if let Some((edge, to)) = next[*node].get(*taken) {
                *taken += 1;
                match state[*to] {
                    0 => {
                        state[*to] = 1;
                        way.push((*to, 0));
                    }
                    1 => forward[*edge] = (*to, *node),
                    _ => {}
                }
            } else {
                state[*node] = 2;
                way.pop();
            }
        }
    }
    forward
}

/// The layer of each node: one below the lowest that it waits for.
fn ranks(nodes: usize, forward: &[(usize, usize)]) -> Vec<usize> {
    let mut next = vec![Vec::new(); nodes];
    let mut waits = vec![0_usize; nodes];
    for (from, to) in forward.iter().filter(|(from, to)| from != to) {
        next[*from].push(*to);
        waits[*to] += 1;
    }
    let mut ranks = vec![0; nodes];
    let mut ready: Vec<_> = (0..nodes).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for to in &next[node] {
            ranks[*to] = ranks[*to].max(ranks[node] + 1);
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    ranks
}

/// Nodes and crossing points by layer. Places below the number of nodes are nodes, the others are where an edge
/// crosses a layer.
struct Layers {
    rows: Vec<Vec<usize>>,
    widths: Vec<f64>,
    heights: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    middles: Vec<f64>,
    /// For each edge the places that it crosses, from above to below.
    lanes: Vec<Vec<usize>>,
}

impl Layers {
    fn new(sizes: &[(f64, f64)], forward: &[(usize, usize)], ranks: &[usize], most: usize) -> Option<Self> {
        let depth = ranks.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layers = Self {
            rows: vec![Vec::new(); depth],
            widths: sizes.iter().map(|size| size.0).collect(),
            heights: vec![0.0; depth],
            above: vec![Vec::new(); sizes.len()],
            below: vec![Vec::new(); sizes.len()],
            middles: Vec::new(),
            lanes: Vec::new(),
        };
        for (node, rank) in ranks.iter().enumerate() {
            layers.rows[*rank].push(node);
            layers.heights[*rank] = layers.heights[*rank].max(sizes[node].1);
        }
        for (from, to) in forward {
            let mut lane = Vec::new();
            let mut last = *from;
            for rank in ranks[*from] + 1..ranks[*to] {
                let place = layers.widths.len();
                if place >= most {
                    return None;
                }
                layers.widths.push(LANE);
                layers.above.push(Vec::new());
                layers.below.push(Vec::new());
                layers.rows[rank].push(place);
                layers.join(last, place);
                lane.push(place);
                last = place;
            }
            if from != to {
                layers.join(last, *to);
            }
            layers.lanes.push(lane);
        }
        Some(layers)
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// Sorts each row by the mean position of its neighbours in the row before, going down or up.
    fn order(&mut self, downwards: bool) {
        let mut position = vec![0.0; self.widths.len()];
        let rows: Vec<_> =
            if downwards { (0..self.rows.len()).collect() } else { (0..self.rows.len()).rev().collect() };
        for row in rows {
            let near = if downwards { &self.above } else { &self.below };
            let mut keyed: Vec<_> = self.rows[row]
                .iter()
                .enumerate()
                .map(|(index, place)| (mean(&near[*place], &position).unwrap_or(to_f64(index)), *place))
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (index, (_, place)) in keyed.iter().enumerate() {
                position[*place] = to_f64(index);
            }
            self.rows[row] = keyed.into_iter().map(|(_, place)| place).collect();
        }
    }

    /// Finds the horizontal middles: side by side at first, then towards the neighbours above and below in turn.
    fn place(&mut self) {
        self.middles = vec![0.0; self.widths.len()];
        for round in 0..=ROUNDS {
            let downwards = round % 2 == 1;
            let rows: Vec<_> =
                if downwards { (0..self.rows.len()).collect() } else { (0..self.rows.len()).rev().collect() };
            for row in rows {
                let near = if downwards { &self.above } else { &self.below };
                let wish = |place: &usize| mean(&near[*place], &self.middles).unwrap_or(self.middles[*place]);
                let wishes: Vec<_> = self.rows[row].iter().map(wish).collect();
                let widths: Vec<_> = self.rows[row].iter().map(|place| self.widths[*place]).collect();
                for (place, middle) in self.rows[row].iter().zip(settle(&wishes, &widths)) {
                    self.middles[*place] = middle;
                }
            }
        }
        let left = |place: usize| self.middles[place] - self.widths[place] / 2.0;
        let least = (0..self.widths.len()).map(left).fold(f64::INFINITY, f64::min);
        for middle in &mut self.middles {
            *middle += MARGIN - least;
        }
    }

    fn finish(&self, sizes: &[(f64, f64)], edges: &[(usize, usize)], forward: &[(usize, usize)]) -> Layout {
        let mut points = vec![Point { x: 0.0, y: 0.0 }; self.widths.len()];
        let mut top = MARGIN;
        for (row, height) in self.rows.iter().zip(&self.heights) {
            for place in row {
                points[*place] = Point { x: self.middles[*place], y: top + height / 2.0 };
            }
            top += height + LAYER_GAP;
        }
        let paths = edges.iter().zip(forward).zip(&self.lanes).map(|((edge, (upper, lower)), lane)| {
            if upper == lower {
                return Vec::new();
            }
            let half = |node: usize| sizes[node].1 / 2.0;
            let start = Point { y: points[*upper].y + half(*upper), ..points[*upper] };
            let end = Point { y: points[*lower].y - half(*lower), ..points[*lower] };
            let mut path = vec![start];
            path.extend(lane.iter().map(|place| points[*place]));
            path.push(end);
            if edge != &(*upper, *lower) {
                path.reverse();
            }
            path
        });
        let paths = paths.collect();
        let right = |(place, width): (usize, &f64)| self.middles[place] + width / 2.0;
        let width = self.widths.iter().enumerate().map(right).fold(0.0, f64::max) + MARGIN;
        let height = if self.rows.is_empty() { 2.0 * MARGIN } else { top - LAYER_GAP + MARGIN };
        points.truncate(sizes.len());
        Layout { size: Point { x: width, y: height }, middles: points, paths }
    }
}

/// The middles nearest to what is wished (least squares) in the given order with gaps kept: neighbours that would
/// overlap move as one block to the mean of their wishes.
fn settle(wishes: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(widths.len());
    let mut offset = 0.0;
    for (index, width) in widths.iter().enumerate() {
        if index > 0 {
            offset += (widths[index - 1] + width) / 2.0 + GAP;
        }
        offsets.push(offset);
    }
    // Blocks of (sum of wishes, count).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        let mut block = (wish - offset, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 / to_f64(before.1) >= block.0 / to_f64(block.1)) {
            block = (before.0 + block.0, before.1 + block.1);
        }
        blocks.push(block);
    }
    let settled = blocks.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / to_f64(count), count));
    settled.zip(offsets).map(|(base, offset)| base + offset).collect()
}

fn mean(places: &[usize], positions: &[f64]) -> Option<f64> {
    (!places.is_empty()).then(|| places.iter().map(|place| positions[*place]).sum::<f64>() / to_f64(places.len()))
}

#[expect(clippy::cast_precision_loss, reason = "counts of boxes are far below 2^52")]
const fn to_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn boxes_never_overlap_and_arrows_end_at_their_boxes(
            sizes in proptest::collection::vec((10.0..200.0_f64, 10.0..60.0_f64), 1..24),
            ends in proptest::collection::vec((0usize..24, 0usize..24), 0..60),
        ) {
            let edges: Vec<_> = ends.iter().map(|(a, b)| (a % sizes.len(), b % sizes.len())).collect();
            let layout = layout(&sizes, &edges, 10_000).unwrap();
            for (a, first) in layout.middles.iter().enumerate() {
                prop_assert!(first.x - sizes[a].0 / 2.0 >= 0.0 && first.x + sizes[a].0 / 2.0 <= layout.size.x);
                prop_assert!(first.y - sizes[a].1 / 2.0 >= 0.0 && first.y + sizes[a].1 / 2.0 <= layout.size.y);
                for (b, second) in layout.middles.iter().enumerate().skip(a + 1) {
                    let apart = (first.x - second.x).abs() >= f64::midpoint(sizes[a].0, sizes[b].0)
                        || (first.y - second.y).abs() >= f64::midpoint(sizes[a].1, sizes[b].1);
                    prop_assert!(apart, "{a} and {b} overlap");
                }
            }
            for ((from, to), path) in edges.iter().zip(&layout.paths) {
                prop_assert_eq!(path.is_empty(), from == to);
                if let (Some(first), Some(last)) = (path.first(), path.last()) {
                    prop_assert_eq!((first.x, last.x), (layout.middles[*from].x, layout.middles[*to].x));
                }
            }
        }
    }

    #[test]
    fn many_diamonds_take_no_time_and_too_much_is_refused() {
        let rows = 400;
        let edges: Vec<_> = (0..rows).flat_map(|row| [0, 1, 2].map(|to| (3 * row, 3 * row + to + 1))).collect();
        let more: Vec<_> = (0..rows).flat_map(|row| [1, 2].map(|from| (3 * row + from, 3 * row + 3))).collect();
        let edges: Vec<_> = edges.into_iter().chain(more).collect();
        let sizes = vec![(50.0, 20.0); 3 * rows + 4];
        assert!(layout(&sizes, &edges, 10_000).is_some());
        let long: Vec<_> = (1..sizes.len()).flat_map(|to| [(to - 1, to), (0, to)]).collect();
        assert!(layout(&sizes, &long, 10_000).is_none());
    }
}
