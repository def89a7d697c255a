//! Writes down what real tools answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planrun_lang::call::{Answer, CallOutcome};
use planrun_lang::secrets::Redactor;
use planrun_lang::types::{Signature, sensitive_arguments, sensitive_result};
use planrun_lang::value::Value;
use planrun_tools::tools::{Conversation, Request, Transport};
use serde_json::Value as Json;

use super::kept::{Entry, Recorded, Recording};
use super::veil::{canonical, veil};

/// What real tools were asked and answered, so far.
#[derive(Default)]
pub struct Recorder {
    taken: Mutex<BTreeMap<(Arc<str>, u32), Taken>>,
}

struct Taken {
    signature: Arc<Signature>,
    arguments: Value,
    outcome: Recorded,
}

impl Recorder {
    /// Makes a call, the `number`th of its step from 1, and writes down what it comes to.
    pub fn call(
        self: &Arc<Self>,
        request: Request,
        number: u32,
        tool: &dyn Transport,
    ) -> Conversation {
        let place = (request.path.clone(), number);
        let taken = Taken {
            signature: request.signature.clone(),
            arguments: request.arguments.clone(),
            outcome: Recorded::Unanswered,
        };
        self.taken().insert(place.clone(), taken);
        let (recorder, cancel) = (self.clone(), request.cancel.clone());
        tool.call(request).map_outcome(move |outcome| {
            // Nobody waits any more for an answer that comes after that.
            if !cancel.is_cancelled() {
                recorder.ended(&place, &outcome);
            }
            outcome
        })
    }

    /// Whether any call was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken().is_empty()
    }

    /// Everything that was written down, without what is labelled as sensitive and without these secrets.
    #[must_use]
    pub fn recording(&self, secrets: &Redactor) -> Recording {
        let taken = self.taken();
        Recording::new(
            taken
                .iter()
                .map(|((path, call), taken)| taken.entry(path, *call, secrets))
                .collect(),
        )
    }

    fn ended(&self, place: &(Arc<str>, u32), outcome: &CallOutcome) {
        if let Some(taken) = self.taken().get_mut(place) {
            taken.outcome = match outcome {
                Ok(Answer::Json(json)) => Recorded::Value(json.clone()),
                Ok(Answer::Value(value)) => Recorded::Value(value.to_json()),
                Err(error) => Recorded::Failure(error.clone()),
            };
        }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<(Arc<str>, u32), Taken>> {
        // Nothing panics while it holds the lock, so what is behind a poisoned one is whole.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn entry(&self, path: &Arc<str>, call: u32, secrets: &Redactor) -> Entry {
        let mut outcome = self.outcome.clone();
        match &mut outcome {
            Recorded::Value(value) => {
                veil(value, &sensitive_result(&self.signature));
                secrets.json(value);
            }
            Recorded::Failure(error) => error.message = secrets.text(&error.message).into_owned(),
            Recorded::Unanswered => {}
        }
        let mut arguments = shown_arguments(&self.signature, &self.arguments);
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

/// The arguments of a call as they may be shown, in one order.
pub(super) fn shown_arguments(signature: &Signature, arguments: &Value) -> Json {
    let mut json = canonical(&arguments.to_json());
    veil(&mut json, &sensitive_arguments(signature, arguments));
    json
}
