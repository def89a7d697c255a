//! The service that everything else is a client of: checking plans, starting runs of them, and acting on runs.
//!
//! [`runs::Planrun`] opens a project. [`driver`] carries out what the machine of a run wants done, [`journal`] is where its
//! events are kept, and [`forecast`] tells what a run would do before it does anything. Nothing is printed here.

pub mod driver;
pub mod forecast;
pub mod journal;
pub mod runs;
