//! Storage of events: the log of a run that is driven, the result cache, and the stores of runs.

mod cache;
mod log;
mod memory;
pub mod store;

pub use cache::{CachedResult, MAX_CACHED_BYTES, MAX_CACHED_RESULTS, MemoryCache, ResultCache};
pub use log::Log;
pub use memory::MemoryLog;
