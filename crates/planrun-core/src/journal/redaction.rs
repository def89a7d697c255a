//! Redaction of events: secrets are replaced by a mark, in live events and in recorded ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::secrets::{MARK, Redactor, at_path, hidden, hide_json};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json};

use super::event::{Event, EventKind};
use super::failure::StepError;
use super::question::Question;
use super::read::{EventError, Kept};

/// What is secret in the events of one run.
#[derive(Debug, Default)]
pub struct EventRedactor {
    redactor: Redactor,
    /// The hashes of large values that have labelled places.
    hidden: BTreeSet<Arc<str>>,
    /// Whether any place is labelled, however short what stands there.
    labelled: bool,
}

/// A place below a field of an event.
#[must_use]
pub fn labelled(field: &str, path: &str) -> Arc<str> {
    if path.is_empty() {
        field.into()
    } else {
        format!("{field}.{path}").into()
    }
}

impl EventRedactor {
    /// Whether there is nothing to hide.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.labelled && self.redactor.is_empty()
    }

    /// A value at a labelled place.
    pub fn hide(&mut self, value: &Value) {
        self.labelled = true;
        self.redactor.add_value(value);
    }

    /// Whether a line as it was written labels places; those that do not need not be learned.
    #[must_use]
    pub fn labels(line: &str) -> bool {
        line.contains("\"sensitive\":[")
    }

    /// Learns what stands at the labelled places of an event.
    ///
    /// # Errors
    /// When it cannot be read, or what was kept cannot be had.
    pub fn learn(&mut self, line: &[u8], kept: &mut Kept<'_>) -> Result<(), EventError> {
        let mut digest = None;
        let mut event = Event::read(line, &mut |wanted| {
            digest = Some(Arc::from(wanted));
            kept(wanted)
        })?;
        let paths = std::mem::take(&mut event.sensitive);
        let Some((field, value)) = event.kind.value_mut() else {
            return Ok(());
        };
        for path in paths.iter().filter_map(|path| below(field, path)) {
            self.labelled = true;
            self.hidden.extend(digest.take());
            at_path(value, path, &mut |secret| self.redactor.add_value(secret));
        }
        Ok(())
    }

    /// A line of a journal as it may be seen.
    #[must_use]
    pub fn line<'l>(&self, line: &'l str) -> Cow<'l, str> {
        if self.is_empty() {
            return Cow::Borrowed(line);
        }
        let Ok(Json::Object(mut fields)) = serde_json::from_str(line) else {
            return Cow::Owned(format!("\"{MARK}\""));
        };
        let paths = fields
            .get("sensitive")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        for path in paths.iter().filter_map(Json::as_str) {
            hide_in(&mut fields, path);
        }
        let mut json = Json::Object(fields);
        self.redactor.json(&mut json);
        Cow::Owned(json.to_string())
    }

    /// A question as it may be seen.
    #[must_use]
    pub fn question(&self, question: &Question) -> Question {
        question.shown(&self.redactor)
    }

    /// A text as it may be seen.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.text(text)
    }

    /// What was kept of a value, as it may be seen.
    #[must_use]
    pub fn content(&self, digest: &str, content: Vec<u8>) -> Vec<u8> {
        if self.hidden.contains(digest) {
            return Json::from(MARK).to_string().into_bytes();
        }
        match serde_json::from_slice::<Json>(&content) {
            Ok(mut json) => {
                let before = json.clone();
                self.redactor.json(&mut json);
                if json == before {
                    content
                } else {
                    json.to_string().into_bytes()
                }
            }
            Err(_) => content,
        }
    }
}

/// Hides what stands at a place of an event; all of a value that is not plain JSON.
fn hide_in(fields: &mut Map<String, Json>, path: &str) {
    let (field, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(plain) = fields.get_mut(field) {
        hide_json(plain, rest);
    }
    if let Some(typed) = fields.get_mut(&format!("{field}_typed")) {
        *typed = MARK.into();
    }
}

impl Event {
    /// Puts marks in the place of what is secret.
    pub fn redact(&mut self, redactor: &Redactor) {
        if redactor.is_empty() && self.sensitive.is_empty() {
            return;
        }
        let labels = std::mem::take(&mut self.sensitive);
        if let Some((field, value)) = self.kind.value_mut() {
            *value = shown_value(redactor, &paths_below(field, &labels), value);
        }
        match &mut self.kind {
            EventKind::StepAsks { question, .. } => *question = Arc::new(question.shown(redactor)),
            EventKind::AnswerGiven { note, .. } => {
                if let Some(note) = note {
                    *note = redactor.text(note).as_ref().into();
                }
            }
            EventKind::StepRecovering { error, .. } => *error = Arc::new(error.shown(redactor)),
            EventKind::StepSettled { error, .. } | EventKind::StepWaiting { error, .. } => {
                redact_error(error, redactor);
            }
            EventKind::RunSettled { error, .. } => redact_error(error, redactor),
            EventKind::HandleGiven { handle, .. } => redactor.json(handle),
            EventKind::TaskSet { .. }
            | EventKind::TaskMoved { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::RunStarted { .. }
            | EventKind::RunResumed
            | EventKind::RunCancelling { .. }
            | EventKind::StepRetried { .. }
            | EventKind::UsageReported { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepRunning { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ListenerFired { .. } => {}
        }
        self.sensitive = labels;
    }
}

fn redact_error(error: &mut Option<Arc<StepError>>, redactor: &Redactor) {
    if let Some(error) = error {
        *error = Arc::new(error.shown(redactor));
    }
}

impl Question {
    /// The question as it may be seen.
    #[must_use]
    pub fn shown(&self, redactor: &Redactor) -> Self {
        let text = redactor.text(&self.text).as_ref().into();
        let why = self
            .why
            .as_deref()
            .map(|why| redactor.text(why).as_ref().into());
        Self {
            text,
            why,
            arguments: shown_value(redactor, &self.sensitive, &self.arguments),
            ..self.clone()
        }
    }
}

fn shown_value(redactor: &Redactor, sensitive: &[Arc<str>], value: &Value) -> Value {
    let value = hidden(value, sensitive);
    redactor.value(&value).unwrap_or(value)
}

/// The labelled places of an event that are below one of its fields, from there.
#[must_use]
pub fn paths_below(field: &str, paths: &[Arc<str>]) -> Vec<Arc<str>> {
    paths
        .iter()
        .filter_map(|path| below(field, path))
        .map(Arc::from)
        .collect()
}

fn below<'p>(field: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(field)?;
    rest.is_empty()
        .then_some(rest)
        .or_else(|| rest.strip_prefix('.'))
}
