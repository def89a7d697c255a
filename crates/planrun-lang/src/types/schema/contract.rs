//! The JSON Schema of a tool's arguments or result, compiled when it is first used.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value as Json, json};

use super::judge::{Judge, Known, Leaves, Verdict, has_plain_references};
use super::{Validator, Violation, dialect};

/// Maximum number of keywords of a contract that are kept compiled separately.
const MAX_LEAVES: usize = 256;

/// A JSON Schema used as a contract, shared by all calls of a tool.
#[derive(Debug)]
pub struct Contract {
    /// The original schema.
    schema: Json,
    /// The normalized schema, if it differs from the original.
    normalized: Option<Json>,
    /// Whether its references can be resolved by their pointers alone.
    plain_references: OnceLock<bool>,
    /// Whether `format` is enforced; otherwise it is only reported.
    formats: bool,
    /// `None` if the schema cannot be used.
    compiled: OnceLock<Option<Validator>>,
    /// The same with enforced formats, if `formats` is false.
    strict: OnceLock<Option<Validator>>,
    /// Keywords compiled separately, for the known parts of a value.
    leaves: Mutex<BTreeMap<String, Option<Arc<Validator>>>>,
}

impl Contract {
    /// Creates a contract for arguments, which enforces `format`.
    #[must_use]
    pub fn of_arguments(schema: Json) -> Self {
        Self::new(schema, true)
    }

    /// Creates a contract for a result. A value of the wrong `format` is reported but not rejected.
    #[must_use]
    pub fn of_result(schema: Json) -> Self {
        Self::new(schema, false)
    }

    fn new(schema: Json, formats: bool) -> Self {
        let normalized = match dialect::normalized(&schema) {
            Cow::Owned(normalized) => Some(normalized),
            Cow::Borrowed(_) => None,
        };
        Self {
            schema,
            normalized,
            plain_references: OnceLock::new(),
            formats,
            compiled: OnceLock::new(),
            strict: OnceLock::new(),
            leaves: Mutex::default(),
        }
    }

    /// Returns the original schema.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// Returns the normalized schema.
    #[must_use]
    pub fn normalized(&self) -> &Json {
        self.normalized.as_ref().unwrap_or(&self.schema)
    }

    /// Returns the first violations by a value, in the order of the schema. A schema that cannot be used has no
    /// violations.
    #[must_use]
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        let compiled = self
            .compiled
            .get_or_init(|| compile(self.normalized(), self.formats));
        compiled
            .as_ref()
            .map(|compiled| compiled.violations(value))
            .unwrap_or_default()
    }

    /// Returns the violations of `format` by a value that is otherwise valid. Empty if formats are enforced anyway.
    #[must_use]
    pub fn format_violations(&self, value: &Json) -> Vec<Violation> {
        let strict = self.strict.get_or_init(|| {
            let reported = !self.formats && has_formats(self.normalized());
            if reported {
                compile(self.normalized(), true)
            } else {
                None
            }
        });
        strict
            .as_ref()
            .map(|strict| strict.violations(value))
            .unwrap_or_default()
    }

    /// Judges a partly known value before the run. `Fits` and `Cannot` hold for every value that it can turn out to be.
    #[must_use]
    pub fn judge(&self, known: &Known) -> Verdict {
        if let Some(value) = known.exactly() {
            return self
                .violations(&value)
                .into_iter()
                .next()
                .map_or(Verdict::Fits, Verdict::Cannot);
        }
        let plain_references = *self
            .plain_references
            .get_or_init(|| has_plain_references(self.normalized()));
        Judge::new(self.normalized(), plain_references, self).verdict(known)
    }
}

impl Leaves for Contract {
    fn violation(
        &self,
        draft: &str,
        keyword: &str,
        expected: &Json,
        value: &Json,
    ) -> Option<Option<Violation>> {
        let alone = json!({"$schema": draft, keyword: expected});
        let compiled = {
            // No code panics while holding the lock.
            let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
            if leaves.len() > MAX_LEAVES {
                leaves.clear();
            }
            leaves
                .entry(alone.to_string())
                .or_insert_with(|| compile(&alone, self.formats).map(Arc::new))
                .clone()
        };
        compiled.map(|compiled| compiled.violations(value).into_iter().next())
    }

    fn formats(&self) -> bool {
        self.formats
    }
}

/// Returns true if a `format` occurs anywhere in a schema.
fn has_formats(schema: &Json) -> bool {
    match schema {
        Json::Object(object) => object.contains_key("format") || object.values().any(has_formats),
        Json::Array(items) => items.iter().any(has_formats),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn compile(schema: &Json, formats: bool) -> Option<Validator> {
    if formats {
        Validator::enforcing_formats(schema)
    } else {
        Validator::new(schema)
    }
    .ok()
}
