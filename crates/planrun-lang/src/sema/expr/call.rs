//! Checks function calls: `size(x)`, `math.greatest(a, b)`, `has(x.y)`.

use std::sync::Arc;

use super::expect::check_expected;
use super::foreign::{Root, find_foreign, note_argument_reads};
use super::merged::merged;
use super::names::{check_binding, check_winner};
use super::overload::{self, Verdict};
use super::{Checker, Expectation, Node, Op, Typed, report};
use crate::builtins::{self, Form, Function};
use crate::diag::Fix;
use crate::diag::foreign::Shape;
use crate::sema::callable::accepted;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Type, convert};
use crate::value::Value;

pub(super) fn check_global_call(
    checker: &mut Checker<'_>,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    match &*name.text {
        "has" => return check_has(checker, arguments, span),
        "winner" => return check_winner(checker, arguments, span),
        _ => {}
    }
    match checker.env.scope.query(name, arguments, span) {
        Some(Ok(binding)) => return check_binding(checker, &name.text, &binding, span),
        Some(Err(finding)) => {
            checker.report(*finding);
            return Typed::fail("this refers to something that does not exist", span);
        }
        None => {}
    }
    if builtins::global(&name.text).is_none() && checker.env.scope.is_plan(&name.text) {
        return misplaced_call(checker, None, name, arguments, span);
    }
    let Some(function) = builtins::global(&name.text) else {
        return report_no_function(checker, None, name, arguments, span);
    };
    let typed = check_arguments(checker, arguments);
    check_function_call(
        checker,
        (function, Form::Global),
        name,
        typed,
        arguments,
        span,
    )
}

/// Reports a call of a tool or a plan where only values are allowed. It is checked like a step; if it has no other
/// error, the fix makes it one.
pub(super) fn misplaced_call(
    checker: &mut Checker<'_>,
    namespace: Option<&str>,
    name: &ast::Name,
    arguments: &[ast::Argument],
    call: Span,
) -> Typed {
    let mut taken = checker.env.scope.visible();
    taken.extend(report::names_of_fixes(checker.diagnostics));
    let mut diagnostic = report::call_in_expression(namespace, name, call, checker.origin, &taken);
    let at = checker.diagnostics.len();
    let contract = checker
        .callees
        .and_then(|callees| callees.find(namespace, &name.text));
    for argument in arguments {
        let parameter = contract.as_ref().zip(argument.name.as_ref());
        match parameter.and_then(|(contract, name)| contract.parameter(&name.text)) {
            Some(parameter) => {
                let what = format_args!("the argument `{}` of `{}`", parameter.name, name.text);
                check_expected(
                    checker,
                    &argument.value,
                    &accepted(parameter),
                    Expectation::of(&what),
                );
            }
            None => drop(checker.expression(&argument.value)),
        }
    }
    let fits = checker.callees.is_none()
        || contract
            .as_ref()
            .is_some_and(|contract| contract.fits(arguments));
    let sound = fits && checker.diagnostics.len() == at;
    // A step of its own is always called, and only once.
    diagnostic.fix = diagnostic.fix.filter(|_| sound).map(|fix| Fix {
        safe: !checker.lazy,
        ..fix
    });
    checker.diagnostics.insert(at, diagnostic);
    let failed = Typed::fail("a call is not allowed inside an expression", call);
    let returns = contract
        .filter(|_| sound)
        .map(|contract| contract.returns.clone());
    Typed {
        ty: returns.unwrap_or(Type::Invalid),
        ..failed
    }
}

pub(super) fn check_namespaced_call(
    checker: &mut Checker<'_>,
    namespace: &'static str,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    let Some(function) = builtins::namespaced(namespace, &name.text) else {
        return report_no_function(checker, Some(namespace), name, arguments, span);
    };
    let typed = check_arguments(checker, arguments);
    let function = (function, Form::Namespace(namespace));
    check_function_call(checker, function, name, typed, arguments, span)
}

/// Reports an unknown function. A counterpart of a function of another language determines the type.
fn report_no_function(
    checker: &mut Checker<'_>,
    namespace: Option<&'static str>,
    name: &ast::Name,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    let root = namespace.map_or(Root::Nothing, Root::Named);
    let failed = Typed::fail(&format!("unbound function `{}`", name.text), span);
    if let Some(remedy) = find_foreign(checker, Shape::Call, &root, &name.text, arguments, span) {
        note_argument_reads(checker, arguments);
        let ty = remedy.ty.clone();
        checker.report(remedy.apply(report::unknown_function(name, namespace, &[])));
        return Typed { ty, ..failed };
    }
    let callees = checker.callees.filter(|_| namespace.is_none());
    if let Some((namespace, tool)) = callees.and_then(|callees| callees.joined_name(&name.text)) {
        note_argument_reads(checker, arguments);
        checker.report(report::joined_tool(name, namespace, tool));
        return failed;
    }
    let given = check_arguments(checker, arguments);
    let method = builtins::method(&name.text).filter(|_| namespace.is_none());
    let types: Vec<Type> = given.into_iter().map(|argument| argument.ty).collect();
    let Some(Verdict::Gives(ty)) = method.map(|method| overload::resolve(method, &types)) else {
        checker.report(report::unknown_function(name, namespace, &[]));
        return failed;
    };
    checker.report(report::unknown_function(name, namespace, arguments));
    Typed { ty, ..failed }
}

/// Checks the arguments of a function, which are positional.
pub(super) fn check_arguments(
    checker: &mut Checker<'_>,
    arguments: &[ast::Argument],
) -> Vec<Typed> {
    for argument in arguments {
        if let Some(name) = &argument.name {
            checker.report(report::named_argument(name, argument));
        }
    }
    arguments
        .iter()
        .map(|argument| checker.expression(&argument.value))
        .collect()
}

fn check_function_call(
    checker: &mut Checker<'_>,
    (function, form): (&'static Function, Form),
    name: &ast::Name,
    typed: Vec<Typed>,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    let spans: Vec<Span> = arguments
        .iter()
        .map(|argument| argument.value.span)
        .collect();
    let ty = result_type(checker, function, name, &typed, &spans, form);
    let nodes: Vec<Node> = typed.into_iter().map(|typed| typed.node).collect();
    if ty != Type::Invalid
        && let Some(value) = folded(function, &nodes)
    {
        let value = if conversion(function, &ty).is_some() {
            convert(value.clone(), &ty).unwrap_or(value)
        } else {
            value
        };
        return Typed::new(Op::Constant(value), ty, span);
    }
    if let (Some(pattern), Some(subject)) =
        (constant_pattern(function, nodes.get(1)), nodes.first())
    {
        return Typed::new(
            Op::Matches {
                subject: Box::new(subject.clone()),
                pattern,
            },
            ty,
            span,
        );
    }
    let call = Op::Call {
        function,
        arguments: nodes,
    };
    let op = match conversion(function, &ty) {
        Some(conversion) => Op::Call {
            function: conversion,
            arguments: vec![Node { span, op: call }],
        },
        None => call,
    };
    Typed::new(op, ty, span)
}

/// Returns the type of a function's result; reports arguments that do not fit.
pub(super) fn result_type(
    checker: &mut Checker<'_>,
    function: &'static Function,
    name: &ast::Name,
    arguments: &[Typed],
    spans: &[Span],
    form: Form,
) -> Type {
    let types: Vec<Type> = arguments.iter().map(|typed| typed.ty.clone()).collect();
    match overload::resolve(function, &types) {
        Verdict::Gives(ty) => match (function.name, types.as_slice()) {
            ("merge", [first, second]) => merged(first, second).unwrap_or(ty),
            _ => ty,
        },
        Verdict::Absent(position) => {
            if let (Some(typed), Some(span)) = (arguments.get(position), spans.get(position)) {
                checker.report(report::absent_operand(
                    &typed.ty,
                    *span,
                    form == Form::Method && position == 0,
                ));
            }
            let present: Vec<Type> = types.iter().map(Type::without_null).collect();
            match overload::resolve(function, &present) {
                Verdict::Gives(ty) => ty,
                Verdict::Absent(_) | Verdict::NoOverload => Type::Invalid,
            }
        }
        Verdict::NoOverload => {
            let finding = report::no_overload(function, name, &types, form);
            let has_no_value =
                |typed: &Typed| typed.ty == Type::Null && typed.node.constant().is_none();
            checker.report(if arguments.iter().any(has_no_value) {
                report::valueless(finding)
            } else {
                finding
            });
            Type::Invalid
        }
    }
}

/// Checks `has(x.y)`, which tests for a field, and `has(x)`, which tests for not null.
fn check_has(checker: &mut Checker<'_>, arguments: &[ast::Argument], span: Span) -> Typed {
    let [argument] = arguments else {
        checker.report(report::has_takes_a_field(span));
        return Typed::fail("`has` takes one field", span);
    };
    let path = &argument.value;
    let is_field = match &path.kind {
        ast::ExprKind::Name(_) => true,
        ast::ExprKind::Path { links, .. } => links
            .last()
            .is_some_and(|link| matches!(link.kind, ast::LinkKind::Field { .. })),
        _ => false,
    };
    if !is_field {
        checker.report(report::has_takes_a_field(path.span));
        return Typed::fail("`has` takes a field", span);
    }
    let typed = checker.lenient(path);
    Typed::new(Op::Has(Box::new(typed.node)), Type::Bool, span)
}

/// Returns the value of a function of constants; `None` if an argument is not constant or the call fails.
fn folded(function: &'static Function, arguments: &[Node]) -> Option<Value> {
    let values: Vec<Value> = arguments
        .iter()
        .map(|node| node.constant().cloned())
        .collect::<Option<_>>()?;
    (function.body)(&values).ok()
}

/// Returns the function that converts a result to the numeric type that the checker has inferred, if the values alone
/// may give another.
fn conversion(function: &'static Function, result: &Type) -> Option<&'static Function> {
    function
        .overloads
        .iter()
        .find(|overload| overload.converted)?;
    match result {
        Type::Double => builtins::global("double"),
        Type::Uint => builtins::global("uint"),
        _ => None,
    }
}

/// Returns the compiled pattern of `matches`; `None` for other functions, and if it is not constant or is invalid.
pub(super) fn constant_pattern(
    function: &'static Function,
    pattern: Option<&Node>,
) -> Option<Arc<regex::Regex>> {
    if function.name != "matches" {
        return None;
    }
    builtins::compile_pattern(pattern?.constant()?.as_str()?)
        .ok()
        .map(Arc::new)
}
