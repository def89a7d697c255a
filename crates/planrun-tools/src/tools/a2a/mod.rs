//! Agents that support A2A 1.0: their cards become contracts, and conversations with them become calls.

mod call;
mod card;
mod client;
mod result;
mod server;
mod task;
mod transport;
mod wire;

pub use card::AgentAddress;
pub use server::AgentServer;
