//! The drawing as JSON, for programs that draw themselves.

use serde::Serialize;

use super::{Drawing, DrawnEdge, DrawnNode};
use crate::diag::render::escape_json;

/// One JSON document: the nodes in source order and the edges.
#[must_use]
pub fn json(drawing: &Drawing) -> String {
    let document = Document { version: 1, plan: &drawing.plan, nodes: &drawing.nodes, edges: &drawing.edges };
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
}
