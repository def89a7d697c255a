//! Judges partly known values by a JSON Schema: the value fits, cannot fit, or the outcome is known only at run time.

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
use super::validator::none_of;
use crate::types::Kinds;
use crate::types::Type;
use objects::Subject;

/// Maximum number of schemas judged for one value; beyond it the verdict is `Unknown`.
const MAX_WORK: usize = 20_000;
/// Maximum nesting depth of schemas; deeper ones are not followed.
const MAX_DEPTH: usize = 40;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

/// The outcome of judging a value before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every possible value conforms.
    Fits,
    /// Some possible values may conform and others may not.
    Unknown,
    /// No possible value conforms; this is the violation.
    Cannot(Violation),
}

/// Judges keywords that constrain one value as a whole.
pub(super) trait Leaves {
    /// Returns the violation of a single keyword by a value, `Some(None)` if there is none; `None` if the keyword
    /// cannot be used.
    #[expect(
        clippy::option_option,
        reason = "an unusable keyword differs from one without a violation"
    )]
    fn violation(
        &self,
        draft: &str,
        keyword: &str,
        expected: &Json,
        value: &Json,
    ) -> Option<Option<Violation>>;
    /// Reports whether `format` is enforced.
    fn formats(&self) -> bool;
}

/// The supported drafts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draft {
    Seven,
    Latest,
}

/// The judgement of one value.
pub(super) struct Judge<'s> {
    document: &'s Json,
    leaves: &'s dyn Leaves,
    /// `None` if the draft of the schema is not supported.
    draft: Option<Draft>,
    /// Whether references can be resolved by their pointers alone.
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

    /// Combines two requirements that must both hold; a certain violation outweighs `Unknown`.
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

    /// Combines the verdicts of two cases of which either may occur.
    fn or_else(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fits, Self::Fits) => Self::Fits,
            (first @ Self::Cannot(_), Self::Cannot(_)) => first,
            _ => Self::Unknown,
        }
    }

    /// Returns the verdict for a part that may be absent.
    fn if_present(self) -> Self {
        if self == Self::Fits {
            Self::Fits
        } else {
            Self::Unknown
        }
    }

    /// Prefixes the pointer of a violation with the part of the enclosing value.
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
    /// `plain_references` is the result of [`has_plain_references`] for the document.
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

    /// Returns the verdict for the whole document.
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
            Json::Bool(false) => return Verdict::cannot("false", "must not be present"),
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

    /// Enters a schema. Returns false if a limit is reached.
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

    /// Judges each alternative of a value separately.
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
        // Keywords next to a reference are ignored in draft 7.
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
                .map(|(keyword, expected)| self.keyword(keyword, expected, schema, &subject)),
        )
    }

    fn keyword(
        &self,
        keyword: &str,
        expected: &Json,
        schema: &Map<String, Json>,
        subject: &Subject<'_>,
    ) -> Verdict {
        let (latest, known) = (self.is(Draft::Latest), subject.known);
        match keyword {
            "$ref" => self.reference(expected, known),
            "$dynamicRef" if latest => Verdict::Unknown,
            "type" => Kinds::of(known).judged(expected),
            "enum" => equal::listed(known, expected),
            "const" => equal::constant(known, expected),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.number(keyword, expected, known)
            }
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" => self.text(keyword, expected, known),
            "allOf" => Verdict::all(list(expected).iter().map(|part| self.schema(part, known))),
            "anyOf" => self.any_of(list(expected), known),
            "oneOf" => self.one_of(list(expected), known),
            "not" => match self.schema(expected, known) {
                Verdict::Fits => Verdict::cannot("not", "must not match the schema of `not`"),
                Verdict::Cannot(_) => Verdict::Fits,
                Verdict::Unknown => Verdict::Unknown,
            },
            "if" => self.condition(expected, schema, known),
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
            | "unevaluatedProperties" => self.object_keyword(keyword, expected, schema, subject),
            "items" | "prefixItems" | "additionalItems" | "contains" | "minItems" | "maxItems"
            | "uniqueItems" | "unevaluatedItems" => {
                self.list_keyword(keyword, expected, schema, known)
            }
            _ => Verdict::Fits,
        }
    }

    fn reference(&self, reference: &Json, known: &Known) -> Verdict {
        self.target(reference)
            .map_or(Verdict::Unknown, |target| self.schema(target, known))
    }

    /// Returns the schema that a reference points to; `None` if it cannot be resolved.
    fn target(&self, reference: &Json) -> Option<&'s Json> {
        let text = reference.as_str().filter(|_| self.plain_references)?;
        let pointer = decode_percent(text.strip_prefix('#')?);
        self.document.pointer(&pointer)
    }

    fn any_of(&self, schemas: &[Json], known: &Known) -> Verdict {
        let mut unknown = false;
        let mut violations = Vec::new();
        for schema in schemas {
            match self.schema(schema, known) {
                Verdict::Fits => return Verdict::Fits,
                Verdict::Unknown => unknown = true,
                Verdict::Cannot(violation) => violations.push(violation),
            }
        }
        if unknown {
            return Verdict::Unknown;
        }
        none_fits("anyOf", &violations)
    }

    fn one_of(&self, schemas: &[Json], known: &Known) -> Verdict {
        let (mut fitting, mut unknown, mut violations) = (0, 0, Vec::new());
        for schema in schemas {
            match self.schema(schema, known) {
                Verdict::Fits => fitting += 1,
                Verdict::Unknown => unknown += 1,
                Verdict::Cannot(violation) => violations.push(violation),
            }
        }
        match (fitting, unknown) {
            (0, 0) => none_fits("oneOf", &violations),
            (1, 0) => Verdict::Fits,
            (0 | 1, _) => Verdict::Unknown,
            _ => Verdict::cannot(
                "oneOf",
                "fits more than one alternative, but only one may fit",
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

/// Creates the verdict for a value that conforms to none of several schemas. The message lists the violations if there
/// are few.
fn none_fits(keyword: &str, violations: &[Violation]) -> Verdict {
    let messages: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Verdict::cannot(keyword, none_of(&messages))
}

fn list(schema: &Json) -> &[Json] {
    schema.as_array().map_or(&[], Vec::as_slice)
}

/// Reads the value of a keyword that is a number of elements, fields or characters, in any notation.
fn count(expected: &Json) -> Option<usize> {
    let number = crate::types::number::unsigned(expected.as_number()?)?;
    usize::try_from(number).ok()
}

/// Returns true if references in the document can be resolved by their pointers alone because no inner schema has an
/// identifier.
pub(super) fn has_plain_references(document: &Json) -> bool {
    !has_inner_ids(document, 0)
}

/// Returns true if an inner schema has an identifier, so that the meaning of a reference depends on its position.
fn has_inner_ids(json: &Json, depth: usize) -> bool {
    match json {
        _ if depth > 64 => true,
        Json::Object(object) => {
            depth > 0
                && (object.contains_key("$id")
                    || object.contains_key("id") && object.contains_key("$schema"))
                || object.values().any(|inner| has_inner_ids(inner, depth + 1))
        }
        Json::Array(items) => items.iter().any(|inner| has_inner_ids(inner, depth + 1)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}
