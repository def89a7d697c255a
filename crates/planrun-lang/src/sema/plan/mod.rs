//! The checked plan: what `graph` orders and a run executes.
//!
//! Blocks live in one list and refer to each other by number, so that no pass over a plan, `Drop` included, recurses
//! over it. An `if` leaves no block: its statements stand in the surrounding block under a guard.

mod order;
mod settings;
mod step;
mod task;
mod walk;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::expr::Code;
use crate::permission::Grant;
use crate::source::{SourceFile, Span};
use crate::types::{ErrorClass, Signature, Type};

pub use order::{Footprint, OrderClass, Touch};
pub use settings::{Budget, Jitter, OnFailure, Policy, Retry};
pub use step::{
    AgentCheck, Call, Clauses, Confirm, Each, Input, InputField, Recover, Repeat, Step, StepKind,
    Target, Undo, Until, Verify, Wait,
};
pub use task::{Event, EventKind, FAILED, Listener, PlanTest, Set, Status, Task, TaskId, TaskTest};
pub use walk::Nesting;

/// A plan that may run.
#[derive(Debug)]
pub struct Plan {
    pub name: Arc<str>,
    pub doc: Option<Arc<str>>,
    /// Of its name.
    pub span: Span,
    /// The text that it stands in.
    pub source: SourceFile,
    /// A hash of its text and of the plans that it calls.
    pub digest: Arc<str>,
    pub parameters: Vec<PlanParameter>,
    /// Declared, or the union of all replies; null where there is none.
    pub returns: Type,
    pub policy: Policy,
    /// What its calls may reach; `None` where it says nothing.
    pub allow: Option<Grant>,
    /// The first is the body; at least one.
    pub blocks: Vec<Block>,
    /// Its milestones in source order, by [`TaskId`].
    pub tasks: Vec<Task>,
    /// What its steps do.
    pub does: Footprint,
    /// The plans that it calls, by [`Target::Plan`].
    pub plans: Vec<Arc<Plan>>,
}

/// An input of a plan; it has the slot of its index in the body's frame.
#[derive(Debug)]
pub struct PlanParameter {
    pub name: Arc<str>,
    pub ty: Type,
    pub required: bool,
    pub default: Option<Code>,
    /// The places in it that must not be shown; the empty path is all of it.
    pub sensitive: Vec<Arc<str>>,
    /// The arguments of tools that it becomes, unchanged.
    pub passed_on: Vec<PassedOn>,
}

/// Where a value goes unchanged: the argument of a tool.
#[derive(Clone, Debug)]
pub struct PassedOn {
    pub signature: Arc<Signature>,
    pub argument: Arc<str>,
    /// Whether the call is made whatever the run brings.
    pub always: bool,
}

/// The number of a block within its plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

/// The number of a node within its block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

/// Statements that share one frame, in source order.
///
/// Arms of `match`, `race` and `recover` are blocks too: a call is a step and a `yield` of its value.
#[derive(Debug, Default)]
pub struct Block {
    /// What stands between the path of the step that owns it and the paths of its steps.
    pub label: Option<Arc<str>>,
    /// The number of values that a frame holds: parameters and local names first.
    pub slots: u32,
    pub nodes: Vec<Node>,
    /// The nodes of each slot that more than one gives, in source order: branches of one `if` may define one name, and at
    /// most one of them runs.
    pub shared: BTreeMap<u32, Vec<u32>>,
    /// Its `parallel` blocks, in source order.
    pub parallels: Vec<Parallel>,
}

/// `parallel { … }`: statements of one block that have no place among each other. As a whole they have one.
#[derive(Debug)]
pub struct Parallel {
    pub span: Span,
    /// The nodes of its statements.
    pub nodes: Range<u32>,
    /// The part of the whole in the order of the block.
    pub order: OrderClass,
    /// The nodes of each `if` in it, whose statements keep the order of the page.
    pub sequences: Vec<Range<u32>>,
}

/// One statement, or the condition of a guard.
#[derive(Debug)]
pub struct Node {
    pub span: Span,
    pub name: Option<Arc<str>>,
    /// Where its value goes.
    pub slot: Option<u32>,
    /// All must hold, else the node is skipped.
    pub guard: Vec<GuardAtom>,
    /// Steps that must have completed, or have been skipped by their guards.
    pub after: Vec<After>,
    pub kind: NodeKind,
}

/// A condition of the same block and how it must have come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardAtom {
    pub condition: NodeId,
    pub negated: bool,
}

/// One name behind `after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct After {
    pub node: NodeId,
    /// Where it is written.
    pub span: Span,
}

#[derive(Debug)]
pub enum NodeKind {
    /// The condition of an `if` or `when`, decided once.
    Condition(Code),
    Let(Code),
    Step(Step),
    Ensure {
        condition: Code,
        /// Boxed, because lists of nodes hold the other kinds too.
        message: Box<Code>,
    },
    Fail(Failing),
    Reply(Code),
    Yield(Code),
    Next(Code),
    /// The declaration of a task; its slot holds the context.
    Task(TaskId),
    Set(Box<Set>),
    Listener(Box<Listener>),
}

/// `fail class "…"`
#[derive(Debug)]
pub struct Failing {
    pub class: ErrorClass,
    pub message: Option<Box<Code>>,
}

impl Plan {
    /// The statements of the plan itself.
    #[must_use]
    pub fn body(&self) -> &Block {
        &self.blocks[0]
    }

    /// The task with this number.
    #[must_use]
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0 as usize]
    }

    /// The block with this number.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    /// Whether an arm only puts a value in the place of a result: it calls nothing.
    #[must_use]
    pub fn is_placeholder(&self, arm: &Recover) -> bool {
        let nodes = &self.block(arm.body).nodes;
        nodes
            .iter()
            .all(|node| matches!(node.kind, NodeKind::Let(_) | NodeKind::Yield(_)))
    }
}

impl Block {
    /// The `parallel` that a node stands in.
    #[must_use]
    pub fn parallel_around(&self, node: u32) -> Option<&Parallel> {
        let place = self
            .parallels
            .partition_point(|parallel| parallel.nodes.end <= node);
        self.parallels
            .get(place)
            .filter(|parallel| parallel.nodes.contains(&node))
    }

    /// The node with this number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The nodes that give the value of a slot, in source order.
    pub fn givers(&self, slot: u32) -> impl Iterator<Item = &Node> {
        self.nodes
            .iter()
            .filter(move |node| node.slot == Some(slot))
    }

    /// All nodes that give the value of this one's slot, where there are others.
    #[must_use]
    pub fn siblings(&self, node: &Node) -> Option<&[u32]> {
        if self.shared.is_empty() {
            return None;
        }
        self.shared.get(&node.slot?).map(Vec::as_slice)
    }
}

impl Node {
    /// Every expression that is evaluated in the frame of this node, those of inner blocks left out.
    pub fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        match &self.kind {
            NodeKind::Condition(code)
            | NodeKind::Let(code)
            | NodeKind::Reply(code)
            | NodeKind::Yield(code)
            | NodeKind::Next(code) => visit(code),
            NodeKind::Ensure { condition, message } => {
                [condition, &**message].into_iter().for_each(visit);
            }
            NodeKind::Fail(failing) => failing.message.iter().for_each(|message| visit(message)),
            NodeKind::Step(step) => step.codes(visit),
            NodeKind::Set(set) => set.context.iter().for_each(visit),
            NodeKind::Listener(listener) => listener.max.iter().for_each(visit),
            NodeKind::Task(_) => {}
        }
    }

    /// Every expression that is evaluated in a frame of a block that this node owns, those of its statements left out.
    pub fn inner_codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        if let Some(listener) = self.listener() {
            listener.when.iter().for_each(visit);
        } else if let Some(Step {
            kind: StepKind::Each(each),
            ..
        }) = self.step()
        {
            each.by.iter().for_each(visit);
        }
    }

    /// Every block that this node owns.
    pub fn inner(&self, visit: &mut dyn FnMut(BlockId)) {
        if let Some(step) = self.step() {
            step.inner(visit);
        } else if let Some(listener) = self.listener() {
            visit(listener.body);
        }
    }

    /// The event that it waits for.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        if let Some(listener) = self.listener() {
            return Some(&listener.on);
        }
        let StepKind::Wait(wait) = &self.step()?.kind else {
            return None;
        };
        if let Wait::Event { on, .. } = &**wait {
            Some(on)
        } else {
            None
        }
    }

    /// Whether everything below waits for this to be decided: once it is taken, nothing below it happens.
    #[must_use]
    pub fn decides(&self) -> bool {
        let ends = matches!(
            self.kind,
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_)
        );
        matches!(self.kind, NodeKind::Ensure { .. }) || ends && !self.guard.is_empty()
    }

    /// Its part in the order of the block.
    #[must_use]
    pub fn order(&self) -> OrderClass {
        match &self.kind {
            NodeKind::Step(step) => step.order,
            NodeKind::Set(_) => OrderClass::Barrier,
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Listener(_) => OrderClass::Pure,
        }
    }

    /// The listener in this node.
    #[must_use]
    pub fn listener(&self) -> Option<&Listener> {
        if let NodeKind::Listener(listener) = &self.kind {
            Some(listener)
        } else {
            None
        }
    }

    /// The step in this node.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        if let NodeKind::Step(step) = &self.kind {
            Some(step)
        } else {
            None
        }
    }
}
