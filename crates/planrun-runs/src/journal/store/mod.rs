//! Stores of runs: their common interface, and the implementations.

mod ahead;
mod digest;
mod export;
mod failure;
mod interface;
mod memory;
mod run_row;
mod sqlite;
mod verify;

pub use ahead::read_ahead;
pub use digest::{Digest, ParseDigestError};
pub use export::{Exported, export, export_redacted};
pub use failure::{Damage, JournalError};
pub use interface::{Lease, Message, Prune, Pruned, Recorded, RecordedEvents, Seen, Store};
pub use memory::MemoryStore;
pub use run_row::{Created, Filter, Holder, NewRun, RunInfo, RunRow};
pub use sqlite::{Durable, Events, Journal, Settings, SqliteLease, Synchronous};
pub use verify::{ExportFault, verify_export};

/// Converts a time that has been to 64-bit nanoseconds since the Unix epoch, as in the file, which reach to the year
/// 2262.
fn nanos(moment: i128) -> i64 {
    i64::try_from(moment).unwrap_or(if moment < 0 { i64::MIN } else { i64::MAX })
}
