//! `unevaluatedProperties` and `unevaluatedItems`: the parts of a value that no other keyword looks at.

use serde_json::{Map, Value as Json};

use super::lists::{Elements, elements};
use super::objects::{Object, Presence};
use super::{Judge, Known, Verdict, list};

/// Whether a keyword looks at a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looked {
    No,
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
            let looked = self.looked_beside(schema, Part::Field(&field.name), known);
            let verdict = match (field.sure, wanted) {
                _ if looked == Looked::Yes => return Verdict::Fits,
                (true, Json::Bool(false)) => {
                    Verdict::cannot("unevaluatedProperties", format!("must not have the field {}", field.name))
                }
                _ => self.field(wanted, field),
            };
            if looked == Looked::Open { verdict.if_there() } else { verdict }
        }));
        own.and(|| object.rest.as_ref().map_or(Verdict::Fits, |rest| self.schema(wanted, rest).if_there()))
    }

    pub(super) fn unevaluated_elements(&self, wanted: &Json, schema: &Map<String, Json>, known: &Known) -> Verdict {
        match elements(known) {
            Some(Elements::All(all)) => Verdict::all(all.iter().enumerate().map(|(index, element)| {
                let looked = self.looked_beside(schema, Part::Element(index, element), known);
                if looked == Looked::Yes {
                    return Verdict::Fits;
                }
                let verdict = self.schema(wanted, element).within(&index.to_string());
                if looked == Looked::Open { verdict.if_there() } else { verdict }
            })),
            // What looks at the last of very many elements looks at those before it.
            Some(Elements::AnyNumber(element)) => {
                match self.looked_beside(schema, Part::Element(usize::MAX, &element), known) {
                    Looked::Yes => Verdict::Fits,
                    Looked::No | Looked::Open => self.schema(wanted, &element).if_there(),
                }
            }
            None => Verdict::Unknown,
        }
    }

    /// What the keywords beside say of a part.
    fn looked_beside(&self, schema: &Map<String, Json>, part: Part<'_>, known: &Known) -> Looked {
        let beside = |keyword: &str| !matches!(keyword, "unevaluatedProperties" | "unevaluatedItems");
        let beside = schema.iter().filter(|(keyword, _)| beside(keyword));
        first_sure(beside.map(|(keyword, wanted)| self.looks(keyword, wanted, schema, part, known)))
    }

    fn looked(&self, schema: &Json, part: Part<'_>, known: &Known) -> Looked {
        let Json::Object(schema) = schema else { return Looked::No };
        if !self.enter() {
            return Looked::Open;
        }
        let looked =
            first_sure(schema.iter().map(|(keyword, wanted)| self.looks(keyword, wanted, schema, part, known)));
        self.leave();
        looked
    }

    fn looks(&self, keyword: &str, wanted: &Json, schema: &Map<String, Json>, part: Part<'_>, known: &Known) -> Looked {
        let yes = |holds: bool| if holds { Looked::Yes } else { Looked::No };
        match (keyword, part) {
            ("properties", Part::Field(name)) => yes(wanted.get(name).is_some()),
            ("patternProperties", Part::Field(name)) => {
                let patterns = wanted.as_object().into_iter().flat_map(Map::keys);
                first_sure(patterns.map(|pattern| self.matches(pattern, name).map_or(Looked::Open, yes)))
            }
            ("additionalProperties" | "unevaluatedProperties", Part::Field(_))
            | ("items" | "unevaluatedItems", Part::Element(..)) => Looked::Yes,
            ("prefixItems", Part::Element(index, _)) => yes(index < list(wanted).len()),
            ("contains", Part::Element(_, element)) => match self.schema(wanted, element) {
                Verdict::Fits => Looked::Yes,
                Verdict::Unknown => Looked::Open,
                Verdict::Cannot(_) => Looked::No,
            },
            ("$ref", _) => self.target(wanted).map_or(Looked::Open, |target| self.looked(target, part, known)),
            ("$dynamicRef", _) => Looked::Open,
            ("allOf", _) => first_sure(list(wanted).iter().map(|inner| self.looked(inner, part, known))),
            ("anyOf" | "oneOf", _) => first_sure(list(wanted).iter().map(|inner| self.looked_if(inner, part, known))),
            ("if", _) => {
                let branch =
                    |keyword| schema.get(keyword).map_or(Looked::No, |branch| self.looked(branch, part, known));
                match self.schema(wanted, known) {
                    Verdict::Fits => self.looked(wanted, part, known).max(branch("then")),
                    Verdict::Cannot(_) => branch("else"),
                    Verdict::Unknown => {
                        let then = self.looked(wanted, part, known).max(branch("then"));
                        if then == branch("else") { then } else { Looked::Open }
                    }
                }
            }
            ("dependentSchemas", _) => {
                let Some(object) = Object::of(known) else { return Looked::No };
                first_sure(wanted.as_object().into_iter().flatten().map(|(name, inner)| match object.presence(name) {
                    Presence::Sure => self.looked(inner, part, known),
                    Presence::Open => self.looked(inner, part, known).min(Looked::Open),
                    Presence::Never => Looked::No,
                }))
            }
            _ => Looked::No,
        }
    }

    /// A schema looks at the parts of the values that keep it.
    fn looked_if(&self, schema: &Json, part: Part<'_>, known: &Known) -> Looked {
        match self.schema(schema, known) {
            Verdict::Fits => self.looked(schema, part, known),
            Verdict::Unknown => self.looked(schema, part, known).min(Looked::Open),
            Verdict::Cannot(_) => Looked::No,
        }
    }
}

fn first_sure(all: impl Iterator<Item = Looked>) -> Looked {
    let mut most = Looked::No;
    for looked in all {
        most = most.max(looked);
        if most == Looked::Yes {
            break;
        }
    }
    most
}
