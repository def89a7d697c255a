//! Executions: attempts that share arguments and key, from the first one until it is known what came of them.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::Sent;
use planrun_lang::types::{Effect, ErrorClass, Signature};
use planrun_lang::value::Value;

use super::Program;
use super::duration_text::short_duration;
use super::leaf::Leaf;
use super::machine::{NodeRef, Run};
use super::undo::may_have_happened;
use crate::journal::StepError;

/// An execution that has begun and not ended: whoever goes on with it sends the same again.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub number: u32,
    pub arguments: Value,
    /// When the first attempt that may have arrived was sent, in nanoseconds since 1970.
    pub arrived: Option<i128>,
    /// Whether one of its attempts may have happened.
    pub in_doubt: bool,
}

/// What was called at a path before the step there is done again.
#[derive(Default)]
pub(super) struct Before {
    /// All attempts so far: no execution has had this number.
    pub attempts: u32,
    pub open: Option<Execution>,
}

impl Run {
    /// The number of the execution with which a call begins.
    pub(super) fn first_execution(&self, path: &str) -> u32 {
        self.parking.before(path).map_or(0, |before| {
            before
                .open
                .as_ref()
                .map_or(before.attempts, |open| open.number)
        })
    }

    /// The execution that a call goes on with.
    pub(super) fn open_execution(&mut self, at: NodeRef, path: &str) -> Option<Execution> {
        let open = self.parking.before(path)?.open.clone()?;
        // A patch may have changed what nobody outside has seen.
        if open.arrived.is_none() && self.recording.is_patched() {
            return None;
        }
        self.record(at.0, at.1).in_doubt |= open.in_doubt;
        Some(open)
    }

    /// An attempt goes out, or has failed: its execution goes on. What changes nothing may be begun anew each time.
    pub(super) fn note_open(&mut self, at: NodeRef, leaf: &Leaf) {
        if leaf.effect.is_read_only() {
            return;
        }
        let (number, arguments, arrived) = (leaf.execution, leaf.arguments.clone(), leaf.arrived);
        let record = self.record(at.0, at.1);
        let in_doubt = record.in_doubt;
        record.details_mut().execution = Some(Execution {
            number,
            arguments,
            arrived,
            in_doubt,
        });
    }

    /// A call has given what it promises.
    pub(super) fn note_success(&mut self, at: NodeRef) {
        let record = self.record(at.0, at.1);
        record.in_doubt = false;
        record.end_execution();
    }

    /// An attempt has failed.
    pub(super) fn note_failure(&mut self, at: NodeRef, effect: Effect, error: &StepError) {
        let record = self.record(at.0, at.1);
        record.in_doubt |= !effect.is_read_only() && may_have_happened(error);
        if error.ends_execution() {
            record.end_execution();
        }
    }

    pub(super) fn next_execution(&self, program: &Program, at: NodeRef, leaf: Leaf) -> Leaf {
        let execution = leaf.execution + 1;
        let key = self.key(leaf.effect, &self.path(program, at), execution);
        leaf.begins(execution, key)
    }

    pub(super) fn key(&self, effect: Effect, path: &str, execution: u32) -> Arc<str> {
        if effect == Effect::Pure {
            // Nothing remembers a pure call, so nothing needs to tell two of them apart.
            return Arc::default();
        }
        idempotency_key(&self.setup.run_id, path, execution).into()
    }

    /// Why a call may not be sent once more: its key has reached the other side so long ago that it may have been
    /// forgotten there, so that a repetition would pass for another call.
    pub(super) fn key_is_forgotten(
        &self,
        at: NodeRef,
        signature: &Signature,
        leaf: &Leaf,
    ) -> Option<StepError> {
        let (ttl, arrived) = (signature.key_ttl?, leaf.arrived?);
        let age = self.now.wall - arrived;
        if leaf.effect.is_read_only() || age < i128::try_from(ttl.as_nanos()).unwrap_or(i128::MAX) {
            return None;
        }
        let age = Duration::from_nanos(u64::try_from(age).unwrap_or(u64::MAX));
        let message = format!(
            "whether this happened is not known: it was sent {} ago, and `{}` recognizes a repetition for {} only",
            short_duration(age),
            signature.path(),
            short_duration(ttl),
        );
        let attempt = self.frames[at.0].records[at.1 as usize].attempts;
        let error = StepError::new(ErrorClass::UnknownOutcome, message, &self.own_path(at));
        Some(StepError {
            attempt,
            sent: Sent::Maybe,
            ..error
        })
    }
}

/// H(run, path, execution, direction): the same for every attempt of one execution, and for no other.
fn idempotency_key(run: &str, path: &str, execution: u32) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [
        run.as_bytes(),
        path.as_bytes(),
        &execution.to_le_bytes(),
        b"forward",
    ] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().to_hex()[..32].to_owned()
}
