//! Judges keywords that constrain the fields of an object.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::{Draft, Judge, Known, KnownField, Verdict, count, list};
use crate::types::Kinds;
use crate::types::{Rest, Type};
use crate::value::counted;

/// The value that a schema is judged for, with its fields computed once for all keywords.
pub(super) struct Subject<'k> {
    pub known: &'k Known,
    object: OnceCell<Option<Object<'k>>>,
}

/// The known parts of an object.
pub(super) struct Object<'k> {
    pub(super) fields: Cow<'k, [KnownField]>,
    /// The value of further fields; `None` if there are none.
    pub(super) rest: Option<Known>,
}

/// Whether a field is present.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Sure,
    Open,
    Never,
}

impl<'k> Subject<'k> {
    pub(super) fn of(known: &'k Known) -> Self {
        Self {
            known,
            object: OnceCell::new(),
        }
    }

    fn object(&self) -> Option<&Object<'k>> {
        self.object.get_or_init(|| Object::of(self.known)).as_ref()
    }
}

impl<'k> Object<'k> {
    pub(super) fn of(known: &'k Known) -> Option<Self> {
        if let Known::Object { fields, rest } = known {
            return Some(Self {
                fields: Cow::Borrowed(fields),
                rest: further(rest),
            });
        }
        let Known::Object { fields, rest } = known.clone().opened() else {
            return None;
        };
        Some(Self {
            fields: Cow::Owned(fields),
            rest: further(&rest),
        })
    }

    fn field(&self, name: &str) -> Option<&KnownField> {
        self.fields.iter().find(|field| *field.name == *name)
    }

    pub(super) fn presence(&self, name: &str) -> Presence {
        match (self.field(name), &self.rest) {
            (Some(field), _) if field.sure => Presence::Sure,
            (Some(_), _) | (None, Some(_)) => Presence::Open,
            (None, None) => Presence::Never,
        }
    }

    fn requires(&self, name: &str) -> Verdict {
        match self.presence(name) {
            Presence::Sure => Verdict::Fits,
            Presence::Open => Verdict::Unknown,
            Presence::Never => Verdict::cannot("required", format!("lacks the field {name}")),
        }
    }

    fn requires_all(&self, names: &Json) -> Verdict {
        Verdict::all(list(names).iter().map(|name| {
            name.as_str()
                .map_or(Verdict::Unknown, |name| self.requires(name))
        }))
    }
}

impl Judge<'_> {
    pub(super) fn object_keyword(
        &self,
        keyword: &str,
        expected: &Json,
        schema: &Map<String, Json>,
        subject: &Subject<'_>,
    ) -> Verdict {
        let (latest, known) = (self.is(Draft::Latest), subject.known);
        let current = match keyword {
            "dependentRequired" | "dependentSchemas" | "unevaluatedProperties" => latest,
            _ => true,
        };
        if !current || *expected == Json::Bool(true) || !Kinds::of(known).intersects(Kinds::OBJECT)
        {
            return Verdict::Fits;
        }
        let Some(object) = subject.object() else {
            return Verdict::Unknown;
        };
        match keyword {
            "required" => object.requires_all(expected),
            "properties" => self.properties(expected, object),
            "patternProperties" => self.pattern_properties(expected, object),
            "additionalProperties" => self.additional(expected, schema, object),
            "unevaluatedProperties" => self.unevaluated_fields(expected, schema, known, object),
            "propertyNames" => self.names(expected, object),
            "minProperties" | "maxProperties" => size(keyword, expected, object),
            "dependentRequired" | "dependentSchemas" => self.dependent(expected, object, known),
            "dependencies" if !latest => self.dependent(expected, object, known),
            _ => Verdict::Unknown,
        }
    }

    /// Judges a field against a schema; an optional field never violates it with certainty.
    pub(super) fn field(&self, schema: &Json, field: &KnownField) -> Verdict {
        let verdict = self.schema(schema, &field.value).within(&field.name);
        if field.sure {
            verdict
        } else {
            verdict.if_present()
        }
    }

    fn properties(&self, expected: &Json, object: &Object<'_>) -> Verdict {
        let Json::Object(properties) = expected else {
            return Verdict::Unknown;
        };
        Verdict::all(properties.iter().map(|(name, schema)| {
            match (object.field(name), &object.rest) {
                (Some(field), _) => self.field(schema, field),
                (None, Some(rest)) => self.schema(schema, rest).if_present(),
                (None, None) => Verdict::Fits,
            }
        }))
    }

    fn pattern_properties(&self, expected: &Json, object: &Object<'_>) -> Verdict {
        let Json::Object(patterns) = expected else {
            return Verdict::Unknown;
        };
        Verdict::all(patterns.iter().map(|(pattern, schema)| {
            let own = Verdict::all(object.fields.iter().map(|field| {
                match self.matches(pattern, &field.name) {
                    Some(true) => self.field(schema, field),
                    Some(false) => Verdict::Fits,
                    None => Verdict::Unknown,
                }
            }));
            own.and(|| {
                object
                    .rest
                    .as_ref()
                    .map_or(Verdict::Fits, |rest| self.schema(schema, rest).if_present())
            })
        }))
    }

    fn additional(
        &self,
        expected: &Json,
        schema: &Map<String, Json>,
        object: &Object<'_>,
    ) -> Verdict {
        let listed = |name: &str| {
            schema
                .get("properties")
                .is_some_and(|known| known.get(name).is_some())
        };
        let patterns: BTreeSet<&String> = schema
            .get("patternProperties")
            .and_then(Json::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        let own = Verdict::all(
            object
                .fields
                .iter()
                .filter(|field| !listed(&field.name))
                .map(|field| {
                    let mut open = false;
                    for pattern in &patterns {
                        match self.matches(pattern, &field.name) {
                            Some(true) => return Verdict::Fits,
                            Some(false) => {}
                            None => open = true,
                        }
                    }
                    let verdict = match (field.sure, expected) {
                        (true, Json::Bool(false)) => Verdict::cannot(
                            "additionalProperties",
                            format!("must not have the field {}", field.name),
                        ),
                        _ => self.field(expected, field),
                    };
                    if open { verdict.if_present() } else { verdict }
                }),
        );
        own.and(|| {
            object.rest.as_ref().map_or(Verdict::Fits, |rest| {
                self.schema(expected, rest).if_present()
            })
        })
    }

    fn names(&self, expected: &Json, object: &Object<'_>) -> Verdict {
        let own = Verdict::all(object.fields.iter().map(|field| {
            let verdict = self
                .schema(expected, &Known::Exactly(json!(&*field.name)))
                .within(&field.name);
            if field.sure {
                verdict
            } else {
                verdict.if_present()
            }
        }));
        own.and(|| match &object.rest {
            Some(_) => self.schema(expected, &Known::Of(Type::String)).if_present(),
            None => Verdict::Fits,
        })
    }

    /// Judges what is required where a field is present.
    fn dependent(&self, expected: &Json, object: &Object<'_>, known: &Known) -> Verdict {
        let Json::Object(dependent) = expected else {
            return Verdict::Unknown;
        };
        Verdict::all(dependent.iter().map(|(name, then)| {
            let held = || {
                if then.is_array() {
                    object.requires_all(then)
                } else {
                    self.schema(then, known)
                }
            };
            match object.presence(name) {
                Presence::Sure => held(),
                Presence::Open => held().if_present(),
                Presence::Never => Verdict::Fits,
            }
        }))
    }

    /// Reports whether a name matches a pattern; `None` if the pattern cannot be used.
    pub(super) fn matches(&self, pattern: &str, name: &str) -> Option<bool> {
        match self.leaf("pattern", &json!(pattern), &json!(name)) {
            Verdict::Fits => Some(true),
            Verdict::Cannot(_) => Some(false),
            Verdict::Unknown => None,
        }
    }
}

/// Returns the value of undeclared fields; `None` if there are none.
fn further(rest: &Rest) -> Option<Known> {
    match rest {
        Rest::Closed => None,
        Rest::Open => Some(Known::Of(Type::Any)),
        Rest::Typed(ty) => Some(Known::Of(ty.clone())),
    }
}

fn size(keyword: &str, expected: &Json, object: &Object<'_>) -> Verdict {
    let Some(bound) = count(expected) else {
        return Verdict::Unknown;
    };
    let sure = object.fields.iter().filter(|field| field.sure).count();
    let most = if object.rest.is_some() {
        usize::MAX
    } else {
        object.fields.len()
    };
    if keyword == "minProperties" {
        return match (sure >= bound, most < bound) {
            (true, _) => Verdict::Fits,
            (false, true) => Verdict::cannot(
                keyword,
                format!("must have at least {}", counted(bound, "field")),
            ),
            (false, false) => Verdict::Unknown,
        };
    }
    match (most <= bound, sure > bound) {
        (true, _) => Verdict::Fits,
        (false, true) => Verdict::cannot(
            keyword,
            format!("must have at most {}", counted(bound, "field")),
        ),
        (false, false) => Verdict::Unknown,
    }
}
