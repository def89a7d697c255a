//! Drawings of the graph: one neutral model, written as DOT, Mermaid, SVG and JSON.

mod dot;
mod json;
mod layout;
mod mermaid;
mod svg;

use indexmap::IndexMap;

pub use dot::dot;
pub use json::json;
pub use mermaid::mermaid;
pub use svg::{TooLarge, svg};

/// What a plan looks like. Nodes are in source order; equal drawings give equal text.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Drawing {
    /// The plan's name.
    pub plan: String,
    pub nodes: Vec<DrawnNode>,
    /// An edge whose ends are not both nodes is left out of every drawing.
    pub edges: Vec<DrawnEdge>,
}

/// One box.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DrawnNode {
    /// Unique in the drawing: the step's path.
    pub id: String,
    /// What is written in the box; line breaks are kept.
    pub label: String,
    pub kind: NodeKind,
    /// The block it stands in, by the path of the block's step.
    pub group: Option<String>,
}

/// One arrow, from what comes first to what waits for it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DrawnEdge {
    pub from: String,
    pub to: String,
    pub kind: EdgeKind,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// One call.
    Step,
    /// A step with statements of its own: `do`, `each`, `repeat`, `race`, `match`.
    Block,
    /// A step that waits for a person, a time or a signal.
    Wait,
    Let,
    Task,
    Set,
    Listener,
    Ensure,
    Fail,
    /// `yield` and `next`.
    Yield,
    Reply,
}

/// Why one waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// It reads the value.
    Data,
    /// The plan says `after`.
    After,
    /// Its condition reads the value.
    Guard,
    /// It is started by what happens there.
    Listener,
    /// It stands above: the order of the page.
    Order,
}

impl NodeKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Block => "block",
            Self::Wait => "wait",
            Self::Let => "let",
            Self::Task => "task",
            Self::Set => "set",
            Self::Listener => "listener",
            Self::Ensure => "ensure",
            Self::Fail => "fail",
            Self::Yield => "yield",
            Self::Reply => "reply",
        }
    }
}

impl EdgeKind {
    /// Every kind, in the order of a key.
    const ALL: [Self; 5] = [Self::Data, Self::After, Self::Guard, Self::Listener, Self::Order];

    /// What an arrow of this kind is marked with; data speaks for itself.
    const fn mark(self) -> &'static str {
        match self {
            Self::Data => "",
            Self::After => "after",
            Self::Guard => "when",
            Self::Listener => "on",
            Self::Order => "order",
        }
    }
}

impl Drawing {
    /// The edges by the positions of their ends, each once, dangling ones left out.
    fn links(&self) -> Vec<Link> {
        let places: IndexMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(index, node)| (node.id.as_str(), index)).collect();
        let ends = |edge: &DrawnEdge| Some((*places.get(edge.from.as_str())?, *places.get(edge.to.as_str())?));
        let mut links: Vec<Link> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for edge in &self.edges {
            if let Some((from, to)) = ends(edge).filter(|ends| seen.insert((*ends, edge.kind))) {
                links.push(Link { from, to, kind: edge.kind });
            }
        }
        links
    }

    /// The nodes by group, by position: first those without a group, then the groups in order of appearance.
    fn groups(&self) -> IndexMap<Option<&str>, Vec<usize>> {
        let mut groups: IndexMap<Option<&str>, Vec<usize>> = IndexMap::from([(None, Vec::new())]);
        for (index, node) in self.nodes.iter().enumerate() {
            groups.entry(node.group.as_deref()).or_default().push(index);
        }
        groups
    }
}

/// An edge between positions in `Drawing::nodes`.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: usize,
    to: usize,
    kind: EdgeKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drawing with every kind of edge, a group, a cycle through a listener and hostile names.
    fn sample() -> Drawing {
        let node = |id: &str, label: &str, kind, group: Option<&str>| DrawnNode {
            id: id.into(),
            label: label.into(),
            kind,
            group: group.map(Into::into),
        };
        let edge = |from: &str, to: &str, kind| DrawnEdge { from: from.into(), to: to.into(), kind };
        Drawing {
            plan: "入职 \"x\"".into(),
            nodes: vec![
                node("profile", "profile\nhr.create", NodeKind::Step, None),
                node("mails", "mails\neach manager", NodeKind::Block, None),
                node("mails.sent", "sent <\"a\" & #1; \\n>\u{1b}[31m", NodeKind::Step, Some("mails")),
                node("alarm", "alarm", NodeKind::Listener, None),
                node("reply", "reply 欢迎`x`", NodeKind::Reply, None),
            ],
            edges: vec![
                edge("profile", "mails", EdgeKind::Data),
                edge("profile", "mails", EdgeKind::Data),
                edge("profile", "mails", EdgeKind::Order),
                edge("mails", "mails.sent", EdgeKind::After),
                edge("profile", "alarm", EdgeKind::Listener),
                edge("alarm", "profile", EdgeKind::Guard),
                edge("mails.sent", "reply", EdgeKind::Data),
                edge("profile", "reply", EdgeKind::Data),
                edge("reply", "reply", EdgeKind::Data),
                edge("nowhere", "reply", EdgeKind::Data),
            ],
        }
    }

    #[test]
    fn every_form_is_stable_and_escaped() {
        let drawing = sample();
        insta::assert_snapshot!("dot", dot(&drawing));
        insta::assert_snapshot!("mermaid", mermaid(&drawing));
        insta::assert_snapshot!("json", json(&drawing));
        insta::assert_snapshot!("svg", svg(&drawing).unwrap());
        for text in [dot(&drawing), mermaid(&drawing), json(&drawing), svg(&drawing).unwrap()] {
            assert!(!text.contains('\u{1b}') && !text.contains("nowhere -"), "{text}");
        }
    }

    #[test]
    fn an_empty_plan_is_a_drawing_too() {
        let drawing = Drawing::default();
        assert!(dot(&drawing).starts_with("digraph"));
        assert!(mermaid(&drawing).starts_with("flowchart"));
        assert!(svg(&drawing).unwrap().ends_with("</svg>\n"));
        assert!(json(&drawing).contains("\"nodes\": []"));
    }
}
