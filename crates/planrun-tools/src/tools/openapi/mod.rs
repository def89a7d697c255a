//! `OpenAPI` documents: each operation is a tool that is called as the document describes.

mod access;
mod api;
mod body;
mod document;
mod multipart;
mod naming;
mod operation;
mod request;
mod response;
mod schema;
#[cfg(test)]
mod tests;
mod transport;

pub use access::{Access, KeyScheme};
pub use api::{Api, MAX_DOCUMENT_BYTES, read_api};
pub use body::{Body, BodyField, Shape};
pub use operation::{Operation, Parameter, Security};
pub use response::{Declared, Responses, Status};
pub use transport::{Endpoint, OpenApiTransport};
