//! The JSON line of an event. Two are written for every step, so no general serializer stands between.

use std::io;
use std::time::Duration;

use planrun_lang::value::Value;

use super::event::{Dispatch, Event, EventKind, Waiting};
use super::failure::StepError;
use super::question::Question;

/// Values whose JSON is longer than this, in bytes, are kept once by the hash of their content.
const LARGEST_INLINE: usize = 64 * 1024;

/// Where large values go: the hash of the content in hexadecimal digits, and the content.
pub type Keep<'a> = dyn FnMut(&str, &[u8]) + 'a;

impl Event {
    /// Writes the event as one JSON object and a line feed, at once.
    ///
    /// # Errors
    /// Whatever the writer says.
    pub fn write_line(&self, writer: &mut impl io::Write) -> io::Result<()> {
        let mut text = Vec::with_capacity(192);
        self.write_object(&mut text, None);
        text.push(b'\n');
        writer.write_all(&text)
    }

    /// Writes the event as a journal has it: one JSON object, from which large values are handed to `keep`.
    pub fn write_entry(&self, text: &mut Vec<u8>, keep: &mut Keep<'_>) {
        self.write_object(text, Some(keep));
    }

    fn write_object(&self, text: &mut Vec<u8>, keep: Option<&mut Keep<'_>>) {
        let mut line = Line { text, keep };
        line.text.extend_from_slice(b"{\"number\":");
        line.json(&self.number);
        line.text.extend_from_slice(b",\"at\":\"");
        line.text.extend_from_slice(&instant(self.at));
        line.text.extend_from_slice(b"\"");
        line.word("event", self.name());
        line.kind(&self.kind);
        if !self.sensitive.is_empty() {
            line.field("sensitive", &self.sensitive);
        }
        line.text.push(b'}');
    }
}

/// A line that is being written.
struct Line<'a, 'k> {
    text: &'a mut Vec<u8>,
    keep: Option<&'a mut Keep<'k>>,
}

impl Line<'_, '_> {
    fn kind(&mut self, kind: &EventKind) {
        if !kind.path().is_empty() {
            self.field("path", kind.path());
        }
        match kind {
            EventKind::RunResumed
            | EventKind::StepQueued { .. }
            | EventKind::StepRetried { .. }
            | EventKind::ListenerFired { .. } => {}
            EventKind::RunStarted { run, plan, .. } => {
                self.texts(&[("run", Some(run)), ("plan", Some(plan))]);
            }
            EventKind::RunPatched { before, after } => {
                self.texts(&[("before", Some(before)), ("after", Some(after))]);
            }
            EventKind::RunCancelling { keep } => self.flag("keep", *keep),
            EventKind::RunPaused { wake, still } => self.paused(*wake, *still),
            EventKind::StepRunning { .. } => self.running(kind),
            EventKind::StepWaiting { .. } => self.waiting(kind),
            EventKind::StepAsks { question, .. } => self.question(question),
            EventKind::StepSleeps { until, .. } => {
                self.word("for", Waiting::Time.name());
                self.moment("until", Some(*until));
            }
            EventKind::AnswerGiven { .. } => self.answer(kind),
            EventKind::StepCopied {
                run,
                output,
                cached,
                ..
            } => {
                self.texts(&[("run", Some(run))]);
                self.flag("cached", *cached);
                self.value(&OUTPUT, Some(output));
            }
            EventKind::HandleGiven { handle, .. } => self.field("handle", handle),
            EventKind::UsageReported { used, .. } => {
                self.field("tokens", &used.tokens);
                self.number("cost", used.cost);
            }
            EventKind::ResultNoted { note, .. } => self.texts(&[("note", Some(note))]),
            EventKind::BudgetLow { used, limit, .. } => {
                self.number("used", *used);
                self.number("limit", *limit);
            }
            EventKind::StepRecovering { error, .. } => self.error(Some(error)),
            EventKind::StepSettled { .. } => self.step_settled(kind),
            EventKind::TimerFired { timer, .. } => self.word("timer", timer.name()),
            EventKind::TaskSet { .. } | EventKind::TaskMoved { .. } => self.task(kind),
            EventKind::SignalReceived { .. } => self.signal(kind),
            EventKind::RunSettled { .. } => self.run_settled(kind),
        }
    }

    fn answer(&mut self, kind: &EventKind) {
        if let EventKind::AnswerGiven {
            value, by, note, ..
        } = kind
        {
            self.value(&VALUE, Some(value));
            self.texts(&[("by", by.as_deref()), ("note", note.as_deref())]);
        }
    }

    fn step_settled(&mut self, kind: &EventKind) {
        if let EventKind::StepSettled {
            state,
            attempts,
            duration,
            recovered,
            reason,
            output,
            error,
            ..
        } = kind
        {
            self.word("status", state.name());
            self.field("attempt", attempts);
            self.field("duration_ms", &millis(*duration));
            self.flag("recovered", *recovered);
            self.texts(&[("reason", *reason)]);
            self.value(&OUTPUT, output.as_ref());
            self.error(error.as_deref());
        }
    }

    fn run_settled(&mut self, kind: &EventKind) {
        if let EventKind::RunSettled {
            state,
            reply,
            error,
        } = kind
        {
            self.word("status", state.name());
            if let Some(reply) = reply {
                self.field::<Value>("reply", reply);
            }
            self.error(error.as_deref());
        }
    }

    fn paused(&mut self, wake: Option<i128>, still: bool) {
        self.moment("wake", wake);
        self.flag("still", still);
    }

    fn running(&mut self, kind: &EventKind) {
        if let EventKind::StepRunning {
            tool,
            attempt,
            call,
            ..
        } = kind
        {
            self.texts(&[("tool", Some(&**tool).filter(|tool| !tool.is_empty()))]);
            self.field("attempt", attempt);
            self.dispatch(call.as_ref());
        }
    }

    fn waiting(&mut self, kind: &EventKind) {
        if let EventKind::StepWaiting {
            attempt,
            what,
            wait,
            error,
            ..
        } = kind
        {
            self.field("attempt", attempt);
            self.word("for", what.name());
            self.field("wait_ms", &millis(*wait));
            self.error(error.as_deref());
        }
    }

    fn signal(&mut self, kind: &EventKind) {
        if let EventKind::SignalReceived {
            signal,
            payload,
            refused,
        } = kind
        {
            self.field("signal", signal);
            self.value(&PAYLOAD, Some(payload));
            self.texts(&[("reason", refused.as_deref())]);
        }
    }

    /// A number, without a fraction where it has none.
    fn number(&mut self, key: &'static str, number: f64) {
        self.field(key, &Value::Double(number));
    }

    fn task(&mut self, kind: &EventKind) {
        let (status, context, refused) = match kind {
            EventKind::TaskSet {
                status, context, ..
            } => (status, context, None),
            EventKind::TaskMoved {
                status,
                context,
                refused,
                ..
            } => (status, context, refused.as_deref()),
            _ => return,
        };
        self.field("status", status);
        self.value(&PAYLOAD, Some(context));
        self.texts(&[("reason", refused)]);
    }

    fn dispatch(&mut self, call: Option<&Dispatch>) {
        let Some(call) = call else { return };
        self.field("execution", &call.execution);
        self.field("trial", &call.trial);
        self.word("effect", call.effect.name());
        if !call.key.is_empty() {
            self.field("key", &call.key);
        }
        self.texts(&[("again", call.again)]);
        self.value(&ARGUMENTS, Some(&call.arguments));
    }

    fn question(&mut self, question: &Question) {
        self.word("for", question.kind.name());
        self.field("text", &question.text);
        self.texts(&[
            ("why", question.why.as_deref()),
            ("by", question.by.as_deref()),
        ]);
        self.moment("expires", question.expires);
        if question.kind != Waiting::Input {
            self.field("execution", &question.execution);
            let filled = |text: &'_ str| !text.is_empty();
            let binding = Some(&*question.binding).filter(|binding| filled(binding));
            self.texts(&[
                ("binding", binding),
                ("tool", Some(&*question.tool).filter(|tool| filled(tool))),
            ]);
            if let Some(effect) = question.effect {
                self.word("effect", effect.name());
            }
        }
        if question.kind != Waiting::Confirm {
            self.field("form", &question.form);
        }
        self.value(&ARGUMENTS, Some(&question.arguments));
    }

    fn texts(&mut self, texts: &[(&'static str, Option<&str>)]) {
        for (key, text) in texts {
            if let Some(text) = text {
                self.field(key, *text);
            }
        }
    }

    fn flag(&mut self, key: &'static str, holds: bool) {
        if holds {
            self.field(key, &true);
        }
    }

    /// Nanoseconds since 1970.
    fn moment(&mut self, key: &'static str, nanos: Option<i128>) {
        let Some(nanos) = nanos else { return };
        self.key(key);
        self.text.push(b'"');
        self.text.extend_from_slice(&instant(nanos));
        self.text.push(b'"');
    }

    /// A value in the shortest of its forms that loses nothing.
    fn value(&mut self, names: &ValueNames, value: Option<&Value>) {
        let Some(value) = value else { return };
        let begin = self.text.len();
        let plain = value.is_plain_json();
        if plain {
            self.key(names.plain);
        } else {
            self.key(names.typed);
        }
        let content = self.text.len();
        if plain {
            self.json(value);
        } else {
            self.json(&value.to_typed_json());
        }
        if self.text.len() - content <= LARGEST_INLINE {
            return;
        }
        if let Some(keep) = self.keep.as_deref_mut() {
            let digest = blake3::hash(&self.text[content..]).to_hex();
            keep(&digest, &self.text[content..]);
            self.text.truncate(begin);
            self.field(
                if plain {
                    names.plain_kept
                } else {
                    names.typed_kept
                },
                digest.as_str(),
            );
        }
    }

    fn error(&mut self, error: Option<&StepError>) {
        if let Some(error) = error {
            self.field("error", error);
        }
    }

    fn field<T: serde::Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        self.key(key);
        self.json(value);
    }

    /// A field whose value is one of our own words, in which nothing is to be escaped.
    fn word(&mut self, key: &'static str, word: &'static str) {
        self.key(key);
        self.text.push(b'"');
        self.text.extend_from_slice(word.as_bytes());
        self.text.push(b'"');
    }

    fn key(&mut self, key: &'static str) {
        self.text.extend_from_slice(b",\"");
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        let before = self.text.len();
        if serde_json::to_writer(&mut *self.text, value).is_err() {
            // A value that JSON has no form for.
            self.text.truncate(before);
            self.text.extend_from_slice(b"null");
        }
    }
}

/// The keys of one value: as plain JSON, as typed JSON where plain JSON would lose something, and each as the hash of
/// what is kept elsewhere.
struct ValueNames {
    plain: &'static str,
    typed: &'static str,
    plain_kept: &'static str,
    typed_kept: &'static str,
}

const OUTPUT: ValueNames = ValueNames {
    plain: "output",
    typed: "output_typed",
    plain_kept: "output_kept",
    typed_kept: "output_typed_kept",
};
const PAYLOAD: ValueNames = ValueNames {
    plain: "payload",
    typed: "payload_typed",
    plain_kept: "payload_kept",
    typed_kept: "payload_typed_kept",
};
const VALUE: ValueNames = ValueNames {
    plain: "value",
    typed: "value_typed",
    plain_kept: "value_kept",
    typed_kept: "value_typed_kept",
};
const ARGUMENTS: ValueNames = ValueNames {
    plain: "arguments",
    typed: "arguments_typed",
    plain_kept: "arguments_kept",
    typed_kept: "arguments_typed_kept",
};

/// Nanoseconds since 1970 as RFC 3339 with milliseconds; the beginning of 1970 for years without four digits.
#[must_use]
pub fn instant(nanos: i128) -> [u8; 24] {
    let mut text = *b"1970-01-01T00:00:00.000Z";
    // Dividing 64 bits is many times as fast, and they last until 2262.
    let millis = match i64::try_from(nanos) {
        Ok(nanos) => nanos.div_euclid(1_000_000),
        Err(_) => i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(i64::MAX),
    };
    let days = millis
        .div_euclid(86_400_000)
        .checked_add(DAYS_BEFORE_1970)
        .and_then(|days| u32::try_from(days).ok());
    let (Some(days), Ok(of_day)) = (days, u32::try_from(millis.rem_euclid(86_400_000))) else {
        return text;
    };
    let (year, month, day) = civil(days);
    if year > 9999 {
        return text;
    }
    let seconds = of_day / 1000;
    let pairs = [
        (0, year / 100),
        (2, year % 100),
        (5, month),
        (8, day),
        (11, seconds / 3600),
        (14, seconds / 60 % 60),
        (17, seconds % 60),
        (20, of_day / 10 % 100),
    ];
    for (at, number) in pairs {
        [text[at], text[at + 1]] = TWO_DIGITS[number as usize % 100];
    }
    text[22] = TWO_DIGITS[of_day as usize % 10][1];
    text
}

/// The days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// The numbers below 100.
const TWO_DIGITS: [[u8; 2]; 100] = {
    let mut table = [*b"00"; 100];
    let (mut number, mut digits) = (0, *b"00");
    while number < 100 {
        table[number] = digits;
        digits = if digits[1] == b'9' {
            [digits[0] + 1, b'0']
        } else {
            [digits[0], digits[1] + 1]
        };
        number += 1;
    }
    table
};

/// Year, month and day of a day since 0000-03-01, in the proleptic Gregorian calendar.
fn civil(days: u32) -> (u32, u32, u32) {
    // Years begin in March here, so that the leap day is the last one; 400 of them have 146,097 days.
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u32::from(month <= 2), month, day)
}

fn millis(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1000)
        .saturating_add(u64::from(duration.subsec_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Bound, FormField, Used};
    use planrun_lang::protocol::{RunState, StepState};
    use planrun_lang::types::Effect;

    #[test]
    fn instants_are_written_as_a_calendar_has_them() {
        let day = 86_400_000_000_000;
        for nanos in (-719_468..2_900_000)
            .step_by(97)
            .map(|days| i128::from(days) * day + 45_296_789_999_999)
        {
            let expected = jiff::Timestamp::from_nanosecond(nanos - nanos.rem_euclid(1_000_000));
            let expected = expected.map_or("1970-01-01T00:00:00.000Z".to_owned(), |at| {
                format!("{at:.3}")
            });
            assert_eq!(String::from_utf8_lossy(&instant(nanos)), expected);
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
                steps: 2,
            },
            EventKind::StepQueued { path: "a".into() },
            EventKind::RunResumed,
            EventKind::RunCancelling { keep: false },
            EventKind::RunCancelling { keep: true },
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
                budget: "calls",
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
                reason: Some("guard"),
                output: Some(reply.clone()),
                error: None,
            },
            EventKind::RunSettled {
                state: RunState::Failed,
                reply: None,
                error: Some(error.clone()),
            },
            EventKind::RunSettled {
                state: RunState::Completed,
                reply: Some(reply.clone()),
                error: None,
            },
        ];
        let mut text = Vec::new();
        for (number, kind) in (1..).zip(kinds.iter().cloned()) {
            let sensitive = if number == 1 {
                vec!["arguments.at".into()]
            } else {
                Vec::new()
            };
            Event {
                number,
                at: 1_700_000_000_123_456_789,
                kind,
                sensitive,
            }
            .write_line(&mut text)
            .unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), kinds.len());
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()),
            "{text}"
        );
        insta::assert_snapshot!("events", text);
    }
}
