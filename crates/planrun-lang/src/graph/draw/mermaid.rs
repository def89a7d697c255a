//! Writes drawings as Mermaid flowcharts, which code hosts render in Markdown.

use std::fmt::Write;

use super::{Drawing, EdgeKind, NodeKind};
use crate::diag::render::visible_text;

/// Writes the drawing as a Mermaid flowchart. Nodes are named by position, because Mermaid gives a meaning to some
/// words and characters of a name, but not of a quoted label.
#[must_use]
pub fn mermaid(drawing: &Drawing) -> String {
    let mut out = String::from("flowchart TD\n");
    let inside = drawing.inside();
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in drawing.nodes.iter().enumerate() {
        while open.last().is_some_and(|frame| node.parent != Some(*frame)) {
            open.pop();
            let _ = writeln!(out, "{}end", indent(open.len()));
        }
        let (indent, text) = (indent(open.len()), label(&node.lines()));
        // Writing to a string cannot fail.
        if inside[place].is_empty() {
            let (before, after) = shape(node.kind);
            let _ = writeln!(out, "{indent}n{place}{before}\"{text}\"{after}");
        } else {
            let _ = writeln!(out, "{indent}subgraph n{place}[\"{text}\"]");
            open.push(place);
        }
    }
    for depth in (0..open.len()).rev() {
        let _ = writeln!(out, "{}end", indent(depth));
    }
    for edge in &drawing.edges {
        let mark = match edge.kind {
            EdgeKind::Data | EdgeKind::Order => String::new(),
            marked @ (EdgeKind::After | EdgeKind::Guard | EdgeKind::Listener) => {
                format!("|{}|", marked.mark())
            }
        };
        let _ = writeln!(
            out,
            "    n{} {}{mark} n{}",
            edge.from,
            arrow(edge.kind),
            edge.to
        );
    }
    out
}

fn indent(depth: usize) -> String {
    "    ".repeat(depth + 1)
}

const fn shape(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Step | NodeKind::Set | NodeKind::Recover | NodeKind::Undo => ("[", "]"),
        NodeKind::Plan
        | NodeKind::Do
        | NodeKind::Each
        | NodeKind::Repeat
        | NodeKind::Race
        | NodeKind::Match
        | NodeKind::If
        | NodeKind::Parallel => ("[[", "]]"),
        NodeKind::Ask | NodeKind::Input | NodeKind::Wait => ("{{", "}}"),
        NodeKind::Let | NodeKind::Yield | NodeKind::Next | NodeKind::Arm => ("(", ")"),
        NodeKind::Task => ("[/", "/]"),
        NodeKind::Listener => (">", "]"),
        NodeKind::Ensure => ("{", "}"),
        NodeKind::Fail => ("[\\", "/]"),
        NodeKind::Reply => ("([", "])"),
    }
}

const fn arrow(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Data | EdgeKind::After => "-->",
        EdgeKind::Guard | EdgeKind::Order => "-.->",
        EdgeKind::Listener => "==>",
    }
}

/// Writes a quoted label. Characters that could end it or be read as HTML or Markdown become entities in Mermaid's own
/// form.
fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible_text(text).chars() {
        match character {
            '\n' => out.push_str("<br/>"),
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '#' | '`' => {
                let _ = write!(out, "#{};", u32::from(character));
            }
            plain => out.push(plain),
        }
    }
    out
}
