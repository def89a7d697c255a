//! Listeners: each handles its firings one after the other, and a block stays open until the last firing has ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{BlockId, EventKind as Condition, NodeKind};
use planrun_lang::types::{Budget, ErrorClass};
use planrun_lang::value::Value;
use serde::Serialize;

use super::agenda::{End, Next, Reaction, Subject};
use super::condition::Conditions;
use super::context::Context;
use super::frame::{Ending, Flags, FrameId, Life, NodeRef, Role};
use super::program::Program;
use super::reached::Reached;
use super::signal::{declared, typed};
use super::task::Tasks;
use super::tree::Tree;
use crate::journal::{EventKind, StepError};

/// A listener that listens, or did.
#[derive(Default)]
pub(super) struct ListenerState {
    max: u64,
    fired: u32,
    /// Events that would have fired it once more than it may.
    surplus: u32,
    /// Firings that wait for the one before, or for what they read.
    queue: VecDeque<FrameId>,
    running: Option<FrameId>,
}

/// What became of one listener.
#[derive(Clone, Debug, Serialize)]
pub struct ListenerReport {
    pub path: Arc<str>,
    /// Of its latest firing; `pending` where it never fired.
    pub status: StepState,
    pub fired: u32,
    /// Events that would have fired it, had its `max` not been used up.
    pub surplus: u32,
}

/// Whether the next firing of a listener can begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    /// Something that it reads has not settled.
    Blocked,
    /// Something that it reads gave nothing.
    Upstream,
}

impl ListenerState {
    fn is_open(&self) -> bool {
        self.running.is_some() || !self.queue.is_empty()
    }

    /// Whether an event may still fire it.
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
    /// Those that listen, in source order.
    open: BTreeMap<NodeRef, ListenerState>,
    /// Those whose block has ended.
    closed: BTreeMap<NodeRef, ListenerState>,
    firings: u64,
}

impl Listeners {
    /// A block begins: its tasks stand in their first status and its listeners listen before anything else happens in
    /// it. That it begins is an event of all its tasks.
    #[expect(
        clippy::unused_self,
        reason = "the listeners of the block are among these"
    )]
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

    /// A listener, in its turn: one under a condition begins to listen here.
    pub(super) fn run(&mut self, ctx: &mut Context, at: NodeRef) {
        if !self.open.contains_key(&at) {
            self.listen(ctx, at);
        }
        // Nothing waits for a listener: the statements below it go on.
        ctx.settle(at, End::Completed(Value::Null));
    }

    /// A listener begins to listen.
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
                    format!("{} is no bound", other.preview(80)),
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

    /// Something has happened: a listener fires if its condition holds, unless its `when` or its `max` is against it.
    pub(super) fn hear(
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
        // Where what `when` reads is not there yet, the event passes.
        if !holds || readiness(tree, &program, at, true) != Readiness::Ready {
            return;
        }
        let Some(hearing) = self.open.get(&at) else {
            return;
        };
        let (fired, may_fire) = (hearing.fired, hearing.may_fire());
        let source = conditions.source(at.0, &listener.on, subjects);
        let brought = match source.map(|leaf| (&leaf.kind, leaf)) {
            Some((Condition::Signal(_), _)) => latest.cloned().unwrap_or(Value::Null),
            Some((_, leaf)) => conditions.brought(at.0, leaf),
            None => Value::Null,
        };
        let brought = match declared(&listener.on, source, listener.payload.as_ref()) {
            Some(ty) => typed(&brought, ty),
            None => brought,
        };
        let own = tree.path(&program, at);
        let path: Arc<str> = format!("{own}[{fired}]").into();
        let frame = prepare(ctx, &program, at, (fired, path.clone()), brought);
        let wanted = match &listener.when {
            None => Ok(true),
            Some(when) => ctx.tree.decide(frame, when),
        };
        if let (Some(_), Ok(wanted)) = (&listener.when, &wanted) {
            ctx.reached(at, Reached::Decided(*wanted));
        }
        if !matches!(wanted, Ok(true)) || !may_fire {
            ctx.tree.discard_frame(frame);
        }
        match wanted {
            Ok(false) => {}
            Ok(true) => self.fire(ctx, at, frame, path),
            Err(error) => {
                let error = Arc::new(StepError::expression(&error, &program.plan, &own));
                listener_failed(ctx, at, error);
            }
        }
    }

    /// An event fires a listener, if it may fire once more.
    fn fire(&mut self, ctx: &mut Context, at: NodeRef, frame: FrameId, path: Arc<str>) {
        let Some(hearing) = self.open.get_mut(&at) else {
            return;
        };
        if !hearing.may_fire() {
            hearing.surplus += 1;
            return;
        }
        hearing.fired += 1;
        hearing.queue.push_back(frame);
        ctx.tree[at.0].visible.insert(at.1, StepState::Running);
        ctx.reached(at, Reached::Fired);
        ctx.outbox.emit(EventKind::ListenerFired { path });
        if !self.too_many_firings(ctx, at.0) {
            self.next_firing(ctx, at);
        }
    }

    /// Counts firings; true where there may be no more.
    fn too_many_firings(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        self.firings += 1;
        let limit = ctx.tree.scope(frame).policy.max_firings;
        if self.firings <= limit {
            return false;
        }
        let message = format!(
            "listeners fired more than {limit} times; `policy {{ max_firings: … }}` sets the limit"
        );
        ctx.fatal(ErrorClass::Budget(Budget::Calls), &message);
        true
    }

    /// Begins the next firing of a listener, if none is at work and what it reads is there.
    pub(super) fn next_firing(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some(hearing) = self
            .open
            .get(&at)
            .filter(|hearing| hearing.running.is_none())
        else {
            return;
        };
        let Some(frame) = hearing.queue.front().copied() else {
            return;
        };
        let readiness = readiness(&ctx.tree, &program, at, false);
        if readiness == Readiness::Blocked {
            return;
        }
        if let Some(hearing) = self.open.get_mut(&at) {
            hearing.queue.pop_front();
            hearing.running = Some(frame);
        }
        if readiness == Readiness::Ready || ctx.tree[frame].unsettled == 0 {
            return ctx.start(frame);
        }
        ctx.tree[frame].upstream = true;
        for node in 0..ctx.tree[frame].unsettled {
            ctx.settle((frame, node), End::Upstream);
        }
    }

    /// A statement has settled: firings that waited for it may begin.
    pub(super) fn unblock(&self, ctx: &mut Context, program: &Program, (frame, node): NodeRef) {
        if self.open.is_empty() {
            return;
        }
        let graph = ctx.tree.graph(program, frame);
        for read in graph.firing_reads.iter().filter(|read| read.source == node) {
            ctx.then(Reaction::NextFiring((frame, read.listener)));
        }
    }

    /// A firing has ended.
    pub(super) fn firing_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        if let Some(hearing) = self.open.get_mut(&at) {
            hearing.queue.retain(|queued| *queued != frame);
            hearing.running = hearing.running.filter(|running| *running != frame);
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

    /// A firing in a block has ended; the block may have waited for that.
    pub(super) fn firing_over(&self, ctx: &mut Context, frame: FrameId) {
        if ctx.tree[frame].life == Life::Closing && !self.has_firings(frame) {
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

    /// Ends every firing: a budget, a deadline and a cancel end more than the plan's own steps.
    pub(super) fn cancel_firings(&self, ctx: &mut Context) {
        for frame in self.open.values().flat_map(ListenerState::frames) {
            ctx.end_block(frame, Ending::Cancelled);
            ctx.then(Next::ReportEnd(frame));
        }
    }

    /// What became of the listeners of the plan itself.
    pub(super) fn reports(&self, ctx: &Context) -> Vec<ListenerReport> {
        let all = self.open.iter().chain(&self.closed);
        let own = all.filter(|((frame, _), _)| ctx.tree[*frame].scope == 0);
        let mut reports: Vec<(NodeRef, ListenerReport)> = own
            .map(|(at, hearing)| {
                let report = ListenerReport {
                    path: ctx.tree.own_path(*at),
                    status: ctx.tree.visible_state(*at),
                    fired: hearing.fired,
                    surplus: hearing.surplus,
                };
                (*at, report)
            })
            .collect();
        reports.sort_by_key(|(at, _)| *at);
        reports.into_iter().map(|(_, report)| report).collect()
    }

    /// Everything in a block has settled, and no firing is left: its listeners hear of nothing any more.
    pub(super) fn close(&mut self, frame: FrameId) {
        let ended: Vec<NodeRef> = self.listeners_of(frame).collect();
        for at in ended {
            if let Some(hearing) = self.open.remove(&at) {
                self.closed.insert(at, hearing);
            }
        }
    }

    /// Those that listen, in source order.
    pub(super) fn listening(&self) -> impl Iterator<Item = (NodeRef, &ListenerState)> {
        self.open.iter().map(|(at, hearing)| (*at, hearing))
    }
}

/// Opens the frame of a firing, with the state that the event left behind.
fn prepare(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    (number, path): (u32, Arc<str>),
    brought: Value,
) -> FrameId {
    let NodeKind::Listener(listener) = &ctx.tree.node(program, at).kind else {
        return at.0;
    };
    let tree = &ctx.tree;
    let snapshot = listener.snapshot.iter();
    let contexts = snapshot.map(|(task, slot)| (*slot, tree.context_of(tree.task_at(at.0, *task))));
    let contexts: Vec<(u32, Value)> = contexts.chain([(0, brought)]).collect();
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

/// Whether what a firing reads of the block around the listener is there; or only what `when` reads of it.
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

/// The failure of a listener is that of a step. When everything in the block has settled its reply is frozen: the block
/// fails with it then, and nothing else happens to it.
fn listener_failed(ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
    if ctx.tree[at.0].life == Life::Running {
        return ctx.block_failed(at.0, error, false);
    }
    ctx.tree[at.0].first_failure.get_or_insert(error);
}

/// A firing has failed, and its listener with it.
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
