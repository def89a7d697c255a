//! `--until STEP`: runs only what a step needs, and leaves everything else to a later process.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::graph;
use planrun_lang::sema::{Node, NodeKind};

use super::frame::{Frame, NodeRef};
use super::program::Program;
use crate::journal::{EventName, RecordedStep, ReplayState};

/// The step up to which a process drives a run.
#[derive(Clone, Debug)]
pub struct Until {
    pub step: Arc<str>,
    /// Numbers of the plan's own statements that the step needs, including itself.
    pub needed: BTreeSet<u32>,
    /// Numbers of the plan's listeners. They listen, but what they fire is left to a later process.
    listeners: BTreeSet<u32>,
    /// Paths of the firings that earlier processes have begun.
    firings: BTreeSet<Arc<str>>,
    node: u32,
}

impl Until {
    /// Returns the target for a step of the plan itself; `None` if it has no step of this name.
    #[must_use]
    pub fn new(program: &Program, step: &str) -> Option<Self> {
        let (block, graph) = (program.plan.body(), &program.graph.blocks[0]);
        let own = |node: &Node| node.step().is_some() && node.name.as_deref() == Some(step);
        let node = u32::try_from(block.nodes.iter().position(own)?).ok()?;
        let nodes = (0..).zip(&block.nodes);
        let listeners = nodes.filter(|(_, node)| node.listener().is_some());
        Some(Self {
            step: step.into(),
            needed: graph::needed(graph, block, node),
            listeners: listeners.map(|(number, _)| number).collect(),
            firings: BTreeSet::new(),
            node,
        })
    }

    /// Returns the target of a run that was driven up to one of these steps after the other; `None` if the plan itself
    /// lacks one of them, or if there are none.
    pub fn all<'a>(program: &Program, steps: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut targets = steps.into_iter().map(|step| Self::new(program, step));
        let first = targets.next()??;
        targets.try_fold(first, |mut all, next| {
            all.needed.extend(next?.needed);
            Some(all)
        })
    }

    /// Returns the target of a resumed run. One that ends before another target is replayed as it ends.
    pub(super) fn of_resumed(
        until: Option<Box<Self>>,
        program: &Program,
        replay: &ReplayState,
    ) -> Option<Box<Self>> {
        let until = match &replay.ends_before {
            Some(ends) => Self::new(program, &ends.step)?,
            None => *until?,
        };
        Some(Box::new(until.with_begun(program, replay)))
    }

    /// Adds the statements that earlier processes of the run have begun, because they have to be replayed: what they
    /// would otherwise leave out could be the reason why the run ends, or need an `undo`. The firings that began because
    /// the run ended begin when it ends again.
    fn with_begun(mut self, program: &Program, replay: &ReplayState) -> Self {
        let ended_in = replay
            .ends_before
            .as_ref()
            .map_or(u32::MAX, |ends| ends.process);
        let is_early =
            |step: &RecordedStep| step.begun_in.is_some_and(|process| process < ended_in);
        let begun = replay.steps.iter().filter(|(_, step)| is_early(step));
        let outermost = begun.filter_map(|(step, _)| step.split_once('.'));
        let firings = outermost.filter(|(outermost, _)| outermost.ends_with(']'));
        self.firings = firings.map(|(firing, _)| firing.into()).collect();
        if let Some(steps) = &replay.until {
            let earlier = steps.iter().filter_map(|step| Self::new(program, step));
            self.needed.extend(earlier.flat_map(|until| until.needed));
            return self;
        }
        // A process was to drive the run to its end. What can be left out are the steps that it has not reached, and
        // what happens below them.
        let mut reaches_all = true;
        for (number, node) in (0..).zip(&program.plan.body().nodes) {
            let name = node.name.as_deref().unwrap_or_default();
            let begun = match &node.kind {
                NodeKind::Step(_) => replay
                    .steps
                    .get(name)
                    .is_some_and(|step| step.begun_in.is_some()),
                NodeKind::Set(set) => {
                    let task = &program.plan.task(set.task).name;
                    reaches_all || replay.has_unreplayed(EventName::TaskSet, task)
                }
                NodeKind::Ensure { .. } | NodeKind::Fail(_) | NodeKind::Reply(_) => reaches_all,
                NodeKind::Condition(_)
                | NodeKind::Let(_)
                | NodeKind::Yield(_)
                | NodeKind::Next(_)
                | NodeKind::Task(_)
                | NodeKind::Listener(_) => true,
            };
            if begun {
                self.needed.insert(number);
            }
            reaches_all &= self.needed.contains(&number);
        }
        self
    }

    /// Returns the names of the plan's own steps.
    pub fn steps(program: &Program) -> impl Iterator<Item = &str> {
        let steps = program
            .plan
            .body()
            .nodes
            .iter()
            .filter(|node| node.step().is_some());
        steps.filter_map(|node| node.name.as_deref())
    }

    /// Returns true if the step has settled. A plan that ends above the step has not reached it.
    pub(super) fn is_reached(&self, root: &Frame) -> bool {
        let ends = root.taken.is_some() || root.ending.is_some();
        let node = root.nodes.get(self.node as usize);
        !ends && node.is_some_and(|node| node.state.is_settled())
    }

    /// Returns true if a firing of a listener is left to a later process.
    pub(super) fn leaves_firing(&self, listener: NodeRef, firing: &str) -> bool {
        listener.0 == 0 && !self.firings.contains(firing)
    }

    /// Returns true if a statement is left to a later process.
    pub(super) fn leaves(&self, (frame, node): NodeRef) -> bool {
        frame == 0 && !self.needed.contains(&node) && !self.listeners.contains(&node)
    }
}
