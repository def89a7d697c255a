//! Answers to the questions of runs: all of them are checked against the questions before any is sent to a run.

use std::sync::Arc;

use super::answer_path::path_matches;
use super::inbox::OpenRun;
use super::list::open;
use super::{Error, Journal, Planrun};
use crate::journal::store::Seen;
use planrun_core::journal::{Accepted, InboxCommand, SubmittedAnswer};

/// The runs whose questions are answered.
#[derive(Clone, Copy, Debug)]
pub enum Addressee<'a> {
    /// One run, given by its id or a prefix of it.
    Run(&'a str),
    /// Every run of the project that asks such a question.
    All,
}

/// An answer that was sent to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub run: String,
    pub path: Arc<str>,
    /// Whether the run already had this answer.
    pub before: bool,
}

/// Returns a run that has not ended, with its questions.
fn open_to_answers(planrun: &Planrun, run: &str) -> Result<OpenRun, Error> {
    let journal = planrun.shared.journal_of(run)?;
    OpenRun::of(&journal, open(&journal, run)?)
}

impl Planrun {
    /// Answers questions. `[*]` in the path of an answer stands for every element of an `each`. All answers are checked
    /// before any is sent. If a run refuses its answers after that, because it has progressed in the meantime, answers
    /// to the runs before it have already been sent.
    ///
    /// # Errors
    /// Returns an error if there is no such run; [`Error::Answer`], [`Error::NothingAsked`], [`Error::Ended`].
    pub fn answer(
        &self,
        to: Addressee<'_>,
        answers: &[SubmittedAnswer],
    ) -> Result<Vec<Answered>, Error> {
        let (runs, all) = match to {
            Addressee::Run(run) => (vec![open_to_answers(self, run)?], false),
            Addressee::All => (self.inbox(None)?.runs, true),
        };
        let mut addressed = Vec::new();
        for given in answers {
            let mut found = false;
            for (index, run) in runs.iter().enumerate() {
                let asked = run.questions().into_iter().map(|(asked, _)| asked);
                let meant: Vec<Arc<str>> = asked
                    .filter(|asked| path_matches(&given.path, asked))
                    .collect();
                found |= !meant.is_empty();
                // Answering a question that is not open is refused with the reason.
                let named = if meant.is_empty() && !all {
                    vec![given.path.clone()]
                } else {
                    meant
                };
                addressed.extend(named.into_iter().map(|path| {
                    (
                        index,
                        SubmittedAnswer {
                            path,
                            ..given.clone()
                        },
                    )
                }));
            }
            if all && !found {
                return Err(Error::NothingAsked {
                    path: given.path.to_string(),
                });
            }
        }
        let mut posts = Vec::new();
        for (index, mut run) in runs.into_iter().enumerate() {
            let given: Vec<SubmittedAnswer> = addressed
                .iter()
                .filter(|(at, _)| *at == index)
                .map(|(_, given)| given.clone())
                .collect();
            if !given.is_empty() {
                let messages = self.messages(&mut run, &given)?;
                posts.push((run, given, messages));
            }
        }
        let mut answered = Vec::new();
        for (run, given, messages) in posts {
            answered.extend(self.post(&self.shared.journal()?, run, &given, messages)?);
        }
        Ok(answered)
    }

    /// Checks answers against the questions of a run, one after the other.
    fn messages(&self, run: &mut OpenRun, given: &[SubmittedAnswer]) -> Result<Messages, Error> {
        let now = self.host().now();
        let one = |given: &SubmittedAnswer| match run.accept(given, now) {
            Ok(Accepted::New(_)) => Ok(Some(InboxCommand::Answer(given.clone()).to_text())),
            Ok(Accepted::Duplicate) => Ok(None),
            Err(error) => Err(Error::Answer {
                run: run.row.run.clone(),
                error,
            }),
        };
        given.iter().map(one).collect()
    }

    /// Sends the answers to a run. If another answer was sent in the meantime, they are checked again first.
    ///
    /// # Errors
    /// [`Error::Changed`] if others keep sending messages to the run, so that the answers are never checked in time.
    fn post(
        &self,
        journal: &Journal,
        mut run: OpenRun,
        given: &[SubmittedAnswer],
        mut messages: Messages,
    ) -> Result<Vec<Answered>, Error> {
        for tries in 0..MAX_TRIES {
            // A run that progresses all the time checks the answers itself.
            let seen = Seen {
                events: run.seen.events.filter(|_| tries < MAX_TRIES / 2),
                ..run.seen
            };
            let texts: Vec<String> = messages.iter().flatten().cloned().collect();
            if journal.post_all(&run.row.run, &texts, seen)? {
                let answered = |(given, message): (&SubmittedAnswer, &Option<String>)| Answered {
                    run: run.row.run.clone(),
                    path: given.path.clone(),
                    before: message.is_none(),
                };
                return Ok(given.iter().zip(&messages).map(answered).collect());
            }
            run = OpenRun::of(journal, journal.run(&run.row.run)?)?;
            messages = self.messages(&mut run, given)?;
        }
        Err(Error::Changed {
            run: run.row.info.run,
        })
    }
}

/// How often answers are checked because the run has progressed in the meantime. In the second half of the tries, only
/// other messages count as progress.
const MAX_TRIES: u32 = 40;

/// A message for each answer; `None` if the run already has it.
type Messages = Vec<Option<String>>;
