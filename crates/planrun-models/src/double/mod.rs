//! A test double of a model: an HTTP server that plays a script, in the format of each supported API.
//!
//! ```
//! # use std::sync::Arc;
//! use planrun_lang::source::SourceFile;
//! use planrun_models::double::{ModelDouble, DoubleOptions, Script};
//! # use planrun_tools::host::{Host, MemoryHost};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let host: Arc<dyn Host> = Arc::new(MemoryHost::default());
//! let source = SourceFile::new("script.yaml", "turns: [{ text: Hello! }]");
//! let script = Script::read(&source).map_err(|found| found[0].message.clone())?;
//! let double = ModelDouble::start(script, DoubleOptions::default(), host).await?;
//! // … a client sends requests to `double.base_url()` …
//! assert!(double.requests().is_empty());
//! double.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod body;
mod chat;
mod event;
mod messages;
mod requests;
mod responses;
mod script;
mod server;
mod shape;

pub use requests::ReceivedRequest;
pub use script::Script;
pub use server::{DoubleOptions, ModelDouble};
