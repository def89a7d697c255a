//! Mermaid flowcharts, which code hosts draw inside Markdown.

use std::fmt::Write;

use super::{Drawing, EdgeKind, NodeKind};
use crate::diag::render::visible_text;

/// The drawing as a Mermaid flowchart. Nodes are named by position: Mermaid gives meaning to some words and characters
/// of a name, and to none of a quoted label.
#[must_use]
pub fn mermaid(drawing: &Drawing) -> String {
    let mut out = String::from("flowchart TD\n");
    for (index, (group, members)) in drawing.groups().into_iter().enumerate() {
        let mut indent = "    ";
        if let Some(name) = group {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "    subgraph g{index}[\"{}\"]", label(name));
            indent = "        ";
        }
        for place in members {
            if let Some(node) = drawing.nodes.get(place) {
                let (open, close) = shape(node.kind);
                let _ = writeln!(out, "{indent}n{place}{open}\"{}\"{close}", label(&node.label));
            }
        }
        if group.is_some() {
            out.push_str("    end\n");
        }
    }
    for link in drawing.links() {
        let mark = match link.kind.mark() {
            "" => String::new(),
            mark => format!("|{mark}|"),
        };
        let _ = writeln!(out, "    n{} {}{mark} n{}", link.from, arrow(link.kind), link.to);
    }
    out
}

const fn shape(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Step | NodeKind::Set => ("[", "]"),
        NodeKind::Block => ("[[", "]]"),
        NodeKind::Wait => ("{{", "}}"),
        NodeKind::Let | NodeKind::Yield => ("(", ")"),
        NodeKind::Task => ("[/", "/]"),
        NodeKind::Listener => (">", "]"),
        NodeKind::Ensure => ("{", "}"),
        NodeKind::Fail => ("((", "))"),
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

/// A quoted label: whatever could end it or be read as HTML or Markdown becomes an entity in Mermaid's own form.
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
