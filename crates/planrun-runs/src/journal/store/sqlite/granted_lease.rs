//! The lease of a run, as granted to this process.

use super::super::digest::Digest;

/// The lease of a run.
pub(super) struct GrantedLease {
    pub id: i64,
    pub run: String,
    pub epoch: i64,
    /// Number of the last event, and the chain value after it.
    pub last: u64,
    pub head: Digest,
    /// Whether the previous driver ended without releasing the run.
    pub after_crash: bool,
    /// Whether the run was created with it, so that nothing has been sent to the run yet.
    pub is_new: bool,
}
