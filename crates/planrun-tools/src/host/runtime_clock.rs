//! The clock that timers follow: the runtime's own, so that whoever pauses the runtime pauses every wait.

use tokio::time::Instant;

/// Now, by the clock of the runtime.
#[must_use]
pub fn runtime_now() -> Instant {
    Instant::now()
}
