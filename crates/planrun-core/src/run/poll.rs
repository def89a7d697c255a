//! Polls: a call is made again and again until what it gives is what the step waits for.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::Sent;
use planrun_lang::sema::Until;
use planrun_lang::types::{ErrorClass, Transient};
use planrun_lang::value::Value;

use super::Program;
use super::leaf::Leaf;
use super::machine::{NodeRef, Run};
use crate::journal::{StepError, Waiting};

impl Run {
    /// What a poll waits for is not there, or nobody could tell: it goes on until the time of the step is over. Each poll
    /// is an execution of its own.
    pub(super) fn poll_again(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        until: &Until,
        leaf: Leaf,
        unheard: Option<Arc<StepError>>,
    ) {
        let wait = match self.evaluate(at.0, &until.every) {
            Ok(Value::Duration(nanos)) => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
            Ok(_) => Duration::ZERO,
            Err(error) => return self.expression_failed(program, at, &error),
        };
        let asked = unheard
            .as_ref()
            .and_then(|error| error.retry_after)
            .unwrap_or_default();
        let leaf = self
            .next_execution(program, at, leaf)
            .polls(unheard.clone());
        let least = Duration::from_millis(1);
        self.wait(at, leaf, Waiting::Poll, wait.max(asked).max(least), unheard);
    }

    /// Why the time of a poll is over without the latest one having told anything.
    pub(super) fn unheard(&self, at: NodeRef) -> Option<Arc<StepError>> {
        let leaf = self.leaves.get(&at)?;
        let path = self.own_path(at);
        let first = leaf.in_flight() && leaf.execution == self.first_execution(&path);
        let silent = || {
            let error = StepError::new(
                ErrorClass::Transient(Transient::Timeout),
                "no answer has come",
                &path,
            );
            Arc::new(StepError {
                attempt: 1,
                sent: Sent::Maybe,
                ..error
            })
        };
        leaf.unheard.clone().or_else(|| first.then(silent))
    }
}
