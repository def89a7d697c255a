//! Converts the graph of a plan to a drawing: the statements of the source, in the frames of their blocks.

mod arrows;
mod frames;
mod order;
mod words;

use std::collections::{BTreeMap, HashSet};

use super::Graph;
use super::draw::{Drawing, DrawnNode, NodeKind as Shape};
use crate::sema::{BlockId, Node, NodeKind, OrderClass, Plan, Step, StepKind, Target};
use arrows::Events;
use frames::Branches;
use words::{Words, classes, pattern};

/// Draws a plan: its own statements, those of its blocks, and those of other plans of the same file at their first
/// call.
#[must_use]
pub fn drawing(plan: &Plan, graph: &Graph) -> Drawing {
    let words = Words { plan };
    let mut picture = Picture {
        drawing: Drawing {
            plan: plan.name.to_string(),
            marks: words.policy(),
            ..Drawing::default()
        },
        file: plan.source.name().to_owned(),
        ..Picture::default()
    };
    // An explicit stack of open blocks, so that nothing recurses over the plan.
    let mut open = vec![Open {
        plan,
        graph,
        block: BlockId(0),
        parent: None,
        path: String::new(),
    }];
    let mut events = Events::default();
    while let Some(block) = open.pop() {
        let mut inner = Vec::new();
        picture.block(&block, &mut events, &mut inner);
        open.extend(inner.into_iter().rev());
    }
    picture.finish(&events)
}

/// A block that has yet to be drawn.
struct Open<'a> {
    plan: &'a Plan,
    graph: &'a Graph,
    block: BlockId,
    /// The frame that contains it.
    parent: Option<usize>,
    /// The prefix of the names of its statements.
    path: String,
}

impl Open<'_> {
    fn inner(&self, own: &str) -> String {
        if self.path.is_empty() {
            own.to_owned()
        } else {
            format!("{}.{own}", self.path)
        }
    }
}

/// The role of a node in source order.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
struct Role {
    order: OrderClass,
    /// Others wait for it because of source order.
    acts: bool,
    decides: bool,
    /// It ends its block and waits for everything before it.
    ends: bool,
    /// It has an `after`.
    has_after: bool,
    /// It has no position in the order: listeners, tasks and values.
    unordered: bool,
    /// It, or a condition of it, reads a context that others may change, so that it waits for the barriers above.
    reads_shared: bool,
}

#[derive(Default)]
struct Picture {
    drawing: Drawing,
    /// Indexed like the nodes of the drawing.
    roles: Vec<Role>,
    ids: HashSet<String>,
    /// Number of times that each id was requested.
    id_counts: BTreeMap<String, usize>,
    /// The frames whose contents follow each other in source order, unlike arms and the statements of a `parallel`.
    /// `None` is the plan itself.
    sequences: HashSet<Option<usize>>,
    file: String,
    /// The plans of the file that have been drawn.
    drawn: HashSet<String>,
}

impl Picture {
    fn add(&mut self, node: DrawnNode, role: Role) -> usize {
        self.drawing.nodes.push(node);
        self.roles.push(role);
        self.drawing.nodes.len() - 1
    }

    /// Returns a unique id.
    fn id(&mut self, name: &str) -> String {
        let count = self.id_counts.entry(name.to_owned()).or_default();
        loop {
            *count += 1;
            let id = if *count == 1 {
                name.to_owned()
            } else {
                format!("{name}#{count}")
            };
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }

    /// Adds the frame of a block, without clauses.
    fn frame(
        &mut self,
        name: &str,
        kind: Shape,
        label: String,
        detail: String,
        parent: Option<usize>,
    ) -> usize {
        let id = self.id(name);
        self.add(
            DrawnNode {
                id,
                kind,
                label,
                detail,
                marks: Vec::new(),
                parent,
            },
            Role::default(),
        )
    }

    fn block<'a>(&mut self, open: &Open<'a>, events: &mut Events<'a>, inner: &mut Vec<Open<'a>>) {
        let block = open.plan.block(open.block);
        let words = Words { plan: open.plan };
        let mut branches = Branches::new(block, open.parent);
        self.sequences.insert(open.parent);
        // The drawn node of each statement.
        let mut places: Vec<Option<usize>> = vec![None; block.nodes.len()];
        for (index, node) in block.nodes.iter().enumerate() {
            if matches!(node.kind, NodeKind::Condition(_)) {
                continue;
            }
            let parent = branches.frame_of(index, self, open, words);
            let when = branches.own_condition(index);
            let (kind, label, detail) = words.of(node);
            let word = if matches!(node.kind, NodeKind::Set(_)) {
                &*label
            } else {
                kind.name()
            };
            let name = node.name.as_deref().unwrap_or(word);
            let (id, path) = (self.id(&open.inner(name)), open.inner(name));
            let marks = words.marks(block, node, when);
            let place = self.add(
                DrawnNode {
                    id,
                    kind,
                    label,
                    detail,
                    marks,
                    parent,
                },
                role(node),
            );
            places[index] = Some(place);
            if let Some(event) = node.event() {
                events.listens(place, open.plan, event);
            }
            self.kind(&node.kind, open, (place, &path), events, inner);
        }
        let graph = &open.graph.blocks[open.block.0 as usize];
        for condition in branches.conditions() {
            self.roles[condition.1].reads_shared |= graph.reads_shared(condition.0);
        }
        for (index, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let own = branches.own_condition_node(index);
            self.roles[*place].reads_shared = own.is_some_and(|own| graph.reads_shared(own))
                || block.nodes[index].after.is_empty() && graph.reads_shared(index);
        }
        self.edges(block, graph, &places, &branches, (events, open.plan));
    }

    /// Opens the inner blocks of a drawn statement, and records its events.
    fn kind<'a>(
        &mut self,
        kind: &'a NodeKind,
        open: &Open<'a>,
        (place, path): (usize, &str),
        events: &mut Events<'a>,
        inner: &mut Vec<Open<'a>>,
    ) {
        match kind {
            NodeKind::Step(step) => self.bodies(open, step, place, path, inner),
            NodeKind::Listener(listener) => {
                inner.push(Open {
                    block: listener.body,
                    parent: Some(place),
                    path: path.to_owned(),
                    ..*open
                });
            }
            NodeKind::Set(set) => events.sets(place, open.plan, set),
            NodeKind::Task(task) => events.declares(place, open.plan, *task),
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_) => {}
        }
    }

    /// Opens the blocks of a step: its work in the step's own frame, and each arm in a separate frame.
    fn bodies<'a>(
        &mut self,
        open: &Open<'a>,
        step: &'a Step,
        place: usize,
        path: &str,
        inner: &mut Vec<Open<'a>>,
    ) {
        let words = Words { plan: open.plan };
        let within = |block: BlockId, parent: usize, path: String| Open {
            block,
            parent: Some(parent),
            path,
            ..*open
        };
        match &step.kind {
            StepKind::Do(body) => inner.push(within(*body, place, path.to_owned())),
            StepKind::Each(each) => inner.push(within(each.body, place, path.to_owned())),
            StepKind::Repeat(repeat) => inner.push(within(repeat.body, place, path.to_owned())),
            StepKind::Race(branches) => {
                let arms = branches
                    .iter()
                    .map(|(name, body)| (name.to_string(), *body));
                self.arms(open, arms, place, path, inner);
            }
            StepKind::Match { arms, .. } => {
                let arms = arms.iter().map(|(matcher, body)| (pattern(matcher), *body));
                self.arms(open, arms, place, path, inner);
            }
            StepKind::Call(call) => {
                if let Target::Plan(index, _) = call.target {
                    self.called(open, index, place, path, inner);
                }
            }
            StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged => {}
        }
        let recover = step
            .recover
            .iter()
            .map(|arm| (Shape::Recover, format!("recover{}", classes(arm)), arm.body));
        let undo = step
            .undo()
            .map(|undo| (Shape::Undo, "undo".to_owned(), undo.body));
        for (kind, label, body) in recover.chain(undo) {
            // A short body is drawn as a mark on the step.
            if words.short(body).is_none() {
                let path = labelled(open.plan, body, path, kind.name());
                let body = unwrapped(open.plan, body);
                let frame = self.frame(&path, kind, label, String::new(), Some(place));
                inner.push(within(body, frame, path));
            }
        }
    }

    fn arms<'a>(
        &mut self,
        open: &Open<'a>,
        arms: impl Iterator<Item = (String, BlockId)>,
        place: usize,
        path: &str,
        inner: &mut Vec<Open<'a>>,
    ) {
        let words = Words { plan: open.plan };
        for (label, body) in arms {
            let path = labelled(open.plan, body, path, "arm");
            let short = words.short(body);
            let is_short = short.is_some();
            let arm = self.frame(
                &path,
                Shape::Arm,
                label,
                short.unwrap_or_default(),
                Some(place),
            );
            if !is_short {
                inner.push(Open {
                    block: body,
                    parent: Some(arm),
                    path,
                    ..*open
                });
            }
        }
    }

    /// Draws a plan of the same file at its first call. Plans of other files have separate drawings.
    fn called<'a>(
        &mut self,
        open: &Open<'a>,
        index: usize,
        place: usize,
        path: &str,
        inner: &mut Vec<Open<'a>>,
    ) {
        if let (Some(plan), Some(graph)) = (open.plan.plans.get(index), open.graph.plans.get(index))
            && plan.source.name() == self.file
            && self.drawn.insert(plan.name.to_string())
        {
            inner.push(Open {
                plan,
                graph,
                block: BlockId(0),
                parent: Some(place),
                path: path.to_owned(),
            });
        }
    }
}

/// Returns the path of an arm's contents, with the label of the arm, or `word` if it has none.
fn labelled(plan: &Plan, body: BlockId, path: &str, word: &str) -> String {
    let block = plan.block(body);
    // A call used as an arm is a step that has the label as its name.
    let first = block.nodes.first().and_then(|node| node.name.as_deref());
    format!(
        "{path}.{}",
        block.label.as_deref().or(first).unwrap_or(word)
    )
}

/// Returns the statements of `undo do { … }`, which are inside a step without a name.
fn unwrapped(plan: &Plan, body: BlockId) -> BlockId {
    match &*plan.block(body).nodes {
        [
            Node {
                name: None,
                kind: NodeKind::Step(step),
                ..
            },
        ] => match step.kind {
            StepKind::Do(inner) => inner,
            _ => body,
        },
        _ => body,
    }
}

fn role(node: &Node) -> Role {
    let plain = Role {
        order: node.order(),
        ..Role::default()
    };
    match &node.kind {
        NodeKind::Step(_) | NodeKind::Set(_) => Role {
            acts: true,
            has_after: !node.after.is_empty(),
            ..plain
        },
        NodeKind::Ensure { .. } => Role {
            decides: true,
            ..plain
        },
        NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => Role {
            decides: node.decides(),
            ends: !node.decides(),
            ..plain
        },
        NodeKind::Condition(_) | NodeKind::Let(_) | NodeKind::Task(_) | NodeKind::Listener(_) => {
            Role {
                unordered: true,
                ..plain
            }
        }
    }
}
