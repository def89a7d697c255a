//! Why a computation has no value, as far as that has a name.

/// What went wrong in an expression.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No form of the function or operator takes values of these types.
    NoOverload,
    /// The result of integer arithmetic does not fit.
    Overflow,
    DivideByZero,
    /// A key that a map or an object does not have.
    NoSuchKey,
    /// A field that its type promises, and that is not there.
    NoSuchField,
    IndexOutOfRange,
    /// A result outside of what its type can hold, such as a timestamp beyond the year 9999.
    Range,
    /// The right type and a value that cannot be used.
    InvalidArgument,
    /// The same key twice in one map.
    DuplicateKey,
    /// A name or function that does not exist.
    Unknown,
    /// A value that is none of the type of its place.
    Misfit,
    /// The evaluation does more work than its limit allows.
    CostLimit,
}
