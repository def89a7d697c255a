//! A model: what it is asked, and what it answers part by part.

mod error;
mod part;
mod parts;
mod request;
mod turn;

pub use error::{ErrorKind, ModelError};
pub use part::{Part, StopReason, Usage};
pub use parts::{PartSender, Parts, next, produce};
pub use request::{AnswerShape, Message, OfferedTool, Request, ToolCall, offered_name};
pub use turn::{MAX_CALLS, Turn};

/// Whoever answers requests in parts. To cancel, drop the stream.
pub trait Model: Send + Sync {
    /// The parts of the answer, in order, as they come; an error is the last item. Nothing happens before the stream is polled.
    fn answer(&self, request: Request) -> Parts;
}
