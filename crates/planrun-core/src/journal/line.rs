//! The encoding of an event: one line of JSON, the same in journals and in output.

use serde::Serialize as _;

use super::event::Event;
use super::kind_writer::KindWriter;
use super::read::{Fields, ValueField};
use super::wire::instant_digits;

/// Values whose JSON is longer than this, in bytes, are stored once, by the hash of their content.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Stores a large value: takes the hash of the content in hexadecimal digits, and the content.
pub type StoreBlob<'a> = dyn FnMut(&str, &[u8]) + 'a;

/// Writes events as lines. Most events have the same time as the one before, so the text of a time is kept.
pub struct LineWriter {
    text: Vec<u8>,
    at: i128,
    instant: [u8; 24],
}

impl Default for LineWriter {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            at: 0,
            instant: instant_digits(0),
        }
    }
}

impl LineWriter {
    /// Returns the event as one JSON object and a line feed.
    pub fn line(&mut self, event: &Event) -> &[u8] {
        self.write_object(event);
        self.text.push(b'\n');
        &self.text
    }

    /// Returns the event as the journal stores it: one JSON object, whose large values are passed to `keep`.
    pub fn entry(&mut self, event: &Event, store: &mut StoreBlob<'_>) -> &[u8] {
        self.write_object(event);
        if self.text.len() > MAX_INLINE_BYTES {
            let line = std::mem::take(&mut self.text);
            match serde_json::from_slice(&line) {
                Ok(fields) => without_large_values(&fields, &mut self.text, store),
                Err(_) => self.text = line,
            }
        }
        &self.text
    }

    fn write_object(&mut self, event: &Event) {
        if event.at != self.at {
            (self.at, self.instant) = (event.at, instant_digits(event.at));
        }
        let text = &mut self.text;
        text.clear();
        text.extend_from_slice(b"{\"number\":");
        infallible(&serde_json::to_writer(&mut *text, &event.number));
        text.extend_from_slice(b",\"at\":\"");
        text.extend_from_slice(&self.instant);
        text.push(b'"');
        infallible(&event.kind.serialize(KindWriter::new(text)));
        if !event.sensitive.is_empty() {
            text.extend_from_slice(b",\"sensitive\":");
            infallible(&serde_json::to_writer(&mut *text, &event.sensitive));
        }
        text.push(b'}');
    }
}

/// Writing to a `Vec` cannot fail, and neither can serializing an event: all of its keys are strings.
fn infallible(written: &serde_json::Result<()>) {
    debug_assert!(written.is_ok(), "{written:?}");
}

/// Writes the line of these fields, with hashes in place of values that are too large.
fn without_large_values(
    Fields(fields): &Fields<'_>,
    text: &mut Vec<u8>,
    store: &mut StoreBlob<'_>,
) {
    let mut before = '{';
    for (name, value) in fields {
        let content = value.get();
        let field = if content.len() > MAX_INLINE_BYTES && ValueField::may_be_blob(name) {
            let digest = blake3::hash(content.as_bytes()).to_hex();
            store(&digest, content.as_bytes());
            format!("{before}\"{name}_kept\":\"{digest}\"")
        } else {
            format!("{before}\"{name}\":{content}")
        };
        text.extend_from_slice(field.as_bytes());
        before = ',';
    }
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::{Dispatch, EventKind};
    use crate::journal::{Bound, FormField, Question, StepError, Used, Waiting, instant};
    use planrun_lang::protocol::{RunState, StepState};
    use planrun_lang::types::Effect;
    use planrun_lang::value::{MAX_TIMESTAMP, MIN_TIMESTAMP, Value, civil};
    use std::time::Duration;

    #[test]
    fn instants_are_written_as_a_calendar_has_them() {
        let day = 86_400_000_000_000;
        for nanos in (-719_468..2_900_000)
            .step_by(97)
            .map(|days| i128::from(days) * day + 45_296_789_999_999)
        {
            let expected = nanos.clamp(MIN_TIMESTAMP, MAX_TIMESTAMP);
            assert_eq!(instant(nanos), format!("{:.3}Z", civil(expected)));
        }
    }

    #[test]
    fn each_line_has_the_time_of_its_event() {
        let mut lines = LineWriter::default();
        for millisecond in [0, 0, 1, 1, 60_000, 0] {
            let event = Event {
                number: 1,
                at: millisecond * 1_000_000,
                kind: EventKind::RunResumed { until: None },
                sensitive: Vec::new(),
            };
            let expected = format!(
                "{{\"number\":1,\"at\":\"{}\",\"event\":\"run.resumed\"}}\n",
                instant(event.at)
            );
            assert_eq!(String::from_utf8_lossy(lines.line(&event)), expected);
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    #[test]
    fn every_kind_of_event_is_one_line_of_json() {
        let error = StepError::new(
            planrun_lang::types::ErrorClass::Internal,
            "a \"quote\"\nand a line",
            &"步骤".into(),
        );
        let (wait, duration) = (Duration::from_millis(1500), Duration::from_micros(2999));
        let error = std::sync::Arc::new(error);
        let arguments = Value::object([("at", Value::Timestamp(0))]);
        let call = Dispatch {
            execution: 1,
            trial: 2,
            key: "k".into(),
            effect: Effect::Read,
            arguments: arguments.clone(),
            again: None,
        };
        let reply = Value::from("done");
        let gate = Question {
            kind: Waiting::Confirm,
            text: "Go \"on\"?".into(),
            why: Some("its arguments have changed".into()),
            asked_at: 1_700_000_000_123_456_789,
            effect: Some(Effect::Irreversible),
            sensitive: vec!["at".into()],
            by: Some("desk".into()),
            expires: Some(1_700_000_000_000_000_000),
            execution: 1,
            tool: "a.write".into(),
            arguments: arguments.clone(),
            binding: "b".into(),
            form: Vec::new(),
        };
        let field = FormField {
            name: "n".into(),
            ty: "int".into(),
            schema: serde_json::json!({"type": "integer"}),
            options: Some(vec![1.into()]),
            label: Some("how many".into()),
            contracts: vec![serde_json::json!({"minimum": 1})],
            secret: true,
        };
        let (kind, arguments) = (Waiting::Input, Value::object([("m", Value::Int(2))]));
        let form = Question {
            kind,
            arguments,
            form: vec![field],
            by: None,
            expires: None,
            ..gate.clone()
        };
        let kinds = [
            EventKind::StepAsks {
                path: "a".into(),
                question: gate.clone().into(),
            },
            EventKind::StepAsks {
                path: "b".into(),
                question: form.clone().into(),
            },
            EventKind::StepSleeps {
                path: "c".into(),
                until: 1_700_000_000_000_000_000,
            },
            EventKind::AnswerGiven {
                path: "a.confirm".into(),
                value: Value::Bool(true),
                by: Some("desk:ann".into()),
                note: None,
            },
            EventKind::RunStarted {
                run: "r".into(),
                plan: "入职".into(),
                until: None,
                steps: 2,
            },
            EventKind::StepQueued { path: "a".into() },
            EventKind::RunResumed { until: None },
            EventKind::RunCancelling {
                keep: false,
                force: false,
                replaces_end: true,
            },
            EventKind::RunCancelling {
                keep: true,
                force: true,
                replaces_end: false,
            },
            EventKind::RunPaused {
                wake: Some(1_700_000_000_000_000_000),
                still: true,
            },
            EventKind::StepRunning {
                path: "a[\"k\"]".into(),
                tool: "sys.echo".into(),
                attempt: 1,
                call: Some(call),
            },
            EventKind::StepRunning {
                path: "b".into(),
                tool: "".into(),
                attempt: 1,
                call: None,
            },
            EventKind::StepWaiting {
                path: "a".into(),
                attempt: 1,
                what: Waiting::Poll,
                wait,
                error: None,
            },
            EventKind::StepWaiting {
                path: "a".into(),
                attempt: 2,
                what: Waiting::Outcome,
                wait,
                error: Some(error.clone()),
            },
            EventKind::StepWaiting {
                path: "a".into(),
                attempt: 1,
                what: Waiting::Effects,
                wait: Duration::ZERO,
                error: Some(error.clone()),
            },
            EventKind::RunPatched {
                before: "b1".into(),
                after: "a1".into(),
            },
            EventKind::StepCopied {
                path: "a".into(),
                run: "r".into(),
                output: reply.clone(),
                cached: false,
            },
            EventKind::StepCopied {
                path: "a".into(),
                run: "r".into(),
                output: reply.clone(),
                cached: true,
            },
            EventKind::StepRetried { path: "a".into() },
            EventKind::HandleGiven {
                path: "a".into(),
                handle: serde_json::json!({"task": "t-1"}),
            },
            EventKind::UsageReported {
                path: "a".into(),
                used: Used {
                    tokens: 120,
                    cost: 0.25,
                },
            },
            EventKind::BudgetLow {
                budget: "calls".into(),
                used: 48.0,
                limit: 60.0,
            },
            EventKind::ResultNoted {
                path: "a".into(),
                note: "to must be of the format email".into(),
            },
            EventKind::StepRecovering {
                path: "a".into(),
                error: error.clone(),
            },
            EventKind::LimitReached {
                path: "c".into(),
                limit: 2,
            },
            EventKind::TimerFired {
                path: "b".into(),
                timer: Bound::Within,
            },
            EventKind::StepSettled {
                path: "a".into(),
                state: StepState::Skipped,
                attempts: 0,
                duration,
                recovered: true,
                reason: Some("guard".into()),
                output: Some(reply.clone()),
                error: None,
            },
            EventKind::RunSettled {
                state: RunState::Failed,
                reply: None,
                error: Some(error.clone()),
                retryable: vec!["a".into()],
            },
            EventKind::RunSettled {
                state: RunState::Completed,
                reply: Some(reply.clone()),
                error: None,
                retryable: Vec::new(),
            },
            EventKind::RunResumed {
                until: Some("a".into()),
            },
        ];
        let (mut text, mut lines) = (Vec::new(), LineWriter::default());
        for (number, kind) in (1..).zip(kinds.iter().cloned()) {
            let sensitive = if number == 1 {
                vec!["arguments.at".into()]
            } else {
                Vec::new()
            };
            text.extend_from_slice(lines.line(&Event {
                number,
                at: 1_700_000_000_123_456_789,
                kind,
                sensitive,
            }));
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), kinds.len());
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()),
            "{text}"
        );
        for line in text.lines() {
            let read =
                Event::read(line.as_bytes(), &mut |_| Err("no value is stored".into())).unwrap();
            let again = String::from_utf8_lossy(lines.line(&read));
            assert_eq!(again.trim_end(), line);
        }
        insta::assert_snapshot!("events", text);
    }
}
