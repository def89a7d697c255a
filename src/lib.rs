//! planrun: a language and an engine for plans.
//!
//! Its crates are [`planrun_lang`], the language; [`planrun_core`], a run as a machine without IO; [`planrun_tools`], what a
//! run calls; [`planrun_runs`], the service that every program is a client of; and [`planrun_test`], tests of plans. Here
//! is the program, [`cli`], and what tests of a Rust program use, [`testing`].

pub mod cli;
pub mod testing;
