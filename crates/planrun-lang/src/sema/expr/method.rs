//! Checks methods and macros: `x.startsWith(y)`, `xs.filter(x, …)`.

use super::call::{check_arguments, constant_pattern, result_type};
use super::expect::{check_expected, require_fit};
use super::foreign::{Root, find_foreign, note_argument_reads};
use super::macros::{check_comprehension, is_unknown};
use super::walk::Walk;
use super::{Checker, Expectation, LinkOp, Node, Op, Typed, construct, macros, report};
use crate::builtins::{self, Form, Function};
use crate::diag::Diagnostic;
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
    if let Some(link) = check_macro_link(checker, walk, name, arguments) {
        return link;
    }
    let Some(function) = builtins::method(&name.text) else {
        return report_no_method(checker, walk, name, arguments, span);
    };
    if let Some(link) = check_before_arguments(checker, walk, function, name, arguments, span) {
        return link;
    }
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
    let ty = result_type(checker, function, name, &all, &spans, Form::Method);
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
        let given: Vec<Type> = all.iter().map(|argument| argument.ty.clone()).collect();
        let place = walk.span_before();
        let on_time = |found| report::on_time(found, function, &given, place);
        checker.diagnostics.extend(refused.into_iter().map(on_time));
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

/// Reports calls whose arguments cannot be checked: a macro of another language with the name of a method, and a pattern
/// that cannot be used.
fn check_before_arguments(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    function: &Function,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> Option<LinkOp> {
    if function.name == "format" {
        return check_pattern(checker, walk, arguments);
    }
    if binds_a_variable(checker, arguments) {
        return foreign_method(checker, walk, name, arguments, span);
    }
    None
}

/// Reports a known pattern of `format` with a clause that does not exist, after which the call cannot be checked, or
/// without any.
fn check_pattern(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    arguments: &[ast::Argument],
) -> Option<LinkOp> {
    if let Some(finding) = unknown_clause(checker, walk, arguments) {
        check_arguments(checker, arguments);
        checker.report(finding);
        walk.ty = Type::Invalid;
        return Some(LinkOp::Fail("no such clause".into()));
    }
    if let Some(finding) = without_clause(&walk.ty, arguments) {
        checker.report(finding);
    }
    None
}

/// Returns true for `(x, e)` with a name that does not exist here: the arguments of a macro.
fn binds_a_variable(checker: &Checker<'_>, arguments: &[ast::Argument]) -> bool {
    let [variable, _] = arguments else {
        return false;
    };
    match &variable.value.kind {
        ast::ExprKind::Name(name) => is_unknown(checker, name),
        _ => false,
    }
}

/// Checks a macro; `None` if the name with this number of arguments is none.
fn check_macro_link(
    checker: &mut Checker<'_>,
    walk: &mut Walk,
    name: &ast::Name,
    arguments: &[ast::Argument],
) -> Option<LinkOp> {
    let numbered = macros::report_map_with_position(checker, &walk.ty, name, arguments);
    let arguments = numbered.as_deref().unwrap_or(arguments);
    let form = match numbered {
        Some(_) => macros::form("transformList", arguments.len()),
        None => macros::form(&name.text, arguments.len()),
    }?;
    let range = (walk.ty.clone(), walk.span_before());
    Some(
        match check_comprehension(checker, &form, name, range, arguments) {
            Ok((comprehension, ty)) => {
                walk.ty = ty;
                LinkOp::Macro(Box::new(comprehension))
            }
            Err(reason) => {
                walk.ty = Type::Invalid;
                LinkOp::Fail(reason.into())
            }
        },
    )
}

/// Returns the diagnostic for a known pattern of `format` with a clause that does not exist, at the clause in the text.
fn unknown_clause(
    checker: &Checker<'_>,
    walk: &Walk,
    arguments: &[ast::Argument],
) -> Option<Diagnostic> {
    let (pattern, text, clause) = match (&walk.ty, arguments) {
        (Type::Literal(Literal::String(pattern)), _) => (
            pattern,
            walk.span_before(),
            builtins::unknown_clause(pattern)?,
        ),
        (Type::Timestamp, [first, ..]) => {
            let ast::ExprKind::Literal(ast::Literal::String(pattern)) = &first.value.kind else {
                return None;
            };
            let clause = builtins::unknown_time_clause(pattern)?;
            (pattern, first.value.span, clause)
        }
        _ => return None,
    };
    let written = pattern.get(clause.clone()).unwrap_or("%");
    // Only a text without escapes has its clauses where the pattern has them.
    let plain = checker.origin.is_some_and(|(source, _)| {
        let inside = source.slice(text).get(1..=pattern.len());
        inside == Some(pattern)
    });
    let place = if plain {
        let start = text.start as usize + 1;
        Span::new(start + clause.start, start + clause.end)
    } else {
        text
    };
    let timestamp = walk.ty == Type::Timestamp;
    Some(report::unknown_clause(written, timestamp, place))
}

/// Returns the diagnostic for a known pattern of a timestamp that contains nothing of the timestamp.
fn without_clause(receiver: &Type, arguments: &[ast::Argument]) -> Option<Diagnostic> {
    let (Type::Timestamp, [first, ..]) = (receiver, arguments) else {
        return None;
    };
    let ast::ExprKind::Literal(ast::Literal::String(pattern)) = &first.value.kind else {
        return None;
    };
    (!pattern.contains('%')).then(|| report::without_clause(pattern, first.value.span))
}

/// Checks the arguments of a method; the values of `pattern.format([…])` also against the clauses that they are for.
fn check_method_arguments(
    checker: &mut Checker<'_>,
    function: &Function,
    receiver: &Type,
    arguments: &[ast::Argument],
) -> Vec<Typed> {
    let (Type::Literal(Literal::String(pattern)), [argument], "format") =
        (receiver, arguments, function.name)
    else {
        return check_arguments(checker, arguments);
    };
    let is_literal = |element: &ast::Expr| matches!(element.kind, ast::ExprKind::Literal(_));
    match &argument.value.kind {
        // The check evaluates the whole call.
        ast::ExprKind::List(elements) if elements.iter().all(is_literal) => {
            check_arguments(checker, arguments)
        }
        _ if argument.name.is_some() => check_arguments(checker, arguments),
        ast::ExprKind::List(elements) => {
            let typed = check_format_values(checker, pattern, elements);
            vec![construct::list_of(typed, argument.value.span)]
        }
        _ => vec![check_format_list(checker, pattern, &argument.value)],
    }
}

/// Checks each value for the clause at its place.
fn check_format_values(
    checker: &mut Checker<'_>,
    pattern: &str,
    elements: &[ast::Expr],
) -> Vec<Typed> {
    let mut clauses = builtins::format_clauses(pattern).into_iter();
    let typed = elements.iter().map(|element| match clauses.next() {
        Some((verb, expected)) => {
            let what = format!("the value of `%{verb}`");
            check_expected(checker, element, &expected, Expectation::of(&what))
        }
        None => checker.expression(element),
    });
    typed.collect()
}

/// Checks a list whose values are not known one by one: any of them may be for any clause.
fn check_format_list(checker: &mut Checker<'_>, pattern: &str, list: &ast::Expr) -> Typed {
    let mut typed = checker.expression(list);
    for (verb, expected) in builtins::format_clauses(pattern) {
        let what = format!("the list for `%{verb}`");
        let expectation = Expectation::of(&what);
        typed = require_fit(checker, typed, list.span, &expected.list(), expectation);
        if typed.ty == Type::Invalid {
            break;
        }
    }
    typed
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
    let is_macro = misspelt(&name.text, macros::names()).is_some();
    if is_macro || walk.ty == Type::Invalid {
        note_argument_reads(checker, arguments);
    } else {
        check_arguments(checker, arguments);
    }
    // Nothing is known of a value whose error has been reported.
    if walk.ty != Type::Invalid {
        let found = report::unknown_method(name, &walk.ty);
        let is_function = builtins::global(&name.text).is_some() && arguments.is_empty();
        checker.report(if is_function && walk.is_self_contained() {
            report::as_function(found, name, &walk.text(walk.done), walk.span_before(), span)
        } else {
            found
        });
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
