//! Constructors of compound types, the built-in shapes, and field lookup.

use std::sync::Arc;

use super::{Field, Literal, MapType, ObjectType, Rest, Type};

/// The result of reading a field of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldLookup {
    /// The field has this type where it is present; if it is not required, it may be absent and then reads as null.
    Found { ty: Type, required: bool },
    /// Nothing is known about the value, and so nothing about its fields.
    Any,
    /// The type is known and has no such field that a plan can read.
    Missing,
    /// The type is known, and it or one of its alternatives has no fields.
    NotAnObject,
}

/// Looks up a field. Null alternatives are ignored: the caller checks [`Type::admits_null`] first.
///
/// A field of a union is found if any alternative has it, and is required only if it is required in all of them.
#[must_use]
pub fn field(ty: &Type, name: &str) -> FieldLookup {
    let mut types = Vec::new();
    let (mut always, mut objects) = (true, 0_usize);
    for member in ty.members() {
        match member {
            Type::Null => continue,
            Type::Any | Type::Invalid | Type::Never => return FieldLookup::Any,
            _ => {}
        }
        match in_member(member, name) {
            FieldLookup::Found { ty, required } => {
                objects += 1;
                always &= required;
                types.push(ty);
            }
            FieldLookup::Any => return FieldLookup::Any,
            FieldLookup::Missing => {
                objects += 1;
                always = false;
            }
            FieldLookup::NotAnObject => return FieldLookup::NotAnObject,
        }
    }
    match (types.is_empty(), objects) {
        (true, 0) => FieldLookup::NotAnObject,
        (true, _) => FieldLookup::Missing,
        (false, _) => FieldLookup::Found {
            ty: Type::union(types),
            required: always,
        },
    }
}

/// Returns true if an alternative declares the field, and a value of another one may have an undeclared field of its name.
///
/// The results of contracts have no such fields, but a plan can form a union of results of several tools.
#[must_use]
pub fn may_be_undeclared(ty: &Type, name: &str) -> bool {
    let members = ty.members();
    let is_open = |member: &Type| {
        matches!(member, Type::Object(object)
            if object.rest == Rest::Open && object.field(name).is_none())
    };
    members.iter().any(is_open)
        && members
            .iter()
            .any(|member| matches!(in_member(member, name), FieldLookup::Found { .. }))
}

/// Returns the names of all fields that a plan can read, in the order of declaration.
#[must_use]
pub fn field_names(ty: &Type) -> Vec<Arc<str>> {
    let mut names = indexmap::IndexSet::new();
    for member in ty.members() {
        match member {
            Type::Object(object) => {
                names.extend(object.fields.iter().map(|field| field.name.clone()));
            }
            Type::Result(value) => names.extend(field_names(&result_union(value))),
            Type::Error => names.extend(field_names(&error_object())),
            _ => {}
        }
    }
    names.into_iter().collect()
}

/// Returns `{ ok: true, value: T } | { ok: false, error: Error }`.
#[must_use]
pub fn result_union(value: &Type) -> Type {
    let ok = |truth| Type::Literal(Literal::Bool(truth));
    let success = object([("ok", ok(true), true), ("value", value.clone(), true)]);
    let failure = object([("ok", ok(false), true), ("error", Type::Error, true)]);
    Type::union([success, failure])
}

/// Returns the object type that describes an error value.
#[must_use]
pub fn error_object() -> Type {
    object([
        ("class", Type::String, true),
        ("message", Type::String, true),
        ("step", Type::String, false),
        ("attempt", Type::Int, false),
        ("retryable", Type::Bool, true),
        ("retry_after", Type::Duration, false),
        ("details", Type::Any, false),
        ("cause", Type::Error, false),
    ])
}

impl Type {
    /// Returns the type with every object open: a tool may return more than its declaration names.
    #[must_use]
    pub fn opened(&self) -> Self {
        match self {
            Self::List(element) => element.opened().list(),
            Self::Map(map) => Self::Map(Arc::new(MapType {
                key: map.key.clone(),
                value: map.value.opened(),
            })),
            Self::Object(object) => {
                let fields = object
                    .fields
                    .iter()
                    .map(|field| Field {
                        ty: field.ty.opened(),
                        ..field.clone()
                    })
                    .collect();
                let rest = match &object.rest {
                    Rest::Closed | Rest::Open => Rest::Open,
                    Rest::Typed(rest) => Rest::Typed(rest.opened()),
                };
                Self::object(fields, rest)
            }
            Self::Union(members) => Self::union(members.iter().map(Self::opened)),
            Self::Result(value) => Self::Result(Arc::new(value.opened())),
            Self::Never
            | Self::Any
            | Self::Invalid
            | Self::Null
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::String
            | Self::Bytes
            | Self::Timestamp
            | Self::Duration
            | Self::Type
            | Self::Literal(_)
            | Self::Error => self.clone(),
        }
    }

    /// Returns the type of lists of this type.
    #[must_use]
    pub fn list(self) -> Self {
        Self::List(Arc::new(self))
    }

    /// Returns the type of maps from strings to this type.
    #[must_use]
    pub fn map(self) -> Self {
        Self::Map(Arc::new(MapType {
            key: Self::String,
            value: self,
        }))
    }

    /// Creates an object type with these fields.
    #[must_use]
    pub fn object(fields: Vec<Field>, rest: Rest) -> Self {
        Self::Object(Arc::new(ObjectType { fields, rest }))
    }

    /// Creates the literal type of this string.
    #[must_use]
    pub fn text(value: &str) -> Self {
        Self::Literal(Literal::String(value.into()))
    }
}

impl ObjectType {
    /// Returns the declared field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// Returns the type of its values when it is used as a map: of any type if it may have undeclared fields.
    #[must_use]
    pub fn value_type(&self) -> Type {
        let rest = match &self.rest {
            Rest::Closed => None,
            Rest::Open => Some(Type::Any),
            Rest::Typed(ty) => Some(ty.clone()),
        };
        let fields = self.fields.iter().map(Field::value_type);
        Type::union(fields.chain(rest))
    }
}

fn in_member(ty: &Type, name: &str) -> FieldLookup {
    match ty {
        Type::Object(object) => match (object.field(name), &object.rest) {
            (Some(field), _) => FieldLookup::Found {
                ty: field.ty.clone(),
                required: field.required,
            },
            (None, Rest::Typed(ty)) => FieldLookup::Found {
                ty: ty.clone(),
                required: false,
            },
            (None, Rest::Open | Rest::Closed) => FieldLookup::Missing,
        },
        Type::Map(map) if map.value == Type::Any => FieldLookup::Any,
        Type::Map(map) => FieldLookup::Found {
            ty: map.value.clone(),
            required: false,
        },
        Type::Result(value) => field(&result_union(value), name),
        Type::Error => field(&error_object(), name),
        Type::Any | Type::Invalid | Type::Never => FieldLookup::Any,
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Timestamp
        | Type::Duration
        | Type::Type
        | Type::Literal(_)
        | Type::List(_)
        | Type::Union(_) => FieldLookup::NotAnObject,
    }
}

fn object<const N: usize>(fields: [(&str, Type, bool); N]) -> Type {
    let fields = fields.map(|(name, ty, required)| Field {
        name: name.into(),
        ty,
        required,
    });
    Type::object(fields.into(), Rest::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_union_is_sure_only_if_every_alternative_has_it() {
        let result = Type::Result(Arc::new(Type::Int));
        assert!(matches!(
            field(&result, "ok"),
            FieldLookup::Found {
                ty: Type::Bool,
                required: true
            }
        ));
        assert!(matches!(
            field(&result, "value"),
            FieldLookup::Found {
                ty: Type::Int,
                required: false
            }
        ));
        assert_eq!(field(&result, "banana"), FieldLookup::Missing);
        assert_eq!(field_names(&result).len(), 3);
    }

    #[test]
    fn what_is_not_known_has_every_field_and_scalars_have_none() {
        assert_eq!(field(&Type::Any, "a"), FieldLookup::Any);
        assert_eq!(field(&Type::Any.map(), "a"), FieldLookup::Any);
        assert_eq!(field(&Type::String, "a"), FieldLookup::NotAnObject);
        assert_eq!(field(&Type::Null, "a"), FieldLookup::NotAnObject);
        let map = Type::Int.map().optional();
        assert_eq!(
            field(&map, "a"),
            FieldLookup::Found {
                ty: Type::Int,
                required: false
            }
        );
    }
}
