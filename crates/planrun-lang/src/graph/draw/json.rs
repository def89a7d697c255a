//! Writes drawings as JSON, for programs that draw the graph themselves.

use serde::Serialize;

use super::{Drawing, DrawnEdge, EdgeKind, NodeKind};
use crate::diag::render::escape_json;

/// Writes one JSON document: the nodes in source order, the edges, and the order within each block from its roots to
/// its leaves.
#[must_use]
pub fn json(drawing: &Drawing) -> String {
    let id = |place: usize| drawing.nodes.get(place).map_or("", |node| &*node.id);
    let nodes = drawing.nodes.iter().map(|node| Node {
        id: &node.id,
        kind: node.kind,
        label: &node.label,
        detail: &node.detail,
        marks: &node.marks,
        parent: node.parent.map(id),
    });
    let edges = drawing.edges.iter().map(|edge| Arrow {
        from: id(edge.from),
        to: id(edge.to),
        kind: edge.kind,
    });
    let mut inside = drawing.inside();
    let own = inside.pop().unwrap_or_default();
    let frames = inside
        .iter()
        .enumerate()
        .filter(|(_, inside)| !inside.is_empty());
    let dependencies = Dependencies::of(drawing);
    let block = |frame: Option<usize>, own: &[usize]| {
        let SortedBlock {
            roots,
            leaves,
            levels,
        } = dependencies.sort(own);
        let names = |places: Vec<usize>| places.into_iter().map(id).collect();
        Block {
            block: frame.map(id),
            roots: names(roots),
            leaves: names(leaves),
            levels: levels.into_iter().map(names).collect(),
        }
    };
    let inner = frames.map(|(frame, own)| block(Some(frame), own));
    let document = Document {
        version: 1,
        plan: &drawing.plan,
        marks: &drawing.marks,
        nodes: nodes.collect(),
        edges: edges.collect(),
        blocks: std::iter::once(block(None, &own)).chain(inner).collect(),
    };
    // The document contains only strings, numbers and fixed words, so serialization cannot fail.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    escape_json(&text) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    plan: &'a str,
    marks: &'a [String],
    nodes: Vec<Node<'a>>,
    edges: Vec<Arrow<'a>>,
    /// The plan's own statements come first.
    blocks: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Node<'a> {
    id: &'a str,
    kind: NodeKind,
    label: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    marks: &'a [String],
    parent: Option<&'a str>,
}

#[derive(Serialize)]
struct Arrow<'a> {
    from: &'a str,
    to: &'a str,
    kind: EdgeKind,
}

/// The contents of one frame by their order within it.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of the document"
)]
struct Block<'a> {
    /// The frame; null for the plan's own statements.
    block: Option<&'a str>,
    /// Statements that wait for nothing in the block.
    roots: Vec<&'a str>,
    /// Statements that nothing in the block waits for.
    leaves: Vec<&'a str>,
    /// Statements by the length of the longest path from a root. All statements of one level could run at the same
    /// time.
    levels: Vec<Vec<&'a str>>,
}

/// The same as node indices, each list in source order.
struct SortedBlock {
    roots: Vec<usize>,
    leaves: Vec<usize>,
    levels: Vec<Vec<usize>>,
}

/// The dependencies between the statements of each frame. An arrow from inside a nested frame counts as an arrow from
/// that frame.
struct Dependencies {
    /// Indexed by the node that comes first.
    after: Vec<Vec<usize>>,
}

impl Dependencies {
    /// A listener waits for nothing, so the arrows that trigger it are left out.
    fn of(drawing: &Drawing) -> Self {
        let mut after = vec![Vec::new(); drawing.nodes.len()];
        for DrawnEdge { from, to, kind } in &drawing.edges {
            if *kind != EdgeKind::Listener
                && let Some((from, to)) = drawing.siblings(*from, *to)
            {
                after[from].push(to);
            }
        }
        Self { after }
    }

    /// Sorts the statements of a block into levels.
    fn sort(&self, own: &[usize]) -> SortedBlock {
        let place = |node: usize| own.binary_search(&node).ok();
        let after = own.iter().map(|node| {
            self.after[*node]
                .iter()
                .filter_map(|reader| place(*reader))
                .collect()
        });
        let after: Vec<Vec<usize>> = after.collect();
        let mut before = vec![0_usize; own.len()];
        for reader in after.iter().flatten() {
            before[*reader] += 1;
        }
        let select = |condition: &dyn Fn(usize) -> bool| {
            (0..own.len())
                .filter(|place| condition(*place))
                .collect::<Vec<_>>()
        };
        let at = |places: &[usize]| places.iter().map(|place| own[*place]).collect::<Vec<_>>();
        let mut level = select(&|place| before[place] == 0);
        let (roots, leaves) = (at(&level), at(&select(&|place| after[place].is_empty())));
        let mut levels = Vec::new();
        while !level.is_empty() {
            levels.push(at(&level));
            let mut next = Vec::new();
            for place in level {
                for reader in &after[place] {
                    before[*reader] -= 1;
                    if before[*reader] == 0 {
                        next.push(*reader);
                    }
                }
            }
            next.sort_unstable();
            level = next;
        }
        SortedBlock {
            roots,
            leaves,
            levels,
        }
    }
}
