//! Calling the world: the transport trait, the catalog and one file per transport.

mod allowed;
pub mod app;
mod catalog;
mod credential;
mod effect;
mod files;
pub mod http;
pub mod pages;
mod permissions;
mod process;
mod system;
mod transport;
mod wanted;

pub use allowed::Allowed;
pub use catalog::{BUILT_IN, Catalog, Namespace, Tool};
pub use credential::{sensitive_arguments, sensitive_result};
pub use effect::{Given, effect_of};
pub use files::{local_path, reached_file};
pub use permissions::{Grant, OWN_FOLDER, PermissionError, Permissions};
pub use transport::{Answer, CallError, Outcome, Reply, Request, StandIn, Transport};
pub use wanted::{Wanted, wanted_permission};
