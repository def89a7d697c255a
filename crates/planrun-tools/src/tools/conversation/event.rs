//! The events of a call in progress, and its end.

use planrun_lang::call::CallOutcome;
use planrun_lang::types::{Type, from_schema};
use serde_json::Value as Json;
use tokio::sync::oneshot;

/// Maximum size of a progress message, in bytes; longer ones are truncated.
pub const MAX_PROGRESS_BYTES: usize = 1024;
/// Maximum size of a question with its schema, in bytes.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;
/// Maximum size of a handle as JSON, in bytes.
pub const MAX_HANDLE_BYTES: usize = 16 * 1024;

/// One event of a call. [`CallEvent::Done`] is the last one, and there is exactly one.
#[derive(Debug)]
pub enum CallEvent {
    Progress(Progress),
    Ask(Ask),
    /// Replaces the previous handle.
    Handle(Handle),
    Usage(Usage),
    Done(CallOutcome),
}

/// The progress of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    fraction: Option<f64>,
    message: Option<String>,
}

impl Progress {
    /// Progress with a known total.
    pub fn of(done: u64, total: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "the fraction is only displayed")]
        let fraction = done as f64 / total as f64;
        Self::default().with_fraction(fraction)
    }

    /// A message of the peer, truncated to [`MAX_PROGRESS_BYTES`].
    pub fn message(message: &str) -> Self {
        let end = message.floor_char_boundary(MAX_PROGRESS_BYTES);
        let message = message.get(..end).map(str::to_owned);
        Self {
            fraction: None,
            message,
        }
    }

    /// Sets the completed fraction. It is clamped to the range from 0 to 1, and unknown if it is NaN.
    #[must_use]
    pub fn with_fraction(self, fraction: f64) -> Self {
        let fraction = (!fraction.is_nan()).then(|| fraction.clamp(0.0, 1.0));
        Self { fraction, ..self }
    }

    /// The completed fraction, from 0 to 1, if it is known.
    pub fn fraction(&self) -> Option<f64> {
        self.fraction
    }

    /// The peer's message. It is untrusted text, which has to be redacted and escaped before it is displayed.
    pub fn text(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(super) fn text_mut(&mut self) -> Option<&mut String> {
        self.message.as_mut()
    }
}

/// An event of a call that exceeds its size limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {bytes} bytes, but at most {max} are allowed")]
pub struct TooLarge {
    /// `a handle` or `a question`.
    pub what: &'static str,
    pub bytes: usize,
    pub max: usize,
}

/// The data that a transport needs to resume a call in another process, such as the id of a task. Only the transport
/// that created it can read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle(Json);

impl Handle {
    /// Creates a handle with this content. Returns an error if it is larger than [`MAX_HANDLE_BYTES`].
    pub fn new(content: Json) -> Result<Self, TooLarge> {
        bounded("a handle", content.to_string().len(), MAX_HANDLE_BYTES)?;
        Ok(Self(content))
    }

    pub fn content(&self) -> &Json {
        &self.0
    }
}

/// The usage of a call since its previous usage event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    tokens: u64,
    cost: f64,
}

impl Usage {
    /// Creates a usage. The cost is in the unit of the tools; if it is negative or not finite, it counts as zero.
    pub fn new(tokens: u64, cost: f64) -> Self {
        let cost = if cost.is_finite() && cost > 0.0 {
            cost
        } else {
            0.0
        };
        Self { tokens, cost }
    }

    pub fn tokens(self) -> u64 {
        self.tokens
    }

    /// The cost, in the unit of the tools.
    pub fn cost(self) -> f64 {
        self.cost
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost + other.cost,
        }
    }
}

/// A question that the peer asks during a call.
#[derive(Clone, Debug)]
pub struct Question {
    message: String,
    schema: Json,
    ty: Type,
}

impl Question {
    /// Creates a question whose answer must match a JSON Schema. Returns an error if message and schema together are
    /// larger than [`MAX_QUESTION_BYTES`].
    pub fn new(message: String, schema: Json) -> Result<Self, TooLarge> {
        let bytes = message.len() + schema.to_string().len();
        bounded("a question", bytes, MAX_QUESTION_BYTES)?;
        let ty = from_schema(&schema);
        Ok(Self {
            message,
            schema,
            ty,
        })
    }

    /// The message. It is untrusted text, which has to be redacted and escaped before it is displayed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The JSON Schema of the answer.
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// The type of the answer.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

/// A question with the sender of its reply. If it is dropped, the question stays unanswered.
#[derive(Debug)]
pub struct Ask {
    question: Question,
    reply: oneshot::Sender<AskReply>,
}

/// The reply to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AskReply {
    Given(Json),
    /// A person was asked and declined.
    Declined,
    /// No one was there to be asked.
    Unanswered,
}

impl Ask {
    /// Creates a question, and returns the receiver of its reply. An error of the receiver means
    /// [`AskReply::Unanswered`].
    pub fn new(question: Question) -> (Self, oneshot::Receiver<AskReply>) {
        let (reply, arrives) = oneshot::channel();
        (Self { question, reply }, arrives)
    }

    pub fn question(&self) -> &Question {
        &self.question
    }

    pub(super) fn message_mut(&mut self) -> &mut String {
        &mut self.question.message
    }

    /// Answers with a value, which the caller has validated against the schema.
    pub fn answer(self, value: Json) {
        self.reply(AskReply::Given(value));
    }

    /// Declines to answer.
    pub fn decline(self) {
        self.reply(AskReply::Declined);
    }

    /// Sends a reply that was determined elsewhere.
    pub fn reply(self, reply: AskReply) {
        // If the call has ended in the meantime, it needs no reply.
        let _ = self.reply.send(reply);
    }
}

fn bounded(what: &'static str, bytes: usize, max: usize) -> Result<(), TooLarge> {
    if bytes > max {
        return Err(TooLarge { what, bytes, max });
    }
    Ok(())
}
