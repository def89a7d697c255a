//! Answers that the contract of a tool makes up.

use super::world::Call;
use crate::protocol::Sent;
use crate::tools::{CallError, Outcome};
use crate::types::ErrorClass;

/// A result that fits the tool's contract: the same for the same tool, arguments and seed.
pub(super) fn answer(call: &Call<'_>, _seed: u64) -> Outcome {
    let message = format!("`{}` cannot be made up", call.request.signature.path());
    Err(CallError { class: ErrorClass::Internal, message, sent: Sent::No, retry_after: None })
}

/// A value that fits a schema; nothing where none can be made up.
pub(super) fn of_schema(_schema: &serde_json::Value) -> Option<serde_json::Value> {
    None
}
