//! Generates data that conforms to a JSON Schema, reproducibly from a seed, including edge cases of the schema.

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
use self::edges::Deviation;
use self::place::Places;
use self::reference::Documents;
use crate::types::{SchemaError, Type, Validator, decode, from_schema, to_schema};

/// Number of attempts after which the schema counts as unsatisfiable.
const MAX_TRIES: u64 = 300;
/// Number of these attempts that also enforce the formats of strings, which the schema may treat as annotations.
const TRIES_WITH_FORMATS: u64 = 200;
/// Maximum number of edge cases of a schema.
const MAX_EDGES: usize = 64;

/// Generates values for one schema. Every value is validated before it is returned.
#[derive(Debug)]
pub struct Examples {
    documents: Documents,
    ty: Type,
    validator: Validator,
    /// The same, with the formats of strings enforced.
    strict: Validator,
    edges: OnceLock<Vec<Edge>>,
}

/// Selects a value of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A value as a tool usually returns it: all fields, short lists, plain words.
    Usual,
    /// An edge case of the schema, by number; numbers beyond the last one wrap around.
    Edge(u64),
}

/// The reason why no value was generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no value that conforms to the schema could be generated: {place} {message} (`{keyword}`)")]
pub struct NoExample {
    /// The violated keyword of the schema, such as `pattern`.
    pub keyword: String,
    /// The position in the value as a JSON pointer, or `the value`.
    pub place: String,
    /// The requirement that is not met.
    pub message: String,
}

/// An edge case, and a value that shows that it is possible.
#[derive(Debug)]
struct Edge {
    deviations: Vec<Deviation>,
    value: Json,
}

impl Examples {
    /// Prepares a schema.
    ///
    /// # Errors
    /// If the schema cannot be used; see [`Validator::new`].
    pub fn new(schema: &Json) -> Result<Self, SchemaError> {
        Self::with_documents(schema, &[])
    }

    /// Prepares a schema that may refer to `documents` by their addresses.
    ///
    /// # Errors
    /// If the schema cannot be used; see [`Validator::new`].
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
    /// If the schema of the type cannot be used; see [`Validator::new`].
    pub fn of_type(ty: &Type) -> Result<Self, SchemaError> {
        Self::new(&to_schema(ty))
    }

    /// Generates a value. A field with the name of an argument has the value of the argument where that conforms, so
    /// that results match the request.
    ///
    /// # Errors
    /// If no conforming value is found.
    pub fn make(
        &self,
        arguments: &Map<String, Json>,
        seed: u64,
        choice: Choice,
    ) -> Result<Json, NoExample> {
        let Choice::Edge(number) = choice else {
            return self.conforming(arguments, seed, &[], MAX_TRIES);
        };
        let edges = self.edges();
        let count = u64::try_from(edges.len()).unwrap_or(1).max(1);
        let Some(edge) = usize::try_from(number % count)
            .ok()
            .and_then(|index| edges.get(index))
        else {
            return self.conforming(arguments, seed, &[], MAX_TRIES);
        };
        // These arguments or this seed may conflict with the edge case, which takes precedence.
        let made = self.conforming(arguments, seed, &edge.deviations, edges::TRIES);
        Ok(made.unwrap_or_else(|_| edge.value.clone()))
    }

    /// Returns the number of distinct edge cases found in the schema.
    #[must_use]
    pub fn edge_count(&self) -> u64 {
        u64::try_from(self.edges().len()).unwrap_or(u64::MAX)
    }

    fn edges(&self) -> &[Edge] {
        self.edges.get_or_init(|| edges::find(self))
    }

    /// Generates values until one conforms. Places with violations are regenerated with their next choices.
    fn conforming(
        &self,
        arguments: &Map<String, Json>,
        seed: u64,
        deviations: &[Deviation],
        tries: u64,
    ) -> Result<Json, NoExample> {
        let mut places = Places::default();
        let mut failure: Option<NoExample> = None;
        for number in 0..tries {
            let made =
                Builder::new(&self.documents, arguments, seed, deviations, &mut places).build();
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
                failure.get_or_insert(NoExample {
                    keyword: "type".into(),
                    place: "the value".into(),
                    message: format!("must match its type: {mismatch}"),
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
                failure.get_or_insert(NoExample {
                    keyword: first.keyword,
                    place,
                    message: first.message,
                });
            }
        }
        Err(failure.unwrap_or_else(|| NoExample {
            keyword: "type".into(),
            place: "the value".into(),
            message: "was not generated".into(),
        }))
    }
}

#[cfg(test)]
mod tests;
