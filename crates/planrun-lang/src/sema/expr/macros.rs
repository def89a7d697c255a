//! Checks macros: expressions over every element of a list or map, and `cel.bind`.

use std::sync::Arc;

use super::operator::{require_bool, require_present};
use super::{Checker, Comprehension, MacroKind, Op, Typed, combine, narrow, report};
use crate::builtins::MACROS;
use crate::sema::Lookup;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Type, error_object, result_union};

/// The form of a macro with a given number of arguments.
pub(super) struct Form {
    kind: MacroKind,
    variables: usize,
    condition: bool,
}

/// Returns the names of the macros over elements, for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let macros = MACROS.iter().filter(|one| one.over_elements);
    macros.map(|one| one.name)
}

/// Returns true if this is the name of a macro over the elements of a list or a map.
pub(super) fn is_macro(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Returns the macro with this name and number of arguments.
pub(super) fn form(name: &str, arguments: usize) -> Option<Form> {
    let (kind, variables, condition) = match (name, arguments) {
        ("all", 2) => (MacroKind::All, 1, false),
        ("all", 3) => (MacroKind::All, 2, false),
        ("exists", 2) => (MacroKind::Exists, 1, false),
        ("exists", 3) => (MacroKind::Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (MacroKind::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (MacroKind::ExistsOne, 2, false),
        ("map", 2) => (MacroKind::Map, 1, false),
        ("map", 3) => (MacroKind::Map, 1, true),
        ("filter", 2) => (MacroKind::Filter, 1, false),
        ("sortBy", 2) => (MacroKind::SortBy, 1, false),
        ("transformList", 3) => (MacroKind::TransformList, 2, false),
        ("transformList", 4) => (MacroKind::TransformList, 2, true),
        ("transformMap", 3) => (MacroKind::TransformMap, 2, false),
        ("transformMap", 4) => (MacroKind::TransformMap, 2, true),
        ("transformMapEntry", 3) => (MacroKind::TransformMapEntry, 2, false),
        ("transformMapEntry", 4) => (MacroKind::TransformMapEntry, 2, true),
        _ => return None,
    };
    Some(Form {
        kind,
        variables,
        condition,
    })
}

/// Reports `xs.map(x, i, …)` with an `i` that is no value, and returns the arguments of the `transformList` that it is
/// meant to be.
pub(super) fn report_map_with_position(
    checker: &mut Checker<'_>,
    range: &Type,
    name: &ast::Name,
    arguments: &[ast::Argument],
) -> Option<Vec<ast::Argument>> {
    let [element, position, body] = arguments else {
        return None;
    };
    let variable = |argument: &ast::Argument| match &argument.value.kind {
        ast::ExprKind::Name(variable) => Some(variable.clone()),
        _ => None,
    };
    let (first, second) = (variable(element)?, variable(position)?);
    if &*name.text != "map" || first == second || !is_unknown(checker, &second) {
        return None;
    }
    // Of a map, the first variable is the key, as in `transformList`.
    if range.members().iter().all(is_keyed) {
        checker.report(report::map_with_value(name, position, &second));
        return Some(arguments.to_vec());
    }
    checker.report(report::map_with_position(
        name,
        element,
        position,
        [&first, &second],
    ));
    Some(vec![position.clone(), element.clone(), body.clone()])
}

fn is_keyed(ty: &Type) -> bool {
    matches!(ty, Type::Map(_) | Type::Object(_))
}

/// Returns true if nothing has this name here.
pub(super) fn is_unknown(checker: &Checker<'_>, name: &Arc<str>) -> bool {
    checker.env.local(name).is_none() && matches!(checker.env.scope.lookup(name), Lookup::Missing)
}

/// Reports an entry of `transformMapEntry` whose key is the same for every element.
fn report_static_key(
    checker: &mut Checker<'_>,
    form: &Form,
    variables: &[Arc<str>],
    body: &ast::Expr,
) {
    let ast::ExprKind::Object(entries) = &body.kind else {
        return;
    };
    // A condition may leave a single element.
    if form.kind != MacroKind::TransformMapEntry || form.condition {
        return;
    }
    let keys = entries.iter().filter_map(|entry| match &entry.key {
        ast::EntryKey::Name(key) => Some(key),
        ast::EntryKey::Expr(_) => None,
    });
    for key in keys {
        let is_variable = variables.contains(&key.text);
        checker.report(report::static_key(key, is_variable));
    }
}

/// Types of the variables of a macro.
struct Range {
    /// Type of a single variable: an element, or a key.
    single: Type,
    /// Type of the first of two variables: an index, or a key.
    position: Type,
    /// Type of the second of two variables.
    value: Type,
}

/// Checks a macro over a value of the given type.
///
/// # Errors
/// Returns the message with which the macro fails when it is evaluated; the error has been reported.
pub(super) fn check_comprehension(
    checker: &mut Checker<'_>,
    form: &Form,
    name: &ast::Name,
    (range, place): (Type, Span),
    arguments: &[ast::Argument],
) -> Result<(Comprehension, Type), &'static str> {
    let (names, rest) = arguments.split_at(form.variables.min(arguments.len()));
    let variables = macro_variables(checker, name, names)?;
    let lists = |ty: &Type| matches!(ty, Type::List(_) | Type::Any | Type::Invalid | Type::Never);
    let only_lists = form.kind == MacroKind::SortBy;
    let over = range_of(&range).filter(|_| !only_lists || range.members().iter().all(lists));
    let Some(over) = over else {
        checker.report(report::not_a_list(&name.text, &range, place));
        return Err("no such overload: a macro iterates over a list or a map");
    };
    let outer = checker.env.locals.len();
    let pairs = form.variables == 2;
    let first = if pairs { &over.position } else { &over.single };
    let first = checker.env.push(variables.first(), first);
    let second = pairs.then(|| checker.env.push(variables.get(1), &over.value));
    let mark = checker.env.mark();
    let mut parts = rest.iter();
    let condition = if form.condition { parts.next() } else { None };
    let condition = condition.map(|argument| {
        let typed = checker.lazily(|checker| checker.expression(&argument.value));
        let what = format_args!("the condition of `{}`", name.text);
        require_bool(checker, what, &typed, argument.value.span);
        checker.env.assume(&argument.value, true);
        typed.node
    });
    let Some(last) = parts.next() else {
        checker.env.locals.truncate(outer);
        return Err("a macro has a body");
    };
    report_static_key(checker, form, &variables, &last.value);
    let body = checker.lazily(|checker| checker.expression(&last.value));
    let ty = macro_type(
        checker,
        form.kind,
        name,
        &body,
        &last.value,
        (&range, &over, variables.first()),
    );
    checker.env.reset(mark);
    checker.env.locals.truncate(outer);
    Ok((
        Comprehension {
            kind: form.kind,
            first,
            second,
            condition,
            body: body.node,
        },
        ty,
    ))
}

/// Returns the variables that the first arguments of a macro name.
fn macro_variables(
    checker: &mut Checker<'_>,
    name: &ast::Name,
    arguments: &[ast::Argument],
) -> Result<Vec<Arc<str>>, &'static str> {
    let mut variables = Vec::new();
    for argument in arguments {
        let ast::ExprKind::Name(variable) = &argument.value.kind else {
            checker.report(report::variable_expected(&name.text, argument.span));
            return Err("the first argument of a macro names a variable");
        };
        report_shadowing(checker, variable, argument.span);
        variables.push(variable.clone());
    }
    Ok(variables)
}

/// Returns the type of the whole macro, and checks that the body is a bool where it must be one.
fn macro_type(
    checker: &mut Checker<'_>,
    kind: MacroKind,
    name: &ast::Name,
    body: &Typed,
    body_expression: &ast::Expr,
    (range, over, variable): (&Type, &Range, Option<&Arc<str>>),
) -> Type {
    let what = format_args!("the condition of `{}`", name.text);
    match kind {
        MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
            require_bool(checker, what, body, body_expression.span);
            Type::Bool
        }
        MacroKind::Filter => {
            require_bool(checker, what, body, body_expression.span);
            if *range == Type::Invalid {
                return Type::Invalid;
            }
            variable
                .map_or_else(
                    || over.single.clone(),
                    |name| narrow::refined(&over.single, name, body_expression),
                )
                .list()
        }
        MacroKind::SortBy => {
            require_sort_key(checker, body, body_expression.span);
            if *range == Type::Invalid {
                Type::Invalid
            } else {
                over.single.clone().list()
            }
        }
        MacroKind::Map | MacroKind::TransformList => body.ty.clone().list(),
        MacroKind::TransformMap => {
            let map = crate::types::MapType {
                key: over.position.clone(),
                value: body.ty.clone(),
            };
            Type::Map(Arc::new(map))
        }
        MacroKind::TransformMapEntry => {
            let is_list = |ty: &Type| matches!(ty, Type::List(_));
            let entry = range_of(&body.ty).filter(|_| !body.ty.members().iter().any(is_list));
            let Some(entry) = entry else {
                checker.report(report::not_an_entry(&body.ty, body_expression.span));
                return Type::Invalid;
            };
            Type::Map(Arc::new(crate::types::MapType {
                key: entry.position,
                value: entry.value,
            }))
        }
    }
}

/// Checks `cel.bind(x, value, body)`.
pub(super) fn check_bind(
    checker: &mut Checker<'_>,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    let [name, value, body] = arguments else {
        checker.report(report::bind_arguments(span));
        return Typed::fail("`cel.bind` takes a name, a value and a body", span);
    };
    let ast::ExprKind::Name(variable) = &name.value.kind else {
        checker.report(report::variable_expected("cel.bind", name.span));
        return Typed::fail("the first argument of `cel.bind` names a variable", span);
    };
    report_shadowing(checker, variable, name.span);
    let value = checker.expression(&value.value);
    let register = checker.env.push(Some(variable), &value.ty);
    let body = checker.lazily(|checker| checker.expression(&body.value));
    checker.env.locals.pop();
    let op = Op::Let {
        register,
        value: Box::new(value.node),
        body: Box::new(body.node),
    };
    Typed::new(op, body.ty, span)
}

/// Reports a variable that hides a value of the plan.
fn report_shadowing(checker: &mut Checker<'_>, variable: &Arc<str>, span: Span) {
    // Outside of a plan there is nothing that the variable could be confused with.
    if checker.origin.is_none() {
        return;
    }
    let hidden = match checker.env.scope.lookup(variable) {
        Lookup::Found(binding) => binding.span,
        Lookup::Later(span) => span,
        Lookup::Namespace | Lookup::Missing => return,
    };
    checker.report(report::hides(variable, span, hidden));
}

/// Requires a sort key: values of one kind that can be ordered.
fn require_sort_key(checker: &mut Checker<'_>, key: &Typed, span: Span) {
    let ty = require_present(checker, key, span);
    if combine::every_pair(&ty, &ty, combine::ordered).is_none() {
        checker.report(report::no_order(&ty, span));
    }
}

/// Returns the types of the variables of a macro over a type; `None` if macros do not apply to it.
fn range_of(ty: &Type) -> Option<Range> {
    let (mut singles, mut positions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for member in ty.members() {
        let (single, position, value) = match member {
            Type::List(element) => ((**element).clone(), Type::Int, (**element).clone()),
            Type::Map(map) => (map.key.clone(), map.key.clone(), map.value.clone()),
            Type::Object(object) => (Type::String, Type::String, object.value_type()),
            Type::Result(value) => return range_of(&result_union(value)),
            Type::Error => return range_of(&error_object()),
            Type::Any | Type::Never => (Type::Any, Type::Any, Type::Any),
            Type::Invalid => (Type::Invalid, Type::Invalid, Type::Invalid),
            _ => return None,
        };
        singles.push(single);
        positions.push(position);
        values.push(value);
    }
    Some(Range {
        single: Type::union(singles),
        position: Type::union(positions),
        value: Type::union(values),
    })
}
