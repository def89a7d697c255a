//! `undo`: undoes the effects of a failed plan, one after the other, last first; a failure does not stop the others.

use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Step, Undo};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::{Compensation, open_auxiliary};
use crate::journal::{FormField, Question, StepError, Waiting};
use crate::run::agenda::{End, Inquiry};
use crate::run::context::Context;
use crate::run::frame::{Ending, FrameId, NodeRef, Role, Undone};
use crate::run::program::Program;
use crate::run::reached::Reached;
use crate::run::sensitive::{in_arguments, in_output};

impl Compensation {
    /// Records that a call has, or may have, changed something, so that it and every step around it has something to
    /// undo. The effects of a `recover` arm do not count as effects of its step.
    pub(in crate::run) fn note_change(&mut self, ctx: &Context, at: NodeRef) {
        if !self.matters {
            return;
        }
        let mut inner = at;
        let mut counts = true;
        loop {
            if counts && has_undo(ctx, inner) {
                self.touched.insert(inner);
            }
            let Some(owner) = ctx.tree[inner.0].owner else {
                return;
            };
            counts = match owner.role {
                Role::Undo | Role::Verify => return,
                Role::Recover | Role::Firing(_) => false,
                Role::Body | Role::Element(_) | Role::Round | Role::Branch(_) => true,
            };
            inner = (owner.frame, owner.node);
        }
    }

    /// Records that a step has settled. If it has something to undo, it is among the steps to undo from then on.
    pub(in crate::run) fn note_settled(&mut self, at: NodeRef) {
        if self.touched.remove(&at) {
            self.happened.push(at);
        }
    }

    /// Returns the steps that a plan instance has to undo; the last one of the list is undone first. The `undo` of a
    /// step that holds others replaces theirs if the step has completed by itself; otherwise theirs run, because its
    /// own has no value to read.
    pub(in crate::run) fn to_undo(&self, ctx: &Context, frame: FrameId) -> Vec<NodeRef> {
        let belongs = |at: &&NodeRef| {
            let (mut inner, mut within) = (at.0, false);
            loop {
                within |= inner == frame;
                let Some(owner) = ctx.tree[inner].owner else {
                    return within;
                };
                let outer = (owner.frame, owner.node);
                let replaced = !matches!(owner.role, Role::Recover | Role::Firing(_));
                if replaced && has_undo(ctx, outer) && has_worked(ctx, outer) {
                    return false;
                }
                inner = owner.frame;
            }
        };
        let own = |at: &&NodeRef| {
            let program = ctx.tree.program(at.0);
            let is_call = ctx.tree.is_call(&program, **at);
            // A call of which it has become known that it did not happen is done with.
            is_call && ctx.tree.record(**at).in_doubt || has_worked(ctx, **at)
        };
        let fresh = |at: &&NodeRef| {
            let record = ctx.tree.record(**at);
            record
                .details()
                .is_none_or(|details| details.undone.is_none())
        };
        self.happened
            .iter()
            .filter(own)
            .filter(belongs)
            .filter(fresh)
            .copied()
            .collect()
    }

    /// Undoes a step. If its outcome is unknown, it is verified first, provided that it can be.
    pub(in crate::run) fn undo_step(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        if !ctx.tree.record(at).in_doubt {
            let gave = ctx.tree.value_of(&program, at);
            return open_undo(ctx, at, gave.unwrap_or(Value::Null));
        }
        if ctx.setup.verifies(&program, step) {
            return ctx.then(Inquiry::OpenVerify(at));
        }
        self.undo_unknown(ctx, at);
    }

    /// Undoes a step whose outcome is unknown: an `undo` that does not read its value runs at once, any other waits for
    /// a person who knows the value.
    fn undo_unknown(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        match ctx.tree.step(&program, at).and_then(Step::undo) {
            Some(undo) if undo.reads => self.ask_what_it_gave(ctx, &program, at, undo),
            Some(_) | None => open_undo(ctx, at, Value::Null),
        }
    }

    /// Handles the end of the verification of a step whose outcome was unknown.
    pub(in crate::run) fn resolved(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let program = ctx.tree.program(at.0);
        let gives = ctx
            .tree
            .step(&program, at)
            .and_then(Step::verify)
            .is_some_and(|verify| verify.gives);
        match outcome {
            Err(Ending::Failed(error)) if error.denies_effect() => {
                ctx.tree.record_mut(at).in_doubt = false;
                self.next_to_undo(ctx, at);
            }
            Ok(()) | Err(_) if let Some(why) = self.abandoned => {
                skip_undo(ctx, &[at], why);
                self.next_to_undo(ctx, at);
            }
            Ok(()) if gives => {
                let gave = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
                open_undo(ctx, at, gave);
            }
            Ok(()) | Err(_) => self.undo_unknown(ctx, at),
        }
    }

    fn ask_what_it_gave(&mut self, ctx: &mut Context, program: &Program, at: NodeRef, undo: &Undo) {
        let path = ctx.tree.path(program, at);
        let details = ctx.tree.record(at).details();
        let execution = details
            .and_then(|details| details.execution.as_ref())
            .map_or(0, |execution| execution.number);
        let arguments = details.and_then(|details| details.arguments.clone());
        let tool = ctx
            .tree
            .tool_call(program, at)
            .map(|(.., signature)| signature.path().into());
        let arguments = arguments.unwrap_or_else(|| ctx.no_arguments.clone());
        let step = ctx.tree.step(program, at);
        let sensitive = step
            .map(|step| in_arguments(step, &arguments))
            .unwrap_or_default();
        let secret = step.is_some_and(|step| !in_output(step, &Value::Null).is_empty());
        let text = format!(
            "Did `{path}` happen, and what did it return? It will be undone, and its `undo` reads the result."
        );
        let question = Question {
            asked_at: ctx.outbox.now.wall,
            execution,
            tool: tool.unwrap_or_default(),
            effect: step.map(|step| step.effect),
            arguments,
            sensitive,
            form: vec![FormField {
                secret,
                ..FormField::plain("value", &undo.gives)
            }],
            ..Question::plain(Waiting::Answer, text)
        };
        let before = ctx.tree.state_of(at);
        self.asked.insert(at, before);
        if let Some(recorded) = ctx.outbox.recording.asked_after_end(&path, execution) {
            return ctx.then(Inquiry::AskAgain(at, Box::new(recorded)));
        }
        ctx.then(Inquiry::Ask(at, Box::new(question)));
    }

    /// Returns true if people are asked for the value of a step, so that it can be undone.
    pub(in crate::run) fn asks(&self, at: NodeRef) -> bool {
        self.asked.contains_key(&at)
    }

    /// Ends the question for the value of a step, and restores the state of the step.
    pub(in crate::run) fn stop_asking(&mut self, ctx: &mut Context, at: NodeRef) {
        if let Some(state) = self.asked.remove(&at) {
            ctx.tree.set_state(at, state);
        }
    }

    /// Handles a person's answer: `{ happened: bool, value: … }`.
    pub(in crate::run) fn answered(&mut self, ctx: &mut Context, at: NodeRef, answer: &Value) {
        self.stop_asking(ctx, at);
        if answer.get("happened") == Some(&Value::Bool(true)) {
            return open_undo(ctx, at, answer.get("value").cloned().unwrap_or(Value::Null));
        }
        ctx.tree.record_mut(at).in_doubt = false;
        self.next_to_undo(ctx, at);
    }

    /// Handles a question that nobody answered: the undo has failed.
    pub(in crate::run) fn unanswered(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        error: Arc<StepError>,
    ) {
        self.stop_asking(ctx, at);
        undone(ctx, at, Err(Ending::Failed(error)));
        self.next_to_undo(ctx, at);
    }

    /// Returns why steps could not be undone, so that a person can repair them.
    pub(in crate::run) fn not_undone(&self, ctx: &Context) -> Vec<Arc<StepError>> {
        let failed = |at: &NodeRef| match ctx.tree.record(*at).details()?.undone.as_ref()? {
            Undone::Yes => None,
            Undone::No(error) | Undone::Skipped(error) => Some(error.clone()),
        };
        self.happened.iter().filter_map(failed).collect()
    }

    /// Returns true if a settled call leaves an effect behind that may have to be undone.
    pub(in crate::run) fn has_changed(
        &self,
        ctx: &Context,
        program: &Program,
        at: NodeRef,
        end: &End,
    ) -> bool {
        if !self.matters || !ctx.tree.is_call(program, at) {
            return false;
        }
        let effect = ctx.tree.step(program, at).map(|step| step.effect);
        if ctx
            .tree
            .record(at)
            .details()
            .is_some_and(|details| details.copied)
        {
            // Another run has made the call, so this run does not undo it.
            return false;
        }
        let record = &ctx.tree.record(at);
        let gave = matches!(end, End::Completed(_))
            && record
                .details()
                .is_none_or(|details| details.error.is_none());
        (gave || record.in_doubt) && effect.is_some_and(|effect| !effect.is_read_only())
    }
}

pub(super) fn open_undo(ctx: &mut Context, at: NodeRef, gave: Value) {
    let program = ctx.tree.program(at.0);
    if let Some(undo) = ctx.tree.step(&program, at).and_then(Step::undo) {
        ctx.reached(at, Reached::Undone);
        open_auxiliary(ctx, &program, at, undo.body, Role::Undo, gave);
    }
}

/// Returns what an `undo` has done although it was ended: nothing may have been left to do, or a call may have failed.
pub(super) fn in_effect(
    ctx: &Context,
    frame: FrameId,
    outcome: Result<(), Ending>,
) -> Result<(), Ending> {
    if !matches!(outcome, Err(Ending::Cancelled)) {
        return outcome;
    }
    let frame = &ctx.tree[frame];
    let mut records = frame.records.iter().filter(|record| !record.recovered);
    let error = records.find_map(|record| record.details()?.error.clone());
    if let Some(error) = error {
        return Err(Ending::Failed(error));
    }
    // Nodes without a record are no statements.
    let statements = frame.nodes.iter().zip(&frame.records);
    let mut states = statements.map(|(node, _)| node.state);
    let is_done = states.all(|state| matches!(state, StepState::Completed | StepState::Skipped));
    if is_done { Ok(()) } else { outcome }
}

/// Records that steps are not undone, because the run was cancelled while it undid its effects. Those whose `undo` has
/// failed before keep their errors.
pub(super) fn skip_undo(ctx: &mut Context, steps: &[NodeRef], why: &str) {
    for at in steps {
        let path: Arc<str> = format!("{}.undo", ctx.tree.own_path(*at)).into();
        let error = Arc::new(StepError::new(ErrorClass::Cancelled, why, &path));
        let details = ctx.tree.record_mut(*at).details_mut();
        details.undone.get_or_insert(Undone::Skipped(error));
    }
}

pub(in crate::run) fn undone(ctx: &mut Context, at: NodeRef, outcome: Result<(), Ending>) {
    let undone = match outcome {
        Ok(()) => Undone::Yes,
        Err(Ending::Failed(error)) => Undone::No(error),
        Err(Ending::Cancelled) => {
            let path: Arc<str> = format!("{}.undo", ctx.tree.own_path(at)).into();
            Undone::No(Arc::new(StepError::new(
                ErrorClass::Cancelled,
                "it was cancelled before it completed",
                &path,
            )))
        }
    };
    ctx.tree.record_mut(at).details_mut().undone = Some(undone);
}

/// Returns true if a step has completed without a `recover` arm.
fn has_worked(ctx: &Context, at: NodeRef) -> bool {
    let caught = ctx
        .tree
        .record(at)
        .details()
        .and_then(|details| details.error.as_ref());
    ctx.tree.state_of(at) == StepState::Completed && caught.is_none()
}

fn has_undo(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    ctx.tree
        .step(&program, at)
        .is_some_and(|step| step.undo().is_some())
}
