//! planrun: a language and an engine for plans.
//!
//! The language is a crate of its own, [`planrun_lang`]: text to tree, checked plan and graph. Here [`engine`] runs what it
//! makes, [`runs`] is the service that every program is a client of, and [`cli`] is the program.

pub mod breaking;
pub mod cli;
pub mod driver;
pub mod forecast;
pub mod host;
pub mod journal;
pub mod mock;
pub mod plantest;
pub mod project;
pub mod runs;
pub mod testing;
pub mod tools;
