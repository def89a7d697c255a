//! The lease of a run, as it was granted to this process.

use super::super::digest::Digest;

/// A run that this process drives.
pub(super) struct GrantedLease {
    pub id: i64,
    pub run: String,
    pub epoch: i64,
    /// The number of the last event and the chain after it.
    pub last: u64,
    pub head: Digest,
    /// The driver before ended without giving the run back.
    pub after_crash: bool,
}
