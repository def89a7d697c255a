//! Types of values, what fits into what, and the signatures of tools.

mod absence;
mod call_effect;
mod check;
mod convert;
mod decode;
mod display;
mod effect;
mod error_class;
mod failure_kind;
mod fit;
mod mismatch;
mod number;
mod observed;
mod refine;
mod schema;
mod sensitive;
mod shape;
mod signature;
mod size;
mod union;

use std::sync::Arc;

pub use absence::without_absent;
pub use call_effect::{GivenArgument, effect_of, method_effect};
pub use check::{check_value, type_of};
pub use convert::{convert, converted, keeps};
pub use decode::{decode, encode};
pub use display::TypeNames;
pub use effect::Effect;
pub use error_class::{Auth, Budget, Denied, ErrorClass, ErrorPattern, Transient, Validation};
pub use failure_kind::FailureKind;
pub use fit::{Fit, fit};
pub use mismatch::{Misfit, Mismatch, PathPart};
pub use observed::{Observed, Shape};
pub use refine::{Refinement, refine};
pub(crate) use schema::TYPE_KEYWORD;
pub use schema::{
    Contract, Known, KnownField, SchemaError, Validator, Verdict, Violation, from_schema,
    placed_field, to_schema,
};
pub use sensitive::{sensitive_arguments, sensitive_result, sounds_secret};
pub use shape::{FieldLookup, error_object, field, field_names, result_union};
pub use signature::{ANY_SKILL, BUILT_IN, CallKind, KEY_TTL, Parameter, Signature, UsagePaths};

/// The type of a value.
///
/// Unions are flat, sorted by no one, and never hold `Any`, `Never` or another union; [`Type::union`] keeps that.
/// `T?` as the type of a value is the union of `T` and `Null`; as the type of a field it also lets the field be missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value at all: the type of what always fails. It fits everywhere.
    Never,
    /// Nothing is known. It fits everywhere with a check at run time.
    Any,
    /// An earlier finding has spoken: nothing more is said about values of this type.
    Invalid,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types as values.
    Type,
    /// Exactly one value.
    Literal(Literal),
    List(Arc<Type>),
    Map(Arc<MapType>),
    Object(Arc<ObjectType>),
    /// At least two members.
    Union(Arc<[Type]>),
    /// `{ ok: true, value: T } | { ok: false, error: Error }`
    Result(Arc<Type>),
    /// An error value: `class, message, step, attempt, retryable, retry_after, details, cause`.
    Error,
}

/// A value that is its own type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    String(Arc<str>),
}

/// Keys and values of a map. Keys are `string` in JSON; CEL maps also have `int`, `uint` and `bool` keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapType {
    pub key: Type,
    pub value: Type,
}

/// The known fields of an object, in the order of their declaration, and what is known of the rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectType {
    pub fields: Vec<Field>,
    pub rest: Rest,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub name: Arc<str>,
    pub ty: Type,
    /// Whether it is always there. A missing field reads as null.
    pub required: bool,
}

/// Fields beyond the declared ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rest {
    /// There are none (`additionalProperties: false`, object literals).
    Closed,
    /// There may be some; a plan reads only what is declared.
    Open,
    /// There may be some, of this type; a plan may read them, as optional.
    Typed(Type),
}
