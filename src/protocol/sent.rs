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
}
