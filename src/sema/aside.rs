//! `verify` and `undo`: blocks of one call that run beside the flow of the plan. The path of the block is that of its
//! call, so the call has no name of its own.

use std::time::Duration;

use super::checker::{BlockKind, PlanChecker};
use super::expr::{Code, Expectation};
use super::plan::{BlockId, Call, Clauses, NodeKind, Retry, Step, StepKind, Until, Verify};
use super::step::CheckedBody;
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ErrorPattern, Type};
use crate::value::Value;

/// How long the call of an `undo` is tried, retries included.
const UNDO_WITHIN: Duration = Duration::from_mins(10);
/// How often it is tried where the other side cannot be reached.
const UNDO_ATTEMPTS: u32 = 3;
/// How long a `verify` that polls looks when it does not say.
const VERIFY_WITHIN: Duration = Duration::from_mins(5);
/// How long it waits between two looks when it only says for how long.
const VERIFY_EVERY: Duration = Duration::from_secs(1);

impl PlanChecker<'_> {
    /// `undo CALL`: the path of its step is `x.undo`.
    pub(super) fn undo(&mut self, call: &ast::Expr) -> Option<BlockId> {
        let id = self.open_block(BlockKind::Do, None, &[]);
        if let Some((call, ty, _)) = self.call(call) {
            let retry = Retry {
                attempts: Some(UNDO_ATTEMPTS),
                on: Some(vec![ErrorPattern::Family("transient")]),
                pause_when_exhausted: Some(false),
                ..Retry::default()
            };
            let within = Some(duration(UNDO_WITHIN, call.span));
            let slot = self.names.slot();
            self.aside_step(slot, (call, ty), Clauses { retry: Some(retry), within, ..Clauses::default() });
        }
        self.close_block().map(|_| id)
    }

    /// `verify CALL [every d within d] as v => CHECK [gives EXPR]`: the path of its step is `x.verify`. A check that
    /// does not hold is the failure of the block: of `until` where it polls, else of `ensure`.
    pub(super) fn verify(&mut self, clause: &ast::Clause, body: &CheckedBody) -> Option<Verify> {
        let ast::ClauseKind::Verify { call, every, within, binding, check, gives } = &clause.kind else { return None };
        let id = self.open_block(BlockKind::Do, None, &[]);
        let found = self.call(call);
        if let Some((found, ..)) = &found
            && !found.effect.floats()
        {
            let message = format!("`verify` looks and never acts, and this call is of class `{}`", found.effect);
            let diagnostic = Diagnostic::new(&codes::effects::VERIFY_NOT_READ, found.span, message);
            self.diagnostics.push(diagnostic.help("call a tool of class `read`"));
        }
        let time = |checker: &mut Self, time: &Option<Box<ast::Expr>>| {
            time.as_ref().map(|time| checker.duration(time, "a time of `verify`"))
        };
        let (every, within) = (time(self, every), time(self, within));
        let ty = found.as_ref().map_or(Type::Invalid, |(_, ty, _)| ty.clone());
        let slot = self.introduce_local(binding, ty);
        let condition = self.condition(check);
        let value = gives.as_ref().map(|gives| {
            let expectation = Expectation::of(&"`gives` stands for the step's value, which");
            self.value_of(gives, &body.ty, expectation)
        });
        let span = clause.span;
        if let Some((call, ty, _)) = found {
            let polls = every.is_some() || within.is_some();
            let mut clauses = Clauses::default();
            if polls {
                clauses.within = Some(within.unwrap_or_else(|| duration(VERIFY_WITHIN, span)));
                let every = every.unwrap_or_else(|| duration(VERIFY_EVERY, span));
                clauses.until = Some(Until { condition, every });
                self.aside_step(slot, (call, ty), clauses);
            } else {
                self.aside_step(slot, (call, ty), clauses);
                let message = Value::String("the check of `verify` does not hold".into());
                let message = Box::new(Code::literal(message, Type::String, span));
                self.push(span, NodeKind::Ensure { condition, message });
            }
        }
        let known = value.is_some();
        let value = value.unwrap_or_else(|| Code::literal(Value::Null, Type::Null, span));
        self.push(span, NodeKind::Yield(value));
        self.close_block().map(|_| Verify { span, body: id, gives: known })
    }

    fn aside_step(&mut self, slot: u32, (call, ty): (Call, Type), clauses: Clauses) {
        let (span, effect) = (call.span, call.effect);
        let mut step = Step::bare(span, StepKind::Call(call), ty, effect, Vec::new());
        step.clauses = (!clauses.is_empty()).then(|| Box::new(clauses));
        let node = self.push(span, NodeKind::Step(Box::new(step)));
        let block = self.open.last_mut();
        if let Some(node) = block.and_then(|block| block.nodes.get_mut(node.0 as usize)) {
            node.slot = Some(slot);
        }
    }
}

fn duration(length: Duration, span: Span) -> Code {
    let nanos = i128::try_from(length.as_nanos()).unwrap_or(i128::MAX);
    Code::literal(Value::Duration(nanos), Type::Duration, span)
}
