//! The time of a run: a wall-clock and a monotonic reading that arrive with every input.

use std::time::Duration;

/// The longest wait for which a timer is set, 30 years.
pub(super) const MAX_WAIT: Duration = Duration::from_hours(24 * 365 * 30);

/// A point in time on both clocks. A run reads no clock itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Wall-clock time in nanoseconds since the Unix epoch, as recorded in events and questions.
    pub wall: i128,
    /// Time on a clock that never goes back, since an arbitrary fixed point. Timers use it.
    pub monotonic: Duration,
}

impl Moment {
    /// Returns the monotonic time after a wait, which is bounded.
    pub(super) fn after(self, wait: Duration) -> Duration {
        self.monotonic.saturating_add(wait.min(MAX_WAIT))
    }
}

/// Formats a time of a run, given in microseconds since the run began.
pub(super) fn instant(begun_at: i128, since_start: u64) -> String {
    crate::journal::instant(begun_at + i128::from(since_start) * 1000)
}

/// Rounds a time up to whole milliseconds, so that the recorded time is exactly the one that is used.
pub(super) fn whole_milliseconds(nanos: i128) -> i128 {
    let milli = i128::try_from(Duration::from_millis(1).as_nanos()).unwrap_or(1);
    nanos.div_euclid(milli) * milli
        + if nanos.rem_euclid(milli) == 0 {
            0
        } else {
            milli
        }
}
