//! Made-up data that conforms to a JSON Schema: the same for the same seed, and the edges of the schema on demand.

mod build;
mod chance;
mod demand;
mod edges;
mod kinds;
mod list;
mod negate;
mod number;
mod object;
mod pattern;
mod place;
mod reference;
mod text;

use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

use self::build::Builder;
use self::edges::Twist;
use self::place::Places;
use self::reference::Documents;
use crate::types::{SchemaError, Type, Validator, decode, from_schema, to_schema};

/// So often a value is made before the schema counts as one that cannot be met.
const MAX_TRIES: u64 = 300;
/// So many of them ask for the formats of texts too, which a schema may only be hinting at.
const TRIES_WITH_FORMATS: u64 = 200;
/// A schema has at most so many edges.
const MAX_EDGES: usize = 64;

/// Makes values of one schema, each held against the schema before it is given out.
#[derive(Debug)]
pub struct Examples {
    documents: Documents,
    ty: Type,
    validator: Validator,
    /// The same, and every text is of its format.
    strict: Validator,
    edges: OnceLock<Vec<Edge>>,
}

/// Which value of a schema is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One such as a tool usually gives: every field there, short lists, plain words.
    Usual,
    /// One at the edge of what the schema admits, by its number; numbers beyond the last begin anew.
    Edge(u64),
}

/// Why no value was made: the keyword that stands in the way, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no value that conforms to the schema could be made: {place} {message} (`{keyword}`)")]
pub struct NoExample {
    /// The keyword of the schema, such as `pattern`.
    pub keyword: String,
    /// The place in the value, or `the value`.
    pub place: String,
    /// What the place must be.
    pub message: String,
}

/// An edge, and the value that showed that it can be had.
#[derive(Debug)]
struct Edge {
    twists: Vec<Twist>,
    value: Json,
}

impl Examples {
    /// Prepares a schema.
    ///
    /// # Errors
    /// It cannot be used; see [`Validator::new`].
    pub fn new(schema: &Json) -> Result<Self, SchemaError> {
        Self::with_documents(schema, &[])
    }

    /// Prepares a schema that may refer to these documents by their addresses.
    ///
    /// # Errors
    /// It cannot be used; see [`Validator::new`].
    pub fn with_documents(
        schema: &Json,
        documents: &[(String, Json)],
    ) -> Result<Self, SchemaError> {
        let validator = Validator::with_documents(schema, documents)?;
        let strict = Validator::with_formats(schema, documents)?;
        let documents = Documents::new(schema, documents)?;
        Ok(Self {
            documents,
            ty: from_schema(schema),
            validator,
            strict,
            edges: OnceLock::new(),
        })
    }

    /// Prepares the schema of a type.
    ///
    /// # Errors
    /// The type has values that no schema can describe.
    pub fn of_type(ty: &Type) -> Result<Self, SchemaError> {
        Self::new(&to_schema(ty))
    }

    /// A value. A field that bears the name of an argument takes its value wherever that conforms, so that results
    /// speak of what was asked.
    ///
    /// # Errors
    /// Nothing that conforms was found.
    pub fn make(
        &self,
        arguments: &Map<String, Json>,
        seed: u64,
        choice: Choice,
    ) -> Result<Json, NoExample> {
        let Choice::Edge(wanted) = choice else {
            return self.conforming(arguments, seed, &[], MAX_TRIES);
        };
        let edges = self.edges();
        let count = u64::try_from(edges.len()).unwrap_or(1).max(1);
        let Some(edge) = usize::try_from(wanted % count)
            .ok()
            .and_then(|index| edges.get(index))
        else {
            return self.conforming(arguments, seed, &[], MAX_TRIES);
        };
        // With these arguments or this seed the rest may stand in the way of the edge, which is what was asked for.
        let made = self.conforming(arguments, seed, &edge.twists, edges::TRIES);
        Ok(made.unwrap_or_else(|_| edge.value.clone()))
    }

    /// How many distinct edges the schema has, as far as they are counted.
    #[must_use]
    pub fn edge_count(&self) -> u64 {
        u64::try_from(self.edges().len()).unwrap_or(u64::MAX)
    }

    fn edges(&self) -> &[Edge] {
        self.edges.get_or_init(|| edges::find(self))
    }

    /// Makes values until one conforms: what is objected to is made anew with the next of its possibilities.
    fn conforming(
        &self,
        arguments: &Map<String, Json>,
        seed: u64,
        twists: &[Twist],
        tries: u64,
    ) -> Result<Json, NoExample> {
        let mut places = Places::default();
        let mut told: Option<NoExample> = None;
        for number in 0..tries {
            let made = Builder::new(&self.documents, arguments, seed, twists, &mut places).build();
            let judge = if number < TRIES_WITH_FORMATS.min(tries / 2) {
                &self.strict
            } else {
                &self.validator
            };
            let violations = judge.violations(&made);
            if violations.is_empty() {
                let Err(mismatch) = decode(&made, &self.ty) else {
                    return Ok(made);
                };
                told.get_or_insert(NoExample {
                    keyword: "type".into(),
                    place: "the value".into(),
                    message: format!("must be read as its type says: {mismatch}"),
                });
                places.renew("", number);
                continue;
            }
            for violation in &violations {
                places.renew(&violation.pointer, number);
            }
            if let Some(first) = violations.into_iter().next() {
                let place = if first.pointer.is_empty() {
                    "the value".to_owned()
                } else {
                    first.pointer
                };
                told.get_or_insert(NoExample {
                    keyword: first.keyword,
                    place,
                    message: first.message,
                });
            }
        }
        Err(told.unwrap_or_else(|| NoExample {
            keyword: "type".into(),
            place: "the value".into(),
            message: "was not made".into(),
        }))
    }
}

#[cfg(test)]
mod tests;
