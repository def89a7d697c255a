//! Unions of types, kept flat and without repetition, and optional types.

use foldhash::fast::FixedState;
use indexmap::IndexSet;
use serde_json::Value as Json;

use super::{Literal, Type};
use crate::value::Value;

/// The members of a union in insertion order.
type Members = IndexSet<Type, FixedState>;

impl Type {
    /// Returns the type of a value that has one of these types.
    ///
    /// The result is flat and without repetition, in the order in which the members first occur. Literals are absorbed
    /// by their base type, `true | false` is `bool`, `never` disappears, and `any` and [`Type::Invalid`] absorb
    /// everything.
    #[must_use]
    pub fn union(types: impl IntoIterator<Item = Self>) -> Self {
        let mut members = Members::default();
        let mut any = false;
        for ty in types {
            match ty {
                Self::Invalid => return Self::Invalid,
                Self::Any => any = true,
                Self::Never => {}
                Self::Union(inner) => members.extend(inner.iter().cloned()),
                other => drop(members.insert(other)),
            }
        }
        if any { Self::Any } else { settle(members) }
    }

    /// Returns `T?` as the type of a value: this type or null.
    #[must_use]
    pub fn optional(self) -> Self {
        match self {
            present if present.admits_null() => present,
            Self::Never => Self::Null,
            Self::Union(members) => {
                Self::Union(members.iter().cloned().chain([Self::Null]).collect())
            }
            present => Self::Union([present, Self::Null].into()),
        }
    }

    /// Returns the type of the value once it is known not to be null.
    #[must_use]
    pub fn without_null(&self) -> Self {
        match self {
            Self::Null => Self::Never,
            Self::Union(members) if members.contains(&Self::Null) => one_or_more(
                members
                    .iter()
                    .filter(|member| **member != Self::Null)
                    .cloned()
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Returns true if null is a value of this type. An unknown value may be null, too.
    #[must_use]
    pub fn admits_null(&self) -> bool {
        match self {
            Self::Null | Self::Any | Self::Invalid => true,
            Self::Union(members) => members.contains(&Self::Null),
            _ => false,
        }
    }

    /// Returns true if the type is a union with null: `T?`.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Union(members) if members.contains(&Self::Null))
    }

    /// Returns the alternatives of a union; any other type is its own only alternative.
    #[must_use]
    pub fn members(&self) -> &[Self] {
        match self {
            Self::Union(members) => members,
            other => std::slice::from_ref(other),
        }
    }
}

impl Literal {
    /// Returns the type of all values of the literal's kind.
    #[must_use]
    pub fn base(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::String(_) => Type::String,
        }
    }

    /// Returns the value of the literal.
    #[must_use]
    pub fn value(&self) -> Value {
        match self {
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Int(number) => Value::Int(*number),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    /// Returns the value of the literal as JSON.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Bool(truth) => (*truth).into(),
            Self::Int(number) => (*number).into(),
            Self::String(text) => (**text).into(),
        }
    }
}

/// Absorbs literals and the type of the empty list, and returns the form for zero, one or more members.
fn settle(mut members: Members) -> Type {
    if members
        .iter()
        .any(|member| matches!(member, Type::Literal(_)))
    {
        absorb_literals(&mut members);
    }
    // The empty list is a list of any type.
    if members
        .iter()
        .filter(|member| matches!(member, Type::List(_)))
        .count()
        > 1
    {
        members.retain(|member| !matches!(member, Type::List(element) if **element == Type::Never));
    }
    one_or_more(members.into_iter().collect())
}

fn absorb_literals(members: &mut Members) {
    let truth = |value| Type::Literal(Literal::Bool(value));
    if members.contains(&truth(true)) && members.contains(&truth(false)) {
        let place = members
            .get_index_of(&truth(true))
            .min(members.get_index_of(&truth(false)))
            .unwrap_or(0);
        members.shift_insert(place, Type::Bool);
    }
    let bases = [Type::Bool, Type::Int, Type::String].map(|base| (members.contains(&base), base));
    members.retain(|member| match member {
        Type::Literal(literal) => !bases.contains(&(true, literal.base())),
        _ => true,
    });
}

/// Returns the type of members that are distinct and do not absorb each other.
fn one_or_more(mut members: Vec<Type>) -> Type {
    if members.len() > 1 {
        Type::Union(members.into())
    } else {
        members.pop().unwrap_or(Type::Never)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Type {
        Type::Literal(Literal::String(value.into()))
    }

    #[test]
    fn unions_are_flat_and_literals_vanish_beside_their_base() {
        let inner = Type::union([text("a"), Type::Null]);
        assert_eq!(
            Type::union([inner.clone(), Type::String]),
            Type::union([Type::Null, Type::String])
        );
        assert_eq!(Type::union([Type::Never, text("a"), text("a")]), text("a"));
        assert_eq!(Type::union([]), Type::Never);
        assert_eq!(
            Type::union([Type::Never.list(), Type::Int.list()]),
            Type::Int.list()
        );
        assert_eq!(
            Type::union([Type::Never.list(), Type::Int]).members().len(),
            2
        );
        assert_eq!(Type::union([inner, Type::Any]), Type::Any);
        assert_eq!(Type::union([Type::Any, Type::Invalid]), Type::Invalid);
    }

    #[test]
    fn true_or_false_is_bool() {
        let (yes, no) = (
            Type::Literal(Literal::Bool(true)),
            Type::Literal(Literal::Bool(false)),
        );
        assert_eq!(Type::union([no.clone(), yes.clone()]), Type::Bool);
        assert_eq!(
            Type::union([no, Type::Null, yes]),
            Type::union([Type::Bool, Type::Null])
        );
    }

    #[test]
    fn absence_comes_and_goes() {
        let optional = Type::String.optional();
        assert!(optional.is_optional());
        assert_eq!(optional.clone().optional(), optional);
        assert_eq!(optional.without_null(), Type::String);
        assert_eq!(Type::Null.without_null(), Type::Never);
        assert_eq!(Type::Any.optional(), Type::Any);
        assert!(!Type::Any.is_optional());
    }
}
