//! The language of planrun, from plan text to checked plan to graph, without access to files, clock, network or
//! environment.
//!
//! [`syntax`] parses text to a tree, [`sema`] checks it, [`lint`] finds well-typed plans that would still fail, and
//! [`graph`] builds the DAG. Outside information is passed in: tools as signatures, files through [`sema::Files`], file
//! system links through [`permission::PathResolver`].

pub mod bounds;
pub mod builtins;
pub mod call;
pub mod characters;
pub mod diag;
pub mod eval;
pub mod example;
pub mod format;
pub mod graph;
pub mod lint;
pub mod origin;
pub mod permission;
pub mod protocol;
pub mod secrets;
pub mod sema;
pub mod source;
pub mod syntax;
pub mod types;
pub mod value;
mod words;
pub mod yaml;
