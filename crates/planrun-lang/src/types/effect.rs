//! Effect classes: what a call may do to the world.

use std::fmt;

/// What a call may do, from nothing to what cannot be taken back. The order is that of growing care.
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
    /// Depends on its arguments alone.
    Pure,
    /// Looks at the world and leaves it as it is.
    Read,
    /// Changes the world; doing it twice is doing it once.
    Idempotent,
    /// Changes the world each time. Assumed where nothing is said.
    #[default]
    Effect,
    /// Changes the world for good.
    Irreversible,
}

impl Effect {
    /// Every class, in order.
    pub const ALL: [Self; 5] = [
        Self::Pure,
        Self::Read,
        Self::Idempotent,
        Self::Effect,
        Self::Irreversible,
    ];

    /// The word for it in plans and app files.
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

    /// The class with this word.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.name() == name)
    }

    /// Whether calls of this class change nothing: they may be repeated, and wait only for earlier effects on the same state.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Pure | Self::Read)
    }

    /// Whether an attempt of unknown outcome may simply be sent again.
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
