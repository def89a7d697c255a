//! JSON Schema and types, both ways, and the validator for what types cannot carry.

mod contract;
mod dialect;
mod intersect;
mod judge;
mod read;
mod validator;
mod write;

pub use contract::Contract;
pub use judge::{Known, KnownField, Verdict, placed_field};
pub use read::from_schema;
pub use validator::{SchemaError, Validator, Violation};
pub use write::to_schema;

/// The keyword that keeps a type which JSON has no word for.
pub(crate) const TYPE_KEYWORD: &str = "x-planrun-type";
