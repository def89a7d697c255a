//! Results of another run that stand for calls of this one: they are taken over where nothing that decides them differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::Call;
use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;

use super::Program;
use super::machine::{NodeRef, Run};
use super::sensitive::{below, in_output};
use super::settle::End;
use crate::journal::{EventKind, OUTPUT, StepError};

/// What another run has to give.
#[derive(Debug, Default)]
pub struct Copies {
    /// The other run.
    pub run: Arc<str>,
    /// Its completed calls, by path.
    pub results: BTreeMap<Arc<str>, Copied>,
    /// Whether what it did may be done again, where that changes something.
    pub repeats_effects: bool,
}

/// One completed call of another run.
#[derive(Clone, Debug)]
pub struct Copied {
    pub arguments: Value,
    pub output: Value,
    /// The hash of its tool's contract.
    pub contract: String,
    /// Why it is to be made again whatever it is called with.
    pub again: Option<Again>,
}

/// Why the result of another run is not taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    /// Somebody wants the run to begin there, or above.
    Asked,
    /// The statement has changed.
    Definition,
    /// It would be called with other arguments.
    Arguments,
    /// The tool promises something else.
    Contract,
}

impl Again {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Definition => "definition",
            Self::Arguments => "arguments",
            Self::Contract => "contract",
        }
    }

    /// Every reason.
    pub const ALL: [Self; 4] = [
        Self::Asked,
        Self::Definition,
        Self::Arguments,
        Self::Contract,
    ];
}

impl Run {
    /// Whether the result of another run, or of an earlier process, stands for a call with these arguments; then the
    /// step has its value, or has failed because it must not be done again.
    pub(super) fn is_copied(
        &mut self,
        program: &Program,
        at: NodeRef,
        (call, signature): (&Call, &Signature),
        arguments: &Value,
    ) -> bool {
        if self.setup.copies.is_none() && !self.recording.is_replaying() {
            return false;
        }
        let path = self.path(program, at);
        if let Some(output) = self.recording.copied(&path) {
            self.take_over(at, &path, arguments, output);
            return true;
        }
        match self.copy_of(&path, signature, arguments) {
            None => false,
            Some(Ok(output)) => {
                self.take_over(at, &path, arguments, output);
                true
            }
            Some(Err(again)) => {
                self.record(at.0, at.1).details_mut().again = Some(again);
                let repeats = self
                    .setup
                    .copies
                    .as_ref()
                    .is_some_and(|copies| copies.repeats_effects);
                let refused = again != Again::Asked
                    && again != Again::Definition
                    && !repeats
                    && !call.effect.is_read_only();
                if refused {
                    let message = format!(
                        "another run has done this, and its {} differs; `--yes` lets it be done again",
                        again.name()
                    );
                    let error = StepError::new(ErrorClass::Denied(Denied::Policy), message, &path);
                    self.step_failed(at, Arc::new(error));
                }
                refused
            }
        }
    }

    /// Whether a call with these arguments is not made, so that nobody has to approve of it.
    pub(super) fn needs_no_call(
        &self,
        path: &str,
        signature: &Signature,
        arguments: &Value,
    ) -> bool {
        self.recording.has_copied(path)
            || matches!(self.copy_of(path, signature, arguments), Some(Ok(_)))
    }

    fn copy_of(
        &self,
        path: &str,
        signature: &Signature,
        arguments: &Value,
    ) -> Option<Result<Value, Again>> {
        let copied = self.setup.copies.as_ref()?.results.get(path)?;
        let differs = match copied.again {
            Some(again) => Some(again),
            None if copied.contract != signature.digest() => Some(Again::Contract),
            None if copied.arguments != *arguments => Some(Again::Arguments),
            None => None,
        };
        Some(differs.map_or_else(|| Ok(copied.output.clone()), Err))
    }

    fn take_over(&mut self, at: NodeRef, path: &Arc<str>, arguments: &Value, output: Value) {
        let details = self.record(at.0, at.1).details_mut();
        details.copied = true;
        details.arguments = Some(arguments.clone());
        let run = self
            .setup
            .copies
            .as_ref()
            .map(|copies| copies.run.clone())
            .unwrap_or_default();
        let program = self.program(at.0);
        let labels = self
            .node(&program, at)
            .step()
            .map(in_output)
            .unwrap_or_default();
        self.note_secrets(&output, &labels);
        let kind = EventKind::StepCopied {
            path: path.clone(),
            run,
            output: output.clone(),
        };
        self.emit_labelled(kind, below(OUTPUT, &labels));
        self.settle(at, End::Completed(output));
    }
}
