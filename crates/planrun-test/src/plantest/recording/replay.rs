//! Answers calls from a recording, and notes where a run differs from the recorded one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::call::Answer;
use planrun_lang::diag::render::{command, quoted, visible_line};
use planrun_lang::diag::{Code, Diagnostic, codes};
use planrun_lang::secrets::Redactor;
use planrun_lang::source::Span;
use planrun_lang::types::Signature;
use planrun_lang::value::shortened;
use serde_json::Value as Json;

use super::super::world::{Call, Response, Source};
use super::model::{Entry, Recorded, Recording};
use super::recorder::redacted_arguments;
use super::redact::fits;
use crate::plantest::MAX_QUOTED;

/// A recording that answers the calls of one run.
pub struct Replay {
    recording: Arc<Recording>,
    /// Whether calls of the recorded tool that do not match are answered anyway, so that all mismatches are reported
    /// at once.
    answers_misfits: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of calls of each step so far.
    reached: BTreeMap<Arc<str>, u32>,
    /// Indices of the entries that were used.
    used: BTreeSet<usize>,
    mismatches: Vec<(usize, Mismatch)>,
}

/// How a call differs from the recorded one.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// The contract of the tool has changed.
    Stale,
    /// The arguments have changed; these are the new ones.
    Drifted(Json),
    /// Another tool is called; this is its name.
    OtherTool(String),
}

/// How a recording was used in a run.
pub struct Replayed {
    pub recording: Arc<Recording>,
    /// By index of the entry.
    pub mismatches: Vec<(usize, Mismatch)>,
    /// Indices of the entries that no call used.
    pub unused: Vec<usize>,
}

impl Replay {
    /// Replays a recording. Mismatches are noted, and answered if `answers_misfits` is true and the tool is the
    /// recorded one.
    #[must_use]
    pub fn new(recording: &Arc<Recording>, answers_misfits: bool) -> Self {
        Self {
            recording: recording.clone(),
            answers_misfits,
            state: Mutex::default(),
        }
    }

    /// Returns the mismatches and the unused entries so far.
    #[must_use]
    pub fn replayed(&self) -> Replayed {
        let state = self.state.lock();
        let is_settled = |index: &usize| {
            state.used.contains(index)
                || state
                    .mismatches
                    .iter()
                    .any(|(mismatch, _)| mismatch == index)
        };
        let unused = (0..self.recording.calls.len())
            .filter(|index| !is_settled(index))
            .collect();
        Replayed {
            recording: self.recording.clone(),
            mismatches: state.mismatches.clone(),
            unused,
        }
    }

    /// Returns the entries that were used.
    #[must_use]
    pub fn used(&self) -> Vec<Entry> {
        self.state
            .lock()
            .used
            .iter()
            .map(|index| self.recording.calls[*index].clone())
            .collect()
    }
}

impl Source for Arc<Replay> {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let request = call.request;
        let mut state = self.state.lock();
        let reached = state.reached.entry(request.path.clone()).or_default();
        *reached += 1;
        let reached = *reached;
        // If an earlier call of the step failed without being recorded, the next call is the recorded one.
        let other = || {
            self.recording
                .find(&request.path, reached)
                .filter(|index| !state.used.contains(index))
        };
        let index = self
            .recording
            .find(&request.path, call.occurrence + 1)
            .or_else(other)?;
        let entry = &self.recording.calls[index];
        if let Some(mismatch) = mismatch(entry, &request.signature, call) {
            let answers = self.answers_misfits && !matches!(mismatch, Mismatch::OtherTool(_));
            state.mismatches.push((index, mismatch));
            if !answers {
                return None;
            }
        }
        state.used.insert(index);
        Some(match &entry.outcome {
            Recorded::Value(value) => Response::now(Ok(Answer::Json(value.clone()))),
            Recorded::Failure(error) => Response::now(Err(error.clone())),
            Recorded::Unanswered => Response::never(&request.signature),
        })
    }

    fn knows(&self, signature: &Signature) -> bool {
        let path = signature.path();
        self.recording
            .calls
            .iter()
            .any(|entry| *entry.tool == *path)
    }
}

fn mismatch(entry: &Entry, signature: &Signature, call: &Call<'_>) -> Option<Mismatch> {
    let tool = signature.path();
    if *entry.tool != *tool {
        return Some(Mismatch::OtherTool(tool));
    }
    let arguments = redacted_arguments(signature, &call.request.arguments);
    if !fits(&entry.arguments, &arguments) {
        return Some(Mismatch::Drifted(arguments));
    }
    (*entry.contract != *signature.digest()).then_some(Mismatch::Stale)
}

/// Returns the faults of a recording as diagnostics at the test. Unused entries are included if `unused` is set,
/// which callers do if the run did not fail.
#[must_use]
pub fn faults(
    replayed: &Replayed,
    (test, plan_file, file): (Span, &str, &Path),
    secrets: &dyn Fn() -> Redactor,
    unused: bool,
) -> Vec<Diagnostic> {
    let place = Place {
        test,
        file: file.to_owned(),
        command: record_again(plan_file),
    };
    let mut faults: Vec<Diagnostic> = Vec::new();
    for (index, mismatch) in &replayed.mismatches {
        faults.push(place.misfit(&replayed.recording.calls[*index], mismatch, &secrets()));
    }
    if unused && faults.is_empty() {
        faults.extend(
            replayed
                .unused
                .iter()
                .map(|index| place.unused(&replayed.recording.calls[*index])),
        );
    }
    faults
}

/// Returns the command that records the test again.
fn record_again(plan_file: &str) -> String {
    command(&format!(
        "test --record new {}",
        quoted(&visible_line(plan_file))
    ))
}

struct Place {
    test: Span,
    file: PathBuf,
    command: String,
}

impl Place {
    fn misfit(&self, entry: &Entry, mismatch: &Mismatch, secrets: &Redactor) -> Diagnostic {
        let (step, file, tool) = (step(entry), self.file(), &entry.tool);
        let drifted = &codes::tests::RECORDING_DRIFTED;
        match mismatch {
            Mismatch::Stale => {
                let message = format!(
                    "the contract of `{tool}` has changed since {step} was recorded in `{file}`"
                );
                let help = "record it again with a call of the tool";
                self.fault(&codes::tests::RECORDING_STALE, message, help)
            }
            Mismatch::Drifted(actual) => {
                let message =
                    format!("{step} calls `{tool}` with other arguments than `{file}` has");
                let [expected, actual] = [&entry.arguments, actual].map(|arguments| {
                    let mut arguments = arguments.clone();
                    secrets.json(&mut arguments);
                    shortened(&arguments.to_string(), MAX_QUOTED)
                });
                let found = self.fault(drifted, message, "if this is intended, record it again");
                found.expected(expected, actual)
            }
            Mismatch::OtherTool(other) => {
                let message =
                    format!("{step} calls `{other}`, but `{file}` has a call of `{tool}` there");
                self.fault(drifted, message, "if this is intended, record it again")
            }
        }
    }

    fn unused(&self, entry: &Entry) -> Diagnostic {
        let (step, file, tool) = (step(entry), self.file(), &entry.tool);
        let message = format!("the answer of `{tool}` for {step} in `{file}` is not used");
        let help = "if this is intended, remove it from the recording";
        self.fault(&codes::tests::RECORDING_UNUSED, message, help)
    }

    fn fault(&self, code: &'static Code, message: String, help: &str) -> Diagnostic {
        let found = code.at(self.test, message);
        found.help(format!("{help}: `{}`", self.command))
    }

    fn file(&self) -> String {
        visible_line(&self.file.to_string_lossy()).into_owned()
    }
}

fn step(entry: &Entry) -> String {
    match entry.call {
        1 => format!("`{}`", entry.path),
        number => format!("call {number} of `{}`", entry.path),
    }
}
