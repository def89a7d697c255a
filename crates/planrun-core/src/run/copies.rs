//! Results of another run that stand for calls of this one: they are taken over where nothing that decides them differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_lang::value::Value;

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
    pub again: Option<RepeatReason>,
}

/// Why the result of another run is not taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepeatReason {
    /// Somebody wants the run to begin there, or above.
    Asked,
    /// The statement has changed.
    Definition,
    /// It would be called with other arguments.
    Arguments,
    /// The tool promises something else.
    Contract,
}

impl RepeatReason {
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

impl Copies {
    /// The value of a call with these arguments, or why it is not taken over; nothing where the other run has not made
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
