//! Intersects types, for `allOf` and for keywords next to a `$ref`.

use crate::types::{Field, Literal, MapType, ObjectType, Rest, Type};

/// Maximum number of alternatives when unions are combined; beyond it only the first type is kept.
const MAX_ALTERNATIVES: usize = 256;

/// Returns the type of the values that both types allow, or a slightly wider type if that cannot be expressed exactly.
pub(super) fn intersect(left: &Type, right: &Type) -> Type {
    if left == right {
        return left.clone();
    }
    match (left, right) {
        (Type::Any | Type::Invalid, other) | (other, Type::Any | Type::Invalid) => other.clone(),
        (Type::Union(members), other) | (other, Type::Union(members)) => {
            if members.len() * other.members().len() > MAX_ALTERNATIVES {
                return left.clone();
            }
            Type::union(members.iter().map(|member| intersect(member, other)))
        }
        (Type::Literal(literal), other) | (other, Type::Literal(literal)) => {
            literal_within(literal, other)
        }
        (Type::Int, Type::Double) | (Type::Double, Type::Int) => Type::Int,
        (Type::Uint, Type::Int | Type::Double) | (Type::Int | Type::Double, Type::Uint) => {
            Type::Uint
        }
        (Type::String, special @ (Type::Timestamp | Type::Duration | Type::Bytes))
        | (special @ (Type::Timestamp | Type::Duration | Type::Bytes), Type::String) => {
            special.clone()
        }
        (Type::List(left), Type::List(right)) => intersect(left, right).list(),
        (Type::Map(left), Type::Map(right)) => Type::Map(std::sync::Arc::new(MapType {
            key: intersect(&left.key, &right.key),
            value: intersect(&left.value, &right.value),
        })),
        (Type::Map(map), Type::Object(object)) | (Type::Object(object), Type::Map(map)) => {
            map_and_object(map, object)
        }
        (Type::Object(left), Type::Object(right)) => objects(left, right),
        (Type::Error, Type::Map(_) | Type::Object(_))
        | (Type::Map(_) | Type::Object(_), Type::Error) => Type::Error,
        _ => Type::Never,
    }
}

/// Narrows a type by a constraint on values of one kind; alternatives of other kinds stay unchanged.
pub(super) fn refined(ty: &Type, kind: &Type) -> Type {
    let object = |ty: &Type| {
        matches!(
            ty,
            Type::Object(_) | Type::Map(_) | Type::Result(_) | Type::Error
        )
    };
    match (ty, kind) {
        (Type::Union(members), _) => {
            Type::union(members.iter().map(|member| refined(member, kind)))
        }
        (Type::List(_), Type::List(_)) => intersect(ty, kind),
        _ if object(ty) && object(kind) => intersect(ty, kind),
        _ => ty.clone(),
    }
}

fn literal_within(literal: &Literal, other: &Type) -> Type {
    let fits = match (literal, other) {
        (Literal::Int(_), Type::Double) => true,
        (Literal::Int(number), Type::Uint) => *number >= 0,
        _ => literal.base() == *other,
    };
    if fits {
        Type::Literal(literal.clone())
    } else {
        Type::Never
    }
}

fn map_and_object(map: &MapType, object: &ObjectType) -> Type {
    let narrowed = |field: &Field| Field {
        ty: intersect(&field.ty, &map.value),
        ..field.clone()
    };
    let rest = match &object.rest {
        Rest::Closed => Rest::Closed,
        Rest::Open if map.value == Type::Any => Rest::Open,
        Rest::Open => Rest::Typed(map.value.clone()),
        Rest::Typed(ty) => Rest::Typed(intersect(ty, &map.value)),
    };
    Type::object(object.fields.iter().map(narrowed).collect(), rest)
}

fn objects(left: &ObjectType, right: &ObjectType) -> Type {
    let mut fields = Vec::new();
    for field in &left.fields {
        match right.field(&field.name) {
            Some(other) => fields.push(Field {
                name: field.name.clone(),
                ty: intersect(&field.ty, &other.ty),
                required: field.required || other.required,
            }),
            None => fields.extend(one_sided(field, &right.rest)),
        }
    }
    let new = right
        .fields
        .iter()
        .filter(|field| left.field(&field.name).is_none());
    fields.extend(new.filter_map(|field| one_sided(field, &left.rest)));
    let rest = match (&left.rest, &right.rest) {
        (Rest::Closed, _) | (_, Rest::Closed) => Rest::Closed,
        (Rest::Open, other) | (other, Rest::Open) => other.clone(),
        (Rest::Typed(left), Rest::Typed(right)) => Rest::Typed(intersect(left, right)),
    };
    Type::object(fields, rest)
}

/// Returns a field that only one side declares, narrowed by the other side's rule for undeclared fields. `None` if it
/// cannot be present.
fn one_sided(field: &Field, rest: &Rest) -> Option<Field> {
    match rest {
        Rest::Open => Some(field.clone()),
        Rest::Typed(ty) => Some(Field {
            ty: intersect(&field.ty, ty),
            ..field.clone()
        }),
        Rest::Closed if field.required => Some(Field {
            ty: Type::Never,
            ..field.clone()
        }),
        Rest::Closed => None,
    }
}
