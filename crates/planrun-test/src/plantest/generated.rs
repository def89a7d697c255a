//! Results that are generated from the contract of a tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::example::{Choice, Examples};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature, Validation};
use serde_json::Map;

use super::world::Call;

/// Generates results; the generator of each tool is prepared once.
#[derive(Default)]
pub struct ResultGenerator {
    /// By the address of the signature.
    prepared: Mutex<BTreeMap<usize, Prepared>>,
}

struct Prepared {
    /// Keeps the signature alive, so that its address is not reused.
    _signature: Arc<Signature>,
    examples: Result<Arc<Examples>, String>,
}

impl ResultGenerator {
    /// Generates a result that fits the contract of the tool. It is the same for the same tool, arguments and seed,
    /// and takes the given edge case of the contract if there is one.
    pub(super) fn answer(&self, call: &Call<'_>, seed: u64, edge: Option<u64>) -> CallOutcome {
        let signature = &call.request.signature;
        let arguments = call.request.arguments.to_json();
        let hash = blake3::hash(format!("{seed} {} {arguments}", signature.path()).as_bytes());
        let seed = hash
            .as_bytes()
            .first_chunk::<8>()
            .map_or(seed, |bytes| u64::from_le_bytes(*bytes));
        let none = Map::new();
        let made = self.examples(signature).and_then(|examples| {
            let choice = edge.map_or(Choice::Usual, Choice::Edge);
            examples
                .make(arguments.as_object().unwrap_or(&none), seed, choice)
                .map_err(|error| error.to_string())
        });
        made.map(Answer::Json).map_err(|reason| {
            CallError::new(
                ErrorClass::Validation(Validation::Result),
                format!(
                    "cannot generate a result of `{}`: {reason}",
                    signature.path()
                ),
                Sent::Answered,
            )
        })
    }

    /// Returns the number of edge cases of the result of a tool; 0 if it cannot be generated.
    #[must_use]
    pub fn edges(&self, signature: &Arc<Signature>) -> u64 {
        self.examples(signature)
            .map_or(0, |examples| examples.edge_count())
    }

    fn examples(&self, signature: &Arc<Signature>) -> Result<Arc<Examples>, String> {
        let mut prepared = self.prepared.lock();
        let known = prepared
            .entry(Arc::as_ptr(signature).addr())
            .or_insert_with(|| {
                let examples = match signature.output_schema.as_deref() {
                    Some(contract) => Examples::new(contract.normalized()),
                    None => Examples::of_type(&signature.returns),
                };
                let examples = examples.map(Arc::new).map_err(|error| error.to_string());
                Prepared {
                    _signature: signature.clone(),
                    examples,
                }
            });
        known.examples.clone()
    }
}
