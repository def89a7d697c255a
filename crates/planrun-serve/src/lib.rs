//! Plans for models: what a model sees of a project, and the server through which it does.
//!
//! [`discovery`] finds and describes tools in few words, [`report`] says in few words what was found and what has happened.
//! Nothing is printed here.

pub mod discovery;
pub mod report;
pub mod tokens;
