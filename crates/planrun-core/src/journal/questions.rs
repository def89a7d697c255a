//! The questions of a run with their status, and which of them still take an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::value::{Value, timestamp_text};

use super::question::{APPROVAL, Answer, AnswerError, GATE, Given, PEER, Question};
use super::words::Waiting;

/// Where the questions of a run stand, by the paths under which they are answered.
#[derive(Debug, Default)]
pub struct Questions {
    standing: BTreeMap<Arc<str>, Standing>,
}

#[derive(Debug)]
enum Standing {
    Open {
        step: Arc<str>,
        question: Arc<Question>,
    },
    Answered(Box<Answered>),
    Expired(Option<i128>),
    Withdrawn,
}

/// A question with the answer that stands.
#[derive(Debug)]
struct Answered {
    question: Arc<Question>,
    answer: Answer,
    /// When it was given, in nanoseconds since 1970.
    at: i128,
}

/// What becomes of an answer that fits.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    Now(Answer),
    /// The same has been said before, so there is nothing to do.
    Before,
}

impl Questions {
    /// A step asks.
    pub fn ask(&mut self, step: &Arc<str>, question: Arc<Question>) {
        self.standing.insert(
            question.path(step),
            Standing::Open {
                step: step.clone(),
                question,
            },
        );
    }

    /// The questions that wait for an answer, by the paths under which they are answered.
    pub fn open(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Question>)> {
        self.standing
            .iter()
            .filter_map(|(path, standing)| match standing {
                Standing::Open { question, .. } => Some((path, question)),
                Standing::Answered(_) | Standing::Expired(_) | Standing::Withdrawn => None,
            })
    }

    /// The question that waits for an answer under a path.
    #[must_use]
    pub fn question(&self, path: &str) -> Option<&Arc<Question>> {
        match self.standing.get(path)? {
            Standing::Open { question, .. } => Some(question),
            Standing::Answered(_) | Standing::Expired(_) | Standing::Withdrawn => None,
        }
    }

    /// The step behind an open question.
    #[must_use]
    pub fn step(&self, path: &str) -> Option<&Arc<str>> {
        match self.standing.get(path)? {
            Standing::Open { step, .. } => Some(step),
            Standing::Answered(_) | Standing::Expired(_) | Standing::Withdrawn => None,
        }
    }

    /// An answer was taken at a moment, in nanoseconds since 1970.
    pub fn answered(&mut self, answer: &Answer, at: i128) {
        let Some(Standing::Open { question, .. }) = self.standing.get(&answer.path) else {
            return;
        };
        let answered = Answered {
            question: question.clone(),
            answer: answer.clone(),
            at,
        };
        self.standing
            .insert(answer.path.clone(), Standing::Answered(Box::new(answered)));
    }

    /// The step waits no longer: nobody answered in time, or it ended because of something else.
    pub fn close(&mut self, step: &str, expired: bool) {
        if self.standing.is_empty() {
            return;
        }
        let gate = format!("{step}.{GATE}");
        let peer = format!("{step}.{PEER}");
        let approval = Some(APPROVAL).filter(|_| step.is_empty());
        for path in [step, &gate, &peer].into_iter().chain(approval) {
            let Some(standing) = self.standing.get_mut(path) else {
                continue;
            };
            let until = match standing {
                Standing::Open {
                    step: own,
                    question,
                } if **own == *step => question.expires,
                Standing::Open { .. }
                | Standing::Answered(_)
                | Standing::Expired(_)
                | Standing::Withdrawn => continue,
            };
            *standing = if expired {
                Standing::Expired(until)
            } else {
                Standing::Withdrawn
            };
        }
    }

    /// Holds an answer against its question. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// When the answer cannot be taken.
    pub fn accept(&self, given: &Given, now: i128) -> Result<Accepted, AnswerError> {
        let path = &given.path;
        let late = |expires: Option<i128>| AnswerError::Late {
            path: path.clone(),
            until: expires.map(timestamp_text).unwrap_or_default(),
        };
        match self.standing.get(path) {
            Some(Standing::Open { question, .. })
                if question.expires.is_some_and(|expires| expires <= now) =>
            {
                Err(late(question.expires))
            }
            Some(Standing::Open { question, .. }) => question.accept(given).map(Accepted::Now),
            Some(Standing::Answered(answered)) => answered.again(given),
            Some(Standing::Expired(expires)) => Err(late(*expires)),
            Some(Standing::Withdrawn) => Err(AnswerError::Withdrawn(path.clone())),
            None => Err(AnswerError::Unknown {
                path: path.clone(),
                hint: self.hint(path),
            }),
        }
    }

    fn hint(&self, path: &str) -> String {
        let open: Vec<&str> = self.open().map(|(path, _)| &**path).collect();
        match closest(path, open.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if open.is_empty() => "nothing waits for an answer".to_owned(),
            None => format!("open are {}", open.join(", ")),
        }
    }
}

impl Answered {
    /// A second answer: fine where it says the same, else the first one stands.
    fn again(&self, given: &Given) -> Result<Accepted, AnswerError> {
        let same = |answer: Answer| {
            answer.value == self.answer.value && answer.by.is_none_or(|by| self.is_by(&by))
        };
        if self.question.accept(given).is_ok_and(same) {
            return Ok(Accepted::Before);
        }
        let said = match (&self.question.kind, &self.answer.value) {
            (Waiting::Confirm, Value::Bool(true)) => "with yes".to_owned(),
            (Waiting::Confirm, _) => "with no".to_owned(),
            (_, value) => format!("with {}", self.question.told(value)),
        };
        let by = self
            .answer
            .by
            .as_ref()
            .map(|by| format!(" by {by}"))
            .unwrap_or_default();
        let first = format!(
            "{said}{by} at {}",
            timestamp_text(self.at - self.at.rem_euclid(1_000_000_000))
        );
        Err(AnswerError::Twice {
            path: given.path.clone(),
            first,
        })
    }

    fn is_by(&self, by: &str) -> bool {
        self.answer.by.as_deref() == Some(by)
    }
}
