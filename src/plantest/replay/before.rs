//! Who answers a run that is lived through again: the calls and the people of then.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::super::world::{Call, Reaction, Response, Source, failure};
use super::told::{Answers, Attempt, Ended, Told};
use crate::engine::{Asker, Asking};
use crate::journal::{Given, StepError, Waiting};
use crate::protocol::Sent;
use crate::tools::{Answer, CallError};
use crate::types::{ErrorClass, Signature, Transient};
use crate::value::Value;

/// Longer than any run waits.
const NEVER: Duration = Duration::from_hours(24 * 365 * 100);

/// What the tools of then answered, by the paths of the steps that called them.
pub struct Before {
    calls: BTreeMap<Arc<str>, Vec<Answered>>,
    tools: BTreeSet<Arc<str>>,
}

/// A call of then.
struct Answered {
    /// Absent where a result was taken over, and nothing was called.
    tool: Option<Arc<str>>,
    outcome: Option<Result<Value, CallError>>,
    took: Duration,
}

impl Before {
    pub fn new(told: &Told) -> Self {
        let answered = |attempt: &Attempt| Answered {
            tool: attempt.arguments.is_some().then(|| attempt.tool.clone()),
            outcome: match &attempt.outcome {
                Ended::Value(value) => Some(Ok(value.clone())),
                Ended::Failed(error) => Some(Err(call_error(error))),
                Ended::Open | Ended::Cut => None,
            },
            took: attempt.took,
        };
        let calls = told.steps.iter().map(|(path, step)| (path.clone(), step.attempts.iter().map(answered).collect()));
        let tools = told.steps.values().flat_map(|step| &step.attempts).map(|attempt| attempt.tool.clone());
        Self { calls: calls.collect(), tools: tools.collect() }
    }
}

impl Source for Before {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let calls = self.calls.get(&call.request.path)?;
        let answered = calls.get(usize::try_from(call.occurrence).ok()?)?;
        if answered.tool.as_ref().is_some_and(|tool| **tool != *call.request.signature.path()) {
            return None;
        }
        let never = || Err(failure(ErrorClass::Transient(Transient::Timeout), None, &call.request.signature));
        let (outcome, delay) = answered
            .outcome
            .clone()
            .map_or_else(|| (never(), NEVER), |outcome| (outcome.map(Answer::Value), answered.took));
        Some(Response { reaction: Reaction::Answer(outcome), delay })
    }

    fn knows(&self, signature: &Signature) -> bool {
        self.tools.contains(&*signature.path())
    }
}

/// The failure of a call as the one who calls learns of it. Of an effect the engine itself says again that nobody knows.
fn call_error(error: &StepError) -> CallError {
    let unknown = error.class == ErrorClass::UnknownOutcome;
    let first = error.cause.as_deref().filter(|_| unknown).unwrap_or(error);
    let class = match &first.class {
        ErrorClass::UnknownOutcome => ErrorClass::Transient(Transient::Network),
        class => class.clone(),
    };
    let sent = if unknown { Sent::Maybe } else { first.sent };
    CallError { class, message: first.message.to_string(), sent, retry_after: first.retry_after }
}

/// The people of then: they answer what they answered, after as long.
pub struct People {
    answers: Mutex<Answers>,
}

impl People {
    pub fn new(told: &Told) -> Self {
        Self { answers: Mutex::new(told.answers.clone()) }
    }
}

impl Asker for People {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>> {
        // Nothing panics while it holds the lock, so what is behind a poisoned one is whole.
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = answers.get_mut(&asking.path).and_then(VecDeque::pop_front);
        drop(answers);
        let Some((took, mut given)) = next.filter(|_| asking.refused.is_none()) else {
            return Box::pin(std::future::ready(None));
        };
        // What a form had before it was filled in is written down with what somebody added.
        if let (Waiting::Input, Some(fields)) = (asking.question.kind, given.value.as_object_mut()) {
            fields.retain(|name, _| asking.question.form.iter().any(|field| *field.name == **name));
        }
        given.by = given.by.or_else(|| asking.question.by.clone());
        Box::pin(async move {
            tokio::time::sleep(took).await;
            Some(given)
        })
    }
}
