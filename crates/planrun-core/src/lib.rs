//! A run of a plan as a state machine without I/O: inputs go in, commands come out.
//!
//! [`run::Run`] owns the state of a run. A driver passes it inputs ([`run::Input`]) with the time, and carries out its
//! commands ([`run::Command`]). It reads no clock, starts no thread and awaits nothing, so the same machine runs under
//! tokio, under the paused clock of tests and under a simulator. [`journal`] contains the events that a run emits,
//! their one encoding, and the state from which another process resumes.

pub mod journal;
pub mod run;
