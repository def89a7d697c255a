//! Steps that a patch has put above steps which had already begun. Those are replayed without waiting for them; whatever
//! else is below waits.

use std::collections::{BTreeMap, VecDeque};

use planrun_lang::graph::Edge;
use planrun_lang::sema::{Node, NodeKind};

use super::program::Program;
use crate::journal::ReplayState;

/// The order in which the statements of a patched plan have begun.
#[derive(Debug, Default)]
pub(super) struct PatchedOrder {
    /// By statement, the process in which it has begun; the maximum if it has not. 0 for statements that every later one
    /// waits for.
    begun: Vec<u32>,
    /// The steps that have begun in an earlier process than a statement above them, each with its process.
    overtaking: BTreeMap<u32, u32>,
    /// The processes in which those have begun again after each recorded retry; `None` if they have not.
    begun_again: BTreeMap<u32, VecDeque<Option<u32>>>,
}

impl PatchedOrder {
    /// Compares the processes in which the steps of a patched run have begun. Without a patch, none has overtaken
    /// another.
    pub(super) fn new(program: &Program, replay: Option<&ReplayState>) -> Self {
        let Some(replay) = replay.filter(|replay| replay.patched.is_some()) else {
            return Self::default();
        };
        let (nodes, graph) = (&program.plan.body().nodes, &program.graph.blocks[0]);
        let process = |node: &Node| {
            let name = node.name.as_deref()?;
            replay.steps.get(name)?.begun_in
        };
        let (mut begun, mut overtaking) = (Vec::with_capacity(nodes.len()), BTreeMap::new());
        let (mut begun_again, mut latest) = (BTreeMap::new(), 0);
        for (number, node) in (0..).zip(nodes) {
            let own = match &node.kind {
                NodeKind::Step(_) => process(node).unwrap_or(u32::MAX),
                // It settles when what it reads has settled.
                NodeKind::Let(_) | NodeKind::Condition(_) => {
                    let sources = graph.sources(number as usize).into_iter();
                    let read = sources.filter(|(_, edge)| *edge != Edge::Listener);
                    let read = read.filter_map(|(source, _)| begun.get(source).copied());
                    read.max().unwrap_or(0)
                }
                _ => 0,
            };
            if node.step().is_some() && own < latest {
                let name = node.name.as_deref().unwrap_or_default();
                overtaking.insert(number, own);
                begun_again.insert(number, replay.generations.begun_again(name).collect());
            }
            latest = latest.max(own);
            begun.push(own);
        }
        Self {
            begun,
            overtaking,
            begun_again,
        }
    }

    /// Returns true if a step does not wait for a statement above it.
    pub(super) fn passes(&self, step: u32, above: u32) -> bool {
        let own = self.overtaking.get(&step);
        let above = self.begun.get(above as usize);
        own.zip(above).is_some_and(|(own, above)| own < above)
    }

    /// Returns true if every step waits for everything above it.
    pub(super) fn is_empty(&self) -> bool {
        self.overtaking.is_empty()
    }

    /// Returns true if a step does not wait for everything above it.
    pub(super) fn passes_any(&self, step: u32) -> bool {
        self.overtaking.contains_key(&step)
    }

    /// Returns the steps that do not wait for everything above them.
    pub(super) fn steps(&self) -> Vec<u32> {
        self.overtaking.keys().copied().collect()
    }

    /// Lets a step that is retried wait for what has begun after it has begun again. Returns false if it has waited for
    /// everything above it before.
    pub(super) fn retried(&mut self, step: u32) -> bool {
        let begun = self.begun_again.get_mut(&step);
        let begun = begun.and_then(VecDeque::pop_front).flatten();
        match begun {
            Some(begun) if self.overtaking.contains_key(&step) => {
                self.overtaking.insert(step, begun);
                true
            }
            _ => self.overtaking.remove(&step).is_some(),
        }
    }
}
