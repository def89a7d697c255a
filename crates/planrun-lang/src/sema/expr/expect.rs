//! Checks values against an expected type: literals part by part, everything else as a whole.

use super::construct::{check_choice, check_key, check_match_choice};
use super::narrow::path_text;
use super::operator::lossy_number;
use super::{Checker, Expectation, MapKey, Typed, combine, construct, report};
use crate::diag::Diagnostic;
use crate::diag::codes::names::CALL_IN_EXPRESSION;
use crate::diag::codes::types::MAYBE_ABSENT;
use crate::sema::NameKind;
use crate::sema::expr::{Node, Op};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Fit, Literal, MapType, ObjectType, Rest, Type, convert_from, fit};
use crate::value::{Key, Value};

/// Checks an expression whose place requires the type `expected`.
pub(super) fn check_expected(
    checker: &mut Checker<'_>,
    expression: &ast::Expr,
    expected: &Type,
    expectation: Expectation<'_>,
) -> Typed {
    let span = expression.span;
    match &expression.kind {
        ast::ExprKind::Object(entries) => match expected_object(expected, entries) {
            Some(ExpectedLiteral::Object(object)) => {
                check_expected_object(checker, entries, span, &object, expectation)
            }
            Some(ExpectedLiteral::Map(map)) => {
                check_expected_map(checker, entries, span, &map, expectation)
            }
            None => check_whole(checker, expression, expected, expectation),
        },
        ast::ExprKind::List(elements) => match expected_element(expected) {
            Some(element) => {
                let inner = expectation.element();
                let typed = elements
                    .iter()
                    .map(|one| check_expected(checker, one, &element, inner))
                    .collect();
                construct::list_of(typed, span)
            }
            None => check_whole(checker, expression, expected, expectation),
        },
        ast::ExprKind::Conditional { arms, otherwise } => {
            check_choice(checker, arms, otherwise, span, &mut |checker, result| {
                check_expected(checker, result, expected, expectation)
            })
        }
        ast::ExprKind::Match { subject, arms } => {
            check_match_choice(checker, subject, arms, span, &mut |checker, result| {
                check_expected(checker, result, expected, expectation)
            })
        }
        _ => check_whole(checker, expression, expected, expectation),
    }
}

/// Checks an expression as a whole.
fn check_whole(
    checker: &mut Checker<'_>,
    expression: &ast::Expr,
    expected: &Type,
    expectation: Expectation<'_>,
) -> Typed {
    let typed = checker.expression(expression);
    let before = checker.diagnostics.len();
    let typed = require_fit(checker, typed, expression.span, expected, expectation);
    if let ast::ExprKind::Path { .. } = &expression.kind
        && let Some(found) = checker.diagnostics.get(before)
        && found.code == &MAYBE_ABSENT
    {
        let path = path_text(expression, &[]);
        if checker.env.is_present(&path, true) {
            let absent = checker.diagnostics.remove(before);
            checker.report(report::only_has(absent, &path));
        }
    }
    typed
}

/// Returns true if a misplaced call has been reported at this span; its fix is removed, since a step would not help
/// where its type does not fit either.
fn is_misplaced_call(checker: &mut Checker<'_>, span: Span) -> bool {
    let is_it = |found: &&mut Diagnostic| found.code == &CALL_IN_EXPRESSION && found.span == span;
    let found = checker.diagnostics.iter_mut().rev().find(is_it);
    found.map(|found| found.fix = None).is_some()
}

/// Checks the type of a value against the expected one, and reports a mismatch.
pub(super) fn require_fit(
    checker: &mut Checker<'_>,
    mut typed: Typed,
    span: Span,
    expected: &Type,
    expectation: Expectation<'_>,
) -> Typed {
    if let Some(number) = typed.node.constant().and_then(Value::as_int)
        && expected.without_null() == Type::Double
    {
        lossy_number(checker, number, span);
    }
    let mismatch = match (fit(&typed.ty, expected), typed.node.constant()) {
        (Fit::Cannot(mismatch), _) => Some(mismatch),
        // The types are inconclusive, but the value is not.
        (Fit::Unknown, Some(value)) => convert_from(value.clone(), &typed.ty, expected).err(),
        (Fit::Unknown, None) | (Fit::Fits, _) => None,
    };
    let Some(mismatch) = mismatch else {
        return typed;
    };
    if matches!(typed.node.op, Op::Fail(_)) && is_misplaced_call(checker, span) {
        typed.ty = Type::Invalid;
        return typed;
    }
    let simple = combine::is_simple(&typed.node);
    let diagnostic = if mismatch.absent() && mismatch.path.is_empty() {
        let absent = report::absent_value(&typed.ty, expected, expectation, span, simple);
        match context_read(checker, &typed.node) {
            Some(task) => report::changing_context(absent, task, expected),
            None => absent,
        }
    } else {
        report::wrong_type(
            &typed.ty,
            expected,
            &mismatch,
            expectation,
            span,
            &typed.node,
        )
    };
    checker.report(diagnostic);
    typed.ty = Type::Invalid;
    typed
}

/// Returns the name of the task if an expression is a field of its context.
fn context_read<'c>(checker: &'c Checker<'_>, node: &Node) -> Option<&'c str> {
    let Op::Path { base, .. } = &node.op else {
        return None;
    };
    let Op::Place(place) = base.op else {
        return None;
    };
    let mut reads = checker.reads.iter();
    let read = reads.find(|read| read.place == place && read.binding == NameKind::Task)?;
    Some(&read.name)
}

fn check_expected_object(
    checker: &mut Checker<'_>,
    entries: &[ast::Entry],
    span: Span,
    object: &ObjectType,
    expectation: Expectation<'_>,
) -> Typed {
    let mut parts = Vec::with_capacity(entries.len());
    let mut invalid = false;
    for entry in entries {
        let (key, key_type) = check_key(checker, &entry.key);
        let (name, field) = match &key {
            MapKey::Constant(Key::String(name)) => (Some(name.clone()), object.field(name)),
            // No object has such a field: `{ false: 1 }`.
            MapKey::Constant(key) => (Some(key.to_string().into()), None),
            MapKey::Computed(_) => (None, None),
        };
        let value = match field {
            Some(field) => {
                let ty = field.value_type();
                check_expected(checker, &entry.value, &ty, expectation.part(&field.name))
            }
            None => match (&object.rest, &name) {
                (Rest::Typed(ty), _) => check_expected(checker, &entry.value, ty, expectation),
                (Rest::Closed, Some(name)) => {
                    let place = key_span(entry);
                    checker.report(report::extra_field(name, place, object, expectation));
                    invalid = true;
                    checker.expression(&entry.value)
                }
                (Rest::Closed | Rest::Open, _) => checker.expression(&entry.value),
            },
        };
        invalid |= value.ty == Type::Invalid;
        parts.push(((key, key_type), value));
    }
    invalid |= missing_fields(checker, &parts, object, span, expectation);
    let mut typed = construct::map_of(parts, span);
    if invalid {
        typed.ty = Type::Invalid;
    }
    typed
}

/// Reports required fields that are missing.
fn missing_fields(
    checker: &mut Checker<'_>,
    parts: &[((MapKey, Type), Typed)],
    object: &ObjectType,
    span: Span,
    expectation: Expectation<'_>,
) -> bool {
    let computed = parts
        .iter()
        .any(|((key, _), _)| matches!(key, MapKey::Computed(_)));
    if computed {
        return false;
    }
    let given = |name: &str| {
        parts.iter().any(
            |((key, _), _)| matches!(key, MapKey::Constant(Key::String(given)) if **given == *name),
        )
    };
    let missing: Vec<&str> = object
        .fields
        .iter()
        .filter(|field| field.required && !given(&field.name))
        .map(|field| &*field.name)
        .collect();
    if missing.is_empty() {
        return false;
    }
    checker.report(report::missing_fields(&missing, object, span, expectation));
    true
}

fn check_expected_map(
    checker: &mut Checker<'_>,
    entries: &[ast::Entry],
    span: Span,
    map: &MapType,
    expectation: Expectation<'_>,
) -> Typed {
    let mut parts = Vec::with_capacity(entries.len());
    for entry in entries {
        let (key, key_type) = check_key(checker, &entry.key);
        if let Fit::Cannot(_) = fit(&key_type, &map.key) {
            checker.report(report::wrong_key(&key_type, &map.key, key_span(entry)));
        }
        let value = check_expected(checker, &entry.value, &map.value, expectation);
        parts.push(((key, key_type), value));
    }
    construct::map_of(parts, span)
}

/// Checks a condition: a bool that is present and known.
pub(super) fn check_bool(checker: &mut Checker<'_>, expression: &ast::Expr) -> Typed {
    let mut typed = checker.expression(expression);
    let fits = |member: &Type| {
        matches!(
            member,
            Type::Bool | Type::Literal(Literal::Bool(_)) | Type::Invalid | Type::Never
        )
    };
    if !typed.ty.members().iter().all(fits) {
        checker.report(report::not_a_bool(
            "a condition",
            &typed.ty,
            expression.span,
            &typed.node,
        ));
        typed.ty = Type::Invalid;
    }
    typed
}

/// The expected type of an object literal.
enum ExpectedLiteral {
    Object(ObjectType),
    Map(MapType),
}

/// Returns the only alternative for which an object literal can be intended.
fn expected_object(expected: &Type, entries: &[ast::Entry]) -> Option<ExpectedLiteral> {
    let mut candidates = Vec::new();
    for member in expected.members() {
        match member {
            Type::Object(object) => candidates.push(ExpectedLiteral::Object((**object).clone())),
            Type::Map(map) => candidates.push(ExpectedLiteral::Map((**map).clone())),
            Type::Any | Type::Invalid | Type::Result(_) | Type::Error => return None,
            _ => {}
        }
    }
    if candidates.len() > 1 {
        candidates.retain(|candidate| match candidate {
            ExpectedLiteral::Object(object) => entries.iter().all(|entry| may_be_in(entry, object)),
            ExpectedLiteral::Map(_) => true,
        });
    }
    let first = candidates.pop()?;
    candidates.is_empty().then_some(first)
}

/// Returns true if a field whose value is a literal may belong to an object of this type.
fn may_be_in(entry: &ast::Entry, object: &ObjectType) -> bool {
    let ast::EntryKey::Name(name) = &entry.key else {
        return true;
    };
    let ast::ExprKind::Literal(literal) = &entry.value.kind else {
        return true;
    };
    let (_, ty) = super::literal::value(literal);
    object
        .field(&name.text)
        .is_none_or(|field| combine::may_equal(&ty, &field.ty))
}

fn expected_element(expected: &Type) -> Option<Type> {
    let mut lists = expected.members().iter().filter_map(|member| match member {
        Type::List(element) => Some((**element).clone()),
        _ => None,
    });
    let first = lists.next()?;
    let other = expected
        .members()
        .iter()
        .any(|member| matches!(member, Type::Any | Type::Invalid));
    (lists.next().is_none() && !other).then_some(first)
}

fn key_span(entry: &ast::Entry) -> Span {
    match &entry.key {
        ast::EntryKey::Name(name) => name.span,
        ast::EntryKey::Expr(expression) => expression.span,
    }
}

/// Returns the text of a constant string.
pub(super) fn constant_text(node: &Node) -> Option<&str> {
    node.constant().and_then(Value::as_str)
}
