//! Judges `enum` and `const`: whether a partly known value can equal a listed value.

use serde_json::Value as Json;

use super::{Known, KnownField, Verdict};
use crate::types::Kinds;
use crate::types::schema::validator::QUOTED;
use crate::types::{Rest, Type, decode, number};
use crate::value::shortened;

pub(super) fn listed(known: &Known, expected: &Json) -> Verdict {
    let Json::Array(values) = expected else {
        return Verdict::Unknown;
    };
    let mut unknown = false;
    for value in values {
        match equals(known, value) {
            Some(true) => return Verdict::Fits,
            Some(false) => {}
            None => unknown = true,
        }
    }
    let both = [Json::Bool(true), Json::Bool(false)];
    if *known == Known::Of(Type::Bool) && both.iter().all(|truth| values.contains(truth)) {
        return Verdict::Fits;
    }
    if unknown {
        Verdict::Unknown
    } else {
        Verdict::cannot(
            "enum",
            format!(
                "must be one of {}",
                shortened(&expected.to_string(), QUOTED)
            ),
        )
    }
}

pub(super) fn constant(known: &Known, expected: &Json) -> Verdict {
    match equals(known, expected) {
        Some(true) => Verdict::Fits,
        Some(false) => Verdict::cannot(
            "const",
            format!("must be {}", shortened(&expected.to_string(), QUOTED)),
        ),
        None => Verdict::Unknown,
    }
}

/// Returns true if the value certainly equals `expected`, false if it certainly differs, and `None` if that is unknown.
pub(super) fn equals(known: &Known, expected: &Json) -> Option<bool> {
    if !Kinds::of(known).intersects(Kinds::of_json(expected)) {
        return Some(false);
    }
    match (known, expected) {
        (Known::Exactly(given), _) => same(given, expected),
        (Known::Of(Type::Any | Type::Invalid | Type::Never), _) => None,
        (Known::Of(ty), _) => decode(expected, ty).is_err().then_some(false),
        (Known::Object { fields, rest }, Json::Object(entries)) => {
            let missing = |name: &String| {
                *rest == Rest::Closed && fields.iter().all(|field| *field.name != **name)
            };
            if entries.keys().any(missing) {
                return Some(false);
            }
            let field = |field: &KnownField| match (entries.get(&*field.name), field.sure) {
                (Some(expected), true) => equals(&field.value, expected),
                (Some(expected), false) => equals(&field.value, expected).filter(|equal| !equal),
                (None, true) => Some(false),
                (None, false) => None,
            };
            let sure = *rest == Rest::Closed && fields.iter().all(|field| field.sure);
            all(fields.iter().map(field), sure)
        }
        (Known::List(items), Json::Array(expected)) if items.len() != expected.len() => Some(false),
        (Known::List(items), Json::Array(expected)) => all(
            items
                .iter()
                .zip(expected)
                .map(|(item, expected)| equals(item, expected)),
            true,
        ),
        (Known::Elements(item), Json::Array(expected)) => all(
            expected.iter().map(|expected| equals(item, expected)),
            false,
        ),
        (Known::Either(all), _) => {
            let mut verdicts = all.iter().map(|one| equals(one, expected));
            let first = verdicts.next()??;
            verdicts.all(|one| one == Some(first)).then_some(first)
        }
        _ => Some(false),
    }
}

/// Returns true if all parts are equal and `whole` states that there are no others, and false if a part differs.
fn all(parts: impl Iterator<Item = Option<bool>>, whole: bool) -> Option<bool> {
    let mut known = whole;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// Compares two values, numbers by value; `None` if the digits exceed the precision of the comparison.
pub(super) fn same(left: &Json, right: &Json) -> Option<bool> {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            match (number::integer(left), number::integer(right)) {
                (Some(left), Some(right)) => Some(left == right),
                _ if left.to_string() == right.to_string() => Some(true),
                (None | Some(_), None) | (None, Some(_)) => {
                    let value =
                        |text: String| text.parse::<f64>().ok().filter(|value| value.is_finite());
                    let (left, right) = (value(left.to_string())?, value(right.to_string())?);
                    // Different doubles mean different numbers, but equal doubles may stand for different numbers.
                    if left.total_cmp(&right).is_eq() {
                        None
                    } else {
                        Some(false)
                    }
                }
            }
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => all(
            left.iter()
                .zip(right)
                .map(|(left, right)| same(left, right)),
            true,
        ),
        (Json::Object(left), Json::Object(right)) if left.len() == right.len() => all(
            left.iter().map(|(name, left)| {
                right
                    .get(name)
                    .map_or(Some(false), |right| same(left, right))
            }),
            true,
        ),
        _ => Some(left == right),
    }
}
