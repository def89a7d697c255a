//! Narrows a type by the facts about a value or one of its parts.

use std::sync::Arc;

use super::{Field, Literal, ObjectType, Rest, Type, result_union};

/// A known property of the value at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refinement {
    /// It is not null: `x.f != null`.
    NotNull,
    /// It is not missing: `has(x.f)`.
    NotMissing,
    /// It is this Boolean value: `r.ok`.
    Is(bool),
    /// It is this value: `x.kind == "a"`.
    Equals(Literal),
    /// It is another value: `x.kind != "a"`.
    Differs(Literal),
}

/// Returns the type of those values whose part at this path of fields has the property.
#[must_use]
pub fn refine(ty: &Type, path: &[Arc<str>], known: &Refinement) -> Type {
    let Some((first, rest)) = path.split_first() else {
        return match known {
            Refinement::NotNull => ty.without_null(),
            Refinement::NotMissing => ty.clone(),
            Refinement::Is(truth) => those(ty, |member| is_truth(member, *truth)),
            Refinement::Equals(literal) => those(ty, |member| may_equal(member, literal)),
            Refinement::Differs(literal) => those(
                ty,
                |member| !matches!(member, Type::Literal(own) if own == literal),
            ),
        };
    };
    // Any known property of a part implies that the whole is not null.
    let kept = ty.members().iter().filter_map(|member| match member {
        Type::Null => None,
        Type::Object(object) => refine_object(object, first, rest, known),
        Type::Result(value) => {
            let whole = result_union(value);
            let refined = refine(&whole, path, known);
            Some(if refined == whole {
                member.clone()
            } else {
                refined
            })
        }
        other => Some(other.clone()),
    });
    Type::union(kept)
}

/// Returns the union of those members of a type for which the test is true.
fn those(ty: &Type, test: impl Fn(&Type) -> bool) -> Type {
    let kept = ty.members().iter().filter(|member| test(member));
    Type::union(kept.cloned())
}

fn is_truth(member: &Type, truth: bool) -> bool {
    may_equal(member, &Literal::Bool(truth))
}

/// Returns true if a value of a member of a type may be this one. Of the scalars, only other literals of the same kind
/// are known to differ, since numbers of different types may be equal.
fn may_equal(member: &Type, literal: &Literal) -> bool {
    match member {
        Type::Null => false,
        Type::Literal(own) => own == literal,
        _ => true,
    }
}

/// Returns the object with the refined field; `None` if no such object can exist.
fn refine_object(
    object: &Arc<ObjectType>,
    name: &Arc<str>,
    rest: &[Arc<str>],
    known: &Refinement,
) -> Option<Type> {
    let Some(position) = object.fields.iter().position(|field| field.name == *name) else {
        return (object.rest != Rest::Closed).then(|| Type::Object(object.clone()));
    };
    let mut refined = ObjectType::clone(object);
    let field = refined.fields.get_mut(position)?;
    if !field.required && matches!(known, Refinement::Differs(_)) {
        // A missing field reads as null, which differs from every literal.
        return Some(Type::Object(object.clone()));
    }
    // `has` of a field that may be missing is false for null, too.
    let known = match known {
        Refinement::NotMissing if rest.is_empty() && !field.required => &Refinement::NotNull,
        known => known,
    };
    let ty = refine(&field.ty, rest, known);
    if ty == Type::Never {
        return None;
    }
    *field = Field {
        ty,
        required: true,
        ..field.clone()
    };
    Some(Type::Object(Arc::new(refined)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(fields: &[(&str, Type, bool)]) -> Type {
        let field = |(name, ty, required): &(&str, Type, bool)| Field {
            name: (*name).into(),
            ty: ty.clone(),
            required: *required,
        };
        Type::object(fields.iter().map(field).collect(), Rest::Closed)
    }

    fn refined(ty: &Type, path: &[&str], known: &Refinement) -> String {
        let path = path.iter().map(|name| Arc::from(*name)).collect::<Vec<_>>();
        refine(ty, &path, known).to_string()
    }

    #[test]
    fn what_a_test_says_is_in_the_type() {
        let inner = object(&[("b", Type::Int.optional(), false)]);
        let whole = object(&[("a", inner.optional(), true)]).optional();
        assert_eq!(
            refined(&whole, &[], &Refinement::NotNull),
            "{ a: { b: int? } | null }"
        );
        assert_eq!(
            refined(&whole, &["a"], &Refinement::NotNull),
            "{ a: { b: int? } }"
        );
        assert_eq!(
            refined(&whole, &["a", "b"], &Refinement::NotNull),
            "{ a: { b: int } }"
        );
        assert_eq!(
            refined(&whole, &["a", "b"], &Refinement::NotMissing),
            "{ a: { b: int } }"
        );
        let nullable = object(&[("b", Type::Int.optional(), true)]);
        assert_eq!(
            refined(&nullable, &["b"], &Refinement::NotMissing),
            "{ b: int | null }"
        );
        let result = Type::Result(Arc::new(Type::String));
        assert_eq!(
            refined(&result, &["ok"], &Refinement::Is(true)),
            "{ ok: true, value: string }"
        );
        assert_eq!(
            refined(&result, &["ok"], &Refinement::Is(false)),
            "{ ok: false, error: Error }"
        );
        assert_eq!(
            refined(&result, &["value"], &Refinement::NotNull),
            "{ ok: true, value: string }"
        );
        assert_eq!(refined(&result, &["other"], &Refinement::NotNull), "never");
        assert_eq!(
            refined(&Type::Bool.optional(), &[], &Refinement::Is(true)),
            "bool"
        );
        assert_eq!(refined(&Type::Any, &["a"], &Refinement::NotNull), "any");
        let tagged = |tag: &str, field: &str| {
            let tag = Type::Literal(Literal::String(tag.into()));
            object(&[("kind", tag, true), (field, Type::Int, true)])
        };
        let either = Type::union([tagged("a", "n"), tagged("b", "s"), Type::Null]);
        let a = || Literal::String("a".into());
        assert_eq!(
            refined(&either, &["kind"], &Refinement::Equals(a())),
            tagged("a", "n").to_string()
        );
        assert_eq!(
            refined(&either, &["kind"], &Refinement::Differs(a())),
            tagged("b", "s").to_string()
        );
        let missing = object(&[("kind", Type::Literal(a()), false)]);
        assert_eq!(
            refined(&missing, &["kind"], &Refinement::Differs(a())),
            missing.to_string()
        );
    }
}
