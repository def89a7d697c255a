//! Answers the questions of a run with the `answer`s of a test.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::sema::test::{Reaction, Test, TestAnswer, without_indices};
use planrun_lang::types::ErrorClass;
use serde_json::{Value as Json, json};

use super::slots::Slots;
use planrun_core::journal::{SubmittedAnswer, Waiting};
use planrun_core::run::Asking;
use planrun_runs::driver::Asker;

/// The answers of one test, in one run. Clones share their state.
#[derive(Clone)]
pub struct ScriptedResponder {
    test: Arc<Test>,
    state: Arc<Mutex<State>>,
    /// Replaces the answer to the question at this path.
    replacement: Option<(Arc<str>, Replacement)>,
    /// Answers for calls with unknown outcomes that the test does not answer.
    unknown_outcomes: Option<UnknownOutcomes>,
}

/// Answers for calls with unknown outcomes, one for each step: a call that is made again and whose outcome is unknown
/// again is left to the test.
#[derive(Clone)]
pub struct UnknownOutcomes {
    /// The path of the step whose calls are meant; the calls of others are left to the test.
    pub path: Arc<str>,
    pub happened: bool,
    /// The results of the calls, by the paths of their steps.
    pub results: Arc<BTreeMap<Arc<str>, Json>>,
}

/// Replaces an answer of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replacement {
    /// The confirmation is refused.
    Refuse,
    /// No answer is given until the question expires.
    Expire,
}

#[derive(Default)]
struct State {
    /// Number of times that each answer was given.
    used: Vec<u32>,
    /// Indices of answers that were rejected, each with the reason.
    refused: Vec<(usize, String)>,
    /// The steps for which [`UnknownOutcomes`] has answered.
    resolved: BTreeSet<Arc<str>>,
}

impl ScriptedResponder {
    #[must_use]
    pub fn new(test: &Arc<Test>) -> Self {
        let used = vec![0; test.answers.len()];
        let state = Arc::new(Mutex::new(State {
            used,
            ..State::default()
        }));
        Self {
            test: test.clone(),
            state,
            replacement: None,
            unknown_outcomes: None,
        }
    }

    /// Returns the responder with another answer to one question.
    #[must_use]
    pub fn with_replacement(mut self, path: &Arc<str>, replacement: Replacement) -> Self {
        self.replacement = Some((path.clone(), replacement));
        self
    }

    /// Returns the responder with these answers for calls with unknown outcomes.
    #[must_use]
    pub fn with_unknown_outcomes(mut self, unknown_outcomes: Option<UnknownOutcomes>) -> Self {
        self.unknown_outcomes = unknown_outcomes;
        self
    }

    /// Returns the indices of answers that were rejected, each with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(usize, String)> {
        self.state.lock().refused.clone()
    }

    /// Returns the indices of answers that no question used.
    #[must_use]
    pub fn unused(&self) -> Vec<usize> {
        let state = self.state.lock();
        state
            .used
            .iter()
            .enumerate()
            .filter(|(_, used)| **used == 0)
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the next answer to a question: one for its element comes before one for every element, and among equals
    /// the first in the text.
    fn next(&self, path: &str) -> Option<(usize, &TestAnswer)> {
        let mut state = self.state.lock();
        let open = |(index, answer): &(usize, &TestAnswer)| {
            is_for(&answer.path, path)
                && answer.times.is_none_or(|times| state.used[*index] < times)
        };
        let answers = || self.test.answers.iter().enumerate().filter(open);
        let own = answers().find(|(_, answer)| *answer.path == *path);
        let next = own.or_else(|| answers().next());
        if let Some((index, _)) = next {
            state.used[index] += 1;
        }
        next
    }

    /// Returns the answer for a call with an unknown outcome that the test does not answer.
    fn resolve_unknown(&self, asking: &Asking) -> Option<SubmittedAnswer> {
        let unknown_outcomes = self
            .unknown_outcomes
            .as_ref()
            .filter(|one| one.path == asking.path && asking.question.kind == Waiting::Answer)?;
        let mut value = json!({ "happened": unknown_outcomes.happened });
        if unknown_outcomes.happened {
            value["value"] = unknown_outcomes.results.get(&asking.path).cloned()?;
        }
        let mut state = self.state.lock();
        if !state.resolved.insert(asking.path.clone()) {
            return None;
        }
        Some(SubmittedAnswer {
            path: asking.path.clone(),
            value,
            by: asking.question.by.clone(),
            note: None,
        })
    }

    fn note_refusal(&self, asking: &Asking, reason: &str) {
        let mut state = self.state.lock();
        let last = self
            .test
            .answers
            .iter()
            .enumerate()
            .rev()
            .find(|(index, answer)| is_for(&answer.path, &asking.path) && state.used[*index] > 0);
        if let Some((index, _)) = last {
            state.refused.push((index, reason.to_owned()));
        }
    }
}

impl Asker for ScriptedResponder {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        if let Some(reason) = &asking.refused {
            self.note_refusal(&asking, reason);
            return Box::pin(async { None });
        }
        if let Some((_, replacement)) = self
            .replacement
            .as_ref()
            .filter(|(path, _)| *path == asking.path)
        {
            return match replacement {
                Replacement::Refuse => {
                    let by = asking.question.by.clone();
                    Box::pin(std::future::ready(Some(given(
                        &asking,
                        json!(false),
                        by,
                        None,
                    ))))
                }
                Replacement::Expire => Box::pin(std::future::pending()),
            };
        }
        let Some((_, answer)) = self.next(&asking.path) else {
            return Box::pin(std::future::ready(self.resolve_unknown(&asking)));
        };
        let (value, note) = match &answer.reaction {
            Reaction::Fail {
                class: ErrorClass::Expired,
                ..
            } => {
                return Box::pin(std::future::pending());
            }
            Reaction::Fail { message, .. } => {
                let note = message
                    .as_ref()
                    .and_then(|note| Slots::none().evaluate(note).ok());
                (
                    Json::Bool(false),
                    note.and_then(|note| note.as_str().map(Arc::from)),
                )
            }
            Reaction::Value(code) => {
                let value = Slots::none().evaluate(code);
                (value.map_or(json!(null), |value| value.to_json()), None)
            }
            Reaction::Generated | Reaction::Crash { .. } => return Box::pin(async { None }),
        };
        let by = role(&asking, &value);
        let given = given(&asking, value, by, note);
        let delay = answer.delay;
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            Some(given)
        })
    }
}

/// Returns the role of who answers: that of the question, unless the answer names one. In the answer to a form, `by`
/// is a field like any other.
fn role(asking: &Asking, value: &Json) -> Option<Arc<str>> {
    let names_one = asking.question.kind != Waiting::Input && value.get("by").is_some();
    asking.question.by.clone().filter(|_| !names_one)
}

fn given(
    asking: &Asking,
    value: Json,
    by: Option<Arc<str>>,
    note: Option<Arc<str>>,
) -> SubmittedAnswer {
    SubmittedAnswer {
        path: asking.path.clone(),
        value,
        by,
        note,
    }
}

/// Returns true if an answer applies to a question. A path without indices applies to every element.
fn is_for(written: &str, path: &str) -> bool {
    written == path || (!written.contains('[') && without_indices(path) == written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_indices_is_for_every_element() {
        assert!(is_for(
            "mails.sent.confirm",
            r#"mails["a]\"["].sent.confirm"#
        ));
        assert!(is_for("mails[1].sent", "mails[1].sent"));
        assert!(!is_for("mails[1].sent", "mails[2].sent"));
        assert!(!is_for("mails.sent", "mails.told"));
    }
}
