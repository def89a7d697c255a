//! Validates JSON against a JSON Schema, for constraints that types cannot express.

use super::effort::Effort;
use crate::value::{counted, shortened};
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value as Json;

/// Maximum number of violations reported for one instance.
const MAX_VIOLATIONS: usize = 8;
/// Maximum number of backtracking steps of a pattern with look-around; other patterns match in linear time.
const BACKTRACK_LIMIT: usize = 50_000;
/// Maximum size of a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// Maximum length of a quote from a schema or an instance, in characters.
pub(super) const QUOTED: usize = 80;

const TOO_MUCH_WORK: &str =
    "its references lead to the same schemas in too many ways to check a value against it";

/// The values of `format` that are enforced for arguments.
const ENFORCED: [&str; 11] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
    "regex",
];
/// Formats that the library can validate, but that are treated as annotations.
const NOT_ENFORCED: [&str; 8] = [
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "relative-json-pointer",
    "uri-reference",
    "uri-template",
];

/// Returns true if this `format` is enforced for arguments.
pub(super) fn is_enforced(format: &Json) -> bool {
    format
        .as_str()
        .is_some_and(|format| ENFORCED.contains(&format))
}

/// A compiled schema. It never reads files or accesses the network, whatever the schema refers to.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    effort: Effort,
}

/// The reason why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// One violation of a schema by an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The position as a JSON pointer; empty for the whole instance.
    pub pointer: String,
    /// The violated keyword, such as `minLength`.
    pub keyword: String,
    /// The requirement that is not met: `must be at least 3`.
    pub message: String,
}

impl Validator {
    /// Compiles a schema. `$schema` selects the draft; the default is 2020-12.
    ///
    /// # Errors
    /// If the schema is invalid, refers to another document, or has a pattern that cannot be compiled.
    pub fn new(schema: &Json) -> Result<Self, SchemaError> {
        Self::with_documents(schema, &[])
    }

    /// Compiles a schema that may refer to `documents` by their addresses.
    ///
    /// # Errors
    /// As for [`Validator::new`].
    pub fn with_documents(
        schema: &Json,
        documents: &[(String, Json)],
    ) -> Result<Self, SchemaError> {
        Self::build(schema, documents, jsonschema::options())
    }

    /// Like [`Validator::with_documents`], but also enforces `format` where the draft treats it as an annotation.
    ///
    /// # Errors
    /// As for [`Validator::new`].
    pub(crate) fn with_formats(
        schema: &Json,
        documents: &[(String, Json)],
    ) -> Result<Self, SchemaError> {
        Self::build(
            schema,
            documents,
            jsonschema::options().should_validate_formats(true),
        )
    }

    /// Compiles a schema whose [`ENFORCED`] formats are enforced in every draft; all other formats are annotations.
    ///
    /// # Errors
    /// As for [`Validator::new`].
    pub(super) fn enforcing_formats(schema: &Json) -> Result<Self, SchemaError> {
        let options = NOT_ENFORCED.into_iter().fold(
            jsonschema::options().should_validate_formats(true),
            |options, name| options.with_format(name, |_| true),
        );
        Self::build(schema, &[], options)
    }

    fn build(
        schema: &Json,
        documents: &[(String, Json)],
        options: jsonschema::ValidationOptions,
    ) -> Result<Self, SchemaError> {
        let effort = Effort::of(schema);
        if effort.is_excessive() {
            return Err(SchemaError::new(&TOO_MUCH_WORK));
        }
        let draft = jsonschema::Draft::default().detect(schema);
        let mut registry = jsonschema::Registry::new().draft(draft);
        for (address, document) in documents {
            registry = registry
                .add(address.as_str(), document)
                .map_err(|error| SchemaError(error.to_string()))?;
        }
        let registry = registry
            .prepare()
            .map_err(|error| SchemaError(error.to_string()))?;
        let options = options.offline().with_registry(&registry);
        let linear = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let look_around = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACK_LIMIT)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let compiled = options.clone().with_pattern_options(linear).build(schema);
        let compiled =
            compiled.or_else(|_| options.with_pattern_options(look_around).build(schema));
        compiled
            .map(|compiled| Self { compiled, effort })
            .map_err(|error| schema_error(&error))
    }

    /// Returns true if the instance conforms to the schema.
    #[must_use]
    pub fn is_valid(&self, instance: &Json) -> bool {
        self.compiled.is_valid(instance)
    }

    /// Returns the first few violations, in the order of the schema. Empty if the instance conforms.
    #[must_use]
    pub fn violations(&self, instance: &Json) -> Vec<Violation> {
        if self.compiled.is_valid(instance) {
            return Vec::new();
        }
        // The branches of `allOf`, `anyOf` and `oneOf` collect all their errors before the first one is known.
        if !self.effort.can_collect(instance) {
            return vec![Violation {
                pointer: String::new(),
                keyword: String::new(),
                message: "does not conform to the schema".to_owned(),
            }];
        }
        self.compiled
            .iter_errors(instance)
            .take(MAX_VIOLATIONS)
            .map(|error| violation(&error))
            .collect()
    }
}

impl SchemaError {
    pub(crate) fn new(reason: &impl ToString) -> Self {
        Self(reason.to_string())
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.pointer.trim_start_matches('/').replace('/', ".");
        if place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{place} {}", self.message)
        }
    }
}

fn schema_error(error: &ValidationError<'_>) -> SchemaError {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" at {place}")
    };
    SchemaError(match error.kind() {
        Kind::Referencing(_) => {
            format!(
                "the schema{place} has a `$ref` that cannot be resolved: {}",
                shortened(&error.to_string(), QUOTED)
            )
        }
        _ if place.ends_with("/type") => {
            let types = "array, boolean, integer, null, number, object and string";
            format!(
                "the schema{place} is invalid: {} is not a type; the types are {types}",
                shortened(&error.instance().to_string(), QUOTED)
            )
        }
        _ => format!("the schema{place} is invalid: it {}", sentence(error)),
    })
}

fn violation(error: &ValidationError<'_>) -> Violation {
    Violation {
        pointer: error.instance_path().to_string(),
        keyword: error.kind().keyword().to_owned(),
        message: sentence(error),
    }
}

/// Describes the requirement that is not met.
fn sentence(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => format!("must be of type {one}"),
        Kind::Required { property } => {
            format!("lacks the field {}", property.as_str().unwrap_or_default())
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!(
                "must not have the field {}",
                shortened(&unexpected.join(", "), QUOTED)
            )
        }
        Kind::Enum { options } => {
            format!("must be one of {}", shortened(&options.to_string(), QUOTED))
        }
        Kind::Constant { expected_value } => {
            format!("must be {}", shortened(&expected_value.to_string(), QUOTED))
        }
        Kind::Pattern { pattern } => {
            format!("must match the pattern {}", shortened(pattern, QUOTED))
        }
        Kind::Format { format } => format!("must be of the format {format}"),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("must have at most {}", counted(*limit, "character")),
        Kind::MinItems { limit } => format!("must have at least {}", counted(*limit, "element")),
        Kind::MaxItems { limit } => format!("must have at most {}", counted(*limit, "element")),
        Kind::MinProperties { limit } => format!("must have at least {}", counted(*limit, "field")),
        Kind::MaxProperties { limit } => format!("must have at most {}", counted(*limit, "field")),
        Kind::UniqueItems => "must not have equal elements".to_owned(),
        Kind::Contains => "has no element that matches `contains`".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let place = error.instance_path().to_string();
            let alternatives = context.iter().map(|errors| requirements(errors, &place));
            none_of(&alternatives.collect::<Vec<_>>())
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one alternative, but only one may fit".to_owned()
        }
        Kind::Not { .. } => "must not match the schema of `not`".to_owned(),
        Kind::FalseSchema => "must not be present".to_owned(),
        Kind::BacktrackLimitExceeded { .. } => {
            "takes too long to match against its pattern".to_owned()
        }
        _ => shortened(&error.to_string(), QUOTED),
    }
}

/// Describes what a value at this place does not meet of one alternative.
fn requirements(errors: &[ValidationError<'_>], place: &str) -> String {
    let errors = errors.iter().map(|error| {
        let mut violation = violation(error);
        if let Some(below) = violation.pointer.strip_prefix(place) {
            violation.pointer = below.to_owned();
        }
        violation.to_string()
    });
    errors.collect::<Vec<_>>().join(" and ")
}

/// Describes that a value fits none of several alternatives, with what it does not meet of each, if that is short.
pub(super) fn none_of(alternatives: &[String]) -> String {
    let is_short =
        alternatives.len() <= 3 && alternatives.iter().map(String::len).sum::<usize>() < 160;
    if alternatives.is_empty() || !is_short {
        return "fits none of the allowed alternatives".to_owned();
    }
    format!(
        "fits none of the allowed alternatives: it {}",
        alternatives.join("; it ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(schema: &Json, instance: &Json) -> Vec<String> {
        Validator::new(schema)
            .unwrap()
            .violations(instance)
            .iter()
            .map(Violation::to_string)
            .collect()
    }

    #[test]
    fn objections_are_short_sentences_with_a_place() {
        let schema = json!({"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
            "id": {"type": "string"}, "n": {"type": "integer", "minimum": 3}, "s": {"pattern": "^a+$"}}});
        assert_eq!(
            messages(&schema, &json!({"id": "x", "n": 2})),
            ["n must be at least 3"]
        );
        assert_eq!(messages(&schema, &json!({})), ["lacks the field id"]);
        let either = json!({"properties": {"to": {
            "anyOf": [{"required": ["id"]}, {"required": ["name", "city"]}]}}});
        assert_eq!(
            messages(&either, &json!({"to": {}})),
            [
                "to fits none of the allowed alternatives: it lacks the field id; it lacks the field name and lacks the \
                 field city"
            ]
        );
        assert_eq!(
            messages(&schema, &json!({"id": "x", "y": 1})),
            ["must not have the field y"]
        );
        assert_eq!(
            messages(&schema, &json!({"id": "x", "s": "b"})),
            ["s must match the pattern ^a+$"]
        );
        assert!(
            messages(&json!({"items": {"type": "string"}}), &json!(vec![1; 100])).len()
                <= MAX_VIOLATIONS
        );
    }

    #[test]
    fn a_short_schema_with_very_many_paths_takes_little_work() {
        let of = |keyword: &str, length: usize| {
            let mut schema = json!({ "properties": { "x": { "$ref": "#/$defs/d0" } } });
            for at in 0..length {
                let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
                schema["$defs"][format!("d{at}")] = json!({ keyword: vec![next; 8] });
            }
            schema["$defs"][format!("d{length}")] = json!({ "type": "string" });
            schema
        };
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let several = messages(&of(keyword, 6), &json!({ "x": 1 }));
            assert_eq!(several, ["does not conform to the schema"]);
            let too_many = Validator::new(&of(keyword, 30)).unwrap_err().to_string();
            assert!(too_many.contains("in too many ways"), "{too_many}");
        }
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_called_so() {
        for reference in ["#/$defs/none", "http://127.0.0.1:1/schema.json"] {
            let error = Validator::new(&json!({"$ref": reference})).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("has a `$ref` that cannot be resolved"),
                "{message}"
            );
        }
    }

    #[test]
    fn nothing_is_fetched_and_patterns_do_not_blow_up() {
        assert!(Validator::new(&json!({"$ref": "http://127.0.0.1:1/schema.json"})).is_err());
        assert!(Validator::new(&json!({"$ref": "file:///etc/passwd"})).is_err());
        assert!(Validator::new(&json!({"type": "banana"})).is_err());
        assert!(Validator::new(&json!({"pattern": "("})).is_err());
        let text = "a".repeat(50_000);
        let begin = std::time::Instant::now();
        assert!(!messages(&json!({"pattern": "^(a+)+$"}), &json!(format!("{text}!"))).is_empty());
        assert!(
            !messages(
                &json!({"pattern": "^(?=(a+)+b)(a+)+$"}),
                &json!(format!("{}!", &text[..40]))
            )
            .is_empty()
        );
        assert!(begin.elapsed().as_secs() < 5);
    }
}
