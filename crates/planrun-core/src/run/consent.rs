//! The grant of a run: what a person has approved as a whole, before the run does anything. Its calls are checked
//! against it.

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

/// The grant of the run, and how much of it has been used.
#[derive(Default)]
pub(in crate::run) struct Consent {
    grant: Option<Arc<Grant>>,
    /// The steps that have called each tool. Repeated calls of one step count once: they are polls, or nothing had
    /// happened before.
    used: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Consent {
    /// Returns true if the run may begin; otherwise asks for the approval that it needs.
    pub(in crate::run) fn may_begin(&mut self, ctx: &mut Context) -> bool {
        let Some(approval) = &ctx.setup.approval else {
            return true;
        };
        if approval.grant.expires.is_some() {
            let grant = approval.grant.clone();
            self.give(ctx, grant);
            return true;
        }
        if let Some(recorded) = ctx.outbox.recording.asked("", Waiting::Approval, 0) {
            ctx.then(Inquiry::AskAgain(WHOLE_RUN, Box::new(recorded)));
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

    /// Handles the answer to the approval: the run begins, or fails with a refusal.
    pub(in crate::run) fn answered(&mut self, ctx: &mut Context, answer: &Answer) {
        let expires = |approval: &Approval| after(ctx.outbox.wall_time(), approval.valid_for);
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

    /// Counts a call that is sent, or was sent by an earlier process.
    pub(in crate::run) fn spend(&mut self, ctx: &Context, at: NodeRef, tool: &Signature) {
        if self.grant.is_some() && !tool.effect.is_read_only() && !ctx.tree[at.0].auxiliary {
            let used = self.used.entry(tool.path().into()).or_default();
            used.insert(ctx.tree.own_path(at));
        }
    }

    /// Returns why a call exceeds the grant; `None` if it does not. Calls in `verify` and `undo` blocks are approved
    /// together with their steps.
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
        if tool.effect.is_read_only() || ctx.tree[at.0].auxiliary || is_counted() {
            return None;
        }
        let recording = &ctx.outbox.recording;
        if let Some(asked) = recording.question(&call.path, Waiting::Confirm, call.execution) {
            // An earlier process has asked, so its answer decides, even if the clock was set back since.
            return asked.question.why.as_deref().map(str::to_owned);
        }
        if *ctx.tree.program(WHOLE_RUN.0).plan.digest != *grant.plan {
            return Some("the plan has changed since it was approved".to_owned());
        }
        let Some(calls) = grant.of(&name) else {
            return Some(format!("no call of `{name}` was approved"));
        };
        // The plan itself writes what it asks of an agent, and its digest covers that.
        if tool.kind.word().is_none() && tool.digest() != *calls.contract {
            return Some(format!(
                "the contract of `{name}` has changed since it was approved"
            ));
        }
        if used.map_or(0, BTreeSet::len) as u64 >= calls.max {
            return Some(match calls.max {
                1 => format!("one call of `{name}` was approved, and it has already been made"),
                max => {
                    format!("{max} calls of `{name}` were approved, and all have already been made")
                }
            });
        }
        let differs = |(name, value): &(&Arc<str>, &serde_json::Value)| {
            let given = call.arguments.get(name).map(Value::to_json);
            given.is_some_and(|given| given != **value)
        };
        if let Some((argument, value)) = calls.constants.iter().find(differs) {
            return Some(format!(
                "`{name}` was approved only with `{argument}: {value}`"
            ));
        }
        let is_over = |expires: i128| expires <= ctx.outbox.now.wall;
        let over = grant.expires.is_some_and(is_over);
        over.then(|| "the approval has expired".to_owned())
    }
}

/// Returns the time that is `length` after `moment`, in nanoseconds since the Unix epoch.
fn after(moment: i128, length: Duration) -> i128 {
    let length = i128::try_from(length.as_nanos()).unwrap_or(i128::MAX);
    whole_milliseconds(moment.saturating_add(length))
}
