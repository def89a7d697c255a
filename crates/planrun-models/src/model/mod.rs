//! The model trait, with requests and streamed answers.

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

/// A model that answers requests in parts. Drop the stream to cancel a request.
pub trait Model: Send + Sync {
    /// Returns the parts of the answer, in order, as they arrive; an error is the last item. The request starts when
    /// the stream is first polled.
    fn answer(&self, request: Request) -> Parts;
}
