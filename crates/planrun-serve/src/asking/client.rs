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

    /// Whether it has a form for a question.
    fn has_form(&self, question: &PutQuestion) -> bool;

    /// Whether it shows addresses to whoever sits there, who then opens them.
    fn opens_pages(&self) -> bool;

    /// Puts a question to whoever sits there. Called only where it asks [`Asks::Now`].
    async fn ask(&self, question: &PutQuestion, way: &Way) -> AskOutcome;

    /// Tells that the page has served on which a question was to be answered.
    async fn page_is_done(&self, question: &PutQuestion);

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

/// The way in which a client puts a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// As a form of its own.
    Form,
    /// As the address of a page, on which the question is answered.
    Page(String),
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AskOutcome {
    /// The value of an answer.
    Answer(Json),
    /// The page is open on which it is answered.
    Opened,
    /// A no to the question as a whole, after so long.
    Declined(Duration),
    /// It was put away, or could not be put.
    Nothing,
}

/// A no that comes sooner than anybody can read is of no person: some clients decline by themselves.
const SOONEST_ANSWER: Duration = Duration::from_secs(1);

impl AskOutcome {
    /// Whether somebody has said it, so that nobody else is asked.
    #[must_use]
    pub fn is_of_a_person(&self) -> bool {
        match self {
            Self::Answer(_) | Self::Opened => true,
            Self::Declined(after) => *after >= SOONEST_ANSWER,
            Self::Nothing => false,
        }
    }
}
