//! Plans for models: the view that a model gets of a project, and the server that provides it.
//!
//! [`discovery`] finds and describes tools briefly, and [`report`] describes diagnostics and outcomes of runs briefly.
//! [`mode`] is what a model can do, independent of a protocol; [`mcp`] implements the Model Context Protocol.
//! [`asking`] asks a person through the client, and [`page`] asks on a web page if the client cannot. [`tokens`]
//! estimates the size of texts for a model. This crate prints nothing.

pub mod asking;
mod blocking;
pub mod discovery;
pub mod mcp;
pub mod mode;
pub mod page;
pub mod report;
pub mod tokens;
