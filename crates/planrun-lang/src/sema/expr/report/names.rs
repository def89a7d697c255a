//! Diagnostics about names: of values, fields, tools and states.

use std::sync::Arc;

use super::{no_value, short, with_names};
use crate::builtins;
use crate::diag::codes::{names, text, types};
use crate::diag::{Diagnostic, Edit, is_other_form};
use crate::protocol::StepState;
use crate::source::{SourceFile, Span};
use crate::syntax::{ast, canonical_name};
use crate::types::{Literal, Type};

pub(in crate::sema::expr) fn unknown_name(
    name: &str,
    span: Span,
    known: &[Arc<str>],
) -> Diagnostic {
    if name.contains("${") || name.contains(' ') {
        let text = format!("\"{}\"", name.replace('"', "\\\""));
        return no_value(name, span)
            .help("use back quotes for names, and double quotes for strings")
            .unsafe_fix("write it in double quotes", vec![Edit::new(span, text)]);
    }
    let diagnostic = no_value(name, span)
        .help("name a parameter, step, `let` or variable that is defined above");
    let mut diagnostic = with_names(diagnostic, name, span, known);
    // A plan has names such as `page` and `pages` side by side, so one is no misspelling of the other.
    if let (Some(fix), Some(near)) = (&mut diagnostic.fix, diagnostic.available.first()) {
        fix.safe &= !is_other_form(name, near);
    }
    diagnostic
}

pub(in crate::sema::expr) fn later(name: &str, span: Span, definition: Span) -> Diagnostic {
    names::USE_BEFORE_DEFINITION
        .at(span, format!("`{name}` is read before it is defined"))
        .note("read here")
        .label(definition, "defined here")
        .help(format!(
            "move this below `{name}`: a value can only be read below its definition"
        ))
}

pub(in crate::sema::expr) fn namespace_as_value(name: &str, span: Span) -> Diagnostic {
    names::UNKNOWN_NAME
        .at(
            span,
            format!("`{name}` is a namespace of tools, not a value"),
        )
        .note("a namespace of tools")
        .help(format!(
            "call one of its tools in a step, `step x = {name}.…(…)`, and read `x`"
        ))
}

/// Creates the diagnostic for `Math`, `JSON` and similar objects.
pub(in crate::sema::expr) fn foreign_root(name: &str, span: Span) -> Diagnostic {
    no_value(name, span)
        .note("from another language")
        .help(match name {
            "Math" | "math" => {
                "for numbers, use `math.round`, `math.floor`, `math.ceil`, `math.abs`, `math.greatest` and others"
            }
            "JSON" | "json" => "use `json(x)` to write a value as JSON",
            "Object" => "use `entries(m)` to get the entries of a map as a list",
            _ => "call a function by itself, `size(x)`, or on a value, `s.trim()`",
        })
}

/// Creates the diagnostic for `steps.x`, written for `x`.
pub(in crate::sema::expr) fn no_context(root: &str, span: Span, name: &ast::Name) -> Diagnostic {
    let own = Span::from(span.start..name.span.start);
    no_value(root, span)
        .help(format!(
            "name parameters and steps directly: write `{}`",
            name.text
        ))
        .fix(format!("remove `{root}.`"), own, "")
}

/// Creates the diagnostic for `x.output.f`, written for `x.f`.
pub(in crate::sema::expr) fn own_result(
    name: &ast::Name,
    path: &str,
    step: Span,
    known: bool,
) -> Diagnostic {
    let message = format!("`{path}` has no field `{}`", name.text);
    let diagnostic = names::UNKNOWN_FIELD
        .at(name.span, message)
        .note("no such field")
        .help(format!(
            "`{path}` is already the result of the step: remove `.{}`",
            name.text
        ));
    let own = Span::from(step.end..name.span.end);
    if known {
        diagnostic.fix(format!("remove `.{}`", name.text), own, "")
    } else {
        diagnostic
    }
}

/// Creates the diagnostic for `x is null`.
pub(in crate::sema::expr) fn is_null(subject: Span, state: Span) -> Diagnostic {
    let behind = Span::from(subject.end..state.end);
    names::UNKNOWN_STATUS
        .at(state, "`is` tests the state of a step")
        .note("not a state of a step")
        .help("write `== null`, or `!= null` if it must be present")
        .fix("write `== null`", behind, " == null")
}

pub(in crate::sema::expr) fn plan_as_value(name: &str, span: Span) -> Diagnostic {
    names::UNKNOWN_NAME
        .at(span, format!("`{name}` is the plan itself, not a value"))
        .help("test the state of a plan in the condition of a listener: `plan is completed`")
}

pub(in crate::sema::expr) fn unknown_field(
    name: &ast::Name,
    ty: &Type,
    path: &str,
    available: &[Arc<str>],
    quoted: bool,
) -> Diagnostic {
    let message = format!("`{path}` has no field `{}`", name.text);
    let diagnostic = names::UNKNOWN_FIELD
        .at(name.span, message)
        .note("no such field");
    let diagnostic = if available.is_empty() {
        diagnostic.help(format!(
            "its type is {}, which has no fields that a plan can read",
            short(ty)
        ))
    } else {
        diagnostic
    };
    let mut diagnostic = with_names(diagnostic, &name.text, name.span, available);
    if matches!(ty, Type::Result(_)) && diagnostic.help.is_none() {
        diagnostic = diagnostic
            .help(format!("use `{path}.ok` to test whether it succeeded, then read `{path}.value` or `{path}.error`"));
    }
    if quoted && let Some(fix) = &mut diagnostic.fix {
        for edit in &mut fix.edits {
            edit.text = Literal::String(edit.text.trim_matches('`').into()).to_string();
        }
    }
    diagnostic
}

pub(in crate::sema::expr) fn not_an_object(name: &ast::Name, ty: &Type, path: &str) -> Diagnostic {
    let method = builtins::method(&name.text).is_some();
    let global = builtins::global(&name.text).is_some();
    types::NOT_AN_OBJECT
        .at(
            name.span,
            format!("`{path}` is {} and has no fields", short(ty)),
        )
        .note("read as a field")
        .expected("an object", ty)
        .help(match ty {
            _ if method => format!("`{0}` is a method: write `{path}.{0}(…)`", name.text),
            _ if global => format!("`{0}` is a function: write `{0}({path})`", name.text),
            Type::List(_) => {
                format!(
                    "take an element first, `{path}[0]`, or all of them with `{path}.map(x, x.{})`",
                    name.text
                )
            }
            _ => format!("remove `.{}`", name.text),
        })
}

/// Creates the diagnostic for `ns.tool(…)` where a value is required. With the source and the statement, the fix makes
/// it a step of its own.
pub(in crate::sema::expr) fn call_in_expression(
    namespace: Option<&str>,
    callee: &ast::Name,
    call: Span,
    origin: Option<(&SourceFile, Span)>,
    taken: &[Arc<str>],
) -> Diagnostic {
    let name = free_name(&callee.text, taken);
    let (what, path) = match namespace {
        Some(namespace) => ("tool", format!("{namespace}.{}", callee.text)),
        None => ("plan", callee.text.to_string()),
    };
    let message = format!("the {what} `{path}` is called inside an expression");
    let help =
        format!("call it in a step of its own, `step {name} = {path}(…)`, and read `{name}` here");
    let diagnostic = names::CALL_IN_EXPRESSION
        .at(call, message)
        .note(format!("a call of a {what}"))
        .help(help);
    let Some((source, statement)) = origin else {
        return diagnostic;
    };
    if let Some(edit) = as_step(source, statement, call) {
        return diagnostic
            .help(
                "a call is a step: write `step` instead of `let`, and read the result by its name",
            )
            .fix_all("write `step`", vec![edit]);
    }
    let position = source.position(statement.start);
    let indent = " ".repeat(position.column.saturating_sub(1) as usize);
    let step = format!("step {name} = {}\n{indent}", source.slice(call));
    let edits = vec![Edit::new(statement.before(), step), Edit::new(call, name)];
    diagnostic.fix_all("make it a step of its own", edits)
}

/// Maximum number of findings whose fixes are searched for names.
const MAX_SEARCHED: usize = 100;

/// Returns the names of the steps that the fixes of the latest findings add, so that two fixes do not add the same one.
pub(in crate::sema::expr) fn names_of_fixes(
    found: &[Diagnostic],
) -> impl Iterator<Item = Arc<str>> + '_ {
    let latest = found.iter().rev().take(MAX_SEARCHED);
    latest
        .filter(|found| found.code == &names::CALL_IN_EXPRESSION)
        .filter_map(|found| {
            let step = found
                .fix
                .as_ref()?
                .edits
                .first()?
                .text
                .strip_prefix("step ")?;
            Some(step.split_once(' ')?.0.into())
        })
}

/// Returns the edit for `let x = ns.tool(…)` as a whole statement, where only the keyword is wrong.
fn as_step(source: &SourceFile, statement: Span, call: Span) -> Option<Edit> {
    let head = source
        .text()
        .get(statement.start as usize..call.start as usize)?;
    let name = head.strip_prefix("let ")?.trim().strip_suffix('=')?.trim();
    let plain = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && call.end == statement.end;
    let word = Span::from(statement.start..statement.start + 3);
    plain.then(|| Edit::new(word, "step"))
}

/// Creates the diagnostic for a macro variable with the name of a value around it.
pub(in crate::sema::expr) fn hides(name: &str, span: Span, hidden: Span) -> Diagnostic {
    names::SHADOWED_NAME
        .at(span, format!("`{name}` is already the name of a value"))
        .label(hidden, "this one would be hidden")
        .help("rename the inner one")
}

fn free_name(tool: &str, taken: &[Arc<str>]) -> String {
    let is_taken =
        |name: &str| crate::syntax::is_reserved(name) || taken.iter().any(|other| **other == *name);
    let mut name = tool.to_owned();
    let mut number = 2_u32;
    while is_taken(&name) {
        name = format!("{tool}_{number}");
        number += 1;
    }
    name
}

pub(in crate::sema::expr) fn unknown_status(state: &ast::Name) -> Diagnostic {
    let known: Vec<&str> = StepState::ALL
        .into_iter()
        .map(StepState::name)
        .chain(["settled"])
        .collect();
    let message = format!("a step is never `{}`", state.text);
    let diagnostic = names::UNKNOWN_STATUS
        .at(state.span, message)
        .note("not a state of a step")
        .help(format!("the states of a step are {}", known.join(", ")));
    with_names(diagnostic, &state.text, state.span, &known)
}

/// Creates the diagnostic for `t is done` and `t.status` of a task, outside of the conditions of listeners and waits.
pub(in crate::sema::expr) fn status_of_task(
    name: &str,
    fields: &[Arc<str>],
    span: Span,
) -> Diagnostic {
    let name = canonical_name(name);
    let help = match fields.first() {
        Some(field) => format!(
            "test a field of its context that is set together with the status, such as `{name}.{} != null`",
            canonical_name(field)
        ),
        None => format!(
            "give the task a context, `task {name} \"…\" {{ at: timestamp }}`, set the field together with the status, \
             and test `{name}.at != null`"
        ),
    };
    names::UNKNOWN_STATUS
        .at(
            span,
            format!("the status of the task `{name}` is not a value"),
        )
        .note("the status of a task")
        .help(format!(
            "{help}; only the condition of a `listener` or a `wait for` tests a status"
        ))
}

pub(in crate::sema::expr) fn state_of_no_step(span: Span) -> Diagnostic {
    names::UNKNOWN_STATUS
        .at(span, "only a step can be tested with `is` here")
        .note("not a step")
        .help("name a step")
}

pub(in crate::sema::expr) fn misplaced_signal(name: &str, span: Span) -> Diagnostic {
    text::MISPLACED_STATEMENT
        .at(span, format!("the signal \"{name}\" is not a value"))
        .note("a signal")
        .help("use a signal in the condition of a `listener` or a `wait for`")
}
