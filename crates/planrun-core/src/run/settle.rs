//! Settling: what a statement's end means for those that wait for it.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::eval::EvalError;
use planrun_lang::graph::{Edge, Vertex};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{BlockId, Call, NodeKind, OnFailure, OrderClass, StepKind, Target};
use planrun_lang::value::Value;

use super::Program;
use super::event::Subject;
use super::frame::{Flags, Frame, FrameId, Life, Owner, Role};
use super::machine::{NodeRef, Run};
use super::reached::Reached;
use super::sensitive::{below, in_output};
use crate::journal::{EventKind, OUTPUT, StepError};

/// The end of a node.
pub(super) enum End {
    /// It has a value, or needs none.
    Completed(Value),
    /// Its guard was false: readers see null.
    GuardFalse,
    /// Something it reads gave nothing.
    Upstream,
    /// A statement above it ends the block: a taken `reply`, `yield` or `next` (`replied`), or a failure (`failed`).
    EndedAbove(&'static str),
    Failed(Arc<StepError>),
    Cancelled,
}

impl Run {
    /// Makes a frame; its nodes start with [`Self::start_frame`].
    pub(super) fn open_frame(
        &mut self,
        scope: usize,
        block: BlockId,
        outer: Option<FrameId>,
        owner: Option<Owner>,
        path: Arc<str>,
    ) -> FrameId {
        let program = self.scopes[scope].program.clone();
        let slots = program.plan.block(block).slots;
        let graph = &program.graph.blocks[block.0 as usize];
        let id = self.frames.len();
        self.frames
            .push(Frame::new(scope, block, slots, graph, outer, owner, path));
        if let Some(owner) = owner {
            let beside = matches!(owner.role, Role::Verify | Role::Undo);
            self.frames[id].aside = beside || self.frames[owner.frame].aside;
            self.record(owner.frame, owner.node)
                .details_mut()
                .frames
                .push(id);
        }
        id
    }

    /// Hands out what waits for nothing.
    pub(super) fn start_frame(&mut self, frame: FrameId) {
        let program = self.program(frame);
        self.advance(&program, frame);
        self.begin_reactions(&program, frame);
        let count = self.frames[frame].nodes.len();
        for node in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            let state = self.frames[frame].nodes[node as usize];
            if state.guard_waits == 0 {
                self.decide_guard(&program, (frame, node));
            }
        }
        if self.frames[frame].unsettled == 0 {
            self.report_end(frame);
        }
    }

    /// Settles a node and tells those that wait for it.
    pub(super) fn settle(&mut self, (frame, node): NodeRef, end: End) {
        let program = self.program(frame);
        let is_join = node as usize >= self.graph(&program, frame).nodes;
        let entry = self.frames[frame].node(node);
        if entry.state.is_settled() {
            return;
        }
        let (state, available, reason) = match &end {
            End::Completed(_) => (StepState::Completed, true, None),
            End::GuardFalse => (StepState::Skipped, true, Some("guard")),
            End::Upstream => (StepState::Skipped, false, Some("upstream")),
            End::EndedAbove(reason) => (StepState::Skipped, false, Some(*reason)),
            End::Failed(error) => (settled_state(error), false, None),
            End::Cancelled => (StepState::Cancelled, false, None),
        };
        entry.state = state;
        entry.flags.set(Flags::DECIDED);
        if available {
            entry.flags.set(Flags::AVAILABLE);
        }
        if !is_join {
            self.close_node(&program, (frame, node), end, reason);
        }
        let graph = self.graph(&program, frame);
        for (reader, edge) in graph.readers(node) {
            self.release(&program, (frame, reader), edge, available);
        }
        self.unblock_firings(&program, (frame, node));
        if !is_join {
            self.advance(&program, frame);
            if self.frames[frame].unsettled == 0 {
                self.report_end(frame);
            }
        }
    }

    /// Keeps what a statement came to, and tells of steps.
    fn close_node(
        &mut self,
        program: &Program,
        at: NodeRef,
        end: End,
        reason: Option<&'static str>,
    ) {
        let (frame, node) = at;
        self.frames[frame].unsettled -= 1;
        let slot = self.node(program, at).slot;
        if self.has_changed(program, at, &end) {
            self.note_change(at);
        }
        let mut failure = None;
        let output = match &end {
            End::Completed(value) if self.is_call(program, at) => Some(value.clone()),
            _ => None,
        };
        match end {
            End::Completed(value) => {
                if let Some(place) =
                    slot.and_then(|slot| self.frames[frame].slots.get_mut(slot as usize))
                {
                    *place = value;
                }
            }
            End::Failed(error) => failure = Some(error),
            End::GuardFalse | End::Upstream | End::EndedAbove(_) | End::Cancelled => {}
        }
        if self.node(program, at).step().is_none() {
            return;
        }
        self.leaves.remove(&at);
        self.within.remove(&at);
        self.leave_doubt(at);
        self.note_settled(at);
        self.reactions.waits.remove(&at);
        self.leave_queue(at);
        self.release_hold(at);
        let now = self.elapsed();
        let record = self.record(frame, node);
        record.duration = record.started.map_or(0, |started| now - started);
        record.reason = reason;
        if let Some(failure) = &failure {
            record.details_mut().error = Some(failure.clone());
        }
        if self.is_untaken(program, at) {
            self.record(frame, node).untaken = true;
        } else {
            self.tell_settled(program, at, output.as_ref(), failure.as_ref());
        }
    }

    /// Tells what a step came to.
    fn tell_settled(
        &mut self,
        program: &Program,
        at: NodeRef,
        output: Option<&Value>,
        failure: Option<&Arc<StepError>>,
    ) {
        let (frame, node) = at;
        let record = self.record(frame, node);
        let (attempts, duration, recovered) = (record.attempts, record.duration, record.recovered);
        let reason = record.reason;
        let path = self.path(program, at);
        let state = self.state_of(at);
        let labels = self
            .node(program, at)
            .step()
            .filter(|_| output.is_some())
            .map(in_output)
            .unwrap_or_default();
        if let Some(output) = output {
            self.note_secrets(output, &labels);
        }
        if self.is_silent() {
            return self.commit(&[Subject::Step(self.standing_for(program, at))]);
        }
        let kind = EventKind::StepSettled {
            path: path.clone(),
            state,
            attempts,
            duration: Duration::from_micros(duration),
            recovered,
            reason,
            output: output.cloned(),
            error: failure.cloned(),
        };
        let told = self.tell(kind, below(OUTPUT, &labels));
        let reused = told.is_none() && (!self.setup.only_looks || self.recording.was_reused(&path));
        self.record(frame, node).reused = reused;
        self.commit(&[Subject::Step(self.standing_for(program, at))]);
    }

    /// Whether another branch of an `if` gives the same name, and that is what is told of.
    fn is_untaken(&self, program: &Program, (frame, node): NodeRef) -> bool {
        let block = self.block(program, frame);
        let Some(siblings) = block
            .nodes
            .get(node as usize)
            .and_then(|own| block.siblings(own))
        else {
            return false;
        };
        let state = &self.frames[frame];
        let others = || {
            siblings
                .iter()
                .filter(|other| **other != node)
                .map(|other| *other as usize)
        };
        let told = others()
            .any(|other| state.nodes[other].state.is_settled() && !state.records[other].untaken);
        let open = others().any(|other| !state.nodes[other].state.is_settled());
        let ran = state.records[node as usize].started.is_some();
        let nothing = matches!(
            state.nodes[node as usize].state,
            StepState::Skipped | StepState::Cancelled
        );
        !ran && (told || (nothing && open))
    }

    /// The node by which events of a name are known.
    fn standing_for(&self, program: &Program, at: NodeRef) -> NodeRef {
        let block = self.block(program, at.0);
        let siblings = block
            .nodes
            .get(at.1 as usize)
            .and_then(|own| block.siblings(own));
        let taken = siblings.and_then(|siblings| self.frames[at.0].taken(siblings.iter().copied()));
        (at.0, taken.unwrap_or(at.1))
    }

    /// Whether the guard of a statement could not be evaluated, and one above it in another branch of the same `if` has
    /// failed with that already, under the same name.
    pub(super) fn fails_elsewhere(&self, program: &Program, (frame, node): NodeRef) -> bool {
        let block = self.block(program, frame);
        let Some(siblings) = block
            .nodes
            .get(node as usize)
            .and_then(|own| block.siblings(own))
        else {
            return false;
        };
        let failed = |other: &u32| {
            self.frames[frame].nodes[*other as usize]
                .flags
                .has(Flags::GUARD_FAILED)
        };
        siblings
            .iter()
            .take_while(|other| **other < node)
            .any(failed)
    }

    /// Whether the end of a call leaves something behind that can be taken back.
    fn has_changed(&self, program: &Program, at: NodeRef, end: &End) -> bool {
        if !self.aftermath.matters || !self.is_call(program, at) {
            return false;
        }
        let effect = self.node(program, at).step().map(|step| step.effect);
        if self.frames[at.0].records[at.1 as usize]
            .details()
            .is_some_and(|details| details.copied)
        {
            // Another run has done it, and that is not this one's to take back.
            return false;
        }
        let record = &self.frames[at.0].records[at.1 as usize];
        let gave = matches!(end, End::Completed(_))
            && record
                .details()
                .is_none_or(|details| details.error.is_none());
        (gave || record.in_doubt) && effect.is_some_and(|effect| !effect.is_read_only())
    }

    /// Whether the value of a node comes from outside.
    pub(super) fn is_call(&self, program: &Program, at: NodeRef) -> bool {
        let step = self
            .block(program, at.0)
            .nodes
            .get(at.1 as usize)
            .and_then(|node| node.step());
        step.is_some_and(|step| {
            matches!(
                &step.kind,
                StepKind::Call(Call {
                    target: Target::Tool(_),
                    ..
                })
            )
        })
    }

    /// One of the edges that a node waits for is there.
    fn release(&mut self, program: &Program, at: NodeRef, edge: Edge, available: bool) {
        let (frame, node) = at;
        let entry = self.frames[frame].node(node);
        if entry.state.is_settled() {
            return;
        }
        let guard = edge.decides_guard();
        if !available && edge.needs_success() {
            entry.flags.set(if guard {
                Flags::GUARD_UPSTREAM
            } else {
                Flags::UPSTREAM
            });
        }
        if edge == Edge::Listener {
            return;
        }
        if guard {
            entry.guard_waits -= 1;
            if entry.guard_waits == 0 {
                self.decide_guard(program, at);
            }
            return;
        }
        entry.rest_waits -= 1;
        if entry.flags.has(Flags::GUARD_HOLDS) {
            self.offer(program, at);
        }
    }

    /// The conditions around a node are known: skip it, or wait for the rest.
    fn decide_guard(&mut self, program: &Program, at: NodeRef) {
        let (frame, node) = at;
        if node as usize >= self.graph(program, frame).nodes {
            self.frames[frame].node(node).flags.set(Flags::GUARD_HOLDS);
            self.offer(program, at);
            return;
        }
        let statement = self.node(program, at);
        let mut holds = true;
        let mut failed = false;
        for atom in &statement.guard {
            let condition = self.frames[frame].nodes[atom.condition.0 as usize];
            match condition.state {
                StepState::Completed => holds &= condition.flags.has(Flags::TRUE) != atom.negated,
                StepState::Failed => failed = true,
                // A condition under a guard of its own that was false: neither branch is taken.
                _ => holds = false,
            }
        }
        let entry = self.frames[frame].node(node);
        if failed {
            entry.flags.set(Flags::GUARD_FAILED);
        }
        if holds || failed {
            entry.flags.set(Flags::GUARD_HOLDS);
        }
        self.offer(program, at);
    }

    /// Puts a node into the ready set as soon as it can run, or cannot run any more.
    pub(super) fn offer(&mut self, program: &Program, at: NodeRef) {
        let (frame, node) = at;
        let entry = self.frames[frame].nodes[node as usize];
        if entry.flags.has(Flags::READY) || entry.state != StepState::Pending {
            return;
        }
        let is_node = (node as usize) < self.graph(program, frame).nodes;
        let flags = entry.flags;
        let in_vain = flags.has(Flags::GUARD_UPSTREAM) || (flags.has(Flags::UPSTREAM) && is_node);
        let waits = if flags.is_skipped() {
            false
        } else if self.is_undecided(program, at) {
            // Of an `ensure` the condition decides, of all others the guard.
            let decided_by_guard = !matches!(self.node(program, at).kind, NodeKind::Ensure { .. });
            let is_complete = decided_by_guard
                || in_vain
                || flags.has(Flags::GUARD_FAILED)
                || entry.rest_waits == 0;
            !is_complete || self.waits_for_decisions(at)
        } else if self.taken(at).is_some() {
            self.waits_for_everything(at, node)
        } else if self.frames[frame].late.contains_key(&node) {
            self.fails_too_early(program, at)
        } else {
            // A step whose guard failed may recover, in its place and with what its arms read.
            let fails = flags.has(Flags::GUARD_FAILED);
            !in_vain
                && (entry.rest_waits > 0
                    || self.waits_for_place(program, at)
                    || fails && self.fails_too_early(program, at))
        };
        if !waits {
            self.frames[frame].node(node).flags.set(Flags::READY);
            self.ready.push(Reverse(at));
        }
    }

    /// Whether a node has to wait for what stands above it.
    fn waits_for_place(&mut self, program: &Program, at: NodeRef) -> bool {
        match self.graph(program, at.0).vertex(at.1) {
            Vertex::Free | Vertex::Join => false,
            Vertex::Decisions => self.waits_for_decisions(at),
            Vertex::Barriers(place) => {
                self.waits_for_decisions(at) || self.waits_for_barriers(at, place)
            }
            Vertex::Everything(place) => self.waits_for_everything(at, place),
        }
    }

    /// Whether the failure of what waits for no place would come before an effect above it has ended: one after the other, that
    /// comes first. What names others in `after` has no place, and in a `parallel` only an `if` has an order in it.
    fn fails_too_early(&mut self, program: &Program, at: NodeRef) -> bool {
        let block = self.block(program, at.0);
        let Some(node) = block.nodes.get(at.1 as usize) else {
            return false;
        };
        if node.order() != OrderClass::Pure || !node.after.is_empty() {
            return false;
        }
        let place = match block.parallel_around(at.1) {
            Some(parallel) if !parallel.sequences.iter().any(|one| one.contains(&at.1)) => {
                parallel.nodes.start
            }
            Some(_) | None => at.1,
        };
        self.waits_for_barriers(at, place)
    }

    /// A step that waits for no place has failed: where that would end its block before an effect above it has ended, it is
    /// kept until then.
    pub(super) fn fails_later(
        &mut self,
        program: &Program,
        at: NodeRef,
        error: &Arc<StepError>,
    ) -> bool {
        let (frame, node) = at;
        let state = &self.frames[frame];
        let settles = self.scopes[state.scope].policy.on_failure == OnFailure::Settle;
        if settles || state.ending.is_some() || !self.fails_too_early(program, at) {
            return false;
        }
        self.frames[frame].late.insert(node, error.clone());
        let entry = self.frames[frame].node(node);
        entry.state = StepState::Pending;
        entry.flags.clear(Flags::READY);
        true
    }

    fn waits_for_decisions(&mut self, (frame, node): NodeRef) -> bool {
        let frame = &mut self.frames[frame];
        let waits = frame.decided < node;
        if waits {
            frame.waiting.decisions.insert((node, node));
        }
        waits
    }

    fn waits_for_barriers(&mut self, (frame, node): NodeRef, place: u32) -> bool {
        let frame = &mut self.frames[frame];
        let waits = frame.passed < place;
        if waits {
            frame.waiting.barriers.insert((place, node));
        }
        waits
    }

    fn waits_for_everything(&mut self, (frame, node): NodeRef, place: u32) -> bool {
        let frame = &mut self.frames[frame];
        let waits = frame.settled < place;
        if waits {
            frame.waiting.everything.insert((place, node));
        }
        waits
    }

    /// Moves the marks above which everything has settled, passed or been decided, and lets through what waited for them.
    pub(super) fn advance(&mut self, program: &Program, frame: FrameId) {
        let block = self.block(program, frame);
        let graph = &program.graph.blocks[self.frames[frame].block.0 as usize];
        let count = u32::try_from(graph.nodes).unwrap_or(u32::MAX);
        let until = self.setup.until.as_ref();
        let state = &mut self.frames[frame];
        // What a later process does is waited for by nothing in this one.
        let is_left = |node: u32| until.is_some_and(|until| until.leaves((frame, node)));
        while state.settled < count
            && (state.nodes[state.settled as usize].state.is_settled() || is_left(state.settled))
        {
            state.settled += 1;
        }
        state.passed = state.passed.max(state.settled);
        while state.passed < count
            && (!graph.is_barrier(state.passed)
                || state.nodes[state.passed as usize].state.is_settled())
        {
            state.passed += 1;
        }
        while state.decided < count {
            let node = &block.nodes[state.decided as usize];
            if node.decides()
                && !state.nodes[state.decided as usize]
                    .flags
                    .has(Flags::DECIDED)
            {
                break;
            }
            state.decided += 1;
        }
        while let Some(node) = self.frames[frame].let_through() {
            self.offer(program, (frame, node));
        }
    }

    /// A condition came out.
    pub(super) fn condition_decided(&mut self, at: NodeRef, outcome: Result<bool, EvalError>) {
        let (frame, node) = at;
        match outcome {
            Ok(truth) => {
                self.reached(at, Reached::Decided(truth));
                if truth {
                    self.frames[frame].node(node).flags.set(Flags::TRUE);
                }
                self.settle(at, End::Completed(Value::Bool(truth)));
            }
            Err(error) => {
                self.frames[frame].condition_errors.insert(node, error);
                // Its readers fail with it; nothing else is wrong with the run.
                self.settle_condition_failed(at);
            }
        }
    }

    fn settle_condition_failed(&mut self, at: NodeRef) {
        let (frame, node) = at;
        let program = self.program(frame);
        let entry = self.frames[frame].node(node);
        entry.state = StepState::Failed;
        entry.flags.set(Flags::DECIDED);
        self.frames[frame].unsettled -= 1;
        let graph = self.graph(&program, frame);
        for (reader, edge) in graph.readers(node) {
            self.release(&program, (frame, reader), edge, true);
        }
        self.advance(&program, frame);
        if self.frames[frame].unsettled == 0 {
            self.report_end(frame);
        }
    }

    /// The error of the condition that kept a node's guard from being decided.
    pub(super) fn guard_error(&self, program: &Program, at: NodeRef) -> Option<EvalError> {
        let errors = &self.frames[at.0].condition_errors;
        self.node(program, at)
            .guard
            .iter()
            .find_map(|atom| errors.get(&atom.condition.0))
            .cloned()
    }

    /// Everything in the frame has settled.
    pub(super) fn report_end(&mut self, frame: FrameId) {
        if self.frames[frame].life == Life::Running {
            self.frames[frame].life = Life::Ended;
            self.ended.push(frame);
        }
    }

    pub(super) fn record(&mut self, frame: FrameId, node: u32) -> &mut super::frame::Record {
        &mut self.frames[frame].records[node as usize]
    }
}

fn settled_state(error: &StepError) -> StepState {
    if error.class == planrun_lang::types::ErrorClass::UnknownOutcome {
        StepState::Unknown
    } else {
        StepState::Failed
    }
}
