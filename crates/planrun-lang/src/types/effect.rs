//! Effect classes: what a call may change outside the run.

use crate::words;

words! {
    /// The effect of a call, ordered from none to irreversible.
    #[derive(PartialOrd, Ord, Default)]
    Effect {
        /// Depends only on its arguments.
        Pure = "pure",
        /// Reads external state without changing it.
        Read = "read",
        /// Changes external state; repeating the call has no further effect.
        Idempotent = "idempotent",
        /// Changes external state each time. The default if the contract states no class.
        #[default]
        Effect = "effect",
        /// Changes external state in a way that cannot be undone.
        Irreversible = "irreversible",
    }
}

impl Effect {
    /// Returns true if calls of this class change nothing: they may be repeated, and wait only for earlier effects on
    /// the same state.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Pure | Self::Read)
    }

    /// Returns true if an attempt whose outcome is unknown may be sent again.
    #[must_use]
    pub const fn repeatable(self) -> bool {
        matches!(self, Self::Pure | Self::Read | Self::Idempotent)
    }
}
