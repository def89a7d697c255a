//! Replays the answers that tools and people gave in the recorded run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature, Transient};
use planrun_lang::value::Value;

use super::super::world::{Call, Response, Source};
use super::crashes::Crashes;
use super::history::{Answered, Answers, Attempt, AttemptResult, History};
use planrun_core::journal::{StepError, SubmittedAnswer, Waiting};
use planrun_core::run::Asking;
use planrun_lang::call::{Answer, CallError};
use planrun_runs::driver::Asker;

/// The recorded answers of tools, by the paths of the steps that called them.
pub struct RecordedAnswers {
    calls: BTreeMap<Arc<str>, Vec<Called>>,
    tools: BTreeSet<Arc<str>>,
    crashes: Arc<Crashes>,
}

/// A recorded call.
#[derive(Clone)]
struct Called {
    /// `None` if a result was reused and nothing was called.
    tool: Option<Arc<str>>,
    outcome: Option<Result<Value, CallError>>,
    begun_at: Duration,
    took: Duration,
}

impl RecordedAnswers {
    pub fn new(history: &History, crashes: Arc<Crashes>) -> Self {
        let calls = history.steps.iter();
        let calls = calls.map(|(path, step)| {
            (
                path.clone(),
                step.attempts.iter().flat_map(answered).collect(),
            )
        });
        let tools = history
            .steps
            .values()
            .flat_map(|step| &step.attempts)
            .map(|attempt| attempt.tool.clone());
        Self {
            calls: calls.collect(),
            tools: tools.collect(),
            crashes,
        }
    }

    /// Returns the delay of an answer: it arrives at the recorded time, whatever the time between calls, or takes as
    /// long as it took then if the call is made later.
    fn delay(&self, answered: &Called) -> Duration {
        let early = answered.begun_at.saturating_sub(self.crashes.elapsed());
        early + answered.took
    }
}

/// Returns a call once for each time that it was sent. Calls whose process died before they returned have no answer.
fn answered(attempt: &Attempt) -> impl Iterator<Item = Called> {
    let one = Called {
        tool: attempt.arguments.is_some().then(|| attempt.tool.clone()),
        outcome: match &attempt.outcome {
            AttemptResult::Value(value) => Some(Ok(value.clone())),
            AttemptResult::Failed(error) => Some(Err(call_error(error))),
            AttemptResult::Open | AttemptResult::Cut => None,
        },
        begun_at: attempt.begun_at,
        took: attempt.took,
    };
    let lost = attempt.lost;
    (0..attempt.sent).map(move |number| {
        if number < lost {
            Called {
                outcome: None,
                ..one.clone()
            }
        } else {
            one.clone()
        }
    })
}

impl Source for RecordedAnswers {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let calls = self.calls.get(&call.request.path)?;
        let answered = calls.get(usize::try_from(call.occurrence).ok()?)?;
        let signature = &call.request.signature;
        let tool = answered.tool.as_ref();
        if tool.is_some_and(|tool| **tool != *signature.path()) {
            return None;
        }
        Some(match answered.outcome.clone() {
            Some(outcome) => Response::after(self.delay(answered), outcome.map(Answer::Value)),
            None => Response::never(signature),
        })
    }

    fn knows(&self, signature: &Signature) -> bool {
        self.tools.contains(&*signature.path())
    }
}

/// Returns the error as the caller of the tool received it. The engine turns errors of effects into unknown outcomes
/// itself, so that conversion is reversed here.
fn call_error(error: &StepError) -> CallError {
    let unknown = error.class == ErrorClass::UnknownOutcome;
    let first = error.cause.as_deref().filter(|_| unknown).unwrap_or(error);
    let class = match &first.class {
        ErrorClass::UnknownOutcome => ErrorClass::Transient(Transient::Network),
        class => class.clone(),
    };
    let sent = if unknown { Sent::Maybe } else { first.sent };
    CallError {
        class,
        message: first.message.to_string(),
        sent,
        retry_after: first.retry_after,
        details: first.details.clone(),
    }
}

/// The people of the recorded run: they give the recorded answers at the recorded times, or after the recorded delay
/// if the question is asked later.
pub struct RecordedPeople {
    answers: Arc<Mutex<Answers>>,
    crashes: Arc<Crashes>,
}

impl RecordedPeople {
    pub fn new(history: &History, crashes: Arc<Crashes>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(history.answers.clone())),
            crashes,
        }
    }
}

impl Asker for RecordedPeople {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        let answers = self.answers.lock();
        let next = answers.get(&asking.path).and_then(VecDeque::front).cloned();
        drop(answers);
        let Some(Answered {
            at,
            took,
            mut given,
        }) = next.filter(|_| asking.refused.is_none())
        else {
            return Box::pin(std::future::ready(None));
        };
        let left = at.saturating_sub(self.crashes.elapsed());
        let delay = if left.is_zero() { took } else { left };
        // The recorded value of a form includes its prefilled fields.
        if let (Waiting::Input, Some(fields)) = (asking.question.kind, given.value.as_object_mut())
        {
            fields.retain(|name, _| {
                asking
                    .question
                    .form
                    .iter()
                    .any(|field| *field.name == **name)
            });
        }
        given.by = given.by.or_else(|| asking.question.by.clone());
        let answers = self.answers.clone();
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            // Removed only now: if the process dies before, the next one asks again.
            let mut answers = answers.lock();
            answers.get_mut(&asking.path).and_then(VecDeque::pop_front);
            Some(given)
        })
    }
}
