//! What a call tells while it goes on, and how it ends.

use planrun_lang::call::CallOutcome;
use planrun_lang::types::{Type, from_schema};
use serde_json::Value as Json;
use tokio::sync::oneshot;

/// The longest message of a progress, in bytes; the rest is cut off.
pub const MAX_PROGRESS_BYTES: usize = 1024;
/// The longest question, its schema included, in bytes.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;
/// The largest handle, as JSON, in bytes.
pub const MAX_HANDLE_BYTES: usize = 16 * 1024;

/// One event of a call. [`CallEvent::Done`] is the last one, and there is exactly one.
#[derive(Debug)]
pub enum CallEvent {
    Progress(Progress),
    Ask(Ask),
    /// Replaces the handle before it.
    Handle(Handle),
    Usage(Usage),
    Done(CallOutcome),
}

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    fraction: Option<f64>,
    message: Option<String>,
}

impl Progress {
    /// So much is done, of a total that is known.
    #[must_use]
    pub fn of(done: u64, total: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a fraction for people")]
        let fraction = done as f64 / total as f64;
        Self::default().with_fraction(fraction)
    }

    /// A message of the peer, shortened to [`MAX_PROGRESS_BYTES`].
    #[must_use]
    pub fn message(message: &str) -> Self {
        let end = message.floor_char_boundary(MAX_PROGRESS_BYTES);
        let message = message.get(..end).map(str::to_owned);
        Self {
            fraction: None,
            message,
        }
    }

    /// With the part that is done: clamped to 0 to 1, unknown where it is no number.
    #[must_use]
    pub fn with_fraction(self, fraction: f64) -> Self {
        let fraction = (!fraction.is_nan()).then(|| fraction.clamp(0.0, 1.0));
        Self { fraction, ..self }
    }

    /// The part that is done, from 0 to 1, where it is known.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        self.fraction
    }

    /// What the peer says. Text from outside: whoever shows it redacts it and escapes control characters.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(super) fn text_mut(&mut self) -> Option<&mut String> {
        self.message.as_mut()
    }
}

/// Something in a call's events that is larger than its bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {bytes} bytes, and may have {max}")]
pub struct TooLarge {
    /// `a handle` or `a question`.
    pub what: &'static str,
    pub bytes: usize,
    pub max: usize,
}

/// What a transport needs to come back to a call after its process has died, such as the id of a task. Only the
/// transport that gave it can read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle(Json);

impl Handle {
    /// A handle with this content.
    ///
    /// # Errors
    /// When it is larger than [`MAX_HANDLE_BYTES`].
    pub fn new(content: Json) -> Result<Self, TooLarge> {
        bounded("a handle", content.to_string().len(), MAX_HANDLE_BYTES)?;
        Ok(Self(content))
    }

    #[must_use]
    pub fn content(&self) -> &Json {
        &self.0
    }
}

/// What a call has used since its usage before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    tokens: u64,
    cost: f64,
}

impl Usage {
    /// So many tokens, at this cost in the unit of the tools. A cost that is negative or no number counts as none.
    #[must_use]
    pub fn new(tokens: u64, cost: f64) -> Self {
        let cost = if cost.is_finite() && cost > 0.0 {
            cost
        } else {
            0.0
        };
        Self { tokens, cost }
    }

    #[must_use]
    pub fn tokens(self) -> u64 {
        self.tokens
    }

    /// In the unit of the tools.
    #[must_use]
    pub fn cost(self) -> f64 {
        self.cost
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost + other.cost,
        }
    }
}

/// What the peer wants to know in the middle of a call.
#[derive(Clone, Debug)]
pub struct Question {
    message: String,
    schema: Json,
    ty: Type,
}

impl Question {
    /// A question whose answer keeps to a JSON Schema.
    ///
    /// # Errors
    /// When text and schema together are larger than [`MAX_QUESTION_BYTES`].
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

    /// Text from outside: whoever shows it redacts it and escapes control characters.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The JSON Schema of the answer.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// The type of the answer.
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

/// A question with the one way to answer it. Dropping it leaves it unanswered.
#[derive(Debug)]
pub struct Ask {
    question: Question,
    reply: oneshot::Sender<AskReply>,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AskReply {
    Given(Json),
    /// Somebody was asked, and said no.
    Declined,
    /// Nobody was there to be asked.
    Unanswered,
}

impl Ask {
    /// A question, and where its reply arrives; an error there is [`AskReply::Unanswered`].
    #[must_use]
    pub fn new(question: Question) -> (Self, oneshot::Receiver<AskReply>) {
        let (reply, arrives) = oneshot::channel();
        (Self { question, reply }, arrives)
    }

    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    pub(super) fn message_mut(&mut self) -> &mut String {
        &mut self.question.message
    }

    /// Answers with a value, which the caller has held against the schema.
    pub fn answer(self, value: Json) {
        self.reply(AskReply::Given(value));
    }

    /// Says no.
    pub fn decline(self) {
        self.reply(AskReply::Declined);
    }

    /// Passes on what became of it elsewhere.
    pub fn reply(self, reply: AskReply) {
        // A call that has ended meanwhile needs no answer.
        let _ = self.reply.send(reply);
    }
}

fn bounded(what: &'static str, bytes: usize, max: usize) -> Result<(), TooLarge> {
    if bytes > max {
        return Err(TooLarge { what, bytes, max });
    }
    Ok(())
}
