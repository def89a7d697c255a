//! Answers calls from a recording, and notes where a run differs from the recorded one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planrun_lang::call::Answer;
use planrun_lang::diag::render::visible_line;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::source::Span;
use planrun_lang::types::Signature;
use planrun_lang::value::shortened;
use serde_json::Value as Json;

use super::super::world::{Call, Reaction, Response, Source};
use super::kept::{Entry, Recorded, Recording};
use super::recorder::shown_arguments;
use super::veil::fits;
use crate::plantest::MAX_QUOTED;

/// Longer than any run waits.
const NEVER: Duration = Duration::from_hours(24 * 365 * 100);

/// A recording that answers the calls of one run.
pub struct Replay {
    recording: Arc<Recording>,
    /// Whether what does not fit is answered all the same, so that all of it is reported at once.
    answers_misfits: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many calls of each step came here.
    reached: BTreeMap<Arc<str>, u32>,
    /// The numbers of the entries that answered.
    used: BTreeSet<usize>,
    mismatches: Vec<(usize, Mismatch)>,
}

/// How a call is not what was recorded.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// The contract of the tool is another one.
    Stale,
    /// It is called with something else.
    Drifted(Json),
    /// Something else is called there.
    OtherTool(String),
}

/// How a recording was used in a run.
pub struct Replayed {
    pub recording: Arc<Recording>,
    /// By the numbers of the entries.
    pub mismatches: Vec<(usize, Mismatch)>,
    /// The numbers of the entries that no call used.
    pub unused: Vec<usize>,
}

impl Replay {
    /// Answers as recorded. What does not fit is noted, and answered where `answers_misfits`.
    #[must_use]
    pub fn new(recording: &Arc<Recording>, answers_misfits: bool) -> Self {
        Self {
            recording: recording.clone(),
            answers_misfits,
            state: Mutex::default(),
        }
    }

    /// How much of it has been used so far, and what did not fit.
    #[must_use]
    pub fn replayed(&self) -> Replayed {
        let state = self.state();
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

    /// The entries that answered.
    #[must_use]
    pub fn used(&self) -> Vec<Entry> {
        self.state()
            .used
            .iter()
            .map(|index| self.recording.calls[*index].clone())
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, so the state behind a poisoned one is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Arc<Replay> {
    fn answer(&self, call: &Call<'_>) -> Option<Response> {
        let request = call.request;
        let mut state = self.state();
        let reached = state.reached.entry(request.path.clone()).or_default();
        *reached += 1;
        let reached = *reached;
        // Where something befell an earlier call of the step that was not recorded, the next one is the recorded one.
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
            Recorded::Unanswered => Response {
                reaction: Reaction::Answer(Err(super::super::world::failure(
                    planrun_lang::types::ErrorClass::Transient(
                        planrun_lang::types::Transient::Timeout,
                    ),
                    None,
                    &request.signature,
                ))),
                delay: NEVER,
            },
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
    let arguments = shown_arguments(signature, &call.request.arguments);
    if !fits(&entry.arguments, &arguments) {
        return Some(Mismatch::Drifted(arguments));
    }
    (*entry.contract != *signature.digest()).then_some(Mismatch::Stale)
}

/// What is wrong with a recording, reported at the place of the test; `unused` entries where the run did not fail.
#[must_use]
pub fn faults(
    replayed: &Replayed,
    (test, plan_file, file): (Span, &str, &Path),
    unused: bool,
) -> Vec<Diagnostic> {
    let place = Place {
        test,
        file: file.to_owned(),
        command: command(plan_file),
    };
    let mut faults: Vec<Diagnostic> = Vec::new();
    for (index, mismatch) in &replayed.mismatches {
        faults.push(place.misfit(&replayed.recording.calls[*index], mismatch));
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

/// What somebody types to have a recording made anew where it is not what happens.
fn command(plan_file: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    let name = visible_line(plan_file);
    let quoted = if name.chars().all(plain) {
        name.into_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    };
    format!("planrun test --record new {quoted}")
}

struct Place {
    test: Span,
    file: PathBuf,
    command: String,
}

impl Place {
    fn misfit(&self, entry: &Entry, mismatch: &Mismatch) -> Diagnostic {
        let (step, file) = (step(entry), self.file());
        match mismatch {
            Mismatch::Stale => {
                let message = format!(
                    "the contract of `{}` has changed since {step} was recorded in `{file}`",
                    entry.tool
                );
                let found = Diagnostic::new(&codes::tests::RECORDING_STALE, self.test, message);
                found.help(format!(
                    "`{}` calls the tool and records it again",
                    self.command
                ))
            }
            Mismatch::Drifted(actual) => {
                let message = format!(
                    "{step} calls `{}` with something else than `{file}` has",
                    entry.tool
                );
                let found = Diagnostic::new(&codes::tests::RECORDING_DRIFTED, self.test, message);
                let (expected, actual) = (
                    shortened(&entry.arguments.to_string(), MAX_QUOTED),
                    shortened(&actual.to_string(), MAX_QUOTED),
                );
                found.expected(expected, actual).help(format!(
                    "where that is meant, `{}` records it again",
                    self.command
                ))
            }
            Mismatch::OtherTool(tool) => {
                let message = format!(
                    "{step} calls `{tool}`, and `{file}` has a call of `{}` there",
                    entry.tool
                );
                let found = Diagnostic::new(&codes::tests::RECORDING_DRIFTED, self.test, message);
                found.help(format!(
                    "where that is meant, `{}` records it again",
                    self.command
                ))
            }
        }
    }

    fn unused(&self, entry: &Entry) -> Diagnostic {
        let message = format!(
            "nothing asks for {} of `{}`, which `{}` has",
            step(entry),
            entry.tool,
            self.file()
        );
        let found = Diagnostic::new(&codes::tests::RECORDING_UNUSED, self.test, message);
        found.help(format!(
            "where that is meant, `{}` takes it out",
            self.command
        ))
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
