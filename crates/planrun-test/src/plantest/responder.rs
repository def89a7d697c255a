//! Whoever answers the questions of a run, as the `answer`s of a test say.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use planrun_lang::sema::test::{Reaction, Test, TestAnswer, without_indices};
use planrun_lang::types::ErrorClass;
use serde_json::{Value as Json, json};

use super::slots::Slots;
use planrun_core::journal::{Given, Waiting};
use planrun_core::run::Asking;
use planrun_runs::driver::Asker;

/// The answers of one test, in one run. Clones share what was said.
#[derive(Clone)]
pub struct ScriptedResponder {
    test: Arc<Test>,
    said: Arc<Mutex<Said>>,
    /// What is said instead, by the path of the question.
    instead: Option<(Arc<str>, Instead)>,
    /// What is said of calls of which nobody knows, where the test does not say.
    doubts: Option<Doubts>,
}

/// What is said of calls of which nobody knows whether they happened.
#[derive(Clone)]
pub struct Doubts {
    pub happened: bool,
    /// What they gave, by the paths of their steps.
    pub given: Arc<BTreeMap<Arc<str>, Json>>,
}

/// What people say instead of what the test has them say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instead {
    /// No.
    Refuse,
    /// Nothing, until it is too late.
    Expire,
}

#[derive(Default)]
struct Said {
    /// How often each answer was given.
    used: Vec<u32>,
    /// Answers that were not taken, with the reason.
    refused: Vec<(usize, String)>,
}

impl ScriptedResponder {
    #[must_use]
    pub fn new(test: &Arc<Test>) -> Self {
        let used = vec![0; test.answers.len()];
        let said = Arc::new(Mutex::new(Said {
            used,
            refused: Vec::new(),
        }));
        Self {
            test: test.clone(),
            said,
            instead: None,
            doubts: None,
        }
    }

    /// The same, but for one question.
    #[must_use]
    pub fn saying(mut self, path: &Arc<str>, instead: Instead) -> Self {
        self.instead = Some((path.clone(), instead));
        self
    }

    /// The same, with this answer to whether calls happened of which nobody knows.
    #[must_use]
    pub fn in_doubt(mut self, doubts: Option<Doubts>) -> Self {
        self.doubts = doubts;
        self
    }

    /// The numbers of answers that were not taken, with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(usize, String)> {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .refused
            .clone()
    }

    /// The numbers of answers that nobody asked for.
    #[must_use]
    pub fn unused(&self) -> Vec<usize> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.used
            .iter()
            .enumerate()
            .filter(|(_, used)| **used == 0)
            .map(|(index, _)| index)
            .collect()
    }

    /// The next answer to a question.
    fn next(&self, path: &str) -> Option<(usize, &TestAnswer)> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |(index, answer): &(usize, &TestAnswer)| {
            is_for(&answer.path, path) && answer.times.is_none_or(|times| said.used[*index] < times)
        };
        let next = self.test.answers.iter().enumerate().find(open);
        if let Some((index, _)) = next {
            said.used[index] += 1;
        }
        next
    }

    /// The answer to whether a call happened, where the test does not say.
    fn doubted(&self, asking: &Asking) -> Option<Given> {
        let doubts = self
            .doubts
            .as_ref()
            .filter(|_| asking.question.kind == Waiting::Answer)?;
        let mut value = json!({ "happened": doubts.happened });
        if doubts.happened {
            value["value"] = doubts.given.get(&asking.path).cloned()?;
        }
        Some(Given {
            path: asking.path.clone(),
            value,
            by: asking.question.by.clone(),
            note: None,
        })
    }

    fn note_refusal(&self, asking: &Asking, reason: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self
            .test
            .answers
            .iter()
            .enumerate()
            .rev()
            .find(|(index, answer)| is_for(&answer.path, &asking.path) && said.used[*index] > 0);
        if let Some((index, _)) = last {
            said.refused.push((index, reason.to_owned()));
        }
    }
}

impl Asker for ScriptedResponder {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>> {
        if let Some(reason) = &asking.refused {
            self.note_refusal(&asking, reason);
            return Box::pin(async { None });
        }
        if let Some((_, instead)) = self
            .instead
            .as_ref()
            .filter(|(path, _)| *path == asking.path)
        {
            return match instead {
                Instead::Refuse => {
                    let by = asking.question.by.clone();
                    Box::pin(std::future::ready(Some(given(
                        &asking,
                        json!(false),
                        by,
                        None,
                    ))))
                }
                Instead::Expire => Box::pin(std::future::pending()),
            };
        }
        let Some((_, answer)) = self.next(&asking.path) else {
            return Box::pin(std::future::ready(self.doubted(&asking)));
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
        let by = if value.get("by").is_some() {
            None
        } else {
            asking.question.by.clone()
        };
        let given = given(&asking, value, by, note);
        let delay = answer.delay;
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            Some(given)
        })
    }
}

fn given(asking: &Asking, value: Json, by: Option<Arc<str>>, note: Option<Arc<str>>) -> Given {
    Given {
        path: asking.path.clone(),
        value,
        by,
        note,
    }
}

/// Whether an answer is for a question. One without indices is for every element.
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
