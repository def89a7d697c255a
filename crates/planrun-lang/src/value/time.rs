//! Parses and formats timestamps and durations.

use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, datetime};

const SECOND: i128 = 1_000_000_000;

const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

/// 0001-01-01T00:00:00Z, in nanoseconds since the Unix epoch.
pub const MIN_TIMESTAMP: i128 = -62_135_596_800 * SECOND;
/// 9999-12-31T23:59:59.999999999Z, in nanoseconds since the Unix epoch.
pub const MAX_TIMESTAMP: i128 = 253_402_300_800 * SECOND - 1;
/// Maximum absolute value of a duration in nanoseconds: 10,000 years of 365.25 days, more than the distance between any
/// two timestamps.
pub const MAX_DURATION: i128 = 315_576_000_000 * SECOND;

/// Units of durations and their lengths in nanoseconds.
const UNITS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
];

/// Formats a timestamp as RFC 3339 in UTC, with as many digits of a second as needed.
#[must_use]
pub fn timestamp_text(nanoseconds: i128) -> String {
    format!("{}Z", civil(nanoseconds))
}

/// Returns the calendar date and clock time this many nanoseconds after 1970-01-01T00:00:00 in the same time zone.
/// Times after the year 9999 saturate to its last nanosecond.
#[must_use]
pub fn civil(nanoseconds: i128) -> DateTime {
    let since = SignedDuration::try_from_nanos_i128(nanoseconds);
    EPOCH.saturating_add(since.unwrap_or(SignedDuration::MAX))
}

/// Parses an RFC 3339 timestamp with an offset to nanoseconds since the Unix epoch. `None` outside the years 1 to
/// 9999.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i128> {
    let is = |place: usize, allowed: &[u8]| {
        let found = text.as_bytes().get(place);
        found.is_some_and(|byte| allowed.contains(byte))
    };
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let number = |start: usize, end: usize| digits(text.get(start..end)?);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let narrow = |number: i16| i8::try_from(number).ok();
    let local = Date::new(year, narrow(month)?, narrow(day)?)
        .ok()?
        .to_datetime(Time::new(narrow(hour)?, narrow(minute)?, narrow(second)?, 0).ok()?);
    let rest = text.get(19..)?;
    let length = rest
        .strip_prefix('.')
        .map(|part| part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    let (fraction, zone) = match length {
        Some(0) => return None,
        Some(count) => (scaled(rest.get(..=count)?, SECOND)?, rest.get(count + 1..)?),
        None => (0, rest),
    };
    let since = local.duration_since(EPOCH).as_nanos();
    let nanoseconds = since - i128::from(parse_offset(zone)?) * SECOND + fraction;
    (MIN_TIMESTAMP..=MAX_TIMESTAMP)
        .contains(&nanoseconds)
        .then_some(nanoseconds)
}

/// Parses a number that consists of digits only.
fn digits<T: FromStr>(text: &str) -> Option<T> {
    let all = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}

/// Parses a UTC offset such as `Z`, `+02:00` or `-11:30` to seconds east of Greenwich.
#[must_use]
pub fn parse_offset(text: &str) -> Option<i32> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (digits(hours)?, digits(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Appends a decimal point and the nanoseconds without trailing zeros, unless they are zero.
fn push_fraction(text: &mut String, nanoseconds: i64) {
    if nanoseconds != 0 {
        let digits = format!("{nanoseconds:09}");
        text.push('.');
        text.push_str(digits.trim_end_matches('0'));
    }
}

/// Formats a duration in seconds with as many digits as needed, followed by `s`: `1.5s`.
#[must_use]
pub fn duration_text(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let mut text = format!("{sign}{}", nanoseconds.abs() / SECOND);
    push_fraction(
        &mut text,
        i64::try_from(nanoseconds.abs() % SECOND).unwrap_or(0),
    );
    text.push('s');
    text
}

/// Converts nanoseconds to a length of time: zero if they are negative, and the longest one if they are more than it.
#[must_use]
pub fn saturating_duration(nanoseconds: i128) -> Duration {
    SignedDuration::try_from_nanos_i128(nanoseconds.max(0))
        .map_or(Duration::MAX, SignedDuration::unsigned_abs)
}

/// Parses a duration such as `1h30m`, `-1.5s` or `200ms` to nanoseconds. `None` beyond 10,000 years.
#[must_use]
pub fn parse_duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if rest.is_empty() {
        return None;
    }
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(scaled(number, *length)?)?;
        rest = tail;
    }
    let total = if negative { -total } else { total };
    (total.abs() <= MAX_DURATION).then_some(total)
}

/// Multiplies a decimal number by a number of nanoseconds. Fractions of a nanosecond are cut off.
fn scaled(number: &str, length: i128) -> Option<i128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // Even for the longest unit, the eighteenth digit is far below a nanosecond, and the product does not overflow.
    let part = part.get(..18).unwrap_or(part);
    let fraction: i128 = if part.is_empty() {
        0
    } else {
        part.parse().ok()?
    };
    let scale = 10_i128.pow(u32::try_from(part.len()).ok()?);
    whole
        .checked_mul(length)?
        .checked_add(fraction * length / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print() {
        assert_eq!(parse_duration("1h30m"), Some(5_400 * SECOND));
        assert_eq!(parse_duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(parse_duration("200ms"), Some(200_000_000));
        assert_eq!(parse_duration("0.000001234s"), Some(1_234));
        assert_eq!(parse_duration("1.5h"), Some(5_400 * SECOND));
        assert_eq!(parse_duration(".5m"), Some(30 * SECOND));
        for bad in [
            "",
            "-",
            "1",
            "1h0",
            "s",
            "1x",
            "1.2.3s",
            ".s",
            "1 s",
            "320000000000s",
            "十秒",
        ] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
        assert_eq!(duration_text(-1_500_000_000), "-1.5s");
        assert_eq!(duration_text(0), "0s");
        assert_eq!(duration_text(1), "0.000000001s");
    }

    #[test]
    fn timestamps_stay_within_their_years() {
        assert_eq!(parse_timestamp("1970-01-01T00:00:01Z"), Some(SECOND));
        assert_eq!(parse_timestamp("0001-01-01T00:00:00Z"), Some(MIN_TIMESTAMP));
        assert_eq!(
            parse_timestamp("9999-12-31T23:59:59.999999999Z"),
            Some(MAX_TIMESTAMP)
        );
        assert_eq!(
            parse_timestamp("2020-01-01T02:00:00+02:00"),
            parse_timestamp("2020-01-01T00:00:00Z")
        );
        assert_eq!(
            parse_timestamp("2024-02-29T12:00:00.5-11:30")
                .map(timestamp_text)
                .unwrap(),
            "2024-02-29T23:30:00.5Z"
        );
        for bad in [
            "2023-02-29T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00+1:00",
            "2020-01-01T00:00:00.Z",
        ] {
            assert_eq!(parse_timestamp(bad), None, "{bad}");
        }
        for bad in [
            "0000-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "2020-01-01",
            "2020-01-01T00:00:00",
            "今天",
        ] {
            assert_eq!(parse_timestamp(bad), None, "{bad}");
        }
        assert_eq!(timestamp_text(MIN_TIMESTAMP), "0001-01-01T00:00:00Z");
        assert_eq!(timestamp_text(1_500_000_000), "1970-01-01T00:00:01.5Z");
        assert_eq!(
            timestamp_text(MAX_TIMESTAMP),
            "9999-12-31T23:59:59.999999999Z"
        );
    }

    #[test]
    fn lengths_of_time_saturate_upwards() {
        assert_eq!(saturating_duration(-1), Duration::ZERO);
        assert_eq!(
            saturating_duration(1_500_000_000),
            Duration::from_millis(1500)
        );
        assert_eq!(
            saturating_duration(MAX_TIMESTAMP - MIN_TIMESTAMP),
            Duration::new(315_537_897_599, 999_999_999)
        );
        assert_eq!(saturating_duration(i128::MAX), Duration::MAX);
    }

    #[test]
    fn the_calendar_ends_with_the_year_9999() {
        assert_eq!(
            timestamp_text(MAX_TIMESTAMP + 1),
            timestamp_text(MAX_TIMESTAMP)
        );
        assert_eq!(timestamp_text(i128::MAX), timestamp_text(MAX_TIMESTAMP));
        assert_eq!(civil(MIN_TIMESTAMP - 1).year(), 0);
    }
}
