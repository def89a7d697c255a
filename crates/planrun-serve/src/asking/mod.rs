//! Questions to the person who uses a model: their wording, and the clients that can ask them.

mod client;
mod question;

pub use client::{AskChannel, AskMode, AskOutcome, Client};
pub use question::PendingQuestion;
