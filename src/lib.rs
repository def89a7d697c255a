//! planrun: a language and an engine for plans.
//!
//! The road a plan travels: [`syntax`] reads text to a tree, [`sema`] checks it, [`graph`] makes the DAG, [`engine`] runs it.

pub mod breaking;
pub mod builtins;
pub mod cli;
pub mod diag;
pub mod engine;
pub mod eval;
pub mod forecast;
pub mod format;
pub mod graph;
pub mod host;
pub mod journal;
pub mod lint;
pub mod mock;
pub mod plantest;
pub mod project;
pub mod protocol;
pub mod runs;
pub mod secrets;
pub mod sema;
pub mod source;
pub mod syntax;
pub mod testing;
pub mod tools;
pub mod types;
pub mod value;
