//! Drawings of the graph: one neutral model, written as DOT, Mermaid, SVG, text and JSON.

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

/// What a plan looks like. Equal drawings give equal text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The plan's name.
    pub plan: String,
    /// What holds for all of it, such as its deadline.
    pub marks: Vec<String>,
    /// In source order: what stands in a frame follows the frame.
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<DrawnEdge>,
}

/// One box, or the frame of what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// Unique in the drawing: the path of a step, and a path of words for what has no name.
    pub id: String,
    pub kind: NodeKind,
    /// Its name, or the word of the statement.
    pub label: String,
    /// What it does, in the plan's own words; may be empty.
    pub detail: String,
    /// Its clauses, one each.
    pub marks: Vec<String>,
    /// The frame that it stands in, by its place in the list of nodes, which is a lower one.
    pub parent: Option<usize>,
}

/// One arrow between places in the list of nodes, from what comes first to what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnEdge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// One call of a tool.
    Step,
    /// A call of another plan.
    Plan,
    /// A request to an agent or a model.
    Ask,
    /// A form for a person.
    Input,
    /// A step that waits for a time or an event.
    Wait,
    Do,
    Each,
    Repeat,
    Race,
    Match,
    If,
    Parallel,
    /// A branch of `if`, `match` or `race`.
    Arm,
    /// What is done where a step fails.
    Recover,
    /// What takes a step back.
    Undo,
    Let,
    Task,
    Set,
    Listener,
    Ensure,
    Fail,
    Yield,
    Next,
    Reply,
}

/// Why one waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
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
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Input => "input",
            Self::Wait => "wait",
            Self::Do => "do",
            Self::Each => "each",
            Self::Repeat => "repeat",
            Self::Race => "race",
            Self::Match => "match",
            Self::If => "if",
            Self::Parallel => "parallel",
            Self::Arm => "arm",
            Self::Recover => "recover",
            Self::Undo => "undo",
            Self::Let => "let",
            Self::Task => "task",
            Self::Set => "set",
            Self::Listener => "listener",
            Self::Ensure => "ensure",
            Self::Fail => "fail",
            Self::Yield => "yield",
            Self::Next => "next",
            Self::Reply => "reply",
        }
    }

    /// Whether it ends the block that it stands in, and so belongs below everything else there.
    const fn ends(self) -> bool {
        matches!(self, Self::Reply | Self::Yield | Self::Next)
    }
}

impl EdgeKind {
    /// Every kind, in the order of a key.
    const ALL: [Self; 5] = [
        Self::Data,
        Self::After,
        Self::Guard,
        Self::Listener,
        Self::Order,
    ];

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

impl DrawnNode {
    /// Name and work on one line.
    #[must_use]
    pub fn heading(&self) -> String {
        match (self.label.is_empty(), self.detail.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => self.detail.clone(),
            (false, false) => format!("{} {}", self.label, self.detail),
        }
    }

    /// Name, work and clauses, one a line.
    fn lines(&self) -> String {
        let said = [&self.label, &self.detail]
            .into_iter()
            .chain(&self.marks)
            .filter(|line| !line.is_empty());
        said.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Drawing {
    /// What stands in each frame, in source order; the plan itself comes last.
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

    /// How many frames stand around a node.
    fn depth(&self, node: usize) -> usize {
        self.around(node).count()
    }

    /// The frames around a node, the innermost first.
    fn around(&self, node: usize) -> impl Iterator<Item = usize> {
        let parent = |node: usize| self.nodes.get(node)?.parent.filter(|parent| *parent < node);
        std::iter::successors(parent(node), move |node| parent(*node))
    }

    /// The two that stand beside each other in one frame and hold these nodes, or are them; nothing where one holds the
    /// other.
    pub(super) fn beside(&self, one: usize, other: usize) -> Option<(usize, usize)> {
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

    /// A drawing with every kind of edge, frames, a cycle through a listener and hostile names.
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
