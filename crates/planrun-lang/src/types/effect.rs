//! Effect classes: what a call may change outside the run.

use std::fmt;

/// The effect of a call, ordered from none to irreversible.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Depends only on its arguments.
    Pure,
    /// Reads external state without changing it.
    Read,
    /// Changes external state; repeating the call has no further effect.
    Idempotent,
    /// Changes external state each time. The default if the contract states no class.
    #[default]
    Effect,
    /// Changes external state in a way that cannot be undone.
    Irreversible,
}

impl Effect {
    /// All classes, in order.
    pub const ALL: [Self; 5] = [
        Self::Pure,
        Self::Read,
        Self::Idempotent,
        Self::Effect,
        Self::Irreversible,
    ];

    /// Returns the name of the class in plans and app files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Effect => "effect",
            Self::Irreversible => "irreversible",
        }
    }

    /// Returns the class with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.name() == name)
    }

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

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
