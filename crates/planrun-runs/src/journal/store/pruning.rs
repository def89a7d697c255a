//! Which runs are deleted, and what was.

/// Which of the runs that have ended to delete; without anything, all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prune {
    /// Only those that changed last before this moment, in nanoseconds since 1970.
    pub before: Option<i128>,
    /// Not the newest of those that have ended, so many.
    pub keep: usize,
}

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The newest first.
    pub runs: Vec<String>,
    /// Large values that no run referred to any more.
    pub values: usize,
}
