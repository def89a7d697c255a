//! The JSON line of an event. Two are written for every step, so no general serializer stands between.

use std::io;
use std::time::Duration;

use super::event::{Event, EventKind};
use super::failure::StepError;
use crate::value::Value;

impl Event<'_> {
    /// Writes the event as one JSON object and a line feed, at once.
    ///
    /// # Errors
    /// Whatever the writer says.
    pub fn write_line(&self, writer: &mut impl io::Write) -> io::Result<()> {
        let mut line = Line { text: Vec::with_capacity(192) };
        line.text.extend_from_slice(b"{\"number\":");
        line.json(&self.number);
        line.text.extend_from_slice(b",\"at\":\"");
        line.text.extend_from_slice(&instant(self.at));
        line.text.extend_from_slice(b"\"");
        line.word("event", self.name());
        line.kind(&self.kind);
        line.text.extend_from_slice(b"}\n");
        writer.write_all(&line.text)
    }
}

/// A line that is being written.
struct Line {
    text: Vec<u8>,
}

impl Line {
    fn kind(&mut self, kind: &EventKind<'_>) {
        match kind {
            EventKind::RunStarted { run, plan, .. } => {
                self.field("run", run);
                self.field("plan", plan);
            }
            EventKind::StepQueued { path } => self.field("path", path),
            EventKind::StepRunning { path, tool, attempt } => {
                self.field("path", path);
                if !tool.is_empty() {
                    self.field("tool", tool);
                }
                self.field("attempt", attempt);
            }
            EventKind::StepWaiting { path, attempt, wait, error } => {
                self.field("path", path);
                self.field("attempt", attempt);
                self.field("wait_ms", &millis(*wait));
                self.error(*error);
            }
            EventKind::StepSettled { path, state, attempts, duration, recovered, reason, error } => {
                self.field("path", path);
                self.word("status", state.name());
                self.field("attempt", attempts);
                self.field("duration_ms", &millis(*duration));
                if *recovered {
                    self.field("recovered", &true);
                }
                if let Some(reason) = reason {
                    self.word("reason", reason);
                }
                self.error(*error);
            }
            EventKind::RunSettled { state, reply, error } => {
                self.word("status", state.name());
                if let Some(reply) = reply {
                    self.field::<Value>("reply", reply);
                }
                self.error(*error);
            }
        }
    }

    fn error(&mut self, error: Option<&StepError>) {
        if let Some(error) = error {
            self.field("error", &error.to_value());
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
        if serde_json::to_writer(&mut self.text, value).is_err() {
            // A value that JSON has no form for.
            self.text.truncate(before);
            self.text.extend_from_slice(b"null");
        }
    }
}

/// Nanoseconds since 1970 as RFC 3339 with milliseconds; the beginning of 1970 for years without four digits.
pub(super) fn instant(nanos: i128) -> [u8; 24] {
    let mut text = *b"1970-01-01T00:00:00.000Z";
    // Dividing 64 bits is many times as fast, and they last until 2262.
    let millis = match i64::try_from(nanos) {
        Ok(nanos) => nanos.div_euclid(1_000_000),
        Err(_) => i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(i64::MAX),
    };
    let days = millis.div_euclid(86_400_000).checked_add(DAYS_BEFORE_1970).and_then(|days| u32::try_from(days).ok());
    let (Some(days), Ok(of_day)) = (days, u32::try_from(millis.rem_euclid(86_400_000))) else { return text };
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
        digits = if digits[1] == b'9' { [digits[0] + 1, b'0'] } else { [digits[0], digits[1] + 1] };
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
    duration.as_secs().saturating_mul(1000).saturating_add(u64::from(duration.subsec_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{RunState, StepState};

    #[test]
    fn instants_are_written_as_a_calendar_has_them() {
        let day = 86_400_000_000_000;
        for nanos in (-719_468..2_900_000).step_by(97).map(|days| i128::from(days) * day + 45_296_789_999_999) {
            let expected = jiff::Timestamp::from_nanosecond(nanos - nanos.rem_euclid(1_000_000));
            let expected = expected.map_or("1970-01-01T00:00:00.000Z".to_owned(), |at| format!("{at:.3}"));
            assert_eq!(String::from_utf8_lossy(&instant(nanos)), expected);
        }
    }

    #[test]
    fn every_kind_of_event_is_one_line_of_json() {
        let error = StepError::new(crate::types::ErrorClass::Internal, "a \"quote\"\nand a line", &"步骤".into());
        let (wait, duration) = (Duration::from_millis(1500), Duration::from_micros(2999));
        let error = Some(&error);
        let reply = Value::from("done");
        let kinds = [
            EventKind::RunStarted { run: "r", plan: "入职", steps: 2 },
            EventKind::StepQueued { path: "a" },
            EventKind::StepRunning { path: "a[\"k\"]", tool: "sys.echo", attempt: 1 },
            EventKind::StepRunning { path: "b", tool: "", attempt: 1 },
            EventKind::StepWaiting { path: "a", attempt: 1, wait, error: None },
            EventKind::StepSettled {
                path: "a",
                state: StepState::Skipped,
                attempts: 0,
                duration,
                recovered: true,
                reason: Some("guard"),
                error: None,
            },
            EventKind::RunSettled { state: RunState::Failed, reply: None, error },
            EventKind::RunSettled { state: RunState::Completed, reply: Some(&reply), error: None },
        ];
        let mut text = Vec::new();
        for (number, kind) in (1..).zip(kinds) {
            Event { number, at: 1_700_000_000_123_456_789, kind }.write_line(&mut text).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 8);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{text}");
        insta::assert_snapshot!("events", text);
    }
}
