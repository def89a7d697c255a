//! Judges `unevaluatedProperties` and `unevaluatedItems`, which apply to the parts that no other keyword evaluates.

use serde_json::{Map, Value as Json};

use super::lists::{Elements, elements};
use super::objects::{Object, Presence};
use super::{Judge, Known, Verdict, list};

/// Whether a keyword evaluates a part, in the sense of JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evaluated {
    No,
    /// Known only at run time.
    Open,
    Yes,
}

/// A field of an object or an element of a list.
#[derive(Clone, Copy)]
enum Part<'p> {
    Field(&'p str),
    Element(usize, &'p Known),
}

impl Judge<'_> {
    pub(super) fn unevaluated_fields(
        &self,
        expected: &Json,
        schema: &Map<String, Json>,
        known: &Known,
        object: &Object<'_>,
    ) -> Verdict {
        let own = Verdict::all(object.fields.iter().map(|field| {
            let evaluated = self.evaluated_by_siblings(schema, Part::Field(&field.name), known);
            let verdict = match (field.sure, expected) {
                _ if evaluated == Evaluated::Yes => return Verdict::Fits,
                (true, Json::Bool(false)) => Verdict::cannot(
                    "unevaluatedProperties",
                    format!("must not have the field {}", field.name),
                ),
                _ => self.field(expected, field),
            };
            if evaluated == Evaluated::Open {
                verdict.if_present()
            } else {
                verdict
            }
        }));
        own.and(|| {
            object.rest.as_ref().map_or(Verdict::Fits, |rest| {
                self.schema(expected, rest).if_present()
            })
        })
    }

    pub(super) fn unevaluated_elements(
        &self,
        expected: &Json,
        schema: &Map<String, Json>,
        known: &Known,
    ) -> Verdict {
        match elements(known) {
            Some(Elements::All(all)) => {
                Verdict::all(all.iter().enumerate().map(|(index, element)| {
                    let evaluated =
                        self.evaluated_by_siblings(schema, Part::Element(index, element), known);
                    if evaluated == Evaluated::Yes {
                        return Verdict::Fits;
                    }
                    let verdict = self.schema(expected, element).within(&index.to_string());
                    if evaluated == Evaluated::Open {
                        verdict.if_present()
                    } else {
                        verdict
                    }
                }))
            }
            // A keyword that evaluates an element at the largest index evaluates all elements before it.
            Some(Elements::AnyNumber(element)) => {
                match self.evaluated_by_siblings(schema, Part::Element(usize::MAX, &element), known)
                {
                    Evaluated::Yes => Verdict::Fits,
                    Evaluated::No | Evaluated::Open => self.schema(expected, &element).if_present(),
                }
            }
            None => Verdict::Unknown,
        }
    }

    /// Returns whether the other keywords of the schema evaluate a part.
    fn evaluated_by_siblings(
        &self,
        schema: &Map<String, Json>,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let is_sibling =
            |keyword: &str| !matches!(keyword, "unevaluatedProperties" | "unevaluatedItems");
        let siblings = schema.iter().filter(|(keyword, _)| is_sibling(keyword));
        first_sure(
            siblings
                .map(|(keyword, expected)| self.evaluates(keyword, expected, schema, part, known)),
        )
    }

    fn evaluated(&self, schema: &Json, part: Part<'_>, known: &Known) -> Evaluated {
        let Json::Object(schema) = schema else {
            return Evaluated::No;
        };
        if !self.enter() {
            return Evaluated::Open;
        }
        let evaluated = first_sure(
            schema
                .iter()
                .map(|(keyword, expected)| self.evaluates(keyword, expected, schema, part, known)),
        );
        self.leave();
        evaluated
    }

    fn evaluates(
        &self,
        keyword: &str,
        expected: &Json,
        schema: &Map<String, Json>,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let yes = |holds: bool| if holds { Evaluated::Yes } else { Evaluated::No };
        match (keyword, part) {
            ("properties", Part::Field(name)) => yes(expected.get(name).is_some()),
            ("patternProperties", Part::Field(name)) => {
                let patterns = expected.as_object().into_iter().flat_map(Map::keys);
                first_sure(
                    patterns
                        .map(|pattern| self.matches(pattern, name).map_or(Evaluated::Open, yes)),
                )
            }
            ("additionalProperties" | "unevaluatedProperties", Part::Field(_))
            | ("items" | "unevaluatedItems", Part::Element(..)) => Evaluated::Yes,
            ("prefixItems", Part::Element(index, _)) => yes(index < list(expected).len()),
            ("contains", Part::Element(_, element)) => match self.schema(expected, element) {
                Verdict::Fits => Evaluated::Yes,
                Verdict::Unknown => Evaluated::Open,
                Verdict::Cannot(_) => Evaluated::No,
            },
            ("$ref", _) => self.target(expected).map_or(Evaluated::Open, |target| {
                self.evaluated(target, part, known)
            }),
            ("$dynamicRef", _) => Evaluated::Open,
            ("allOf", _) => first_sure(
                list(expected)
                    .iter()
                    .map(|inner| self.evaluated(inner, part, known)),
            ),
            ("anyOf" | "oneOf", _) => first_sure(
                list(expected)
                    .iter()
                    .map(|inner| self.evaluated_if(inner, part, known)),
            ),
            ("if", _) => self.evaluated_by_branch(expected, schema, part, known),
            ("dependentSchemas", _) => self.evaluated_by_dependents(expected, part, known),
            _ => Evaluated::No,
        }
    }

    /// Considers `if` and the branch that it selects.
    fn evaluated_by_branch(
        &self,
        condition: &Json,
        schema: &Map<String, Json>,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let branch = |keyword| {
            schema
                .get(keyword)
                .map_or(Evaluated::No, |branch| self.evaluated(branch, part, known))
        };
        match self.schema(condition, known) {
            Verdict::Fits => self.evaluated(condition, part, known).max(branch("then")),
            Verdict::Cannot(_) => branch("else"),
            Verdict::Unknown => {
                let then = self.evaluated(condition, part, known).max(branch("then"));
                if then == branch("else") {
                    then
                } else {
                    Evaluated::Open
                }
            }
        }
    }

    /// Considers the schemas that depend on the fields that are present.
    fn evaluated_by_dependents(
        &self,
        dependents: &Json,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let Some(object) = Object::of(known) else {
            return Evaluated::No;
        };
        let dependents = dependents.as_object().into_iter().flatten();
        first_sure(dependents.map(|(name, inner)| match object.presence(name) {
            Presence::Sure => self.evaluated(inner, part, known),
            Presence::Open => self.evaluated(inner, part, known).min(Evaluated::Open),
            Presence::Never => Evaluated::No,
        }))
    }

    /// A schema evaluates a part only if the value conforms to it.
    fn evaluated_if(&self, schema: &Json, part: Part<'_>, known: &Known) -> Evaluated {
        match self.schema(schema, known) {
            Verdict::Fits => self.evaluated(schema, part, known),
            Verdict::Unknown => self.evaluated(schema, part, known).min(Evaluated::Open),
            Verdict::Cannot(_) => Evaluated::No,
        }
    }
}

fn first_sure(all: impl Iterator<Item = Evaluated>) -> Evaluated {
    let mut most = Evaluated::No;
    for evaluated in all {
        most = most.max(evaluated);
        if most == Evaluated::Yes {
            break;
        }
    }
    most
}
