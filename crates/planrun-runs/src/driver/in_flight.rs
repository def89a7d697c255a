//! The attempts in flight of a run, and the log whose lease is kept until those that may change something have ended.

use std::collections::{HashMap, HashSet};

use planrun_core::run::{CallId, Input};
use planrun_tools::host::runtime_now;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::attempt::{CLEAN_UP, DriverMessage, MAX_MESSAGES};
use crate::journal::Log;

/// The attempts in flight, the channel on which they report, and the log of the run.
///
/// When it is dropped before the log was taken, such as with the future that drives the run, every attempt is told to
/// stop, and the lease is released once the effects among them have ended: another driver must not repeat an effect
/// while it is still happening.
pub(super) struct InFlight {
    pub log: Option<Box<dyn Log>>,
    pub sender: mpsc::Sender<DriverMessage>,
    pub receiver: mpsc::Receiver<DriverMessage>,
    attempts: HashMap<CallId, Attempted>,
    /// Attempts at effects that were told to stop and have not ended. Until they have, no further call is sent: an undo,
    /// or whatever else comes next, must not overtake them.
    stopping: HashSet<CallId>,
    runtime: Handle,
}

/// An attempt in flight.
struct Attempted {
    /// Stops it.
    cancel: CancellationToken,
    /// Whether it may change something.
    changes: bool,
}

impl InFlight {
    /// Must be called within a tokio runtime.
    pub(super) fn new(log: Option<Box<dyn Log>>) -> Self {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        Self {
            log,
            sender,
            receiver,
            attempts: HashMap::new(),
            stopping: HashSet::new(),
            runtime: Handle::current(),
        }
    }

    /// Adds an attempt, which `cancel` stops. `changes`: whether it may change something.
    pub(super) fn add(&mut self, call: CallId, cancel: CancellationToken, changes: bool) {
        self.attempts.insert(call, Attempted { cancel, changes });
    }

    /// Tells an attempt to stop.
    pub(super) fn stop(&mut self, call: CallId) {
        if let Some(attempt) = self.attempts.remove(&call) {
            attempt.cancel.cancel();
            if attempt.changes {
                self.stopping.insert(call);
            }
        }
    }

    /// Removes an attempt that has ended.
    pub(super) fn ended(&mut self, call: CallId) {
        self.attempts.remove(&call);
        self.stopping.remove(&call);
    }

    /// Leaves the attempts that are still in flight to their peers, which a later process reattaches to.
    pub(super) fn leave(&mut self) {
        self.attempts.clear();
    }

    /// Returns true if an attempt at an effect was told to stop and has not ended.
    pub(super) fn is_stopping(&self) -> bool {
        !self.stopping.is_empty()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let calls: Vec<CallId> = self.attempts.keys().copied().collect();
        for call in calls {
            self.stop(call);
        }
        let Some(log) = self.log.take() else {
            return;
        };
        if self.stopping.is_empty() {
            // Some logs release their lease at once, others when the future is polled. A failure cannot be reported.
            drop(self.runtime.spawn(log.release()));
            return;
        }
        let (_, nothing) = mpsc::channel(1);
        let mut receiver = std::mem::replace(&mut self.receiver, nothing);
        let mut stopping = std::mem::take(&mut self.stopping);
        // An attempt that does not let go of its thread must not keep the run from being resumed for ever.
        let limit = runtime_now() + 2 * CLEAN_UP;
        drop(self.runtime.spawn(async move {
            let ends = async {
                while !stopping.is_empty()
                    && let Some(message) = receiver.recv().await
                {
                    if let DriverMessage::Input(Input::CallEnded { call, .. }) = message {
                        stopping.remove(&call);
                    }
                }
            };
            let _ = tokio::time::timeout_at(limit, ends).await;
            let _ = log.release().await;
        }));
    }
}
