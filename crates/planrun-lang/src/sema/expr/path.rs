//! Checks paths: chains of fields, indices and methods, and what may be absent in them.

use std::sync::Arc;

use super::foreign::{Root, find_foreign};
use super::method::check_method_link;
use super::namespace::check_namespace_path;
use super::operator::require_present;
use super::walk::{Absence, Walk};
use super::{Checker, Link, LinkOp, Op, Typed, Unchecked, combine, report};
use crate::diag::Diagnostic;
use crate::diag::codes::names::UNKNOWN_FUNCTION;
use crate::diag::foreign::{self, Shape};
use crate::sema::{Atom, Lookup, NameKind};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{
    Field, FieldLookup, Literal, ObjectType, Refinement, Type, error_object, field, field_names,
    may_be_undeclared, refine, result_union,
};
use crate::value::{Key, Value};

pub(super) fn check_path(
    checker: &mut Checker<'_>,
    base: &ast::Expr,
    links: &[ast::Link],
    span: Span,
    absence: Absence,
) -> Typed {
    if let Some(typed) = check_namespace_path(checker, base, links, span) {
        return typed;
    }
    let start = match &base.kind {
        ast::ExprKind::Path { base: inner, links } if absence == Absence::Null => {
            check_path(checker, inner, links, base.span, absence)
        }
        _ => checker.expression(base),
    };
    follow_links(checker, start, base, links, span, absence)
}

/// Follows links from a value.
pub(super) fn follow_links(
    checker: &mut Checker<'_>,
    start: Typed,
    base: &ast::Expr,
    links: &[ast::Link],
    span: Span,
    absence: Absence,
) -> Typed {
    let mut walk = Walk {
        base,
        links,
        done: 0,
        ty: start.ty,
        absence,
        skipped: false,
        condition: None,
        missing_only: false,
        may_have_no_field: false,
    };
    let mut ops = Vec::with_capacity(links.len());
    for link in links {
        let safe = link.is_safe();
        let findings = checker.diagnostics.len();
        check_absence(checker, &mut walk, link, safe);
        let absences = checker.diagnostics.len();
        (walk.condition, walk.missing_only) = (None, false);
        walk.may_have_no_field = false;
        let held = held_by(&walk.ty);
        let op = match &link.kind {
            ast::LinkKind::Field { name, .. } => check_field_link(checker, &mut walk, name, false),
            ast::LinkKind::Index { index, .. } => check_index_link(checker, &mut walk, index),
            ast::LinkKind::Call {
                name, arguments, ..
            } => check_method_link(checker, &mut walk, name, arguments, link.span),
        };
        forget_absences(checker, findings..absences, walk.ty == Type::Invalid);
        let unchecked = unchecked(checker, &walk, held, &op);
        walk.done += 1;
        narrow_walk(checker, &mut walk);
        ops.push(Link {
            span: link.span,
            safe,
            unchecked,
            op,
        });
    }
    let ty = if walk.skipped {
        walk.ty.optional()
    } else {
        walk.ty
    };
    Typed::new(
        Op::Path {
            base: Box::new(start.node),
            links: ops,
        },
        ty,
        span,
    )
}

/// Returns what a link reads of a list or a map.
fn held_by(ty: &Type) -> Option<Unchecked> {
    match ty {
        Type::List(_) => Some(Unchecked::Element),
        Type::Map(_) => Some(Unchecked::Entry),
        _ => None,
    }
}

/// Returns what a link reads if nothing that is known here mentions whether it is there. `held` is what it reads of
/// a list or a map.
fn unchecked(
    checker: &Checker<'_>,
    walk: &Walk,
    held: Option<Unchecked>,
    op: &LinkOp,
) -> Option<Unchecked> {
    let found = match (held, op) {
        (Some(held), LinkOp::Index(_)) => held,
        (Some(Unchecked::Entry), LinkOp::Field { .. }) => Unchecked::Entry,
        (None, LinkOp::Index(_)) if walk.may_have_no_field => Unchecked::Field,
        _ => return None,
    };
    let env = &checker.env;
    let open = walk.absence == Absence::Reported
        && !env.is_measured(&walk.text(walk.done))
        && !env.is_present(&walk.text(walk.done + 1), true);
    open.then_some(found)
}

/// Removes the diagnostics about absence if the link has one of its own: a link that cannot be read does not need its
/// value to be present, and a phrase of another language may test for exactly that.
fn forget_absences(checker: &mut Checker<'_>, absences: std::ops::Range<usize>, invalid: bool) {
    let own = checker.diagnostics.get(absences.end);
    let strange = own.is_some_and(|found| found.code == &UNKNOWN_FUNCTION);
    if strange || (invalid && own.is_some()) {
        checker.diagnostics.drain(absences);
    }
}

/// Handles a value that may be null where a link reads through it.
fn check_absence(checker: &mut Checker<'_>, walk: &mut Walk, link: &ast::Link, safe: bool) {
    let always = walk.ty == Type::Null;
    if !always && !walk.ty.is_optional() {
        return;
    }
    if safe || walk.absence == Absence::Null {
        walk.skipped = true;
        walk.ty = walk.ty.without_null();
    } else {
        let place = walk.span_before();
        let path = walk.text(walk.done);
        let reason = absence_reason(checker, walk);
        checker.report(if always {
            report::always_absent(&path, place, link.span)
        } else {
            report::maybe_absent(
                &path,
                &walk.ty,
                place,
                link,
                reason,
                list_element(checker, walk),
            )
        });
        walk.ty = if always {
            Type::Invalid
        } else {
            walk.ty.without_null()
        };
    }
}

/// Returns the macro variable that a path begins with, if it is the only one; of two variables, the second may be the
/// value of a map.
fn list_element<'w>(checker: &Checker<'_>, walk: &'w Walk<'_>) -> Option<&'w str> {
    match (&walk.base.kind, checker.env.locals.as_slice()) {
        (ast::ExprKind::Name(name), [only]) if only.name == *name => Some(name),
        _ => None,
    }
}

/// Returns the conditions under which the name at the start of the path is present; `None` if there are none.
fn absence_reason(checker: &Checker<'_>, walk: &Walk) -> Option<String> {
    if walk.condition.is_some() {
        return walk.condition.clone();
    }
    let ast::ExprKind::Name(name) = &walk.base.kind else {
        return None;
    };
    if walk.done > 0 || checker.env.local(name).is_some() {
        return None;
    }
    let Lookup::Found(binding) = checker.env.scope.lookup(name) else {
        return None;
    };
    let known = checker.env.knowledge();
    if known.is_given(&binding.definitions) {
        return None;
    }
    let possible = binding
        .definitions
        .iter()
        .filter(|definition| !known.refutes(&definition.guard));
    let open = |atom: &&Atom| !known.holds(std::slice::from_ref(*atom));
    let mut ways = possible
        .map(|definition| {
            let parts = definition.guard.iter().filter(open).map(report::atom_text);
            parts.collect::<Vec<_>>().join(" && ")
        })
        .collect::<Vec<_>>();
    ways.dedup();
    (!ways.is_empty()).then(|| ways.join(" || "))
}

/// Narrows the value so far by the conditions and arms around.
fn narrow_walk(checker: &mut Checker<'_>, walk: &mut Walk) {
    if checker.env.knows_nothing() {
        return;
    }
    let optional = walk.ty.is_optional();
    if !optional && !checker.env.is_in_arm() {
        return;
    }
    let text = walk.text(walk.done);
    if let Some(ty) = checker.env.narrowed_type(&text) {
        walk.ty = ty.clone();
    }
    if walk.ty.is_optional() && checker.env.is_present(&text, walk.missing_only) {
        walk.ty = walk.ty.without_null();
    }
}

/// Removes the objects from a union that differ in a field of a literal type from what is known of that field, as `kind`
/// in `v.kind == "a"`, before another field is read. The tag itself keeps its type, so that a `match` over it may have an
/// arm for every alternative.
fn narrow_by_tag(checker: &Checker<'_>, walk: &mut Walk, read: &str) {
    let members = walk.ty.members();
    if members.len() < 2 || checker.env.knows_nothing() {
        return;
    }
    let objects = members.iter().filter_map(|member| match member {
        Type::Object(object) => Some(object),
        _ => None,
    });
    let fields = objects.flat_map(|object| &object.fields);
    let tags = fields.filter_map(|field| match &field.ty {
        Type::Literal(literal) if *field.name != *read => Some((&field.name, literal)),
        _ => None,
    });
    let path = walk.text(walk.done);
    let mut refined = walk.ty.clone();
    for (name, literal) in tags {
        let known = match checker.env.is_equal(&format!("{path}.{name}"), literal) {
            Some(true) => Refinement::Equals(literal.clone()),
            Some(false) => Refinement::Differs(literal.clone()),
            None => continue,
        };
        refined = refine(&refined, std::slice::from_ref(name), &known);
    }
    if refined != Type::Never {
        walk.ty = refined;
    }
}

/// Checks the read of a field. `quoted` is set if its name is written as a string in brackets.
fn check_field_link(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    name: &ast::Name,
    quoted: bool,
) -> LinkOp {
    let key = Key::String(name.text.clone());
    if let Some((ty, optional, condition)) = result_field(checker, walk, &name.text) {
        (walk.ty, walk.condition, walk.missing_only) = (ty, condition, true);
        return LinkOp::Field {
            key,
            optional,
            declared: None,
        };
    }
    narrow_by_tag(checker, walk, &name.text);
    let mut declared = None;
    let (ty, optional) = match &walk.ty {
        Type::Map(map) if combine::may_equal(&map.key, &Type::String) => {
            walk.skipped |= walk.absence == Absence::Null;
            (map.value.clone(), false)
        }
        ty => match field(ty, &name.text) {
            FieldLookup::Found { ty, required: true } => (ty, false),
            FieldLookup::Found {
                ty,
                required: false,
            } => {
                walk.missing_only = true;
                let ty = ty.optional();
                declared = may_be_undeclared(&walk.ty, &name.text).then(|| Arc::new(ty.clone()));
                (ty, true)
            }
            FieldLookup::Any => (unknown_as(ty), false),
            FieldLookup::Missing => {
                let available = field_names(ty);
                let finding =
                    report::unknown_field(name, ty, &walk.text(walk.done), &available, quoted);
                (report_no_field(checker, walk, name, finding), false)
            }
            FieldLookup::NotAnObject => {
                let finding = report::not_an_object(name, ty, &walk.text(walk.done));
                (report_no_field(checker, walk, name, finding), false)
            }
        },
    };
    walk.ty = ty;
    LinkOp::Field {
        key,
        optional,
        declared,
    }
}

/// Reports a missing field, and returns the type of its replacement, or the invalid type.
fn report_no_field(
    checker: &mut Checker<'_>,
    walk: &Walk,
    name: &ast::Name,
    finding: Diagnostic,
) -> Type {
    let root = Root::Value {
        ty: &walk.ty,
        simple: walk.is_self_contained(),
    };
    let whole = walk.span_before().to(name.span);
    let Some(remedy) = find_foreign(checker, Shape::Field, &root, &name.text, &[], whole) else {
        let own = own_result(checker, walk, name);
        let own = own.or_else(|| status_of_task(checker, walk, name));
        checker.report(own.unwrap_or(finding));
        return Type::Invalid;
    };
    let ty = remedy.ty.clone();
    checker.report(remedy.apply(finding));
    ty
}

/// Creates the diagnostic for `t.status`, where `t` is a task.
fn status_of_task(checker: &Checker<'_>, walk: &Walk, name: &ast::Name) -> Option<Diagnostic> {
    let root = walk
        .root()
        .filter(|_| walk.done == 0 && matches!(&*name.text, "status" | "state"))?;
    let Lookup::Found(binding) = checker.env.scope.lookup(root) else {
        return None;
    };
    let is_task = binding.kind == NameKind::Task && checker.env.local(root).is_none();
    is_task.then(|| {
        let span = walk.base.span.to(name.span);
        report::status_of_task(root, &field_names(&walk.ty), span)
    })
}

/// Creates the diagnostic for `x.output.f`, where `x` is a step and `f` may be a field of its result.
fn own_result(checker: &Checker<'_>, walk: &Walk, name: &ast::Name) -> Option<Diagnostic> {
    let root = walk
        .root()
        .filter(|_| walk.done == 0 && foreign::RESULTS.contains(&&*name.text))?;
    let Lookup::Found(binding) = checker.env.scope.lookup(root) else {
        return None;
    };
    if checker.env.local(root).is_some() {
        return None;
    }
    let next = walk.links.get(1).map(|link| &link.kind);
    let known = matches!(next, Some(ast::LinkKind::Field { name, .. }) if field_names(&walk.ty).contains(&name.text));
    // In its own clauses a step is a local name, as are names without a result.
    if binding.kind != NameKind::Step && !(known && binding.kind == NameKind::Local) {
        return None;
    }
    Some(report::own_result(
        name,
        &walk.text(0),
        walk.base.span,
        known,
    ))
}

/// Returns the type of `value` or `error` of a `Result`, whether it is optional, and the test of `ok` that it needs.
fn result_field(
    checker: &Checker<'_>,
    walk: &Walk,
    name: &str,
) -> Option<(Type, bool, Option<String>)> {
    let Type::Result(value) = &walk.ty else {
        return None;
    };
    let (ty, negated) = match name {
        "value" => ((**value).clone(), false),
        "error" => (Type::Error, true),
        _ => return None,
    };
    let condition = format!("{}.ok", walk.text(walk.done));
    if checker.env.is_equal(&condition, &Literal::Bool(!negated)) == Some(true) {
        return Some((ty, false, None));
    }
    let guard = if negated {
        format!("!{condition}")
    } else {
        condition
    };
    Some((ty.optional(), true, Some(guard)))
}

fn check_index_link(checker: &mut Checker<'_>, walk: &mut Walk, index: &ast::Expr) -> LinkOp {
    let typed = checker.expression(index);
    if let Some(Value::String(text)) = typed.node.constant()
        && walk
            .ty
            .members()
            .iter()
            .all(|member| matches!(member, Type::Object(_) | Type::Result(_) | Type::Error))
    {
        let name = ast::Name {
            text: text.clone(),
            span: index.span,
        };
        return check_field_link(checker, walk, &name, true);
    }
    let mut results = Vec::new();
    for member in walk.ty.clone().members() {
        match member {
            Type::List(element) => {
                check_position(checker, &typed, index.span, walk);
                results.push((**element).clone());
            }
            Type::Map(map) => {
                if !combine::may_equal(&typed.ty, &map.key) {
                    checker.report(report::wrong_key(&typed.ty, &map.key, index.span));
                }
                results.push(map.value.clone());
            }
            Type::Any | Type::Never | Type::Invalid => results.push(unknown_as(member)),
            Type::Object(_) | Type::Result(_) | Type::Error
                if combine::may_equal(&typed.ty, &Type::String) =>
            {
                walk.may_have_no_field |= !has_every_field(member, &typed.ty);
                results.push(indexed_type(member, &typed.ty));
            }
            Type::Object(_) | Type::Result(_) | Type::Error => {
                checker.report(report::wrong_key(&typed.ty, &Type::String, index.span));
                results.push(Type::Invalid);
            }
            other => {
                checker.report(report::no_elements(
                    other,
                    &walk.text(walk.done),
                    walk.span_before(),
                ));
                results.push(Type::Invalid);
            }
        }
    }
    walk.skipped |= walk.absence == Absence::Null;
    walk.ty = Type::union(results);
    LinkOp::Index(typed.node)
}

/// Returns the type of a field whose name is a value of type `key`.
fn indexed_type(ty: &Type, key: &Type) -> Type {
    let alternatives = ty.members().iter().map(|member| match member {
        Type::Object(object) => indexed_field(object, key),
        Type::Result(value) => indexed_type(&result_union(value), key),
        Type::Error => indexed_type(&error_object(), key),
        _ => Type::Any,
    });
    Type::union(alternatives)
}

/// Returns true if every value of the type has a field of each name that `key` admits.
fn has_every_field(ty: &Type, key: &Type) -> bool {
    key.members().iter().all(|name| match name {
        Type::Literal(Literal::String(name)) => {
            matches!(field(ty, name), FieldLookup::Found { required: true, .. })
        }
        _ => false,
    })
}

fn indexed_field(object: &ObjectType, key: &Type) -> Type {
    let field = |member: &Type| match member {
        Type::Literal(Literal::String(name)) => object.field(name).map(Field::value_type),
        _ => None,
    };
    let fields: Option<Vec<_>> = key.members().iter().map(field).collect();
    fields.map_or_else(|| object.value_type(), Type::union)
}

/// Checks an index of a list.
fn check_position(checker: &mut Checker<'_>, index: &Typed, span: Span, walk: &Walk) {
    let only_lists = walk
        .ty
        .members()
        .iter()
        .all(|member| matches!(member, Type::List(_)));
    if let Some(position) = index
        .node
        .constant()
        .and_then(Value::as_int)
        .filter(|position| *position < 0)
        && only_lists
        && walk.absence == Absence::Reported
    {
        checker.report(report::negative_position(position, span));
    }
    let present = require_present(checker, index, span);
    let fits = |ty: &Type| {
        let ty = super::literal::widened(ty);
        matches!(
            ty,
            Type::Int | Type::Uint | Type::Any | Type::Invalid | Type::Never
        )
    };
    if !present.members().iter().all(fits) {
        checker.report(report::wrong_position(&present, span));
    }
}

/// Returns the type of a part of an unknown value: unknown, or the type itself if it is invalid or never.
fn unknown_as(ty: &Type) -> Type {
    match ty {
        Type::Invalid | Type::Never => ty.clone(),
        _ => Type::Any,
    }
}
