//! Calling the world: the transport trait, the catalog and one file per transport.

mod transport;

pub use transport::{Answer, CallError, Outcome, Reply, Request, Sent, Transport};
