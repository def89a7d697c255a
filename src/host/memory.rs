//! A host in memory, for tests.

/// A host in memory.
pub struct MemoryHost;
