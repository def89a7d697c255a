//! `planrun test`: cases, mocks, recordings, faults, snapshots, coverage.

pub mod case;
pub mod coverage;
pub mod explore;
mod fractions;
pub mod generated;
mod mocks;
pub mod mutate;
mod outcome;
pub mod play;
pub mod recording;
pub mod replay;
pub mod report;
mod responder;
mod slots;
pub mod snapshot;
pub mod suite;
pub mod trace;
pub mod verdict;
pub mod world;

/// Maximum number of characters that a message quotes of a value.
const MAX_QUOTED: usize = 400;
