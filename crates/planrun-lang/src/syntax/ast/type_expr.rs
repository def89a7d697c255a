//! Type expressions as written.

use std::sync::Arc;

use super::{Literal, Name};
use crate::source::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct TypeExpr {
    pub span: Span,
    pub kind: TypeExprKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TypeExprKind {
    /// A built-in type or a named one.
    Name(Arc<str>),
    /// `"a"`, `3`, `true`, `null`
    Literal(Literal),
    /// `A | B`: at least two members.
    Union(Vec<TypeExpr>),
    /// `T[]`, `T?` and repetitions of them: at least one suffix.
    Suffixed {
        base: Box<TypeExpr>,
        suffixes: Vec<TypeSuffix>,
    },
    /// `map<string, T>`
    Map {
        key: Box<TypeExpr>,
        value: Box<TypeExpr>,
    },
    /// `{ a: T, b?: T }`
    Object(Vec<FieldType>),
    /// `Result<T>`
    Result(Box<TypeExpr>),
    /// Invalid text; already reported.
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeSuffix {
    /// `[]`
    List,
    /// `?`
    Optional,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FieldType {
    pub span: Span,
    pub name: Name,
    pub optional: bool,
    pub ty: TypeExpr,
}
