//! Named reasons why an expression has no value.

/// The reason why the evaluation of an expression failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No overload of the function or operator accepts these types.
    NoOverload,
    /// The result of integer arithmetic is out of range.
    Overflow,
    DivideByZero,
    /// A key that the map or object does not have.
    NoSuchKey,
    /// A field that the type declares but the value does not have.
    NoSuchField,
    IndexOutOfRange,
    /// A result outside the range of its type, such as a timestamp after the year 9999.
    Range,
    /// An argument of the right type whose value is not usable.
    InvalidArgument,
    /// The same key occurs twice in one map.
    DuplicateKey,
    /// A name or function that does not exist.
    Unknown,
    /// A value that does not fit the declared type.
    Misfit,
    /// The evaluation exceeded its cost limit.
    CostLimit,
}
