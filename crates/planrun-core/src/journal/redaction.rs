//! Redacts secrets in events, both live and recorded ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::secrets::{MARK, Redactor, at_path, redact_json_path, redact_paths};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json};

use super::event::{Event, EventKind};
use super::failure::StepError;
use super::question::Question;
use super::read::{EventError, Kept};

/// The secrets in the events of one run.
#[derive(Debug, Default)]
pub struct EventRedactor {
    redactor: Redactor,
    /// Hashes of large values that contain sensitive places.
    sensitive_digests: BTreeSet<Arc<str>>,
    /// Whether any place is labelled sensitive, even if its value is too short to be redacted elsewhere.
    labelled: bool,
}

/// Returns the path of a place below a field of an event.
#[must_use]
pub fn labelled(field: &str, path: &str) -> Arc<str> {
    if path.is_empty() {
        field.into()
    } else {
        format!("{field}.{path}").into()
    }
}

impl EventRedactor {
    /// Returns true if nothing has to be redacted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.labelled && self.redactor.is_empty()
    }

    /// Adds a value from a sensitive place.
    pub fn add_value(&mut self, value: &Value) {
        self.labelled = true;
        self.redactor.add_value(value);
    }

    /// Returns true if a line labels sensitive places. Other lines need not be passed to `add_event`.
    #[must_use]
    pub fn has_labels(line: &str) -> bool {
        line.contains("\"sensitive\":[")
    }

    /// Adds the values at the sensitive places of an event.
    ///
    /// # Errors
    /// Returns an error if the event, or a value that is stored elsewhere, cannot be read.
    pub fn add_event(&mut self, line: &[u8], kept: &mut Kept<'_>) -> Result<(), EventError> {
        let mut digest = None;
        let mut event = Event::read(line, &mut |hash| {
            digest = Some(Arc::from(hash));
            kept(hash)
        })?;
        let paths = std::mem::take(&mut event.sensitive);
        let Some((field, value)) = event.kind.value_mut() else {
            return Ok(());
        };
        for path in paths.iter().filter_map(|path| below(field, path)) {
            self.labelled = true;
            self.sensitive_digests.extend(digest.take());
            at_path(value, path, &mut |secret| self.redactor.add_value(secret));
        }
        Ok(())
    }

    /// Returns a line of a journal with secrets redacted.
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
            redact_at(&mut fields, path);
        }
        let mut json = Json::Object(fields);
        self.redactor.json(&mut json);
        Cow::Owned(json.to_string())
    }

    /// Returns a question with secrets redacted.
    #[must_use]
    pub fn question(&self, question: &Question) -> Question {
        question.redacted(&self.redactor)
    }

    /// Returns a text with secrets redacted.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.text(text)
    }

    /// Returns a stored large value with secrets redacted.
    #[must_use]
    pub fn content(&self, digest: &str, content: Vec<u8>) -> Vec<u8> {
        if self.sensitive_digests.contains(digest) {
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

/// Redacts the value at a place of an event; a typed value is redacted as a whole.
fn redact_at(fields: &mut Map<String, Json>, path: &str) {
    let (field, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(plain) = fields.get_mut(field) {
        redact_json_path(plain, rest);
    }
    if let Some(typed) = fields.get_mut(&format!("{field}_typed")) {
        *typed = MARK.into();
    }
}

impl Event {
    /// Replaces the secrets in the event by marks.
    pub fn redact(&mut self, redactor: &Redactor) {
        if redactor.is_empty() && self.sensitive.is_empty() {
            return;
        }
        let labels = std::mem::take(&mut self.sensitive);
        if let Some((field, value)) = self.kind.value_mut() {
            *value = redacted_value(redactor, &paths_below(field, &labels), value);
        }
        match &mut self.kind {
            EventKind::StepAsks { question, .. } => {
                *question = Arc::new(question.redacted(redactor));
            }
            EventKind::AnswerGiven { note, .. } => {
                if let Some(note) = note {
                    *note = redactor.text(note).as_ref().into();
                }
            }
            EventKind::StepRecovering { error, .. } => *error = Arc::new(error.redacted(redactor)),
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
        *error = Arc::new(error.redacted(redactor));
    }
}

impl Question {
    /// Returns the question with secrets redacted.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        let text = redactor.text(&self.text).as_ref().into();
        let why = self
            .why
            .as_deref()
            .map(|why| redactor.text(why).as_ref().into());
        Self {
            text,
            why,
            arguments: redacted_value(redactor, &self.sensitive, &self.arguments),
            ..self.clone()
        }
    }
}

fn redacted_value(redactor: &Redactor, sensitive: &[Arc<str>], value: &Value) -> Value {
    let value = redact_paths(value, sensitive);
    redactor.value(&value).unwrap_or(value)
}

/// Returns the paths that are below a field of an event, relative to that field.
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
