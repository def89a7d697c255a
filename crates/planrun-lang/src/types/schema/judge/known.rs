//! Values that are partly known before the run.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::types::{ObjectType, Rest, Type, error_object, result_union};

/// A JSON value that may be only partly known.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Exactly this value.
    Exactly(Json),
    /// Some value of a type.
    Of(Type),
    /// An object with these fields; `rest` describes further fields.
    Object { fields: Vec<KnownField>, rest: Rest },
    /// A list of exactly these elements.
    List(Vec<Known>),
    /// A list with any number of elements that are all like this one.
    Elements(Box<Known>),
    /// One of these values; it is not known which one.
    Either(Vec<Known>),
}

/// A field of a partly known object.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownField {
    pub name: Arc<str>,
    pub value: Known,
    /// Whether the field is always present.
    pub sure: bool,
}

impl Known {
    /// Creates an object that has these fields and no others.
    #[must_use]
    pub fn closed(fields: Vec<KnownField>) -> Self {
        Self::Object {
            fields,
            rest: Rest::Closed,
        }
    }

    /// Returns the value if it is known completely.
    #[must_use]
    pub fn exactly(&self) -> Option<Json> {
        match self {
            Self::Exactly(json) => Some(json.clone()),
            Self::Of(Type::Null) => Some(Json::Null),
            Self::Of(Type::Literal(literal)) => Some(literal.to_json()),
            Self::Object {
                fields,
                rest: Rest::Closed,
            } => {
                let field = |field: &KnownField| {
                    let value = field.sure.then(|| field.value.exactly())??;
                    Some((field.name.to_string(), value))
                };
                fields
                    .iter()
                    .map(field)
                    .collect::<Option<Map<String, Json>>>()
                    .map(Json::Object)
            }
            Self::List(items) => items
                .iter()
                .map(Self::exactly)
                .collect::<Option<Vec<Json>>>()
                .map(Json::Array),
            Self::Of(_) | Self::Object { .. } | Self::Elements(_) | Self::Either(_) => None,
        }
    }

    /// Returns the known part of the value after it is converted to type `to` and then to JSON: undeclared fields are
    /// removed, and a null that stands for an absent field is left out.
    #[must_use]
    pub fn placed(self, to: &Type) -> Self {
        match (self.opened(), to) {
            (Self::Either(all), _) => {
                Self::Either(all.into_iter().map(|one| one.placed(to)).collect())
            }
            (Self::Of(Type::Any | Type::Invalid), Type::Any | Type::Invalid) => Self::Of(Type::Any),
            (Self::Of(Type::Any | Type::Invalid), _) => Self::Of(to.clone()).expanded(to),
            (known, Type::Union(members)) => known.placed_in_union(members),
            (Self::List(items), Type::List(element)) => {
                Self::List(items.into_iter().map(|item| item.placed(element)).collect())
            }
            (Self::Elements(item), Type::List(element)) => {
                Self::Elements(Box::new(item.placed(element)))
            }
            (known @ Self::Object { .. }, Type::Result(inner)) => {
                known.placed(&result_union(inner))
            }
            (known @ Self::Object { .. }, Type::Error) => known.placed(&error_object()),
            (Self::Object { fields, rest }, Type::Map(map)) => {
                let field = |field: KnownField| KnownField {
                    value: field.value.placed(&map.value),
                    ..field
                };
                Self::Object {
                    fields: fields.into_iter().map(field).collect(),
                    rest,
                }
            }
            (Self::Object { fields, rest }, Type::Object(object)) => {
                placed_object(fields, &rest, object)
            }
            (known, _) => known,
        }
    }

    /// Returns the known part of any value of a type, expanded by one level.
    fn expanded(self, to: &Type) -> Self {
        match self.opened() {
            Self::Of(Type::Any) => Self::Of(Type::Any),
            known @ (Self::Of(_) | Self::Exactly(_)) => known,
            known => known.placed(to),
        }
    }

    /// Replaces the outermost level by its known parts.
    #[must_use]
    pub(super) fn opened(self) -> Self {
        match self {
            Self::Exactly(Json::Object(entries)) => {
                let field = |(name, value): (String, Json)| KnownField {
                    name: name.into(),
                    value: Self::Exactly(value),
                    sure: true,
                };
                Self::closed(entries.into_iter().map(field).collect())
            }
            Self::Exactly(Json::Array(items)) => {
                Self::List(items.into_iter().map(Self::Exactly).collect())
            }
            Self::Of(ty) => of_type(&ty),
            known @ (Self::Exactly(_)
            | Self::Object { .. }
            | Self::List(_)
            | Self::Elements(_)
            | Self::Either(_)) => known,
        }
    }

    /// Converts to a union: to the only member that accepts such a value, if there is exactly one.
    fn placed_in_union(self, members: &[Type]) -> Self {
        let takes = |member: &&Type| {
            matches!(
                (&self, member),
                (
                    Self::Object { .. },
                    Type::Object(_) | Type::Map(_) | Type::Result(_) | Type::Error | Type::Any
                ) | (Self::List(_) | Self::Elements(_), Type::List(_) | Type::Any)
            )
        };
        let mut fitting = members.iter().filter(takes);
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => self.placed(&one.clone()),
            (None, _) => self,
            (Some(_), Some(_)) => self.loosened(),
        }
    }

    /// Treats fields that may be null as fields that may be absent, because the matching member of the union is not
    /// known.
    fn loosened(self) -> Self {
        match self.opened() {
            Self::Object { fields, rest } => {
                let field = |field: KnownField| KnownField {
                    sure: field.sure && !field.value.admits_null(),
                    value: field.value.loosened(),
                    ..field
                };
                let rest = if rest == Rest::Closed {
                    rest
                } else {
                    Rest::Open
                };
                Self::Object {
                    fields: fields.into_iter().map(field).collect(),
                    rest,
                }
            }
            Self::List(items) => Self::List(items.into_iter().map(Self::loosened).collect()),
            Self::Elements(item) => Self::Elements(Box::new(item.loosened())),
            Self::Either(all) => Self::Either(all.into_iter().map(Self::loosened).collect()),
            known @ (Self::Exactly(_) | Self::Of(_)) => known,
        }
    }

    /// Returns true if the value may be null.
    #[must_use]
    pub fn admits_null(&self) -> bool {
        match self {
            Self::Exactly(json) => json.is_null(),
            Self::Of(ty) => ty.admits_null() || *ty == Type::Never,
            Self::Either(all) => all.iter().any(Self::admits_null),
            Self::Object { .. } | Self::List(_) | Self::Elements(_) => false,
        }
    }

    /// Returns the value without the possibility of null; `None` if it can only be null.
    #[must_use]
    pub fn without_null(self) -> Option<Self> {
        match self {
            Self::Exactly(Json::Null) | Self::Of(Type::Null) => None,
            Self::Of(ty) => Some(Self::Of(ty.without_null())),
            Self::Either(all) => {
                let mut all: Vec<Self> = all.into_iter().filter_map(Self::without_null).collect();
                if all.len() > 1 {
                    Some(Self::Either(all))
                } else {
                    all.pop()
                }
            }
            known
            @ (Self::Exactly(_) | Self::Object { .. } | Self::List(_) | Self::Elements(_)) => {
                Some(known)
            }
        }
    }
}

/// Converts the fields of an object to those of another object type.
fn placed_object(fields: Vec<KnownField>, rest: &Rest, to: &ObjectType) -> Known {
    let mut placed = Vec::with_capacity(fields.len());
    let named: Vec<Arc<str>> = fields.iter().map(|field| field.name.clone()).collect();
    for field in fields {
        let (target, required) = match (to.field(&field.name), &to.rest) {
            (Some(target), _) => (&target.ty, target.required),
            (None, Rest::Typed(ty)) => (ty, true),
            (None, Rest::Open) => (&Type::Any, true),
            (None, Rest::Closed) => continue,
        };
        placed.extend(placed_field(field, target, required));
    }
    // The undeclared part of an open object may contain any field that the target declares.
    if *rest != Rest::Closed {
        let unknown = to
            .fields
            .iter()
            .filter(|target| !named.contains(&target.name));
        placed.extend(unknown.map(|target| KnownField {
            name: target.name.clone(),
            value: Known::Of(target.ty.clone()),
            sure: target.required,
        }));
    }
    let rest = match (&to.rest, rest) {
        (Rest::Closed, _) | (_, Rest::Closed) => Rest::Closed,
        (Rest::Open | Rest::Typed(_), rest) => rest.clone(),
    };
    Known::Object {
        fields: placed,
        rest,
    }
}

/// Converts a field or an argument to a type. A null is left out if the field is optional and its type does not allow
/// null; `None` if the value can only be null.
#[must_use]
pub fn placed_field(field: KnownField, ty: &Type, required: bool) -> Option<KnownField> {
    let left_out = !required && !ty.admits_null() && field.value.admits_null();
    if !left_out {
        return Some(KnownField {
            value: field.value.placed(ty),
            ..field
        });
    }
    let value = field.value.without_null()?.placed(ty);
    Some(KnownField {
        name: field.name,
        value,
        sure: false,
    })
}

fn of_type(ty: &Type) -> Known {
    match ty {
        Type::Union(members) => Known::Either(members.iter().cloned().map(Known::Of).collect()),
        Type::Literal(literal) => Known::Exactly(literal.to_json()),
        Type::Null => Known::Exactly(Json::Null),
        Type::List(element) => Known::Elements(Box::new(Known::Of((**element).clone()))),
        Type::Map(map) => Known::Object {
            fields: Vec::new(),
            rest: Rest::Typed(map.value.clone()),
        },
        Type::Result(value) => of_type(&result_union(value)),
        Type::Error => of_type(&error_object()),
        Type::Object(object) => Known::Object {
            fields: object
                .fields
                .iter()
                .map(|field| KnownField {
                    name: field.name.clone(),
                    // An optional field may also be null, whatever its type says.
                    value: Known::Of(field.value_type()),
                    sure: field.required,
                })
                .collect(),
            rest: object.rest.clone(),
        },
        Type::Invalid => Known::Of(Type::Any),
        Type::Never
        | Type::Any
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Timestamp
        | Type::Duration
        | Type::Type => Known::Of(ty.clone()),
    }
}
