//! What ends a block before its last statement: `ensure`, and `fail`, `reply`, `yield` and `next` under a condition. Each is
//! decided early, which skips all below it at once, and takes effect when everything above it has settled.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::sema::NodeKind;
use planrun_lang::types::{ErrorClass, Validation};

use super::Program;
use super::frame::{Flags, FrameId, Role};
use super::machine::{NodeRef, Run};
use super::reached::Reached;
use super::settle::End;
use super::step::{plain, truth};
use crate::journal::StepError;

/// The statement that ends a block early, and why.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub node: u32,
    why: Why,
}

/// Why a statement ends its block.
#[derive(Clone, Debug)]
enum Why {
    /// Its guard holds.
    Guard,
    /// What an `ensure` promises does not hold.
    Broken,
    /// Its condition could not be evaluated.
    Failed(EvalError),
    /// What its condition reads has failed.
    Upstream(Arc<StepError>),
}

impl Run {
    /// How a statement ends its block, if it does.
    pub(super) fn taken(&self, (frame, node): NodeRef) -> Option<&Taken> {
        self.frames[frame]
            .taken
            .as_ref()
            .filter(|taken| taken.node == node)
    }

    /// Whether a statement that may end its block has still to be decided.
    pub(super) fn is_undecided(&self, program: &Program, at: NodeRef) -> bool {
        let Some(node) = self.block(program, at.0).nodes.get(at.1 as usize) else {
            return false;
        };
        node.decides()
            && !self.frames[at.0].nodes[at.1 as usize]
                .flags
                .has(Flags::DECIDED)
    }

    /// Everything above a statement has been decided, and its own guard is known: whether it ends the block.
    pub(super) fn decide(&mut self, program: &Arc<Program>, at: NodeRef) {
        let flags = self.frames[at.0].nodes[at.1 as usize].flags;
        // It comes to the ready set once more when it takes effect.
        self.frames[at.0].node(at.1).flags.clear(Flags::READY);
        if flags.has(Flags::GUARD_UPSTREAM) {
            let error = self.upstream_error(program, at);
            return self.take(program, at, Why::Upstream(error));
        }
        if flags.has(Flags::GUARD_FAILED) {
            if let Some(error) = self.guard_error(program, at) {
                self.take(program, at, Why::Failed(error));
            }
            return;
        }
        match &self.node(program, at).kind {
            NodeKind::Ensure { condition, .. } => {
                if flags.has(Flags::UPSTREAM) {
                    let error = self.upstream_error(program, at);
                    return self.take(program, at, Why::Upstream(error));
                }
                let outcome = self
                    .evaluate(at.0, condition)
                    .and_then(|value| truth(&value, condition.span));
                if let Ok(holds) = outcome {
                    self.reached(at, Reached::Decided(holds));
                }
                match outcome {
                    Ok(true) => self.settle(at, End::Completed(planrun_lang::value::Value::Null)),
                    Ok(false) => self.take(program, at, Why::Broken),
                    Err(error) => self.take(program, at, Why::Failed(error)),
                }
            }
            NodeKind::Yield(_) if self.is_round(at.0) => {
                // In a `repeat` it adds to the value, and the round goes on.
                self.frames[at.0].node(at.1).flags.set(Flags::DECIDED);
                self.advance(program, at.0);
                self.offer(program, at);
            }
            _ => self.take(program, at, Why::Guard),
        }
    }

    fn is_round(&self, frame: FrameId) -> bool {
        self.frames[frame]
            .owner
            .is_some_and(|owner| owner.role == Role::Round)
    }

    /// A statement ends its block: all below it is skipped. It takes effect as soon as everything above it has settled.
    fn take(&mut self, program: &Arc<Program>, (frame, node): NodeRef, why: Why) {
        let reason = match (&why, &self.node(program, (frame, node)).kind) {
            (Why::Guard, NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_)) => "replied",
            _ => "failed",
        };
        let state = &mut self.frames[frame];
        state.taken = Some(Taken { node, why });
        state.node(node).flags.set(Flags::DECIDED);
        let count = u32::try_from(self.graph(program, frame).nodes).unwrap_or(u32::MAX);
        for below in node + 1..count {
            self.settle((frame, below), End::EndedAbove(reason));
        }
        self.advance(program, frame);
        self.offer(program, (frame, node));
    }

    /// Everything above the statement that ends a block has settled.
    pub(super) fn take_effect(&mut self, program: &Arc<Program>, at: NodeRef, taken: &Taken) {
        let flags = self.frames[at.0].nodes[at.1 as usize].flags;
        match &taken.why {
            // What its value reads has failed, and the block fails with that.
            Why::Guard
                if flags.has(Flags::UPSTREAM)
                    && !matches!(self.node(program, at).kind, NodeKind::Fail(_)) =>
            {
                self.settle(at, End::Upstream);
            }
            Why::Guard => self.run_node(program, at),
            Why::Broken => {
                let NodeKind::Ensure { message, .. } = &self.node(program, at).kind else {
                    return;
                };
                let message = self.evaluate(at.0, message);
                let message = message.map_or_else(|error| error.to_string(), |text| plain(&text));
                self.end_by_statement(at, ErrorClass::Validation(Validation::Ensure), message);
            }
            Why::Failed(error) => self.expression_failed(program, at, error),
            Why::Upstream(error) => {
                self.settle(at, End::Completed(planrun_lang::value::Value::Null));
                self.frame_failure(at.0, error.clone(), true);
            }
        }
    }

    /// The failure because of which what a statement reads has no value.
    fn upstream_error(&self, program: &Program, (frame, node): NodeRef) -> Arc<StepError> {
        let graph = self.graph(program, frame);
        let (mut open, mut seen) = (vec![node], BTreeSet::new());
        while let Some(vertex) = open.pop() {
            for (source, edge) in graph.wanted(vertex as usize) {
                let source = u32::try_from(source).unwrap_or(u32::MAX);
                let state = &self.frames[frame].nodes[source as usize];
                let given = !edge.needs_success() || !state.state.is_settled();
                if given || state.flags.has(Flags::AVAILABLE) || !seen.insert(source) {
                    continue;
                }
                let record = self.frames[frame].records.get(source as usize);
                if let Some(error) = record.and_then(|record| record.details()?.error.clone()) {
                    return error;
                }
                open.push(source);
            }
        }
        let path = self.frames[frame].path.clone();
        let message = "a step that its condition reads was cancelled";
        Arc::new(StepError::new(ErrorClass::Cancelled, message, &path))
    }
}
