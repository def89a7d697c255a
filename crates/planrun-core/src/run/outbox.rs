//! The commands that a run gives, and the events among them.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::RunState;
use planrun_lang::secrets::{Redactor, at_path};
use planrun_lang::value::Value;

use super::clock::Moment;
use super::command::Command;
use super::frame::Microseconds;
use super::recording::Recording;
use crate::journal::{Event, EventKind, Summary};

/// Words before a credential in a header.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

/// Everything that goes out of a run, with the clock by which it is dated.
pub(super) struct Outbox {
    /// The time that came with the input which is being handled.
    pub now: Moment,
    /// What has to be done outside, in order.
    commands: Vec<Command>,
    pub recording: Recording,
    /// What must not be shown.
    pub redactor: Redactor,
    /// When this process took the run up, on the monotonic clock.
    begun: Duration,
    /// When the run began, in nanoseconds since 1970.
    pub begun_at: i128,
}

impl Outbox {
    pub(super) fn new(recording: Recording, now: Moment, begun_at: i128) -> Self {
        Self {
            now,
            commands: Vec::new(),
            recording,
            redactor: Redactor::default(),
            begun: now.monotonic,
            begun_at,
        }
    }

    /// Something has to be done outside.
    pub(super) fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Hands out what has to be done.
    pub(super) fn drain_into(&mut self, commands: &mut Vec<Command>) {
        commands.append(&mut self.commands);
    }

    /// Tells of a change, unless an earlier process has; gives the number of the latest event.
    pub(super) fn emit(&mut self, kind: EventKind) -> u64 {
        self.emit_labelled(kind, Vec::new())
    }

    /// Tells of a change whose values have places that must not be shown.
    pub(super) fn emit_labelled(&mut self, kind: EventKind, sensitive: Vec<Arc<str>>) -> u64 {
        self.tell(kind, sensitive)
            .unwrap_or(self.recording.last_event())
    }

    /// As [`Self::emit_labelled`]; nothing where an earlier process has told of it.
    pub(super) fn tell(&mut self, kind: EventKind, sensitive: Vec<Arc<str>>) -> Option<u64> {
        let number = self.recording.next_event(&kind)?;
        if self.recording.is_durable() || self.recording.is_observed() {
            self.push(Command::Append(Event {
                number,
                at: self.now.wall,
                kind,
                sensitive,
            }));
        }
        Some(number)
    }

    /// A message has become the event that was just told: nothing that follows from it may come before this.
    pub(super) fn message_taken(&mut self, message: Option<u64>) {
        self.commands.extend(message.map(Command::MessageTaken));
    }

    /// Notes where the run stands, for lists of runs.
    pub(super) fn summarize(&mut self, state: RunState, wake: Option<i128>, error: Option<String>) {
        let (steps_done, steps_all) = self.recording.steps();
        if self.recording.is_durable() {
            self.push(Command::Summarize(Summary {
                state,
                wake,
                error,
                note: None,
                steps_done,
                steps_all,
            }));
        }
    }

    /// What stands at these places is not shown from now on, wherever it stands.
    pub(super) fn note_secrets(&mut self, value: &Value, paths: &[Arc<str>]) {
        let redactor = &mut self.redactor;
        for path in paths {
            at_path(value, path, &mut |secret| {
                let header = secret.as_str().and_then(|text| text.split_once(' '));
                if let Some((_, rest)) =
                    header.filter(|(scheme, _)| SCHEMES.contains(&&*scheme.to_ascii_lowercase()))
                {
                    redactor.add(rest);
                }
                redactor.add_value(secret);
            });
        }
    }

    /// Time since the run began; where it is replayed, that of then.
    pub(super) fn elapsed(&self) -> Microseconds {
        self.recording.then().unwrap_or_else(|| self.real_elapsed())
    }

    /// Time since the run began, by the clock of this process.
    pub(super) fn real_elapsed(&self) -> Microseconds {
        let here = self.now.monotonic.saturating_sub(self.begun);
        let here = u64::try_from(here.as_micros()).unwrap_or(u64::MAX);
        self.recording.time_before().saturating_add(here)
    }

    /// The moment that is replayed, in nanoseconds since 1970.
    pub(super) fn lived_moment(&self) -> i128 {
        let ago = self.real_elapsed().saturating_sub(self.elapsed());
        self.now.wall - i128::from(ago) * 1000
    }

    /// A moment of the run as text.
    pub(super) fn instant(&self, since_start: Microseconds) -> String {
        super::clock::instant(self.begun_at, since_start)
    }
}
