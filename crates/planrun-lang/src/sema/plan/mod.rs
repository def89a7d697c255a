//! The checked plan, which `graph` orders and a run executes.
//!
//! Blocks are stored in one list and refer to each other by number, so that no pass over a plan, including `Drop`, is
//! recursive. An `if` has no block: its statements are in the surrounding block under a guard.

mod definitions;
mod order;
mod payloads;
mod settings;
mod step;
mod task;
mod walk;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::expr::CheckedExpr;
use crate::permission::Grant;
use crate::source::{SourceFile, Span};
use crate::types::{ErrorClass, Signature, Type};

pub use order::{Footprint, OrderClass, Touch};
pub use payloads::Payload;
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
    /// Span of its name.
    pub span: Span,
    /// Source file that contains it.
    pub source: SourceFile,
    /// Hash of its text and of the plans that it calls.
    pub digest: Arc<str>,
    pub parameters: Vec<PlanParameter>,
    /// Declared type, or the union of all replies, with null if a path does not reply.
    pub returns: Type,
    pub policy: Policy,
    /// The permissions of its calls; `None` if it declares none.
    pub allow: Option<Grant>,
    /// Blocks by number; the first is the body.
    pub blocks: Vec<Block>,
    /// Its tasks in source order, indexed by [`TaskId`].
    pub tasks: Vec<Task>,
    /// Footprint of its steps.
    pub does: Footprint,
    /// The plans that it calls, indexed by [`Target::Plan`].
    pub plans: Vec<Arc<Plan>>,
}

/// An input of a plan; its slot in the frame of the body is its index.
#[derive(Debug)]
pub struct PlanParameter {
    pub name: Arc<str>,
    pub ty: Type,
    pub required: bool,
    pub default: Option<CheckedExpr>,
    /// Paths in it that must be redacted; the empty path is the whole value.
    pub sensitive: Vec<Arc<str>>,
    /// Arguments of tools to which it is passed unchanged.
    pub passed_on: Vec<PassedArgument>,
}

/// An argument of a tool to which a value is passed unchanged.
#[derive(Clone, Debug)]
pub struct PassedArgument {
    pub signature: Arc<Signature>,
    pub argument: Arc<str>,
    /// Whether the call is made in every run.
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
/// Arms of `match`, `race` and `recover` are blocks too: a call becomes a step and a `yield` of its value.
#[derive(Debug, Default)]
pub struct Block {
    /// Path segment between the step that owns the block and its steps.
    pub label: Option<Arc<str>>,
    /// Number of values in a frame; parameters and local names come first.
    pub slots: u32,
    pub nodes: Vec<Node>,
    /// The nodes of each slot that several nodes define, in source order: branches of one `if` may define the same
    /// name, and at most one of them runs.
    pub shared: BTreeMap<u32, Vec<u32>>,
    /// Its `parallel` blocks, in source order.
    pub parallels: Vec<Parallel>,
}

/// `parallel { … }`: statements of one block that are not ordered among each other. Outside they are ordered as a
/// whole.
#[derive(Debug)]
pub struct Parallel {
    pub span: Span,
    /// Range of the nodes of its statements.
    pub nodes: Range<u32>,
    /// Order class of the whole.
    pub order: OrderClass,
    /// Node ranges of the `if`s in it, whose statements keep source order.
    pub sequences: Vec<Range<u32>>,
}

/// One statement, or the condition of a guard.
#[derive(Debug)]
pub struct Node {
    pub span: Span,
    pub name: Option<Arc<str>>,
    /// Slot of its value.
    pub slot: Option<u32>,
    /// Conditions that must all hold; otherwise the node is skipped.
    pub guard: Vec<GuardAtom>,
    /// Steps that must have completed or been skipped by their guards.
    pub after: Vec<After>,
    pub kind: NodeKind,
}

/// A condition of the same block and its required result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardAtom {
    pub condition: NodeId,
    pub negated: bool,
}

/// A name in `after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct After {
    pub node: NodeId,
    /// Span of the name.
    pub span: Span,
}

#[derive(Debug)]
pub enum NodeKind {
    /// The condition of an `if` or `when`, evaluated once.
    Condition(CheckedExpr),
    Let(CheckedExpr),
    Step(Step),
    Ensure {
        condition: CheckedExpr,
        /// Boxed to keep the other kinds in the node list small.
        message: Box<CheckedExpr>,
    },
    Fail(Failing),
    Reply(CheckedExpr),
    Yield(CheckedExpr),
    Next(CheckedExpr),
    /// The declaration of a task; its slot holds the context.
    Task(TaskId),
    Set(Box<Set>),
    Listener(Box<Listener>),
}

/// `fail class "…"`
#[derive(Debug)]
pub struct Failing {
    pub class: ErrorClass,
    pub message: Option<Box<CheckedExpr>>,
}

impl Plan {
    /// Returns the statements of the plan itself.
    #[must_use]
    pub fn body(&self) -> &Block {
        &self.blocks[0]
    }

    /// Returns the task with this number.
    #[must_use]
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0 as usize]
    }

    /// Returns the block with this number.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    /// Returns true if an arm only replaces a result with a value: it calls nothing.
    #[must_use]
    pub fn is_placeholder(&self, arm: &Recover) -> bool {
        let nodes = &self.block(arm.body).nodes;
        nodes
            .iter()
            .all(|node| matches!(node.kind, NodeKind::Let(_) | NodeKind::Yield(_)))
    }
}

impl Block {
    /// Returns the `parallel` that contains a node.
    #[must_use]
    pub fn parallel_around(&self, node: u32) -> Option<&Parallel> {
        let place = self
            .parallels
            .partition_point(|parallel| parallel.nodes.end <= node);
        self.parallels
            .get(place)
            .filter(|parallel| parallel.nodes.contains(&node))
    }

    /// Returns the node with this number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns the nodes that produce the value of a slot, in source order.
    pub fn producers(&self, slot: u32) -> impl Iterator<Item = &Node> {
        self.nodes
            .iter()
            .filter(move |node| node.slot == Some(slot))
    }

    /// Returns all nodes that produce the value of this node's slot; `None` if it is the only one.
    #[must_use]
    pub fn siblings(&self, node: &Node) -> Option<&[u32]> {
        if self.shared.is_empty() {
            return None;
        }
        self.shared.get(&node.slot?).map(Vec::as_slice)
    }
}

impl Node {
    /// Visits every expression that is evaluated in the frame of this node, excluding inner blocks.
    pub fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
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

    /// Visits every expression that is evaluated in a frame of a block that this node owns, excluding its statements.
    pub fn inner_codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
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

    /// Visits every block that this node owns.
    pub fn inner(&self, visit: &mut dyn FnMut(BlockId)) {
        if let Some(step) = self.step() {
            step.inner(visit);
        } else if let Some(listener) = self.listener() {
            visit(listener.body);
        }
    }

    /// Returns the event that it waits for.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        self.event_and_payload().map(|(on, _)| on)
    }

    /// Returns the event that it waits for, with the declared type of signal payloads.
    fn event_and_payload(&self) -> Option<(&Event, Option<&Type>)> {
        if let Some(listener) = self.listener() {
            return Some((&listener.on, listener.payload.as_ref()));
        }
        let StepKind::Wait(wait) = &self.step()?.kind else {
            return None;
        };
        if let Wait::Event { on, payload } = &**wait {
            Some((on, payload.as_ref()))
        } else {
            None
        }
    }

    /// Returns true if everything below waits for this node's decision: if it is taken, nothing below happens.
    #[must_use]
    pub fn decides(&self) -> bool {
        let ends = matches!(
            self.kind,
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_)
        );
        matches!(self.kind, NodeKind::Ensure { .. }) || ends && !self.guard.is_empty()
    }

    /// Returns its order class.
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

    /// Returns the listener in this node.
    #[must_use]
    pub fn listener(&self) -> Option<&Listener> {
        if let NodeKind::Listener(listener) = &self.kind {
            Some(listener)
        } else {
            None
        }
    }

    /// Returns the step in this node.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        if let NodeKind::Step(step) = &self.kind {
            Some(step)
        } else {
            None
        }
    }
}
