//! Checks composite expressions: templates, lists, objects, and choices between expressions.

use std::sync::Arc;

use super::operator::require_bool;
use super::{Checker, MapKey, Node, Op, Piece, Typed, combine, literal, narrow, report};
use crate::sema::Lookup;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Field, MapType, Rest, Type};
use crate::value::{Key, Map, Value};

pub(super) fn check_template(
    checker: &mut Checker<'_>,
    parts: &[ast::TemplatePart],
    span: Span,
) -> Typed {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        pieces.push(match part {
            ast::TemplatePart::Text(text) => Piece::Text(text.clone()),
            ast::TemplatePart::Expr(expression) => {
                let typed = checker.expression(expression);
                require_text(checker, &typed, expression.span);
                Piece::Value(typed.node)
            }
        });
    }
    Typed::new(Op::Template(pieces), Type::String, span)
}

/// Requires a type that can be interpolated into text.
fn require_text(checker: &mut Checker<'_>, typed: &Typed, span: Span) {
    let fits = |member: &Type| {
        matches!(
            literal::widened(member),
            Type::String
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::Any
                | Type::Invalid
                | Type::Never
        )
    };
    let present = typed.ty.without_null();
    if !present.members().iter().all(fits) || typed.ty == Type::Null {
        checker.report(report::interpolated_value(&typed.ty, span, &typed.node));
    } else if typed.ty.is_optional() {
        checker.report(report::absent_operand(
            &typed.ty,
            span,
            !combine::is_simple(&typed.node),
        ));
    }
}

pub(super) fn check_list(checker: &mut Checker<'_>, elements: &[ast::Expr], span: Span) -> Typed {
    let elements: Vec<Typed> = elements
        .iter()
        .map(|element| checker.expression(element))
        .collect();
    list_of(elements, span)
}

pub(super) fn check_object(checker: &mut Checker<'_>, entries: &[ast::Entry], span: Span) -> Typed {
    let mut parts = Vec::with_capacity(entries.len());
    for entry in entries {
        let key = check_key(checker, &entry.key);
        let value = checker.expression(&entry.value);
        parts.push((key, value));
    }
    map_of(parts, span)
}

/// Checks a key; it is constant if its value is known.
pub(super) fn check_key(checker: &mut Checker<'_>, key: &ast::EntryKey) -> (MapKey, Type) {
    match key {
        ast::EntryKey::Name(name) => (
            MapKey::Constant(Key::String(name.text.clone())),
            Type::String,
        ),
        ast::EntryKey::Expr(expression) => {
            let typed = checker.expression(expression);
            let fits = |member: &Type| {
                matches!(
                    literal::widened(member),
                    Type::String
                        | Type::Int
                        | Type::Uint
                        | Type::Bool
                        | Type::Any
                        | Type::Invalid
                        | Type::Never
                )
            };
            if !typed.ty.members().iter().all(fits) {
                checker.report(report::no_key(&typed.ty, expression.span));
            }
            let ty = literal::widened(&typed.ty);
            match typed.node.constant().and_then(Key::written) {
                Some(key) => (MapKey::Constant(key), ty),
                None => (MapKey::Computed(typed.node), ty),
            }
        }
    }
}

/// Checks `a ?? b`: absence is allowed on the path of any operand but the last.
pub(super) fn check_coalesce(
    checker: &mut Checker<'_>,
    operands: &[ast::Expr],
    span: Span,
) -> Typed {
    let known = checker.env.mark();
    let mut typed: Vec<Typed> = Vec::with_capacity(operands.len());
    for (position, operand) in operands.iter().enumerate() {
        let last = position + 1 == operands.len();
        let check = |checker: &mut Checker<'_>| {
            if last {
                checker.expression(operand)
            } else {
                checker.lenient(operand)
            }
        };
        typed.push(if position == 0 {
            check(checker)
        } else {
            checker.lazily(check)
        });
        assume_absent(checker, operand);
    }
    checker.env.reset(known);
    coalesced(typed, span)
}

/// Adds what holds where an operand of `??` was absent: no guard under which it is certainly present.
pub(super) fn assume_absent(checker: &mut Checker<'_>, operand: &ast::Expr) {
    let name = match &operand.kind {
        ast::ExprKind::Name(name) => name,
        ast::ExprKind::Path { base, .. } => match &base.kind {
            ast::ExprKind::Name(name) => name,
            _ => return,
        },
        _ => return,
    };
    if checker.env.local(name).is_some() {
        return;
    }
    let Lookup::Found(binding) = checker.env.scope.lookup(name) else {
        return;
    };
    for definition in &*binding.definitions {
        let known = checker.env.knowledge();
        let open = definition
            .guard
            .iter()
            .filter(|atom| !known.holds(std::slice::from_ref(*atom)));
        let open = open.cloned().collect::<Vec<_>>();
        if open.is_empty() {
            continue;
        }
        // A trial check under the guard; its diagnostics have been reported before.
        let (findings, reads) = (checker.diagnostics.len(), checker.reads.len());
        let mark = checker.env.mark();
        checker.env.add_outer(open.iter().cloned());
        let ty = checker.lenient(operand).ty;
        checker.env.reset(mark);
        checker.diagnostics.truncate(findings);
        checker.reads.truncate(reads);
        if ty.admits_null() {
            continue;
        }
        match open.as_slice() {
            [only] => checker.env.add_outer(narrow::opposite(only)),
            _ => checker.env.exclude(open.into()),
        }
    }
}

pub(super) fn check_conditional(
    checker: &mut Checker<'_>,
    arms: &[(ast::Expr, ast::Expr)],
    otherwise: &ast::Expr,
    span: Span,
) -> Typed {
    check_choice(checker, arms, otherwise, span, &mut |checker, result| {
        checker.expression(result)
    })
}

/// Checks a conditional whose results are checked by `result_of`.
pub(super) fn check_choice(
    checker: &mut Checker<'_>,
    arms: &[(ast::Expr, ast::Expr)],
    otherwise: &ast::Expr,
    span: Span,
    result_of: &mut dyn FnMut(&mut Checker<'_>, &ast::Expr) -> Typed,
) -> Typed {
    let mark = checker.env.mark();
    let mut nodes = Vec::with_capacity(arms.len());
    let mut types = Vec::with_capacity(arms.len() + 1);
    for (condition, result) in arms {
        let test = checker.expression(condition);
        let what = format_args!("an operand of `? :`");
        require_bool(checker, what, &test, condition.span);
        let before = checker.env.mark();
        checker.env.assume(condition, true);
        let value = checker.lazily(|checker| result_of(checker, result));
        checker.env.reset(before);
        checker.env.assume(condition, false);
        types.push(value.ty);
        nodes.push((test.node, value.node));
    }
    let last = checker.lazily(|checker| result_of(checker, otherwise));
    checker.env.reset(mark);
    types.push(last.ty);
    Typed::new(
        Op::Conditional {
            arms: nodes,
            otherwise: Box::new(last.node),
        },
        Type::union(types),
        span,
    )
}

pub(super) fn check_match_expression(
    checker: &mut Checker<'_>,
    subject: &ast::Expr,
    arms: &[ast::MatchArm],
    span: Span,
) -> Typed {
    check_match_choice(checker, subject, arms, span, &mut |checker, result| {
        checker.expression(result)
    })
}

/// Checks a `match` whose results are checked by `result_of`.
pub(super) fn check_match_choice(
    checker: &mut Checker<'_>,
    subject: &ast::Expr,
    arms: &[ast::MatchArm],
    span: Span,
    result_of: &mut dyn FnMut(&mut Checker<'_>, &ast::Expr) -> Typed,
) -> Typed {
    let held = checker.expression(subject);
    let patterns: Vec<(&ast::Pattern, Span)> =
        arms.iter().map(|arm| (&arm.pattern, arm.span)).collect();
    let place = span_to_subject(span, subject.span);
    let taken = checker.check_patterns((subject, &held.ty), &patterns, place, false);
    let text = narrow::path_text(subject, &[]);
    let mut nodes = Vec::with_capacity(arms.len());
    let mut types = Vec::with_capacity(arms.len());
    for (arm, pattern) in arms.iter().zip(taken) {
        checker.env.enter_arm(text.clone(), pattern.subject);
        let value = checker.with_facts(pattern.facts, |checker| {
            checker.lazily(|checker| result_of(checker, &arm.value))
        });
        checker.env.leave_arm();
        types.push(value.ty);
        nodes.push((pattern.matcher, value.node));
    }
    Typed::new(
        Op::Match {
            subject: Box::new(held.node),
            arms: nodes,
        },
        Type::union(types),
        span,
    )
}

/// Returns the span of `match e`, without the arms.
fn span_to_subject(whole: Span, subject: Span) -> Span {
    Span::from(whole.start..subject.end.max(whole.start))
}

/// Creates a list; a constant if all elements are.
pub(super) fn list_of(elements: Vec<Typed>, span: Span) -> Typed {
    let mut nodes = Vec::with_capacity(elements.len());
    let mut types = Vec::with_capacity(elements.len());
    for element in elements {
        nodes.push(element.node);
        types.push(element.ty);
    }
    let ty = combine::common(types.iter().cloned()).list();
    let constants: Option<Vec<Value>> = nodes.iter().map(|node| node.constant().cloned()).collect();
    let op = match constants {
        Some(values) => Op::Constant(Value::from(values)),
        None => Op::List(nodes.into_iter().zip(types).collect()),
    };
    Typed::new(op, ty.bounded(), span)
}

/// Creates an object, or a map if not all keys are constant strings; a constant if all parts are.
pub(super) fn map_of(parts: Vec<((MapKey, Type), Typed)>, span: Span) -> Typed {
    let mut fields: Vec<Field> = Vec::with_capacity(parts.len());
    let mut entries = Vec::with_capacity(parts.len());
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let mut is_object = true;
    for ((key, key_type), value) in parts {
        if let MapKey::Constant(Key::String(name)) = &key {
            fields.retain(|field| field.name != *name);
            fields.push(Field {
                name: name.clone(),
                ty: value.ty.clone(),
                required: true,
            });
        } else {
            is_object = false;
        }
        keys.push(key_type);
        values.push(value.ty);
        entries.push((key, value.node));
    }
    let ty = if is_object {
        Type::object(fields, Rest::Closed)
    } else {
        Type::Map(Arc::new(MapType {
            key: Type::union(keys),
            value: combine::common(values),
        }))
    };
    let op = constant_map(&entries).map_or_else(|| Op::Map(entries), Op::Constant);
    Typed::new(op, ty.bounded(), span)
}

fn constant_map(entries: &[(MapKey, Node)]) -> Option<Value> {
    let mut map = Map::with_capacity(entries.len());
    for (key, node) in entries {
        let MapKey::Constant(key) = key else {
            return None;
        };
        if map.insert(key.clone(), node.constant()?.clone()).is_some() {
            return None;
        }
    }
    Some(Value::from(map))
}

/// Creates a `??`. The result admits null only if the last operand does, and operands after one that is always present
/// do not count.
pub(super) fn coalesced(operands: Vec<Typed>, span: Span) -> Typed {
    let count = operands.len();
    let mut nodes = Vec::with_capacity(count);
    let mut types = Vec::with_capacity(count);
    let mut decided = false;
    for (position, operand) in operands.into_iter().enumerate() {
        if !decided {
            decided = is_never_null(&operand.ty);
            types.push(if position + 1 == count {
                operand.ty
            } else {
                operand.ty.without_null()
            });
        }
        nodes.push(operand.node);
    }
    Typed::new(Op::Coalesce(nodes), Type::union(types), span)
}

/// Returns true if the type is known and does not admit null.
pub(super) fn is_never_null(ty: &Type) -> bool {
    !ty.admits_null() && !matches!(ty, Type::Any | Type::Invalid | Type::Never)
}
