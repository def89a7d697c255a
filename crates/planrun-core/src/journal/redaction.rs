//! Redacts secrets in events, both live and recorded ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::secrets::{MARK, Redactor, at_path, redact_json_path, redact_paths};
use planrun_lang::types::from_schema;
use planrun_lang::value::{Value, path_in, split_path};
use serde_json::{Map, Value as Json, json};

use super::deep;
use super::event::{Event, EventKind};
use super::failure::StepError;
use super::grant::Grant;
use super::question::{FormField, Question};
use super::read::{EventError, LoadBlob};

/// The fields that every event has. They are never secret.
const HEAD: [&str; 3] = ["number", "at", "event"];

/// The secrets in the events of one run.
#[derive(Debug, Default)]
pub struct EventRedactor {
    redactor: Redactor,
    /// Hashes of large values that contain sensitive places.
    sensitive_digests: BTreeSet<Arc<str>>,
    /// Whether any place is labelled sensitive, even if its value is too short to be redacted elsewhere.
    labelled: bool,
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
    pub fn add_event(&mut self, line: &[u8], load: &mut LoadBlob<'_>) -> Result<(), EventError> {
        let mut digest = None;
        let mut event = Event::read(line, &mut |hash| {
            digest = Some(Arc::from(hash));
            load(hash)
        })?;
        let paths = std::mem::take(&mut event.sensitive);
        if let EventKind::StepAsks { question, .. } = &event.kind {
            for option in question.secret_options() {
                self.add_value(&option);
            }
        }
        let Some((field, value)) = event.kind.value_mut() else {
            return Ok(());
        };
        for path in paths.iter().filter_map(|path| path_in(field, path)) {
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
        let Ok(Json::Object(mut fields)) = deep::from_str(line) else {
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
        redact_secret_options(&mut fields);
        // A secret that happens to look like a number or a time must not make the line unreadable.
        let contents = fields
            .iter_mut()
            .filter(|(name, _)| !HEAD.contains(&name.as_str()));
        for (_, content) in contents {
            self.redactor.json(content);
        }
        Cow::Owned(Json::Object(fields).to_string())
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

    /// Redacts secrets in JSON.
    pub fn json(&self, json: &mut Json) {
        self.redactor.json(json);
    }

    /// Returns a stored large value with secrets redacted.
    #[must_use]
    pub fn content(&self, digest: &str, content: Vec<u8>) -> Vec<u8> {
        if self.sensitive_digests.contains(digest) {
            return Json::from(MARK).to_string().into_bytes();
        }
        if self.redactor.is_empty() {
            return content;
        }
        match deep::from_slice::<Json>(&content) {
            Ok(mut json) => {
                let before = json.clone();
                self.redactor.json(&mut json);
                if json == before {
                    content
                } else {
                    json.to_string().into_bytes()
                }
            }
            // A value that cannot be parsed cannot be searched for secrets.
            Err(_) => Json::from(MARK).to_string().into_bytes(),
        }
    }
}

/// Redacts the value at a place of an event; a typed value is redacted as a whole.
fn redact_at(fields: &mut Map<String, Json>, path: &str) {
    let (field, rest) = split_path(path);
    if let Some(plain) = fields.get_mut(&*field) {
        redact_json_path(plain, rest);
    }
    if let Some(typed) = fields.get_mut(&format!("{field}_typed")) {
        *typed = MARK.into();
    }
}

/// Redacts the options of the secret fields of a form, if the event has a form.
fn redact_secret_options(fields: &mut Map<String, Json>) {
    let form = fields.get_mut("form").and_then(Json::as_array_mut);
    for field in form.into_iter().flatten() {
        let is_secret = field.get("secret") == Some(&Json::Bool(true));
        let options = field.get_mut("options").and_then(Json::as_array_mut);
        for option in options.filter(|_| is_secret).into_iter().flatten() {
            *option = MARK.into();
        }
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
            EventKind::AnswerGiven { by, note, .. } => {
                redact_text(by, redactor);
                redact_text(note, redactor);
            }
            EventKind::RunGranted { grant } => *grant = Arc::new(grant.redacted(redactor)),
            EventKind::ResultNoted { note, .. } => *note = redactor.text(note).as_ref().into(),
            EventKind::TaskMoved { refused, .. } | EventKind::SignalReceived { refused, .. } => {
                redact_text(refused, redactor);
            }
            EventKind::StepRecovering { error, .. } => *error = Arc::new(error.redacted(redactor)),
            EventKind::StepSettled { error, .. } | EventKind::StepWaiting { error, .. } => {
                redact_error(error, redactor);
            }
            EventKind::RunSettled { error, .. } => redact_error(error, redactor),
            EventKind::HandleGiven { handle, .. } => redactor.json(handle),
            EventKind::TaskSet { .. }
            | EventKind::RunStarted { .. }
            | EventKind::RunResumed { .. }
            | EventKind::RunCancelling { .. }
            | EventKind::StepRetried { .. }
            | EventKind::UsageReported { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepRunning { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::LimitReached { .. }
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

fn redact_text(text: &mut Option<Arc<str>>, redactor: &Redactor) {
    if let Some(text) = text {
        *text = redactor.text(text).as_ref().into();
    }
}

impl Question {
    /// Returns the question with secrets redacted, in all of its parts.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        let mut question = self.clone();
        question.text = redactor.text(&self.text).as_ref().into();
        redact_text(&mut question.why, redactor);
        question.arguments = redacted_value(redactor, &self.sensitive, &self.arguments);
        for field in &mut question.form {
            field.redact(redactor);
        }
        question
    }

    /// Returns the options of its secret fields, which are secrets themselves.
    pub(crate) fn secret_options(&self) -> impl Iterator<Item = Value> {
        let secret = self.form.iter().filter(|field| field.secret);
        secret
            .flat_map(|field| field.options.iter().flatten())
            .map(Value::from_json)
    }
}

impl FormField {
    /// Redacts the field. Options and constraints that contain a secret are left out: nobody outside the run could
    /// check an answer against them, and the run checks it against those that it has recorded.
    fn redact(&mut self, redactor: &Redactor) {
        let shows = |json: &Json| {
            let mut redacted = json.clone();
            redactor.json(&mut redacted);
            redacted == *json
        };
        redact_text(&mut self.label, redactor);
        let is_secret = self.secret;
        self.options = self
            .options
            .take()
            .filter(|options| !is_secret && options.iter().all(shows));
        self.contracts.retain(shows);
        if !shows(&self.schema) {
            self.schema = match self.schema.get("type") {
                Some(Json::String(name)) => json!({ "type": name }),
                _ => json!({}),
            };
            self.ty = from_schema(&self.schema).to_string();
        }
    }
}

impl Grant {
    /// Returns the grant with secrets redacted.
    fn redacted(&self, redactor: &Redactor) -> Self {
        let mut grant = self.clone();
        redact_text(&mut grant.by, redactor);
        for calls in &mut grant.calls {
            calls
                .constants
                .values_mut()
                .for_each(|value| redactor.json(value));
        }
        grant
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
        .filter_map(|path| path_in(field, path))
        .map(Arc::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{GrantScope, GrantedCalls, LineWriter, SubmittedAnswer, Waiting};
    use planrun_lang::types::{Effect, Type};
    use planrun_lang::value::parse_timestamp;

    const SECRET: &str = "hunter-2";

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        assert!(redactor.add(SECRET));
        redactor
    }

    /// Asks for a choice among texts of which one is secret, and for a choice among secrets.
    fn question() -> Question {
        let choice = FormField {
            label: Some(format!("not {SECRET}").into()),
            options: Some(vec![SECRET.into(), "other".into()]),
            contracts: vec![json!({"pattern": SECRET}), json!({"minLength": 1})],
            ..FormField::plain("choice", &Type::String)
        };
        let key = FormField {
            secret: true,
            options: Some(vec!["k1".into(), "long-key-2".into()]),
            ..FormField::plain("key", &Type::String)
        };
        Question {
            why: Some(format!("{SECRET} was refused").into()),
            arguments: Value::object([("choice", Value::from(SECRET))]),
            form: vec![choice, key],
            ..Question::plain(Waiting::Input, format!("Is it {SECRET}?"))
        }
    }

    fn line(event: &Event) -> String {
        let mut lines = LineWriter::default();
        let line = lines.entry(event, &mut |_, _| {});
        String::from_utf8_lossy(line).into_owned()
    }

    #[test]
    fn a_question_is_redacted_in_all_of_its_parts() {
        let redacted = question().redacted(&redactor());
        let text = serde_json::to_string(&redacted).unwrap();
        for secret in [SECRET, "k1", "long-key-2"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert_eq!(redacted.form[0].contracts, [json!({"minLength": 1})]);
        // Clients check answers against the form that they see.
        for (field, value) in redacted.form.iter().zip([SECRET, "k1"]) {
            assert_eq!(field.read(Some(&value.into())), Ok(Value::from(value)));
        }
    }

    #[test]
    fn a_type_that_names_a_secret_is_shown_without_it() {
        let mut field = FormField::plain("choice", &Type::String);
        field.schema = json!({"type": "string", "enum": [SECRET, "other"]});
        field.redact(&redactor());
        assert_eq!(
            (&*field.ty, field.schema),
            ("string", json!({"type": "string"}))
        );
    }

    #[test]
    fn a_prefilled_value_that_is_shown_redacted_can_be_kept() {
        let given = SubmittedAnswer::new("a", json!({"choice": MARK, "key": "k1"}));
        let answer = question().accept(&given).unwrap();
        assert_eq!(answer.value.get("choice"), Some(&Value::from(SECRET)));
    }

    #[test]
    fn an_event_is_redacted_in_all_of_its_texts() {
        let text = || Some(Arc::from(format!("with {SECRET}")));
        let calls = GrantedCalls {
            tool: "a.write".into(),
            contract: "c".into(),
            effect: Effect::Effect,
            max: 1,
            constants: [("to".into(), SECRET.into())].into(),
        };
        let grant = Grant {
            plan: "p".into(),
            calls: vec![calls],
            scope: GrantScope::Once,
            by: text(),
            expires: None,
        };
        let (path, status): (Arc<str>, Arc<str>) = ("a".into(), "done".into());
        let kinds = [
            EventKind::StepAsks {
                path: path.clone(),
                question: question().into(),
            },
            EventKind::AnswerGiven {
                path: path.clone(),
                value: Value::from(SECRET),
                by: text(),
                note: text(),
            },
            EventKind::ResultNoted {
                path: path.clone(),
                note: SECRET.into(),
            },
            EventKind::TaskMoved {
                path: path.clone(),
                status,
                context: Value::Null,
                refused: text(),
            },
            EventKind::SignalReceived {
                signal: path,
                payload: Value::Null,
                refused: text(),
            },
            EventKind::RunGranted {
                grant: grant.into(),
            },
        ];
        for kind in kinds {
            let mut event = Event {
                number: 1,
                at: 0,
                kind,
                sensitive: Vec::new(),
            };
            assert!(line(&event).contains(SECRET));
            event.redact(&redactor());
            assert!(!line(&event).contains(SECRET), "{}", line(&event));
        }
    }

    #[test]
    fn a_redacted_line_can_be_read_and_shows_no_option_of_a_secret_field() {
        let event = Event {
            number: 2026,
            at: parse_timestamp("2026-01-01T00:00:00Z").unwrap(),
            kind: EventKind::StepAsks {
                path: "a".into(),
                question: question().into(),
            },
            sensitive: vec!["arguments.key".into()],
        };
        let mut redactor = EventRedactor::default();
        redactor.add_value(&Value::from("2026"));
        redactor
            .add_event(line(&event).as_bytes(), &mut |_| {
                Err("no value is stored".into())
            })
            .unwrap();
        assert_eq!(redactor.text("a long-key-2"), format!("a {MARK}"));
        let whole = line(&event);
        let redacted = redactor.line(&whole);
        assert!(
            !redacted.contains("\"k1\"") && redacted.contains(SECRET),
            "{redacted}"
        );
        let read = Event::peek(redacted.as_bytes()).unwrap();
        assert_eq!((read.number, read.at), (event.number, event.at));
    }
}
