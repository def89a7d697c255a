//! `undo`: what a failed plan did is taken back, last first, one after the other; a failure stops none of the others.

use std::sync::Arc;

use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{Step, Undo};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

use super::Program;
use super::attempt::tool_call;
use super::frame::{Ending, FrameId, Role, Undone};
use super::machine::{NodeRef, Run};
use super::sensitive::{in_arguments, in_output};
use crate::journal::{FormField, Question, StepError, Waiting};

impl Run {
    /// A call has changed something, or may have: it, and every step around it, has something to take back. What an arm
    /// did to recover a step is not the step's.
    pub(super) fn note_change(&mut self, at: NodeRef) {
        if !self.aftermath.matters {
            return;
        }
        let mut inner = at;
        let mut counts = true;
        loop {
            if counts && self.has_undo(inner) {
                self.aftermath.touched.insert(inner);
            }
            let Some(owner) = self.frames[inner.0].owner else {
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

    /// A step has settled: from now on it is in the log, where it has something to take back.
    pub(super) fn note_settled(&mut self, at: NodeRef) {
        if self.aftermath.touched.remove(&at) {
            self.aftermath.happened.push(at);
        }
    }

    fn has_undo(&self, at: NodeRef) -> bool {
        let program = self.program(at.0);
        self.node(&program, at)
            .step()
            .is_some_and(|step| step.undo().is_some())
    }

    /// Whether a step has come to what it does without its arms.
    fn has_worked(&self, at: NodeRef) -> bool {
        let caught = self.frames[at.0].records[at.1 as usize]
            .details()
            .and_then(|details| details.error.as_ref());
        self.state_of(at) == StepState::Completed && caught.is_none()
    }

    /// What a plan instance has to take back, so that the last one of the list is the first. The `undo` of a step that
    /// holds others takes the place of theirs where the step has worked; else theirs run, and it has nothing to read.
    pub(super) fn to_take_back(&self, frame: FrameId) -> Vec<NodeRef> {
        let wanted = |at: &&NodeRef| {
            let (mut inner, mut within) = (at.0, false);
            loop {
                within |= inner == frame;
                let Some(owner) = self.frames[inner].owner else {
                    return within;
                };
                let outer = (owner.frame, owner.node);
                let replaced = !matches!(owner.role, Role::Recover | Role::Firing(_));
                if replaced && self.has_undo(outer) && self.has_worked(outer) {
                    return false;
                }
                inner = owner.frame;
            }
        };
        let own = |at: &&NodeRef| {
            let program = self.program(at.0);
            self.is_call(&program, **at) || self.has_worked(**at)
        };
        let fresh = |at: &&NodeRef| {
            let record = &self.frames[at.0].records[at.1 as usize];
            record
                .details()
                .is_none_or(|details| details.undone.is_none())
        };
        self.aftermath
            .happened
            .iter()
            .filter(own)
            .filter(wanted)
            .filter(fresh)
            .copied()
            .collect()
    }

    /// Takes a step back. Of one that may have happened it is found out first what it came to, where something can tell.
    pub(super) fn take_back(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return;
        };
        if !self.record(at.0, at.1).in_doubt {
            let slot = self.node(&program, at).slot;
            let gave = slot
                .and_then(|slot| self.frames[at.0].slots.get(slot as usize))
                .cloned();
            return self.open_undo(at, gave.unwrap_or(Value::Null));
        }
        if self.verifies(&program, step) {
            return self.open_verify(at);
        }
        self.undo_unknown(at);
    }

    fn open_undo(&mut self, at: NodeRef, gave: Value) {
        let program = self.program(at.0);
        if let Some(undo) = self.node(&program, at).step().and_then(Step::undo) {
            self.open_aside(&program, at, undo.body, Role::Undo, gave);
        }
    }

    /// It may have happened, and nobody knows what it gave: an `undo` that does not read that runs, one that does waits
    /// for somebody who knows.
    fn undo_unknown(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        match self.node(&program, at).step().and_then(Step::undo) {
            Some(undo) if undo.reads => self.ask_what_it_gave(&program, at, undo),
            Some(_) | None => self.open_undo(at, Value::Null),
        }
    }

    /// What can tell has looked at a step that may have happened.
    pub(super) fn resolved(&mut self, at: NodeRef, frame: FrameId, outcome: Result<(), Ending>) {
        let program = self.program(at.0);
        let gives = self
            .node(&program, at)
            .step()
            .and_then(Step::verify)
            .is_some_and(|verify| verify.gives);
        match outcome {
            Ok(()) if gives => {
                let gave = self.frames[frame].values.pop().unwrap_or(Value::Null);
                self.open_undo(at, gave);
            }
            Err(Ending::Failed(error)) if super::aftermath::says_no(&error) => {
                self.next_to_take_back(at);
            }
            Ok(()) | Err(_) => self.undo_unknown(at),
        }
    }

    fn ask_what_it_gave(&mut self, program: &Program, at: NodeRef, undo: &Undo) {
        let path = self.path(program, at);
        let details = self.frames[at.0].records[at.1 as usize].details();
        let execution = details
            .and_then(|details| details.execution.as_ref())
            .map_or(0, |execution| execution.number);
        let arguments = details.and_then(|details| details.arguments.clone());
        let tool = tool_call(program, self, at).map(|(.., signature)| signature.path().into());
        let arguments = arguments.unwrap_or_else(|| self.no_arguments.clone());
        let step = self.node(program, at).step();
        let sensitive = step
            .map(|step| in_arguments(step, &arguments))
            .unwrap_or_default();
        let secret = step.is_some_and(|step| !in_output(step).is_empty());
        let text = format!(
            "Did `{path}` happen, and what did it give? It is taken back, and its `undo` reads that."
        );
        let question = Question {
            asked_at: self.now.wall,
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
        let before = self.state_of(at);
        self.aftermath.asked.insert(at, before);
        if let Some(past) = self.recording.asked_after_end(&path, execution) {
            return self.ask_as_before(program, at, past);
        }
        self.ask_first(program, at, question);
    }

    /// Whether somebody is asked what a step gave, so that it can be taken back.
    pub(super) fn is_told_what_it_gave(&self, at: NodeRef) -> bool {
        self.aftermath.asked.contains_key(&at)
    }

    /// That is asked no longer: the step stands as it stood before.
    pub(super) fn leave_what_it_gave(&mut self, at: NodeRef) {
        if let Some(state) = self.aftermath.asked.remove(&at) {
            self.release_hold(at);
            self.frames[at.0].node(at.1).state = state;
        }
    }

    /// Somebody has said what became of it: `{ happened: bool, value: … }`.
    pub(super) fn told_what_it_gave(&mut self, at: NodeRef, told: &Value) {
        self.leave_what_it_gave(at);
        if told.get("happened") == Some(&Value::Bool(true)) {
            return self.open_undo(at, told.get("value").cloned().unwrap_or(Value::Null));
        }
        self.next_to_take_back(at);
    }

    /// Nobody can say it.
    pub(super) fn not_told_what_it_gave(&mut self, at: NodeRef, error: StepError) {
        self.leave_what_it_gave(at);
        self.taken_back(at, Err(Ending::Failed(Arc::new(error))));
        self.next_to_take_back(at);
    }

    pub(super) fn taken_back(&mut self, at: NodeRef, outcome: Result<(), Ending>) {
        let undone = match outcome {
            Ok(()) => Undone::Yes,
            Err(Ending::Failed(error)) => Undone::No(error),
            Err(Ending::Cancelled) => {
                let path: Arc<str> = format!("{}.undo", self.own_path(at)).into();
                Undone::No(Arc::new(StepError::new(
                    ErrorClass::Cancelled,
                    "it was not waited for",
                    &path,
                )))
            }
        };
        self.record(at.0, at.1).details_mut().undone = Some(undone);
    }

    /// Why steps could not be taken back: somebody must look after them.
    pub(super) fn not_undone(&self) -> Vec<Arc<StepError>> {
        let failed = |at: &NodeRef| match self.frames[at.0].records[at.1 as usize]
            .details()?
            .undone
            .as_ref()?
        {
            Undone::Yes => None,
            Undone::No(error) => Some(error.clone()),
        };
        self.aftermath.happened.iter().filter_map(failed).collect()
    }
}

/// Whether a failed call may have changed something: nobody knows, or it answered with what its contract forbids.
pub(super) fn may_have_happened(error: &StepError) -> bool {
    match error.class {
        ErrorClass::UnknownOutcome => true,
        ErrorClass::Validation(Validation::Result) if error.sent == Sent::Answered => true,
        _ => error.sent == Sent::Maybe,
    }
}
