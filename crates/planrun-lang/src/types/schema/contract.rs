//! The JSON Schema of a tool's arguments or of its result, compiled when a value is first held against it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value as Json, json};

use super::judge::{Judge, Known, Leaves, Verdict, has_plain_references};
use super::{Validator, Violation, dialect};

/// At most so many keywords of a contract are kept compiled on their own.
const MAX_LEAVES: usize = 256;

/// What a JSON Schema says where it is a contract. Every call of a tool shares it.
#[derive(Debug)]
pub struct Contract {
    /// As it was written.
    schema: Json,
    /// As it is meant, where that is written otherwise.
    meant: Option<Json>,
    /// Whether its references can be followed by their pointers alone.
    plain_references: OnceLock<bool>,
    /// Whether a `format` is asked for, or only told.
    formats: bool,
    /// Nothing where the schema cannot be used.
    compiled: OnceLock<Option<Validator>>,
    /// The same with its formats, where they are only told.
    strict: OnceLock<Option<Validator>>,
    /// Keywords compiled alone, for the parts of a value that are known.
    leaves: Mutex<BTreeMap<String, Option<Arc<Validator>>>>,
}

impl Contract {
    /// What a caller keeps, `format` included.
    #[must_use]
    pub fn of_arguments(schema: Json) -> Self {
        Self::new(schema, true)
    }

    /// What a tool keeps. Who gives something else than the `format` says is told about, not refused.
    #[must_use]
    pub fn of_result(schema: Json) -> Self {
        Self::new(schema, false)
    }

    fn new(schema: Json, formats: bool) -> Self {
        let meant = match dialect::meant(&schema) {
            Cow::Owned(meant) => Some(meant),
            Cow::Borrowed(_) => None,
        };
        let (plain_references, compiled, strict) =
            (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self {
            schema,
            meant,
            plain_references,
            formats,
            compiled,
            strict,
            leaves: Mutex::default(),
        }
    }

    /// The schema as it was written.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// The schema as it is meant.
    #[must_use]
    pub fn meant(&self) -> &Json {
        self.meant.as_ref().unwrap_or(&self.schema)
    }

    /// What speaks against a value: the first few objections, in the order of the schema. A schema that cannot be used
    /// objects to nothing.
    #[must_use]
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        let compiled = self
            .compiled
            .get_or_init(|| compile(self.meant(), self.formats));
        compiled
            .as_ref()
            .map(|compiled| compiled.violations(value))
            .unwrap_or_default()
    }

    /// What speaks against the formats of a value that nothing else speaks against.
    #[must_use]
    pub fn format_violations(&self, value: &Json) -> Vec<Violation> {
        let strict = self.strict.get_or_init(|| {
            let tells = !self.formats && tells_formats(self.meant());
            if tells {
                compile(self.meant(), true)
            } else {
                None
            }
        });
        strict
            .as_ref()
            .map(|strict| strict.violations(value))
            .unwrap_or_default()
    }

    /// What can be said before the run of a value of which only a part is known: an objection holds for every value that
    /// it can be, and so does the absence of one.
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
            .get_or_init(|| has_plain_references(self.meant()));
        Judge::new(self.meant(), plain_references, self).verdict(known)
    }
}

impl Leaves for Contract {
    fn objection(
        &self,
        draft: &str,
        keyword: &str,
        wanted: &Json,
        value: &Json,
    ) -> Option<Option<Violation>> {
        let alone = json!({"$schema": draft, keyword: wanted});
        let compiled = {
            // Nothing panics while it holds the lock.
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

/// Whether a `format` stands anywhere in a schema.
fn tells_formats(schema: &Json) -> bool {
    match schema {
        Json::Object(object) => object.contains_key("format") || object.values().any(tells_formats),
        Json::Array(items) => items.iter().any(tells_formats),
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
