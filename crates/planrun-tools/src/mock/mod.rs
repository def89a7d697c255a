//! Mocks app tools and `OpenAPI` documents: an HTTP server that answers according to the `mock:` sections of app files
//! and the schemas of documents.

mod api;
mod calls;
mod listening;
mod multipart;
mod recent;
mod respond;
mod server;
mod template;

pub use calls::LoggedCall;
pub use listening::Listening;
pub use recent::Recent;
pub use server::{MockOptions, MockServer};
