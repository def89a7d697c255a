//! Types that exclude each other: no JSON value has both.

use super::{Kinds, ObjectType, Type};

impl Type {
    /// Returns true if no value that arrives as JSON has both types. A string may stand for bytes, a timestamp or a
    /// duration, and a number for any kind of number.
    #[must_use]
    pub fn excludes(&self, other: &Self) -> bool {
        let (members, others) = (self.members(), other.members());
        members
            .iter()
            .all(|one| others.iter().all(|other| exclude(one, other)))
    }
}

fn exclude(one: &Type, other: &Type) -> bool {
    match (one, other) {
        // No type is known to exclude the type of types.
        (Type::Type, _) | (_, Type::Type) => false,
        _ if !Kinds::of_type(one).intersects(Kinds::of_type(other)) => true,
        (Type::Literal(one), Type::Literal(other)) => one != other,
        (Type::Object(one), Type::Object(other)) => objects_exclude(one, other),
        _ => false,
    }
}

/// Returns true if the types of a field exclude each other which at least one of the objects must have.
fn objects_exclude(one: &ObjectType, other: &ObjectType) -> bool {
    one.fields.iter().any(|field| {
        other.field(&field.name).is_some_and(|same| {
            (field.required || same.required) && field.value_type().excludes(&same.value_type())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Field, Rest};
    use super::*;

    fn object(ty: Type, required: bool) -> Type {
        let field = Field {
            name: "x".into(),
            ty,
            required,
        };
        Type::object(vec![field], Rest::Open)
    }

    #[test]
    fn types_without_a_common_value_exclude_each_other() {
        let excluding = [
            (Type::Int, Type::String),
            (Type::text("a"), Type::text("b")),
            (Type::String.list(), Type::String),
            (object(Type::Int, true), object(Type::String, true)),
            (object(Type::Int, true), object(Type::String, false)),
        ];
        for (one, other) in excluding {
            assert!(
                one.excludes(&other) && other.excludes(&one),
                "{one}, {other}"
            );
        }
        let compatible = [
            (Type::Any, Type::String),
            (Type::Int, Type::Double),
            (Type::String, Type::Timestamp),
            (Type::Int.list(), Type::String.list()),
            (Type::Int.optional(), Type::String.optional()),
            (object(Type::Int, false), object(Type::String, false)),
            (
                object(Type::Int.optional(), true),
                object(Type::String, false),
            ),
            (object(Type::Int, true), Type::Any.map()),
        ];
        for (one, other) in compatible {
            assert!(
                !one.excludes(&other) && !other.excludes(&one),
                "{one}, {other}"
            );
        }
    }
}
