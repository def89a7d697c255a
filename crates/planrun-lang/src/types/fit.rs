//! Decides whether the values of one type are values of another: yes, no, or known only at run time.

use std::sync::Arc;

use super::{
    Field, Literal, MapType, Misfit, Mismatch, ObjectType, PathPart, Rest, Type, error_object,
    result_union,
};

/// The result of comparing two types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Every value fits.
    Fits,
    /// Some values may fit and others may not; a check at run time decides.
    Unknown,
    /// No value fits, or the value may be absent where it is required.
    Cannot(Mismatch),
}

impl Fit {
    /// Returns true if every value fits.
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self, Self::Fits)
    }

    /// Returns the mismatch, if there is one.
    #[must_use]
    pub fn mismatch(self) -> Option<Mismatch> {
        match self {
            Self::Cannot(mismatch) => Some(mismatch),
            Self::Fits | Self::Unknown => None,
        }
    }

    /// Combines two requirements that must both hold; the first mismatch is reported.
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Cannot(_) => self,
            Self::Fits => other(),
            Self::Unknown => match other() {
                Self::Fits => Self::Unknown,
                verdict => verdict,
            },
        }
    }

    fn within(self, part: impl FnOnce() -> PathPart) -> Self {
        match self {
            Self::Cannot(mismatch) => Self::Cannot(mismatch.within(part())),
            verdict => verdict,
        }
    }

    /// Weakens the result for a part that may be absent: if its value cannot fit, it may still be left out.
    fn at_most_unknown(self) -> Self {
        match self {
            Self::Fits => Self::Fits,
            Self::Unknown | Self::Cannot(_) => Self::Unknown,
        }
    }
}

/// Decides whether values of type `from` can be used where type `to` is expected.
///
/// The result is `Cannot` only if no value fits, with two exceptions that are mistakes in any case: a value that may be
/// null or missing where one is required, and a value that fits only if it is null.
#[expect(
    clippy::match_same_arms,
    reason = "the order of the arms matters: the most certain ones come first"
)]
#[must_use]
pub fn fit(from: &Type, to: &Type) -> Fit {
    if from == to {
        return Fit::Fits;
    }
    match (from, to) {
        (Type::Never | Type::Invalid, _) | (_, Type::Any | Type::Invalid) => Fit::Fits,
        (Type::Any, _) => Fit::Unknown,
        (Type::Union(members), _) => from_union(members, from, to),
        (_, Type::Union(members)) => into_union(from, members, to),
        (Type::Literal(literal), _) => from_literal(literal, from, to),
        (_, Type::Literal(literal)) if literal.base() == *from => Fit::Unknown,
        (Type::Uint, Type::Literal(Literal::Int(number))) if *number >= 0 => Fit::Unknown,
        (Type::Int | Type::Uint, Type::Double) => Fit::Fits,
        (Type::Int, Type::Uint) | (Type::Uint, Type::Int) => Fit::Unknown,
        (Type::List(from), Type::List(to)) => fit(from, to).within(|| PathPart::Element),
        (Type::Map(from), Type::Map(to)) => map_to_map(from, to),
        (Type::Map(map), Type::Object(object)) => map_to_object(map, object, from, to),
        (Type::Object(object), Type::Map(map)) => object_to_map(object, map, from, to),
        (Type::Object(object), Type::Object(target)) => object_to_object(object, target, from, to),
        (Type::Result(from), Type::Result(to)) => {
            fit(from, to).within(|| PathPart::Field("value".into()))
        }
        (Type::Result(value), Type::Object(_) | Type::Map(_)) => fit(&result_union(value), to),
        (Type::Object(_) | Type::Map(_), Type::Result(value)) => fit(from, &result_union(value)),
        (Type::Error, Type::Object(_) | Type::Map(_)) => fit(&error_object(), to),
        (Type::Object(_) | Type::Map(_), Type::Error) => fit(from, &error_object()),
        _ => cannot(from, to),
    }
}

fn cannot(from: &Type, to: &Type) -> Fit {
    Fit::Cannot(Mismatch::new(Misfit::Type, to, from))
}

/// Every alternative must fit. The result is `Unknown` if one fits and another does not, unless the latter is null.
fn from_union(members: &Arc<[Type]>, from: &Type, to: &Type) -> Fit {
    let (mut possible, mut open, mut failure, mut absence) = (false, false, None, None);
    for member in members.iter() {
        match fit(member, to) {
            // A common null is not enough: `bool?` does not fit `string?`.
            Fit::Fits => possible |= *member != Type::Null,
            Fit::Unknown => (possible, open) = (true, true),
            Fit::Cannot(_) if *member == Type::Null => {
                absence.get_or_insert_with(|| Mismatch::new(Misfit::Absent, to, from));
            }
            Fit::Cannot(mismatch) if mismatch.absent() => absence = Some(mismatch),
            Fit::Cannot(mismatch) => failure = Some(mismatch),
        }
    }
    let only_null = matches!(&absence, Some(mismatch) if mismatch.path.is_empty());
    match (failure, absence) {
        (Some(mismatch), absence) if !possible && (absence.is_none() || only_null) => {
            let whole = mismatch.path.is_empty() && members.len() > 1;
            if whole {
                cannot(&from.without_null(), to)
            } else {
                Fit::Cannot(mismatch)
            }
        }
        (_, Some(absence)) => Fit::Cannot(absence),
        (None, None) if !open => Fit::Fits,
        (_, None) => Fit::Unknown,
    }
}

/// One alternative has to fit. If only one can have been intended, its mismatch is reported.
fn into_union(from: &Type, members: &Arc<[Type]>, to: &Type) -> Fit {
    if *from == Type::Bool && members.contains(&Type::Bool) {
        return Fit::Fits;
    }
    let (mut open, mut inner) = (false, Vec::new());
    for member in members.iter() {
        match fit(from, member) {
            Fit::Fits => return Fit::Fits,
            Fit::Unknown => open = true,
            Fit::Cannot(mismatch) => {
                if mismatch.misfit != Misfit::Type || !mismatch.path.is_empty() {
                    inner.push(mismatch);
                }
            }
        }
    }
    if let Type::Result(value) = from
        && (open || !inner.is_empty())
    {
        return fit(&result_union(value), to);
    }
    if open {
        return Fit::Unknown;
    }
    if let Some(place) = inner.iter().position(Mismatch::absent) {
        return Fit::Cannot(inner.swap_remove(place));
    }
    match (inner.pop(), inner.is_empty()) {
        (Some(mismatch), true) => Fit::Cannot(mismatch),
        _ => cannot(from, to),
    }
}

fn from_literal(literal: &Literal, from: &Type, to: &Type) -> Fit {
    match (literal, to) {
        (Literal::Int(number), Type::Uint) if *number >= 0 => Fit::Fits,
        (Literal::Int(_), Type::Double) => Fit::Fits,
        _ if literal.base() == *to => Fit::Fits,
        _ => cannot(from, to),
    }
}

fn map_to_map(from: &MapType, to: &MapType) -> Fit {
    let keys = fit(&from.key, &to.key);
    keys.and(|| fit(&from.value, &to.value))
        .within(|| PathPart::Element)
}

fn map_to_object(map: &MapType, object: &ObjectType, from: &Type, to: &Type) -> Fit {
    // Every entry of a map would be dropped by an object that declares no fields.
    let drops_all = object.fields.is_empty() && object.rest == Rest::Closed;
    if drops_all || !matches!(map.key, Type::String | Type::Any) {
        return cannot(from, to);
    }
    for field in object.fields.iter().filter(|field| field.required) {
        if let Fit::Cannot(mismatch) = fit(&map.value, &field.ty) {
            return Fit::Cannot(mismatch.within(PathPart::Field(field.name.clone())));
        }
    }
    let optional_only = object
        .fields
        .iter()
        .all(|field| !field.required && fits_optional(&map.value, &field.ty));
    let rest = match &object.rest {
        Rest::Open => true,
        Rest::Typed(ty) => fit(&map.value, ty).fits(),
        Rest::Closed => false,
    };
    if optional_only && rest {
        Fit::Fits
    } else {
        Fit::Unknown
    }
}

fn object_to_map(object: &ObjectType, map: &MapType, from: &Type, to: &Type) -> Fit {
    match fit(&Type::String, &map.key) {
        Fit::Cannot(_) => return cannot(from, to),
        Fit::Unknown => return Fit::Unknown,
        Fit::Fits => {}
    }
    let mut verdict = match &object.rest {
        Rest::Closed => Fit::Fits,
        Rest::Open if map.value == Type::Any => Fit::Fits,
        Rest::Open => Fit::Unknown,
        Rest::Typed(ty) => fit(ty, &map.value).at_most_unknown(),
    };
    for field in &object.fields {
        let one = || fit(&field.ty, &map.value).within(|| PathPart::Field(field.name.clone()));
        verdict = verdict.and(|| {
            match (field.required, map.value.admits_null()) {
                (true, _) => one(),
                (false, true) => one().at_most_unknown(),
                // The field may be null, which such a map does not admit.
                (false, false) => Fit::Unknown.and(|| one().at_most_unknown()),
            }
        });
    }
    verdict
}

fn object_to_object(
    from_object: &ObjectType,
    to_object: &ObjectType,
    from: &Type,
    to: &Type,
) -> Fit {
    let mut verdict = Fit::Fits;
    for target in &to_object.fields {
        let given = from_object.field(&target.name);
        verdict = verdict.and(|| target_field(given, target, &from_object.rest, from, to));
    }
    for given in from_object
        .fields
        .iter()
        .filter(|given| to_object.field(&given.name).is_none())
    {
        verdict = verdict.and(|| extra_field(given, &to_object.rest, from, to));
    }
    verdict.and(|| match (&from_object.rest, &to_object.rest) {
        (Rest::Closed, _) | (_, Rest::Open) | (Rest::Open, Rest::Typed(Type::Any)) => Fit::Fits,
        (Rest::Typed(from), Rest::Typed(to)) => fit(from, to).at_most_unknown(),
        (Rest::Open, Rest::Typed(_)) | (Rest::Open | Rest::Typed(_), Rest::Closed) => Fit::Unknown,
    })
}

#[expect(
    clippy::match_same_arms,
    reason = "the order of the arms matters: the most certain ones come first"
)]
fn target_field(given: Option<&Field>, target: &Field, rest: &Rest, from: &Type, to: &Type) -> Fit {
    let inside = || PathPart::Field(target.name.clone());
    match (given, rest) {
        (Some(given), _) if !target.required => {
            // A null is left out if the field is optional, so only the other alternatives have to fit.
            let verdict = fit(&given.ty, &target.ty);
            if verdict.fits() {
                verdict
            } else {
                fit(&given.ty.without_null(), &target.ty).within(inside)
            }
        }
        (Some(given), _) if given.required => fit(&given.ty, &target.ty).within(inside),
        (Some(given), _) => {
            let verdict = fit(&given.ty, &target.ty);
            verdict
                .and(|| Fit::Cannot(Mismatch::new(Misfit::Absent, &target.ty, &given.ty)))
                .within(inside)
        }
        (None, Rest::Closed) if target.required => Fit::Cannot(Mismatch::new(
            Misfit::MissingField(target.name.clone()),
            to,
            from,
        )),
        (None, Rest::Closed) => Fit::Fits,
        (None, Rest::Open) if !target.required && target.ty == Type::Any => Fit::Fits,
        (None, Rest::Open) => Fit::Unknown,
        (None, Rest::Typed(ty)) if target.required => {
            fit(ty, &target.ty).within(inside).and(|| Fit::Unknown)
        }
        (None, Rest::Typed(ty)) if fits_optional(ty, &target.ty) => Fit::Fits,
        (None, Rest::Typed(_)) => Fit::Unknown,
    }
}

fn extra_field(given: &Field, rest: &Rest, from: &Type, to: &Type) -> Fit {
    match rest {
        Rest::Open => Fit::Fits,
        Rest::Closed if given.required => Fit::Cannot(Mismatch::new(
            Misfit::ExtraField(given.name.clone()),
            to,
            from,
        )),
        Rest::Closed => Fit::Unknown,
        Rest::Typed(ty) => {
            let verdict = fit(&given.ty, ty).within(|| PathPart::Field(given.name.clone()));
            if given.required {
                verdict
            } else {
                verdict.at_most_unknown()
            }
        }
    }
}

/// Returns true if a value fits an optional field, where null means that the field is absent.
fn fits_optional(from: &Type, to: &Type) -> bool {
    fit(from, to).fits() || fit(&from.without_null(), to).fits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object<const N: usize>(fields: [(&str, Type, bool); N], rest: Rest) -> Type {
        let fields = fields.map(|(name, ty, required)| Field {
            name: name.into(),
            ty,
            required,
        });
        Type::object(fields.into(), rest)
    }

    fn refused(from: &Type, to: &Type) -> String {
        fit(from, to)
            .mismatch()
            .map_or_else(String::new, |mismatch| mismatch.to_string())
    }

    #[test]
    fn scalars() {
        assert!(fit(&Type::Int, &Type::Double).fits());
        assert!(fit(&Type::text("a"), &Type::String).fits());
        assert_eq!(fit(&Type::String, &Type::text("a")), Fit::Unknown);
        assert_eq!(
            refused(&Type::Double, &Type::Int),
            "expected int, got double"
        );
        assert_eq!(
            refused(&Type::text("b"), &Type::union([Type::text("a"), Type::Int])),
            r#"expected "a" | int, got "b""#
        );
        assert!(fit(&Type::Any, &Type::Any).fits());
        assert_eq!(fit(&Type::Any.list(), &Type::Int.list()), Fit::Unknown);
        assert!(fit(&Type::Never, &Type::Int).fits());
    }

    #[test]
    fn absence_is_told_apart_from_a_wrong_type() {
        assert!(
            fit(&Type::String.optional(), &Type::String)
                .mismatch()
                .is_some_and(|mismatch| mismatch.absent())
        );
        assert!(
            fit(&Type::String.optional(), &Type::Int)
                .mismatch()
                .is_some_and(|mismatch| !mismatch.absent())
        );
        assert!(fit(&Type::String, &Type::String.optional()).fits());
        let mixed = Type::union([Type::String, Type::Int]);
        assert_eq!(fit(&mixed, &Type::String), Fit::Unknown);
    }

    #[test]
    fn missing_and_null_fields_differ() {
        let missing = object([("a", Type::String, false)], Rest::Closed);
        let nullable = object([("a", Type::String.optional(), true)], Rest::Closed);
        assert!(
            fit(&nullable, &missing).fits(),
            "a null is left out where the field need not be there"
        );
        assert!(
            fit(&missing, &nullable)
                .mismatch()
                .is_some_and(|mismatch| mismatch.absent())
        );
    }

    #[test]
    fn objects_tell_what_is_missing_and_what_is_too_much() {
        let target = object(
            [("id", Type::String, true), ("n", Type::Int, false)],
            Rest::Closed,
        );
        assert_eq!(
            refused(&object([("n", Type::Int, true)], Rest::Closed), &target),
            "the field id is missing"
        );
        let more = object(
            [("id", Type::String, true), ("x", Type::Int, true)],
            Rest::Closed,
        );
        assert_eq!(
            refused(&more, &target),
            "there is no field x in { id: string, n?: int }"
        );
        let wrong = object([("id", Type::Int, true)], Rest::Closed);
        assert_eq!(
            refused(&wrong.list(), &target.clone().list()),
            "at [].id: expected string, got int"
        );
        let open = object([("id", Type::String, true)], Rest::Open);
        assert_eq!(fit(&open, &target), Fit::Unknown);
        assert!(fit(&target, &open).fits());
    }

    #[test]
    fn built_in_shapes_are_objects() {
        let result = Type::Result(Arc::new(Type::Int));
        assert!(fit(&result, &result_union(&Type::Double)).fits());
        assert!(fit(&Type::Error, &Type::Any.map()).fits());
        assert!(fit(&error_object(), &Type::Error).fits());
    }
}
