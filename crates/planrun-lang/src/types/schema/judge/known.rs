//! What is known of a JSON value before the run.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::types::{Literal, ObjectType, Rest, Type, error_object, result_union};

/// A value of which a part may be known.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Exactly this value.
    Exactly(Json),
    /// Some value of a type.
    Of(Type),
    /// An object with these fields, and of `rest` how it goes on.
    Object { fields: Vec<KnownField>, rest: Rest },
    /// A list of exactly these elements.
    List(Vec<Known>),
    /// A list of any number of such elements.
    Elements(Box<Known>),
    /// One of these, nobody knows which.
    Either(Vec<Known>),
}

/// A field of an object of which something is known.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownField {
    pub name: Arc<str>,
    pub value: Known,
    /// Whether it is there in any case.
    pub sure: bool,
}

impl Known {
    /// An object that has these fields and no others.
    #[must_use]
    pub fn closed(fields: Vec<KnownField>) -> Self {
        Self::Object {
            fields,
            rest: Rest::Closed,
        }
    }

    /// The value, where all of it is known.
    #[must_use]
    pub fn exactly(&self) -> Option<Json> {
        match self {
            Self::Exactly(json) => Some(json.clone()),
            Self::Of(Type::Null) => Some(Json::Null),
            Self::Of(Type::Literal(literal)) => Some(literal_json(literal)),
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

    /// What is known of the value once it has gone into a place of type `to` and from there into JSON: what the place
    /// cuts off is gone, and a null that means "not there" is left out.
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

    /// What any value of a type is, one level deep.
    fn expanded(self, to: &Type) -> Self {
        match self.opened() {
            Self::Of(Type::Any) => Self::Of(Type::Any),
            known @ (Self::Of(_) | Self::Exactly(_)) => known,
            known => known.placed(to),
        }
    }

    /// The same with the outermost level told by its parts.
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

    /// Into one of several types: that of the one which takes such a value, where there is one.
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

    /// What may be null may be missing as well: it hangs on what nobody knows whether it is left out.
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

    /// Whether it may be null.
    #[must_use]
    pub fn admits_null(&self) -> bool {
        match self {
            Self::Exactly(json) => json.is_null(),
            Self::Of(ty) => ty.admits_null() || *ty == Type::Never,
            Self::Either(all) => all.iter().any(Self::admits_null),
            Self::Object { .. } | Self::List(_) | Self::Elements(_) => false,
        }
    }

    /// The same where it is known not to be null; nothing where it can be nothing else.
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

/// The fields of an object once they are fields of another one.
fn placed_object(fields: Vec<KnownField>, rest: &Rest, to: &ObjectType) -> Known {
    let mut placed = Vec::with_capacity(fields.len());
    let named: Vec<Arc<str>> = fields.iter().map(|field| field.name.clone()).collect();
    for field in fields {
        let (wanted, required) = match (to.field(&field.name), &to.rest) {
            (Some(wanted), _) => (&wanted.ty, wanted.required),
            (None, Rest::Typed(ty)) => (ty, true),
            (None, Rest::Open) => (&Type::Any, true),
            (None, Rest::Closed) => continue,
        };
        placed.extend(placed_field(field, wanted, required));
    }
    // What is not known of an open object may be any of the fields that the other one declares.
    if *rest != Rest::Closed {
        let unknown = to
            .fields
            .iter()
            .filter(|wanted| !named.contains(&wanted.name));
        placed.extend(unknown.map(|wanted| KnownField {
            name: wanted.name.clone(),
            value: Known::Of(wanted.ty.clone()),
            sure: wanted.required,
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

/// A field, or an argument, in a place of a type. A null where it need not be there and the type has none is left out.
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
        Type::Literal(literal) => Known::Exactly(literal_json(literal)),
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
                    // A field that may be missing may also be null, whatever its type says.
                    value: Known::Of(if field.required {
                        field.ty.clone()
                    } else {
                        field.ty.clone().optional()
                    }),
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

pub(super) fn literal_json(literal: &Literal) -> Json {
    match literal {
        Literal::Bool(value) => Json::from(*value),
        Literal::Int(value) => Json::from(*value),
        Literal::String(value) => Json::from(&**value),
    }
}
