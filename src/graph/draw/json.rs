//! The drawing as JSON, for programs that draw themselves.

use serde::Serialize;

use super::{Drawing, DrawnEdge, DrawnNode, EdgeKind, Link};
use crate::diag::render::escape_json;

/// One JSON document: the nodes in source order, the edges, and how each block goes on from its roots to its leaves.
#[must_use]
pub fn json(drawing: &Drawing) -> String {
    let links = drawing.links();
    let block = |group, own: Vec<usize>| {
        let Ways { roots, leaves, levels } = ways(&own, &links);
        let names = |places: Vec<usize>| places.into_iter().map(|place| &*drawing.nodes[place].id).collect();
        Block {
            block: group,
            roots: names(roots),
            leaves: names(leaves),
            levels: levels.into_iter().map(names).collect(),
        }
    };
    let blocks = drawing.groups().into_iter().map(|(group, own)| block(group, own)).collect();
    let document = Document { version: 1, plan: &drawing.plan, nodes: &drawing.nodes, edges: &drawing.edges, blocks };
    // Strings and fixed words only: nothing in it can fail to become JSON.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    escape_json(&text) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    plan: &'a str,
    nodes: &'a [DrawnNode],
    edges: &'a [DrawnEdge],
    /// The plan's own statements first.
    blocks: Vec<Block<'a>>,
}

/// The statements of one block by what they wait for there.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the document")]
struct Block<'a> {
    /// The group of its nodes; null for the plan's own.
    block: Option<&'a str>,
    /// What waits for nothing in the block.
    roots: Vec<&'a str>,
    /// What nothing in the block waits for.
    leaves: Vec<&'a str>,
    /// Each holds what the longest way from a root leads to in as many steps; all of one could run at the same time.
    levels: Vec<Vec<&'a str>>,
}

/// The same by the positions of nodes, each list in source order.
struct Ways {
    roots: Vec<usize>,
    leaves: Vec<usize>,
    levels: Vec<Vec<usize>>,
}

/// Sorts the statements of a block. A listener waits for nothing, so what fires it is left out.
fn ways(own: &[usize], links: &[Link]) -> Ways {
    let place = |node: usize| own.binary_search(&node).ok();
    let (mut before, mut after) = (vec![0_usize; own.len()], vec![Vec::new(); own.len()]);
    for link in links.iter().filter(|link| link.kind != EdgeKind::Listener && link.from != link.to) {
        if let (Some(from), Some(to)) = (place(link.from), place(link.to)) {
            before[to] += 1;
            after[from].push(to);
        }
    }
    let which = |wanted: &dyn Fn(usize) -> bool| (0..own.len()).filter(|place| wanted(*place)).collect::<Vec<_>>();
    let at = |places: &[usize]| places.iter().map(|place| own[*place]).collect::<Vec<_>>();
    let mut level = which(&|place| before[place] == 0);
    let (roots, leaves) = (at(&level), at(&which(&|place| after[place].is_empty())));
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
    Ways { roots, leaves, levels }
}
