//! Functions that return parts of timestamps and durations, in any time zone.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::super::Failure;
use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::operators;
use crate::value::{Value, civil, parse_offset};

const SECOND: i128 = 1_000_000_000;

/// Parts of a timestamp, in UTC or in a time zone.
const DATE: &[Overload] = overloads![(Timestamp) -> Int, (Timestamp, String) -> Int];

/// Parts of a timestamp, or a whole duration in that unit.
const CLOCK: &[Overload] = overloads![
    (Timestamp) -> Int, (Timestamp, String) -> Int, (Duration) -> Int
];

/// The getters differ in name, description and the part they return.
macro_rules! getter {
    ($name:literal, $overloads:expr, $description:literal, $example:literal => $result:literal, $part:expr, $unit:expr) => {
        function!(Method $name, $overloads, $description, [$example => $result],
            |arguments| read($name, arguments, $part, $unit), refuses: refuses_zone)
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    getter!("getFullYear", DATE, "The year of a timestamp.",
        "timestamp('2026-01-31T09:00:00Z').getFullYear()" => "2026", |at| at.year().into(), None),
    getter!("getMonth", DATE, "The month of a timestamp, from 0.",
        "timestamp('2026-01-31T09:00:00Z').getMonth()" => "0", |at| i64::from(at.month()) - 1, None),
    getter!("getDate", DATE, "The day of the month of a timestamp, from 1.",
        "timestamp('2026-01-31T23:30:00Z').getDate('Europe/Berlin')" => "1", |at| at.day().into(), None),
    getter!("getDayOfMonth", DATE, "The day of the month of a timestamp, from 0.",
        "timestamp('2026-01-31T09:00:00Z').getDayOfMonth()" => "30", |at| i64::from(at.day()) - 1, None),
    getter!("getDayOfWeek", DATE, "The day of the week of a timestamp, from 0 for Sunday.",
        "timestamp('2026-01-31T09:00:00Z').getDayOfWeek()" => "6", |at| at.weekday().to_sunday_zero_offset().into(), None),
    getter!("getDayOfYear", DATE, "The day of the year of a timestamp, from 0.",
        "timestamp('2026-02-01T09:00:00Z').getDayOfYear()" => "31", |at| i64::from(at.day_of_year()) - 1, None),
    getter!("getHours", CLOCK, "The hour of a timestamp, or the whole hours of a duration.",
        "timestamp('2026-01-31T09:00:00Z').getHours('+05:30')" => "14", |at| at.hour().into(), Some(3_600 * SECOND)),
    getter!("getMinutes", CLOCK, "The minute of a timestamp, or the whole minutes of a duration.",
        "(1h + 30m).getMinutes()" => "90", |at| at.minute().into(), Some(60 * SECOND)),
    getter!("getSeconds", CLOCK, "The second of a timestamp, or the whole seconds of a duration.",
        "(2m).getSeconds()" => "120", |at| at.second().into(), Some(SECOND)),
    function!(Method "getMilliseconds", CLOCK,
        "The milliseconds within the second of a timestamp or a duration.",
        ["(1s + 250ms).getMilliseconds()" => "250"], milliseconds, refuses: refuses_zone),
];

fn read(
    name: &str,
    arguments: &[Value],
    part: fn(DateTime) -> i64,
    unit: Option<i128>,
) -> Result<Value, Failure> {
    match (arguments, unit) {
        ([Value::Timestamp(time)], _) => Ok(Value::Int(part(civil(*time)))),
        ([Value::Timestamp(time), Value::String(zone)], _) => {
            let local = local(*time, offset_at(*time, &time_zone(zone)?))?;
            Ok(Value::Int(part(local)))
        }
        ([Value::Duration(length)], Some(unit)) => {
            Ok(Value::Int(i64::try_from(length / unit).unwrap_or(i64::MAX)))
        }
        _ => Err(Failure::no_overload(name, arguments)),
    }
}

fn milliseconds(arguments: &[Value]) -> Result<Value, Failure> {
    if let [Value::Duration(length)] = arguments {
        return Ok(Value::Int(
            i64::try_from(length % SECOND / 1_000_000).unwrap_or(0),
        ));
    }
    read(
        "getMilliseconds",
        arguments,
        |at| at.millisecond().into(),
        None,
    )
}

/// Refuses a time zone that does not exist at any time.
fn refuses_zone(given: &[Given]) -> Option<Failure> {
    let [_, Given::Value(Value::String(zone))] = given else {
        return None;
    };
    time_zone(zone).err()
}

/// The pattern that `format` takes at most, in bytes.
const MAX_PATTERN: usize = 1_000;

/// Formats a timestamp by a pattern with the clauses of `strftime`, in UTC or in a time zone.
pub(super) fn format_time(
    time: i128,
    pattern: &str,
    zone: Option<&str>,
) -> Result<String, Failure> {
    if pattern.len() > MAX_PATTERN {
        let message = format!(
            "the pattern of `format` has {} bytes; at most {MAX_PATTERN} are allowed",
            pattern.len()
        );
        return Err(Failure::argument(message));
    }
    let zone = zone.map_or(Ok(TimeZone::UTC), time_zone)?;
    let offset = offset_at(time, &zone);
    let local = local(time, offset)?;
    let broken_down = if let Ok(known) = Timestamp::from_nanosecond(time) {
        BrokenDownTime::from(&known.to_zoned(zone))
    } else {
        // The last day of the year 9999, at which the database has ended.
        let mut local = BrokenDownTime::from(local);
        local.set_offset(Some(offset));
        local
    };
    broken_down
        .to_string(pattern)
        .map_err(|_| match unknown_time_clause(pattern) {
            Some(clause) => no_time_clause(pattern.get(clause).unwrap_or("%")),
            None => Failure::argument(format!("`format` cannot write {pattern:?} for this time")),
        })
}

/// Returns the place of the first clause in a pattern that does not exist for timestamps.
pub(super) fn unknown_time_clause(pattern: &str) -> Option<Range<usize>> {
    let sample = BrokenDownTime::from(&Timestamp::default().to_zoned(TimeZone::UTC));
    let mut from = 0;
    while let Some(at) = pattern.get(from..)?.find('%') {
        let start = from + at;
        let clause = pattern.get(start + 1..)?;
        let letter = clause.find(|c: char| !"-_0123456789^#:.".contains(c));
        let end = letter
            .and_then(|letter| Some(letter + clause.get(letter..)?.chars().next()?.len_utf8()))
            .map_or(pattern.len(), |length| start + 1 + length);
        let written = pattern.get(start..end)?;
        if sample.to_string(written).is_err() {
            return Some(start..end);
        }
        from = end;
    }
    None
}

/// The failure for a clause that does not exist for timestamps.
fn no_time_clause(clause: &str) -> Failure {
    Failure::argument(format!(
        "could not parse formatting clause: there is no clause `{clause}` for timestamps"
    ))
}

/// Refuses a pattern with an unknown clause, and a time zone that does not exist.
pub(super) fn refuses_time_format(given: &[Given]) -> Option<Failure> {
    let (pattern, zone) = match given {
        [_, pattern] => (pattern, None),
        [_, pattern, zone] => (pattern, Some(zone)),
        _ => return None,
    };
    let pattern = match pattern {
        Given::Value(Value::String(pattern)) => &**pattern,
        Given::Value(_) | Given::Elements(_) | Given::Unknown => "",
    };
    let zone = match zone {
        Some(Given::Value(Value::String(zone))) => Some(&**zone),
        _ => None,
    };
    format_time(0, pattern, zone).err()
}

/// Returns the date and clock time in a zone with this offset.
fn local(time: i128, offset: Offset) -> Result<DateTime, Failure> {
    let local = time + i128::from(offset.seconds()) * SECOND;
    operators::timestamp(local).map(|_| civil(local))
}

/// Returns the time zone with this name or this offset from UTC. Names are looked up in the bundled database, so that a
/// plan means the same on every machine.
fn time_zone(zone: &str) -> Result<TimeZone, Failure> {
    let signed = if zone.starts_with(|c: char| c.is_ascii_digit()) {
        format!("+{zone}")
    } else {
        zone.to_owned()
    };
    if let Some(seconds) = parse_offset(&signed) {
        let offset = Offset::from_seconds(seconds).unwrap_or(Offset::UTC);
        return Ok(TimeZone::fixed(offset));
    }
    TimeZoneDatabase::bundled().get(zone).map_err(|_| {
        Failure::argument(format!(
            "there is no time zone `{zone}`; write a name such as Europe/Berlin or an offset such as +02:00"
        ))
    })
}

/// Returns the UTC offset of a zone at a time.
fn offset_at(time: i128, zone: &TimeZone) -> Offset {
    // The database ends one day before the end of the year 9999; its last offset is used from then on.
    let known = time.clamp(
        Timestamp::MIN.as_nanosecond(),
        Timestamp::MAX.as_nanosecond(),
    );
    Timestamp::from_nanosecond(known).map_or(Offset::UTC, |known| zone.to_offset(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{MAX_TIMESTAMP, MIN_TIMESTAMP, parse_timestamp};

    #[test]
    fn times_are_written_in_their_zone() {
        let at = parse_timestamp("2026-03-29T01:30:00.25Z").unwrap();
        let written = |pattern: &str, zone: Option<&str>| format_time(at, pattern, zone).unwrap();
        assert_eq!(written("%F %T %:z", None), "2026-03-29 01:30:00 +00:00");
        assert_eq!(written("%H:%M %Z", Some("Europe/Berlin")), "03:30 CEST");
        assert_eq!(written("%-d.%-m.%y %3f", Some("-02:00")), "28.3.26 250");
        assert_eq!(written("100%%", None), "100%");
        assert!(format_time(at, "%F", Some("Mars/Base")).is_err());
        assert!(format_time(at, &"%F".repeat(501), None).is_err());
    }

    #[test]
    fn the_first_and_the_last_day_are_written_too() {
        assert_eq!(
            format_time(MIN_TIMESTAMP, "%Y-%m-%d %H", None).unwrap(),
            "0001-01-01 00"
        );
        assert_eq!(
            format_time(MAX_TIMESTAMP, "%Y-%m-%d %H", None).unwrap(),
            "9999-12-31 23"
        );
    }

    #[test]
    fn a_time_whose_date_in_the_zone_is_out_of_range_fails() {
        let hour = |time: i128, zone: &str| {
            let arguments = [Value::Timestamp(time), Value::String(zone.into())];
            read("getHours", &arguments, |at| at.hour().into(), None).ok()
        };
        for (time, inside, outside) in [
            (MIN_TIMESTAMP, "+10:00", "-10:00"),
            (MAX_TIMESTAMP, "-10:00", "+14:00"),
        ] {
            assert!(hour(time, inside).is_some() && format_time(time, "%F", Some(inside)).is_ok());
            assert_eq!(hour(time, outside), None, "{outside}");
            assert!(format_time(time, "%F", Some(outside)).is_err(), "{outside}");
        }
    }

    #[test]
    fn unknown_clauses_of_times_are_found() {
        assert_eq!(unknown_time_clause("%Y-%m-%d %H:%M:%S %3f %-d %z"), None);
        assert_eq!(unknown_time_clause("a %% %!x"), Some(5..7));
        assert_eq!(unknown_time_clause("%Y %"), Some(3..4));
    }
}
