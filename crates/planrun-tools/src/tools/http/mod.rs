//! HTTP: one client for all, what statuses mean for a call, and the tool `http.fetch`.

mod client;
mod event_stream;
mod fetch;
mod resolver;
mod status;

pub(in crate::tools) use client::{CONNECT_TIMEOUT, MOST_REDIRECTS, body, build, shown};
pub use client::{HttpClient, HttpRequest, HttpResponse, Limits};
pub(in crate::tools) use event_stream::EventStream;
pub use fetch::{Fetch, fetch_signature};
pub use status::failure;

/// A response body above this many bytes is refused unless a call says otherwise.
pub const MOST_BODY_BYTES: usize = 8 * 1024 * 1024;
