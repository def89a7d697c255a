//! Who a request comes from, and how that one can ask whoever sits there.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;

use super::PutQuestion;

/// The client of one request.
#[async_trait]
pub trait Client: Send + Sync {
    /// Its name, as it gives it; text from outside.
    fn name(&self) -> String;

    /// How it asks.
    fn asks(&self) -> Asks;

    /// Puts a question to whoever sits there. Called only where it asks [`Asks::Now`].
    async fn ask(&self, question: &PutQuestion) -> Said;

    /// Tells how far a run has come.
    async fn progress(&self, steps: u64, message: &str);

    /// Comes back when nobody waits for the answer to the request any more.
    async fn cancelled(&self);
}

/// How a client asks whoever sits there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// While the request is open.
    Now,
    /// It ends the request with the question, and makes it again with the answer.
    Again,
    /// Not at all.
    Never,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The value of an answer.
    Answer(Json),
    /// A no to the question as a whole, after so long.
    Declined(Duration),
    /// It was put away, or could not be put.
    Nothing,
}

/// A no that comes sooner than anybody can read is of no person: some clients decline by themselves.
const SOONEST_ANSWER: Duration = Duration::from_secs(1);

impl Said {
    /// Whether somebody has said it, so that nobody else is asked.
    #[must_use]
    pub fn is_of_a_person(&self) -> bool {
        match self {
            Self::Answer(_) => true,
            Self::Declined(after) => *after >= SOONEST_ANSWER,
            Self::Nothing => false,
        }
    }
}
