//! planrun: a language and an engine for plans.
//!
//! Its crates are [`planrun_lang`], the language; [`planrun_core`], a run as a machine without IO; and
//! [`planrun_tools`], what a run calls. Here [`driver`] carries out what a run says, [`runs`] is the service that every
//! program is a client of, and [`cli`] is the program.

pub mod breaking;
pub mod cli;
pub mod driver;
pub mod forecast;
pub mod journal;
pub mod plantest;
pub mod runs;
pub mod testing;
