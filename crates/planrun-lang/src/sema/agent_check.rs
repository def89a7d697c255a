//! `policy { verify: agents }`: the question to the agent of a step at the end of a run.

use std::sync::Arc;

use super::auxiliary::push_auxiliary_step;
use super::blocks::BlockKind;
use super::body::CheckedBody;
use super::checker::PlanChecker;
use super::expr::CheckedExpr;
use super::plan::{AgentCheck, BlockId, Clauses, NodeKind, Step, StepKind, Target};
use super::scope::{NameKind, Place};
use super::waiting::{can_verify, read_only_ask};
use crate::source::Span;
use crate::types::{BUILT_IN, Field, Rest, Type};
use crate::value::Value;

/// Returns the question about a step. It names no tool: the agent decides which of its tools can verify the step.
fn prompt(step: &str) -> String {
    format!(
        "Was `{step}` done? Below stand its path in the plan and the arguments that it was given. Look with the tools that \
         you have, and change nothing. Answer `verified` with true if you saw that it was done, with false if you saw that \
         it was not, and with null if you could not see it. Say in `why` what you saw."
    )
}

/// Returns the check of a step that calls a tool which changes something, if the policy requires one.
pub(super) fn check_agent(
    checker: &mut PlanChecker<'_>,
    step: &str,
    body: &CheckedBody,
) -> Option<AgentCheck> {
    let span = checker.agents_verify.filter(|_| !checker.undoing)?;
    let StepKind::Call(call) = &body.kind else {
        return None;
    };
    let Target::Tool(signature) = &call.target else {
        return None;
    };
    let agent = signature.namespace.clone();
    // Built-in namespaces have no agent.
    if call.effect.is_read_only() || BUILT_IN.contains(&&*agent) {
        return None;
    }
    let may_ask = checker.allow.as_ref();
    let body = if may_ask.is_some_and(|allow| !allow.may_ask(&agent)) {
        Err(format!("`allow.agents` of the plan does not name `{agent}`").into())
    } else {
        match can_verify(checker, &agent) {
            Ok(()) => Ok(question(checker, agent.clone(), prompt(step), span)?),
            Err((reason, _)) => Err(reason.into()),
        }
    };
    Some(AgentCheck { span, agent, body })
}

/// Creates the block that asks the agent and yields its answer.
fn question(
    checker: &mut PlanChecker<'_>,
    agent: Arc<str>,
    prompt: String,
    span: Span,
) -> Option<BlockId> {
    let id = checker.open_block(BlockKind::Do, None, &[]);
    let mut place = |name: &str, ty: Type, binding| {
        let slot = checker.names.slot();
        let mut code = CheckedExpr::place(Place { up: 0, slot }, name.into(), ty, span);
        for read in &mut code.reads {
            read.binding = binding;
        }
        (slot, code)
    };
    let (_, data) = place("done", Type::Any, NameKind::Local);
    let (slot, answer) = place("answer", answer_type(), NameKind::Step);
    let prompt = CheckedExpr::literal(Value::String(prompt.into()), Type::String, span);
    let asked = read_only_ask(agent, prompt, data, answer_type());
    let step = Step::bare(span, asked.kind, asked.ty, asked.does);
    push_auxiliary_step(checker, Some(slot), step, Clauses::default());
    checker.blocks.push(span, NodeKind::Yield(answer));
    checker.close_block().map(|_| id)
}

/// Returns `{ verified: bool?, why: string }`.
fn answer_type() -> Type {
    let field = |name: &str, ty| Field {
        name: name.into(),
        ty,
        required: true,
    };
    let fields = vec![
        field("verified", Type::Bool.optional()),
        field("why", Type::String),
    ];
    Type::object(fields, Rest::Closed)
}
