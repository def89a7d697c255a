//! Typed JSON: a lossless JSON form of values, `{"type": T, "value": V}`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::{Key, MAX_DURATION, MAX_TIMESTAMP, MIN_TIMESTAMP, Map, Value, double_of};

const SECOND: i128 = 1_000_000_000;

/// The reason why a JSON text is not a typed value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TypedError(String);

impl Value {
    /// Encodes the value with its type at every level.
    #[must_use]
    pub fn to_typed_json(&self) -> Json {
        let value = match self {
            Self::Null => Json::Null,
            Self::Bool(truth) => Json::Bool(*truth),
            Self::Int(number) => Json::String(number.to_string()),
            Self::Uint(number) => Json::String(number.to_string()),
            Self::Double(number) => double_to_json(*number),
            Self::Exact(exact) => {
                return json!({"type": "double", "value": double_to_json(exact.value), "text": exact.text});
            }
            Self::String(text) | Self::Type(text) => Json::String(text.as_ref().to_owned()),
            Self::Bytes(bytes) => return json!({"type": "bytes", "base64": STANDARD.encode(bytes)}),
            Self::List(elements) => Json::Array(elements.iter().map(Self::to_typed_json).collect()),
            Self::Map(entries) => {
                let pair = |(key, value): (&Key, &Self)| {
                    json!([Self::from(key).to_typed_json(), value.to_typed_json()])
                };
                Json::Array(entries.iter().map(pair).collect())
            }
            Self::Timestamp(time) => {
                parts_to_json(time.div_euclid(SECOND), time.rem_euclid(SECOND))
            }
            Self::Duration(length) => parts_to_json(length / SECOND, length % SECOND),
        };
        json!({"type": self.kind_name(), "value": value})
    }

    /// Decodes a value from typed JSON.
    ///
    /// # Errors
    /// If the JSON is not a typed value. The message states what was expected and what was found.
    pub fn from_typed_json(json: &Json) -> Result<Self, TypedError> {
        let kind = json.get("type").and_then(Json::as_str);
        let kind = kind.ok_or_else(|| wrong("an object with \"type\" and \"value\"", json))?;
        if kind == "bytes" {
            let text = json.get("base64").and_then(Json::as_str);
            let bytes = text.and_then(|text| STANDARD.decode(text).ok());
            return bytes
                .map(|bytes| Self::Bytes(bytes.into()))
                .ok_or_else(|| wrong("bytes with \"base64\"", json));
        }
        let value = json.get("value").unwrap_or(&Json::Null);
        let scalar = match kind {
            "null" => value.is_null().then_some(Self::Null),
            "bool" => value.as_bool().map(Self::Bool),
            "int" => integer(value).map(Self::Int),
            "uint" => value
                .as_str()
                .and_then(|text| text.parse().ok())
                .or_else(|| value.as_u64())
                .map(Self::Uint),
            "double" => literal(json).or_else(|| double(value).map(Self::Double)),
            "string" => value.as_str().map(Self::from),
            "type" => value.as_str().map(|name| Self::Type(name.into())),
            "timestamp" => instant(value, MIN_TIMESTAMP, MAX_TIMESTAMP).map(Self::Timestamp),
            "duration" => instant(value, -MAX_DURATION, MAX_DURATION).map(Self::Duration),
            "list" => return list(value),
            "map" => return map(value),
            _ => return Err(TypedError(format!("there is no type {kind} in typed JSON"))),
        };
        scalar.ok_or_else(|| wrong(&format!("a value of type {kind}"), value))
    }
}

fn wrong(expected: &str, json: &Json) -> TypedError {
    TypedError(format!(
        "expected {expected}, got {}",
        Value::from_json(json).preview(60)
    ))
}

fn double_to_json(number: f64) -> Json {
    serde_json::Number::from_f64(number).map_or_else(
        || Json::String(super::json::double_text(number)),
        Json::Number,
    )
}

fn parts_to_json(seconds: i128, nanos: i128) -> Json {
    json!({"seconds": seconds.to_string(), "nanos": i64::try_from(nanos).unwrap_or(0)})
}

/// Decodes a number whose literal differs from the text of its double.
fn literal(json: &Json) -> Option<Value> {
    let number: serde_json::Number = json.get("text")?.as_str()?.parse().ok()?;
    Some(double_of(&number.to_string()))
}

fn integer(json: &Json) -> Option<i64> {
    json.as_str()
        .and_then(|text| text.parse().ok())
        .or_else(|| json.as_i64())
}

fn double(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

fn instant(json: &Json, least: i128, most: i128) -> Option<i128> {
    let part = |name| json.get(name).map_or(Some(0), integer);
    let nanoseconds = i128::from(part("seconds")?) * SECOND + i128::from(part("nanos")?);
    (least..=most).contains(&nanoseconds).then_some(nanoseconds)
}

fn list(json: &Json) -> Result<Value, TypedError> {
    let elements = json
        .as_array()
        .ok_or_else(|| wrong("an array of typed values", json))?;
    elements
        .iter()
        .map(Value::from_typed_json)
        .collect::<Result<Vec<_>, _>>()
        .map(Value::from)
}

fn map(json: &Json) -> Result<Value, TypedError> {
    let pairs = json
        .as_array()
        .ok_or_else(|| wrong("an array of [key, value] pairs", json))?;
    let mut entries = Map::with_capacity(pairs.len());
    for pair in pairs {
        let Some([key, value]) = pair.as_array().map(Vec::as_slice) else {
            return Err(wrong("a [key, value] pair", pair));
        };
        let key = Key::written(&Value::from_typed_json(key)?).ok_or_else(|| wrong("a key", key))?;
        entries.insert(key, Value::from_typed_json(value)?);
    }
    Ok(Value::from(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_json_comes_back_as_it_went() {
        let value = Value::list([
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Uint(u64::MAX),
            Value::Double(0.5),
            Value::Double(f64::NEG_INFINITY),
            Value::from("名"),
            Value::Bytes(vec![1, 2].into()),
            Value::object([
                (Key::Int(1), Value::Bool(false)),
                (Key::Bool(true), Value::Null),
            ]),
            Value::Timestamp(-1),
            Value::Duration(-1_500_000_000),
            Value::Type("int".into()),
        ]);
        let json = value.to_typed_json();
        assert_eq!(Value::from_typed_json(&json).unwrap(), value);
        assert_eq!(
            json["value"][2],
            json!({"type": "int", "value": "-9223372036854775808"})
        );
        assert_eq!(
            json["value"][9]["value"],
            json!({"seconds": "-1", "nanos": 999_999_999})
        );
    }

    #[test]
    fn a_number_keeps_its_literal() {
        let value = Value::list([
            Value::from_json(&"1.10".parse().unwrap()),
            Value::Double(3.0),
        ]);
        assert!(!value.is_plain_json());
        let again = Value::from_typed_json(&value.to_typed_json()).unwrap();
        assert_eq!(
            (again.to_json_text(), value.to_json_text()),
            ("[1.10,3]".to_owned(), "[1.10,3]".to_owned())
        );
    }

    #[test]
    fn a_wrong_text_is_named() {
        for (text, message) in [
            (
                json!(3),
                "expected an object with \"type\" and \"value\", got 3",
            ),
            (
                json!({"type": "int", "value": "x"}),
                "expected a value of type int, got \"x\"",
            ),
            (
                json!({"type": "banana"}),
                "there is no type banana in typed JSON",
            ),
        ] {
            assert_eq!(
                Value::from_typed_json(&text).unwrap_err().to_string(),
                message
            );
        }
    }
}
