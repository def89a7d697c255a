//! HTTP: the shared client, the meaning of statuses for calls, and the tool `http.fetch`.

mod answer;
mod charset;
mod client;
mod content;
mod event_stream;
mod fetch;
pub mod parameter;
pub mod path;
pub mod percent;
mod resolver;
mod status;

pub(in crate::tools) use answer::{failure_detail, same_host};
pub(in crate::tools) use charset::from_utf8;
pub(crate) use client::displayed;
pub(in crate::tools) use client::{CONNECT_TIMEOUT, MAX_REDIRECTS, body, build, display_url};
pub use client::{HttpClient, HttpRequest, HttpResponse, Limits};
pub use content::{Content, value};
pub use event_stream::EventLines;
pub(in crate::tools) use event_stream::EventStream;
pub use fetch::{Fetch, fetch_signature};
pub use status::{failure, retry_after};

/// Maximum size of a response body, in bytes, unless a call sets another one.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
