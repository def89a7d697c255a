//! Recordings: answers of real tools, stored next to the plan as YAML and replayed in tests.
//!
//! A recording is `recordings/<file>__<test>[__<row>].yaml` next to the file with the test. Its entries are identified by the
//! path of the step and the number of its call, so that concurrent steps are never confused, and each has the hash of
//! the contract under which it was recorded. Secrets are replaced by a marker, which matches any value.

mod error;
mod library;
mod model;
mod read;
mod recorder;
mod redact;
mod replay;
mod session;
mod write;

pub use error::RecordingError;
pub use library::Recordings;
pub use model::{Entry, Recorded, Recording};
pub use recorder::Recorder;
pub use replay::{Mismatch, Replay, Replayed, faults};
pub use session::{Session, record};
