//! Results that a run copies from an earlier run, if neither the call nor its inputs have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_lang::words;

/// Results of an earlier run.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Id of the earlier run.
    pub run: Arc<str>,
    /// Calls of that run that have completed, or may have, by path.
    pub results: BTreeMap<Arc<str>, Copied>,
    /// Whether calls with effects may be repeated.
    pub repeats_effects: bool,
}

/// One call of another run.
#[derive(Clone, Debug)]
pub struct Copied {
    pub arguments: Value,
    pub output: Value,
    /// Hash of its tool's contract.
    pub contract: String,
    /// Why the call is repeated, whatever its arguments are.
    pub again: Option<RepeatReason>,
}

words! {
    /// Why a call is repeated instead of copying its earlier result.
    RepeatReason {
        /// The run was started from this step, or from a step above it.
        Asked = "asked",
        /// The statement has changed.
        Definition = "definition",
        /// The arguments have changed.
        Arguments = "arguments",
        /// The contract of the tool has changed.
        Contract = "contract",
        /// It was undone.
        Undone = "undone",
        /// Its `undo` has failed, so that it is not known what is left of it.
        UndoFailed = "undo_failed",
        /// It may have happened: its outcome is unknown, or its result could not be read.
        Unknown = "unknown",
        /// An effect above it is made, after which its result may be another.
        Order = "order",
    }
}

impl RepeatReason {
    /// Returns true if a run needs consent to repeat an effect for this reason. It has been given for a step that was
    /// asked for or has changed, since that is known before the run begins.
    pub(super) fn needs_consent(self) -> bool {
        match self {
            Self::Asked | Self::Definition | Self::Undone => false,
            Self::Arguments | Self::Contract | Self::UndoFailed | Self::Unknown | Self::Order => {
                true
            }
        }
    }

    /// Returns true if an effect that is made again for this reason replaces an earlier one, so that effects below it may
    /// have been lost with the earlier one. If it may have happened, what was done below it was done after it, and is
    /// still there.
    #[must_use]
    pub fn replaces(self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Asked
            | Self::Definition
            | Self::Arguments
            | Self::Contract
            | Self::Undone
            | Self::UndoFailed
            | Self::Order => true,
        }
    }

    /// Describes what another run has done, and why it is not enough.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Asked => "has already done this",
            Self::Definition => "has already done this, but the statement has changed",
            Self::Arguments => "has already done this, but its arguments have changed",
            Self::Contract => "has already done this, but the contract of the tool has changed",
            Self::Undone => "has undone this",
            Self::UndoFailed => "has done this, and its `undo` has failed",
            Self::Unknown => "may have done this",
            Self::Order => "has already done this, but an effect above it is made again",
        }
    }
}

impl Copies {
    /// Returns the result of a call with these arguments, or why it is not copied; `None` if the other run has not made
    /// the call.
    pub(super) fn of(
        &self,
        path: &str,
        signature: &Signature,
        arguments: &Value,
    ) -> Option<Result<Value, RepeatReason>> {
        let copied = self.results.get(path)?;
        let differs = match copied.again {
            Some(again) => Some(again),
            None if copied.contract != signature.digest() => Some(RepeatReason::Contract),
            None if copied.arguments != *arguments => Some(RepeatReason::Arguments),
            None => None,
        };
        Some(differs.map_or_else(|| Ok(copied.output.clone()), Err))
    }
}
