//! Records the answers of real tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::call::{Answer, CallOutcome, sensitive_arguments, sensitive_result};
use planrun_lang::secrets::Redactor;
use planrun_lang::types::Signature;
use planrun_lang::value::{Value, sorted_json};
use planrun_tools::tools::{Conversation, Request, Transport};
use serde_json::Value as Json;

use super::model::{Entry, Recorded, Recording};
use super::redact::{redact, redact_secrets};

/// The calls to real tools and their answers so far.
#[derive(Default)]
pub struct Recorder {
    recorded: Mutex<BTreeMap<(Arc<str>, u32), RecordedCall>>,
}

struct RecordedCall {
    signature: Arc<Signature>,
    arguments: Value,
    outcome: Recorded,
}

impl Recorder {
    /// Makes a call, the `number`th of its step from 1, and records its outcome.
    pub fn call(
        self: &Arc<Self>,
        request: Request,
        number: u32,
        tool: &dyn Transport,
    ) -> Conversation {
        let place = (request.path.clone(), number);
        let call = RecordedCall {
            signature: request.signature.clone(),
            arguments: request.arguments.clone(),
            outcome: Recorded::Unanswered,
        };
        self.recorded.lock().insert(place.clone(), call);
        let (recorder, cancel) = (self.clone(), request.cancel.clone());
        tool.call(request).map_outcome(move |outcome| {
            // After a cancellation nothing waits for the answer any more.
            if !cancel.is_cancelled() {
                recorder.ended(&place, &outcome);
            }
            outcome
        })
    }

    /// Returns true if no call was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.lock().is_empty()
    }

    /// Returns everything recorded so far, without values labeled as sensitive and without these secrets.
    #[must_use]
    pub fn recording(&self, secrets: &Redactor) -> Recording {
        let recorded = self.recorded.lock();
        Recording::new(
            recorded
                .iter()
                .map(|((path, call), recorded)| recorded.entry(path, *call, secrets))
                .collect(),
        )
    }

    fn ended(&self, place: &(Arc<str>, u32), outcome: &CallOutcome) {
        if let Some(recorded) = self.recorded.lock().get_mut(place) {
            recorded.outcome = match outcome {
                Ok(Answer::Json(json)) => Recorded::Value(json.clone()),
                Ok(Answer::Value(value)) => Recorded::Value(value.to_json()),
                Err(error) => Recorded::Failure(error.clone()),
            };
        }
    }
}

impl RecordedCall {
    fn entry(&self, path: &Arc<str>, call: u32, secrets: &Redactor) -> Entry {
        let mut outcome = self.outcome.clone();
        match &mut outcome {
            Recorded::Value(value) => {
                redact(
                    value,
                    &sensitive_result(&self.signature, &Value::from_json(value)),
                );
                redact_secrets(value, secrets);
            }
            Recorded::Failure(error) => {
                error.message = secrets.text(&error.message).into_owned();
                let details = error.details.as_ref();
                error.details = details.map(|details| details.redacted(secrets));
            }
            Recorded::Unanswered => {}
        }
        let mut arguments = redacted_arguments(&self.signature, &self.arguments);
        secrets.json(&mut arguments);
        let (tool, contract) = (self.signature.path().into(), self.signature.digest().into());
        Entry {
            path: path.clone(),
            call,
            tool,
            contract,
            arguments,
            outcome,
        }
    }
}

/// Returns the arguments of a call, redacted and with sorted keys.
pub(super) fn redacted_arguments(signature: &Signature, arguments: &Value) -> Json {
    let mut json = sorted_json(&arguments.to_json());
    redact(&mut json, &sensitive_arguments(signature, arguments));
    json
}
