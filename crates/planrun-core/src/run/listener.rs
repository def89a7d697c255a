//! Listeners: firings, one after the other for each, and what keeps a block open until the last of them has ended.

use std::collections::VecDeque;
use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{BlockId, EventKind as Condition, Listener, NodeKind};
use planrun_lang::types::{Budget, ErrorClass};
use planrun_lang::value::Value;
use serde::Serialize;

use super::Program;
use super::event::Subject;
use super::frame::{Ending, Flags, FrameId, Life, Owner, Role};
use super::machine::{NodeRef, Run};
use super::reached::Reached;
use super::settle::End;
use crate::journal::{EventKind, StepError};

/// A listener that listens, or did.
#[derive(Default)]
pub(super) struct Hearing {
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

impl Hearing {
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

impl Run {
    /// A block begins: its tasks stand in their first status and its listeners listen before anything else happens in
    /// it. That it begins is an event of all its tasks.
    pub(super) fn begin_reactions(&mut self, program: &Program, frame: FrameId) {
        let block = self.frames[frame].block;
        let mut begun = Vec::new();
        for (index, node) in program.plan.block(block).nodes.iter().enumerate() {
            let state = self.frames[frame].nodes[index];
            let at = (frame, u32::try_from(index).unwrap_or(u32::MAX));
            match &node.kind {
                NodeKind::Task(id) if state.guard_waits == 0 => {
                    self.declare(frame, *id);
                    begun.push(Subject::Task((frame, *id)));
                }
                NodeKind::Listener(listener) if state.guard_waits + state.rest_waits == 0 => {
                    self.listen(program, at, listener);
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
            begun.push(Subject::Plan(self.frames[frame].scope));
        }
        if !begun.is_empty() {
            self.commit(&begun);
        }
    }

    /// A listener, in its turn: one under a condition begins to listen here.
    pub(super) fn run_listener(&mut self, program: &Program, at: NodeRef, listener: &Listener) {
        if !self.reactions.listeners.contains_key(&at) {
            self.listen(program, at, listener);
        }
        // Nothing waits for a listener: the statements below it go on.
        self.settle(at, End::Completed(Value::Null));
    }

    fn listen(&mut self, program: &Program, at: NodeRef, listener: &Listener) {
        let max = listener
            .max
            .as_ref()
            .map_or(Ok(Value::Int(1)), |max| self.evaluate(at.0, max));
        let max = match max {
            Ok(Value::Int(max)) if max >= 0 => max.unsigned_abs(),
            Ok(other) => {
                let error = EvalError::new(
                    FailureKind::NoOverload,
                    format!("{} is no bound", other.preview(80)),
                    listener.span,
                );
                return self.expression_failed(program, at, &error);
            }
            Err(error) => return self.expression_failed(program, at, &error),
        };
        self.frames[at.0].heard.insert(at.1, StepState::Pending);
        self.reactions.listeners.insert(
            at,
            Hearing {
                max,
                ..Hearing::default()
            },
        );
    }

    /// The condition of a listener holds after an event: it fires, unless its `when` or its `max` is against it.
    pub(super) fn fire_listener(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        listener: &Listener,
        subjects: &[Subject],
    ) {
        if self.readiness(program, at, true) != Readiness::Ready {
            // What `when` reads is not there yet, so the event passes.
            return;
        }
        let Some(hearing) = self.reactions.listeners.get(&at) else {
            return;
        };
        let (fired, may_fire) = (hearing.fired, hearing.may_fire());
        let own = self.path(program, at);
        let path: Arc<str> = format!("{own}[{fired}]").into();
        let frame = self.prepare(program, at, listener, path.clone(), subjects);
        let wanted = match &listener.when {
            None => Ok(true),
            Some(when) => self.decision(frame, when),
        };
        if let (Some(_), Ok(wanted)) = (&listener.when, &wanted) {
            self.reached(at, Reached::Decided(*wanted));
        }
        if !matches!(wanted, Ok(true)) || !may_fire {
            self.frames.truncate(frame);
            self.record(at.0, at.1).details_mut().frames.pop();
        }
        match wanted {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => {
                let error = Arc::new(StepError::expression(
                    &error,
                    &self.program(at.0).plan,
                    &own,
                ));
                return self.listener_failed(at, error);
            }
        }
        let Some(hearing) = self.reactions.listeners.get_mut(&at) else {
            return;
        };
        if !may_fire {
            hearing.surplus += 1;
            return;
        }
        hearing.fired += 1;
        hearing.queue.push_back(frame);
        self.frames[at.0].heard.insert(at.1, StepState::Running);
        self.reached(at, Reached::Fired);
        self.emit(EventKind::ListenerFired { path: path.clone() });
        if !self.too_many_firings(at.0) {
            self.next_firing(at);
        }
    }

    /// Opens the frame of a firing, with the state that the event left behind.
    fn prepare(
        &mut self,
        program: &Program,
        at: NodeRef,
        listener: &Listener,
        path: Arc<str>,
        subjects: &[Subject],
    ) -> FrameId {
        let source = self.source(at.0, &listener.on, subjects);
        let brought = match source.map(|leaf| (&leaf.kind, leaf)) {
            Some((Condition::Signal(_), _)) => self.reactions.latest.clone().unwrap_or(Value::Null),
            Some((_, leaf)) => self.brought(at.0, leaf),
            None => Value::Null,
        };
        let brought = match super::signal::declared(&listener.on, source, listener.payload.as_ref())
        {
            Some(ty) => super::signal::typed(&brought, ty),
            None => brought,
        };
        let contexts: Vec<(u32, Value)> = listener
            .snapshot
            .iter()
            .map(|(task, slot)| (*slot, self.context_of(self.task_at(at.0, *task))))
            .collect();
        let number = self
            .reactions
            .listeners
            .get(&at)
            .map_or(0, |hearing| hearing.fired);
        let owner = Owner {
            frame: at.0,
            node: at.1,
            role: Role::Firing(number),
        };
        let path = match &program.plan.block(listener.body).label {
            Some(label) => format!("{path}.{label}").into(),
            None => path,
        };
        let frame = self.open_frame(
            self.frames[at.0].scope,
            listener.body,
            Some(at.0),
            Some(owner),
            path,
        );
        let slots = &mut self.frames[frame].slots;
        for (slot, value) in contexts.into_iter().chain([(0, brought)]) {
            if let Some(place) = slots.get_mut(slot as usize) {
                *place = value;
            }
        }
        frame
    }

    fn decision(&self, frame: FrameId, when: &Code) -> Result<bool, EvalError> {
        super::step::truth(&self.evaluate(frame, when)?, when.span)
    }

    /// Counts firings; true where there may be no more.
    fn too_many_firings(&mut self, frame: FrameId) -> bool {
        self.reactions.firings += 1;
        let limit = self.scopes[self.frames[frame].scope].policy.max_firings;
        if self.reactions.firings <= limit {
            return false;
        }
        let message = format!(
            "listeners fired more than {limit} times; `policy {{ max_firings: … }}` sets the limit"
        );
        self.fatal(ErrorClass::Budget(Budget::Calls), &message);
        true
    }

    /// Begins the next firing of a listener, if none is at work and what it reads is there.
    fn next_firing(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let Some(hearing) = self
            .reactions
            .listeners
            .get(&at)
            .filter(|hearing| hearing.running.is_none())
        else {
            return;
        };
        let Some(frame) = hearing.queue.front().copied() else {
            return;
        };
        let readiness = self.readiness(&program, at, false);
        if readiness == Readiness::Blocked {
            return;
        }
        if let Some(hearing) = self.reactions.listeners.get_mut(&at) {
            hearing.queue.pop_front();
            hearing.running = Some(frame);
        }
        if readiness == Readiness::Ready || self.frames[frame].unsettled == 0 {
            return self.start_frame(frame);
        }
        self.frames[frame].upstream = true;
        for node in 0..self.frames[frame].unsettled {
            self.settle((frame, node), End::Upstream);
        }
    }

    /// Whether what a firing reads of the block around the listener is there; or only what `when` reads of it.
    fn readiness(&self, program: &Program, at: NodeRef, of_when: bool) -> Readiness {
        let graph = self.graph(program, at.0);
        let own = graph
            .firing_reads
            .iter()
            .filter(|read| read.listener == at.1 && (read.in_when || !of_when));
        let mut readiness = Readiness::Ready;
        for read in own {
            let source = self.frames[at.0].nodes[read.source as usize];
            if !source.state.is_settled() {
                return Readiness::Blocked;
            }
            if read.needs_value && !source.flags.has(Flags::AVAILABLE) {
                readiness = Readiness::Upstream;
            }
        }
        readiness
    }

    /// A statement has settled: firings that waited for it may begin.
    pub(super) fn unblock_firings(&mut self, program: &Program, (frame, node): NodeRef) {
        if self.reactions.listeners.is_empty() {
            return;
        }
        let reads = &self.graph(program, frame).firing_reads;
        let waiting: Vec<u32> = reads
            .iter()
            .filter(|read| read.source == node)
            .map(|read| read.listener)
            .collect();
        for listener in waiting {
            self.next_firing((frame, listener));
        }
    }

    /// A firing has ended.
    pub(super) fn firing_ended(
        &mut self,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        if let Some(hearing) = self.reactions.listeners.get_mut(&at) {
            hearing.queue.retain(|queued| *queued != frame);
            hearing.running = hearing.running.filter(|running| *running != frame);
        }
        let state = match &outcome {
            Ok(()) if self.frames[frame].upstream => StepState::Skipped,
            Ok(()) => StepState::Completed,
            Err(Ending::Failed(_)) => StepState::Failed,
            Err(Ending::Cancelled) => StepState::Cancelled,
        };
        self.frames[at.0].heard.insert(at.1, state);
        if let Err(Ending::Failed(error)) = outcome {
            let path = self.frames[frame].path.clone();
            self.work_failed(frame, &error, None);
            let error = Arc::new(StepError::of_inner(&error, &path));
            self.record(at.0, at.1).details_mut().error = Some(error.clone());
            self.listener_failed(at, error);
        }
        self.commit(&[Subject::Step(at)]);
        self.next_firing(at);
        if self.frames[at.0].life == Life::Closing && !self.has_firings(at.0) {
            self.ended.push(at.0);
        }
    }

    /// The failure of a listener is that of a step. When everything in the block has settled its reply is frozen: the
    /// block fails with it then, and nothing else happens to it.
    fn listener_failed(&mut self, at: NodeRef, error: Arc<StepError>) {
        let frame = &mut self.frames[at.0];
        if frame.life == Life::Running {
            self.frame_failure(at.0, error, false);
        } else {
            frame.first_failure.get_or_insert(error);
        }
    }

    fn has_firings(&self, frame: FrameId) -> bool {
        self.listeners_of(frame)
            .any(|at| self.reactions.listeners[&at].is_open())
    }

    fn listeners_of(&self, frame: FrameId) -> impl Iterator<Item = NodeRef> {
        self.reactions
            .listeners
            .range((frame, 0)..=(frame, u32::MAX))
            .map(|(at, _)| *at)
    }

    /// Everything in a block has settled: firings run to their end, then listeners hear of the plan's own end, once.
    /// True while the block must stay open for that.
    pub(super) fn is_held_open(&mut self, frame: FrameId) -> bool {
        if self.has_firings(frame) {
            return self.stays_open(frame);
        }
        let scope = self.frames[frame].scope;
        if self.frames[frame].block == BlockId(0) && !self.reactions.ends.contains_key(&scope) {
            if self.frames[frame].owner.is_none() {
                self.check_reply();
            }
            if self.has_aftermath(frame) {
                return self.stays_open(frame);
            }
            let end = self.end_of(frame);
            self.reactions.ends.insert(scope, end);
            self.commit(&[Subject::Plan(scope)]);
            if self.has_firings(frame) {
                return self.stays_open(frame);
            }
        }
        let ended: Vec<NodeRef> = self.listeners_of(frame).collect();
        for at in ended {
            if let Some(hearing) = self.reactions.listeners.remove(&at) {
                self.reactions.deaf.insert(at, hearing);
            }
        }
        self.frames[frame].life = Life::Ended;
        false
    }

    fn stays_open(&mut self, frame: FrameId) -> bool {
        self.frames[frame].life = Life::Closing;
        true
    }

    fn end_of(&self, frame: FrameId) -> RunState {
        let state = &self.frames[frame];
        match &state.ending {
            _ if self.reactions.stalled.is_some() && frame == 0 => RunState::Stalled,
            Some(Ending::Failed(_)) => RunState::Failed,
            Some(Ending::Cancelled) => RunState::Cancelled,
            None if state.first_failure.is_some() => RunState::Failed,
            None => RunState::Completed,
        }
    }

    /// Why a plan instance failed.
    pub(super) fn error_of(&self, scope: usize) -> Option<Arc<StepError>> {
        let body = self
            .frames
            .iter()
            .find(|frame| frame.scope == scope && frame.block == BlockId(0))?;
        match &body.ending {
            Some(Ending::Failed(error)) => Some(error.clone()),
            Some(Ending::Cancelled) => None,
            None => body.first_failure.clone(),
        }
    }

    /// Ends every firing: a budget, a deadline and a cancel end more than the plan's own steps.
    pub(super) fn cancel_firings(&mut self) {
        let open: Vec<FrameId> = self
            .reactions
            .listeners
            .values()
            .flat_map(Hearing::frames)
            .collect();
        for frame in open {
            self.end_frame(frame, &Ending::Cancelled);
            if self.frames[frame].unsettled == 0 {
                self.report_end(frame);
            }
        }
    }

    /// The firing that a frame belongs to, if it does.
    pub(super) fn firing_around(&self, frame: FrameId) -> Option<FrameId> {
        let mut inner = Some(frame);
        while let Some(frame) = inner {
            let owner = self.frames[frame].owner?;
            if matches!(owner.role, Role::Firing(_)) {
                return Some(frame);
            }
            inner = Some(owner.frame);
        }
        None
    }

    /// What became of the listeners of the plan itself.
    pub(super) fn listener_reports(&self) -> Vec<ListenerReport> {
        let all = self.reactions.listeners.iter().chain(&self.reactions.deaf);
        let own = all.filter(|((frame, _), _)| self.frames[*frame].scope == 0);
        let mut reports: Vec<(NodeRef, ListenerReport)> = own
            .map(|(at, hearing)| {
                let report = ListenerReport {
                    path: self.own_path(*at),
                    status: self.heard_state(*at),
                    fired: hearing.fired,
                    surplus: hearing.surplus,
                };
                (*at, report)
            })
            .collect();
        reports.sort_by_key(|(at, _)| *at);
        reports.into_iter().map(|(_, report)| report).collect()
    }
}
