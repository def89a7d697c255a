//! The type of `merge(a, b)`: the fields of both, those of `b` before those of `a`.

use crate::types::{Field, ObjectType, Rest, Type, error_object, result_union};

/// Highest number of pairs of alternatives whose merged types are formed.
const MAX_PAIRS: usize = 16;

/// Returns the type of the merged value; `None` if either may be something else than an object or map of known type.
pub(super) fn merged(first: &Type, second: &Type) -> Option<Type> {
    let (first, second) = (as_objects(first)?, as_objects(second)?);
    if first.len() * second.len() > MAX_PAIRS {
        return None;
    }
    let pairs = first.iter().flat_map(|first| {
        second
            .iter()
            .map(move |second| merged_objects(first, second))
    });
    Some(Type::union(pairs))
}

/// Returns the type of an object of the first type merged with one of the second.
fn merged_objects(first: &ObjectType, second: &ObjectType) -> Type {
    let own = first.fields.iter().map(|field| Field {
        name: field.name.clone(),
        ty: replaced(&field.ty, second, &field.name),
        required: field.required
            || second
                .field(&field.name)
                .is_some_and(|given| given.required),
    });
    let added = second.fields.iter();
    let added = added.filter(|field| first.field(&field.name).is_none());
    let added = added.map(|field| Field {
        ty: match &first.rest {
            _ if field.required => field.ty.clone(),
            Rest::Closed => field.ty.clone(),
            Rest::Open => Type::Any,
            Rest::Typed(ty) => Type::union([field.ty.clone(), ty.clone()]),
        },
        ..field.clone()
    });
    let fields: Vec<_> = own.chain(added).collect();
    let rest = match (&first.rest, &second.rest) {
        (rest, Rest::Closed) | (Rest::Closed, rest) => rest.clone(),
        (Rest::Typed(one), Rest::Typed(other)) => {
            Rest::Typed(Type::union([one.clone(), other.clone()]))
        }
        (Rest::Open, Rest::Open) => Rest::Open,
        (Rest::Open, Rest::Typed(_)) | (Rest::Typed(_), Rest::Open) => Rest::Typed(Type::Any),
    };
    match rest {
        Rest::Typed(value) if fields.is_empty() => value.map(),
        rest => Type::object(fields, rest),
    }
}

/// Returns the type of a field of this type after the merge with an object.
fn replaced(ty: &Type, by: &ObjectType, name: &str) -> Type {
    match (by.field(name), &by.rest) {
        (Some(given), _) if given.required => given.ty.clone(),
        (Some(given), _) => Type::union([ty.clone(), given.value_type()]),
        (None, Rest::Closed) => ty.clone(),
        (None, Rest::Open) => Type::Any,
        (None, Rest::Typed(given)) => Type::union([ty.clone(), given.clone()]),
    }
}

/// Returns the alternatives of a type as object types. A map with texts as keys is one without declared fields.
fn as_objects(ty: &Type) -> Option<Vec<ObjectType>> {
    let alternatives = ty.members().iter().map(|member| match member {
        Type::Object(object) => Some(vec![ObjectType::clone(object)]),
        Type::Map(map) if map.key == Type::String => Some(vec![ObjectType {
            fields: Vec::new(),
            rest: Rest::Typed(map.value.clone()),
        }]),
        Type::Result(value) => as_objects(&result_union(value)),
        Type::Error => as_objects(&error_object()),
        _ => None,
    });
    let alternatives: Option<Vec<_>> = alternatives.collect();
    Some(alternatives?.concat())
}
