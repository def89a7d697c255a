//! Servers that speak the Model Context Protocol: connections that are made when they are first needed, and calls over them.

mod address;
mod call;
mod connection;
mod open_calls;
mod program;
mod result;
mod server;
mod transport;

pub use address::McpAddress;
pub use server::McpServer;
use transport::McpTransport;
