//! Calling the world: the transport trait, the catalog and one file per transport.

mod permissions;
mod transport;

pub use permissions::{Grant, PermissionError, Permissions};
pub use transport::{Answer, CallError, Outcome, Reply, Request, Sent, Transport};
