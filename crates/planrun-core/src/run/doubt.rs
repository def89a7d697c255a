//! Calls whose answer was lost: what can tell is asked whether they happened, then people are.

use std::sync::Arc;

use planrun_lang::graph::Edge;
use planrun_lang::sema::{OnFailure, Step};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::attempt::tool_call;
use super::frame::{Ending, FrameId};
use super::leaf::Leaf;
use super::machine::{NodeRef, Run};
use super::park::Catcher;
use super::sensitive::{in_arguments, in_output};
use crate::journal::{EventKind, FormField, Question, StepError, Waiting};

/// How often a call is sent again because nothing of it was found.
const MOST_SENDS: u32 = 3;

/// A call of which nobody knows whether it happened.
pub(super) struct Doubt {
    error: Arc<StepError>,
    /// The process that had sent it is gone, so nobody knows what else was lost.
    orphaned: bool,
}

impl Run {
    /// A call has failed, and no further attempt is made.
    pub(super) fn call_failed(&mut self, at: NodeRef, leaf: Leaf, error: Arc<StepError>) {
        if error.class == ErrorClass::UnknownOutcome {
            return self.doubt(at, leaf, error, false);
        }
        self.step_failed(at, error);
    }

    /// Nobody knows whether a call happened; it holds no slot any more.
    pub(super) fn doubt(&mut self, at: NodeRef, leaf: Leaf, error: Arc<StepError>, orphaned: bool) {
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return;
        };
        let path = self.path(&program, at);
        self.close_peer_question(at);
        self.record(at.0, at.1).in_doubt = true;
        let replays = self.recording.is_replaying();
        let verifies = self.verifies(&program, step);
        let decided_before = replays && !self.recording.has_waited(&path);
        let doubt = Doubt {
            error: error.clone(),
            orphaned: orphaned || replays,
        };
        let asks = self.asks_people(at, step, leaf.execution, &doubt);
        if decided_before || self.frames[at.0].ending.is_some() || !(verifies || asks) {
            return self.step_failed(at, error);
        }
        let attempt = self.record(at.0, at.1).attempts;
        let (what, wait) = (Waiting::Outcome, std::time::Duration::ZERO);
        self.emit(EventKind::StepWaiting {
            path: path.clone(),
            attempt,
            what,
            wait,
            error: Some(error.clone()),
        });
        self.put_aside(at, leaf);
        self.aftermath.doubts.insert(at, doubt);
        if verifies {
            self.open_verify(at);
        } else {
            self.ask_whether(at);
        }
    }

    /// Whether somebody is asked what became of a call: after a crash always, else where the run shall pause; not where
    /// an arm of the step, or of one around it, says what to do.
    fn asks_people(&self, at: NodeRef, step: &Step, execution: u32, doubt: &Doubt) -> bool {
        let unknown = ErrorClass::UnknownOutcome;
        let program = self.program(at.0);
        let own = step
            .recover
            .iter()
            .any(|arm| self.takes(&program, arm, &unknown));
        let caught = own || self.catcher(at, &unknown) == Some(Catcher::Arm);
        let path = self.own_path(at);
        let asked = self.recording.has_asked(&path, Waiting::Answer, execution);
        let pauses = self.scopes[self.frames[at.0].scope].policy.on_failure == OnFailure::Pause;
        let can_wait = self.recording.is_durable() || self.setup.only_looks;
        asked
            || (!caught
                && can_wait
                && (doubt.orphaned || pauses)
                && !self.recording.has_settled(&path))
    }

    /// What can tell has looked.
    pub(super) fn doubt_looked_at(
        &mut self,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {
                let value = self.frames[frame].values.pop().unwrap_or(Value::Null);
                let program = self.program(at.0);
                let gives = self
                    .node(&program, at)
                    .step()
                    .and_then(Step::verify)
                    .is_some_and(|verify| verify.gives);
                if gives || !self.is_read(at) {
                    self.aftermath
                        .checks
                        .insert(at, super::aftermath::Check::Holds);
                    return self.happened(at, value, gives);
                }
                self.ask_or_fail(at);
            }
            Err(Ending::Failed(error)) if super::aftermath::says_no(&error) => {
                let sent = self.leaves.get(&at).map_or(MOST_SENDS, |leaf| leaf.sends);
                if sent < MOST_SENDS {
                    self.send_again(at);
                } else {
                    self.ask_or_fail(at);
                }
            }
            Err(Ending::Failed(_) | Ending::Cancelled) => self.ask_or_fail(at),
        }
    }

    /// Somebody has said what became of a call: `{ happened: bool, value: … }`.
    pub(super) fn outcome_told(&mut self, at: NodeRef, told: &Value) {
        if told.get("happened") == Some(&Value::Bool(true)) {
            let value = told.get("value").cloned().unwrap_or(Value::Null);
            return self.happened(at, value, true);
        }
        self.send_again(at);
    }

    /// `known`: whether the value is what the call gave.
    fn happened(&mut self, at: NodeRef, value: Value, known: bool) {
        self.aftermath.doubts.remove(&at);
        let record = self.record(at.0, at.1);
        record.in_doubt = !known;
        record.end_execution();
        self.complete(at, value);
    }

    /// It did not happen: the same execution goes out again, with its key and its arguments.
    fn send_again(&mut self, at: NodeRef) {
        self.aftermath.doubts.remove(&at);
        self.record(at.0, at.1).in_doubt = false;
        let path = self.own_path(at);
        let Some(past) = self.recording.begun(&path) else {
            let number = self.leaves.get_mut(&at).map(|leaf| {
                leaf.sends += 1;
                leaf.forget_attempts();
                leaf.number
            });
            return number.into_iter().for_each(|number| self.again(at, number));
        };
        let Some(leaf) = self.leaves.remove(&at) else {
            return;
        };
        self.hold_slot(self.frames[at.0].scope);
        self.begin_again(at, leaf.effect, path, past);
        if let Some(again) = self.leaves.get_mut(&at) {
            again.sends = leaf.sends + 1;
        }
    }

    fn ask_or_fail(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return;
        };
        let Some(execution) = self.leaves.get(&at).map(|leaf| leaf.execution) else {
            return;
        };
        let Some(doubt) = self.aftermath.doubts.get(&at) else {
            return;
        };
        if self.asks_people(at, step, execution, doubt) {
            return self.ask_whether(at);
        }
        let error = doubt.error.clone();
        self.aftermath.doubts.remove(&at);
        self.drop_leaf(at);
        self.step_failed(at, error);
    }

    fn ask_whether(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else {
            return;
        };
        let Some(leaf) = self.leaves.get(&at) else {
            return;
        };
        let Some(doubt) = self.aftermath.doubts.get(&at) else {
            return;
        };
        let path = self.path(&program, at);
        let secret = !in_output(step).is_empty();
        let question = Question {
            why: Some(format!("{}: {}", doubt.error.class, doubt.error.message).into()),
            asked_at: self.now.wall,
            execution: leaf.execution,
            tool: signature.path().into(),
            effect: Some(step.effect),
            sensitive: in_arguments(step, &leaf.arguments),
            arguments: leaf.arguments.clone(),
            form: vec![FormField {
                secret,
                ..FormField::plain("value", &step.ty)
            }],
            ..Question::plain(Waiting::Answer, format!("Did `{path}` happen?"))
        };
        if let Some(past) = self
            .recording
            .asked(&path, Waiting::Answer, question.execution)
        {
            return self.ask_as_before(&program, at, past);
        }
        self.ask_first(&program, at, question);
    }

    /// The error of a call in doubt, which is settled because of something else.
    pub(super) fn leave_doubt(&mut self, at: NodeRef) -> Option<Arc<StepError>> {
        self.aftermath.doubts.remove(&at).map(|doubt| doubt.error)
    }

    /// Whether anything reads the value of a step.
    fn is_read(&self, at: NodeRef) -> bool {
        let program = self.program(at.0);
        self.graph(&program, at.0)
            .readers(at.1)
            .any(|(_, edge)| edge == Edge::Data)
    }
}
