//! Listeners: each handles its firings one after the other, and a block stays open until the last firing has ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{BlockId, EventKind as Condition, NodeKind};
use planrun_lang::types::{Budget, ErrorClass};
use planrun_lang::value::{Value, counted};
use serde::Serialize;

use super::agenda::{End, Next, Reaction, Subject};
use super::condition::Conditions;
use super::context::Context;
use super::frame::{Ending, Flags, FrameId, Lifecycle, NodeRef, Role};
use super::program::Program;
use super::reached::Reached;
use super::signal::{declared, typed};
use super::task::Tasks;
use super::tree::{Tree, each_scope_around};
use crate::journal::{EventKind, StepError};

/// The state of a listener.
#[derive(Default)]
pub(super) struct ListenerState {
    max: u64,
    fired: u32,
    /// Number of events that would have fired it after its `max` was used up.
    surplus: u32,
    /// Firings that wait for the previous one, or for values that they read.
    queue: VecDeque<FrameId>,
    running: Option<FrameId>,
}

/// The report of one listener.
#[derive(Clone, Debug, Serialize)]
pub struct ListenerReport {
    pub path: Arc<str>,
    /// State of its latest firing; `pending` if it never fired.
    pub status: StepState,
    pub fired: u32,
    /// Number of events that would have fired it after its `max` was used up.
    pub surplus: u32,
}

/// Whether the next firing of a listener can begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    /// Something that it reads has not settled.
    Blocked,
    /// Something that it reads has no value.
    Upstream,
}

impl ListenerState {
    fn is_open(&self) -> bool {
        self.running.is_some() || !self.queue.is_empty()
    }

    /// Returns true if an event may still fire it.
    pub(super) fn may_fire(&self) -> bool {
        u64::from(self.fired) < self.max
    }

    fn frames(&self) -> impl Iterator<Item = FrameId> {
        self.running.into_iter().chain(self.queue.iter().copied())
    }
}

/// The listeners of a run.
#[derive(Default)]
pub(super) struct Listeners {
    /// Listeners of open blocks, in source order.
    open: BTreeMap<NodeRef, ListenerState>,
    /// Listeners of blocks that have ended.
    closed: BTreeMap<NodeRef, ListenerState>,
}

impl Listeners {
    /// Begins a block: its tasks get their first status and its listeners begin to listen before anything else happens
    /// in it. The beginning is an event of all its tasks.
    #[expect(clippy::unused_self, reason = "part of the interface of listeners")]
    pub(super) fn begin(
        &self,
        ctx: &mut Context,
        tasks: &mut Tasks,
        program: &Program,
        frame: FrameId,
    ) {
        let block = ctx.tree[frame].block;
        let mut begun = Vec::new();
        for (index, node) in program.plan.block(block).nodes.iter().enumerate() {
            let state = ctx.tree[frame].nodes[index];
            let at = (frame, u32::try_from(index).unwrap_or(u32::MAX));
            match &node.kind {
                NodeKind::Task(id) if state.guard_waits == 0 => {
                    tasks.declare(ctx, frame, *id);
                    begun.push(Subject::Task((frame, *id)));
                }
                NodeKind::Listener(_) if state.guard_waits + state.rest_waits == 0 => {
                    ctx.then(Reaction::Listen(at));
                }
                NodeKind::Task(_)
                | NodeKind::Listener(_)
                | NodeKind::Condition(_)
                | NodeKind::Let(_)
                | NodeKind::Step(_)
                | NodeKind::Ensure { .. }
                | NodeKind::Fail(_)
                | NodeKind::Reply(_)
                | NodeKind::Yield(_)
                | NodeKind::Next(_)
                | NodeKind::Set(_) => {}
            }
        }
        if block == BlockId(0) {
            begun.push(Subject::Plan(ctx.tree[frame].scope));
        }
        if !begun.is_empty() {
            ctx.commit_all(begun.into());
        }
    }

    /// Runs the statement of a listener. A listener under a condition begins to listen here.
    pub(super) fn run(&mut self, ctx: &mut Context, at: NodeRef) {
        if !self.open.contains_key(&at) {
            self.listen(ctx, at);
        }
        // Nothing waits for a listener, so the statements below it continue.
        ctx.settle(at, End::Completed(Value::Null));
    }

    /// Begins to listen.
    pub(super) fn listen(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let NodeKind::Listener(listener) = &ctx.tree.node(&program, at).kind else {
            return;
        };
        let max = listener
            .max
            .as_ref()
            .map_or(Ok(Value::Int(1)), |max| ctx.tree.evaluate(at.0, max));
        let max = match max {
            Ok(Value::Int(max)) if max >= 0 => max.unsigned_abs(),
            Ok(other) => {
                let error = EvalError::new(
                    FailureKind::NoOverload,
                    format!(
                        "a bound must be a whole number of at least 0, but this is {}",
                        other.preview(80)
                    ),
                    listener.span,
                );
                return ctx.expression_failed(at, &error);
            }
            Err(error) => return ctx.expression_failed(at, &error),
        };
        ctx.tree[at.0].visible.insert(at.1, StepState::Pending);
        self.open.insert(
            at,
            ListenerState {
                max,
                ..ListenerState::default()
            },
        );
    }

    /// Notifies a listener of an event: it fires if its condition and its `when` hold, unless its `max` is used up.
    pub(super) fn notify(
        &mut self,
        ctx: &mut Context,
        tasks: &Tasks,
        latest: Option<&Value>,
        at: NodeRef,
        subjects: &[Subject],
    ) {
        let program = ctx.tree.program(at.0);
        let NodeKind::Listener(listener) = &ctx.tree.node(&program, at).kind else {
            return;
        };
        let tree = &ctx.tree;
        let conditions = Conditions { tree, tasks };
        let holds = conditions.names_one(at.0, &listener.on, subjects)
            && conditions.holds(at.0, &listener.on, subjects);
        // If a value that `when` reads is missing, the event is ignored.
        if !holds || readiness(tree, &program, at, true) != Readiness::Ready {
            return;
        }
        let Some(state) = self.open.get(&at) else {
            return;
        };
        let (fired, may_fire) = (state.fired, state.may_fire());
        let source = conditions.source(at.0, &listener.on, subjects);
        let value = match source.map(|leaf| (&leaf.kind, leaf)) {
            Some((Condition::Signal(_), _)) => latest.cloned().unwrap_or(Value::Null),
            Some((_, leaf)) => conditions.event_value(at.0, leaf),
            None => Value::Null,
        };
        let value = match declared(&listener.on, source, listener.payload.as_ref()) {
            Some(ty) => typed(&value, ty),
            None => value,
        };
        let own = tree.path(&program, at);
        let path: Arc<str> = format!("{own}[{fired}]").into();
        let frame = prepare(ctx, &program, at, (fired, path.clone()), value);
        let condition = match &listener.when {
            None => Ok(true),
            Some(when) => ctx.tree.decide(frame, when),
        };
        if let (Some(_), Ok(holds)) = (&listener.when, &condition) {
            ctx.reached(at, Reached::Decided(*holds));
        }
        if !matches!(condition, Ok(true)) || !may_fire {
            ctx.tree.discard_frame(frame);
        }
        match condition {
            Ok(false) => {}
            Ok(true) => self.fire(ctx, at, frame, path),
            Err(error) => {
                let error = Arc::new(StepError::expression(&error, &program.plan, &own));
                listener_failed(ctx, at, error);
            }
        }
    }

    /// Fires a listener, if it may fire once more.
    fn fire(&mut self, ctx: &mut Context, at: NodeRef, frame: FrameId, path: Arc<str>) {
        let Some(state) = self.open.get_mut(&at) else {
            return;
        };
        if !state.may_fire() {
            state.surplus += 1;
            return;
        }
        state.fired += 1;
        state.queue.push_back(frame);
        ctx.tree[at.0].visible.insert(at.1, StepState::Running);
        ctx.reached(at, Reached::Fired);
        ctx.outbox.emit(EventKind::ListenerFired { path });
        if !too_many_firings(ctx, at.0) {
            self.next_firing(ctx, at);
        }
    }

    /// Begins the next firing of a listener, if none is running and the values that it reads are there.
    pub(super) fn next_firing(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some(state) = self.open.get(&at).filter(|state| state.running.is_none()) else {
            return;
        };
        let Some(frame) = state.queue.front().copied() else {
            return;
        };
        if ctx.leaves_firing(at, frame) {
            return;
        }
        let readiness = readiness(&ctx.tree, &program, at, false);
        if readiness == Readiness::Blocked {
            return;
        }
        if let Some(state) = self.open.get_mut(&at) {
            state.queue.pop_front();
            state.running = Some(frame);
        }
        if readiness == Readiness::Ready || ctx.tree[frame].unsettled == 0 {
            return ctx.start(frame);
        }
        ctx.tree[frame].upstream = true;
        for node in 0..ctx.tree[frame].unsettled {
            ctx.settle((frame, node), End::Upstream);
        }
    }

    /// Lets firings begin that waited for a statement which has settled.
    pub(super) fn unblock(&self, ctx: &mut Context, program: &Program, (frame, node): NodeRef) {
        if self.open.is_empty() {
            return;
        }
        let graph = ctx.tree.graph(program, frame);
        for read in graph.firing_reads.iter().filter(|read| read.source == node) {
            ctx.then(Reaction::NextFiring((frame, read.listener)));
        }
    }

    /// Handles the end of a firing.
    pub(super) fn firing_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        if let Some(state) = self.open.get_mut(&at) {
            state.queue.retain(|queued| *queued != frame);
            state.running = state.running.filter(|running| *running != frame);
        }
        let state = match &outcome {
            Ok(()) if ctx.tree[frame].upstream => StepState::Skipped,
            Ok(()) => StepState::Completed,
            Err(Ending::Failed(_)) => StepState::Failed,
            Err(Ending::Cancelled) => StepState::Cancelled,
        };
        ctx.tree[at.0].visible.insert(at.1, state);
        if let Err(Ending::Failed(error)) = outcome {
            ctx.then(Reaction::WorkFailed {
                frame,
                error: error.clone(),
                parked: None,
            });
            let (listener, firing) = (at, frame);
            ctx.then(Reaction::FiringFailed {
                listener,
                firing,
                error,
            });
        }
        ctx.commit(Subject::Step(at));
        ctx.then(Reaction::NextFiring(at));
        ctx.then(Reaction::FiringOver(at.0));
    }

    /// Lets the firings of a block begin that were left to a later process, because there will be none.
    pub(super) fn release(&self, ctx: &mut Context, frame: FrameId) {
        for at in self.listeners_of(frame) {
            ctx.then(Reaction::NextFiring(at));
        }
    }

    /// Ends a block that has waited for its firings, if this was the last one.
    pub(super) fn firing_over(&self, ctx: &mut Context, frame: FrameId) {
        if ctx.tree[frame].lifecycle == Lifecycle::Closing && !self.has_firings(frame) {
            ctx.schedule.ended.push(frame);
        }
    }

    pub(super) fn has_firings(&self, frame: FrameId) -> bool {
        self.listeners_of(frame).any(|at| self.open[&at].is_open())
    }

    fn listeners_of(&self, frame: FrameId) -> impl Iterator<Item = NodeRef> {
        self.open
            .range((frame, 0)..=(frame, u32::MAX))
            .map(|(at, _)| *at)
    }

    /// Cancels every firing: exceeded budgets, deadlines and cancellations end more than the plan's own steps.
    pub(super) fn cancel_firings(&self, ctx: &mut Context) {
        for frame in self.open.values().flat_map(ListenerState::frames) {
            ctx.end_block(frame, Ending::Cancelled);
            ctx.then(Next::ReportEnd(frame));
        }
    }

    /// Returns the reports of the plan's own listeners.
    pub(super) fn reports(&self, ctx: &Context) -> Vec<ListenerReport> {
        let all = self.open.iter().chain(&self.closed);
        let own = all.filter(|((frame, _), _)| ctx.tree[*frame].scope == 0);
        let mut reports: Vec<(NodeRef, ListenerReport)> = own
            .map(|(at, state)| {
                let report = ListenerReport {
                    path: ctx.tree.own_path(*at),
                    status: ctx.tree.visible_state(*at),
                    fired: state.fired,
                    surplus: state.surplus,
                };
                (*at, report)
            })
            .collect();
        reports.sort_by_key(|(at, _)| *at);
        reports.into_iter().map(|(_, report)| report).collect()
    }

    /// Ends the listeners of a block in which everything, firings included, has settled.
    pub(super) fn close(&mut self, frame: FrameId) {
        let ended: Vec<NodeRef> = self.listeners_of(frame).collect();
        for at in ended {
            if let Some(state) = self.open.remove(&at) {
                self.closed.insert(at, state);
            }
        }
    }

    /// Returns the listeners of open blocks, in source order.
    pub(super) fn listening(&self) -> impl Iterator<Item = (NodeRef, &ListenerState)> {
        self.open.iter().map(|(at, state)| (*at, state))
    }
}

/// Opens the frame of a firing, with the state right after the event.
fn prepare(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    (number, path): (u32, Arc<str>),
    value: Value,
) -> FrameId {
    let NodeKind::Listener(listener) = &ctx.tree.node(program, at).kind else {
        return at.0;
    };
    let tree = &ctx.tree;
    let snapshot = listener.snapshot.iter();
    let contexts = snapshot.map(|(task, slot)| (*slot, tree.context_of(tree.task_at(at.0, *task))));
    let contexts: Vec<(u32, Value)> = contexts.chain([(0, value)]).collect();
    let role = Role::Firing(number);
    let frame = ctx
        .tree
        .open_body(program, at, listener.body, role, |_| path);
    let slots = &mut ctx.tree[frame].slots;
    for (slot, value) in contexts {
        if let Some(place) = slots.get_mut(slot as usize) {
            *place = value;
        }
    }
    frame
}

/// Returns whether the values that a firing reads of the block around its listener are there, or only those that `when`
/// reads.
fn readiness(tree: &Tree, program: &Program, at: NodeRef, of_when: bool) -> Readiness {
    let graph = tree.graph(program, at.0);
    let own = graph
        .firing_reads
        .iter()
        .filter(|read| read.listener == at.1 && (read.in_when || !of_when));
    let mut readiness = Readiness::Ready;
    for read in own {
        let source = tree[at.0].nodes[read.source as usize];
        if !source.state.is_settled() {
            return Readiness::Blocked;
        }
        if read.needs_value && !source.flags.has(Flags::AVAILABLE) {
            readiness = Readiness::Upstream;
        }
    }
    readiness
}

/// Handles the failure of a listener like that of a step. If everything else in the block has settled, its reply is
/// fixed: the block then fails, and nothing else changes.
fn listener_failed(ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
    if ctx.tree[at.0].lifecycle == Lifecycle::Running {
        return ctx.block_failed(at.0, error, false);
    }
    ctx.tree[at.0].first_failure.get_or_insert(error);
}

/// Counts a firing, for its plan instance and for those that called it. Returns true, and ends the run, if a limit is
/// exceeded.
fn too_many_firings(ctx: &mut Context, frame: FrameId) -> bool {
    let mut over = None;
    each_scope_around(&mut ctx.tree, frame, |scope| {
        scope.firings += 1;
        let limit = scope.policy.max_firings;
        over = over.or((scope.firings > limit).then_some(limit));
    });
    let Some(limit) = over else { return false };
    let message = format!(
        "listeners fired more than {}; raise the limit with `policy {{ max_firings: … }}`",
        counted(limit, "time")
    );
    ctx.fatal(ErrorClass::Budget(Budget::Calls), &message);
    true
}

/// Fails a listener with one of its firings.
pub(super) fn firing_failed(
    ctx: &mut Context,
    listener: NodeRef,
    firing: FrameId,
    error: &Arc<StepError>,
) {
    let error = Arc::new(StepError::of_inner(error, &ctx.tree[firing].path));
    ctx.tree.record_mut(listener).details_mut().error = Some(error.clone());
    listener_failed(ctx, listener, error);
}
