//! Where boxes and arrows go: layers from above to below, by the library dagre within caps that bound its time.

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir, Ranker};
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

/// Between boxes of a layer, in pixels.
const GAP: f64 = 28.0;
/// Between arrows that cross a layer.
const LANE_GAP: f64 = 12.0;
/// Between layers.
const LAYER_GAP: f64 = 56.0;
/// Around everything.
const MARGIN: f64 = 16.0;

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

/// Lays out boxes of these sizes (width, height). `None` where more than `most` places would be needed: the library's
/// time grows faster than their number.
pub(super) fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)], most: usize) -> Option<Layout> {
    let downwards = downwards(sizes.len(), edges);
    if places(sizes.len(), &downwards) > most {
        return None;
    }
    let mut graph = Graph::with_options(GraphOptions { directed: true, multigraph: true, compound: false });
    for (node, (width, height)) in sizes.iter().enumerate() {
        graph.set_node(name(node), Some(NodeLabel { width: *width, height: *height, ..NodeLabel::default() }));
    }
    // Upside down, as the ranker keeps nodes near the ends of their edges and what can start at once belongs on top.
    for (index, (upper, lower)) in downwards.edges.iter().enumerate().filter(|(_, (upper, lower))| upper != lower) {
        let label = EdgeLabel { labelpos: LabelPos::Center, ..EdgeLabel::default() };
        graph.set_edge(name(*lower), name(*upper), Some(label), Some(&name(index)));
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
    finish(&graph, sizes, edges, &downwards)
}

/// The edges with their ends so that all lead onwards in one order of the nodes.
struct Downwards {
    order: Vec<usize>,
    edges: Vec<(usize, usize)>,
}

/// Where arrows form a cycle, the order of the nodes is that of the source and arrows against it are turned round.
fn downwards(nodes: usize, edges: &[(usize, usize)]) -> Downwards {
    let mut graph = DiGraph::<(), ()>::with_capacity(nodes, edges.len());
    for _ in 0..nodes {
        graph.add_node(());
    }
    for (from, to) in edges.iter().filter(|(from, to)| from != to) {
        graph.add_edge(NodeIndex::new(*from), NodeIndex::new(*to), ());
    }
    let order = match toposort(&graph, None) {
        Ok(order) => order.into_iter().map(NodeIndex::index).collect(),
        Err(_) => (0..nodes).collect::<Vec<_>>(),
    };
    let mut turns = vec![0; nodes];
    for (turn, node) in order.iter().enumerate() {
        turns[*node] = turn;
    }
    let turned = |(from, to): &(usize, usize)| if turns[*from] > turns[*to] { (*to, *from) } else { (*from, *to) };
    Downwards { order, edges: edges.iter().map(turned).collect() }
}

/// Boxes, and where arrows cross a layer or the middle between two: what the library will have to place.
fn places(nodes: usize, downwards: &Downwards) -> usize {
    let mut next = vec![Vec::new(); nodes];
    for (upper, lower) in downwards.edges.iter().filter(|(upper, lower)| upper != lower) {
        next[*upper].push(*lower);
    }
    let mut layers = vec![0_usize; nodes];
    for upper in &downwards.order {
        for lower in &next[*upper] {
            layers[*lower] = layers[*lower].max(layers[*upper] + 1);
        }
    }
    nodes
        + downwards
            .edges
            .iter()
            .map(|(upper, lower)| (2 * (layers[*lower] - layers[*upper])).saturating_sub(1))
            .sum::<usize>()
}

/// Equally long, so that the library's order by name is the order of the numbers.
fn name(number: usize) -> String {
    format!("{number:08}")
}

fn finish(
    graph: &Graph<NodeLabel, EdgeLabel>,
    sizes: &[(f64, f64)],
    edges: &[(usize, usize)],
    downwards: &Downwards,
) -> Option<Layout> {
    let middle = |node| graph.node(&name(node)).and_then(|node| Some(Point { x: node.x?, y: node.y? }));
    let mut middles = (0..sizes.len()).map(middle).collect::<Option<Vec<_>>>()?;
    let mut paths = Vec::with_capacity(edges.len());
    for (index, (edge, (upper, lower))) in edges.iter().zip(&downwards.edges).enumerate() {
        if upper == lower {
            paths.push(Vec::new());
            continue;
        }
        let label = graph.edge(&name(*lower), &name(*upper), Some(&name(index)))?;
        let inner = label.points.iter().rev().skip(1).take(label.points.len().saturating_sub(2));
        let half = |node: usize| sizes[node].1 / 2.0;
        let mut path = vec![Point { y: middles[*upper].y + half(*upper), ..middles[*upper] }];
        path.extend(inner.map(|point| Point { x: point.x, y: point.y }));
        path.push(Point { y: middles[*lower].y - half(*lower), ..middles[*lower] });
        if edge != &(*upper, *lower) {
            path.reverse();
        }
        paths.push(path);
    }
    let size = into_view(&mut middles, &mut paths, sizes);
    Some(Layout { size, middles, paths })
}

/// Moves everything right and down to the margin; returns the size of it all.
fn into_view(middles: &mut [Point], paths: &mut [Vec<Point>], sizes: &[(f64, f64)]) -> Point {
    let corners = middles.iter().zip(sizes).flat_map(|(middle, (width, height))| {
        [-0.5, 0.5].map(|side| Point { x: middle.x + side * width, y: middle.y + side * height })
    });
    let all: Vec<_> = corners.chain(paths.iter().flatten().copied()).collect();
    let least = |of: fn(&Point) -> f64| all.iter().map(of).reduce(f64::min).unwrap_or(0.0);
    let greatest = |of: fn(&Point) -> f64| all.iter().map(of).reduce(f64::max).unwrap_or(0.0);
    let (left, top) = (least(|point| point.x) - MARGIN, least(|point| point.y) - MARGIN);
    let size = Point { x: greatest(|point| point.x) + MARGIN - left, y: greatest(|point| point.y) + MARGIN - top };
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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

    fn sizes(nodes: usize) -> Vec<(f64, f64)> {
        vec![(50.0, 20.0); nodes]
    }

    #[test]
    fn many_diamonds_take_no_time_and_too_much_is_refused() {
        let rows = 100;
        let edges: Vec<_> =
            (0..3 * rows).map(|from| (from, from + if from % 3 == 0 { 1 } else { 3 - from % 3 })).collect();
        let more = (0..rows).map(|row| (3 * row, 3 * row + 2));
        let edges: Vec<_> = edges.into_iter().chain(more).collect();
        assert!(layout(&sizes(3 * rows + 1), &edges, 5000).is_some());
        let long: Vec<_> = (1..300).flat_map(|to| [(to - 1, to), (0, to)]).collect();
        assert!(layout(&sizes(300), &long, 5000).is_none());
    }

    #[test]
    fn the_deepest_drawing_fits_a_small_stack_and_is_the_same_twice() {
        let chain: Vec<_> = (1..1000).map(|to| (to - 1, to)).collect();
        let draw = move || layout(&sizes(1000), &chain, 5000).unwrap().middles;
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(draw.clone()).unwrap();
        assert_eq!(thread.join().unwrap(), draw());
    }
}
