//! Moments for people: how long ago, and when.

use std::time::Duration;

use crate::engine::short_duration;
use crate::value::timestamp_text;

/// The moment in RFC 3339 with seconds; nanoseconds since 1970 come in.
pub fn moment(nanos: i128) -> String {
    timestamp_text(nanos - nanos.rem_euclid(1_000_000_000))
}

/// `3m ago`, `in 2h`.
pub fn away(nanos: i128, now: i128) -> String {
    let seconds = u64::try_from((nanos - now).abs() / 1_000_000_000).unwrap_or(u64::MAX);
    let (count, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "m"),
        3600..86_400 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    if nanos > now { format!("in {count}{unit}") } else { format!("{count}{unit} ago") }
}

/// A length of time in milliseconds.
pub fn length(millis: u64) -> String {
    short_duration(Duration::from_millis(millis))
}
