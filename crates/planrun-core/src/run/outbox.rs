//! The commands that a run emits, and the events among them.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::RunState;
use planrun_lang::secrets::{Redactor, at_path};
use planrun_lang::value::Value;

use super::clock::{Moment, microseconds};
use super::command::Command;
use super::frame::Microseconds;
use super::recording::Recording;
use crate::journal::{AnswerError, Event, EventKind, Question, Summary};

/// Minimum time between two summaries of a run that continues. Each makes a commit of the journal larger.
const SUMMARY_INTERVAL: Duration = Duration::from_millis(100);

/// All output of a run, with the clock that dates it.
pub(super) struct Outbox {
    /// The time of the input that is being handled.
    pub now: Moment,
    /// Commands to the driver, in order.
    commands: Vec<Command>,
    pub recording: Recording,
    /// Everything that must be redacted.
    pub redactor: Redactor,
    /// Time at which this process took over the run, on the monotonic clock.
    begun: Duration,
    /// Wall-clock time at which the run began, in nanoseconds since the Unix epoch.
    pub begun_at: i128,
    /// Time of the latest summary, on the monotonic clock.
    summarized: Duration,
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
            summarized: now.monotonic,
        }
    }

    /// Adds a command.
    pub(super) fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Moves the commands to `commands`.
    pub(super) fn drain_into(&mut self, commands: &mut Vec<Command>) {
        if commands.is_empty() {
            std::mem::swap(commands, &mut self.commands);
        } else {
            commands.append(&mut self.commands);
        }
    }

    /// Emits an event, unless it is the replay of a recorded one. Returns the number of the latest event.
    pub(super) fn emit(&mut self, kind: EventKind) -> u64 {
        self.emit_labelled(kind, Vec::new())
    }

    /// Emits an event with the paths of its sensitive values.
    pub(super) fn emit_labelled(&mut self, kind: EventKind, sensitive: Vec<Arc<str>>) -> u64 {
        self.try_emit(kind, sensitive)
            .unwrap_or(self.recording.last_event())
    }

    /// As [`Self::emit_labelled`]; `None` if the event was already recorded.
    pub(super) fn try_emit(&mut self, kind: EventKind, sensitive: Vec<Arc<str>>) -> Option<u64> {
        let (done, _) = self.recording.steps();
        let number = self.recording.next_event(&kind)?;
        if self.recording.is_durable() || self.recording.is_observed() {
            self.push(Command::Append(Event {
                number,
                at: self.now.wall,
                kind,
                sensitive,
            }));
        }
        let is_due = self.now.monotonic.saturating_sub(self.summarized) >= SUMMARY_INTERVAL;
        if is_due && self.recording.steps().0 != done {
            self.summarize((RunState::Running, None), None, None);
        }
        Some(number)
    }

    /// Marks a message as taken by the event that was just emitted. Nothing that follows from the message may be
    /// emitted before.
    pub(super) fn message_taken(&mut self, message: Option<u64>) {
        self.commands.extend(message.map(Command::MessageTaken));
    }

    /// Emits the state of the run, for lists of runs.
    pub(super) fn summarize(
        &mut self,
        (state, wake): (RunState, Option<i128>),
        error: Option<String>,
        note: Option<String>,
    ) {
        let (steps_done, steps_all) = self.recording.steps();
        self.summarized = self.now.monotonic;
        if self.recording.is_durable() {
            self.push(Command::Summarize(Summary {
                state,
                wake,
                error,
                note,
                steps_done,
                steps_all,
            }));
        }
    }

    /// Registers the values at these paths as secrets, which are redacted wherever they occur.
    pub(super) fn note_secrets(&mut self, value: &Value, paths: &[Arc<str>]) {
        for path in paths {
            at_path(value, path, &mut |secret| self.redactor.add_value(secret));
        }
    }

    /// Registers the sensitive values of a question as secrets.
    pub(super) fn note_question(&mut self, question: &Question) {
        self.note_secrets(&question.arguments, &question.sensitive);
        for option in question.secret_options() {
            self.redactor.add_value(&option);
        }
    }

    /// Reports that an answer is refused, without secrets.
    pub(super) fn refuse(&mut self, error: AnswerError) {
        let error = error.map_text(|text| self.redactor.text(text).into_owned());
        self.push(Command::Refuse(error));
    }

    /// Returns the time since the run began; during a replay, that of the replayed input.
    pub(super) fn elapsed(&self) -> Microseconds {
        self.recording
            .replay_time()
            .unwrap_or_else(|| self.real_elapsed())
    }

    /// Returns the time since the run began, by the clock of this process.
    pub(super) fn real_elapsed(&self) -> Microseconds {
        let here = microseconds(self.now.monotonic.saturating_sub(self.begun));
        self.recording.time_before().saturating_add(here)
    }

    /// Returns how long the run has lasted, without the time in which it was idle: it waited for people, or to be
    /// resumed. `waited`: how long this process has waited for people.
    pub(super) fn working_time(&self, waited: Duration) -> Microseconds {
        let (idle, _) = self.recording.idle(self.now.wall);
        self.elapsed().saturating_sub(microseconds(idle + waited))
    }

    /// Returns the wall-clock time of the run, in nanoseconds since the Unix epoch; during a replay, that of the
    /// replayed input.
    pub(super) fn wall_time(&self) -> i128 {
        let replayed = self.recording.replay_time();
        replayed.map_or(self.now.wall, |time| {
            self.begun_at + i128::from(time) * 1000
        })
    }

    /// Formats a time of the run.
    pub(super) fn instant(&self, since_start: Microseconds) -> String {
        super::clock::instant(self.begun_at, since_start)
    }
}
