//! Frames: a block in execution, with its values and the state of its nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::eval::{Environment, EvalError};
use planrun_lang::graph::BlockGraph;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{BlockId, Place, TaskId};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;

use super::call::state::CallState;
use super::copies::RepeatReason;
use super::execution::Execution;
use crate::journal::StepError;

/// Number of a frame in the tree of the run.
pub(super) type FrameId = usize;

/// A node of a frame.
pub(super) type NodeRef = (FrameId, u32);

/// Denotes the run as a whole, which may ask a question before any of its nodes begins.
pub(super) const WHOLE_RUN: NodeRef = (0, u32::MAX);

/// A task of the frame that declares it.
pub(super) type TaskRef = (FrameId, TaskId);

/// One block in execution.
#[derive(Debug)]
pub(super) struct Frame {
    /// Number of the plan instance that it belongs to.
    pub scope: usize,
    pub block: BlockId,
    /// The step that it works for; `None` for the body of the run's plan.
    pub owner: Option<Owner>,
    /// The frame whose names it can read.
    pub outer: Option<FrameId>,
    /// Prefix of the paths of its steps; empty for the run's plan.
    pub path: Arc<str>,
    pub nodes: Vec<NodeState>,
    pub slots: Vec<Value>,
    pub records: Vec<Record>,
    pub let_errors: BTreeMap<u32, EvalError>,
    pub condition_errors: BTreeMap<u32, EvalError>,
    /// All nodes before this one have settled.
    pub settled: u32,
    /// All barriers before this one have settled.
    pub passed: u32,
    /// All statements before this one that may end the block have been decided.
    pub decided: u32,
    /// Number of nodes that have not settled.
    pub unsettled: u32,
    /// Nodes that only wait for one of these marks.
    pub waiting: Waiting,
    /// The value of `reply` or `yield`; all values of a round of a `repeat`.
    pub values: Vec<Value>,
    pub next: Option<Value>,
    /// The statement that ends the block early.
    pub taken: Option<Taken>,
    pub ending: Option<Ending>,
    /// Failures of steps that ran ahead of effects above them, held back until those have ended.
    pub late: BTreeMap<u32, Arc<StepError>>,
    /// Under `settle`: the first failure that nothing recovered.
    pub first_failure: Option<Arc<StepError>>,
    pub lifecycle: Lifecycle,
    /// Whether it is a firing that could not begin, because something that it reads has no value.
    pub upstream: bool,
    /// Whether it is outside of the flow of the plan: it verifies or undoes a step, or has worked for a step that is
    /// retried.
    pub auxiliary: bool,
    /// States that others see instead of the nodes' own: for a listener that of its latest firing, for a parked step
    /// its failure.
    pub visible: BTreeMap<u32, StepState>,
}

/// Nodes that only wait for the statements above a place in their block, each with that place.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub everything: BTreeSet<(u32, u32)>,
    pub barriers: BTreeSet<(u32, u32)>,
    pub decisions: BTreeSet<(u32, u32)>,
}

/// Lifecycle of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lifecycle {
    Running,
    /// Everything in it has settled; firings of its listeners, or the compensation of a plan, are still running.
    Closing,
    /// It has ended completely.
    Ended,
}

/// Why a frame ends before its statements have ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Failed(Arc<StepError>),
    Cancelled,
}

/// The step that a frame works for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub frame: FrameId,
    pub node: u32,
    pub role: Role,
}

impl Owner {
    /// Creates the owner of a frame with this role.
    pub(super) fn of((frame, node): NodeRef, role: Role) -> Self {
        Self { frame, node, role }
    }
}

/// The role of a frame for its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The only body: `do`, the arm of a `match`, a called plan.
    Body,
    Recover,
    Element(u32),
    Round,
    Branch(u32),
    /// Verifies the step.
    Verify,
    /// Undoes the step.
    Undo,
    /// A firing of a listener.
    Firing(u32),
}

/// The statement that ends a block early, and why.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub node: u32,
    pub why: Why,
}

/// Why a statement ends its block.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// Its guard holds.
    Guard,
    /// The condition of an `ensure` is false.
    Broken,
    /// Its condition could not be evaluated.
    Failed(EvalError),
    /// Something that its condition reads has failed.
    Upstream(Arc<StepError>),
}

/// The state of one node while a frame runs. Kept small, because there may be very many.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeState {
    pub guard_waits: u32,
    pub rest_waits: u32,
    pub state: StepState,
    pub flags: Flags,
}

/// Facts about a node, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Flags(u8);

impl Flags {
    /// The guard is decided, and holds.
    pub const GUARD_HOLDS: u8 = 1;
    /// A condition or a step in `after` has no value.
    pub const GUARD_UPSTREAM: u8 = 1 << 1;
    /// A step that it reads has no value.
    pub const UPSTREAM: u8 = 1 << 2;
    /// It has been added to the ready set.
    pub const READY: u8 = 1 << 3;
    /// A condition that is true.
    pub const TRUE: u8 = 1 << 4;
    /// Statements below need not wait for its decision any more.
    pub const DECIDED: u8 = 1 << 5;
    /// Settled with a value that readers may read, null included.
    pub const AVAILABLE: u8 = 1 << 6;
    /// The guard could not be evaluated.
    pub const GUARD_FAILED: u8 = 1 << 7;

    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// Returns true if the guard is decided and false.
    pub fn is_skipped(self) -> bool {
        self.0 & (Self::GUARD_HOLDS | Self::GUARD_UPSTREAM | Self::GUARD_FAILED) == 0
    }

    pub fn clear(&mut self, flag: u8) {
        self.0 &= !flag;
    }

    pub fn set(&mut self, flag: u8) {
        self.0 |= flag;
    }
}

/// The data of a step that is reported when the run has ended. Kept small, like the state of a node.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the step"
)]
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Time since the run began; `None` if it never started.
    pub started: Option<Microseconds>,
    pub duration: Microseconds,
    pub attempts: u32,
    pub recovered: bool,
    /// Whether it may have taken effect, with an unknown value.
    pub in_doubt: bool,
    /// Whether it had settled before the last process took over the run.
    pub reused: bool,
    /// Whether a statement of the same name, in another branch of an `if`, is reported instead.
    pub untaken: bool,
    pub reason: Option<&'static str>,
    details: Option<Box<Details>>,
}

/// A duration in microseconds.
pub(super) type Microseconds = u64;

/// Details that only few steps have.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    pub arguments: Option<Value>,
    pub error: Option<Arc<StepError>>,
    /// The branch of a `race` that won.
    pub winner: Option<Arc<str>>,
    /// Whether its value was copied from another run.
    pub copied: bool,
    /// Whether its value came from the cache.
    pub cached: bool,
    /// Why the value of another run was not copied.
    pub again: Option<RepeatReason>,
    /// The execution of its call that has begun and not ended.
    pub execution: Option<Execution>,
    /// The result of its `undo`.
    pub undone: Option<Undone>,
    /// Whether another step has taken over its result or its execution, and is responsible for undoing it.
    pub handed_over: bool,
    /// The frames that worked for it, in order.
    pub frames: Vec<FrameId>,
}

/// The result of an `undo`.
#[derive(Clone, Debug)]
pub(super) enum Undone {
    Yes,
    No(Arc<StepError>),
    /// It was not begun, because the run was cancelled meanwhile.
    Skipped(Arc<StepError>),
}

impl Record {
    pub(super) fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    pub(super) fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_with(Box::default)
    }

    /// Records the open execution of a call when an attempt is sent or has failed. Calls without effects need none,
    /// because they may begin anew each time.
    pub(super) fn note_open(&mut self, at: NodeRef, call: &CallState) {
        if call.effect.is_read_only() {
            return;
        }
        let in_doubt = self.in_doubt;
        self.details_mut().execution = Some(Execution {
            at,
            number: call.execution,
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            arrived: call.arrived,
            in_doubt,
            approval: None,
        });
    }

    /// Returns the open execution of a call.
    pub(super) fn open_execution(&mut self) -> Option<&mut Execution> {
        self.details.as_mut()?.execution.as_mut()
    }

    /// Takes the open execution of a call, which another frame continues.
    pub(super) fn take_execution(&mut self) -> Option<Execution> {
        let in_doubt = self.in_doubt;
        let open = self.details.as_mut()?.execution.take()?;
        Some(Execution { in_doubt, ..open })
    }

    /// Records that a call has succeeded.
    pub(super) fn note_success(&mut self) {
        self.in_doubt = false;
        self.end_execution();
    }

    /// Records that an attempt has failed.
    pub(super) fn note_failure(&mut self, effect: Effect, error: &StepError) {
        self.in_doubt |= !effect.is_read_only() && error.may_have_happened();
        // A refusal that never left this process says nothing of the attempts before it.
        if error.ends_execution() && !(self.in_doubt && error.sent == Sent::No) {
            self.end_execution();
        }
    }

    /// Records that the outcome of the execution is known.
    pub(super) fn end_execution(&mut self) {
        if let Some(details) = &mut self.details {
            details.execution = None;
        }
    }
}

impl Frame {
    pub(super) fn new(
        scope: usize,
        block: BlockId,
        slots: u32,
        graph: &BlockGraph,
        outer: Option<FrameId>,
        owner: Option<Owner>,
        path: Arc<str>,
    ) -> Self {
        let nodes = graph.waits.iter().map(|waits| NodeState {
            guard_waits: waits.guard,
            rest_waits: waits.rest,
            state: StepState::Pending,
            flags: Flags::default(),
        });
        Self {
            scope,
            block,
            owner,
            outer,
            path,
            nodes: nodes.collect(),
            slots: vec![Value::Null; slots as usize],
            records: vec![Record::default(); graph.nodes],
            let_errors: BTreeMap::new(),
            condition_errors: BTreeMap::new(),
            settled: 0,
            passed: 0,
            decided: 0,
            unsettled: u32::try_from(graph.nodes).unwrap_or(u32::MAX),
            waiting: Waiting::default(),
            values: Vec::new(),
            next: None,
            taken: None,
            ending: None,
            late: BTreeMap::new(),
            first_failure: None,
            lifecycle: Lifecycle::Running,
            upstream: false,
            auxiliary: false,
            visible: BTreeMap::new(),
        }
    }

    pub(super) fn node(&mut self, node: u32) -> &mut NodeState {
        &mut self.nodes[node as usize]
    }

    /// Returns true if a node waits for the decisions above it; it is released when they are made.
    pub(super) fn waits_for_decisions(&mut self, node: u32) -> bool {
        let waits = self.decided < node;
        if waits {
            self.waiting.decisions.insert((node, node));
        }
        waits
    }

    /// Returns true if a node waits for the barriers above a place.
    pub(super) fn waits_for_barriers(&mut self, node: u32, place: u32) -> bool {
        let waits = self.passed < place;
        if waits {
            self.waiting.barriers.insert((place, node));
        }
        waits
    }

    /// Returns true if a node waits for everything above a place.
    pub(super) fn waits_for_everything(&mut self, node: u32, place: u32) -> bool {
        let waits = self.settled < place;
        if waits {
            self.waiting.everything.insert((place, node));
        }
        waits
    }

    /// Returns the taken statement if this node is the one that ends the frame early.
    pub(super) fn ends_at(&self, node: u32) -> Option<&Taken> {
        self.taken.as_ref().filter(|taken| taken.node == node)
    }

    /// Returns true if it is a round of a `repeat`.
    pub(super) fn is_round(&self) -> bool {
        self.owner.is_some_and(|owner| owner.role == Role::Round)
    }

    /// Returns true if it, or one of its firings, has not ended.
    pub(super) fn is_live(&self) -> bool {
        self.lifecycle != Lifecycle::Ended
    }

    /// Returns the outcome of a frame that has ended.
    pub(super) fn outcome(&self) -> Result<(), Ending> {
        if let Some(ending) = &self.ending {
            return Err(ending.clone());
        }
        let failure = self.first_failure.clone();
        failure.map_or(Ok(()), |failure| Err(Ending::Failed(failure)))
    }

    /// Returns the node that holds the value of a slot: of several in branches of one `if`, the one whose branch was
    /// taken.
    pub(super) fn holder(&self, graph: &BlockGraph, slot: u32) -> Option<u32> {
        self.taken(graph.slots.nodes(slot))
    }

    /// Returns the node whose branch was taken, of nodes in branches of one `if`, as far as that is known.
    pub(super) fn taken(&self, mut nodes: impl Iterator<Item = u32> + Clone) -> Option<u32> {
        let state = |node: &u32| self.nodes.get(*node as usize).map(|node| node.state);
        nodes
            .clone()
            .find(|node| state(node) != Some(StepState::Skipped))
            .or_else(|| nodes.next())
    }

    /// Takes out a node whose mark has been reached.
    pub(super) fn pop_ready_waiter(&mut self) -> Option<u32> {
        let Waiting {
            everything,
            barriers,
            decisions,
        } = &mut self.waiting;
        for (waiting, mark) in [
            (everything, self.settled),
            (barriers, self.passed),
            (decisions, self.decided),
        ] {
            if waiting.first().is_some_and(|(place, _)| *place <= mark) {
                return waiting.pop_first().map(|(_, node)| node);
            }
        }
        None
    }

    /// Returns the path of a step of this frame.
    pub(super) fn path_of(&self, name: &Arc<str>) -> Arc<str> {
        if self.path.is_empty() {
            name.clone()
        } else {
            format!("{}.{name}", self.path).into()
        }
    }

    /// Frees the state that only a running frame needs. An `undo` or a `verify` may still read the values of its
    /// statements, and the errors of those that have no value.
    pub(super) fn free_flow_state(&mut self) {
        self.waiting = Waiting::default();
        self.condition_errors = BTreeMap::new();
    }
}

/// The names that are visible from a frame, for evaluation.
pub(super) struct View<'a> {
    pub frames: &'a [Frame],
    pub frame: FrameId,
    /// Returns the node that holds the value of a slot of a frame.
    pub by_slot: &'a dyn Fn(&Frame, u32) -> Option<u32>,
}

impl View<'_> {
    fn climb(&self, up: u16) -> &Frame {
        let mut frame = &self.frames[self.frame];
        for _ in 0..up {
            match frame.outer {
                Some(outer) => frame = &self.frames[outer],
                None => break,
            }
        }
        frame
    }
}

impl Environment for View<'_> {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        let frame = self.climb(place.up);
        match frame.let_errors.get(&place.slot) {
            Some(error) => Err(error.clone()),
            None => Ok(frame
                .slots
                .get(place.slot as usize)
                .cloned()
                .unwrap_or(Value::Null)),
        }
    }

    fn state(&self, place: Place) -> StepState {
        let frame = self.climb(place.up);
        let node = (self.by_slot)(frame, place.slot);
        if let Some(visible) = node.and_then(|node| frame.visible.get(&node)) {
            return *visible;
        }
        node.and_then(|node| frame.nodes.get(node as usize))
            .map_or(StepState::Pending, |node| node.state)
    }

    fn winner(&self, place: Place) -> Option<Arc<str>> {
        let frame = self.climb(place.up);
        let node = (self.by_slot)(frame, place.slot)?;
        frame.records.get(node as usize)?.details()?.winner.clone()
    }
}
