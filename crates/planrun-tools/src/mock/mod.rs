//! The test double of app tools and of documents of `OpenAPI`: a real HTTP server that answers as the `mock:` sections of app
//! files and the schemas of documents say.

mod api;
mod calls;
mod listening;
mod multipart;
mod respond;
mod script;
mod server;
mod template;

pub use calls::LoggedCall;
pub use listening::Listening;
pub use server::{MockOptions, MockServer};
