//! `verify` and `undo`: blocks that run beside the flow of the plan. The path of the block is that of its call, so the
//! call has no name of its own.

use std::time::Duration;

use super::checker::{BlockKind, PlanChecker};
use super::expr::{Code, Expectation};
use super::plan::{
    Call, Clauses, Footprint, NodeKind, OrderClass, Retry, Step, StepKind, Target, Undo, Until,
    Verify,
};
use super::scope::NameKind;
use super::step::CheckedBody;
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ErrorPattern, Type};
use crate::value::Value;

/// How long an `undo` may take, retries included.
const UNDO_WITHIN: Duration = Duration::from_mins(10);
/// How often a call of it is tried where the other side cannot be reached.
const UNDO_ATTEMPTS: u32 = 3;
/// How long a `verify` that polls looks when it does not say.
const VERIFY_WITHIN: Duration = Duration::from_mins(5);
/// How long it waits between two looks when it only says for how long.
const VERIFY_EVERY: Duration = Duration::from_secs(1);

impl PlanChecker<'_> {
    /// `undo CALL` or `undo do { … }`: the path of what runs is `x.undo`, and the step's name is what its call has given.
    pub(super) fn undo(
        &mut self,
        step: &ast::Step,
        undo: &ast::Undo,
        body: &CheckedBody,
    ) -> Option<Undo> {
        let first = self.blocks.len();
        let id = self.open_block(BlockKind::Do, None, &[]);
        self.introduce(&step.name, NameKind::Local, body.ty.clone());
        let read_before = self.valued.remove(&step.name.span);
        let around = std::mem::replace(&mut self.undoing, true);
        match undo {
            ast::Undo::Call(call) => {
                if let Some((call, ty, _)) = self.call(call) {
                    let (span, effect) = (call.span, call.effect);
                    self.aside_step(
                        None,
                        Step::bare(
                            span,
                            StepKind::Call(call),
                            ty,
                            Footprint::of(effect, OrderClass::of(effect)),
                        ),
                        undo_bound(span),
                    );
                }
            }
            ast::Undo::Do(block) => {
                let done = self.do_block(block);
                let inner = Step::bare(block.span, done.kind, done.ty, done.does);
                self.aside_step(None, inner, undo_bound(block.span));
            }
        }
        self.undoing = around;
        let reads = self.valued.contains(&step.name.span);
        if read_before {
            self.valued.insert(step.name.span);
        }
        let closed = self.close_block();
        self.retry_calls(first);
        closed.map(|_| Undo {
            body: id,
            reads,
            gives: body.ty.clone(),
        })
    }

    /// Calls that take something back are tried again where the other side cannot be reached, unless they say otherwise.
    fn retry_calls(&mut self, first: usize) {
        let nodes = self
            .blocks
            .get_mut(first..)
            .unwrap_or_default()
            .iter_mut()
            .flat_map(|block| &mut block.nodes);
        for node in nodes {
            let NodeKind::Step(step) = &mut node.kind else {
                continue;
            };
            if matches!(&step.kind, StepKind::Call(call) if matches!(call.target, Target::Tool(_)))
            {
                step.clauses
                    .get_or_insert_default()
                    .retry
                    .get_or_insert_with(undo_retry);
            }
        }
    }

    /// Why a clause makes no sense in what takes a step back.
    pub(super) fn refused_in_undo(&self, clause: &ast::ClauseKind) -> Option<&'static str> {
        match clause {
            _ if !self.undoing => None,
            ast::ClauseKind::Confirm { .. } => {
                Some("nobody is asked before something is taken back")
            }
            ast::ClauseKind::Undo(_) => Some("what takes something back is not taken back itself"),
            ast::ClauseKind::Verify { .. } => Some("what takes something back is not looked at"),
            ast::ClauseKind::When(_)
            | ast::ClauseKind::After(_)
            | ast::ClauseKind::By(_)
            | ast::ClauseKind::Expires(_)
            | ast::ClauseKind::Timeout(_)
            | ast::ClauseKind::Within(_)
            | ast::ClauseKind::Retry(_)
            | ast::ClauseKind::Until { .. }
            | ast::ClauseKind::Cache(_)
            | ast::ClauseKind::Recover { .. }
            | ast::ClauseKind::Error => None,
        }
    }

    /// Reports a step that waits for somebody where something is taken back.
    pub(super) fn refuse_in_undo(&mut self, step: &ast::Step) {
        let word = match &step.body {
            ast::StepBody::Input { .. } => "input",
            ast::StepBody::Wait(ast::WaitFor::Condition { .. }) => "wait for",
            _ => return,
        };
        if self.undoing {
            let message =
                format!("`{word}` cannot stand here: taking something back waits for nobody");
            let diagnostic = Diagnostic::new(
                &codes::failure::CLAUSE_NOT_APPLICABLE,
                step.name.span,
                message,
            );
            self.diagnostics
                .push(diagnostic.help("ask, or wait, in the plan itself, before it can fail"));
        }
    }

    /// `verify CALL [every d within d] as v => CHECK [gives EXPR]`: the path of its step is `x.verify`. A check that
    /// does not hold is the failure of the block: of `until` where it polls, else of `ensure`.
    pub(super) fn verify(&mut self, clause: &ast::Clause, body: &CheckedBody) -> Option<Verify> {
        let ast::ClauseKind::Verify {
            call,
            every,
            within,
            binding,
            check,
            gives,
        } = &clause.kind
        else {
            return None;
        };
        let id = self.open_block(BlockKind::Do, None, &[]);
        let found = self.call(call);
        if let Some((found, ..)) = &found {
            self.only_reads(found);
        }
        let time = |checker: &mut Self, time: &Option<Box<ast::Expr>>| {
            time.as_ref()
                .map(|time| checker.duration(time, "a time of `verify`"))
        };
        let (every, within) = (time(self, every), time(self, within));
        let ty = found
            .as_ref()
            .map_or(Type::Invalid, |(_, ty, _)| ty.clone());
        let slot = self.introduce_local(binding, ty);
        let condition = self.condition(check);
        let value = gives.as_ref().map(|gives| {
            let expectation = Expectation::of(&"`gives` stands for the step's value, which");
            self.value_of(gives, &body.ty, expectation)
        });
        let span = clause.span;
        if let Some((call, ty, _)) = found {
            let does = Footprint::of(call.effect, OrderClass::of(call.effect));
            let step = Step::bare(call.span, StepKind::Call(call), ty, does);
            let polls = every.is_some() || within.is_some();
            let mut clauses = Clauses::default();
            if polls {
                clauses.within = Some(within.unwrap_or_else(|| duration(VERIFY_WITHIN, span)));
                let every = every.unwrap_or_else(|| duration(VERIFY_EVERY, span));
                clauses.until = Some(Until { condition, every });
                self.aside_step(Some(slot), step, clauses);
            } else {
                self.aside_step(Some(slot), step, clauses);
                let message = Value::String("the check of `verify` does not hold".into());
                let message = Box::new(Code::literal(message, Type::String, span));
                self.push(span, NodeKind::Ensure { condition, message });
            }
        }
        let known = value.is_some();
        let value = value.unwrap_or_else(|| Code::literal(Value::Null, Type::Null, span));
        self.push(span, NodeKind::Yield(value));
        self.close_block().map(|_| Verify {
            span,
            body: id,
            gives: known,
        })
    }

    /// Reports a call of `verify` that may change something.
    fn only_reads(&mut self, call: &Call) {
        if call.effect.floats() {
            return;
        }
        let message = format!(
            "`verify` looks and never acts, and this call is of class `{}`",
            call.effect
        );
        let diagnostic = Diagnostic::new(&codes::effects::VERIFY_NOT_READ, call.span, message);
        self.diagnostics
            .push(diagnostic.help("call a tool of class `read`"));
    }

    /// The one step of a block beside the flow of the plan.
    fn aside_step(&mut self, slot: Option<u32>, mut step: Step, clauses: Clauses) {
        step.clauses = (!clauses.is_empty()).then(|| Box::new(clauses));
        let node = self.push(step.span, NodeKind::Step(Box::new(step)));
        let slot = slot.unwrap_or_else(|| self.names.slot());
        let block = self.open.last_mut();
        if let Some(node) = block.and_then(|block| block.nodes.get_mut(node.0 as usize)) {
            node.slot = Some(slot);
        }
    }
}

/// How long what takes a step back may take.
fn undo_bound(span: Span) -> Clauses {
    Clauses {
        within: Some(duration(UNDO_WITHIN, span)),
        ..Clauses::default()
    }
}

fn undo_retry() -> Retry {
    Retry {
        attempts: Some(UNDO_ATTEMPTS),
        on: Some(vec![ErrorPattern::Family("transient")]),
        pause_when_exhausted: Some(false),
        ..Retry::default()
    }
}

fn duration(length: Duration, span: Span) -> Code {
    let nanos = i128::try_from(length.as_nanos()).unwrap_or(i128::MAX);
    Code::literal(Value::Duration(nanos), Type::Duration, span)
}
