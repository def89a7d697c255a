//! Checks patterns of `match`: what they match, whether they are exhaustive, and the facts in their arms.

use super::{Checker, Matcher, combine, literal, narrow, report};
use crate::sema::Atom;
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{
    FieldLookup, Literal, ObjectType, Type, field, field_names, may_be_undeclared, result_union,
};
use crate::value::Key;

/// One checked arm of a `match`.
#[derive(Clone, Debug)]
pub struct CheckedPattern {
    pub matcher: Matcher,
    /// Type of the subject in this arm.
    pub subject: Type,
    /// Facts that hold in the arm, to be added to those of its scope.
    pub facts: Vec<Atom>,
}

/// Maximum number of distinguished cases; beyond it, only `_` counts as exhaustive.
const MAX_CASES: usize = 256;

impl Checker<'_> {
    /// Checks the arms of a `match` over `subject`, and reports unreachable arms and missing cases.
    ///
    /// Each arm has the span of the whole arm; missing cases are reported at `head`. `of_step` is set if the `match`
    /// is a step, whose arms can also fail.
    pub fn check_patterns(
        &mut self,
        (subject, ty): (&ast::Expr, &Type),
        arms: &[(&ast::Pattern, Span)],
        head: Span,
        of_step: bool,
    ) -> Vec<CheckedPattern> {
        let text = place_of(subject);
        let mut cases = cases_of(ty, arms.iter().map(|(pattern, _)| *pattern));
        let mut facts: Vec<Atom> = Vec::new();
        let mut checked = Vec::with_capacity(arms.len());
        let mut previous: Option<Span> = None;
        let mut literals: Vec<&ast::Literal> = Vec::new();
        for (position, (pattern, span)) in arms.iter().enumerate() {
            let findings = self.diagnostics.len();
            let matcher = check_matcher(self, pattern, ty, &text);
            let left = cases
                .iter()
                .filter(|case| may_take(pattern, case))
                .cloned()
                .collect::<Vec<_>>();
            let is_repeated = repeats(pattern, &literals);
            if (left.is_empty() || is_repeated)
                && *ty != Type::Invalid
                && self.diagnostics.len() == findings
            {
                let next = arms.get(position + 1).map(|(_, span)| *span);
                self.report(report::unreachable_arm(pattern, *span, previous, next));
            }
            let mut own = facts.clone();
            facts_of(pattern, subject, &text, &mut own);
            checked.push(CheckedPattern {
                matcher,
                subject: Type::union(left),
                facts: own,
            });
            cases.retain(|case| !takes_all(pattern, case));
            literals.extend(literals_of(pattern).unwrap_or_default());
            if takes_null(pattern) {
                facts.push(narrow::null_test(&text, true));
            }
            previous = Some(*span);
        }
        // A pattern that cannot be read might match any of the missing cases.
        let open = matches!(ty, Type::Invalid | Type::Never)
            || arms.iter().any(|(pattern, _)| is_broken(pattern));
        if !cases.is_empty() && !open {
            self.report(report::non_exhaustive(
                &cases,
                head,
                previous.filter(|_| of_step),
            ));
        }
        checked
    }
}

/// Checks a pattern against the type of its subject.
fn check_matcher(
    checker: &mut Checker<'_>,
    pattern: &ast::Pattern,
    ty: &Type,
    place: &str,
) -> Matcher {
    match &pattern.kind {
        ast::PatternKind::Any | ast::PatternKind::Error => Matcher::Any,
        ast::PatternKind::Literal(written) => {
            let (value, own) = literal::value(written);
            let possible = if own == Type::Null {
                ty.admits_null()
            } else {
                combine::may_equal(&own, ty)
            };
            if !possible && *ty != Type::Never {
                checker.report(report::impossible_pattern(&own, ty, pattern.span));
            }
            Matcher::Value(value)
        }
        ast::PatternKind::Or(alternatives) => Matcher::Or(
            alternatives
                .iter()
                .map(|alternative| check_matcher(checker, alternative, ty, place))
                .collect(),
        ),
        ast::PatternKind::Object(fields) => {
            let present = objects_of(ty);
            let parts = fields.iter().map(|(name, inner)| {
                let part = check_part(checker, name, ty, &present, place);
                let mut matcher = check_matcher(checker, inner, &part, &field_of(place, name));
                if may_be_undeclared(&present, &name.text) {
                    matcher = Matcher::Declared(part.into(), matcher.into());
                }
                (Key::String(name.text.clone()), matcher)
            });
            Matcher::Object(parts.collect())
        }
    }
}

/// Returns the alternatives of a type that a pattern for objects can match; if there are none, the type without null.
fn objects_of(ty: &Type) -> Type {
    let objects = ty.members().iter().filter(|member| match member {
        Type::Any
        | Type::Invalid
        | Type::Never
        | Type::Map(_)
        | Type::Object(_)
        | Type::Result(_)
        | Type::Error => true,
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
        | Type::Union(_) => false,
    });
    match Type::union(objects.cloned()) {
        Type::Never => ty.without_null(),
        objects => objects,
    }
}

/// Returns the canonical text of the subject of a `match`, in parentheses if it is no path.
fn place_of(subject: &ast::Expr) -> String {
    let text = narrow::path_text(subject, &[]);
    match subject.kind {
        ast::ExprKind::Name(_) | ast::ExprKind::Path { .. } => text,
        _ => format!("({text})"),
    }
}

/// Returns the canonical text of a field of a place.
fn field_of(place: &str, name: &ast::Name) -> String {
    format!("{place}.{}", canonical_name(&name.text))
}

/// Returns the type of the field that a pattern names, of a subject that is not null.
fn check_part(
    checker: &mut Checker<'_>,
    name: &ast::Name,
    ty: &Type,
    present: &Type,
    place: &str,
) -> Type {
    match field(present, &name.text) {
        FieldLookup::Found { ty, required } => {
            if required {
                ty
            } else {
                ty.optional()
            }
        }
        FieldLookup::Any => {
            if *ty == Type::Invalid {
                Type::Invalid
            } else {
                Type::Any
            }
        }
        FieldLookup::Missing => {
            let names = field_names(present);
            checker.report(report::unknown_field(name, present, place, &names, false));
            Type::Invalid
        }
        FieldLookup::NotAnObject => {
            checker.report(report::not_an_object(name, present, place));
            Type::Invalid
        }
    }
}

/// Returns the cases of a type that patterns distinguish: alternatives, bools, and objects by the fields that patterns
/// name.
fn cases_of<'p>(ty: &Type, patterns: impl Iterator<Item = &'p ast::Pattern>) -> Vec<Type> {
    let mut named = Vec::new();
    for pattern in patterns {
        named_fields(pattern, &mut named);
    }
    let mut cases = Vec::new();
    for member in ty.members() {
        match member {
            Type::Bool => {
                cases.extend([true, false].map(|truth| Type::Literal(Literal::Bool(truth))));
            }
            Type::Result(value) => cases.extend(result_union(value).members().iter().cloned()),
            Type::Object(object) => expand(object, &named, &mut cases),
            Type::Never => {}
            other => cases.push(other.clone()),
        }
    }
    cases
}

/// A field that patterns name, with their patterns for it.
type NamedField<'p> = (&'p str, Vec<&'p ast::Pattern>);

fn named_fields<'p>(pattern: &'p ast::Pattern, named: &mut Vec<NamedField<'p>>) {
    match &pattern.kind {
        ast::PatternKind::Or(alternatives) => {
            for one in alternatives {
                named_fields(one, named);
            }
        }
        ast::PatternKind::Object(fields) => {
            for (name, inner) in fields {
                match named.iter_mut().find(|(known, _)| **known == *name.text) {
                    Some((_, patterns)) => patterns.push(inner),
                    None => named.push((&name.text, vec![inner])),
                }
            }
        }
        ast::PatternKind::Any | ast::PatternKind::Literal(_) | ast::PatternKind::Error => {}
    }
}

/// Adds an object once for each case of its fields that patterns name and that have few cases.
fn expand(object: &ObjectType, named: &[NamedField<'_>], cases: &mut Vec<Type>) {
    let mut variants = vec![object.clone()];
    for (position, field) in object.fields.iter().enumerate() {
        let ty = field.value_type();
        let Some((_, patterns)) = named.iter().find(|(name, _)| **name == *field.name) else {
            continue;
        };
        let values = cases_of(&ty, patterns.iter().copied());
        let finite = values
            .iter()
            .all(|value| matches!(value, Type::Literal(_) | Type::Null | Type::Object(_)));
        if !finite || values.len() < 2 || variants.len() * values.len() > MAX_CASES {
            continue;
        }
        let mut next = Vec::with_capacity(variants.len() * values.len());
        for variant in &variants {
            for value in &values {
                let mut one = variant.clone();
                if let Some(field) = one.fields.get_mut(position) {
                    field.ty = value.clone();
                    field.required = *value != Type::Null || field.required;
                }
                next.push(one);
            }
        }
        variants = next;
    }
    cases.extend(
        variants
            .into_iter()
            .map(|variant| Type::Object(variant.into())),
    );
}

/// Returns true if a pattern matches every value of a case.
fn takes_all(pattern: &ast::Pattern, case: &Type) -> bool {
    match &pattern.kind {
        ast::PatternKind::Any => true,
        ast::PatternKind::Error => false,
        ast::PatternKind::Literal(written) => {
            let (_, own) = literal::value(written);
            own == *case && matches!(own, Type::Literal(_) | Type::Null)
        }
        ast::PatternKind::Or(alternatives) => {
            let whole = alternatives
                .iter()
                .any(|alternative| takes_all(alternative, case));
            whole
                || case.members().len() > 1
                    && case
                        .members()
                        .iter()
                        .all(|member| takes_all(pattern, member))
        }
        ast::PatternKind::Object(fields) => {
            let Type::Object(object) = case else {
                return false;
            };
            fields
                .iter()
                .all(|(name, inner)| match object.field(&name.text) {
                    Some(field) => {
                        let ty = field.value_type();
                        cases_of(&ty, std::iter::once(inner))
                            .iter()
                            .all(|case| takes_all(inner, case))
                    }
                    None => takes_all(inner, &Type::Null),
                })
        }
    }
}

/// Returns true if a pattern matches some value of a case.
fn may_take(pattern: &ast::Pattern, case: &Type) -> bool {
    match &pattern.kind {
        ast::PatternKind::Any | ast::PatternKind::Error => true,
        ast::PatternKind::Literal(written) => {
            let (_, own) = literal::value(written);
            if own == Type::Null {
                case.admits_null()
            } else {
                *case != Type::Null && combine::may_equal(&own, case)
            }
        }
        ast::PatternKind::Or(alternatives) => alternatives
            .iter()
            .any(|alternative| may_take(alternative, case)),
        ast::PatternKind::Object(fields) => match case {
            Type::Object(object) => {
                fields
                    .iter()
                    .all(|(name, inner)| match object.field(&name.text) {
                        Some(field) => {
                            let ty = field.value_type();
                            ty.members().iter().any(|member| may_take(inner, member))
                        }
                        None => {
                            object.rest != crate::types::Rest::Closed
                                || may_take(inner, &Type::Null)
                        }
                    })
            }
            Type::Any | Type::Invalid | Type::Map(_) | Type::Result(_) | Type::Error => true,
            _ => false,
        },
    }
}

/// Returns true if a part of a pattern cannot be read.
fn is_broken(pattern: &ast::Pattern) -> bool {
    match &pattern.kind {
        ast::PatternKind::Error => true,
        ast::PatternKind::Any | ast::PatternKind::Literal(_) => false,
        ast::PatternKind::Or(alternatives) => alternatives.iter().any(is_broken),
        ast::PatternKind::Object(fields) => fields.iter().any(|(_, inner)| is_broken(inner)),
    }
}

/// Returns the literals of a pattern; `None` if it has other parts.
fn literals_of(pattern: &ast::Pattern) -> Option<Vec<&ast::Literal>> {
    match &pattern.kind {
        ast::PatternKind::Literal(literal) => Some(vec![literal]),
        ast::PatternKind::Or(alternatives) => {
            let all: Option<Vec<_>> = alternatives.iter().map(literals_of).collect();
            Some(all?.concat())
        }
        ast::PatternKind::Any | ast::PatternKind::Object(_) | ast::PatternKind::Error => None,
    }
}

/// Returns true if a pattern consists of literals of the arms above.
fn repeats(pattern: &ast::Pattern, above: &[&ast::Literal]) -> bool {
    literals_of(pattern).is_some_and(|own| own.iter().all(|literal| above.contains(literal)))
}

fn takes_null(pattern: &ast::Pattern) -> bool {
    takes_all(pattern, &Type::Null)
}

/// Collects the facts that hold in the arm of a pattern.
fn facts_of(pattern: &ast::Pattern, subject: &ast::Expr, place: &str, facts: &mut Vec<Atom>) {
    match &pattern.kind {
        ast::PatternKind::Literal(ast::Literal::Bool(true)) => facts.extend(narrow::atoms(subject)),
        ast::PatternKind::Literal(ast::Literal::Bool(false)) => {
            facts.extend(narrow::negated_atoms(subject));
        }
        _ => arm_facts(pattern, place, facts),
    }
}

/// Collects the facts about the subject if this pattern is the first to match.
fn arm_facts(pattern: &ast::Pattern, place: &str, facts: &mut Vec<Atom>) {
    match &pattern.kind {
        ast::PatternKind::Any | ast::PatternKind::Or(_) | ast::PatternKind::Error => {}
        ast::PatternKind::Literal(ast::Literal::Bool(truth)) => {
            facts.push(narrow::simple(place.to_owned(), !*truth));
        }
        ast::PatternKind::Literal(written) => {
            let is_null = matches!(written, ast::Literal::Null);
            facts.push(narrow::null_test(place, !is_null));
        }
        ast::PatternKind::Object(fields) => {
            facts.push(narrow::null_test(place, true));
            for (name, inner) in fields {
                arm_facts(inner, &field_of(place, name), facts);
            }
        }
    }
}
