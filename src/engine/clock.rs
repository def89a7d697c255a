//! The clock that timers follow: the runtime's own, so that whoever pauses the runtime pauses every wait.

use std::time::Duration;

use tokio::time::Instant;

/// The farthest that a timer is set; a longer wait is one that nobody sees the end of.
pub(super) const FARTHEST: Duration = Duration::from_hours(24 * 365 * 30);

/// Now, by the clock of timers.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The moment after a wait.
pub(super) fn after(wait: Duration) -> Instant {
    now() + wait.min(FARTHEST)
}

/// Returns at a moment, or never where there is none.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
