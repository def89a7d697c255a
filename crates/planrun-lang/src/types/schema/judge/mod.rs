//! JSON Schema over values of which only a part is known: fits, cannot fit, or only the run can tell.

mod equal;
mod kinds;
mod known;
mod lists;
mod objects;
mod scalars;
mod unevaluated;

use std::cell::Cell;

use serde_json::{Map, Value as Json};

pub use known::{Known, KnownField, placed_field};

use super::Violation;
use super::read::decode_percent;
use crate::types::Type;
use kinds::Kinds;
use objects::Subject;

/// So many schemas are looked at for one value; beyond, only the run can tell.
const MAX_WORK: usize = 20_000;
/// Schemas that lead deeper are not followed.
const MAX_DEPTH: usize = 40;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

/// What can be said of a value before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Whatever it will be, it conforms.
    Fits,
    /// It may conform or not.
    Unknown,
    /// Whatever it will be, this speaks against it.
    Cannot(Violation),
}

/// Judges a keyword that looks at one value as a whole.
pub(super) trait Leaves {
    /// What a keyword alone says against a value; nothing where the keyword cannot be used.
    #[expect(
        clippy::option_option,
        reason = "an unusable keyword differs from one without objections"
    )]
    fn objection(
        &self,
        draft: &str,
        keyword: &str,
        wanted: &Json,
        value: &Json,
    ) -> Option<Option<Violation>>;
    /// Whether `format` is asked for.
    fn formats(&self) -> bool;
}

/// The drafts whose keywords are understood here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draft {
    Seven,
    Latest,
}

/// One judgement.
pub(super) struct Judge<'s> {
    document: &'s Json,
    leaves: &'s dyn Leaves,
    /// Nothing where the schema is of a draft that is not understood.
    draft: Option<Draft>,
    /// Whether a reference can be followed by its pointer alone.
    plain_references: bool,
    work: Cell<usize>,
    depth: Cell<usize>,
}

impl Verdict {
    fn cannot(keyword: &str, message: impl Into<String>) -> Self {
        Self::Cannot(Violation {
            pointer: String::new(),
            keyword: keyword.to_owned(),
            message: message.into(),
        })
    }

    /// Both must hold: an objection counts, whatever is not known.
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Cannot(_) => self,
            Self::Fits => other(),
            Self::Unknown => match other() {
                Self::Fits => Self::Unknown,
                verdict => verdict,
            },
        }
    }

    /// One of both is the case, nobody knows which.
    fn or_else(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fits, Self::Fits) => Self::Fits,
            (first @ Self::Cannot(_), Self::Cannot(_)) => first,
            _ => Self::Unknown,
        }
    }

    /// Of something that need not be there.
    fn if_there(self) -> Self {
        if self == Self::Fits {
            Self::Fits
        } else {
            Self::Unknown
        }
    }

    /// The same seen from the value around it.
    fn within(self, part: &str) -> Self {
        match self {
            Self::Cannot(violation) => {
                let part = part.replace('~', "~0").replace('/', "~1");
                Self::Cannot(Violation {
                    pointer: format!("/{part}{}", violation.pointer),
                    ..violation
                })
            }
            verdict => verdict,
        }
    }

    fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::Fits;
        for verdict in verdicts {
            whole = whole.and(|| verdict);
            if matches!(whole, Self::Cannot(_)) {
                break;
            }
        }
        whole
    }
}

impl<'s> Judge<'s> {
    /// `plain_references` as [`has_plain_references`] tells it of the document.
    pub(super) fn new(document: &'s Json, plain_references: bool, leaves: &'s dyn Leaves) -> Self {
        let draft = match document.get("$schema") {
            None => Some(Draft::Latest),
            Some(Json::String(name)) => match name.trim_end_matches('#') {
                DRAFT_2020 => Some(Draft::Latest),
                DRAFT_7 => Some(Draft::Seven),
                _ => None,
            },
            Some(_) => None,
        };
        let (work, depth) = (Cell::new(0), Cell::new(0));
        Self {
            document,
            leaves,
            draft,
            plain_references,
            work,
            depth,
        }
    }

    /// The verdict over the whole document.
    pub(super) fn verdict(&self, known: &Known) -> Verdict {
        if self.draft.is_none() {
            Verdict::Unknown
        } else {
            self.schema(self.document, known)
        }
    }

    fn is(&self, draft: Draft) -> bool {
        self.draft == Some(draft)
    }

    fn draft_name(&self) -> &'static str {
        if self.is(Draft::Seven) {
            DRAFT_7
        } else {
            DRAFT_2020
        }
    }

    fn schema(&self, schema: &Json, known: &Known) -> Verdict {
        let object = match schema {
            Json::Bool(true) => return Verdict::Fits,
            Json::Bool(false) => return Verdict::cannot("false", "must not be there"),
            Json::Object(object) => object,
            Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return Verdict::Unknown;
            }
        };
        if object.is_empty() {
            return Verdict::Fits;
        }
        if !self.enter() {
            return Verdict::Unknown;
        }
        let verdict = self.alternatives(object, known);
        self.leave();
        verdict
    }

    /// Begins to look at a schema; false where it is too much.
    fn enter(&self) -> bool {
        let may = self.work.get() < MAX_WORK && self.depth.get() < MAX_DEPTH;
        if may {
            self.work.set(self.work.get() + 1);
            self.depth.set(self.depth.get() + 1);
        }
        may
    }

    fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// What nobody knows is judged once for each thing that it can be.
    fn alternatives(&self, schema: &Map<String, Json>, known: &Known) -> Verdict {
        match known {
            Known::Either(all) => self.each_of(schema, all.iter().cloned()),
            Known::Of(Type::Union(members)) => {
                self.each_of(schema, members.iter().cloned().map(Known::Of))
            }
            Known::Of(Type::Literal(_) | Type::Null | Type::Result(_) | Type::Error) => {
                self.keywords(schema, &known.clone().opened())
            }
            Known::Exactly(_)
            | Known::Of(_)
            | Known::Object { .. }
            | Known::List(_)
            | Known::Elements(_) => self.keywords(schema, known),
        }
    }

    fn each_of(&self, schema: &Map<String, Json>, all: impl Iterator<Item = Known>) -> Verdict {
        let verdicts = all.map(|one| self.alternatives(schema, &one));
        verdicts
            .reduce(Verdict::or_else)
            .unwrap_or(Verdict::Unknown)
    }

    fn keywords(&self, schema: &Map<String, Json>, known: &Known) -> Verdict {
        // What stands beside a reference counts for nothing in draft 7.
        if self.is(Draft::Seven)
            && let Some(reference) = schema.get("$ref")
        {
            return self.reference(reference, known);
        }
        let is_outermost = self
            .document
            .as_object()
            .is_some_and(|document| std::ptr::eq(document, schema));
        if !is_outermost && schema.keys().any(|keyword| keyword == "$schema") {
            return Verdict::Unknown;
        }
        let subject = Subject::of(known);
        Verdict::all(
            schema
                .iter()
                .map(|(keyword, wanted)| self.keyword(keyword, wanted, schema, &subject)),
        )
    }

    fn keyword(
        &self,
        keyword: &str,
        wanted: &Json,
        schema: &Map<String, Json>,
        subject: &Subject<'_>,
    ) -> Verdict {
        let (latest, known) = (self.is(Draft::Latest), subject.known);
        match keyword {
            "$ref" => self.reference(wanted, known),
            "$dynamicRef" if latest => Verdict::Unknown,
            "type" => Kinds::of(known).named(wanted),
            "enum" => equal::listed(known, wanted),
            "const" => equal::constant(known, wanted),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.number(keyword, wanted, known)
            }
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" => self.text(keyword, wanted, known),
            "allOf" => Verdict::all(list(wanted).iter().map(|part| self.schema(part, known))),
            "anyOf" => self.any_of(list(wanted), known),
            "oneOf" => self.one_of(list(wanted), known),
            "not" => match self.schema(wanted, known) {
                Verdict::Fits => Verdict::cannot("not", "is of a kind that is excluded"),
                Verdict::Cannot(_) => Verdict::Fits,
                Verdict::Unknown => Verdict::Unknown,
            },
            "if" => self.condition(wanted, schema, known),
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedProperties" => self.object_keyword(keyword, wanted, schema, subject),
            "items" | "prefixItems" | "additionalItems" | "contains" | "minItems" | "maxItems"
            | "uniqueItems" | "unevaluatedItems" => {
                self.list_keyword(keyword, wanted, schema, known)
            }
            _ => Verdict::Fits,
        }
    }

    fn reference(&self, reference: &Json, known: &Known) -> Verdict {
        self.target(reference)
            .map_or(Verdict::Unknown, |target| self.schema(target, known))
    }

    /// The schema that a reference leads to, where that can be told.
    fn target(&self, reference: &Json) -> Option<&'s Json> {
        let text = reference.as_str().filter(|_| self.plain_references)?;
        let pointer = decode_percent(text.strip_prefix('#')?);
        self.document.pointer(&pointer)
    }

    fn any_of(&self, schemas: &[Json], known: &Known) -> Verdict {
        let mut unknown = false;
        let mut objections = Vec::new();
        for schema in schemas {
            match self.schema(schema, known) {
                Verdict::Fits => return Verdict::Fits,
                Verdict::Unknown => unknown = true,
                Verdict::Cannot(violation) => objections.push(violation),
            }
        }
        if unknown {
            return Verdict::Unknown;
        }
        none_fits("anyOf", &objections)
    }

    fn one_of(&self, schemas: &[Json], known: &Known) -> Verdict {
        let (mut fitting, mut unknown, mut objections) = (0, 0, Vec::new());
        for schema in schemas {
            match self.schema(schema, known) {
                Verdict::Fits => fitting += 1,
                Verdict::Unknown => unknown += 1,
                Verdict::Cannot(violation) => objections.push(violation),
            }
        }
        match (fitting, unknown) {
            (0, 0) => none_fits("oneOf", &objections),
            (1, 0) => Verdict::Fits,
            (0 | 1, _) => Verdict::Unknown,
            _ => Verdict::cannot(
                "oneOf",
                "fits more than one alternative, and only one may fit",
            ),
        }
    }

    fn condition(&self, condition: &Json, schema: &Map<String, Json>, known: &Known) -> Verdict {
        let branch = |keyword| {
            schema
                .get(keyword)
                .map_or(Verdict::Fits, |branch| self.schema(branch, known))
        };
        match self.schema(condition, known) {
            Verdict::Fits => branch("then"),
            Verdict::Cannot(_) => branch("else"),
            Verdict::Unknown => branch("then").or_else(branch("else")),
        }
    }
}

/// None of several schemas is kept: each objection is told where there are few.
fn none_fits(keyword: &str, objections: &[Violation]) -> Verdict {
    let told: Vec<String> = objections.iter().map(ToString::to_string).collect();
    let short = told.len() <= 3 && told.iter().map(String::len).sum::<usize>() < 160;
    Verdict::cannot(
        keyword,
        match told.as_slice() {
            [] => "fits none of the allowed alternatives".to_owned(),
            _ if short => format!(
                "fits none of the allowed alternatives: it {}",
                told.join("; it ")
            ),
            _ => "fits none of the allowed alternatives".to_owned(),
        },
    )
}

fn list(schema: &Json) -> &[Json] {
    schema.as_array().map_or(&[], Vec::as_slice)
}

/// A number of elements or fields, however it is written.
fn count(wanted: &Json) -> Option<usize> {
    let number = crate::types::number::unsigned(wanted.as_number()?)?;
    usize::try_from(number).ok()
}

/// Whether a reference in a document can be followed by its pointer alone, since no part has a name of its own.
pub(super) fn has_plain_references(document: &Json) -> bool {
    !names_inside(document, 0)
}

/// Whether some part of a document bears a name of its own, so that what a reference means hangs on where it stands.
fn names_inside(json: &Json, depth: usize) -> bool {
    match json {
        _ if depth > 64 => true,
        Json::Object(object) => {
            depth > 0
                && (object.contains_key("$id")
                    || object.contains_key("id") && object.contains_key("$schema"))
                || object.values().any(|inner| names_inside(inner, depth + 1))
        }
        Json::Array(items) => items.iter().any(|inner| names_inside(inner, depth + 1)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}
