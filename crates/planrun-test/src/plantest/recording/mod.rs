//! Recordings: what the real tools answered, kept beside the plan as YAML and given again in tests.
//!
//! A recording is `recordings/<plan>__<test>[__<row>].yaml` beside its plan file. Its entries are told apart by the path of the
//! step and the number of the call that it makes, so that what runs at the same time is never mixed up, and each carries the
//! hash of the contract under which it was made. Secrets do not stand in it; a mark does, and a mark fits anything.

mod error;
mod kept;
mod library;
mod read;
mod recorder;
mod replay;
mod session;
mod veil;
mod write;

pub use error::RecordingError;
pub use kept::{Entry, Recorded, Recording};
pub use library::Recordings;
pub use recorder::Recorder;
pub use replay::{Mismatch, Replay, Replayed, faults};
pub use session::{Session, record};
