//! Secrets: recognized by their value in every form in which they are sent, and replaced by a mark.

mod form;
mod label;
mod redactor;

pub use label::{at_path, hidden, hide_json};
pub use redactor::{MARK, MIN_LENGTH, Redactor};
