//! `wait`: steps that wait for a moment, which is kept when the process is not.

use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::sema::expr::Code;
use planrun_lang::value::Value;

use super::Program;
use super::gate::whole_milliseconds;
use super::machine::{NodeRef, Run};
use crate::journal::EventKind;

impl Run {
    /// Waits for a moment; one that is past is there at once.
    pub(super) fn start_sleep(&mut self, program: &Arc<Program>, at: NodeRef, moment: &Code) {
        let path = self.path(program, at);
        if let Some(until) = self.recording.slept_until(&path) {
            return self.hold(at, path, None, Some(until));
        }
        let now = self.now.wall;
        let until = match self.moment(at, moment, now) {
            Ok(until) => whole_milliseconds(until),
            Err(error) => {
                self.compounds.remove(&at);
                return self.expression_failed(program, at, &error);
            }
        };
        if until <= now {
            return self.complete(at, Value::Null);
        }
        self.emit(EventKind::StepSleeps {
            path: path.clone(),
            until,
        });
        self.hold(at, path, None, Some(until));
    }

    fn moment(&self, at: NodeRef, code: &Code, now: i128) -> Result<i128, EvalError> {
        match self.evaluate(at.0, code)? {
            Value::Duration(nanos) => Ok(now + nanos.max(0)),
            Value::Timestamp(until) => Ok(until),
            other => {
                let message = format!(
                    "`wait` takes a length of time or a moment, and this is {}",
                    other.preview(80)
                );
                Err(EvalError::new(FailureKind::NoOverload, message, code.span))
            }
        }
    }
}
