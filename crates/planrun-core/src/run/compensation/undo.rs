//! `undo`: what a failed plan did is undone, last first, one after the other; a failure stops none of the others.

use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Step, Undo};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::{Compensation, open_aside};
use crate::journal::{FormField, Question, StepError, Waiting};
use crate::run::agenda::{End, Inquiry};
use crate::run::context::Context;
use crate::run::frame::{Ending, FrameId, NodeRef, Role, Undone};
use crate::run::program::Program;
use crate::run::reached::Reached;
use crate::run::sensitive::{in_arguments, in_output};

impl Compensation {
    /// A call has changed something, or may have: it, and every step around it, has something to undo. What an arm
    /// did to recover a step is not the step's.
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

    /// A step has settled: from now on it is in the log, where it has something to undo.
    pub(in crate::run) fn note_settled(&mut self, at: NodeRef) {
        if self.touched.remove(&at) {
            self.happened.push(at);
        }
    }

    /// What a plan instance has to undo, so that the last one of the list is the first. The `undo` of a step that
    /// holds others takes the place of theirs where the step has worked; else theirs run, and it has nothing to read.
    pub(in crate::run) fn to_undo(&self, ctx: &Context, frame: FrameId) -> Vec<NodeRef> {
        let wanted = |at: &&NodeRef| {
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
            ctx.tree.is_call(&program, **at) || has_worked(ctx, **at)
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
            .filter(wanted)
            .filter(fresh)
            .copied()
            .collect()
    }

    /// Takes a step back. Of one that may have happened it is found out first what it came to, where something can tell.
    pub(in crate::run) fn undo_step(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        if !ctx.tree.record_mut(at).in_doubt {
            let gave = ctx.tree.value_of(&program, at);
            return open_undo(ctx, at, gave.unwrap_or(Value::Null));
        }
        if ctx.setup.verifies(&program, step) {
            return ctx.then(Inquiry::OpenVerify(at));
        }
        self.undo_unknown(ctx, at);
    }

    /// It may have happened, and nobody knows what it gave: an `undo` that does not read that runs, one that does waits
    /// for somebody who knows.
    fn undo_unknown(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        match ctx.tree.step(&program, at).and_then(Step::undo) {
            Some(undo) if undo.reads => self.ask_what_it_gave(ctx, &program, at, undo),
            Some(_) | None => open_undo(ctx, at, Value::Null),
        }
    }

    /// What can tell has verified a step that may have happened.
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
            Ok(()) if gives => {
                let gave = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
                open_undo(ctx, at, gave);
            }
            Err(Ending::Failed(error)) if error.says_no() => {
                self.next_to_undo(ctx, at);
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
        let secret = step.is_some_and(|step| !in_output(step).is_empty());
        let text = format!(
            "Did `{path}` happen, and what did it give? It is taken back, and its `undo` reads that."
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
        if let Some(past) = ctx.outbox.recording.asked_after_end(&path, execution) {
            return ctx.then(Inquiry::AskAgain(at, Box::new(past)));
        }
        ctx.then(Inquiry::Ask(at, Box::new(question)));
    }

    /// Whether somebody is asked what a step gave, so that it can be undone.
    pub(in crate::run) fn asks(&self, at: NodeRef) -> bool {
        self.asked.contains_key(&at)
    }

    /// That is asked no longer: the step stands as it stood before.
    pub(in crate::run) fn stop_asking(&mut self, ctx: &mut Context, at: NodeRef) {
        if let Some(state) = self.asked.remove(&at) {
            ctx.tree.set_state(at, state);
        }
    }

    /// Somebody has said what became of it: `{ happened: bool, value: … }`.
    pub(in crate::run) fn answered(&mut self, ctx: &mut Context, at: NodeRef, told: &Value) {
        self.stop_asking(ctx, at);
        if told.get("happened") == Some(&Value::Bool(true)) {
            return open_undo(ctx, at, told.get("value").cloned().unwrap_or(Value::Null));
        }
        self.next_to_undo(ctx, at);
    }

    /// Nobody can say it.
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

    /// Why steps could not be undone: somebody must see to them.
    pub(in crate::run) fn not_undone(&self, ctx: &Context) -> Vec<Arc<StepError>> {
        let failed = |at: &NodeRef| match ctx.tree.record(*at).details()?.undone.as_ref()? {
            Undone::Yes => None,
            Undone::No(error) => Some(error.clone()),
        };
        self.happened.iter().filter_map(failed).collect()
    }

    /// Whether the end of a call leaves something behind that can be undone.
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
            // Another run has done it, and that is not this one's to undo.
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

fn open_undo(ctx: &mut Context, at: NodeRef, gave: Value) {
    let program = ctx.tree.program(at.0);
    if let Some(undo) = ctx.tree.step(&program, at).and_then(Step::undo) {
        ctx.reached(at, Reached::Undone);
        open_aside(ctx, &program, at, undo.body, Role::Undo, gave);
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
                "it was not waited for",
                &path,
            )))
        }
    };
    ctx.tree.record_mut(at).details_mut().undone = Some(undone);
}

/// Whether a step has come to what it does without its arms.
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
