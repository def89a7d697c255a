//! `unevaluatedProperties` and `unevaluatedItems`: the parts of a value that no other keyword evaluates.

use serde_json::{Map, Value as Json};

use super::lists::{Elements, elements};
use super::objects::{Object, Presence};
use super::{Judge, Known, Verdict, list};

/// Whether a keyword evaluates a part, as JSON Schema calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evaluated {
    No,
    /// Only the run can tell.
    Open,
    Yes,
}

/// A part of an object or of a list.
#[derive(Clone, Copy)]
enum Part<'p> {
    Field(&'p str),
    Element(usize, &'p Known),
}

impl Judge<'_> {
    pub(super) fn unevaluated_fields(
        &self,
        wanted: &Json,
        schema: &Map<String, Json>,
        known: &Known,
        object: &Object<'_>,
    ) -> Verdict {
        let own = Verdict::all(object.fields.iter().map(|field| {
            let evaluated = self.evaluated_beside(schema, Part::Field(&field.name), known);
            let verdict = match (field.sure, wanted) {
                _ if evaluated == Evaluated::Yes => return Verdict::Fits,
                (true, Json::Bool(false)) => Verdict::cannot(
                    "unevaluatedProperties",
                    format!("must not have the field {}", field.name),
                ),
                _ => self.field(wanted, field),
            };
            if evaluated == Evaluated::Open {
                verdict.if_there()
            } else {
                verdict
            }
        }));
        own.and(|| {
            object
                .rest
                .as_ref()
                .map_or(Verdict::Fits, |rest| self.schema(wanted, rest).if_there())
        })
    }

    pub(super) fn unevaluated_elements(
        &self,
        wanted: &Json,
        schema: &Map<String, Json>,
        known: &Known,
    ) -> Verdict {
        match elements(known) {
            Some(Elements::All(all)) => {
                Verdict::all(all.iter().enumerate().map(|(index, element)| {
                    let evaluated =
                        self.evaluated_beside(schema, Part::Element(index, element), known);
                    if evaluated == Evaluated::Yes {
                        return Verdict::Fits;
                    }
                    let verdict = self.schema(wanted, element).within(&index.to_string());
                    if evaluated == Evaluated::Open {
                        verdict.if_there()
                    } else {
                        verdict
                    }
                }))
            }
            // What evaluates the last of very many elements evaluates those before it.
            Some(Elements::AnyNumber(element)) => {
                match self.evaluated_beside(schema, Part::Element(usize::MAX, &element), known) {
                    Evaluated::Yes => Verdict::Fits,
                    Evaluated::No | Evaluated::Open => self.schema(wanted, &element).if_there(),
                }
            }
            None => Verdict::Unknown,
        }
    }

    /// What the keywords beside say of a part.
    fn evaluated_beside(
        &self,
        schema: &Map<String, Json>,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let beside =
            |keyword: &str| !matches!(keyword, "unevaluatedProperties" | "unevaluatedItems");
        let beside = schema.iter().filter(|(keyword, _)| beside(keyword));
        first_sure(
            beside.map(|(keyword, wanted)| self.evaluates(keyword, wanted, schema, part, known)),
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
                .map(|(keyword, wanted)| self.evaluates(keyword, wanted, schema, part, known)),
        );
        self.leave();
        evaluated
    }

    fn evaluates(
        &self,
        keyword: &str,
        wanted: &Json,
        schema: &Map<String, Json>,
        part: Part<'_>,
        known: &Known,
    ) -> Evaluated {
        let yes = |holds: bool| if holds { Evaluated::Yes } else { Evaluated::No };
        match (keyword, part) {
            ("properties", Part::Field(name)) => yes(wanted.get(name).is_some()),
            ("patternProperties", Part::Field(name)) => {
                let patterns = wanted.as_object().into_iter().flat_map(Map::keys);
                first_sure(
                    patterns
                        .map(|pattern| self.matches(pattern, name).map_or(Evaluated::Open, yes)),
                )
            }
            ("additionalProperties" | "unevaluatedProperties", Part::Field(_))
            | ("items" | "unevaluatedItems", Part::Element(..)) => Evaluated::Yes,
            ("prefixItems", Part::Element(index, _)) => yes(index < list(wanted).len()),
            ("contains", Part::Element(_, element)) => match self.schema(wanted, element) {
                Verdict::Fits => Evaluated::Yes,
                Verdict::Unknown => Evaluated::Open,
                Verdict::Cannot(_) => Evaluated::No,
            },
            ("$ref", _) => self.target(wanted).map_or(Evaluated::Open, |target| {
                self.evaluated(target, part, known)
            }),
            ("$dynamicRef", _) => Evaluated::Open,
            ("allOf", _) => first_sure(
                list(wanted)
                    .iter()
                    .map(|inner| self.evaluated(inner, part, known)),
            ),
            ("anyOf" | "oneOf", _) => first_sure(
                list(wanted)
                    .iter()
                    .map(|inner| self.evaluated_if(inner, part, known)),
            ),
            ("if", _) => self.evaluated_by_branch(wanted, schema, part, known),
            ("dependentSchemas", _) => self.evaluated_by_dependents(wanted, part, known),
            _ => Evaluated::No,
        }
    }

    /// By `if` and the branch that it chooses.
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

    /// By the schemas of the fields that are there.
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

    /// A schema evaluates parts of the values that keep it.
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
