//! Storage of events: a log for each run that is driven, and one file per store.

mod cache;
mod log;
mod memory;
pub mod store;

pub use cache::{CachedResult, MAX_CACHED_BYTES, MAX_CACHED_RESULTS, MemoryCache, ResultCache};
pub use log::Log;
pub use memory::MemoryLog;
