//! What an engine tells while it runs: one event for every change of state.

use std::time::Duration;

use serde::Serialize;

use super::failure::StepError;
use crate::protocol::{RunState, StepState};
use crate::value::Value;

/// One change. Its number orders it; `at` is the wall clock in nanoseconds since 1970.
#[derive(Debug)]
pub struct Event<'a> {
    pub number: u64,
    pub at: i128,
    pub kind: EventKind<'a>,
}

#[derive(Debug)]
pub enum EventKind<'a> {
    RunStarted {
        run: &'a str,
        plan: &'a str,
        /// The steps that the plan itself holds.
        steps: usize,
    },
    StepQueued {
        path: &'a str,
    },
    /// An attempt begins; the tool is what is called, empty for steps that hold others.
    StepRunning {
        path: &'a str,
        tool: &'a str,
        attempt: u32,
    },
    /// It waits before the next attempt or poll.
    StepWaiting {
        path: &'a str,
        attempt: u32,
        wait: Duration,
        /// The failure that is behind the wait; a poll has none.
        error: Option<&'a StepError>,
    },
    StepSettled {
        path: &'a str,
        state: StepState,
        attempts: u32,
        duration: Duration,
        recovered: bool,
        /// Why it was skipped: `guard`, `upstream` or `replied`.
        reason: Option<&'static str>,
        error: Option<&'a StepError>,
    },
    RunSettled {
        state: RunState,
        reply: Option<&'a Value>,
        error: Option<&'a StepError>,
    },
}

/// Who listens. Called by the dispatcher between two changes, so it must not block.
pub trait Observer: Send {
    fn observe(&mut self, event: &Event<'_>);

    /// Nothing more happens until something outside does: the moment to pass on what was kept back.
    fn idle(&mut self) {}
}

/// Nobody listens.
pub struct Silence;

impl Observer for Silence {
    fn observe(&mut self, _event: &Event<'_>) {}
}

impl<F: FnMut(&Event<'_>) + Send> Observer for F {
    fn observe(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// The JSON line of an event.
#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    at: Timestamp,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl Serialize for Event<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.line().serialize(serializer)
    }
}

impl Event<'_> {
    /// The stable name of the kind of event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            EventKind::RunStarted { .. } => "run.started",
            EventKind::StepQueued { .. } => "step.queued",
            EventKind::StepRunning { .. } => "step.running",
            EventKind::StepWaiting { .. } => "step.waiting",
            EventKind::StepSettled { .. } => "step.settled",
            EventKind::RunSettled { .. } => "run.settled",
        }
    }

    fn line(&self) -> Line<'_> {
        let mut line = Line {
            number: self.number,
            at: Timestamp(self.at),
            event: self.name(),
            run: None,
            plan: None,
            path: None,
            tool: None,
            status: None,
            attempt: None,
            wait_ms: None,
            duration_ms: None,
            recovered: None,
            reason: None,
            reply: None,
            error: None,
        };
        match self.kind {
            EventKind::RunStarted { run, plan, .. } => (line.run, line.plan) = (Some(run), Some(plan)),
            EventKind::StepQueued { path } => line.path = Some(path),
            EventKind::StepRunning { path, tool, attempt } => {
                (line.path, line.attempt) = (Some(path), Some(attempt));
                line.tool = (!tool.is_empty()).then_some(tool);
            }
            EventKind::StepWaiting { path, attempt, wait, error } => {
                (line.path, line.attempt, line.wait_ms) = (Some(path), Some(attempt), Some(millis(wait)));
                line.error = error.map(StepError::to_value);
            }
            EventKind::StepSettled { path, state, attempts, duration, recovered, reason, error } => {
                (line.path, line.status, line.reason) = (Some(path), Some(state.name()), reason);
                (line.attempt, line.duration_ms) = (Some(attempts), Some(millis(duration)));
                line.recovered = recovered.then_some(true);
                line.error = error.map(StepError::to_value);
            }
            EventKind::RunSettled { state, reply, error } => {
                (line.status, line.reply) = (Some(state.name()), reply);
                line.error = error.map(StepError::to_value);
            }
        }
        line
    }
}

/// An instant that is written as RFC 3339 with milliseconds.
pub(super) struct Timestamp(pub i128);

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Two of these are written for every step, so they are not left to a general formatter.
        let millis = i64::try_from(self.0.div_euclid(1_000_000)).unwrap_or(0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
        let (year, month, day) = civil(days);
        if !(0..=9999).contains(&year) {
            return Timestamp(0).serialize(serializer);
        }
        let parts = [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, of_day / 3_600_000),
            (14, 2, of_day / 60_000 % 60),
            (17, 2, of_day / 1000 % 60),
            (20, 3, of_day % 1000),
        ];
        for (start, digits, mut number) in parts {
            for place in text.iter_mut().skip(start).take(digits).rev() {
                *place += u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        }
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the leap day is the last one; 400 of them have 146,097 days.
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A length of time as a person would say it: `250ms`, `3s`, `2m`.
#[must_use]
pub fn short_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        1000..60_000 => format!("{:.1}s", duration.as_secs_f64()),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => format!("{}m{}s", millis / 60_000, millis % 60_000 / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_a_calendar_has_them() {
        let day = 86_400_000_000_000;
        for nanos in (-800_000..2_900_000).step_by(97).map(|days| i128::from(days) * day + 45_296_789_999_999) {
            let expected =
                jiff::Timestamp::from_nanosecond(nanos - nanos.rem_euclid(1_000_000)).map(|at| format!("{at:.3}"));
            let expected = expected.unwrap_or_default();
            let written = serde_json::to_value(Timestamp(nanos)).unwrap();
            if expected.len() == 24 {
                assert_eq!(written, expected);
            } else {
                assert!(written.is_string());
            }
        }
    }
}
