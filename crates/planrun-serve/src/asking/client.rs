//! The client that sent a request, and how it can ask its user.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;

use super::PendingQuestion;

/// The client of one request.
#[async_trait]
pub trait Client: Send + Sync {
    /// The name that the client reports. Untrusted text.
    fn name(&self) -> String;

    /// Returns when the client can ask questions.
    fn ask_mode(&self) -> AskMode;

    /// Returns true if the client can display a form for a question.
    fn supports_form(&self, question: &PendingQuestion) -> bool;

    /// Returns true if the client offers addresses to its user, who can open them.
    fn can_open_pages(&self) -> bool;

    /// Asks the client's user a question. Called only if [`Self::ask_mode`] is [`AskMode::Now`].
    async fn ask(&self, question: &PendingQuestion, channel: &AskChannel) -> AskOutcome;

    /// Tells the client that a question has been answered on its page.
    async fn page_done(&self, question: &PendingQuestion);

    /// Reports the progress of a run.
    async fn progress(&self, steps: u64, message: &str);

    /// Waits until the answer to the request is no longer needed.
    async fn cancelled(&self);
}

/// When a client can ask questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskMode {
    /// While the request is open.
    Now,
    /// It ends the request with the question, and repeats the request with the answer.
    Again,
    /// Never.
    Never,
}

/// How a client asks a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskChannel {
    /// In its own form.
    Form,
    /// With the address of a page on which the question is answered.
    Page(String),
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AskOutcome {
    /// The value of an answer.
    Answer(Json),
    /// The person has opened the page on which the question is answered.
    Opened,
    /// The person declined the question as a whole, after this duration.
    Declined(Duration),
    /// The question was dismissed, or could not be asked.
    Nothing,
}

/// Some clients decline by themselves. A refusal that is faster than a person can read is not from a person.
const MIN_HUMAN_DELAY: Duration = Duration::from_secs(1);

impl AskOutcome {
    /// Returns true if the outcome is from a person, so that the question is not asked by other means.
    pub fn is_from_person(&self) -> bool {
        match self {
            Self::Answer(_) | Self::Opened => true,
            Self::Declined(after) => *after >= MIN_HUMAN_DELAY,
            Self::Nothing => false,
        }
    }
}
