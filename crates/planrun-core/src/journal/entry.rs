//! Events read back: one flat record with what each kind of event carries.

use std::sync::Arc;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::types::Effect;
use planrun_lang::value::{Value, parse_timestamp};
use serde::Deserialize;
use serde_json::Value as Json;

use super::event::{Bound, EventName, Waiting};
use super::failure::StepError;
use super::question::{FormField, Question};
use super::shown::paths_below;

/// One event as a journal has it. Which fields are there depends on its kind; see `docs/events.md`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of another kind of event"
)]
#[derive(Debug, Deserialize)]
pub struct Entry {
    pub number: u64,
    /// RFC 3339.
    pub at: String,
    pub event: EventName,
    pub run: Option<Arc<str>>,
    pub plan: Option<Arc<str>>,
    pub path: Option<Arc<str>>,
    pub tool: Option<Arc<str>>,
    pub attempt: Option<u32>,
    pub execution: Option<u32>,
    pub trial: Option<u32>,
    pub key: Option<Arc<str>>,
    #[serde(rename = "for")]
    pub waits_for: Option<Waiting>,
    pub wait_ms: Option<u64>,
    pub duration_ms: Option<u64>,
    #[serde(default)]
    pub recovered: bool,
    pub status: Option<Arc<str>>,
    pub reason: Option<Arc<str>>,
    pub timer: Option<Bound>,
    pub wake: Option<String>,
    pub after: Option<Arc<str>>,
    pub again: Option<Arc<str>>,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default)]
    pub cost: f64,
    /// Of a cancel: the effects stay.
    #[serde(default)]
    pub keep: bool,
    /// Of a result that is taken over: the plan lets results be used again.
    #[serde(default)]
    pub cached: bool,
    /// Of a pause: only people and signals are awaited.
    #[serde(default)]
    pub still: bool,
    pub text: Option<Arc<str>>,
    pub why: Option<Arc<str>>,
    pub effect: Option<Effect>,
    pub by: Option<Arc<str>>,
    pub note: Option<Arc<str>>,
    /// What a call can be taken up again with.
    pub handle: Option<Json>,
    pub binding: Option<Arc<str>>,
    #[serde(default)]
    pub form: Vec<FormField>,
    expires: Option<String>,
    until: Option<String>,
    value: Option<Json>,
    value_typed: Option<Json>,
    value_kept: Option<Arc<str>>,
    value_typed_kept: Option<Arc<str>>,
    pub error: Option<StepError>,
    pub reply: Option<Json>,
    output: Option<Json>,
    output_typed: Option<Json>,
    output_kept: Option<Arc<str>>,
    output_typed_kept: Option<Arc<str>>,
    arguments: Option<Json>,
    arguments_typed: Option<Json>,
    arguments_kept: Option<Arc<str>>,
    arguments_typed_kept: Option<Arc<str>>,
    pub signal: Option<Arc<str>>,
    payload: Option<Json>,
    payload_typed: Option<Json>,
    payload_kept: Option<Arc<str>>,
    payload_typed_kept: Option<Arc<str>>,
    /// The places in its values that must not be shown, such as `arguments.password`.
    #[serde(default)]
    pub sensitive: Vec<Arc<str>>,
}

/// The names of fields in which places are labelled.
pub const ARGUMENTS: &str = "arguments";
pub const OUTPUT: &str = "output";
pub const VALUE: &str = "value";

/// Why a line of a journal cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryError(String);

impl EntryError {
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }
}

/// Gives what was kept under a hash.
pub type Kept<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Entry {
    /// Reads one line.
    ///
    /// # Errors
    /// When it is no event that this version knows.
    pub fn read(line: &[u8]) -> Result<Self, EntryError> {
        let entry: Self = serde_json::from_slice(line)
            .map_err(|error| EntryError(format!("no event that can be read: {error}")))?;
        match entry.missing() {
            Some(field) => Err(entry.lacks(field)),
            None => Ok(entry),
        }
    }

    /// The first field that every event of its kind has and this one lacks.
    fn missing(&self) -> Option<&'static str> {
        let fields: &[(&'static str, bool)] = match self.event {
            EventName::RunStarted => &[("run", self.run.is_some()), ("plan", self.plan.is_some())],
            EventName::RunResumed
            | EventName::RunCancelling
            | EventName::RunPaused
            | EventName::RunPatched => &[],
            EventName::RunSettled => &[("status", self.run_state().is_some())],
            EventName::StepSettled => &[
                ("path", self.path.is_some()),
                ("status", self.step_state().is_some()),
            ],
            EventName::TaskSet | EventName::TaskMoved => &[
                ("path", self.path.is_some()),
                ("status", self.status.is_some()),
            ],
            EventName::SignalReceived => &[("signal", self.signal.is_some())],
            // A deadline is the run's, which has no path.
            EventName::TimerFired => &[(
                "path",
                self.path.is_some() || self.timer == Some(Bound::Deadline),
            )],
            EventName::StepQueued
            | EventName::StepRunning
            | EventName::StepWaiting
            | EventName::AnswerGiven
            | EventName::StepCopied
            | EventName::StepRetried
            | EventName::HandleGiven
            | EventName::UsageReported
            | EventName::ResultNoted
            | EventName::BudgetLow
            | EventName::StepRecovering
            | EventName::ListenerFired => &[("path", self.path.is_some())],
        };
        let missing = fields.iter().find(|(_, is_there)| !is_there);
        missing.map(|(field, _)| *field)
    }

    /// The error of an event without a field that its kind must have.
    pub(super) fn lacks(&self, field: &str) -> EntryError {
        let (number, event) = (self.number, self.event.name());
        EntryError(format!("event {number} is `{event}` and has no `{field}`"))
    }

    /// Takes the path of the step, task, listener or question that it tells of.
    ///
    /// # Errors
    /// When the line has none, or it was taken before.
    pub fn path(&mut self) -> Result<Arc<str>, EntryError> {
        self.path.take().ok_or_else(|| self.lacks("path"))
    }

    /// Takes what a step, a task or a run came to, as it is written.
    ///
    /// # Errors
    /// When the line has none, or it was taken before.
    pub fn status(&mut self) -> Result<Arc<str>, EntryError> {
        self.status.take().ok_or_else(|| self.lacks("status"))
    }

    /// When it happened, in nanoseconds since 1970.
    #[must_use]
    pub fn instant(&self) -> i128 {
        parse_timestamp(&self.at).unwrap_or(0)
    }

    /// The state that a step came to.
    #[must_use]
    pub fn step_state(&self) -> Option<StepState> {
        StepState::find(self.status.as_deref()?)
    }

    /// The state that the run came to.
    #[must_use]
    pub fn run_state(&self) -> Option<RunState> {
        RunState::find(self.status.as_deref()?)
    }

    /// The value of a completed call.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub fn output(&mut self, kept: &mut Kept<'_>) -> Result<Option<Value>, EntryError> {
        let forms = (
            self.output.take(),
            self.output_typed.take(),
            &self.output_kept,
            &self.output_typed_kept,
        );
        value(forms, kept)
    }

    /// The arguments of an attempt.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub fn arguments(&mut self, kept: &mut Kept<'_>) -> Result<Option<Value>, EntryError> {
        let kept_forms = (&self.arguments_kept, &self.arguments_typed_kept);
        value(
            (
                self.arguments.take(),
                self.arguments_typed.take(),
                kept_forms.0,
                kept_forms.1,
            ),
            kept,
        )
    }

    /// What a signal carries, or the context that a task got.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub fn payload(&mut self, kept: &mut Kept<'_>) -> Result<Option<Value>, EntryError> {
        let kept_forms = (&self.payload_kept, &self.payload_typed_kept);
        value(
            (
                self.payload.take(),
                self.payload_typed.take(),
                kept_forms.0,
                kept_forms.1,
            ),
            kept,
        )
    }

    /// What somebody answered.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub fn answer(&mut self, kept: &mut Kept<'_>) -> Result<Option<Value>, EntryError> {
        let kept_forms = (&self.value_kept, &self.value_typed_kept);
        value(
            (
                self.value.take(),
                self.value_typed.take(),
                kept_forms.0,
                kept_forms.1,
            ),
            kept,
        )
    }

    /// The hash under which a value is kept, by the name of its field.
    pub(super) fn kept(&self, field: &str) -> Option<&Arc<str>> {
        let (plain, typed) = match field {
            ARGUMENTS => (&self.arguments_kept, &self.arguments_typed_kept),
            OUTPUT => (&self.output_kept, &self.output_typed_kept),
            VALUE => (&self.value_kept, &self.value_typed_kept),
            _ => return None,
        };
        plain.as_ref().or(typed.as_ref())
    }

    /// A value by the name of its field.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub(super) fn field(
        &mut self,
        field: &str,
        kept: &mut Kept<'_>,
    ) -> Result<Option<Value>, EntryError> {
        match field {
            ARGUMENTS => self.arguments(kept),
            OUTPUT => self.output(kept),
            VALUE => self.answer(kept),
            _ => Ok(None),
        }
    }

    /// The moment that a step waits for, in nanoseconds since 1970.
    #[must_use]
    pub fn until(&self) -> Option<i128> {
        parse_timestamp(self.until.as_deref()?)
    }

    /// What somebody is asked.
    ///
    /// # Errors
    /// When what was kept cannot be had or read.
    pub fn question(&mut self, kept: &mut Kept<'_>) -> Result<Question, EntryError> {
        Ok(Question {
            kind: self.waits_for.unwrap_or(Waiting::Confirm),
            text: self.text.take().unwrap_or_default(),
            why: self.why.take(),
            by: self.by.take(),
            asked_at: self.instant(),
            expires: self.expires.as_deref().and_then(parse_timestamp),
            execution: self.execution.unwrap_or(0),
            tool: self.tool.take().unwrap_or_default(),
            effect: self.effect.take(),
            arguments: self.arguments(kept)?.unwrap_or(Value::Null),
            sensitive: paths_below(ARGUMENTS, &self.sensitive),
            binding: self.binding.take().unwrap_or_default(),
            form: std::mem::take(&mut self.form),
        })
    }
}

/// The forms of a value in an event: plain, typed, and each as a hash.
type Forms<'a> = (
    Option<Json>,
    Option<Json>,
    &'a Option<Arc<str>>,
    &'a Option<Arc<str>>,
);

fn value(forms: Forms<'_>, kept: &mut Kept<'_>) -> Result<Option<Value>, EntryError> {
    let mut fetch = |digest: &Arc<str>| {
        let bytes = kept(digest).map_err(EntryError)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| EntryError(format!("what was kept is no JSON: {error}")))
    };
    let (plain, typed) = match forms {
        (Some(plain), ..) => (Some(plain), None),
        (None, Some(typed), ..) => (None, Some(typed)),
        (None, None, Some(digest), _) => (Some(fetch(digest)?), None),
        (None, None, None, Some(digest)) => (None, Some(fetch(digest)?)),
        (None, None, None, None) => return Ok(None),
    };
    match (plain, typed) {
        (_, Some(typed)) => Value::from_typed_json(&typed)
            .map(Some)
            .map_err(|error| EntryError(format!("no typed value: {error}"))),
        (plain, None) => Ok(plain.map(|json| Value::from_json(&json))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_field_that_its_kind_must_have_is_refused() {
        for name in EventName::ALL {
            let event = name.name();
            let line = format!(r#"{{"number":7,"at":"2026-01-01T00:00:00Z","event":"{event}"}}"#);
            let read = Entry::read(line.as_bytes());
            let of_the_run = matches!(
                name,
                EventName::RunResumed
                    | EventName::RunCancelling
                    | EventName::RunPaused
                    | EventName::RunPatched
            );
            assert_eq!(read.is_ok(), of_the_run, "{event}");
            if let Err(error) = read {
                let place = format!("event 7 is `{event}` and has no `");
                assert!(error.to_string().starts_with(&place), "{error}");
            }
        }
    }
}
