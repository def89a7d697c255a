//! Literals; each has its own type where the type system can express it.

use super::{Op, Typed};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Literal, Type};
use crate::value::Value;

/// Checks a literal.
pub(super) fn literal(literal: &ast::Literal, span: Span) -> Typed {
    let (value, ty) = value(literal);
    Typed::new(Op::Constant(value), ty, span)
}

/// Returns the value of a literal and the type of exactly that value.
pub(super) fn value(literal: &ast::Literal) -> (Value, Type) {
    match literal {
        ast::Literal::Null => (Value::Null, Type::Null),
        ast::Literal::Bool(truth) => (Value::Bool(*truth), Type::Literal(Literal::Bool(*truth))),
        ast::Literal::Int(number) => (Value::Int(*number), Type::Literal(Literal::Int(*number))),
        ast::Literal::Uint(number) => (Value::Uint(*number), Type::Uint),
        ast::Literal::Double(number) => (Value::Double(*number), Type::Double),
        ast::Literal::String(text) => (
            Value::String(text.clone()),
            Type::Literal(Literal::String(text.clone())),
        ),
        ast::Literal::Bytes(bytes) => (Value::Bytes(bytes.clone()), Type::Bytes),
        ast::Literal::Duration(length) => (Value::Duration(*length), Type::Duration),
    }
}

/// Returns the type of all values of the same kind: the type of a literal in a computation.
pub(super) fn widened(ty: &Type) -> Type {
    match ty {
        Type::Literal(literal) => literal.base(),
        Type::Union(members) => Type::union(members.iter().map(widened)),
        other => other.clone(),
    }
}
