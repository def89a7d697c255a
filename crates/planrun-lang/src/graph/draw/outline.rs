//! Writes drawings as indented text, for terminals and screen readers.

use std::fmt::Write;

use super::{Drawing, DrawnNode, EdgeKind, NodeKind};
use crate::diag::render::visible_line;

/// Writes one line per statement with what it waits for; the contents of a statement are indented below it.
#[must_use]
pub fn outline(drawing: &Drawing) -> String {
    let mut out = format!(
        "plan {}{}\n",
        visible_line(&drawing.plan),
        marks(&drawing.marks)
    );
    let mut above: Vec<Vec<(EdgeKind, usize)>> = vec![Vec::new(); drawing.nodes.len()];
    for edge in &drawing.edges {
        if let Some(own) = above.get_mut(edge.to) {
            own.push((edge.kind, edge.from));
        }
    }
    let mut depths: Vec<usize> = Vec::with_capacity(drawing.nodes.len());
    for (index, node) in drawing.nodes.iter().enumerate() {
        let depth = node
            .parent
            .and_then(|parent| depths.get(parent))
            .map_or(1, |depth| depth + 1);
        depths.push(depth);
        let awaited = awaited(drawing, node, &mut above[index]);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:indent$}{}{}{awaited}",
            "",
            visible_line(&heading(node)),
            marks(&node.marks),
            indent = 2 * depth
        );
    }
    out
}

fn heading(node: &DrawnNode) -> String {
    match node.kind {
        NodeKind::Step
        | NodeKind::Plan
        | NodeKind::Ask
        | NodeKind::Input
        | NodeKind::Wait
        | NodeKind::Do
        | NodeKind::Each
        | NodeKind::Repeat
        | NodeKind::Race
        | NodeKind::Match => format!("{} = {}", node.label, node.detail),
        NodeKind::Arm if !node.detail.is_empty() => format!("{} => {}", node.label, node.detail),
        NodeKind::Arm => format!("{} =>", node.label),
        NodeKind::If
        | NodeKind::Parallel
        | NodeKind::Recover
        | NodeKind::Undo
        | NodeKind::Let
        | NodeKind::Task
        | NodeKind::Set
        | NodeKind::Listener
        | NodeKind::Ensure
        | NodeKind::Fail
        | NodeKind::Yield
        | NodeKind::Next
        | NodeKind::Reply => node.heading(),
    }
}

fn marks(marks: &[String]) -> String {
    let mut text = String::new();
    for mark in marks {
        let _ = write!(text, " [{}]", visible_line(mark));
    }
    text
}

/// Lists what a statement waits for, by the kind of arrow. Statements in the same frame are referred to by name only.
fn awaited(drawing: &Drawing, node: &DrawnNode, above: &mut [(EdgeKind, usize)]) -> String {
    if above.is_empty() {
        return String::new();
    }
    above.sort_unstable();
    let name = |place: &usize| {
        let Some(from) = drawing.nodes.get(*place) else {
            return "";
        };
        // Names do not contain dots.
        if from.parent == node.parent {
            from.id.rsplit('.').next().unwrap_or("")
        } else {
            &*from.id
        }
    };
    let parts = above
        .chunk_by(|(one, _), (other, _)| one == other)
        .map(|same| {
            let names = same
                .iter()
                .map(|(_, place)| visible_line(name(place)))
                .collect::<Vec<_>>()
                .join(", ");
            format!(
                "{} {names}",
                same.first().map_or("", |(kind, _)| word(*kind))
            )
        });
    format!("  <- {}", parts.collect::<Vec<_>>().join("; "))
}

const fn word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Data => "reads",
        EdgeKind::After => "after",
        EdgeKind::Guard => "when",
        EdgeKind::Listener => "on",
        EdgeKind::Order => "below",
    }
}
