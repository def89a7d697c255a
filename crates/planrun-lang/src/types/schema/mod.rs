//! Conversion between JSON Schema and types, and the validator for constraints that types cannot express.

mod contract;
mod dialect;
mod effort;
mod intersect;
mod judge;
mod kinds;
mod marks;
mod read;
mod validator;
mod write;

pub use contract::Contract;
pub use judge::{Known, KnownField, Verdict, placed_field};
pub(crate) use kinds::Kinds;
pub use marks::{is_sensitive, marked_paths, sensitive_paths};
pub use read::from_schema;
pub use validator::{SchemaError, Validator, Violation};
pub use write::to_schema;

/// Keyword that records a type which JSON Schema has no keyword for.
pub(crate) const TYPE_KEYWORD: &str = "x-planrun-type";
