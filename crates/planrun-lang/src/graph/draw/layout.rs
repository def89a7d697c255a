//! Lays out the boxes and arrows of one frame in layers from top to bottom, with the library dagre, within limits that
//! bound its time.

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir, Ranker};
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

/// Space between boxes of a layer, in pixels.
const GAP: f64 = 28.0;
/// Space between arrows that cross a layer, in pixels.
const LANE_GAP: f64 = 14.0;
/// Space between layers, in pixels.
const LAYER_GAP: f64 = 48.0;
/// Maximum space between the ends of arrows at one side of a box, in pixels.
const END_GAP: f64 = 16.0;

/// A position in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub(super) const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// An arrow between two boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub from: usize,
    pub to: usize,
    /// Minimum number of layers that it spans.
    pub layers: usize,
    /// Affects the layout but is not drawn.
    pub hidden: bool,
    /// Offsets from the middle of the boxes at which it starts and ends; `None` lets the layout choose them.
    pub leaves: Option<f64>,
    pub arrives: Option<f64>,
}

impl Wire {
    /// Creates an arrow with default settings.
    pub const fn new(from: usize, to: usize) -> Self {
        Self {
            from,
            to,
            layers: 1,
            hidden: false,
            leaves: None,
            arrives: None,
        }
    }
}

/// The finished layout.
#[derive(Debug)]
pub(super) struct Layout {
    pub size: Point,
    /// Centers of the boxes, in the order of the sizes.
    pub middles: Vec<Point>,
    /// The points of each wire from its start to its end. Between two points with the same x there is nothing but the
    /// line, and between other points there is no box. Empty for a wire from a box to itself.
    pub paths: Vec<Vec<Point>>,
}

/// Lays out boxes of these sizes (width, height) with a margin around them. Returns `None` if more than `max` places
/// would be needed, because the library's time grows faster than their number; otherwise subtracts the number from
/// `max`.
pub(super) fn layout(
    sizes: &[(f64, f64)],
    wires: &[Wire],
    margin: f64,
    max: &mut usize,
) -> Option<Layout> {
    let downwards = Downwards::of(sizes.len(), wires);
    *max = max.checked_sub(downwards.places(sizes.len()))?;
    let mut graph = Graph::with_options(GraphOptions {
        directed: true,
        multigraph: true,
        compound: false,
    });
    for (node, (width, height)) in sizes.iter().enumerate() {
        graph.set_node(
            name(node),
            Some(NodeLabel {
                width: *width,
                height: *height,
                ..NodeLabel::default()
            }),
        );
    }
    // The graph is laid out upside down: the ranker keeps nodes near the ends of their edges, and boxes that can start
    // at once belong at the top.
    for (index, edge) in downwards
        .edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.upper != edge.lower)
    {
        let minlen = i32::try_from(edge.layers).unwrap_or(i32::MAX);
        let label = EdgeLabel {
            labelpos: LabelPos::Center,
            minlen,
            ..EdgeLabel::default()
        };
        graph.set_edge(
            name(edge.lower),
            name(edge.upper),
            Some(label),
            Some(&name(index)),
        );
    }
    dagre::layout(
        &mut graph,
        Some(LayoutOptions {
            rankdir: RankDir::BT,
            ranker: Ranker::LongestPath,
            nodesep: GAP,
            edgesep: LANE_GAP,
            ranksep: LAYER_GAP,
            ..LayoutOptions::default()
        }),
    );
    finish(&graph, sizes, wires, margin, &downwards)
}

/// Returns the layer of each box, counted from the top, when all wires lead downwards.
pub(super) fn layers(nodes: usize, wires: &[Wire]) -> Vec<usize> {
    Downwards::of(nodes, wires).layers(nodes)
}

/// A wire with its ends ordered so that it leads downwards.
#[derive(Clone, Copy)]
struct Edge {
    upper: usize,
    lower: usize,
    layers: usize,
}

/// The wires ordered so that all of them lead forwards in one order of the nodes.
struct Downwards {
    order: Vec<usize>,
    edges: Vec<Edge>,
}

impl Downwards {
    /// If the arrows form a cycle, the nodes keep the source order and arrows against it are reversed.
    fn of(nodes: usize, wires: &[Wire]) -> Self {
        let mut graph = DiGraph::<(), ()>::with_capacity(nodes, wires.len());
        for _ in 0..nodes {
            graph.add_node(());
        }
        for wire in wires.iter().filter(|wire| wire.from != wire.to) {
            graph.add_edge(NodeIndex::new(wire.from), NodeIndex::new(wire.to), ());
        }
        let order = match toposort(&graph, None) {
            Ok(order) => order.into_iter().map(NodeIndex::index).collect(),
            Err(_) => (0..nodes).collect::<Vec<_>>(),
        };
        let mut turns = vec![0; nodes];
        for (turn, node) in order.iter().enumerate() {
            turns[*node] = turn;
        }
        let turned = |wire: &Wire| {
            let Wire {
                from, to, layers, ..
            } = *wire;
            let (upper, lower) = if turns[from] > turns[to] {
                (to, from)
            } else {
                (from, to)
            };
            Edge {
                upper,
                lower,
                layers,
            }
        };
        Self {
            order,
            edges: wires.iter().map(turned).collect(),
        }
    }

    fn layers(&self, nodes: usize) -> Vec<usize> {
        let mut next = vec![Vec::new(); nodes];
        for edge in self.edges.iter().filter(|edge| edge.upper != edge.lower) {
            next[edge.upper].push((edge.lower, edge.layers));
        }
        let mut layers = vec![0_usize; nodes];
        for upper in &self.order {
            for (lower, apart) in &next[*upper] {
                layers[*lower] = layers[*lower].max(layers[*upper] + apart);
            }
        }
        layers
    }

    /// Returns the number of places that the library has to compute: boxes, and crossings of arrows with a layer or
    /// with the middle between two layers.
    fn places(&self, nodes: usize) -> usize {
        let layers = self.layers(nodes);
        let crossed = self
            .edges
            .iter()
            .map(|edge| (2 * (layers[edge.lower] - layers[edge.upper])).saturating_sub(1));
        nodes + crossed.sum::<usize>()
    }
}

/// All names have the same length, so that the library's order by name is the order of the numbers.
fn name(number: usize) -> String {
    format!("{number:08}")
}

fn finish(
    graph: &Graph<NodeLabel, EdgeLabel>,
    sizes: &[(f64, f64)],
    wires: &[Wire],
    margin: f64,
    downwards: &Downwards,
) -> Option<Layout> {
    let middle = |node| {
        let node = graph.node(&name(node))?;
        Some(Point::new(node.x?, node.y?))
    };
    let mut middles = (0..sizes.len()).map(middle).collect::<Option<Vec<_>>>()?;
    let inner = passed(graph, downwards)?;
    let bands = Bands::of(&middles, sizes);
    let ends = ends(&middles, sizes, wires, downwards, &inner);
    let mut paths = Vec::with_capacity(wires.len());
    for (((wire, edge), inner), (start, end)) in
        wires.iter().zip(&downwards.edges).zip(&inner).zip(ends)
    {
        if edge.upper == edge.lower {
            paths.push(Vec::new());
            continue;
        }
        let (upper, lower) = (middles[edge.upper], middles[edge.lower]);
        let mut path = vec![
            Point::new(start, upper.y + sizes[edge.upper].1 / 2.0),
            Point::new(start, upper.y + bands.half(upper.y)),
        ];
        for point in inner {
            let half = bands.half(point.y);
            path.push(Point::new(point.x, point.y - half));
            path.push(Point::new(point.x, point.y + half));
        }
        path.push(Point::new(end, lower.y - bands.half(lower.y)));
        path.push(Point::new(end, lower.y - sizes[edge.lower].1 / 2.0));
        path.dedup();
        if wire.from != edge.upper {
            path.reverse();
        }
        paths.push(path);
    }
    let size = into_view(&mut middles, &mut paths, sizes, margin);
    Some(Layout {
        size,
        middles,
        paths,
    })
}

/// Returns the points of each wire between its upper and its lower box.
fn passed(graph: &Graph<NodeLabel, EdgeLabel>, downwards: &Downwards) -> Option<Vec<Vec<Point>>> {
    let edges = downwards.edges.iter().enumerate();
    let passed = edges.map(|(index, edge)| {
        if edge.upper == edge.lower {
            return Some(Vec::new());
        }
        let label = graph.edge(&name(edge.lower), &name(edge.upper), Some(&name(index)))?;
        let count = label.points.len().saturating_sub(2);
        let points = label.points.iter().rev().skip(1).take(count);
        Some(points.map(|point| Point::new(point.x, point.y)).collect())
    });
    passed.collect()
}

/// The heights of the layers. Within a layer, lines lead straight down.
struct Bands(Vec<(f64, f64)>);

impl Bands {
    fn of(middles: &[Point], sizes: &[(f64, f64)]) -> Self {
        let mut bands: Vec<(f64, f64)> = middles
            .iter()
            .zip(sizes)
            .map(|(middle, (_, height))| (middle.y, height / 2.0))
            .collect();
        bands.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut merged: Vec<(f64, f64)> = Vec::new();
        for (y, half) in bands {
            match merged.last_mut().filter(|last| y - last.0 < 0.5) {
                Some(last) => last.1 = last.1.max(half),
                None => merged.push((y, half)),
            }
        }
        Self(merged)
    }

    /// Returns half the height of the layer at this y; zero between layers.
    fn half(&self, y: f64) -> f64 {
        let place = self.0.partition_point(|(middle, _)| *middle < y - 0.5);
        self.0
            .get(place)
            .filter(|(middle, _)| (middle - y).abs() < 0.5)
            .map_or(0.0, |(_, half)| *half)
    }
}

/// Returns where each wire leaves its upper box and enters its lower one. Wires at one side are sorted by direction.
fn ends(
    middles: &[Point],
    sizes: &[(f64, f64)],
    wires: &[Wire],
    downwards: &Downwards,
    inner: &[Vec<Point>],
) -> Vec<(f64, f64)> {
    let mut ends: Vec<(f64, f64)> = downwards
        .edges
        .iter()
        .map(|edge| (middles[edge.upper].x, middles[edge.lower].x))
        .collect();
    let mut below: Vec<Vec<(f64, usize)>> = vec![Vec::new(); middles.len()];
    let mut above = below.clone();
    for (index, (wire, edge)) in wires.iter().zip(&downwards.edges).enumerate() {
        let turned = wire.from != edge.upper;
        let (upper, lower) = if turned {
            (wire.arrives, wire.leaves)
        } else {
            (wire.leaves, wire.arrives)
        };
        let (first, last) = (inner[index].first(), inner[index].last());
        match upper {
            Some(offset) => ends[index].0 += offset,
            None if wire.hidden => {}
            None => below[edge.upper]
                .push((first.map_or(middles[edge.lower].x, |point| point.x), index)),
        }
        match lower {
            Some(offset) => ends[index].1 += offset,
            None if wire.hidden => {}
            None => {
                above[edge.lower]
                    .push((last.map_or(middles[edge.upper].x, |point| point.x), index));
            }
        }
    }
    for (node, (below, above)) in below.iter_mut().zip(&mut above).enumerate() {
        spread(below, sizes[node].0, |index, offset| {
            ends[index].0 += offset;
        });
        spread(above, sizes[node].0, |index, offset| {
            ends[index].1 += offset;
        });
    }
    ends
}

/// Distributes ends along one side of a box of this width.
fn spread(ends: &mut [(f64, usize)], width: f64, mut place: impl FnMut(usize, f64)) {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let gaps = f64::from(u32::try_from(ends.len().saturating_sub(1)).unwrap_or(u32::MAX));
    let gap = if gaps > 0.0 {
        ((width - 14.0).max(0.0) / gaps).min(END_GAP)
    } else {
        0.0
    };
    let mut offset = -gaps * gap / 2.0;
    for (_, index) in ends {
        place(*index, offset);
        offset += gap;
    }
}

/// Moves everything right and down to the margin, and returns the total size.
fn into_view(
    middles: &mut [Point],
    paths: &mut [Vec<Point>],
    sizes: &[(f64, f64)],
    margin: f64,
) -> Point {
    let corners = middles
        .iter()
        .zip(sizes)
        .flat_map(|(middle, (width, height))| {
            [-0.5, 0.5].map(|side| Point {
                x: middle.x + side * width,
                y: middle.y + side * height,
            })
        });
    let all: Vec<_> = corners.chain(paths.iter().flatten().copied()).collect();
    let least = |of: fn(&Point) -> f64| all.iter().map(of).reduce(f64::min).unwrap_or(0.0);
    let greatest = |of: fn(&Point) -> f64| all.iter().map(of).reduce(f64::max).unwrap_or(0.0);
    let (left, top) = (
        least(|point| point.x) - margin,
        least(|point| point.y) - margin,
    );
    let size = Point {
        x: greatest(|point| point.x) + margin - left,
        y: greatest(|point| point.y) + margin - top,
    };
    for point in middles.iter_mut().chain(paths.iter_mut().flatten()) {
        point.x -= left;
        point.y -= top;
    }
    size
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wires(ends: &[(usize, usize)]) -> Vec<Wire> {
        ends.iter()
            .map(|(from, to)| Wire::new(*from, *to))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn boxes_never_overlap_and_arrows_end_at_their_boxes(
            sizes in proptest::collection::vec((10.0..200.0_f64, 10.0..60.0_f64), 1..24),
            ends in proptest::collection::vec((0usize..24, 0usize..24), 0..60),
        ) {
            let edges: Vec<_> = ends.iter().map(|(a, b)| (a % sizes.len(), b % sizes.len())).collect();
            let layout = layout(&sizes, &wires(&edges), 16.0, &mut 10_000).unwrap();
            let bounds = |node: usize| {
                let (middle, (width, height)) = (layout.middles[node], sizes[node]);
                let (left, top) = (middle.x - width / 2.0, middle.y - height / 2.0);
                (left, top, left + width, top + height)
            };
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
                for (node, end) in [(from, path.first()), (to, path.last())] {
                    let Some(end) = end else { continue };
                    let (left, top, right, bottom) = bounds(*node);
                    let at_border = (end.y - top).abs() < 0.01 || (end.y - bottom).abs() < 0.01;
                    prop_assert!(left <= end.x + 0.01 && end.x <= right + 0.01 && at_border);
                }
                // Between two points, a line stays in the rectangle that they span, and no box overlaps that rectangle.
                for pair in path.windows(2) {
                    let (low, high) = (pair[0].y.min(pair[1].y) + 0.01, pair[0].y.max(pair[1].y) - 0.01);
                    let (near, far) = (pair[0].x.min(pair[1].x), pair[0].x.max(pair[1].x));
                    for node in 0..sizes.len() {
                        let (left, top, right, bottom) = bounds(node);
                        let crossed = low < bottom && top < high && near < right && left < far;
                        prop_assert!(!crossed, "an arrow from {from} to {to} crosses {node}");
                    }
                }
            }
        }
    }

    fn sizes(nodes: usize) -> Vec<(f64, f64)> {
        vec![(50.0, 20.0); nodes]
    }

    #[test]
    fn many_diamonds_take_no_time_and_too_much_is_refused() {
        let rows = 100;
        let edges: Vec<_> = (0..3 * rows)
            .map(|from| (from, from + if from % 3 == 0 { 1 } else { 3 - from % 3 }))
            .collect();
        let more = (0..rows).map(|row| (3 * row, 3 * row + 2));
        let edges: Vec<_> = edges.into_iter().chain(more).collect();
        assert!(layout(&sizes(3 * rows + 1), &wires(&edges), 16.0, &mut 5000).is_some());
        let long: Vec<_> = (1..300).flat_map(|to| [(to - 1, to), (0, to)]).collect();
        assert!(layout(&sizes(300), &wires(&long), 16.0, &mut 5000).is_none());
    }

    #[test]
    fn the_deepest_drawing_fits_a_small_stack_and_is_the_same_twice() {
        let chain: Vec<_> = (1..1000).map(|to| Wire::new(to - 1, to)).collect();
        let draw = move || {
            layout(&sizes(1000), &chain, 16.0, &mut 5000)
                .unwrap()
                .middles
        };
        let thread = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(draw.clone())
            .unwrap();
        assert_eq!(thread.join().unwrap(), draw());
    }
}
