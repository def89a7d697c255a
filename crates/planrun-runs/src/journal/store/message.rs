//! Messages to runs, and how far somebody has read.

/// Something that was said to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Grows with each message of the journal.
    pub id: u64,
    /// Nanoseconds since 1970.
    pub at: i128,
    pub text: String,
}

/// How far somebody has seen what there is of a run: its events, and the last message to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Nothing where that does not matter.
    pub events: Option<u64>,
    pub message: u64,
}
