//! How far a failed attempt got.

use crate::words;

words! {
    /// How far a failed attempt got.
    Sent {
        /// It was not sent, or it was rejected without being processed.
        No = "no",
        /// It was sent, but no answer was received.
        Maybe = "maybe",
        /// It was answered with a failure.
        Answered = "answered",
        /// It was answered with a failure which, by the tool's contract, means that nothing has happened.
        Refused = "refused",
    }
}
