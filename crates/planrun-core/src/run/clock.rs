//! The time of a run: a wall-clock and a monotonic reading that arrive with every input.

use std::time::Duration;

/// The farthest that a timer is set; nobody sees the end of a longer wait.
pub(super) const FARTHEST: Duration = Duration::from_hours(24 * 365 * 30);

/// A moment on both clocks. A run reads no clock itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The wall clock, in nanoseconds since 1970: what events and questions carry.
    pub wall: i128,
    /// A clock that never goes back, since any fixed moment: what timers follow.
    pub monotonic: Duration,
}

impl Moment {
    /// The monotonic time after a wait.
    pub(super) fn after(self, wait: Duration) -> Duration {
        self.monotonic.saturating_add(wait.min(FARTHEST))
    }
}

/// A moment of a run as text, from microseconds since it began.
pub(super) fn instant(begun_at: i128, since_start: u64) -> String {
    crate::journal::instant(begun_at + i128::from(since_start) * 1000)
}

/// The first moment with whole milliseconds that is not before this one: what is written down is exactly what is kept.
pub(super) fn whole_milliseconds(nanos: i128) -> i128 {
    let milli = i128::try_from(Duration::from_millis(1).as_nanos()).unwrap_or(1);
    nanos.div_euclid(milli) * milli
        + if nanos.rem_euclid(milli) == 0 {
            0
        } else {
            milli
        }
}
