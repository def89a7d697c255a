//! Judges keywords that constrain the elements of a list.

use serde_json::{Map, Value as Json};

use super::{Draft, Judge, Known, Verdict, count, equal, list};
use crate::types::Kinds;
use crate::value::counted;

/// The known elements of a list.
pub(super) enum Elements {
    All(Vec<Known>),
    /// Any number of elements that are all like this one.
    AnyNumber(Known),
}

impl Judge<'_> {
    pub(super) fn list_keyword(
        &self,
        keyword: &str,
        expected: &Json,
        schema: &Map<String, Json>,
        known: &Known,
    ) -> Verdict {
        let kinds = Kinds::of(known);
        let current = match keyword {
            "prefixItems" | "unevaluatedItems" => self.is(Draft::Latest),
            "additionalItems" => {
                self.is(Draft::Seven) && schema.get("items").is_some_and(Json::is_array)
            }
            _ => true,
        };
        if !current
            || !kinds.intersects(Kinds::LIST)
            || *expected == Json::Bool(true) && keyword != "uniqueItems" && keyword != "contains"
        {
            return Verdict::Fits;
        }
        let Some(elements) = elements(known) else {
            return Verdict::Unknown;
        };
        match keyword {
            "items" | "prefixItems" | "additionalItems" => {
                self.items(keyword, expected, schema, &elements)
            }
            "contains" => self.contains(expected, schema, &elements),
            "minItems" | "maxItems" => length(keyword, expected, &elements),
            "uniqueItems" if *expected == Json::Bool(true) => unique(&elements),
            "uniqueItems" => Verdict::Fits,
            "unevaluatedItems" => self.unevaluated_elements(expected, schema, known),
            _ => Verdict::Unknown,
        }
    }

    /// Judges each element that the keyword applies to against its schema.
    fn items(
        &self,
        keyword: &str,
        expected: &Json,
        schema: &Map<String, Json>,
        elements: &Elements,
    ) -> Verdict {
        let prefix = match (self.is(Draft::Latest), schema.get("items")) {
            (true, _) => schema
                .get("prefixItems")
                .map_or(0, |prefix| list(prefix).len()),
            (false, Some(Json::Array(items))) => items.len(),
            (false, _) => 0,
        };
        // A list of schemas applies to the first elements, a single schema to the remaining ones.
        let of = |index: usize| match (keyword, expected) {
            ("prefixItems", _) | ("items", Json::Array(_)) => list(expected).get(index),
            _ => (index >= prefix).then_some(expected),
        };
        match elements {
            Elements::All(all) => Verdict::all(all.iter().enumerate().map(|(index, element)| {
                of(index).map_or(Verdict::Fits, |schema| {
                    self.schema(schema, element).within(&index.to_string())
                })
            })),
            Elements::AnyNumber(element) => {
                let schemas = (0..=prefix).filter_map(of);
                Verdict::all(schemas.map(|schema| self.schema(schema, element).if_present()))
            }
        }
    }

    fn contains(
        &self,
        expected: &Json,
        schema: &Map<String, Json>,
        elements: &Elements,
    ) -> Verdict {
        let bound = |keyword| {
            schema
                .get(keyword)
                .filter(|_| self.is(Draft::Latest))
                .map(count)
        };
        let least = match bound("minContains") {
            None => 1,
            Some(Some(least)) => least,
            Some(None) => return Verdict::Unknown,
        };
        let most = match bound("maxContains") {
            None => usize::MAX,
            Some(Some(most)) => most,
            Some(None) => return Verdict::Unknown,
        };
        let (sure, possible) = match elements {
            Elements::All(all) => {
                let verdicts: Vec<Verdict> = all
                    .iter()
                    .map(|element| self.schema(expected, element))
                    .collect();
                let sure = verdicts
                    .iter()
                    .filter(|verdict| **verdict == Verdict::Fits)
                    .count();
                (
                    sure,
                    verdicts
                        .iter()
                        .filter(|verdict| !matches!(verdict, Verdict::Cannot(_)))
                        .count(),
                )
            }
            Elements::AnyNumber(element) => match self.schema(expected, element) {
                Verdict::Cannot(_) => (0, 0),
                Verdict::Fits | Verdict::Unknown => (0, usize::MAX),
            },
        };
        if possible < least {
            return Verdict::cannot("contains", "has no element that matches `contains`");
        }
        if sure > most {
            return Verdict::cannot("maxContains", "has too many elements that match `contains`");
        }
        if sure >= least && possible <= most {
            Verdict::Fits
        } else {
            Verdict::Unknown
        }
    }
}

pub(super) fn elements(known: &Known) -> Option<Elements> {
    match known.clone().opened() {
        Known::List(all) => Some(Elements::All(all)),
        Known::Elements(element) => Some(Elements::AnyNumber(*element)),
        Known::Exactly(_) | Known::Of(_) | Known::Object { .. } | Known::Either(_) => None,
    }
}

fn length(keyword: &str, expected: &Json, elements: &Elements) -> Verdict {
    let (Some(bound), least) = (count(expected), keyword == "minItems") else {
        return Verdict::Unknown;
    };
    match elements {
        Elements::All(all) if least && all.len() < bound => Verdict::cannot(
            keyword,
            format!("must have at least {}", counted(bound, "element")),
        ),
        Elements::All(all) if !least && all.len() > bound => Verdict::cannot(
            keyword,
            format!("must have at most {}", counted(bound, "element")),
        ),
        Elements::All(_) => Verdict::Fits,
        Elements::AnyNumber(_) if least && bound == 0 => Verdict::Fits,
        Elements::AnyNumber(_) => Verdict::Unknown,
    }
}

fn unique(elements: &Elements) -> Verdict {
    let Elements::All(all) = elements else {
        return Verdict::Unknown;
    };
    let mut unknown = false;
    for (index, element) in all.iter().enumerate() {
        for other in all.iter().skip(index + 1) {
            let equal = match (element.exactly(), other.exactly()) {
                (Some(element), Some(other)) => equal::same(&element, &other),
                (Some(exact), None) => equal::equals(other, &exact),
                (None, Some(exact)) => equal::equals(element, &exact),
                (None, None) => None,
            };
            match equal {
                Some(true) => {
                    return Verdict::cannot("uniqueItems", "must not have equal elements");
                }
                Some(false) => {}
                None => unknown = true,
            }
        }
    }
    if unknown {
        Verdict::Unknown
    } else {
        Verdict::Fits
    }
}
