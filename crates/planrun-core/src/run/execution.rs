//! Executions: the attempts of a call that share its arguments and idempotency key, until the outcome is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;

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

/// What was called at the paths of steps that are done again.
#[derive(Default)]
pub(super) struct Executions {
    before: BTreeMap<Arc<str>, Before>,
}

/// What was called at a path before the step there is done again.
#[derive(Default)]
struct Before {
    /// All attempts so far: no execution has had this number.
    attempts: u32,
    open: Option<Execution>,
}

impl Executions {
    /// The number of the execution with which a call begins.
    pub(super) fn first(&self, path: &str) -> u32 {
        self.before.get(path).map_or(0, |before| {
            let open = before.open.as_ref();
            open.map_or(before.attempts, |open| open.number)
        })
    }

    /// The execution that a call goes on with.
    pub(super) fn open(&self, path: &str) -> Option<&Execution> {
        self.before.get(path)?.open.as_ref()
    }

    /// The step at a path is done again, after so many attempts in all.
    pub(super) fn restart(&mut self, path: Arc<str>, attempts: u32, open: Option<Execution>) {
        self.before.insert(path, Before { attempts, open });
    }

    /// A step inside one that is done again is done again, after so many further attempts.
    pub(super) fn restart_inner(&mut self, path: Arc<str>, attempts: u32, open: Option<Execution>) {
        let before = self.before.entry(path).or_default();
        before.attempts += attempts;
        before.open = open;
    }
}

/// The idempotency key of an execution: the same for every attempt at it, and for no other.
pub(super) fn idempotency_key(run: &str, effect: Effect, path: &str, execution: u32) -> Arc<str> {
    if effect == Effect::Pure {
        // Nothing remembers a pure call, so nothing needs to tell two of them apart.
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
