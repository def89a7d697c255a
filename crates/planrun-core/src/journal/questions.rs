//! The questions of a run with their states, and which of them still accept an answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::value::{Value, timestamp_text};

use super::event::{Event, EventKind};
use super::question::{APPROVAL, Answer, AnswerError, GATE, PEER, Question, SubmittedAnswer};
use super::words::{Bound, Waiting};

/// The questions of a run with their states, by the paths under which they are answered.
#[derive(Debug, Default)]
pub struct Questions {
    states: BTreeMap<Arc<str>, QuestionState>,
    /// Number of open questions.
    open: usize,
}

#[derive(Debug)]
enum QuestionState {
    Open {
        step: Arc<str>,
        question: Arc<Question>,
    },
    Answered(Box<Answered>),
    Expired(Option<i128>),
    /// An earlier process has asked it, and this one has not come to its step again.
    NotAskedAgain {
        step: Arc<str>,
    },
    Withdrawn,
}

/// An answered question with the accepted answer.
#[derive(Debug)]
struct Answered {
    question: Arc<Question>,
    answer: Answer,
    /// Wall-clock time of the answer, in nanoseconds since the Unix epoch.
    at: i128,
}

/// The result of checking a valid answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    New(Answer),
    /// The same answer was given before, so nothing changes.
    Duplicate,
}

impl Questions {
    /// Records what an event means for the questions.
    pub fn follow(&mut self, event: &Event) {
        match &event.kind {
            EventKind::StepAsks { path, question, .. } => self.ask(path, question.clone()),
            EventKind::AnswerGiven {
                path,
                value,
                by,
                note,
            } => {
                let answer = Answer {
                    path: path.clone(),
                    value: value.clone(),
                    by: by.clone(),
                    note: note.clone(),
                };
                self.answered(&answer, event.at);
            }
            EventKind::TimerFired {
                path,
                timer: Bound::Expires,
            } => self.close(path, true),
            // The step or its attempt has ended.
            EventKind::StepWaiting { path, .. } | EventKind::StepSettled { path, .. } => {
                self.close(path, false);
            }
            EventKind::RunStarted { .. }
            | EventKind::RunResumed { .. }
            | EventKind::RunCancelling { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepRunning { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepRetried { .. }
            | EventKind::HandleGiven { .. }
            | EventKind::UsageReported { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::StepRecovering { .. }
            | EventKind::LimitReached { .. }
            | EventKind::TimerFired { .. }
            | EventKind::TaskSet { .. }
            | EventKind::TaskMoved { .. }
            | EventKind::ListenerFired { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::RunSettled { .. } => {}
        }
    }

    /// Records that a step asks a question.
    pub fn ask(&mut self, step: &Arc<str>, question: Arc<Question>) {
        let path = question.path(step);
        let step = step.clone();
        let before = (self.states).insert(path, QuestionState::Open { step, question });
        if !matches!(before, Some(QuestionState::Open { .. })) {
            self.open += 1;
        }
    }

    /// Returns true if any question is open.
    pub(super) fn any_open(&self) -> bool {
        self.open > 0
    }

    /// Returns true if a question of this step is open.
    pub(super) fn is_asked_by(&self, step: &str) -> bool {
        let asks = |path: &str| self.step(path).is_some_and(|own| **own == *step);
        self.any_open() && paths(step).iter().any(|path| asks(path))
    }

    /// Closes all questions, as they are for a process that has not asked them again. A late answer is told what became
    /// of its question. The question of a peer is withdrawn: the peer asks anew if its call is sent again.
    #[must_use]
    pub fn closed(mut self) -> Self {
        for state in self.states.values_mut() {
            if let QuestionState::Open { step, question } = state {
                *state = match question.kind {
                    Waiting::Peer => QuestionState::Withdrawn,
                    _ => QuestionState::NotAskedAgain { step: step.clone() },
                };
            }
        }
        self.open = 0;
        self
    }

    /// Returns true if an earlier process has asked a question, and this one has not come to its step again.
    #[must_use]
    pub fn is_to_be_asked(&self, path: &str) -> bool {
        matches!(
            self.states.get(path),
            Some(QuestionState::NotAskedAgain { .. })
        )
    }

    /// Returns the open questions, by the paths under which they are answered.
    pub fn open(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Question>)> {
        self.states.iter().filter_map(|(path, state)| match state {
            QuestionState::Open { question, .. } => Some((path, question)),
            QuestionState::Answered(_)
            | QuestionState::Expired(_)
            | QuestionState::NotAskedAgain { .. }
            | QuestionState::Withdrawn => None,
        })
    }

    /// Returns the open question under a path.
    #[must_use]
    pub fn question(&self, path: &str) -> Option<&Arc<Question>> {
        match self.states.get(path)? {
            QuestionState::Open { question, .. } => Some(question),
            QuestionState::Answered(_)
            | QuestionState::Expired(_)
            | QuestionState::NotAskedAgain { .. }
            | QuestionState::Withdrawn => None,
        }
    }

    /// Returns the step that asks an open question.
    #[must_use]
    pub fn step(&self, path: &str) -> Option<&Arc<str>> {
        match self.states.get(path)? {
            QuestionState::Open { step, .. } => Some(step),
            QuestionState::Answered(_)
            | QuestionState::Expired(_)
            | QuestionState::NotAskedAgain { .. }
            | QuestionState::Withdrawn => None,
        }
    }

    /// Records an accepted answer, given at `at` (nanoseconds since the Unix epoch).
    pub fn answered(&mut self, answer: &Answer, at: i128) {
        let Some(QuestionState::Open { question, .. }) = self.states.get(&answer.path) else {
            return;
        };
        let answered = Answered {
            question: question.clone(),
            answer: answer.clone(),
            at,
        };
        self.states.insert(
            answer.path.clone(),
            QuestionState::Answered(Box::new(answered)),
        );
        self.open -= 1;
    }

    /// Closes the questions of a step: nobody answered in time (`expired`), or the step ended otherwise.
    pub fn close(&mut self, step: &str, expired: bool) {
        if self.states.is_empty() {
            return;
        }
        for path in paths(step) {
            let Some(state) = self.states.get_mut(&*path) else {
                continue;
            };
            let until = match state {
                QuestionState::Open {
                    step: own,
                    question,
                } if **own == *step => {
                    self.open -= 1;
                    question.expires
                }
                QuestionState::NotAskedAgain { step: own } if **own == *step => None,
                QuestionState::Open { .. }
                | QuestionState::Answered(_)
                | QuestionState::Expired(_)
                | QuestionState::NotAskedAgain { .. }
                | QuestionState::Withdrawn => continue,
            };
            *state = if expired {
                QuestionState::Expired(until)
            } else {
                QuestionState::Withdrawn
            };
        }
    }

    /// Checks an answer against its question. `now` is in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// Returns an error if the answer is refused.
    pub fn accept(&self, given: &SubmittedAnswer, now: i128) -> Result<Accepted, AnswerError> {
        let path = &given.path;
        let late = |expires: Option<i128>| AnswerError::Late {
            path: path.clone(),
            until: expires.map(timestamp_text).unwrap_or_default(),
        };
        match self.states.get(path) {
            Some(QuestionState::Open { question, .. })
                if question.expires.is_some_and(|expires| expires <= now) =>
            {
                Err(late(question.expires))
            }
            Some(QuestionState::Open { question, .. }) => question.accept(given).map(Accepted::New),
            Some(QuestionState::Answered(answered)) => answered.again(given),
            Some(QuestionState::Expired(expires)) => Err(late(*expires)),
            Some(QuestionState::NotAskedAgain { .. } | QuestionState::Withdrawn) => {
                Err(AnswerError::Withdrawn(path.clone()))
            }
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
            None if open.is_empty() => "no questions are open".to_owned(),
            None => format!("open questions: {}", open.join(", ")),
        }
    }
}

/// Returns the paths under which the questions of a step are answered.
fn paths(step: &str) -> [Cow<'_, str>; 3] {
    let own = if step.is_empty() { APPROVAL } else { step };
    let below = |name: &str| Cow::Owned(format!("{step}.{name}"));
    [Cow::Borrowed(own), below(GATE), below(PEER)]
}

impl Answered {
    /// Checks a second answer: it is accepted if it equals the first one; otherwise the first answer remains.
    fn again(&self, given: &SubmittedAnswer) -> Result<Accepted, AnswerError> {
        let same = |answer: Answer| {
            answer.value == self.answer.value && answer.by.is_none_or(|by| self.is_by(&by))
        };
        if self.question.accept(given).is_ok_and(same) {
            return Ok(Accepted::Duplicate);
        }
        let answer = match (&self.question.kind, &self.answer.value) {
            (Waiting::Confirm, Value::Bool(true)) => "with yes".to_owned(),
            (Waiting::Confirm, _) => "with no".to_owned(),
            (_, value) => format!("with {}", self.question.preview(value)),
        };
        let by = self
            .answer
            .by
            .as_ref()
            .map(|by| format!(" by {by}"))
            .unwrap_or_default();
        let first = format!(
            "{answer}{by} at {}",
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
