//! The calls of a run that has ended, for a run that is based on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::Step;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;

use super::copies::RepeatReason;
use super::frame::{Frame, Record, Role, Undone};
use super::trace::{Trace, arguments_of, output_of, path_of};

/// A call of a tool that a run has made, with its real values: nothing is redacted.
#[derive(Clone, Debug)]
pub struct PastCall {
    pub path: Arc<str>,
    pub tool: Arc<Signature>,
    pub arguments: Value,
    pub output: Value,
    /// Whether yet another run has made it.
    pub copied: bool,
    /// Why its result cannot be used, so that another run has to make the call again; `None` if it can.
    pub again: Option<RepeatReason>,
}

/// Returns the calls of a run that have completed, and its effects that may have happened or were undone, in source
/// order.
pub(super) fn past_calls(trace: &Trace) -> Vec<PastCall> {
    let mut calls: Vec<PastCall> = Vec::new();
    let mut known: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    trace.visit(|frame, node, statement, step| {
        let (record, state) = (&frame.records[node], frame.nodes[node].state);
        let Some(tool) = step.tool() else {
            return;
        };
        let Some(again) = fate(trace, (frame, record), step, state) else {
            return;
        };
        let call = PastCall {
            path: path_of(frame, statement),
            tool: tool.clone(),
            arguments: arguments_of(record),
            output: output_of(frame, statement),
            copied: record.details().is_some_and(|details| details.copied),
            again,
        };
        match known.get(&call.path) {
            // What a step did before it was retried is older.
            Some(index) if !frame.auxiliary => calls[*index] = call,
            Some(_) => {}
            None => {
                known.insert(call.path.clone(), calls.len());
                calls.push(call);
            }
        }
    });
    calls
}

/// Returns why the result of a call cannot be used by another run, or `Some(None)` if it can; `None` if the call has no
/// result and has certainly left no effect.
#[expect(
    clippy::option_option,
    reason = "a call that does not matter, and one without a reason"
)]
fn fate(
    trace: &Trace,
    (frame, record): (&Frame, &Record),
    step: &Step,
    state: StepState,
) -> Option<Option<RepeatReason>> {
    let completed = state == StepState::Completed && !record.recovered;
    let Worked { undone } = worked(trace, frame, record)?;
    if step.effect.is_read_only() {
        let is_valid = completed && !frame.auxiliary && undone.is_none();
        return is_valid.then_some(None);
    }
    let details = record.details();
    let open = details.and_then(|details| details.execution.as_ref());
    let in_doubt = record.in_doubt || open.is_some_and(|open| open.arrived.is_some());
    if !completed && !in_doubt {
        return None;
    }
    match undone {
        Some(Undone::Yes) => Some(Some(RepeatReason::Undone)),
        Some(Undone::No(_)) => Some(Some(RepeatReason::UndoFailed)),
        Some(Undone::Skipped(_)) | None if completed && !frame.auxiliary => Some(None),
        // What the retry of a step has taken over is reported there.
        Some(Undone::Skipped(_)) | None => {
            let is_elsewhere = details.is_some_and(|details| details.handed_over);
            (!is_elsewhere).then_some(Some(RepeatReason::Unknown))
        }
    }
}

/// A call that works for the plan, not for a `verify` or an `undo`.
struct Worked<'a> {
    /// The result of its `undo`, or of that of the innermost step around it that was undone as a whole.
    undone: Option<&'a Undone>,
}

fn worked<'a>(trace: &'a Trace, frame: &'a Frame, record: &'a Record) -> Option<Worked<'a>> {
    let of = |record: &'a Record| record.details().and_then(|details| details.undone.as_ref());
    let (mut undone, mut counts, mut inner) = (of(record), true, frame);
    while let Some(owner) = inner.owner {
        match owner.role {
            Role::Undo | Role::Verify => return None,
            // The `undo` of a step does not undo what an arm of it has done.
            Role::Recover | Role::Firing(_) => counts = false,
            Role::Body | Role::Element(_) | Role::Round | Role::Branch(_) => {}
        }
        inner = trace.frames.get(owner.frame)?;
        if counts && undone.is_none() {
            undone = inner.records.get(owner.node as usize).and_then(of);
        }
    }
    Some(Worked { undone })
}
