//! `enum` and `const`: whether a value of which a part is known can be one that is written down.

use serde_json::Value as Json;

use super::kinds::Kinds;
use super::{Known, KnownField, Verdict};
use crate::types::schema::validator::QUOTED;
use crate::types::{Rest, Type, decode, number};
use crate::value::shortened;

pub(super) fn listed(known: &Known, wanted: &Json) -> Verdict {
    let Json::Array(values) = wanted else {
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
            format!("must be one of {}", shortened(&wanted.to_string(), QUOTED)),
        )
    }
}

pub(super) fn constant(known: &Known, wanted: &Json) -> Verdict {
    match equals(known, wanted) {
        Some(true) => Verdict::Fits,
        Some(false) => Verdict::cannot(
            "const",
            format!("must be {}", shortened(&wanted.to_string(), QUOTED)),
        ),
        None => Verdict::Unknown,
    }
}

/// Whether a value is surely this one, or surely another.
pub(super) fn equals(known: &Known, wanted: &Json) -> Option<bool> {
    if !Kinds::of(known).meets(Kinds::of_json(wanted)) {
        return Some(false);
    }
    match (known, wanted) {
        (Known::Exactly(given), _) => same(given, wanted),
        (Known::Of(Type::Any | Type::Invalid | Type::Never), _) => None,
        (Known::Of(ty), _) => decode(wanted, ty).is_err().then_some(false),
        (Known::Object { fields, rest }, Json::Object(entries)) => {
            let missing = |name: &String| {
                *rest == Rest::Closed && fields.iter().all(|field| *field.name != **name)
            };
            if entries.keys().any(missing) {
                return Some(false);
            }
            let field = |field: &KnownField| match (entries.get(&*field.name), field.sure) {
                (Some(wanted), true) => equals(&field.value, wanted),
                (Some(wanted), false) => equals(&field.value, wanted).filter(|equal| !equal),
                (None, true) => Some(false),
                (None, false) => None,
            };
            let sure = *rest == Rest::Closed && fields.iter().all(|field| field.sure);
            all(fields.iter().map(field), sure)
        }
        (Known::List(items), Json::Array(wanted)) if items.len() != wanted.len() => Some(false),
        (Known::List(items), Json::Array(wanted)) => all(
            items
                .iter()
                .zip(wanted)
                .map(|(item, wanted)| equals(item, wanted)),
            true,
        ),
        (Known::Elements(item), Json::Array(wanted)) => {
            all(wanted.iter().map(|wanted| equals(item, wanted)), false)
        }
        (Known::Either(all), _) => {
            let mut verdicts = all.iter().map(|one| equals(one, wanted));
            let first = verdicts.next()??;
            verdicts.all(|one| one == Some(first)).then_some(first)
        }
        _ => Some(false),
    }
}

/// Parts that are equal make equal wholes, where `whole` says that there are no others.
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

/// Whether two values are equal, numbers by their value; nothing where their digits say more than is compared.
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
                    // Different doubles stand for different numbers; equal ones may not.
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
