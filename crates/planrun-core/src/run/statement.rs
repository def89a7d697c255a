//! Runs one statement: decides whether it runs, is skipped or ends its block, and executes those that are not steps.
//!
//! `ensure`, and `fail`, `reply`, `yield` and `next` under a condition, can end a block early. That is decided as soon
//! as their values are known, which skips everything below, and takes effect when everything above has settled.

use std::sync::Arc;

use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Failing, NodeKind};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

use super::agenda::{End, Next};
use super::context::Context;
use super::frame::{Flags, NodeRef, Taken, Why};
use super::program::Program;
use super::reached::Reached;
use crate::journal::StepError;

/// A statement that was taken from the ready set.
pub(super) struct Statement<'a> {
    pub ctx: &'a mut Context,
    pub program: &'a Arc<Program>,
    pub at: NodeRef,
}

impl Statement<'_> {
    /// Returns true if the statement runs now. Otherwise it was skipped or decided, or has ended its block.
    pub(super) fn prepare_to_run(&mut self) -> bool {
        let at = self.at;
        let flags = self.flags();
        if at.1 as usize >= self.ctx.tree.graph(self.program, at.0).nodes {
            return self.settle(if flags.has(Flags::UPSTREAM) {
                End::Upstream
            } else {
                End::Completed(Value::Null)
            });
        }
        if let Some(error) = self.ctx.tree[at.0].late.remove(&at.1) {
            self.ctx.fail_step(at, error);
            return false;
        }
        if let Some(taken) = self.ctx.tree[at.0].ends_at(at.1).cloned() {
            return self.take_effect(&taken);
        }
        let flow = self.ctx.flow(self.program, at.0);
        if !flags.is_skipped() && flow.is_undecided(at.1) {
            self.decide();
            return false;
        }
        if flags.has(Flags::GUARD_UPSTREAM) {
            return self.settle(End::Upstream);
        }
        if !flags.has(Flags::GUARD_HOLDS) {
            return self.settle(End::GuardFalse);
        }
        if flags.has(Flags::UPSTREAM) {
            return self.settle(End::Upstream);
        }
        if flags.has(Flags::GUARD_FAILED) {
            if flow.fails_elsewhere(at.1) {
                return self.settle(End::GuardFalse);
            }
            if let Some(error) = flow.guard_error(at.1) {
                self.ctx.expression_failed(at, &error);
            }
            return false;
        }
        true
    }

    fn flags(&self) -> Flags {
        self.ctx.tree[self.at.0].nodes[self.at.1 as usize].flags
    }

    /// Settles the statement without running it.
    fn settle(&mut self, end: End) -> bool {
        self.ctx.settle(self.at, end);
        false
    }

    /// Decides whether the statement ends its block, after everything above it was decided and its own guard is known.
    fn decide(&mut self) {
        let (at, flags) = (self.at, self.flags());
        // It enters the ready set again when it takes effect.
        self.ctx.tree[at.0].node(at.1).flags.clear(Flags::READY);
        if flags.has(Flags::GUARD_UPSTREAM) {
            return self.take_upstream();
        }
        if flags.has(Flags::GUARD_FAILED) {
            if let Some(error) = self.ctx.flow(self.program, at.0).guard_error(at.1) {
                self.take(Why::Failed(error));
            }
            return;
        }
        match &self.ctx.tree.node(self.program, at).kind {
            NodeKind::Ensure { condition, .. } => {
                if flags.has(Flags::UPSTREAM) {
                    return self.take_upstream();
                }
                let outcome = self.ctx.tree.decide(at.0, condition);
                if let Ok(holds) = outcome {
                    self.ctx.reached(at, Reached::Decided(holds));
                }
                match outcome {
                    Ok(true) => self.ctx.complete(at, Value::Null),
                    Ok(false) => self.take(Why::Broken),
                    Err(error) => self.take(Why::Failed(error)),
                }
            }
            NodeKind::Yield(_) if self.ctx.tree[at.0].is_round() => {
                // In a `repeat` it adds a value, and the round continues.
                self.ctx.tree[at.0].node(at.1).flags.set(Flags::DECIDED);
                let mut flow = self.ctx.flow(self.program, at.0);
                flow.advance();
                flow.offer(at.1);
            }
            _ => self.take(Why::Guard),
        }
    }

    fn take_upstream(&mut self) {
        let (frame, node) = self.at;
        let error = self.ctx.flow(self.program, frame).upstream_error(node);
        self.take(Why::Upstream(error));
    }

    /// Lets the statement end its block: everything below it is skipped. It takes effect when everything above it has
    /// settled.
    fn take(&mut self, why: Why) {
        let (frame, node) = self.at;
        let reason = match (&why, &self.ctx.tree.node(self.program, self.at).kind) {
            (Why::Guard, NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_)) => "replied",
            _ => "failed",
        };
        let count = self.ctx.tree.graph(self.program, frame).nodes;
        let state = &mut self.ctx.tree[frame];
        state.taken = Some(Taken { node, why });
        state.node(node).flags.set(Flags::DECIDED);
        for below in node + 1..u32::try_from(count).unwrap_or(u32::MAX) {
            self.ctx.settle((frame, below), End::EndedAbove(reason));
        }
        self.ctx.then(Next::Offer(self.at));
    }

    /// Ends the block, after everything above the statement has settled. Returns true if the statement has to run for
    /// that.
    fn take_effect(&mut self, taken: &Taken) -> bool {
        let at = self.at;
        let kind = &self.ctx.tree.node(self.program, at).kind;
        match (&taken.why, kind) {
            (Why::Guard, NodeKind::Fail(_)) => return true,
            // Something that its value reads has failed, and the block fails with that.
            (Why::Guard, _) if self.flags().has(Flags::UPSTREAM) => {
                return self.settle(End::Upstream);
            }
            (Why::Guard, _) => return true,
            (Why::Broken, NodeKind::Ensure { message, .. }) => {
                let message = self.ctx.tree.evaluate(at.0, message);
                let message = message.map_or_else(|error| error.to_string(), |text| plain(&text));
                self.fail_block(ErrorClass::Validation(Validation::Ensure), message);
            }
            (Why::Broken, _) => {}
            (Why::Failed(error), _) => self.ctx.expression_failed(at, error),
            (Why::Upstream(error), _) => self.ctx.statement_failed(at, error.clone()),
        }
        false
    }

    /// Ends the block with the failure of a taken `fail` or of an `ensure`, whatever the policy says.
    fn fail_block(&mut self, class: ErrorClass, message: String) {
        let path = self.ctx.tree[self.at.0].path.clone();
        let error = Arc::new(StepError::new(class, message, &path));
        self.ctx.statement_failed(self.at, error);
    }

    /// Evaluates a condition.
    pub(super) fn condition(&mut self, code: &CheckedExpr) {
        let (frame, node) = self.at;
        match self.ctx.tree.decide(frame, code) {
            Ok(truth) => {
                self.ctx.reached(self.at, Reached::Decided(truth));
                if truth {
                    self.ctx.tree[frame].node(node).flags.set(Flags::TRUE);
                }
                self.ctx.complete(self.at, Value::Bool(truth));
            }
            // Only the readers of the condition fail.
            Err(error) => self
                .ctx
                .flow(self.program, frame)
                .fail_condition(node, error),
        }
    }

    /// Evaluates a `let`. Its error is reported by what reads the value.
    pub(super) fn binding(&mut self, code: &CheckedExpr) {
        let at = self.at;
        let value = self.ctx.tree.evaluate(at.0, code).unwrap_or_else(|error| {
            if let Some(slot) = self.ctx.tree.node(self.program, at).slot {
                self.ctx.tree[at.0].let_errors.insert(slot, error);
            }
            Value::Null
        });
        self.ctx.complete(at, value);
    }

    pub(super) fn fail(&mut self, failing: &Failing) {
        let message = failing.message.as_ref();
        let message = match message.map(|message| self.ctx.tree.evaluate(self.at.0, message)) {
            Some(Ok(text)) => plain(&text),
            Some(Err(error)) => error.to_string(),
            None => format!("the plan failed with {}", failing.class),
        };
        self.fail_block(failing.class.clone(), message);
    }

    /// `reply` and `yield`.
    pub(super) fn give(&mut self, code: &CheckedExpr, is_reply: bool) {
        match self.ctx.tree.evaluate(self.at.0, code) {
            Ok(value) => {
                if is_reply {
                    self.ctx.reached(self.at, Reached::Replied);
                }
                self.ctx.tree[self.at.0].values.push(value);
                self.ctx.complete(self.at, Value::Null);
            }
            Err(error) => self.ctx.expression_failed(self.at, &error),
        }
    }

    /// `next`: sets the value with which the following round begins.
    pub(super) fn carry(&mut self, code: &CheckedExpr) {
        match self.ctx.tree.evaluate(self.at.0, code) {
            Ok(value) => {
                self.ctx.tree[self.at.0].next = Some(value);
                self.ctx.complete(self.at, Value::Null);
            }
            Err(error) => self.ctx.expression_failed(self.at, &error),
        }
    }
}

/// Formats a value without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.preview(80),
    }
}
