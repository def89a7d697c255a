//! Conversion between values and plain JSON.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value as Json;

use super::{Exact, Key, Value, duration_text, timestamp_text};

/// 2^53: below it, every integral double represents exactly one integer.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

impl Value {
    /// Converts JSON to a value. Numbers without a fraction or an exponent become `int` if they are in range.
    #[must_use]
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => from_number(number.as_str()),
            Json::String(text) => Self::from(text.as_str()),
            Json::Array(elements) => Self::list(elements.iter().map(Self::from_json)),
            Json::Object(fields) => Self::object(
                fields
                    .iter()
                    .map(|(name, field)| (name.as_str(), Self::from_json(field))),
            ),
        }
    }

    /// Returns the JSON form in which the value is sent: timestamps in RFC 3339, durations as `1.5s`, bytes in base64,
    /// and numbers that JSON does not have, such as NaN, as strings.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(truth) => Json::Bool(*truth),
            Self::Int(number) => Json::Number((*number).into()),
            Self::Uint(number) => Json::Number((*number).into()),
            Self::Double(number) if number.is_finite() => parsed(&double_text(*number)),
            Self::Exact(exact) => parsed(&exact.text),
            Self::List(elements) => Json::Array(elements.iter().map(Self::to_json).collect()),
            Self::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.to_string(), value.to_json()))
                    .collect(),
            ),
            Self::String(text) | Self::Type(text) => Json::String(text.as_ref().to_owned()),
            Self::Double(number) => Json::String(double_text(*number)),
            Self::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
            Self::Timestamp(time) => Json::String(timestamp_text(*time)),
            Self::Duration(length) => Json::String(duration_text(*length)),
        }
    }

    /// Returns true if [`Self::to_json`] followed by [`Self::from_json`] returns this value, including the kinds of
    /// numbers.
    #[must_use]
    pub fn is_plain_json(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::String(_) => true,
            Self::Exact(exact) => exact.text.parse::<i64>().is_err(),
            Self::Double(number) => {
                number.is_finite() && integral(*number).is_none() && !is_exponential(*number)
            }
            Self::List(elements) => elements.iter().all(Self::is_plain_json),
            Self::Map(entries) => entries
                .iter()
                .all(|(key, value)| matches!(key, Key::String(_)) && value.is_plain_json()),
            Self::Uint(_)
            | Self::Bytes(_)
            | Self::Timestamp(_)
            | Self::Duration(_)
            | Self::Type(_) => false,
        }
    }

    /// Returns compact JSON text.
    #[must_use]
    pub fn to_json_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Formats a double as briefly as possible, as in [`Value::to_json_text`]; integral doubles below 2^53 have no
/// fraction.
pub(crate) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    integral(number).map_or_else(
        || serde_json::to_string(&number).unwrap_or_default(),
        |integer| integer.to_string(),
    )
}

/// Returns true if the text of the double may have an exponent; such a text may be read back as [`Value::Exact`].
fn is_exponential(number: f64) -> bool {
    !(1e-4..1e15).contains(&number.abs())
}

#[expect(clippy::cast_possible_truncation, reason = "integral and below 2^53")]
fn integral(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < EXACT_INTEGERS).then_some(number as i64)
}

fn from_number(text: &str) -> Value {
    if let Ok(integer) = text.parse() {
        return Value::Int(integer);
    }
    double_of(text)
}

/// Returns the double for a JSON number, with the original text if the double would print differently.
pub(crate) fn double_of(text: &str) -> Value {
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    if double_text(value) == text {
        Value::Double(value)
    } else {
        Value::Exact(Arc::new(Exact {
            value,
            text: text.into(),
        }))
    }
}

fn parsed(text: &str) -> Json {
    text.parse()
        .map_or_else(|_| Json::String(text.to_owned()), Json::Number)
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Uint(number) => serializer.serialize_u64(*number),
            Self::Double(number) => match integral(*number) {
                Some(integer) => serializer.serialize_i64(integer),
                None if number.is_finite() => serializer.serialize_f64(*number),
                None => serializer.serialize_str(&double_text(*number)),
            },
            Self::Exact(exact) => parsed(&exact.text).serialize(serializer),
            Self::String(text) | Self::Type(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            Self::Timestamp(time) => serializer.serialize_str(&timestamp_text(*time)),
            Self::Duration(length) => serializer.serialize_str(&duration_text(*length)),
            Self::List(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements.iter() {
                    list.serialize_element(element)?;
                }
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries.iter() {
                    match key.as_str() {
                        Some(name) => map.serialize_entry(name, value)?,
                        None => map.serialize_entry(&key.to_string(), value)?,
                    }
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        Value::from_json(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_value_that_is_only_passed_on_keeps_its_text() {
        for text in [
            "1",
            "1.0",
            "1.10",
            "1e+400",
            "-0.0",
            "18446744073709551615",
            "0.1",
            "1e-7",
            "-9223372036854775808",
            "0.00003",
            "3e-5",
        ] {
            let value = read(text);
            assert_eq!(serde_json::to_string(&value.to_json()).unwrap(), text);
            assert_eq!(value.to_json_text(), text);
        }
        assert!(matches!(read("1.0"), Value::Exact(_)));
        assert!(matches!(read("0.5"), Value::Double(_)));
        assert!(matches!(read("7"), Value::Int(7)));
    }

    #[test]
    fn integral_doubles_print_without_fraction() {
        assert_eq!(Value::Double(3.0).to_json_text(), "3");
        assert_eq!(Value::Double(-2.5).to_json_text(), "-2.5");
        assert_eq!(
            Value::Double(1e300).to_json_text(),
            Value::Double(1e300).to_json().to_string()
        );
        assert_eq!(Value::Double(f64::NAN).to_json_text(), "\"NaN\"");
    }

    #[test]
    fn what_json_lacks_is_text() {
        let value = Value::object([
            ("时间", Value::Timestamp(1_500_000_000)),
            ("d", Value::Duration(1_500_000_000)),
            ("b", Value::Bytes(vec![0, 255].into())),
        ]);
        let text = r#"{"时间":"1970-01-01T00:00:01.5Z","d":"1.5s","b":"AP8="}"#;
        assert_eq!(value.to_json_text(), text);
        assert_eq!(value.to_json().to_string(), text);
    }
}
