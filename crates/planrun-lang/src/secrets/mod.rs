//! Secrets: recognized by name, and by value in every form in which they may be sent, and redacted.

mod credential;
mod form;
mod label;
mod redactor;

pub use credential::{credentials_in, credentials_in_address, is_secret_name};
pub use label::{USERINFO, at_path, redact_json_path, redact_json_paths, redact_paths};
pub use redactor::{MARK, MIN_LENGTH, Redactor};
