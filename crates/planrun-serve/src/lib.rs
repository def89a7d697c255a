//! Plans for models: what a model sees of a project, and the server through which it does.
//!
//! [`discovery`] finds and describes tools in few words, [`report`] says in few words what was found and what has happened.
//! [`mode`] is what a model can do, without a protocol; [`mcp`] speaks the Model Context Protocol. [`asking`] puts questions
//! to people, and [`page`] to those whose client cannot. Nothing is printed here.

pub mod asking;
pub mod discovery;
pub mod mcp;
pub mod mode;
pub mod page;
pub mod report;
pub mod tokens;
