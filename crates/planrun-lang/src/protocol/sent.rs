//! Whether the world has seen a failed attempt.

/// Whether the world has seen a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// It never left: refused, not resolved, queued, turned away before the body.
    No,
    /// It left, and no answer came.
    Maybe,
    /// An answer came, and it was a failure.
    Answered,
    /// An answer came, and by the tool's contract it means that nothing has happened.
    Refused,
}

impl Sent {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::No, Self::Maybe, Self::Answered, Self::Refused];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Maybe => "maybe",
            Self::Answered => "answered",
            Self::Refused => "refused",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sent| sent.name() == name)
    }
}
