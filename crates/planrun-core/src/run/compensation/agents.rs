//! `policy { verify: agents }`: asks the agents of a run that has completed whether their work was done.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::secrets::redact_paths;
use planrun_lang::sema::{AgentCheck, Step};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::{Value, shortened};

use super::Check;
use crate::journal::StepError;
use crate::run::context::Context;
use crate::run::frame::{Ending, NodeRef, Role};
use crate::run::sensitive::in_arguments;

/// Maximum length of an agent's reason in a report, in characters.
const MAX_WHY: usize = 500;

/// Returns, for each agent, its first step in source order that has changed something and that nothing else verifies;
/// with the reason if the agent cannot be asked about it.
pub(super) fn steps_to_ask_about(ctx: &Context) -> Vec<(NodeRef, Result<(), Arc<StepError>>)> {
    let mut found = Vec::new();
    for frame in (0..ctx.tree.frames.len()).filter(|frame| !ctx.tree[*frame].auxiliary) {
        let program = ctx.tree.program(frame);
        for (node, content) in (0..).zip(&ctx.tree.block(&program, frame).nodes) {
            let at = (frame, node);
            let Some(check) = content.step().and_then(Step::agent_check) else {
                continue;
            };
            // If an arm has recovered the step, its own call has failed.
            let done = ctx.tree.state_of(at) == StepState::Completed
                && !ctx.tree.record(at).recovered
                && check
                    .body()
                    .is_none_or(|body| ctx.setup.can_run_verification(&program, body));
            if done {
                let asks = can_ask(check, &ctx.tree.own_path(at));
                found.push((place(ctx, at), check.agent.clone(), at, asks));
            }
        }
    }
    found.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let mut agents = BTreeSet::new();
    let firsts = found
        .into_iter()
        .filter(|(_, agent, ..)| agents.insert(agent.clone()));
    firsts.map(|(.., at, asks)| (at, asks)).collect()
}

fn can_ask(check: &AgentCheck, path: &Arc<str>) -> Result<(), Arc<StepError>> {
    let Err(reason) = &check.body else {
        return Ok(());
    };
    let message = format!("it was not verified whether `{path}` was done: {reason}");
    Err(unverified(message, path, None))
}

/// Returns the position of a step for sorting in source order: from the plan inwards, the number of each statement and
/// the number of the frame that works for it.
fn place(ctx: &Context, at: NodeRef) -> Vec<(u32, usize)> {
    let (mut frame, mut node) = at;
    let mut place = Vec::new();
    let mut inner = 0;
    loop {
        place.push((node, inner));
        let Some(owner) = ctx.tree[frame].owner else {
            break;
        };
        inner = match owner.role {
            Role::Element(number) | Role::Branch(number) | Role::Firing(number) => number as usize,
            Role::Body | Role::Recover | Role::Round | Role::Verify | Role::Undo => {
                let frames = ctx.tree.inner_frames((owner.frame, owner.node));
                frames.iter().position(|own| *own == frame).unwrap_or(0)
            }
        };
        (frame, node) = (owner.frame, owner.node);
    }
    place.reverse();
    place
}

/// Returns the input for an agent that verifies a step: the path of the step and its redacted arguments.
pub(super) fn agent_input(ctx: &Context, at: NodeRef, step: &Step) -> Value {
    let details = ctx.tree.record(at).details();
    let arguments = details.and_then(|details| details.arguments.clone());
    let arguments = arguments.unwrap_or_else(|| ctx.no_arguments.clone());
    let arguments = redact_paths(&arguments, &in_arguments(step, &arguments));
    let input = Value::object([
        ("step", Value::String(ctx.tree.own_path(at))),
        ("arguments", arguments),
    ]);
    ctx.outbox.redactor.value(&input).unwrap_or(input)
}

/// Interprets the answer of an agent. An agent that could not decide has not found anything wrong.
pub(super) fn check(agent: &str, path: &Arc<str>, answer: Result<Value, Ending>) -> Check {
    let answer = match answer {
        Ok(answer) => answer,
        Err(Ending::Failed(error)) => {
            let message = format!(
                "`{agent}` could not determine whether `{path}` was done: {}",
                error.message
            );
            return Check::Undecided(unverified(message, path, Some(error)));
        }
        Err(Ending::Cancelled) => {
            let message =
                format!("`{agent}` was cancelled before it determined whether `{path}` was done");
            return Check::Undecided(unverified(message, path, None));
        }
    };
    let why = answer.get("why").and_then(Value::as_str);
    let why = shortened(why.unwrap_or_default(), MAX_WHY);
    match answer.get("verified") {
        Some(Value::Bool(true)) => Check::Holds,
        Some(Value::Bool(false)) => {
            let message = format!("`{agent}` reports that `{path}` was not done: {why}");
            Check::Fails(unverified(message, path, None))
        }
        _ => {
            let message = format!("`{agent}` could not determine whether `{path}` was done: {why}");
            Check::Undecided(unverified(message, path, None))
        }
    }
}

fn unverified(message: String, path: &Arc<str>, cause: Option<Arc<StepError>>) -> Arc<StepError> {
    let error = StepError::new(ErrorClass::Validation(Validation::Verify), message, path);
    Arc::new(StepError { cause, ..error })
}
