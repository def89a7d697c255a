//! The order within one frame: which statements wait for which, and which may run.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::graph::{BlockGraph, Edge, Vertex};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Block, NodeKind, OrderClass};
use planrun_lang::types::ErrorClass;

use super::frame::{Flags, Frame, FrameId};
use super::patched_order::PatchedOrder;
use super::processes::Processes;
use super::schedule::Schedule;
use crate::journal::StepError;

/// A frame with the order of its statements.
pub(super) struct Flow<'a> {
    pub id: FrameId,
    pub frame: &'a mut Frame,
    pub block: &'a Block,
    pub graph: &'a BlockGraph,
    pub schedule: &'a mut Schedule,
    /// Statements that are left to a later process are not waited for.
    pub processes: Option<&'a Processes>,
    pub patched_order: &'a PatchedOrder,
}

impl Flow<'_> {
    /// Decides the guards of the statements that wait for nothing.
    pub(super) fn start(&mut self) {
        let count = self.frame.nodes.len();
        for node in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            if self.frame.nodes[node as usize].guard_waits == 0 {
                self.decide_guard(node);
            }
        }
        self.report_end();
    }

    /// Releases the edges to the nodes that wait for a settled node.
    pub(super) fn release_readers(&mut self, node: u32, available: bool) {
        let graph = self.graph;
        for (reader, edge) in graph.readers(node) {
            self.release(reader, edge, available);
        }
    }

    /// Releases one edge that a node waits for.
    fn release(&mut self, node: u32, edge: Edge, available: bool) {
        let entry = self.frame.node(node);
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
                self.decide_guard(node);
            }
            return;
        }
        entry.rest_waits -= 1;
        if entry.flags.has(Flags::GUARD_HOLDS) {
            self.offer(node);
        }
    }

    /// Decides whether a node runs or is skipped, after the conditions around it are known.
    fn decide_guard(&mut self, node: u32) {
        let Some(statement) = self.block.nodes.get(node as usize) else {
            // A join of the graph has no conditions.
            self.frame.node(node).flags.set(Flags::GUARD_HOLDS);
            self.offer(node);
            return;
        };
        let mut holds = true;
        let mut failed = false;
        for atom in &statement.guard {
            let condition = self.frame.nodes[atom.condition.0 as usize];
            match condition.state {
                StepState::Completed => holds &= condition.flags.has(Flags::TRUE) != atom.negated,
                StepState::Failed => failed = true,
                // A condition whose own guard is false: neither branch is taken.
                _ => holds = false,
            }
        }
        let entry = self.frame.node(node);
        if failed {
            entry.flags.set(Flags::GUARD_FAILED);
        }
        if holds || failed {
            entry.flags.set(Flags::GUARD_HOLDS);
        }
        self.offer(node);
    }

    /// Puts a node into the ready set if it can run, or can no longer run.
    pub(super) fn offer(&mut self, node: u32) {
        let entry = self.frame.nodes[node as usize];
        if entry.flags.has(Flags::READY) || entry.state != StepState::Pending {
            return;
        }
        let is_node = (node as usize) < self.graph.nodes;
        let flags = entry.flags;
        let in_vain = flags.has(Flags::GUARD_UPSTREAM) || (flags.has(Flags::UPSTREAM) && is_node);
        let waits = if flags.is_skipped() {
            false
        } else if self.is_undecided(node) {
            // An `ensure` is decided by its condition, any other statement by its guard.
            let kind = &self.block.nodes[node as usize].kind;
            if matches!(kind, NodeKind::Ensure { .. }) {
                let is_complete =
                    in_vain || flags.has(Flags::GUARD_FAILED) || entry.rest_waits == 0;
                !is_complete || self.waits_for_place(node)
            } else {
                self.frame.waits_for_decisions(node)
            }
        } else if self.frame.ends_at(node).is_some() {
            self.frame.waits_for_everything(node, node)
        } else if self.frame.late.contains_key(&node) {
            self.fails_too_early(node)
        } else {
            // A step whose guard failed may recover, at its place and with what its arms read.
            let fails = flags.has(Flags::GUARD_FAILED);
            !in_vain
                && (entry.rest_waits > 0
                    || self.waits_for_place(node)
                    || fails && self.fails_too_early(node))
        };
        if !waits {
            self.frame.node(node).flags.set(Flags::READY);
            self.schedule.ready.push(Reverse((self.id, node)));
        }
    }

    /// Returns true if a node has to wait for statements above it.
    fn waits_for_place(&mut self, node: u32) -> bool {
        match self.graph.vertex(node) {
            Vertex::Free | Vertex::Join => false,
            Vertex::Decisions => self.frame.waits_for_decisions(node),
            Vertex::Barriers(place) => {
                self.frame.waits_for_decisions(node) || self.waits_for_barriers(node, place)
            }
            Vertex::Everything(place) => {
                self.frame.waits_for_everything(node, place) && self.waits_above(node, place, false)
            }
        }
    }

    fn waits_for_barriers(&mut self, node: u32, place: u32) -> bool {
        self.frame.waits_for_barriers(node, place) && self.waits_above(node, place, true)
    }

    /// Returns true if a node that waits for what is above a place waits for a statement that it has not overtaken.
    fn waits_above(&self, node: u32, place: u32, only_barriers: bool) -> bool {
        if self.id != 0 || self.patched_order.is_empty() || !self.patched_order.passes_any(node) {
            return true;
        }
        let is_left = |above: u32| self.leaves_out(above);
        (0..place).any(|above| {
            let is_settled = self.frame.nodes[above as usize].state.is_settled();
            let matters = !only_barriers || self.graph.is_barrier(above);
            matters && !is_settled && !is_left(above) && !self.patched_order.passes(node, above)
        })
    }

    /// Returns true if a failure of a node that waits for no place would precede the end of an effect above it, which
    /// comes first in source order. A node with `after` has no place, and in a `parallel` only statements of an `if`
    /// are ordered.
    fn fails_too_early(&mut self, node: u32) -> bool {
        let Some(statement) = self.block.nodes.get(node as usize) else {
            return false;
        };
        if statement.order() != OrderClass::Pure || !statement.after.is_empty() {
            return false;
        }
        let place = match self.block.parallel_around(node) {
            Some(parallel) if !parallel.sequences.iter().any(|one| one.contains(&node)) => {
                parallel.nodes.start
            }
            Some(_) | None => node,
        };
        self.waits_for_barriers(node, place)
    }

    /// Holds back the failure of a step that waits for no place until every effect above it has ended. Returns false if
    /// there is no such effect.
    pub(super) fn fails_later(&mut self, node: u32, error: &Arc<StepError>) -> bool {
        if !self.fails_too_early(node) {
            return false;
        }
        self.frame.late.insert(node, error.clone());
        let entry = self.frame.node(node);
        entry.state = StepState::Pending;
        entry.flags.clear(Flags::READY);
        true
    }

    /// Records that a condition could not be evaluated.
    pub(super) fn fail_condition(&mut self, node: u32, error: EvalError) {
        self.frame.condition_errors.insert(node, error);
        let entry = self.frame.node(node);
        entry.state = StepState::Failed;
        entry.flags.set(Flags::DECIDED);
        self.frame.unsettled -= 1;
        self.release_readers(node, true);
        self.advance();
        self.report_end();
    }

    /// Moves the marks above which everything has settled, passed or been decided, and releases the nodes that waited
    /// for them.
    pub(super) fn advance(&mut self) {
        let count = u32::try_from(self.graph.nodes).unwrap_or(u32::MAX);
        let processes = self.processes.filter(|_| self.id == 0);
        let is_left = |node: u32| processes.is_some_and(|processes| processes.leaves_out(node));
        let state = &mut *self.frame;
        while state.settled < count
            && (state.nodes[state.settled as usize].state.is_settled() || is_left(state.settled))
        {
            state.settled += 1;
        }
        state.passed = state.passed.max(state.settled);
        while state.passed < count
            && (!self.graph.is_barrier(state.passed)
                || state.nodes[state.passed as usize].state.is_settled())
        {
            state.passed += 1;
        }
        while state.decided < count {
            let node = &self.block.nodes[state.decided as usize];
            let flags = state.nodes[state.decided as usize].flags;
            if node.decides() && !flags.has(Flags::DECIDED) {
                break;
            }
            state.decided += 1;
        }
        while let Some(node) = self.frame.pop_ready_waiter() {
            self.offer(node);
        }
        // Only steps of the plan itself overtake others.
        if self.id == 0 && !self.patched_order.is_empty() {
            for node in self.patched_order.steps() {
                if self.frame.nodes[node as usize]
                    .flags
                    .has(Flags::GUARD_HOLDS)
                {
                    self.offer(node);
                }
            }
        }
    }

    /// Offers the statements again that were left to the process to which the run has come, or to a later one, and lets
    /// others wait for those that are not left any more.
    pub(super) fn offer_left(&mut self, left: Vec<u32>) {
        (self.frame.settled, self.frame.passed) = (0, 0);
        for node in &left {
            self.frame.node(*node).flags.clear(Flags::READY);
        }
        self.advance();
        for node in left {
            self.offer(node);
        }
    }

    /// Returns true if a statement of the plan itself is left to a later process.
    fn leaves_out(&self, node: u32) -> bool {
        let processes = self.processes.filter(|_| self.id == 0);
        processes.is_some_and(|processes| processes.leaves_out(node))
    }

    /// Ends the frame if everything in it has settled.
    pub(super) fn report_end(&mut self) {
        if self.frame.unsettled == 0 {
            self.schedule.end(self.id, self.frame);
        }
    }

    /// Returns true if a statement that may end its block has not been decided.
    pub(super) fn is_undecided(&self, node: u32) -> bool {
        let Some(statement) = self.block.nodes.get(node as usize) else {
            return false;
        };
        statement.decides() && !self.frame.nodes[node as usize].flags.has(Flags::DECIDED)
    }

    /// Returns the nodes in other branches of an `if` that have the same name, and the node itself among them.
    fn siblings(&self, node: u32) -> Option<&[u32]> {
        let own = self.block.nodes.get(node as usize)?;
        self.block.siblings(own)
    }

    /// Returns true if another branch of an `if` has the same name and is the one that is reported.
    pub(super) fn is_untaken(&self, node: u32) -> bool {
        let Some(siblings) = self.siblings(node) else {
            return false;
        };
        let others = || {
            let others = siblings.iter().filter(|other| **other != node);
            others.map(|other| *other as usize)
        };
        let frame = &*self.frame;
        let settled = |other: usize| frame.nodes[other].state.is_settled();
        let reported = others().any(|other| settled(other) && !frame.records[other].untaken);
        let open = others().any(|other| !settled(other));
        let ran = frame.records[node as usize].started.is_some();
        let nothing = matches!(
            frame.nodes[node as usize].state,
            StepState::Skipped | StepState::Cancelled
        );
        !ran && (reported || (nothing && open))
    }

    /// Returns the node that represents a name in events.
    pub(super) fn representative(&self, node: u32) -> u32 {
        let siblings = self.siblings(node);
        let taken = siblings.and_then(|siblings| self.frame.taken(siblings.iter().copied()));
        taken.unwrap_or(node)
    }

    /// Returns true if the guard of a statement could not be evaluated, and a statement of the same name above it, in
    /// another branch of the same `if`, has already failed with that.
    pub(super) fn fails_elsewhere(&self, node: u32) -> bool {
        let failed = |other: &u32| {
            let flags = self.frame.nodes[*other as usize].flags;
            flags.has(Flags::GUARD_FAILED)
        };
        let siblings = self.siblings(node).unwrap_or_default();
        let mut above = siblings.iter().take_while(|other| **other < node);
        above.any(failed)
    }

    /// Returns the error of the condition because of which a node's guard could not be decided.
    pub(super) fn guard_error(&self, node: u32) -> Option<EvalError> {
        let errors = &self.frame.condition_errors;
        let mut guard = self.block.nodes[node as usize].guard.iter();
        guard
            .find_map(|atom| errors.get(&atom.condition.0))
            .cloned()
    }

    /// Returns the failure because of which a value that a statement reads is missing.
    pub(super) fn upstream_error(&self, node: u32) -> Arc<StepError> {
        let (mut open, mut seen) = (vec![node], BTreeSet::new());
        while let Some(vertex) = open.pop() {
            for (source, edge) in self.graph.dependencies(vertex as usize) {
                let source = u32::try_from(source).unwrap_or(u32::MAX);
                let state = &self.frame.nodes[source as usize];
                let given = !edge.needs_success() || !state.state.is_settled();
                if given || state.flags.has(Flags::AVAILABLE) || !seen.insert(source) {
                    continue;
                }
                let record = self.frame.records.get(source as usize);
                if let Some(error) = record.and_then(|record| record.details()?.error.clone()) {
                    return error;
                }
                open.push(source);
            }
        }
        let message = "a step that its condition reads was cancelled";
        Arc::new(StepError::new(
            ErrorClass::Cancelled,
            message,
            &self.frame.path,
        ))
    }
}
