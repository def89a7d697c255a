//! Results that a run copies from an earlier run, if neither the call nor its inputs have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_lang::value::Value;

/// Results of an earlier run.
#[derive(Debug, Default)]
pub struct Copies {
    /// Id of the earlier run.
    pub run: Arc<str>,
    /// Completed calls of that run, by path.
    pub results: BTreeMap<Arc<str>, Copied>,
    /// Whether calls with effects may be repeated.
    pub repeats_effects: bool,
}

/// One completed call of another run.
#[derive(Clone, Debug)]
pub struct Copied {
    pub arguments: Value,
    pub output: Value,
    /// Hash of its tool's contract.
    pub contract: String,
    /// Why the call is repeated, whatever its arguments are.
    pub again: Option<RepeatReason>,
}

/// Why a call is repeated instead of copying its earlier result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepeatReason {
    /// The run was started from this step, or from a step above it.
    Asked,
    /// The statement has changed.
    Definition,
    /// The arguments have changed.
    Arguments,
    /// The contract of the tool has changed.
    Contract,
}

impl RepeatReason {
    /// Returns the name of the reason.
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
