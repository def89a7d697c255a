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
