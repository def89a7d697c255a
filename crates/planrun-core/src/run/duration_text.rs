//! Durations as text for people.

use std::time::Duration;

/// Formats a duration in its two largest units: `250ms`, `3s`, `2m`, `1h30m`, `2d`.
#[must_use]
pub fn short_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        1000..60_000 => format!("{:.1}s", duration.as_secs_f64()),
        60_000..3_600_000 => two(millis / 1000, (60, "m"), (1, "s")),
        3_600_000..86_400_000 => two(millis / 1000, (3600, "h"), (60, "m")),
        _ => two(millis / 1000, (86_400, "d"), (3600, "h")),
    }
}

fn two(seconds: u128, (large, first): (u128, &str), (small, second): (u128, &str)) -> String {
    match seconds % large / small {
        0 => format!("{}{first}", seconds / large),
        rest => format!("{}{first}{rest}{second}", seconds / large),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_lengths_of_time_are_told_in_the_units_of_people() {
        let text = |seconds: u64| short_duration(Duration::from_secs(seconds));
        let all = [3, 60, 123, 3600, 5400, 86_399, 86_400, 172_800, 180_000].map(text);
        assert_eq!(
            all,
            [
                "3s", "1m", "2m3s", "1h", "1h30m", "23h59m", "1d", "2d", "2d2h"
            ]
        );
        assert_eq!(short_duration(Duration::from_millis(1500)), "1.5s");
    }
}
