//! The time of a run: a wall-clock and a monotonic reading that arrive with every input.

use std::time::Duration;

use planrun_lang::value::MAX_TIMESTAMP;

use super::frame::Microseconds;

/// One millisecond in nanoseconds.
const MILLISECOND: i128 = 1_000_000;

/// A point in time on both clocks. A run reads no clock itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Wall-clock time in nanoseconds since the Unix epoch, as recorded in events and questions.
    pub wall: i128,
    /// Time on a clock that never goes back, since an arbitrary fixed point. Timers use it.
    pub monotonic: Duration,
}

impl Moment {
    /// Returns the monotonic time after a wait.
    pub(super) fn after(self, wait: Duration) -> Duration {
        self.monotonic.saturating_add(wait)
    }
}

/// Converts a length of time to whole microseconds.
pub(super) fn microseconds(length: Duration) -> Microseconds {
    Microseconds::try_from(length.as_micros()).unwrap_or(Microseconds::MAX)
}

/// Formats a time of a run, given in microseconds since the run began.
pub(super) fn instant(begun_at: i128, since_start: u64) -> String {
    crate::journal::instant(begun_at + i128::from(since_start) * 1000)
}

/// Rounds a time up to whole milliseconds, so that the recorded time is exactly the one that is used. The last one is
/// that of the year 9999.
pub(super) fn whole_milliseconds(nanos: i128) -> i128 {
    let nanos = nanos.saturating_add(MILLISECOND - 1).min(MAX_TIMESTAMP);
    nanos - nanos.rem_euclid(MILLISECOND)
}
