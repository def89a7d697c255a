//! Formats times for people, relative and absolute.

use std::time::Duration;

use planrun_lang::diag::render::Language;
use planrun_lang::value::timestamp_text;

use planrun_core::run::short_duration;

/// Formats a time in RFC 3339 with seconds, from nanoseconds since the Unix epoch.
pub fn timestamp(nanos: i128) -> String {
    timestamp_text(nanos - nanos.rem_euclid(1_000_000_000))
}

/// Formats a time relative to `now`: `3m ago`, `in 2h`, `in 1d4h`. A future time is rounded to the smaller unit, so
/// that a wait of two days is still displayed as two days a moment after it began.
pub fn relative_time(nanos: i128, now: i128, language: Language) -> String {
    let seconds =
        u64::try_from(((nanos - now).abs() + 500_000_000) / 1_000_000_000).unwrap_or(u64::MAX);
    let small = match seconds {
        0..3600 => 1,
        3600..82_800 => 60,
        _ => 3600,
    };
    let (elapsed, rounded) = (
        seconds / small * small,
        (seconds + small / 2) / small * small,
    );
    let text = |seconds: u64| {
        if seconds == 0 {
            "0s".to_owned()
        } else {
            short_duration(Duration::from_secs(seconds))
        }
    };
    match (language, nanos > now) {
        (Language::En, true) => format!("in {}", text(rounded)),
        (Language::En, false) => format!("{} ago", text(elapsed)),
        (Language::Zh, true) => format!("{} 后", text(rounded)),
        (Language::Zh, false) => format!("{} 前", text(elapsed)),
    }
}

/// Formats a duration given in milliseconds.
pub fn format_millis(millis: u64) -> String {
    short_duration(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_what_was_just_said_to_take_two_days_is_two_days_away() {
        let at = |seconds: i128| relative_time(seconds * 1_000_000_000, 0, Language::En);
        assert_eq!(at(172_799), "in 2d");
        assert_eq!(
            [at(5), at(90), at(3599), at(7199), at(100_000)],
            ["in 5s", "in 1m30s", "in 59m59s", "in 2h", "in 1d4h"]
        );
        assert_eq!(
            [at(-5), at(-7199), at(-172_799), at(0)],
            ["5s ago", "1h59m ago", "1d23h ago", "0s ago"]
        );
    }
}
