//! Serde helpers for parts of events whose JSON is not the derived one.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::Offset;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::value::{MAX_TIMESTAMP, MIN_TIMESTAMP, Value, civil};
use serde::de::{self, Error as _};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words::Waiting;

/// The names of the fields that hold values.
pub const ARGUMENTS: &str = "arguments";
pub const OUTPUT: &str = "output";
pub const VALUE: &str = "value";
pub const PAYLOAD: &str = "payload";
pub const REPLY: &str = "reply";

/// Formats nanoseconds since the Unix epoch as RFC 3339 with milliseconds; a time outside the years 1 to 9999 as the
/// nearest one in them.
#[must_use]
pub fn instant(nanos: i128) -> String {
    String::from_utf8_lossy(&instant_digits(nanos)).into_owned()
}

/// The text of an instant. Every event has one, so it is written in place.
pub(super) fn instant_digits(nanos: i128) -> [u8; 24] {
    let mut text = *b"0000-00-00T00:00:00.000Z";
    // 64 bits hold every time from 1678 to 2261, and are divided much faster.
    let near = i64::try_from(nanos).ok();
    let near = near.and_then(|nanos| Timestamp::from_millisecond(nanos.div_euclid(1_000_000)).ok());
    let at = near.map_or_else(
        || civil(nanos.clamp(MIN_TIMESTAMP, MAX_TIMESTAMP)),
        |near| Offset::UTC.to_datetime(near),
    );
    let year = at.year().unsigned_abs();
    let millisecond = at.millisecond().unsigned_abs();
    let digit = |number: u16| b'0' + (number % 10) as u8;
    let mut put = |place: usize, number: u16| {
        (text[place], text[place + 1]) = (digit(number / 10), digit(number));
    };
    put(0, year / 100);
    put(2, year % 100);
    let parts = [at.month(), at.day(), at.hour(), at.minute(), at.second()];
    for (place, part) in [5, 8, 11, 14, 17].into_iter().zip(parts) {
        put(place, u16::from(part.unsigned_abs()));
    }
    put(21, millisecond);
    text[20] = digit(millisecond / 100);
    text
}

/// Nanoseconds since the Unix epoch as RFC 3339 with milliseconds.
pub mod at {
    use super::{Cow, Deserialize as _, Deserializer, Serializer};
    use planrun_lang::value::parse_timestamp;
    use serde::de::Error as _;

    pub fn serialize<S: Serializer>(nanos: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::instant(*nanos))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        parse_timestamp(&text)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not a timestamp")))
    }
}

/// An optional time in the same form.
pub mod moment {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Moment(#[serde(with = "super::at")] i128);

    #[expect(clippy::ref_option, reason = "the signature that serde expects")]
    pub fn serialize<S: Serializer>(
        nanos: &Option<i128>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        nanos.map(Moment).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<i128>, D::Error> {
        Ok(Option::<Moment>::deserialize(deserializer)?.map(|moment| moment.0))
    }
}

/// A duration in whole milliseconds.
pub mod millis {
    use std::time::Duration;

    use super::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// The fields of a wait until a time.
pub mod time {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Waiting};

    #[derive(Serialize, Deserialize)]
    struct Sleep {
        #[serde(rename = "for")]
        what: Waiting,
        #[serde(with = "super::at")]
        until: i128,
    }

    pub fn serialize<S: Serializer>(until: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        let (what, until) = (Waiting::Time, *until);
        Sleep { what, until }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        Sleep::deserialize(deserializer).map(|sleep| sleep.until)
    }
}

/// The name of a signal, which is also its path.
pub mod signal {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Named {
        #[serde(default)]
        path: Arc<str>,
        signal: Arc<str>,
    }

    pub fn serialize<S: Serializer>(signal: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        let (path, signal) = (signal.clone(), signal.clone());
        Named { path, signal }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        Named::deserialize(deserializer).map(|named| named.signal)
    }
}

/// Deserializes a text with one allocation; serde's own implementation copies it twice.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    struct Text;

    impl de::Visitor<'_> for Text {
        type Value = Arc<str>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(text.into())
        }
    }

    deserializer.deserialize_str(Text)
}

/// A number, without a fraction if it is whole.
pub mod number {
    use super::{Deserialize as _, Deserializer, Serialize as _, Serializer, Value};
    use serde::de::Error as _;

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature that serde expects"
    )]
    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Double(*number).serialize(serializer)
    }

    /// Deserializes it through its text, like [`whole`](super::whole).
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        let double = number.as_f64();
        double.ok_or_else(|| D::Error::custom(format!("`{number}` is not a finite number")))
    }
}

/// Deserializes a whole number through its text: with its feature `arbitrary_precision`, `serde_json` does not pass
/// numbers to flattened fields.
pub fn whole<'de, N: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<N, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let whole = number.as_u64().and_then(|number| N::try_from(number).ok());
    whole.ok_or_else(|| D::Error::custom(format!("`{number}` is not a whole number in its range")))
}

pub fn step_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StepState, D::Error> {
    let word = Cow::<str>::deserialize(deserializer)?;
    StepState::find(&word).ok_or_else(|| unknown_state(&word))
}

pub fn run_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RunState, D::Error> {
    let word = Cow::<str>::deserialize(deserializer)?;
    RunState::find(&word).ok_or_else(|| unknown_state(&word))
}

fn unknown_state<E: de::Error>(word: &str) -> E {
    E::custom(format!("`{word}` is not a state"))
}

/// The placeholder for a value that is set later.
pub fn null() -> Value {
    Value::Null
}

pub fn output<'v, V, S>(value: &'v V, serializer: S) -> Result<S::Ok, S::Error>
where
    &'v V: Into<Option<&'v Value>>,
    S: Serializer,
{
    either("output", "output_typed", value.into(), serializer)
}

pub fn arguments<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    either("arguments", "arguments_typed", Some(value), serializer)
}

pub fn answer<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    either("value", "value_typed", Some(value), serializer)
}

pub fn payload<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    either("payload", "payload_typed", Some(value), serializer)
}

/// Serializes a value as one field, in the shortest form that loses nothing.
fn either<S: Serializer>(
    plain: &'static str,
    typed: &'static str,
    value: Option<&Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    match value {
        Some(value) if value.is_plain_json() => map.serialize_entry(plain, value)?,
        Some(value) => map.serialize_entry(typed, &value.to_typed_json())?,
        None => {}
    }
    map.end()
}
