//! How far a failed attempt got.

/// How far a failed attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// It was not sent, or it was rejected without being processed.
    No,
    /// It was sent, but no answer was received.
    Maybe,
    /// It was answered with a failure.
    Answered,
    /// It was answered with a failure which, by the tool's contract, means that nothing has happened.
    Refused,
}

impl Sent {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::No, Self::Maybe, Self::Answered, Self::Refused];

    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Maybe => "maybe",
            Self::Answered => "answered",
            Self::Refused => "refused",
        }
    }

    /// Returns the variant with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sent| sent.name() == name)
    }
}
