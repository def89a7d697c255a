//! Steps that a patch has put above steps which had already begun. Those do not wait for them; everything else below
//! does.

use std::collections::BTreeMap;

use planrun_lang::graph::Edge;
use planrun_lang::sema::{Node, NodeKind};

use super::frame::NodeState;
use super::program::Program;
use crate::journal::ReplayState;

/// The overtaken statements of a plan, by number, each with the last statement that does not wait for it.
#[derive(Debug, Default)]
pub(super) struct Overtaken(BTreeMap<u32, u32>);

impl Overtaken {
    /// Compares the processes in which the steps of a patched run have begun: one that waits for everything above it
    /// has overtaken what had not begun by then.
    pub(super) fn new(program: &Program, replay: Option<&ReplayState>) -> Self {
        let mut overtaken = BTreeMap::new();
        let Some(replay) = replay.filter(|replay| replay.patched.is_some()) else {
            return Self(overtaken);
        };
        let (nodes, graph) = (&program.plan.body().nodes, &program.graph.blocks[0]);
        let begun = |node: &Node| {
            let name = node.name.as_deref()?;
            node.step().and(replay.steps.get(name)?.begun_in)
        };
        // By process, the last step that began in it and waits for everything.
        let mut overtaking: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, node) in (0..).zip(nodes) {
            if let Some(process) =
                begun(node).filter(|_| graph.vertex(number).waits_for_everything())
            {
                overtaking.insert(process, number);
            }
        }
        for (number, node) in (0..).zip(nodes) {
            let last = match &node.kind {
                NodeKind::Step(_) => {
                    let process = begun(node).unwrap_or(u32::MAX);
                    overtaking.range(..process).map(|(_, last)| *last).max()
                }
                // It settles when what it reads has settled.
                NodeKind::Let(_) | NodeKind::Condition(_) => {
                    let sources = graph.sources(number as usize).into_iter();
                    let read = sources.filter(|(_, edge)| *edge != Edge::Listener);
                    read.filter_map(|(source, _)| {
                        overtaken.get(&u32::try_from(source).ok()?).copied()
                    })
                    .max()
                }
                _ => None,
            };
            if let Some(last) = last.filter(|last| *last > number) {
                overtaken.insert(number, last);
            }
        }
        Self(overtaken)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a statement need not settle before the next one counts as settled.
    pub(super) fn contains(&self, node: u32) -> bool {
        self.0.contains_key(&node)
    }

    /// Returns true if what follows a statement has to wait for one that it has overtaken.
    pub(super) fn holds_after(&self, node: u32, states: &[NodeState]) -> bool {
        let mut overtaken = self.0.range(..node);
        overtaken.any(|(number, last)| {
            let state = states.get(*number as usize);
            *last == node && state.is_some_and(|state| !state.state.is_settled())
        })
    }
}
