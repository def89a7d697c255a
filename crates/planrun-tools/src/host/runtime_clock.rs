//! The clock of timers. It is the clock of the async runtime, so pausing the runtime's time pauses every timer.

use std::time::Duration;

use tokio::time::Instant;

/// The unit that tokio rounds the deadlines of its timers up to.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// Returns the current time of the runtime's clock.
pub fn runtime_now() -> Instant {
    Instant::now()
}

/// Waits until a time, or forever without one.
///
/// A timer of tokio fires up to a millisecond late, since deadlines are rounded up to whole milliseconds. So the first
/// one is set that much too early; it then usually fires on time. If it fires early, a second one waits for the rest.
pub async fn sleep_until(deadline: Option<Instant>) {
    let Some(deadline) = deadline else {
        return std::future::pending().await;
    };
    let early = deadline.checked_sub(TIMER_RESOLUTION).unwrap_or(deadline);
    tokio::time::sleep_until(early).await;
    while runtime_now() < deadline {
        tokio::time::sleep_until(deadline).await;
    }
}
