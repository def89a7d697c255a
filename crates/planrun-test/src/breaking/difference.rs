//! Differences between two types, by path: descends into objects and lists, and compares everything else with `fit`.

use std::sync::Arc;

use planrun_lang::types::{Field, ObjectType, Rest, Type, fit};

use super::Kind;

/// One path at which two types differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The path from the root of the type, such as `customer.emails[].kind`; empty for the whole type.
    pub path: String,
    pub change: Change,
}

/// How the type at a path changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Every value of the new type is a value of the old one.
    Narrowed(Types),
    /// Every value of the old type is a value of the new one.
    Widened(Types),
    /// Neither type contains the other.
    Changed(Types),
    Removed,
    Added {
        required: bool,
    },
    /// An optional field became required.
    Required,
    /// A required field became optional.
    Optional,
}

/// Both types, in plan syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Types {
    pub was: String,
    pub is: String,
}

/// Returns every path at which `is` differs from `was`; empty if every value of each type is a value of the other.
pub(super) fn differences(was: &Type, is: &Type, path: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(was, is, path, &mut found);
    found
}

impl Change {
    /// Describes the change to providers of values of the type. The text follows the name of the part in a sentence.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Narrowed(Types { was, is })
            | Self::Widened(Types { was, is })
            | Self::Changed(Types { was, is }) => {
                format!("changed from `{was}` to `{is}`")
            }
            Self::Removed => "was removed".to_owned(),
            Self::Added { required: true } => "was added and is required".to_owned(),
            Self::Added { required: false } => "was added and is optional".to_owned(),
            Self::Required => "was optional and is now required".to_owned(),
            Self::Optional => "was required and is now optional".to_owned(),
        }
    }

    /// Describes the change to readers of values of the type.
    pub(super) fn describe_for_readers(&self) -> String {
        let words = match self {
            Self::Narrowed(_) | Self::Widened(_) | Self::Changed(_) | Self::Removed => {
                return self.describe();
            }
            Self::Added { required: true } => "was added",
            Self::Added { required: false } => "was added and may be absent",
            Self::Required => "could be absent and is now always present",
            Self::Optional => "was always present and may now be absent",
        };
        words.to_owned()
    }

    /// Returns `refuses` if values that providers could pass before may now be refused, else `takes`.
    pub(super) fn select_kind(
        &self,
        refuses: &'static Kind,
        takes: &'static Kind,
    ) -> &'static Kind {
        match self {
            Self::Narrowed(_)
            | Self::Changed(_)
            | Self::Removed
            | Self::Required
            | Self::Added { required: true } => refuses,
            Self::Widened(_) | Self::Optional | Self::Added { required: false } => takes,
        }
    }

    /// Returns true if readers may see values that were impossible before. An additional field does not count,
    /// because fields are read by name.
    pub(super) fn may_break_readers(&self) -> bool {
        match self {
            Self::Widened(_) | Self::Changed(_) | Self::Removed | Self::Optional => true,
            Self::Narrowed(_) | Self::Required | Self::Added { .. } => false,
        }
    }
}

fn walk(was: &Type, is: &Type, path: &str, found: &mut Vec<Difference>) {
    if was == is {
        return;
    }
    match (was, is) {
        (Type::List(was), Type::List(is)) => walk(was, is, &format!("{path}[]"), found),
        (Type::Object(was), Type::Object(is)) => fields(was, is, path, found),
        _ if was.is_optional() && is.is_optional() => {
            walk(&was.without_null(), &is.without_null(), path, found);
        }
        _ => found.extend(leaf(was, is).map(|change| Difference {
            path: path.to_owned(),
            change,
        })),
    }
}

fn fields(was: &Arc<ObjectType>, is: &Arc<ObjectType>, path: &str, found: &mut Vec<Difference>) {
    let mut note = |name: &str, change: Change| {
        found.push(Difference {
            path: below(path, name),
            change,
        });
    };
    for field in was
        .fields
        .iter()
        .filter(|field| is.field(&field.name).is_none())
    {
        note(&field.name, Change::Removed);
    }
    for field in is
        .fields
        .iter()
        .filter(|field| was.field(&field.name).is_none())
    {
        note(
            &field.name,
            Change::Added {
                required: field.required,
            },
        );
    }
    for (old, new) in is
        .fields
        .iter()
        .filter_map(|new| Some((was.field(&new.name)?, new)))
    {
        match (old.required, new.required) {
            (false, true) => note(&new.name, Change::Required),
            (true, false) => note(&new.name, Change::Optional),
            (true, true) | (false, false) => {}
        }
    }
    for (old, new) in is
        .fields
        .iter()
        .filter_map(|new| Some((was.field(&new.name)?, new)))
    {
        let (old, new, name) = (value(old, new), value(new, old), &new.name);
        walk(&old, &new, &below(path, name), found);
    }
    let rest = |rest: &Rest| Type::object(Vec::new(), rest.clone());
    let (old, new) = (rest(&was.rest), rest(&is.rest));
    if old != new {
        found.extend(leaf(&old, &new).map(|change| Difference {
            path: path.to_owned(),
            change,
        }));
    }
}

/// Returns the type of a field when it is present. If the field is optional in either version, null counts as
/// absence.
fn value(field: &Field, other: &Field) -> Type {
    if field.required && other.required {
        field.ty.clone()
    } else {
        field.ty.without_null()
    }
}

/// Compares two types with `fit` in both directions.
fn leaf(was: &Type, is: &Type) -> Option<Change> {
    let types = || Types {
        was: was.to_string(),
        is: is.to_string(),
    };
    match (fit(was, is).fits(), fit(is, was).fits()) {
        (true, true) => None,
        (true, false) => Some(Change::Widened(types())),
        (false, true) => Some(Change::Narrowed(types())),
        (false, false) => Some(Change::Changed(types())),
    }
}

/// Returns the path of a part.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(was: &Type, is: &Type) -> Vec<String> {
        differences(was, is, "x")
            .into_iter()
            .map(|found| format!("{} {}", found.path, found.change.describe()))
            .collect()
    }

    fn object<const N: usize>(fields: [(&str, Type, bool); N], rest: Rest) -> Type {
        let fields = fields.map(|(name, ty, required)| Field {
            name: name.into(),
            ty,
            required,
        });
        Type::object(fields.into(), rest)
    }

    #[test]
    fn places_are_told_as_deep_as_they_lie() {
        let was = object(
            [("a", Type::Int, true), ("b", Type::String, true)],
            Rest::Closed,
        )
        .list()
        .optional();
        let is = object(
            [("a", Type::Double, true), ("c", Type::Bool, false)],
            Rest::Closed,
        )
        .list()
        .optional();
        assert_eq!(
            words(&was, &is),
            [
                "x[].b was removed",
                "x[].c was added and is optional",
                "x[].a changed from `int` to `double`"
            ]
        );
    }

    #[test]
    fn a_null_and_an_absent_field_are_one() {
        let was = object([("a", Type::Int.optional(), true)], Rest::Closed);
        let is = object([("a", Type::Int, false)], Rest::Closed);
        assert_eq!(words(&was, &is), ["x.a was required and is now optional"]);
    }

    #[test]
    fn what_means_the_same_is_no_difference() {
        let one = Type::union([Type::Int, Type::String]);
        let other = Type::union([Type::String, Type::Int]);
        assert_eq!(words(&one, &other), [""; 0]);
        assert!(matches!(
            leaf(&Type::Any, &Type::Int),
            Some(Change::Narrowed(_))
        ));
        assert!(matches!(
            leaf(&Type::Int, &Type::String),
            Some(Change::Changed(_))
        ));
        assert_eq!(
            leaf(&Type::Invalid, &Type::Int),
            None,
            "what an error left open is not judged"
        );
    }

    fn types() -> impl Strategy<Value = Type> {
        let plain = vec![
            Type::Int,
            Type::Double,
            Type::Bool,
            Type::String,
            Type::text("a"),
            Type::Any,
            Type::Null,
        ];
        proptest::sample::select(plain).prop_recursive(3, 12, 3, |inner| {
            let field = (
                proptest::sample::select(vec!["a", "b", "c"]),
                inner.clone(),
                any::<bool>(),
            );
            let object = proptest::collection::vec(field, 0..3).prop_map(|fields| {
                let mut known = std::collections::BTreeMap::new();
                for (name, ty, required) in fields {
                    known.insert(
                        name,
                        Field {
                            name: name.into(),
                            ty,
                            required,
                        },
                    );
                }
                Type::object(known.into_values().collect(), Rest::Closed)
            });
            prop_oneof![
                inner.clone().prop_map(Type::list),
                inner.clone().prop_map(Type::optional),
                (inner.clone(), inner).prop_map(|(one, other)| Type::union([one, other])),
                object.clone(),
                object,
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// No difference is missed: if no path refuses values or may break readers, the types as a whole fit.
        #[test]
        fn what_is_not_told_fits(was in types(), is in types()) {
            let found = differences(&was, &is, "");
            let (refuses, takes) = (&crate::breaking::kind::INPUT_NARROWED, &crate::breaking::kind::INPUT_WIDENED);
            if found.iter().all(|found| !found.change.select_kind(refuses, takes).is_breaking()) {
                prop_assert!(fit(&was, &is).fits(), "{was} into {is}: {found:?}");
            }
            let (was, is) = (was.opened(), is.opened());
            let found = differences(&was, &is, "");
            if found.iter().all(|found| !found.change.may_break_readers()) {
                prop_assert!(fit(&is, &was).fits(), "{is} into {was}: {found:?}");
            }
        }

        /// Exchanging the types gives differences at the same paths.
        #[test]
        fn no_difference_is_lost_under_exchange(was in types(), is in types()) {
            let places = |was: &Type, is: &Type| {
                let mut places = differences(was, is, "").into_iter().map(|found| found.path).collect::<Vec<_>>();
                places.sort();
                places
            };
            prop_assert_eq!(places(&was, &is), places(&is, &was));
            prop_assert!(differences(&was, &was, "").is_empty());
        }
    }

    #[test]
    fn whether_more_fields_are_taken_counts() {
        let (open, closed) = (object([], Rest::Open), object([], Rest::Closed));
        assert_eq!(words(&closed, &open).len(), 1);
        assert!(matches!(leaf(&open, &closed), Some(Change::Narrowed(_))));
    }
}
