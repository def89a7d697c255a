//! The test double of app tools: a real HTTP server that answers as the `mock:` sections of app files say.

mod calls;
mod respond;
mod script;
mod server;
mod template;

pub use calls::LoggedCall;
pub use server::{MockOptions, MockServer};
