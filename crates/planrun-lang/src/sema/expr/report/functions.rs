//! Diagnostics about functions, methods and macros.

use super::{short, with_near, wrapped};
use crate::builtins::{self, Form, Function};
use crate::diag::codes::{names, order, types};
use crate::diag::{Diagnostic, Edit, misspelt};
use crate::sema::expr::{macros, overload};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::Type;

/// Maximum number of signatures that are listed.
const MAX_LISTED_FORMS: usize = 4;

pub(in crate::sema::expr) fn unknown_function(
    name: &ast::Name,
    namespace: Option<&'static str>,
    arguments: &[ast::Argument],
) -> Diagnostic {
    let path = namespace.map_or_else(
        || name.text.to_string(),
        |namespace| format!("{namespace}.{}", name.text),
    );
    let diagnostic = names::UNKNOWN_FUNCTION
        .at(name.span, format!("there is no function `{path}`"))
        .note("not a function");
    if namespace.is_none() && builtins::method(&name.text).is_some() {
        return as_method(diagnostic, name, arguments);
    }
    let form = namespace.map_or(Form::Global, Form::Namespace);
    let mut known: Vec<&str> = builtins::all()
        .filter(|function| function.forms.contains(&form))
        .map(|function| function.name)
        .collect();
    if namespace.is_none() {
        known.extend(["has", "winner"]);
    }
    known.sort_unstable();
    with_misspelt(diagnostic, name, &known)
}

/// Creates the diagnostic for a tool whose namespace and name are written as one word.
pub(in crate::sema::expr) fn joined_tool(
    name: &ast::Name,
    namespace: &str,
    tool: &str,
) -> Diagnostic {
    let path = format!("{}.{}", canonical_name(namespace), canonical_name(tool));
    let message = format!("there is no function `{}`", name.text);
    names::UNKNOWN_FUNCTION
        .at(name.span, message)
        .note("a tool")
        .help(format!(
            "write `{path}` in a step: a tool is called by its namespace and its name"
        ))
        .unsafe_fix(
            format!("write `{path}`"),
            vec![Edit::new(name.span, path.clone())],
        )
}

/// Creates the diagnostic for a method that is called like a function: its first argument is the receiver.
fn as_method(diagnostic: Diagnostic, name: &ast::Name, arguments: &[ast::Argument]) -> Diagnostic {
    let diagnostic = diagnostic.help(format!("`{0}` is a method: write `x.{0}(…)`", name.text));
    if arguments.iter().any(|argument| argument.name.is_some()) {
        return diagnostic;
    }
    let Some((receiver, rest)) = arguments.split_first() else {
        return diagnostic;
    };
    let simple = matches!(
        receiver.value.kind,
        ast::ExprKind::Name(_)
            | ast::ExprKind::Path { .. }
            | ast::ExprKind::Literal(_)
            | ast::ExprKind::Call { .. }
    );
    let (open, close) = if simple { ("", "") } else { ("(", ")") };
    let behind = rest
        .first()
        .map_or(receiver.span.end, |next| next.span.start);
    let edits = vec![
        Edit::new(Span::from(name.span.start..receiver.span.start), open),
        Edit::new(
            Span::from(receiver.span.end..behind),
            format!("{close}.{}(", name.text),
        ),
    ];
    diagnostic.fix_all(format!("call `{}` as a method", name.text), edits)
}

/// Adds how to call a function with a value that was written as the receiver of a method, `link`, of this name.
pub(in crate::sema::expr) fn as_function(
    found: Diagnostic,
    name: &ast::Name,
    receiver: &str,
    written: Span,
    link: Span,
) -> Diagnostic {
    let call = format!("{}({receiver})", name.text);
    let edits = vec![
        Edit::new(written.before(), format!("{}(", name.text)),
        Edit::new(Span::from(written.end..link.end), ")"),
    ];
    found
        .help(format!("`{}` is a function: write `{call}`", name.text))
        .unsafe_fix(format!("call it as a function: `{call}`"), edits)
}

pub(in crate::sema::expr) fn unknown_method(name: &ast::Name, receiver: &Type) -> Diagnostic {
    let diagnostic = names::UNKNOWN_FUNCTION
        .at(
            name.span,
            format!("{} has no method `{}`", short(receiver), name.text),
        )
        .note("not a method");
    if builtins::global(&name.text).is_some() {
        return diagnostic.help(format!("`{0}` is a function: write `{0}(x)`", name.text));
    }
    if macros::is_macro(&name.text) {
        return diagnostic.help(format!(
            "`{0}` takes a variable and an expression: `xs.{0}(x, …)`",
            name.text
        ));
    }
    let methods = builtins::all()
        .filter(|function| function.forms.contains(&Form::Method))
        .filter(|function| overload::takes_receiver(function, receiver))
        .map(|one| one.name);
    let macros = macros::names().filter(|_| is_range(receiver));
    let mut known: Vec<&str> = methods.chain(macros).collect();
    known.sort_unstable();
    with_misspelt(diagnostic, name, &known)
}

/// Returns true if macros such as `map` may iterate over values of this type.
fn is_range(ty: &Type) -> bool {
    let members = ty.members();
    members.iter().any(|member| {
        !matches!(
            super::super::literal::widened(member),
            Type::String
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::Bytes
                | Type::Timestamp
                | Type::Duration
                | Type::Null
        )
    })
}

/// Adds the functions that exist, and the one that is misspelled; `get` is not a misspelling of `getDate`.
fn with_misspelt(diagnostic: Diagnostic, name: &ast::Name, known: &[&str]) -> Diagnostic {
    let near = misspelt(&name.text, known.iter().copied());
    let diagnostic = match near {
        Some(_) => diagnostic,
        None => diagnostic.help("`planrun explain functions` lists them"),
    };
    with_near(diagnostic, near, name.span, known)
}

pub(in crate::sema::expr) fn no_overload(
    function: &Function,
    name: &ast::Name,
    arguments: &[Type],
    form: Form,
) -> Diagnostic {
    let method = form == Form::Method;
    let types: Vec<String> = arguments.iter().map(short).collect();
    let given = match types.split_first() {
        Some((receiver, rest)) if method => {
            format!("{receiver}.{}({})", function.name, rest.join(", "))
        }
        _ => format!("{}({})", function.title(), types.join(", ")),
    };
    let mut forms = function.signatures(form);
    if let Some(more) = forms
        .len()
        .checked_sub(MAX_LISTED_FORMS)
        .filter(|more| *more > 0)
    {
        forms.truncate(MAX_LISTED_FORMS);
        forms.push(format!("{more} more"));
    }
    let known = arguments.len();
    let counts = function
        .overloads
        .iter()
        .all(|overload| overload.parameters.len() != known);
    let message = if counts {
        format!(
            "`{}` does not take {} arguments",
            function.name,
            known - usize::from(method && known > 0)
        )
    } else {
        format!("`{}` does not take {}", function.name, types.join(", "))
    };
    let is_list = matches!(arguments, [Type::List(_)]);
    let help = if function.name == "merge" && is_list {
        "it merges two maps or objects; to make a map of a list, write \
         `xs.transformMapEntry(i, x, { (x.key): x.value })`"
            .to_owned()
    } else {
        format!("call it as {}", forms.join(", "))
    };
    types::NO_OVERLOAD
        .at(name.span, message)
        .note("no matching overload")
        .expected(forms.join(" | "), given)
        .help(help)
}

/// Says of an argument that is always null where such values come from.
pub(in crate::sema::expr) fn valueless(finding: Diagnostic) -> Diagnostic {
    finding.help(
        "this is always null: a listener, a timer and a `wait for` without a payload have no value; what a listener finds \
         out, it writes to the context of a task, such as `set log seen { n: (log.n ?? 0) + 1 }`",
    )
}

/// Creates the diagnostic for `xs.map(x, i, …)`: the macro has no variable for the position.
pub(in crate::sema::expr) fn map_with_position(
    name: &ast::Name,
    element: &ast::Argument,
    position: &ast::Argument,
    variables: [&str; 2],
) -> Diagnostic {
    let [element_name, position_name] = variables;
    let help = format!(
        "write `xs.transformList({position_name}, {element_name}, …)`: the position comes first"
    );
    let edits = vec![
        Edit::new(name.span, "transformList"),
        Edit::new(element.span, position_name),
        Edit::new(position.span, element_name),
    ];
    let message = format!(
        "there is no value named `{position_name}` here, and `map` has no variable for the position"
    );
    names::UNKNOWN_NAME
        .at(position.span, message)
        .note("not known here")
        .help(help)
        .unsafe_fix("write `transformList`", edits)
}

/// Creates the diagnostic for `m.map(k, v, …)` of a map: `map` has only the variable for the key.
pub(in crate::sema::expr) fn map_with_value(
    name: &ast::Name,
    value: &ast::Argument,
    variable: &str,
) -> Diagnostic {
    let message = format!(
        "there is no value named `{variable}` here, and `map` has only a variable for the key"
    );
    names::UNKNOWN_NAME
        .at(value.span, message)
        .note("not known here")
        .help("write `transformList` for a list, and `transformMap` for a map with the same keys")
        .unsafe_fix(
            "write `transformList`",
            vec![Edit::new(name.span, "transformList")],
        )
}

/// Creates the diagnostic for an entry of `transformMapEntry` with a constant key.
pub(in crate::sema::expr) fn static_key(key: &ast::Name, is_variable: bool) -> Diagnostic {
    let text = &key.text;
    let message = format!("every element has the key \"{text}\", which fails for two elements");
    let found = order::STATIC_KEY.at(key.span, message).note("not computed");
    if is_variable {
        let computed = format!("({text})");
        found
            .help(format!("write `{computed}` for a key that is computed"))
            .unsafe_fix(
                format!("write `{computed}`"),
                vec![Edit::new(key.span, computed)],
            )
    } else {
        found.help("write `(…)` for a key that is computed, as in `{ (x.key): x.value }`")
    }
}

/// Creates the diagnostic for a pattern of a timestamp without a clause.
pub(in crate::sema::expr) fn without_clause(pattern: &str, place: Span) -> Diagnostic {
    order::FORMAT_WITHOUT_CLAUSE
        .at(place, format!("this is always \"{pattern}\""))
        .note("no clause")
        .help(
            "the clauses are those of `strftime`, such as `%Y-%m-%d` for the day and `%H:%M` for the time",
        )
}

/// Creates the diagnostic for a clause of `format` that does not exist. `place` is the clause itself, or its text.
pub(in crate::sema::expr) fn unknown_clause(
    clause: &str,
    timestamp: bool,
    place: Span,
) -> Diagnostic {
    let help = if timestamp {
        "the clauses are those of `strftime`, such as `%Y` (year), `%m` (month), `%d` (day), `%H` (hour), `%M` (minute), \
         `%S` (second), `%j` (day of the year), `%a` (day of the week), `%b` (name of the month), `%V` (week) and `%z` \
         (offset); `%%` is a percent sign"
    } else {
        "the clauses are `%s` (any value), `%d` (whole number), `%f` and `%e` (numbers, with digits as in `%.2f`), `%x`, `%X`, \
         `%o` and `%b`; `%%` is a percent sign; for a width, use `padStart` or `padEnd`, as in \
         `string(n).padStart(2, \"0\")`"
    };
    let message = format!("this always fails: there is no clause `{clause}`");
    order::CONSTANT_FAILURE
        .at(place, message)
        .note("not a clause")
        .help(help)
}

/// Adds that the receiver, a text, has to be converted to a timestamp or a duration first, if the method then fits.
pub(in crate::sema::expr) fn on_time(
    found: Diagnostic,
    function: &'static Function,
    arguments: &[Type],
    receiver: Span,
) -> Diagnostic {
    let Some((Type::String, rest)) = arguments.split_first() else {
        return found;
    };
    let times = [("timestamp", Type::Timestamp), ("duration", Type::Duration)];
    let fits = |time: &Type| {
        let with = [std::slice::from_ref(time), rest].concat();
        matches!(
            overload::resolve(function, &with),
            overload::Verdict::Gives(_)
        )
    };
    let Some((name, _)) = times.into_iter().find(|(_, time)| fits(time)) else {
        return found;
    };
    found
        .help(format!(
            "convert the text first: `{name}(…).{}(…)`",
            function.name
        ))
        .unsafe_fix(
            format!("convert it with `{name}(…)`"),
            wrapped(receiver, &format!("{name}("), ")"),
        )
}

pub(in crate::sema::expr) fn named_argument(
    name: &ast::Name,
    argument: &ast::Argument,
) -> Diagnostic {
    let until_value = Span::from(argument.span.start..argument.value.span.start);
    let edits = vec![Edit::removal(until_value)];
    names::UNKNOWN_ARGUMENT
        .at(
            name.span,
            "a function takes its arguments by position, without names",
        )
        .note("a name")
        .help(format!("remove `{}:`", name.text))
        .unsafe_fix(format!("remove `{}:`", name.text), edits)
}

pub(in crate::sema::expr) fn has_takes_a_field(span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, "`has` takes one field or one name")
        .note("neither a field nor a name")
        .expected("has(x.field) | has(x)", "another expression")
        .help("write `has(x.field)` or `has(x)`; a key is tested with `\"key\" in x`")
}

pub(in crate::sema::expr) fn variable_expected(name: &str, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(
            span,
            format!("`{name}` expects the name of a variable here"),
        )
        .note("not a plain name")
        .expected("a name", "another expression")
        .help(format!(
            "write a plain name for each element, as in `xs.{name}(x, …)`"
        ))
}

pub(in crate::sema::expr) fn bind_arguments(span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, "`cel.bind` takes a name, a value and an expression")
        .expected(
            "cel.bind(x, value, expression)",
            "another number of arguments",
        )
        .help("write `cel.bind(x, value, expression with x)`")
}

pub(in crate::sema::expr) fn winner_of_no_race(span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, "`winner` takes the name of a `race` step")
        .note("not a race")
        .expected("winner(step)", "another value")
        .help("name a step that is a `race`: `winner(x)` is the name of the branch that won")
}
