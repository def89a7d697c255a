//! Questions to the person behind a model: how they are worded, and who can put them.

mod client;
mod question;

pub use client::{AskOutcome, Asks, Client, Way};
pub use question::PutQuestion;
