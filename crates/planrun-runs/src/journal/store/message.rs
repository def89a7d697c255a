//! Messages to runs, and how much of a run a reader has seen.

/// A message to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Increases with each message of the journal.
    pub id: u64,
    /// Wall-clock time at which it was sent, in nanoseconds since the Unix epoch.
    pub at: i128,
    pub text: String,
}

/// How much of a run a reader has seen: its events, and the messages to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of events; `None` if it does not matter.
    pub events: Option<u64>,
    /// Id of the newest message; 0 if there was none.
    pub message: u64,
}
