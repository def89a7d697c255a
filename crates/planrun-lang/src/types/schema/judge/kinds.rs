//! The kinds of known values and of types, and the keyword `type`.

use serde_json::{Number, Value as Json};

use super::{Known, Verdict};
use crate::types::Kinds;
use crate::types::{Type, number};

impl Kinds {
    pub(super) fn of(known: &Known) -> Self {
        match known {
            Known::Exactly(json) => Self::of_json(json),
            Known::Of(ty) => Self::of_type(ty),
            Known::Object { .. } => Self::OBJECT,
            Known::List(_) | Known::Elements(_) => Self::LIST,
            Known::Either(all) => all.iter().map(Self::of).fold(Self::NONE, Self::union),
        }
    }

    pub(super) fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(number) => match is_whole(number) {
                Some(true) => Self::INTEGER,
                Some(false) => Self::FRACTION,
                None => Self::NUMBER,
            },
            Json::String(_) => Self::TEXT,
            Json::Array(_) => Self::LIST,
            Json::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn of_type(ty: &Type) -> Self {
        match ty {
            Type::Never | Type::Any | Type::Invalid => Self::ALL,
            Type::Null => Self::NULL,
            Type::Bool => Self::BOOL,
            Type::Int | Type::Uint => Self::INTEGER,
            Type::Double => Self::NUMBER,
            Type::String | Type::Bytes | Type::Timestamp | Type::Duration | Type::Type => {
                Self::TEXT
            }
            Type::Literal(literal) => Self::of_json(&literal.to_json()),
            Type::List(_) => Self::LIST,
            Type::Map(_) | Type::Object(_) | Type::Result(_) | Type::Error => Self::OBJECT,
            Type::Union(members) => members
                .iter()
                .map(Self::of_type)
                .fold(Self::NONE, Self::union),
        }
    }

    /// Judges the keyword `type` for values of these kinds.
    pub(super) fn judged(self, expected: &Json) -> Verdict {
        let names: Vec<&str> = match expected {
            Json::String(name) => vec![name],
            Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {
                return Verdict::Unknown;
            }
        };
        let Some(kinds) = names
            .iter()
            .map(|name| Self::named(name))
            .collect::<Option<Vec<_>>>()
        else {
            return Verdict::Unknown;
        };
        let allowed = kinds.into_iter().fold(Self::NONE, Self::union);
        match (self.intersection(allowed) == self, self.intersects(allowed)) {
            (true, _) => Verdict::Fits,
            (false, true) => Verdict::Unknown,
            (false, false) => {
                Verdict::cannot("type", format!("must be of type {}", names.join(" or ")))
            }
        }
    }
}

/// Returns whether a number has no fraction, in any notation; `None` if it exceeds the range of a double.
fn is_whole(number: &Number) -> Option<bool> {
    let text = number.to_string();
    if !text.contains(['.', 'e', 'E']) || number::integer(number).is_some() {
        return Some(true);
    }
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .map(|value| value.fract() == 0.0)
}
