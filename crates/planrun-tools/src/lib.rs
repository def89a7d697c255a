//! Tool contracts and tool calls of planrun, and the only access to the operating system that the other crates use.
//!
//! [`project`] reads where tools come from, [`contract`] pins what servers declare about them, [`tools`] calls them
//! through one transport each, [`mock`] replaces them in tests, and [`host`] gives access to files, clocks, environment
//! variables and randomness. This crate knows nothing about runs or their journal.

pub mod contract;
pub mod host;
pub mod mock;
pub mod project;
pub mod tools;
