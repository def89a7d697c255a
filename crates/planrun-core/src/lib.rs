//! A run of a plan as a state machine without IO: what happened goes in, what has to be done comes out.
//!
//! [`run::Run`] owns the state of a run. A driver gives it inputs ([`run::Input`]) with the time, and carries out its
//! commands ([`run::Command`]). It reads no clock, starts no thread and awaits nothing, so the same machine runs under
//! tokio, under the paused clock of tests and under a simulator. [`journal`] has the events that a run tells, their one
//! encoding, and what another process needs to go on from them.

pub mod journal;
pub mod run;
