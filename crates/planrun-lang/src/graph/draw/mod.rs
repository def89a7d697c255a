//! Drawings of the graph: one format-independent model, written as DOT, Mermaid, SVG, text and JSON.

mod dot;
mod json;
mod layout;
mod mermaid;
mod nest;
mod outline;
mod svg;

pub use dot::dot;
pub use json::json;
pub use mermaid::mermaid;
pub use outline::outline;
pub use svg::{TooLarge, svg};

use crate::words;

/// The drawing of a plan. Equal drawings produce equal output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The plan's name.
    pub plan: String,
    /// Settings that apply to the whole plan, such as its deadline.
    pub marks: Vec<String>,
    /// In source order: the contents of a frame follow the frame.
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<DrawnEdge>,
}

/// A box, or the frame around its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// Unique in the drawing: the path of a step, or a path of keywords for a statement without a name.
    pub id: String,
    pub kind: NodeKind,
    /// Its name, or the keyword of the statement.
    pub label: String,
    /// Its work, in the plan's own words; may be empty.
    pub detail: String,
    /// Its clauses, one per entry.
    pub marks: Vec<String>,
    /// Index of the frame that contains it, which is lower than its own index.
    pub parent: Option<usize>,
}

/// An arrow between indices in the list of nodes, from the node that comes first to the one that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnEdge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
}

words! {
    /// The kind of statement that a box represents.
    NodeKind {
        /// One call of a tool.
        Step = "step",
        /// A call of another plan.
        Plan = "plan",
        /// A request to an agent or a model.
        Ask = "ask",
        /// A form for a person.
        Input = "input",
        /// A step that waits for a time or an event.
        Wait = "wait",
        Do = "do",
        Each = "each",
        Repeat = "repeat",
        Race = "race",
        Match = "match",
        If = "if",
        Parallel = "parallel",
        /// A branch of `if`, `match` or `race`.
        Arm = "arm",
        /// Runs if a step fails.
        Recover = "recover",
        /// Undoes a step.
        Undo = "undo",
        Let = "let",
        Task = "task",
        Set = "set",
        Listener = "listener",
        Ensure = "ensure",
        Fail = "fail",
        Yield = "yield",
        Next = "next",
        Reply = "reply",
    }
}

words! {
    /// The reason why a node waits for another, in the order of the legend.
    #[derive(PartialOrd, Ord)]
    EdgeKind {
        /// It reads the value.
        Data = "data",
        /// It is listed in `after`.
        After = "after",
        /// Its condition reads the value.
        Guard = "guard",
        /// An event of the other node triggers it.
        Listener = "listener",
        /// It comes later in source order.
        Order = "order",
    }
}

impl NodeKind {
    /// Returns true if it ends its block, and so is placed below everything else in it.
    const fn ends(self) -> bool {
        matches!(self, Self::Reply | Self::Yield | Self::Next)
    }
}

impl EdgeKind {
    /// Returns the text on arrows of this kind; arrows for data have none.
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

impl DrawnNode {
    /// Returns name and work on one line.
    #[must_use]
    pub fn heading(&self) -> String {
        match (self.label.is_empty(), self.detail.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => self.detail.clone(),
            (false, false) => format!("{} {}", self.label, self.detail),
        }
    }

    /// Returns name, work and clauses, one per line.
    fn lines(&self) -> String {
        let lines = [&self.label, &self.detail]
            .into_iter()
            .chain(&self.marks)
            .filter(|line| !line.is_empty());
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Drawing {
    /// Returns the contents of each frame in source order; those of the plan itself come last.
    pub(super) fn inside(&self) -> Vec<Vec<usize>> {
        let whole = self.nodes.len();
        let mut inside = vec![Vec::new(); whole + 1];
        for (index, node) in self.nodes.iter().enumerate() {
            inside[node
                .parent
                .filter(|parent| *parent < index)
                .unwrap_or(whole)]
            .push(index);
        }
        inside
    }

    /// Returns the number of frames around a node.
    fn depth(&self, node: usize) -> usize {
        self.around(node).count()
    }

    /// Returns the frames around a node, the innermost first.
    fn around(&self, node: usize) -> impl Iterator<Item = usize> {
        let parent = |node: usize| self.nodes.get(node)?.parent.filter(|parent| *parent < node);
        std::iter::successors(parent(node), move |node| parent(*node))
    }

    /// Returns the two siblings in the innermost common frame that are these nodes or contain them. `None` if one node
    /// contains the other.
    pub(super) fn siblings(&self, one: usize, other: usize) -> Option<(usize, usize)> {
        let depths = (self.depth(one), self.depth(other));
        let up =
            |node: usize, steps: usize| std::iter::once(node).chain(self.around(node)).nth(steps);
        let mut one = up(one, depths.0.saturating_sub(depths.1))?;
        let mut other = up(other, depths.1.saturating_sub(depths.0))?;
        while one != other {
            let parents = (self.around(one).next(), self.around(other).next());
            match parents {
                (Some(first), Some(second)) if first != second => (one, other) = (first, second),
                _ => return Some((one, other)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drawing with every kind of edge, frames, a cycle through a listener, and hostile names.
    fn sample() -> Drawing {
        let node = |id: &str, kind, label: &str, detail: &str, marks: &[&str], parent| DrawnNode {
            id: id.into(),
            kind,
            label: label.into(),
            detail: detail.into(),
            marks: marks.iter().map(|mark| (*mark).into()).collect(),
            parent,
        };
        let edge = |from, to, kind| DrawnEdge { from, to, kind };
        Drawing {
            plan: "入职 \"x\"".into(),
            marks: vec!["deadline 5m".into()],
            nodes: vec![
                node(
                    "profile",
                    NodeKind::Step,
                    "profile",
                    "hr.create",
                    &["confirm \"</text><script>\""],
                    None,
                ),
                node(
                    "mails",
                    NodeKind::Each,
                    "mails",
                    "each of 经理",
                    &["max 2", "settle"],
                    None,
                ),
                node(
                    "mails.sent",
                    NodeKind::Step,
                    "sent",
                    "<\"a\" & #1; \\n>\u{1b}[31m",
                    &[],
                    Some(1),
                ),
                node(
                    "alarm",
                    NodeKind::Listener,
                    "listener alarm",
                    "on signal \"x\"",
                    &[],
                    None,
                ),
                node("reply", NodeKind::Reply, "reply 欢迎`x`", "", &[], None),
            ],
            edges: vec![
                edge(0, 1, EdgeKind::Data),
                edge(0, 1, EdgeKind::Order),
                edge(0, 2, EdgeKind::After),
                edge(0, 3, EdgeKind::Listener),
                edge(3, 0, EdgeKind::Guard),
                edge(2, 4, EdgeKind::Data),
                edge(0, 4, EdgeKind::Data),
                edge(4, 4, EdgeKind::Data),
            ],
        }
    }

    #[test]
    fn every_form_is_stable_and_escaped() {
        let drawing = sample();
        insta::assert_snapshot!("dot", dot(&drawing));
        insta::assert_snapshot!("mermaid", mermaid(&drawing));
        insta::assert_snapshot!("json", json(&drawing));
        insta::assert_snapshot!("text", outline(&drawing));
        insta::assert_snapshot!("svg", svg(&drawing).unwrap());
        for text in [
            dot(&drawing),
            mermaid(&drawing),
            json(&drawing),
            outline(&drawing),
            svg(&drawing).unwrap(),
        ] {
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        for text in [mermaid(&drawing), svg(&drawing).unwrap()] {
            assert!(
                !text.contains("<script") && !text.contains("</text><"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_empty_plan_is_a_drawing_too() {
        let drawing = Drawing::default();
        assert!(dot(&drawing).starts_with("digraph"));
        assert!(mermaid(&drawing).starts_with("flowchart"));
        assert!(outline(&drawing).starts_with("plan"));
        assert!(svg(&drawing).unwrap().ends_with("</svg>\n"));
        assert!(json(&drawing).contains("\"nodes\": []"));
    }
}
