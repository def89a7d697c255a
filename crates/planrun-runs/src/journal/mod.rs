//! Where the events of runs are kept: a log for each run that is driven, and one file per store.

mod log;
mod memory;
pub mod store;

pub use log::Log;
pub use memory::MemoryLog;
