//! Graphviz DOT.

use std::fmt::Write;

use super::{Drawing, EdgeKind, NodeKind};
use crate::diag::render::{visible_line, visible_text};

/// The drawing as a DOT digraph.
#[must_use]
pub fn dot(drawing: &Drawing) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&drawing.plan));
    out.push_str(
        "    rankdir=TB;\n    node [shape=box, fontname=\"sans-serif\"];\n    edge [fontname=\"sans-serif\"];\n",
    );
    for (index, (group, members)) in drawing.groups().into_iter().enumerate() {
        let mut indent = "    ";
        if let Some(name) = group {
            // Graphviz draws a frame only around subgraphs whose name begins so.
            let _ =
                writeln!(out, "    subgraph cluster_{index} {{\n        label={};\n        style=dashed;", label(name));
            indent = "        ";
        }
        for node in members.into_iter().filter_map(|index| drawing.nodes.get(index)) {
            let (name, text) = (quoted(&node.id), label(&node.label));
            let _ = writeln!(out, "{indent}{name} [label={text}{}];", shape(node.kind));
        }
        if group.is_some() {
            out.push_str("    }\n");
        }
    }
    for link in drawing.links() {
        if let (Some(from), Some(to)) = (drawing.nodes.get(link.from), drawing.nodes.get(link.to)) {
            let _ = writeln!(out, "    {} -> {}{};", quoted(&from.id), quoted(&to.id), style(link.kind));
        }
    }
    out.push_str("}\n");
    out
}

const fn shape(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Step => "",
        NodeKind::Block => ", shape=box3d",
        NodeKind::Wait => ", shape=octagon",
        NodeKind::Let => ", shape=plain",
        NodeKind::Task => ", shape=folder",
        NodeKind::Set => ", shape=note",
        NodeKind::Listener => ", shape=cds",
        NodeKind::Ensure => ", shape=diamond",
        NodeKind::Fail => ", shape=box, color=red",
        NodeKind::Yield => ", style=rounded",
        NodeKind::Reply => ", style=\"rounded,bold\"",
    }
}

const fn style(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Data => "",
        EdgeKind::After => " [label=\"after\"]",
        EdgeKind::Guard => " [style=dashed, label=\"when\"]",
        EdgeKind::Listener => " [style=bold, label=\"on\"]",
        EdgeKind::Order => " [style=dotted]",
    }
}

/// A quoted name: only quotes and backslashes mean something in it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", visible_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// A quoted label: line breaks are written, and `&` would begin an entity.
fn label(text: &str) -> String {
    let text = visible_text(text).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
