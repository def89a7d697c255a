//! Combines types: results of operators, possible equality, and the common type of several values.

use super::literal::widened;
use super::{Node, Op, Operator};
use crate::builtins::operators::Arithmetic;
use crate::types::{ObjectType, Rest, Type, error_object, keeps, result_union};

/// Maximum number of different literals in an element type; beyond it, they are widened to their base types.
const MAX_LITERALS: usize = 12;

/// Returns the result of an operation that must be possible for every pair of alternatives; `None` if it is not.
pub(super) fn every_pair(
    left: &Type,
    right: &Type,
    one: impl Fn(&Type, &Type) -> Option<Type>,
) -> Option<Type> {
    let (left, right) = (widened(left), widened(right));
    let mut results = Vec::new();
    for first in left.members() {
        for second in right.members() {
            if matches!(first, Type::Invalid | Type::Never)
                || matches!(second, Type::Invalid | Type::Never)
            {
                return Some(Type::Any);
            }
            results.push(one(first, second)?);
        }
    }
    Some(Type::union(results))
}

/// Returns the arithmetic of a chain operator; `None` for comparisons and `in`.
pub(super) fn arithmetic_of(operator: Operator) -> Option<Arithmetic> {
    match operator {
        Operator::Add => Some(Arithmetic::Add),
        Operator::Subtract => Some(Arithmetic::Subtract),
        Operator::Multiply => Some(Arithmetic::Multiply),
        Operator::Divide | Operator::DivideNonzero => Some(Arithmetic::Divide),
        Operator::Remainder | Operator::RemainderNonzero => Some(Arithmetic::Remainder),
        Operator::Equal
        | Operator::NotEqual
        | Operator::Less
        | Operator::LessEqual
        | Operator::Greater
        | Operator::GreaterEqual
        | Operator::In => None,
    }
}

/// Returns the result of arithmetic on two types without alternatives; `None` if it is not possible.
pub(super) fn arithmetic(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    let add = operator == Operator::Add;
    let sum = add || operator == Operator::Subtract;
    Some(match (left, right) {
        (Type::Any, Type::Any) => Type::Any,
        (Type::Any, other) | (other, Type::Any) => {
            let numeric = matches!(other, Type::Int | Type::Uint | Type::Double);
            let instant = sum && *other == Type::Timestamp
                || operator != Operator::Remainder && *other == Type::Duration;
            let joined = add && matches!(other, Type::String | Type::Bytes | Type::List(_));
            if !numeric && !instant && !joined {
                return None;
            }
            if matches!(other, Type::String | Type::Bytes) {
                other.clone()
            } else {
                Type::Any
            }
        }
        (Type::Int, Type::Int) => Type::Int,
        (Type::Uint, Type::Uint) => Type::Uint,
        (Type::Double, Type::Double | Type::Int) | (Type::Int, Type::Double)
            if operator != Operator::Remainder =>
        {
            Type::Double
        }
        (Type::String, Type::String) if add => Type::String,
        (Type::Bytes, Type::Bytes) if add => Type::Bytes,
        (Type::List(left), Type::List(right)) if add => {
            common([(**left).clone(), (**right).clone()]).list()
        }
        (Type::Timestamp, Type::Duration) if sum => Type::Timestamp,
        (Type::Duration, Type::Timestamp) if add => Type::Timestamp,
        (Type::Duration, Type::Duration) if sum => Type::Duration,
        (Type::Duration, Type::Int)
            if matches!(operator, Operator::Multiply | Operator::Divide) =>
        {
            Type::Duration
        }
        (Type::Int, Type::Duration) if operator == Operator::Multiply => Type::Duration,
        (Type::Duration, Type::Duration) if operator == Operator::Divide => Type::Double,
        (Type::Timestamp, Type::Timestamp) if operator == Operator::Subtract => Type::Duration,
        _ => return None,
    })
}

/// Replaces division and remainder by the variant for which a zero on the right always fails, if the types are integers
/// or durations.
pub(super) fn exact(operator: Operator, left: &Type, right: &Type) -> Operator {
    let counted = |ty: &Type| {
        let counts =
            |member: &Type| matches!(widened(member), Type::Int | Type::Uint | Type::Duration);
        *ty != Type::Never && ty.members().iter().all(counts)
    };
    match operator {
        Operator::Divide if counted(left) && counted(right) => Operator::DivideNonzero,
        Operator::Remainder if counted(left) && counted(right) => Operator::RemainderNonzero,
        other => other,
    }
}

/// Returns bool if values of two types without alternatives can be ordered; `None` otherwise.
pub(super) fn ordered(left: &Type, right: &Type) -> Option<Type> {
    let scalar = |ty: &Type| {
        is_number(ty)
            || matches!(
                ty,
                Type::Bool | Type::String | Type::Bytes | Type::Timestamp | Type::Duration
            )
    };
    let possible = match (left, right) {
        (Type::Any, Type::Any) => true,
        (Type::Any, other) | (other, Type::Any) => scalar(other),
        (left, right) => is_number(left) && is_number(right) || left == right && scalar(left),
    };
    possible.then_some(Type::Bool)
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Uint | Type::Double)
}

/// Returns true if some value of one type equals some value of the other. A comparison with null is always allowed.
pub(super) fn may_equal(left: &Type, right: &Type) -> bool {
    if *left == Type::Null || *right == Type::Null {
        return true;
    }
    left.members().iter().any(|first| {
        right
            .members()
            .iter()
            .any(|second| members_may_equal(first, second))
    })
}

fn members_may_equal(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Any | Type::Invalid | Type::Never, _)
        | (_, Type::Any | Type::Invalid | Type::Never)
        | (Type::Error, Type::Error) => true,
        (Type::Literal(left), Type::Literal(right)) => left == right,
        (Type::Literal(literal), other) | (other, Type::Literal(literal)) => {
            members_may_equal(&literal.base(), other)
        }
        (Type::List(left), Type::List(right)) => may_equal(left, right),
        (Type::Map(left), Type::Map(right)) => {
            may_equal(&left.key, &right.key) && may_equal(&left.value, &right.value)
        }
        (Type::Map(map), Type::Object(object)) | (Type::Object(object), Type::Map(map)) => {
            may_equal(&map.key, &Type::String)
                && object
                    .fields
                    .iter()
                    .all(|field| !field.required || may_equal(&field.ty, &map.value))
        }
        (Type::Object(left), Type::Object(right)) => {
            objects_may_equal(left, right) && objects_may_equal(right, left)
        }
        (Type::Result(value), other) | (other, Type::Result(value)) => {
            may_equal(&result_union(value), other)
        }
        (Type::Error, other) | (other, Type::Error) => may_equal(&error_object(), other),
        (left, right) => left == right || is_number(left) && is_number(right),
    }
}

/// Returns true if the required fields of one object are possible in the other.
fn objects_may_equal(left: &ObjectType, right: &ObjectType) -> bool {
    left.fields
        .iter()
        .filter(|field| field.required)
        .all(|field| match right.field(&field.name) {
            Some(other) => may_equal(&field.ty, &other.ty),
            None => right.rest != Rest::Closed,
        })
}

/// Returns the type of the elements of a list: their union, in which a list type replaces narrower ones.
pub(super) fn common(types: impl IntoIterator<Item = Type>) -> Type {
    let mut kept: Vec<Type> = Vec::new();
    for ty in types {
        if kept.iter().any(|other| *other == ty || takes(other, &ty)) {
            continue;
        }
        kept.retain(|other| !takes(&ty, other));
        kept.push(ty);
        if kept.len() > MAX_LITERALS {
            kept = Type::union(kept.iter().map(widened)).members().to_vec();
        }
    }
    Type::union(kept)
}

fn takes(wide: &Type, narrow: &Type) -> bool {
    matches!((wide, narrow), (Type::List(_), Type::List(_))) && keeps(narrow, wide)
}

/// Returns true if an operator can be appended to the text of an expression without parentheses.
pub(super) fn is_simple(node: &Node) -> bool {
    !matches!(
        node.op,
        Op::Not(_)
            | Op::Negate(_)
            | Op::And(_)
            | Op::Or(_)
            | Op::Chain { .. }
            | Op::Coalesce(_)
            | Op::Conditional { .. }
            | Op::Match { .. }
            | Op::Let { .. }
            | Op::Is { .. }
    )
}
