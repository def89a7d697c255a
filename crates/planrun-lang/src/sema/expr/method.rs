//! Checks methods and macros: `x.startsWith(y)`, `xs.filter(x, …)`.

use super::call::{check_arguments, constant_pattern, result_type};
use super::expect::check_expected;
use super::foreign::{Root, find_foreign, note_argument_reads};
use super::macros::check_comprehension;
use super::walk::Walk;
use super::{Checker, Expectation, LinkOp, Node, Op, Typed, construct, macros, report};
use crate::builtins::{self, Function};
use crate::diag::codes::types::NO_OVERLOAD;
use crate::diag::foreign::Shape;
use crate::diag::misspelt;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Literal, Type};

pub(super) fn check_method_link(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> LinkOp {
    if let Some(form) = macros::form(&name.text, arguments.len()) {
        let range = (walk.ty.clone(), walk.span_before());
        return match check_comprehension(checker, &form, name, range, arguments) {
            Ok((comprehension, ty)) => {
                walk.ty = ty;
                LinkOp::Macro(Box::new(comprehension))
            }
            Err(reason) => {
                walk.ty = Type::Invalid;
                LinkOp::Fail(reason.into())
            }
        };
    }
    let Some(function) = builtins::method(&name.text) else {
        return report_no_method(checker, walk, name, arguments, span);
    };
    let typed = check_method_arguments(checker, function, &walk.ty, arguments);
    // The receiver takes part in the overload resolution, but its node is the value before the link.
    let receiver = Typed::new(
        Op::Fail("the receiver".into()),
        walk.ty.clone(),
        walk.span_before(),
    );
    let mut spans = vec![walk.span_before()];
    spans.extend(arguments.iter().map(|argument| argument.value.span));
    let mut all = vec![receiver];
    all.extend(typed);
    let before = checker.diagnostics.len();
    let ty = result_type(checker, function, name, &all, &spans, true);
    if checker
        .diagnostics
        .get(before)
        .is_some_and(|found| found.code == &NO_OVERLOAD)
    {
        // `contains` of a list, `join` of a text: these methods exist here, but other languages have them on other
        // types.
        let refused = checker.diagnostics.split_off(before);
        if let Some(link) = foreign_method(checker, walk, name, arguments, span) {
            return link;
        }
        checker.diagnostics.extend(refused);
    }
    walk.ty = ty;
    let nodes: Vec<Node> = all.into_iter().skip(1).map(|typed| typed.node).collect();
    if let Some(pattern) = constant_pattern(function, nodes.first()) {
        return LinkOp::Matches(pattern);
    }
    LinkOp::Call {
        function,
        arguments: nodes,
    }
}

/// Checks the arguments of a method; the values of `pattern.format([…])` also against the clauses that they are for.
fn check_method_arguments(
    checker: &mut Checker<'_>,
    function: &Function,
    receiver: &Type,
    arguments: &[ast::Argument],
) -> Vec<Typed> {
    let Some((pattern, elements, span)) = format_values(function, receiver, arguments) else {
        return check_arguments(checker, arguments);
    };
    let mut clauses = builtins::format_clauses(pattern).into_iter();
    let typed = elements.iter().map(|element| match clauses.next() {
        Some((verb, expected)) => {
            let what = format!("the value of `%{verb}`");
            check_expected(checker, element, &expected, Expectation::of(&what))
        }
        None => checker.expression(element),
    });
    let typed = typed.collect();
    vec![construct::list_of(typed, span)]
}

/// Returns the pattern, the values and their span if a method is `format` with a known pattern and a list of values that
/// are not all literals; the check evaluates those itself.
fn format_values<'a>(
    function: &Function,
    receiver: &'a Type,
    arguments: &'a [ast::Argument],
) -> Option<(&'a str, &'a [ast::Expr], Span)> {
    let (Type::Literal(Literal::String(pattern)), [argument]) = (receiver, arguments) else {
        return None;
    };
    let ast::ExprKind::List(elements) = &argument.value.kind else {
        return None;
    };
    let is_literal = |element: &ast::Expr| matches!(element.kind, ast::ExprKind::Literal(_));
    let checked =
        function.name == "format" && argument.name.is_none() && !elements.iter().all(is_literal);
    checked.then_some((&**pattern, elements, argument.value.span))
}

/// Reports an unknown method.
fn report_no_method(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> LinkOp {
    if let Some(link) = foreign_method(checker, walk, name, arguments, span) {
        return link;
    }
    let is_macro = misspelt(&name.text, macros::NAMES.iter().copied()).is_some();
    if is_macro || walk.ty == Type::Invalid {
        note_argument_reads(checker, arguments);
    } else {
        check_arguments(checker, arguments);
    }
    // Nothing is known of a value whose error has been reported.
    if walk.ty != Type::Invalid {
        checker.report(report::unknown_method(name, &walk.ty));
    }
    walk.ty = Type::Invalid;
    LinkOp::Fail(format!("unbound function `{}`", name.text).into())
}

/// Reports a method of another language with its counterpart; `None` if it is not one.
fn foreign_method(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> Option<LinkOp> {
    let root = Root::Value {
        ty: &walk.ty,
        simple: walk.is_self_contained(),
    };
    let remedy = find_foreign(
        checker,
        Shape::Call,
        &root,
        &name.text,
        arguments,
        walk.span_before().to(span),
    )?;
    note_argument_reads(checker, arguments);
    let ty = remedy.ty.clone();
    checker.report(remedy.apply(report::unknown_method(name, &walk.ty)));
    walk.ty = ty;
    Some(LinkOp::Fail(
        format!("unbound function `{}`", name.text).into(),
    ))
}
