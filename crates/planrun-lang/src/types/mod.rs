//! Types of values, type compatibility, and the signatures of tools.

mod absence;
mod alternatives;
mod call_effect;
mod check;
mod convert;
mod decode;
mod display;
mod effect;
mod error_class;
mod excludes;
mod failure_kind;
mod fit;
mod mismatch;
mod number;
mod observed;
mod refine;
mod schema;
mod shape;
mod signature;
mod size;
mod surplus;
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
pub use schema::{
    Contract, Known, KnownField, SchemaError, Validator, Verdict, Violation, from_schema,
    is_sensitive, marked_paths, placed_field, sensitive_paths, to_schema,
};
pub(crate) use schema::{Kinds, TYPE_KEYWORD};
pub use shape::{FieldLookup, error_object, field, field_names, may_be_undeclared, result_union};
pub use signature::{ANY_SKILL, BUILT_IN, CallKind, KEY_TTL, Parameter, Signature, UsagePaths};
pub use surplus::convert_from;

/// The type of a value.
///
/// Unions are flat and unsorted, and never hold `Any`, `Never` or another union; [`Type::union`] ensures that. As the
/// type of a value, `T?` is the union of `T` and `Null`; as the type of a field, it also means that the field may be
/// missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// The type of an expression that always fails. It has no values and fits everywhere.
    Never,
    /// Nothing is known about the value. It fits everywhere, subject to a check at run time.
    Any,
    /// An error has already been reported; no further diagnostics are reported for values of this type.
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
    /// The type of values that are types.
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

/// A value used as a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    String(Arc<str>),
}

/// Key and value types of a map. Keys are `string` in JSON; CEL maps also have `int`, `uint` and `bool` keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapType {
    pub key: Type,
    pub value: Type,
}

/// The declared fields of an object, in the order of declaration, and the rule for other fields.
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
    /// Whether the field is always present. A missing field reads as null.
    pub required: bool,
}

impl Field {
    /// Returns the type of what is read from it: null if it is missing.
    #[must_use]
    pub fn value_type(&self) -> Type {
        if self.required {
            self.ty.clone()
        } else {
            self.ty.clone().optional()
        }
    }

    /// Returns true if reading it may give null: it may be missing, or its value may be null.
    #[must_use]
    pub fn may_be_null(&self) -> bool {
        !self.required || self.ty.admits_null()
    }
}

/// The rule for undeclared fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rest {
    /// There are none (`additionalProperties: false`, object literals).
    Closed,
    /// There may be some, but a plan can read only declared fields.
    Open,
    /// There may be some of this type; a plan may read them as optional fields.
    Typed(Type),
}
