//! From the graph of a plan to what is drawn of it: statements that people wrote, in the frames of their blocks.

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

/// The drawing of a plan: its own statements, those of its blocks, and those of the plans of its file where they are called
/// first.
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
    // Only a stack of open blocks: nothing recurses over the plan.
    let mut open = vec![Open {
        plan,
        graph,
        block: BlockId(0),
        parent: None,
        path: String::new(),
    }];
    let mut calls = Calls::default();
    while let Some(block) = open.pop() {
        let mut inner = Vec::new();
        picture.block(&block, &mut calls, &mut inner);
        open.extend(inner.into_iter().rev());
    }
    picture.finish(&calls)
}

/// A block that is still to be drawn.
struct Open<'a> {
    plan: &'a Plan,
    graph: &'a Graph,
    block: BlockId,
    /// The frame that it stands in.
    parent: Option<usize>,
    /// What stands before the names of its statements.
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

/// A plan as it is called once: the same task of two calls is two.
#[derive(Default)]
struct Calls<'a> {
    events: Events<'a>,
}

/// What is known of a node for the order of the page.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
struct Standing {
    order: OrderClass,
    /// A statement that others wait for by its place.
    acts: bool,
    decides: bool,
    /// It ends its block, and waits for everything above it.
    ends: bool,
    /// It names what it waits for.
    placed: bool,
    /// It takes no part in the order: listeners, tasks and values.
    floats: bool,
}

#[derive(Default)]
struct Picture {
    drawing: Drawing,
    /// Beside the nodes of the drawing.
    standings: Vec<Standing>,
    ids: HashSet<String>,
    /// How often an id was wanted.
    wanted: BTreeMap<String, usize>,
    /// The frames in which statements follow each other; not those of arms or of a `parallel`. The plan itself is one too.
    sequences: HashSet<Option<usize>>,
    file: String,
    /// The plans of the file that have been drawn.
    drawn: HashSet<String>,
}

impl Picture {
    fn add(&mut self, node: DrawnNode, standing: Standing) -> usize {
        self.drawing.nodes.push(node);
        self.standings.push(standing);
        self.drawing.nodes.len() - 1
    }

    /// An id that no other node has.
    fn id(&mut self, wanted: &str) -> String {
        let count = self.wanted.entry(wanted.to_owned()).or_default();
        loop {
            *count += 1;
            let id = if *count == 1 {
                wanted.to_owned()
            } else {
                format!("{wanted}#{count}")
            };
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }

    /// A frame of a block, without clauses.
    fn frame(
        &mut self,
        wanted: &str,
        kind: Shape,
        label: String,
        detail: String,
        parent: Option<usize>,
    ) -> usize {
        let id = self.id(wanted);
        self.add(
            DrawnNode {
                id,
                kind,
                label,
                detail,
                marks: Vec::new(),
                parent,
            },
            Standing::default(),
        )
    }

    fn block<'a>(&mut self, open: &Open<'a>, calls: &mut Calls<'a>, inner: &mut Vec<Open<'a>>) {
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
                standing(node),
            );
            places[index] = Some(place);
            if let Some(event) = node.event() {
                calls.events.listens(place, open.plan, event);
            }
            self.kind(&node.kind, open, (place, &path), calls, inner);
        }
        self.edges(
            block,
            &open.graph.blocks[open.block.0 as usize],
            &places,
            &branches,
            (&mut calls.events, open.plan),
        );
    }

    /// What a statement drawn at this place opens, and what it has to do with events.
    fn kind<'a>(
        &mut self,
        kind: &'a NodeKind,
        open: &Open<'a>,
        (place, path): (usize, &str),
        calls: &mut Calls<'a>,
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
            NodeKind::Set(set) => calls.events.sets(place, open.plan, set),
            NodeKind::Task(task) => calls.events.declares(place, open.plan, *task),
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_) => {}
        }
    }

    /// Opens the blocks of a step: its work in the step's own frame, arms in frames of their own.
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
            // A short one is a mark on the step.
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

    /// A plan of the same file is drawn where it is called first. Others have drawings of their own.
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

/// The path of what stands in an arm of a step, with the label of the arm, or the word for it.
fn labelled(plan: &Plan, body: BlockId, path: &str, word: &str) -> String {
    let block = plan.block(body);
    // A call as an arm is a step that bears the label.
    let first = block.nodes.first().and_then(|node| node.name.as_deref());
    format!(
        "{path}.{}",
        block.label.as_deref().or(first).unwrap_or(word)
    )
}

/// The statements of `undo do { … }`, which stand in a step without a name.
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

fn standing(node: &Node) -> Standing {
    let plain = Standing {
        order: node.order(),
        ..Standing::default()
    };
    match &node.kind {
        NodeKind::Step(_) | NodeKind::Set(_) => Standing {
            acts: true,
            placed: !node.after.is_empty(),
            ..plain
        },
        NodeKind::Ensure { .. } => Standing {
            decides: true,
            ..plain
        },
        NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => {
            Standing {
                decides: node.decides(),
                ends: !node.decides(),
                ..plain
            }
        }
        NodeKind::Condition(_) | NodeKind::Let(_) | NodeKind::Task(_) | NodeKind::Listener(_) => {
            Standing {
                floats: true,
                ..plain
            }
        }
    }
}
