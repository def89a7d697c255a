//! Writes drawings as Graphviz DOT.

use std::fmt::Write;

use super::{Drawing, DrawnEdge, EdgeKind, NodeKind};
use crate::diag::render::{visible_line, visible_text};

/// Writes the drawing as a DOT digraph.
#[must_use]
pub fn dot(drawing: &Drawing) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&drawing.plan));
    out.push_str("    compound=true;\n    rankdir=TB;\n    fontname=\"sans-serif\";\n");
    out.push_str(
        "    node [shape=box, fontname=\"sans-serif\"];\n    edge [fontname=\"sans-serif\"];\n",
    );
    let inside = drawing.inside();
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in drawing.nodes.iter().enumerate() {
        while open.last().is_some_and(|frame| node.parent != Some(*frame)) {
            open.pop();
            let _ = writeln!(out, "{}}}", indent(open.len()));
        }
        let (indent, text) = (indent(open.len()), label(&node.lines()));
        // Writing to a string cannot fail.
        if inside[place].is_empty() {
            let _ = writeln!(
                out,
                "{indent}{} [label={text}{}];",
                quoted(&node.id),
                shape(node.kind)
            );
        } else {
            // Graphviz draws a frame only around subgraphs whose name begins with `cluster`.
            let _ = writeln!(out, "{indent}subgraph cluster_{place} {{");
            let _ = writeln!(
                out,
                "{indent}    label={text};\n{indent}    labeljust=l;\n{indent}    style=\"rounded\";"
            );
            open.push(place);
        }
    }
    for depth in (0..open.len()).rev() {
        let _ = writeln!(out, "{}}}", indent(depth));
    }
    let ends = Ends::of(&inside);
    for edge in &drawing.edges {
        edge_line(drawing, &inside, &ends, *edge, &mut out);
    }
    out.push_str("}\n");
    out
}

/// The first and the last box within each node, or the node itself if it is not a frame. Graphviz connects edges to
/// boxes only, and clips them at the frame given in `ltail` or `lhead`.
struct Ends {
    first: Vec<usize>,
    last: Vec<usize>,
}

impl Ends {
    fn of(inside: &[Vec<usize>]) -> Self {
        let count = inside.len().saturating_sub(1);
        let (mut first, mut last): (Vec<_>, Vec<_>) = ((0..count).collect(), (0..count).collect());
        for frame in (0..count).rev() {
            if let (Some(head), Some(tail)) = (inside[frame].first(), inside[frame].last()) {
                (first[frame], last[frame]) = (first[*head], last[*tail]);
            }
        }
        Self { first, last }
    }
}

fn edge_line(
    drawing: &Drawing,
    inside: &[Vec<usize>],
    ends: &Ends,
    edge: DrawnEdge,
    out: &mut String,
) {
    let (Some(tail), Some(head)) = (ends.last.get(edge.from), ends.first.get(edge.to)) else {
        return;
    };
    let mut attributes: Vec<String> = style(edge.kind)
        .iter()
        .map(|one| (*one).to_owned())
        .collect();
    for (word, place) in [("ltail", edge.from), ("lhead", edge.to)] {
        if !inside[place].is_empty() {
            attributes.push(format!("{word}=cluster_{place}"));
        }
    }
    let attributes = if attributes.is_empty() {
        String::new()
    } else {
        format!(" [{}]", attributes.join(", "))
    };
    let [tail, head] = [tail, head].map(|place| quoted(&drawing.nodes[*place].id));
    let _ = writeln!(out, "    {tail} -> {head}{attributes};");
}

fn indent(depth: usize) -> String {
    "    ".repeat(depth + 1)
}

const fn shape(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Step | NodeKind::Recover | NodeKind::Undo => "",
        NodeKind::Plan => ", peripheries=2",
        NodeKind::Do
        | NodeKind::Each
        | NodeKind::Repeat
        | NodeKind::Race
        | NodeKind::Match
        | NodeKind::If
        | NodeKind::Parallel => ", shape=box3d",
        NodeKind::Ask | NodeKind::Input | NodeKind::Wait => ", shape=octagon",
        NodeKind::Let => ", shape=plain",
        NodeKind::Task => ", shape=folder",
        NodeKind::Set => ", shape=note",
        NodeKind::Listener => ", shape=cds",
        NodeKind::Ensure => ", shape=diamond",
        NodeKind::Fail => ", color=red",
        NodeKind::Arm | NodeKind::Yield | NodeKind::Next => ", style=rounded",
        NodeKind::Reply => ", style=\"rounded,bold\"",
    }
}

const fn style(kind: EdgeKind) -> &'static [&'static str] {
    match kind {
        EdgeKind::Data => &[],
        EdgeKind::After => &["label=\"after\""],
        EdgeKind::Guard => &["style=dashed", "label=\"when\""],
        EdgeKind::Listener => &["style=bold", "label=\"on\""],
        EdgeKind::Order => &["style=dotted"],
    }
}

/// Writes a quoted name, in which only quotes and backslashes have a meaning.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        visible_line(text)
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
    )
}

/// Writes a quoted label, in which line breaks are escaped and `&` would begin an entity.
fn label(text: &str) -> String {
    let text = visible_text(text)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
