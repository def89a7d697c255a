//! Calling the world: the transport trait, the catalog and one file per transport.

mod allowed;
pub mod app;
mod catalog;
mod credential;
mod files;
pub mod http;
pub mod pages;
mod process;
mod system;
mod transport;
mod wanted;

pub use allowed::Allowed;
pub use catalog::{BUILT_IN, Catalog, Namespace, Tool};
pub use transport::{Answer, CallError, Outcome, Reply, Request, StandIn, Transport};
pub use wanted::{Wanted, wanted_permission};
