//! The clock of timers. It is the clock of the async runtime, so pausing the runtime's time pauses every timer.

use tokio::time::Instant;

/// Returns the current time of the runtime's clock.
#[must_use]
pub fn runtime_now() -> Instant {
    Instant::now()
}
