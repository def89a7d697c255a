//! Checks calls: whether the arguments fit, and which state a call touches.

use std::sync::Arc;

use super::body::CheckedBody;
use super::callable::accepted;
use super::callee::{Callee, Written, find_callee, written_call};
use super::checker::PlanChecker;
use super::contract::{CallArguments, check_contract};
use super::contradiction::contradiction;
use super::expr::{CheckedExpr, Expectation};
use super::finding::{listed, unknown_near};
use super::plan::{Call, Footprint, OrderClass, StepKind, Target, Touch};
use super::widened::without_literals;
use super::{Lookup, Scope};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Effect, GivenArgument, Parameter, Signature, Type, effect_of, encode};
use crate::value::Value;

/// Returns true if an expression has the shape of a tool or plan call and is checked as one.
pub(super) fn is_call(checker: &PlanChecker<'_>, expression: &ast::Expr) -> bool {
    let Some(written) = written_call(checker, expression) else {
        return false;
    };
    let Some((namespace, _)) = written.namespace else {
        return true;
    };
    match checker.names.lookup(namespace) {
        Lookup::Namespace => true,
        // A value with the name of a namespace has been reported; the name still calls the tools.
        Lookup::Found(_) | Lookup::Later(_) => checker.names.is_namespace(namespace),
        Lookup::Missing => {
            checker.shared.tools.has_namespace(namespace)
                || written
                    .arguments
                    .iter()
                    .any(|argument| argument.name.is_some())
        }
    }
}

/// Returns true if an unknown name is called without arguments: where a call is required, its namespace is misspelled.
fn calls_unknown_namespace(checker: &PlanChecker<'_>, expression: &ast::Expr) -> bool {
    written_call(checker, expression).is_some_and(|written| {
        let namespace = written
            .namespace
            .map(|(name, _)| checker.names.lookup(name));
        matches!(namespace, Some(Lookup::Missing)) && written.arguments.is_empty()
    })
}

/// Checks a call and returns it with the type of its result; `None` if it has been reported.
pub(super) fn check_call(
    checker: &mut PlanChecker<'_>,
    expression: &ast::Expr,
) -> Option<(Call, Type, Footprint)> {
    if matches!(expression.kind, ast::ExprKind::Error) {
        return None;
    }
    if !is_call(checker, expression) && !calls_unknown_namespace(checker, expression) {
        refuse_value(checker, expression);
        return None;
    }
    let written = written_call(checker, expression)?;
    let Some(callee) = find_callee(checker, &written) else {
        for argument in written.arguments {
            checker.value(&argument.value);
        }
        return None;
    };
    let before = checker.diagnostics.len();
    let arguments = check_arguments(checker, &written, &callee);
    let checked_at_run = match &callee.target {
        Target::Tool(signature) if checker.diagnostics.len() == before => {
            let span = written
                .namespace
                .map_or(written.tool.span, |(_, place)| place.to(written.tool.span));
            check_contract(
                checker,
                &CallArguments {
                    signature,
                    arguments: &arguments,
                    span,
                },
            )
        }
        Target::Tool(_) | Target::Plan(..) => false,
    };
    let does = footprint(&callee, &arguments);
    let returns = given_back(&callee, &arguments).unwrap_or(callee.returns);
    let call = Call {
        span: written.span,
        target: callee.target,
        arguments,
        effect: does.effect,
        checked_at_run,
    };
    Some((call, returns, does))
}

/// Checks a call as the body of a step.
pub(super) fn check_call_step(
    checker: &mut PlanChecker<'_>,
    expression: &ast::Expr,
) -> CheckedBody {
    let Some((call, ty, does)) = check_call(checker, expression) else {
        return CheckedBody::damaged(Type::Invalid);
    };
    CheckedBody::new(StepKind::Call(call), ty, does)
}

/// Reports a value where a call is required.
fn refuse_value(checker: &mut PlanChecker<'_>, expression: &ast::Expr) {
    let before = checker.diagnostics.len();
    checker.value(expression);
    if checker.diagnostics.len() > before {
        return;
    }
    let message = "a step must call a tool, but this is a value";
    let diagnostic = codes::text::UNEXPECTED_TOKEN
        .at(expression.span, message)
        .help("name a value with `let x = …`, or write a call: `namespace.tool(argument: value)`");
    checker.report(diagnostic);
}

fn check_arguments(
    checker: &mut PlanChecker<'_>,
    written: &Written<'_>,
    callee: &Callee<'_>,
) -> Vec<(Arc<str>, CheckedExpr)> {
    let mut outcome: Vec<(Arc<str>, CheckedExpr)> = Vec::with_capacity(written.arguments.len());
    for (index, argument) in written.arguments.iter().enumerate() {
        let Some(name) = &argument.name else {
            check_positional(
                checker,
                argument,
                callee,
                callee.parameters.get(index),
                written,
            );
            continue;
        };
        let Some(parameter) = callee
            .parameters
            .iter()
            .find(|parameter| parameter.name == name.text)
        else {
            if callee.extra_arguments {
                let code = checker.value(&argument.value);
                outcome.push((name.text.clone(), code));
            } else {
                check_unknown_argument(checker, argument, name, callee, written);
            }
            continue;
        };
        let code = check_argument(checker, argument, parameter, callee);
        outcome.push((name.text.clone(), code));
    }
    report_missing(checker, written, callee);
    outcome
}

/// Reports an unknown argument. Its value is checked against the parameter with the nearest name. There is no fix
/// without such a parameter, or if the value does not fit it and the name is not certain.
fn check_unknown_argument(
    checker: &mut PlanChecker<'_>,
    argument: &ast::Argument,
    name: &ast::Name,
    callee: &Callee<'_>,
    written: &Written<'_>,
) {
    let names = callee.parameters.iter().map(|parameter| &*parameter.name);
    let names = names.filter(|name| !written.has_argument(name));
    let what = format!("argument of `{}` named", callee.path);
    let code = &codes::names::UNKNOWN_ARGUMENT;
    let (mut diagnostic, near) = unknown_near(code, &what, &name.text, name.span, names);
    let at = checker.diagnostics.len();
    if near.is_none() && ast::CLAUSE_WORDS.contains(&&*name.text) {
        let help = format!(
            "`{0}` is a clause: write it below the call, `{0} …`, without `:`",
            name.text
        );
        diagnostic = diagnostic.help(help);
    }
    let parameter = near.and_then(|near| {
        callee
            .parameters
            .iter()
            .find(|parameter| &*parameter.name == near.name)
    });
    let held = parameter.map(|parameter| check_argument(checker, argument, parameter, callee));
    if held.is_none() || (checker.diagnostics.len() > at && near.is_some_and(|near| !near.certain))
    {
        checker.diagnostics.truncate(at);
        checker.value(&argument.value);
        diagnostic.fix = None;
    }
    checker.diagnostics.insert(at, diagnostic);
}

fn check_argument(
    checker: &mut PlanChecker<'_>,
    argument: &ast::Argument,
    parameter: &Parameter,
    callee: &Callee<'_>,
) -> CheckedExpr {
    let what = format_args!("the argument `{}` of `{}`", parameter.name, callee.path);
    if let Some(reason) = parameter
        .schema
        .as_ref()
        .and_then(|contract| contradiction(contract.schema()))
    {
        let message = format!("no value fits {what}: the contract contradicts itself: {reason}");
        let diagnostic = codes::types::UNSATISFIABLE_SCHEMA.at(argument.span, message);
        let help = "correct the schema of the tool at its source; a plan cannot work around it";
        checker.report(diagnostic.help(help));
        return checker.value(&argument.value);
    }
    let before = checker.diagnostics.len();
    let code = checker.value_of(
        &argument.value,
        &accepted(parameter),
        Expectation::of(&what),
    );
    if checker.diagnostics.len() == before
        && let (Some(contract), Some(value)) = (&parameter.schema, code.constant())
        && !matches!(value, Value::Null)
        && let Some(violation) = contract.violations(&encode(value, &parameter.ty)).first()
    {
        let message = format!("{what} breaks the tool's contract: {violation}");
        let diagnostic = codes::types::SCHEMA_VIOLATION.at(argument.value.span, message);
        checker.report(diagnostic.help("change the value to one that the contract allows"));
    }
    code
}

fn check_positional(
    checker: &mut PlanChecker<'_>,
    argument: &ast::Argument,
    callee: &Callee<'_>,
    parameter: Option<&Parameter>,
    written: &Written<'_>,
) {
    let message = format!("`{}` takes its arguments by name", callee.path);
    let diagnostic = codes::text::POSITIONAL_ARGUMENT.at(argument.span, message);
    if report_fields_for_arguments(checker, argument, callee, written, &diagnostic) {
        return;
    }
    let at = checker.diagnostics.len();
    let fits = if let Some(parameter) = parameter {
        drop(check_argument(checker, argument, parameter, callee));
        checker.diagnostics.len() == at
    } else {
        drop(checker.value(&argument.value));
        false
    };
    let diagnostic = match parameter.filter(|parameter| !written.has_argument(&parameter.name)) {
        Some(parameter) => {
            let name = canonical_name(&parameter.name);
            let diagnostic = diagnostic.help(format!("write `{name}: …`"));
            let edits = vec![Edit::new(argument.span.before(), format!("{name}: "))];
            // The order of a contract's parameters is not guaranteed, so the name is only certain if there is one
            // parameter or the value is a name equal to it.
            let certain = callee.parameters.len() == 1
                || matches!(&argument.value.kind, ast::ExprKind::Name(value) if *value == parameter.name);
            match (fits, certain) {
                (true, true) => diagnostic.fix_all(format!("name it `{name}`"), edits),
                (true, false) => diagnostic.unsafe_fix(format!("name it `{name}`"), edits),
                (false, _) => diagnostic,
            }
        }
        None => diagnostic.help("write `name: value`"),
    };
    checker.diagnostics.insert(at, diagnostic);
}

/// Reports `ns.tool({ a: 1 })`, written instead of `ns.tool(a: 1)`; returns false if the argument is something else.
fn report_fields_for_arguments(
    checker: &mut PlanChecker<'_>,
    argument: &ast::Argument,
    callee: &Callee<'_>,
    written: &Written<'_>,
    diagnostic: &Diagnostic,
) -> bool {
    let ast::ExprKind::Object(entries) = &argument.value.kind else {
        return false;
    };
    let parameter = |entry: &ast::Entry| match &entry.key {
        ast::EntryKey::Name(name) => callee
            .parameters
            .iter()
            .find(|parameter| parameter.name == name.text),
        ast::EntryKey::Expr(_) => None,
    };
    if written.arguments.len() != 1
        || entries.is_empty()
        || !entries.iter().all(|entry| parameter(entry).is_some())
    {
        return false;
    }
    let at = checker.diagnostics.len();
    for entry in entries {
        if let Some(parameter) = parameter(entry) {
            let named = ast::Argument {
                name: None,
                value: entry.value.clone(),
                span: entry.span,
            };
            drop(check_argument(checker, &named, parameter, callee));
        }
    }
    let span = argument.value.span;
    let braces = [
        Span::new(span.start as usize, span.start as usize + 1),
        Span::new(span.end as usize - 1, span.end as usize),
    ];
    let edits = braces.map(Edit::removal).to_vec();
    let found = diagnostic
        .clone()
        .help("remove the braces: the fields are the arguments");
    checker
        .diagnostics
        .insert(at, found.fix_all("remove the braces", edits));
    true
}

/// Reports all missing arguments in one diagnostic, since one edit adds them.
fn report_missing(checker: &mut PlanChecker<'_>, written: &Written<'_>, callee: &Callee<'_>) {
    let positional = written
        .arguments
        .iter()
        .filter(|argument| argument.name.is_none())
        .count();
    let missing = callee
        .parameters
        .iter()
        .filter(|parameter| parameter.required && !written.has_argument(&parameter.name));
    // A misspelled argument has been reported, and an argument with an unrelated name may be any of the missing ones.
    let unknown = written
        .arguments
        .iter()
        .filter_map(|argument| argument.name.as_ref())
        .filter(|name| {
            !callee.extra_arguments
                && !callee
                    .parameters
                    .iter()
                    .any(|parameter| parameter.name == name.text)
        });
    let (misspelt, strange): (Vec<_>, Vec<_>) = unknown.partition(|name| {
        let names = callee.parameters.iter().map(|parameter| &*parameter.name);
        crate::diag::closest(&name.text, names).is_some_and(|near| !written.has_argument(near))
    });
    let meant = |name: &str| {
        misspelt
            .iter()
            .any(|wrong| crate::diag::closest(&wrong.text, [name]).is_some())
    };
    let missing = missing
        .filter(|parameter| !meant(&parameter.name))
        .collect::<Vec<_>>();
    let missing = missing
        .get(positional.min(missing.len())..)
        .unwrap_or_default();
    if missing.len() <= strange.len() {
        return;
    }
    checker.report(missing_arguments(written, callee, missing));
}

/// Returns the possible values of an expression if it is a constant or its type lists them.
fn choices(code: &CheckedExpr) -> Option<Vec<Value>> {
    if let Some(constant) = code.constant() {
        return Some(vec![constant.clone()]);
    }
    let one = |member: &Type| match member {
        Type::Literal(literal) => Some(literal.value()),
        Type::Null => Some(Value::Null),
        _ => None,
    };
    code.ty.members().iter().map(one).collect()
}

/// Creates the diagnostic for missing arguments.
fn missing_arguments(
    written: &Written<'_>,
    callee: &Callee<'_>,
    missing: &[&Parameter],
) -> Diagnostic {
    let names = missing
        .iter()
        .map(|parameter| &*parameter.name)
        .collect::<Vec<_>>();
    let (word, verb) = if names.len() == 1 {
        ("argument", "is")
    } else {
        ("arguments", "are")
    };
    let message = format!(
        "the {word} {} of `{}` {verb} missing",
        listed(&names),
        callee.path
    );
    let additions = missing
        .iter()
        .map(|parameter| format!("{}: {}", canonical_name(&parameter.name), parameter.ty));
    let help = format!("add `{}`", additions.collect::<Vec<_>>().join(", "));
    let span = written
        .namespace
        .map_or(written.tool.span, |(_, place)| place.to(written.tool.span));
    codes::types::MISSING_ARGUMENT
        .at(span, message)
        .help(help)
        .available(names)
}

/// Returns the type of the argument that the tool returns unchanged.
fn given_back(callee: &Callee<'_>, arguments: &[(Arc<str>, CheckedExpr)]) -> Option<Type> {
    let Target::Tool(signature) = &callee.target else {
        return None;
    };
    let returned = signature.returned_argument.as_ref()?;
    arguments
        .iter()
        .find(|(name, _)| name == returned)
        .map(|(_, code)| without_literals(&code.ty))
}

/// Returns the footprint of this call: constant arguments can determine the effect class and the touched resource.
fn footprint(callee: &Callee<'_>, arguments: &[(Arc<str>, CheckedExpr)]) -> Footprint {
    let Target::Tool(signature) = &callee.target else {
        return callee.does.clone();
    };
    let effect = effect_of(signature, |name| {
        match arguments.iter().find(|(known, _)| &**known == name) {
            None => GivenArgument::Absent,
            Some((_, code)) => choices(code).map_or(GivenArgument::Dynamic, GivenArgument::OneOf),
        }
    });
    let order = if signature.reads_clock {
        OrderClass::Clock
    } else {
        OrderClass::of(effect)
    };
    let touches = if effect == Effect::Pure {
        Vec::new()
    } else {
        vec![touch(signature, effect, arguments)]
    };
    Footprint {
        effect,
        order,
        touches,
    }
}

/// Returns the state that a call touches: its namespace, or the resource in it that constant arguments name.
fn touch(signature: &Signature, effect: Effect, arguments: &[(Arc<str>, CheckedExpr)]) -> Touch {
    let constant = |name: &str| {
        let code = arguments
            .iter()
            .find(|(known, _)| &**known == name)
            .map(|(_, code)| code)?;
        match code.constant()? {
            Value::String(text) => Some(text.to_string()),
            other => other.as_number().map(|_| format!("{other}")),
        }
    };
    let resource = signature
        .resource
        .as_deref()
        .and_then(|template| fill(template, constant));
    Touch {
        namespace: signature.namespace.clone(),
        resource: resource.map(Into::into),
        effect,
    }
}

/// Fills the `{argument}`s of a resource template; `None` if one is not constant.
fn fill(template: &str, constant: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}')? + open;
        filled.push_str(&rest[..open]);
        filled.push_str(&constant(&rest[open + 1..close])?);
        rest = &rest[close + 1..];
    }
    filled.push_str(rest);
    Some(filled)
}
