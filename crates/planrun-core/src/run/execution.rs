//! Executions: the attempts of a call that share arguments and idempotency key, until the outcome is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;

use super::frame::NodeRef;
use crate::journal::Question;

/// An execution that has begun and not ended. To continue it, the same request is sent again.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// The step that made its attempts.
    pub at: NodeRef,
    pub number: u32,
    /// Name of the tool that it calls.
    pub tool: Arc<str>,
    pub arguments: Value,
    /// Wall-clock time at which the first attempt that may have arrived was sent, in nanoseconds since the Unix epoch.
    pub arrived: Option<i128>,
    /// Whether one of its attempts may have taken effect.
    pub in_doubt: bool,
    /// The question on whose answer its attempts were sent.
    pub approval: Option<Arc<Question>>,
}

/// Earlier executions at the paths of retried steps.
#[derive(Default)]
pub(super) struct Executions {
    before: BTreeMap<Arc<str>, Before>,
}

/// Earlier executions at one path.
#[derive(Default)]
struct Before {
    /// Number of attempts that were made for steps whose frames have ended, and for the step that is retried. Every
    /// execution has an attempt, so no execution has had their sum as its number.
    ended: u32,
    retried: u32,
    open: Option<Execution>,
    /// Results of calls with different arguments that have completed and are not made again.
    completed: Vec<Completed>,
}

/// A call that has completed and is not made again.
pub(super) struct Completed {
    /// The step that has made it.
    pub at: NodeRef,
    pub arguments: Value,
    pub output: Value,
}

impl Executions {
    /// Returns the number of the first execution of a call since its step began or was last retried.
    pub(super) fn first(&self, path: &str) -> u32 {
        self.before.get(path).map_or(0, |before| {
            let open = before.open.as_ref();
            open.map_or(before.ended + before.retried, |open| open.number)
        })
    }

    /// Returns the open execution that a call continues.
    pub(super) fn open(&self, path: &str) -> Option<&Execution> {
        self.before.get(path)?.open.as_ref()
    }

    /// Ends the open execution at a path if a patch has replaced its call, which was never made, by another one.
    pub(super) fn replaced(&mut self, path: &str, tool: &str, arguments: &Value) {
        let Some(before) = self.before.get_mut(path) else {
            return;
        };
        let is_replaced = |open: &mut Execution| {
            open.arrived.is_none()
                && !open.in_doubt
                && (*open.tool != *tool || open.arguments != *arguments)
        };
        before.open.take_if(is_replaced);
    }

    /// Records that a step is retried, after `attempts` attempts in its frame.
    pub(super) fn restart(&mut self, path: Arc<str>, attempts: u32, open: Option<Execution>) {
        let before = self.before.entry(path).or_default();
        (before.retried, before.open) = (attempts, open);
        before.completed.clear();
    }

    /// Records that another frame takes the place of that of a step, after `attempts` attempts in that.
    pub(super) fn restart_inner(&mut self, path: Arc<str>, attempts: u32, open: Option<Execution>) {
        let before = self.before.entry(path).or_default();
        before.ended += attempts;
        (before.retried, before.open) = (0, open);
    }

    /// Records that a call at a path has completed, so that it is not made again with the same arguments.
    pub(super) fn completed(&mut self, path: Arc<str>, result: Completed) {
        let completed = &mut self.before.entry(path).or_default().completed;
        completed.retain(|known| known.arguments != result.arguments);
        completed.push(result);
    }

    /// Ends the open execution at a path, and forgets the completed ones: their effects have been undone.
    pub(super) fn undone(&mut self, path: &str) {
        if let Some(before) = self.before.get_mut(path) {
            before.open = None;
            before.completed.clear();
        }
    }

    /// Returns the call at a path that has completed with these arguments and is not made again.
    pub(super) fn result(&self, path: &str, arguments: &Value) -> Option<&Completed> {
        let mut completed = self.before.get(path)?.completed.iter();
        completed.find(|known| known.arguments == *arguments)
    }

    /// Returns the open execution of a call that may have happened and must not happen twice.
    pub(super) fn in_doubt(&self, path: &str, effect: Effect) -> Option<&Execution> {
        let open = self.open(path)?;
        (open.in_doubt && !effect.repeatable()).then_some(open)
    }
}

/// Returns the idempotency key of an execution: the same for every attempt at it, and different from all others.
pub(super) fn idempotency_key(run: &str, effect: Effect, path: &str, execution: u32) -> Arc<str> {
    if effect == Effect::Pure {
        // Nothing remembers a pure call, so two of them need not be distinguished.
        return Arc::default();
    }
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
    hash.finalize().to_hex()[..32].into()
}
