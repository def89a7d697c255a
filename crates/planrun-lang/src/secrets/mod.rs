//! Secrets: recognized by value in every form in which they may be sent, and redacted.

mod form;
mod label;
mod redactor;

pub use label::{at_path, redact_json_path, redact_paths};
pub use redactor::{MARK, MIN_LENGTH, Redactor};
