//! Functions that return parts of timestamps and durations, in any time zone.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZoneDatabase};

use super::super::Failure;
use super::super::function::{Example, Form, Function, Given, Overload, Shape};
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
            Ok(Value::Int(part(civil(time + offset(*time, zone)?))))
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
    offset(0, zone).err()
}

/// Returns the UTC offset of a zone at a time, in nanoseconds east of Greenwich. Zone names are looked up in the
/// bundled database, so that a plan means the same on every machine.
fn offset(time: i128, zone: &str) -> Result<i128, Failure> {
    let signed = if zone.starts_with(|c: char| c.is_ascii_digit()) {
        format!("+{zone}")
    } else {
        zone.to_owned()
    };
    if let Some(seconds) = parse_offset(&signed) {
        return Ok(i128::from(seconds) * SECOND);
    }
    let Ok(zone) = TimeZoneDatabase::bundled().get(zone) else {
        let message = format!(
            "there is no time zone `{zone}`; write a name such as Europe/Berlin or an offset such as +02:00"
        );
        return Err(Failure::argument(message));
    };
    // The database ends one day before the end of the year 9999; its last offset is used from then on.
    let known = time.clamp(
        Timestamp::MIN.as_nanosecond(),
        Timestamp::MAX.as_nanosecond(),
    );
    let offset =
        Timestamp::from_nanosecond(known).map_or(Offset::UTC, |known| zone.to_offset(known));
    Ok(i128::from(offset.seconds()) * SECOND)
}
