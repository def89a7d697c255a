//! The service that checks plans, starts runs of them, and acts on runs. Everything else is a client of it.
//!
//! [`runs::Planrun`] opens a project. [`driver`] carries out the commands of a run's machine, [`journal`] stores its
//! events, and [`forecast`] predicts what a run would do before it does anything. Nothing is printed here.

pub mod driver;
pub mod forecast;
pub mod journal;
pub mod runs;
