//! Calls whose outcome is unknown: `verify` decides whether they took effect, or a person if it cannot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::graph::Edge;
use planrun_lang::sema::{MAX_RESENDS, OnFailure, Step};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::agenda::{End, Inquiry};
use super::call::Calls;
use super::call::state::CallState;
use super::context::Context;
use super::frame::{Ending, FrameId, NodeRef, WHOLE_RUN};
use super::sensitive::{in_arguments, in_output};
use super::tree::{Catcher, Tree};
use crate::journal::{EventKind, EventName, FormField, Question, StepError, Waiting};

/// A call whose outcome is unknown.
pub(super) struct UnknownOutcome {
    pub error: Arc<StepError>,
    /// Whether the process that had sent it is gone, so that more may have been lost.
    pub orphaned: bool,
}

/// The calls whose outcome is unknown, until it is determined.
#[derive(Default)]
pub(super) struct UnknownOutcomes {
    open: BTreeMap<NodeRef, UnknownOutcome>,
}

impl UnknownOutcomes {
    /// Handles a call whose outcome is unknown, which holds no slot any more.
    pub(super) fn begin(
        &mut self,
        ctx: &mut Context,
        calls: &mut Calls,
        at: NodeRef,
        call: Box<CallState>,
        outcome: UnknownOutcome,
    ) {
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        let path = ctx.tree.path(&program, at);
        if call.has_peer_questions {
            ctx.then(Inquiry::PeerWithdrawn(at));
        }
        ctx.tree.record_mut(at).in_doubt = true;
        let replays = ctx.outbox.recording.is_replaying();
        let verifies = ctx.setup.verifies(&program, step);
        let decided_before = replays
            && !ctx
                .outbox
                .recording
                .has_unreplayed(EventName::StepWaiting, &path);
        let outcome = UnknownOutcome {
            orphaned: outcome.orphaned || replays,
            ..outcome
        };
        let error = outcome.error.clone();
        let asks = asks_people(ctx, at, call.execution, &outcome);
        if decided_before || ctx.tree[at.0].ending.is_some() || !(verifies || asks) {
            return ctx.step_failed(at, error);
        }
        let attempt = ctx.tree.record(at).attempts;
        ctx.outbox.emit(EventKind::StepWaiting {
            path,
            attempt,
            what: Waiting::Outcome,
            wait: Duration::ZERO,
            error: Some(error),
        });
        calls.open.keep_without_slot(ctx, at, call);
        self.open.insert(at, outcome);
        if verifies {
            ctx.then(Inquiry::OpenVerify(at));
        } else {
            self.ask_if_executed(ctx, calls, at);
        }
    }

    /// Returns true if the outcome of a step's call is unknown.
    pub(super) fn has(&self, at: NodeRef) -> bool {
        self.open.contains_key(&at)
    }

    /// Returns true if people are asked about a call although its block has ended: the run pauses then, and needs the
    /// answer to continue.
    pub(super) fn outlasts_block(&self, ctx: &Context, at: NodeRef) -> bool {
        let pauses = ctx.tree.scope(at.0).policy.on_failure == OnFailure::Pause;
        self.has(at) && pauses && ctx.tree[WHOLE_RUN.0].ending.is_none()
    }

    /// Removes the calls whose blocks have ended before the run. Returns them with their errors.
    pub(super) fn take_outlasting(&mut self, tree: &Tree) -> Vec<(NodeRef, Arc<StepError>)> {
        let outlasts = |at: &NodeRef| at.0 != WHOLE_RUN.0 && tree[at.0].ending.is_some();
        let found: Vec<NodeRef> = self.open.keys().copied().filter(outlasts).collect();
        let errors = found
            .into_iter()
            .filter_map(|at| Some((at, self.remove(at)?)));
        errors.collect()
    }

    /// Handles the end of the verification of a call.
    pub(super) fn verified(
        &mut self,
        ctx: &mut Context,
        calls: &mut Calls,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {
                let value = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
                let program = ctx.tree.program(at.0);
                let gives = ctx
                    .tree
                    .step(&program, at)
                    .and_then(Step::verify)
                    .is_some_and(|verify| verify.gives);
                if gives || !is_read(ctx, at) {
                    ctx.then(Inquiry::Verified(at));
                    return self.happened(ctx, at, value, gives);
                }
                self.ask_or_fail(ctx, calls, at);
            }
            Err(Ending::Failed(error)) if error.denies_effect() => {
                let sent = calls.open.get(at).map_or(MAX_RESENDS, |state| state.sends);
                if sent < MAX_RESENDS {
                    self.send_again(ctx, calls, at);
                } else {
                    self.ask_or_fail(ctx, calls, at);
                }
            }
            Err(Ending::Failed(_) | Ending::Cancelled) => self.ask_or_fail(ctx, calls, at),
        }
    }

    /// Handles a person's answer: `{ happened: bool, value: … }`.
    pub(super) fn answered(
        &mut self,
        ctx: &mut Context,
        calls: &mut Calls,
        at: NodeRef,
        answer: &Value,
    ) {
        if answer.get("happened") == Some(&Value::Bool(true)) {
            let value = answer.get("value").cloned().unwrap_or(Value::Null);
            return self.happened(ctx, at, value, true);
        }
        self.send_again(ctx, calls, at);
    }

    /// Completes the step. `known`: whether `value` is the value that the call returned.
    fn happened(&mut self, ctx: &mut Context, at: NodeRef, value: Value, known: bool) {
        self.open.remove(&at);
        let record = ctx.tree.record_mut(at);
        record.in_doubt = !known;
        record.end_execution();
        ctx.complete(at, value);
    }

    /// Sends the same execution again, with its key and arguments, because it did not take effect.
    fn send_again(&mut self, ctx: &mut Context, calls: &mut Calls, at: NodeRef) {
        self.open.remove(&at);
        let record = ctx.tree.record_mut(at);
        (record.in_doubt, record.details_mut().undone) = (false, None);
        if ctx.tree[at.0].ending.is_some() {
            calls.open.stop(ctx, at);
            return ctx.settle(at, End::Cancelled);
        }
        let path = ctx.tree.own_path(at);
        let Some(recorded) = ctx.outbox.recording.begun(&path) else {
            return calls.send_again(ctx, at);
        };
        calls.resend_recorded(ctx, at, path, recorded);
    }

    fn ask_or_fail(&mut self, ctx: &mut Context, calls: &mut Calls, at: NodeRef) {
        let Some(execution) = calls.open.get(at).map(|state| state.execution) else {
            return;
        };
        let Some(outcome) = self.open.get(&at) else {
            return;
        };
        if asks_people(ctx, at, execution, outcome) {
            return self.ask_if_executed(ctx, calls, at);
        }
        let error = outcome.error.clone();
        self.open.remove(&at);
        calls.open.stop(ctx, at);
        ctx.step_failed(at, error);
    }

    fn ask_if_executed(&mut self, ctx: &mut Context, calls: &mut Calls, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        let Some(state) = calls.open.get(at) else {
            return;
        };
        let Some(outcome) = self.open.get(&at) else {
            return;
        };
        let path = ctx.tree.path(&program, at);
        let secret = !in_output(step, &Value::Null).is_empty();
        let question = Question {
            why: Some(format!("{}: {}", outcome.error.class, outcome.error.message).into()),
            asked_at: ctx.outbox.now.wall,
            execution: state.execution,
            tool: signature.path().into(),
            effect: Some(step.effect),
            sensitive: in_arguments(step, &state.arguments),
            arguments: state.arguments.clone(),
            form: vec![FormField {
                secret,
                ..FormField::plain("value", &step.ty)
            }],
            ..Question::plain(Waiting::Answer, format!("Did `{path}` happen?"))
        };
        if let Some(recorded) =
            ctx.outbox
                .recording
                .asked(&path, Waiting::Answer, question.execution)
        {
            return ctx.then(Inquiry::AskAgain(at, Box::new(recorded)));
        }
        ctx.then(Inquiry::Ask(at, Box::new(question)));
    }

    /// Removes a call that is settled for another reason. Returns its error.
    pub(super) fn remove(&mut self, at: NodeRef) -> Option<Arc<StepError>> {
        self.open.remove(&at).map(|outcome| outcome.error)
    }
}

/// Lets a call whose outcome is unknown decide with what the block around it fails, if another failure has ended that
/// block before: only an arm that names `unknown_outcome` may catch the failure then. A run fails in any case.
pub(super) fn outranks_first_failure(tree: &mut Tree, at: NodeRef, error: &Arc<StepError>) {
    let is_unknown = |error: &StepError| error.class == ErrorClass::UnknownOutcome;
    let (mut frame, mut error) = (at.0, error.clone());
    while let Some(owner) = tree[frame].owner.filter(|_| is_unknown(&error)) {
        match &tree[frame].ending {
            // Its block was ended by the failure of a block around it.
            Some(Ending::Cancelled) => {}
            Some(Ending::Failed(first)) if !is_unknown(first) => {
                tree[frame].ending = Some(Ending::Failed(error));
                return;
            }
            Some(Ending::Failed(_)) | None => return,
        }
        let path = tree.own_path((owner.frame, owner.node));
        error = Arc::new(StepError::of_inner(&error, &path));
        frame = owner.frame;
    }
}

/// Returns true if people are asked whether a call took effect: always after a crash, otherwise if the policy pauses
/// the run; but not if the run has no journal, or if a `recover` arm of the step, or of one around it, handles the
/// unknown outcome.
fn asks_people(ctx: &Context, at: NodeRef, execution: u32, outcome: &UnknownOutcome) -> bool {
    let unknown = ErrorClass::UnknownOutcome;
    let program = ctx.tree.program(at.0);
    let own = ctx.tree.arm_for(&program, at, &unknown).is_some();
    let caught = own || ctx.tree.catcher(at, &unknown) == Some(Catcher::Arm);
    let path = ctx.tree.own_path(at);
    let recording = &ctx.outbox.recording;
    let asked = recording
        .question(&path, Waiting::Answer, execution)
        .is_some();
    let pauses = ctx.tree.scope(at.0).policy.on_failure == OnFailure::Pause;
    let can_wait = ctx.outbox.recording.is_durable() || ctx.setup.replay_only;
    asked
        || (!caught
            && can_wait
            && (outcome.orphaned || pauses)
            && !ctx
                .outbox
                .recording
                .has_unreplayed(EventName::StepSettled, &path))
}

/// Returns true if anything reads the value of a step.
fn is_read(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    let mut readers = ctx.tree.graph(&program, at.0).readers(at.1);
    readers.any(|(_, edge)| edge == Edge::Data)
}
