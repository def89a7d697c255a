//! The runs to delete, and the result of deleting them.

/// Selects runs that have ended; by default all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prune {
    /// Only runs that changed last before this time, in nanoseconds since the Unix epoch.
    pub before: Option<i128>,
    /// Number of the newest ended runs that are kept.
    pub keep: usize,
}

/// The deleted runs and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Newest first.
    pub runs: Vec<String>,
    /// Number of large values that no run referred to any more.
    pub values: usize,
}
