//! Widens the type of a value, for a place whose later values may differ, such as the state of a `repeat`.

use crate::types::{Field, Rest, Type};

/// Returns the type of a value with literals widened at every depth, since later values may differ. Null alone becomes
/// `any`, and the elements of an empty list and the entries of an empty object may be anything.
pub(super) fn widened(initial: &Type) -> Type {
    widen(initial, &Type::Any)
}

/// Like [`widened`], but a null stays a null.
pub(super) fn without_literals(ty: &Type) -> Type {
    widen(ty, &Type::Null)
}

fn widen(ty: &Type, null: &Type) -> Type {
    match ty {
        Type::Literal(literal) => literal.base(),
        Type::Null => null.clone(),
        Type::Never => Type::Any,
        Type::List(element) => widen(element, null).list(),
        Type::Object(object) if object.fields.is_empty() && object.rest == Rest::Closed => {
            Type::Any.map()
        }
        Type::Object(object) => {
            let field = |field: &Field| Field {
                ty: widen(&field.ty, null),
                ..field.clone()
            };
            Type::object(
                object.fields.iter().map(field).collect(),
                object.rest.clone(),
            )
        }
        Type::Union(members) => Type::union(members.iter().map(|member| match member {
            Type::Null => Type::Null,
            other => widen(other, null),
        })),
        other => other.clone(),
    }
}
