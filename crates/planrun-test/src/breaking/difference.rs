//! How one type differs from another, place by place: objects and lists are looked into, the rest is held against the fit.

use std::sync::Arc;

use planrun_lang::types::{Field, ObjectType, Rest, Type, fit};

use super::Kind;

/// One place at which two types differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// From the whole on: `customer.emails[].kind`; empty for the whole.
    pub path: String,
    pub change: Change,
}

/// What became of that place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Every value of now was one of then.
    Narrowed(Types),
    /// Every value of then is one of now.
    Widened(Types),
    /// Neither is known.
    Changed(Types),
    Removed,
    Added {
        required: bool,
    },
    /// A field that need not be there must be.
    Required,
    /// A field that must be there need not be.
    Optional,
}

/// Both types, as a plan writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Types {
    pub was: String,
    pub is: String,
}

/// Every place at which `is` differs from `was`. None where every value of each is one of the other.
pub(super) fn differences(was: &Type, is: &Type, path: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(was, is, path, &mut found);
    found
}

impl Change {
    /// What happened, to be read behind what it happened to, for those who give values of the type.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Narrowed(Types { was, is })
            | Self::Widened(Types { was, is })
            | Self::Changed(Types { was, is }) => {
                format!("was `{was}` and is `{is}`")
            }
            Self::Removed => "is gone".to_owned(),
            Self::Added { required: true } => "is new and must be there".to_owned(),
            Self::Added { required: false } => "is new and may be left out".to_owned(),
            Self::Required => "could be left out and must be there".to_owned(),
            Self::Optional => "had to be there and may be left out".to_owned(),
        }
    }

    /// The same for those who read values of the type.
    pub(super) fn describe_to_readers(&self) -> String {
        let words = match self {
            Self::Narrowed(_) | Self::Widened(_) | Self::Changed(_) | Self::Removed => {
                return self.describe();
            }
            Self::Added { required: true } => "is new",
            Self::Added { required: false } => "is new and may be absent",
            Self::Required => "could be absent and is always there",
            Self::Optional => "was always there and may be absent",
        };
        words.to_owned()
    }

    /// One kind where values may be refused that were fine where they are given, else the other.
    pub(super) fn weighed(&self, refuses: &'static Kind, takes: &'static Kind) -> &'static Kind {
        match self {
            Self::Narrowed(_)
            | Self::Changed(_)
            | Self::Removed
            | Self::Required
            | Self::Added { required: true } => refuses,
            Self::Widened(_) | Self::Optional | Self::Added { required: false } => takes,
        }
    }

    /// Whether who reads the values may find what could not be before. A further field harms nobody: fields are read by name.
    pub(super) fn surprises(&self) -> bool {
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

/// What a field holds where it is there: a null stands for its absence where either version lets it be absent.
fn value(field: &Field, other: &Field) -> Type {
    if field.required && other.required {
        field.ty.clone()
    } else {
        field.ty.without_null()
    }
}

/// The verdict of the fit in both directions.
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

/// The path of a part.
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
                "x[].b is gone",
                "x[].c is new and may be left out",
                "x[].a was `int` and is `double`"
            ]
        );
    }

    #[test]
    fn a_null_and_an_absent_field_are_one() {
        let was = object([("a", Type::Int.optional(), true)], Rest::Closed);
        let is = object([("a", Type::Int, false)], Rest::Closed);
        assert_eq!(
            words(&was, &is),
            ["x.a had to be there and may be left out"]
        );
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

        /// Nothing is passed over: where no place refuses or surprises, the fit knows nothing against the whole.
        #[test]
        fn what_is_not_told_fits(was in types(), is in types()) {
            let found = differences(&was, &is, "");
            let (refuses, takes) = (&crate::breaking::kind::INPUT_NARROWED, &crate::breaking::kind::INPUT_WIDENED);
            if found.iter().all(|found| !found.change.weighed(refuses, takes).is_breaking()) {
                prop_assert!(fit(&was, &is).fits(), "{was} into {is}: {found:?}");
            }
            let (was, is) = (was.opened(), is.opened());
            let found = differences(&was, &is, "");
            if found.iter().all(|found| !found.change.surprises()) {
                prop_assert!(fit(&is, &was).fits(), "{is} into {was}: {found:?}");
            }
        }

        /// What is seen one way is seen the other way, at the same places.
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
