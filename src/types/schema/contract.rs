//! The JSON Schema of one argument, compiled when a value is first held against it.

use std::sync::OnceLock;

use serde_json::Value as Json;

use super::{Validator, Violation};

/// Every call of a tool shares it, so that it is compiled once and only where a plan gives a constant.
#[derive(Debug)]
pub struct Contract {
    schema: Json,
    /// Nothing where the schema cannot be used.
    compiled: OnceLock<Option<Validator>>,
}

impl Contract {
    #[must_use]
    pub fn new(schema: Json) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// The schema as it was written.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// What speaks against a value: the first few objections, in the order of the schema. A schema that cannot be used
    /// objects to nothing.
    #[must_use]
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        let compiled = self.compiled.get_or_init(|| Validator::new(&self.schema).ok());
        compiled.as_ref().map(|compiled| compiled.violations(value)).unwrap_or_default()
    }
}
