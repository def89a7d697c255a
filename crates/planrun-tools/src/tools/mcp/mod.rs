//! Servers that support the Model Context Protocol: connections that are opened when they are first needed, and calls
//! over them.

mod address;
mod call;
mod connection;
mod handler;
mod lines;
mod oauth;
mod open_calls;
mod program;
mod remote;
mod result;
mod server;
mod task;
mod transport;

pub use address::McpAddress;
pub use oauth::{Login, OAuth};
pub use server::McpServer;
use transport::McpTransport;
