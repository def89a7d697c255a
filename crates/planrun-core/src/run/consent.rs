//! What somebody has agreed to for a run as a whole, before it does anything; its calls are held against that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;

use super::agenda::Inquiry;
use super::call::state::CallState;
use super::clock::whole_milliseconds;
use super::context::Context;
use super::frame::{Ending, NodeRef, WHOLE_RUN};
use super::setup::Approval;
use crate::journal::{Answer, EventKind, Grant, Question, StepError, Waiting};

/// What somebody has agreed to, and how much of it is used.
#[derive(Default)]
pub(in crate::run) struct Consent {
    grant: Option<Arc<Grant>>,
    /// The steps that have called each tool. A step that calls again calls once: it waits, or nothing had happened.
    used: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Consent {
    /// Whether the run may begin; asks for the consent that it needs.
    pub(in crate::run) fn may_begin(&mut self, ctx: &mut Context) -> bool {
        let Some(approval) = &ctx.setup.approval else {
            return true;
        };
        if approval.grant.expires.is_some() {
            let grant = approval.grant.clone();
            self.give(ctx, grant);
            return true;
        }
        if let Some(past) = ctx.outbox.recording.asked("", Waiting::Approval, 0) {
            ctx.then(Inquiry::AskAgain(WHOLE_RUN, Box::new(past)));
            return false;
        }
        let asked_at = ctx.outbox.now.wall;
        let question = Question {
            asked_at,
            expires: Some(after(asked_at, approval.open_for)),
            ..Question::approval(approval.text.clone())
        };
        ctx.then(Inquiry::Ask(WHOLE_RUN, Box::new(question)));
        false
    }

    /// Somebody has answered: the run begins, or ends with a no.
    pub(in crate::run) fn answered(&mut self, ctx: &mut Context, answer: &Answer) {
        let expires = |approval: &Approval| after(ctx.outbox.lived_moment(), approval.valid_for);
        let approval = ctx.setup.approval.as_ref();
        let given = approval.and_then(|approval| approval.grant.given(answer, expires(approval)));
        if let Some(grant) = given {
            self.give(ctx, grant);
            return ctx.start(WHOLE_RUN.0);
        }
        let class = ErrorClass::Denied(Denied::Human);
        let error = StepError::new(class, answer.refusal(), &"".into());
        ctx.end_block(WHOLE_RUN.0, Ending::Failed(Arc::new(error)));
    }

    fn give(&mut self, ctx: &mut Context, grant: Grant) {
        let grant = Arc::new(grant);
        self.grant = Some(grant.clone());
        ctx.outbox.emit(EventKind::RunGranted { grant });
    }

    /// A call goes out, or has gone out in an earlier process: it uses some of the grant.
    pub(in crate::run) fn spend(&mut self, ctx: &Context, at: NodeRef, tool: &Signature) {
        if self.grant.is_some() && !tool.effect.is_read_only() && !ctx.tree[at.0].aside {
            let used = self.used.entry(tool.path().into()).or_default();
            used.insert(ctx.tree.own_path(at));
        }
    }

    /// Why a call is not among what was agreed to, where that is so. What verifies a step, or undoes it, was agreed to
    /// with the step.
    pub(in crate::run) fn exceeded_by(
        &self,
        ctx: &Context,
        at: NodeRef,
        call: &CallState,
    ) -> Option<String> {
        let grant = self.grant.as_ref()?;
        let program = ctx.tree.program(at.0);
        let (.., tool) = ctx.tree.tool_call(&program, at)?;
        let name = tool.path();
        let used = self.used.get(&*name);
        let is_counted = || used.is_some_and(|used| used.contains(&ctx.tree.own_path(at)));
        if tool.effect.is_read_only() || ctx.tree[at.0].aside || is_counted() {
            return None;
        }
        if *ctx.tree.program(WHOLE_RUN.0).plan.digest != *grant.plan {
            return Some("the plan has been changed since it was approved".to_owned());
        }
        let Some(calls) = grant.of(&name) else {
            return Some(format!("no call of `{name}` was approved"));
        };
        if tool.digest() != *calls.contract {
            return Some(format!("`{name}` is not what was approved any more"));
        }
        if used.map_or(0, BTreeSet::len) as u64 >= calls.max {
            return Some(match calls.max {
                1 => format!("one call of `{name}` was approved, and it has been made"),
                max => format!("{max} calls of `{name}` were approved, and they have been made"),
            });
        }
        let differs = |(name, value): &(&Arc<str>, &serde_json::Value)| {
            let given = call.arguments.get(name).map(Value::to_json);
            given.is_some_and(|given| given != **value)
        };
        if let Some((argument, value)) = calls.constants.iter().find(differs) {
            return Some(format!(
                "`{name}` was approved with `{argument}: {value}` only"
            ));
        }
        let is_over = |expires: i128| expires <= ctx.outbox.now.wall;
        let over = grant.expires.is_some_and(is_over);
        over.then(|| "what was approved is out of date".to_owned())
    }
}

/// A moment after another one, in nanoseconds since 1970.
fn after(moment: i128, length: Duration) -> i128 {
    let length = i128::try_from(length.as_nanos()).unwrap_or(i128::MAX);
    whole_milliseconds(moment.saturating_add(length))
}
