//! Diagnostics about values that may be absent.

use super::{appended, wrapped};
use crate::diag::codes::order::CONSTANT_CONDITION;
use crate::diag::codes::types::{ALWAYS_ABSENT, MAYBE_ABSENT};
use crate::diag::{Diagnostic, Edit};
use crate::sema::Atom;
use crate::sema::expr::Expectation;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// Creates the diagnostic for reading through a value that may be null. `link` is what is read, `reason` the condition
/// under which the value is present, and `element` the macro variable that the path begins with.
pub(in crate::sema::expr) fn maybe_absent(
    path: &str,
    ty: &Type,
    place: Span,
    link: &ast::Link,
    reason: Option<String>,
    element: Option<&str>,
) -> Diagnostic {
    let insert = if matches!(link.kind, ast::LinkKind::Index { .. }) {
        "?."
    } else {
        "?"
    };
    let edit = Edit::new(link.span.before(), insert);
    let condition = reason.clone().unwrap_or_else(|| format!("{path} != null"));
    let last = match element {
        Some(element) => format!(
            "or filter out the elements without it first: `.filter({element}, {condition})`"
        ),
        None => format!("or read it only when `{condition}`"),
    };
    let help = format!("read it with `?.`, add a default with `??`, {last}");
    let note = match reason {
        Some(condition) => format!("present only when `{condition}`"),
        None => "may be absent".to_owned(),
    };
    MAYBE_ABSENT
        .at(
            place,
            format!(
                "`{path}` may be absent, but `{}` is read from it",
                link_text(link)
            ),
        )
        .note(note)
        .expected(ty.without_null(), ty)
        .help(help)
        .unsafe_fix("read it with `?.`", vec![edit])
}

/// Creates the diagnostic for comparing a value with null that is never null.
pub(in crate::sema::expr) fn never_null(result: bool, span: Span) -> Diagnostic {
    let message = format!("this value is never null, so the comparison is always {result}");
    CONSTANT_CONDITION
        .at(span, message)
        .note(format!("always {result}"))
        .help(
            "remove the comparison; for what may be missing, ask for it in a way that gives null: `m[\"k\"] ?? null` for \
             an entry of a map, `xs.first()` for an element, `recover tool.not_found => null` for a call",
        )
}

/// Creates the diagnostic for reading through a value that is always null.
pub(in crate::sema::expr) fn always_absent(path: &str, place: Span, link: Span) -> Diagnostic {
    ALWAYS_ABSENT
        .at(
            place.to(link),
            format!("`{path}` is always null, so nothing can be read from it"),
        )
        .note("always null")
        .expected("an object or a list", "null")
        .help("read another value here, or remove this read")
}

/// Creates the diagnostic for an operand or argument that must be present.
///
/// `tight` is set if an operator next to it binds tighter than `??`.
pub(in crate::sema::expr) fn absent_operand(ty: &Type, span: Span, tight: bool) -> Diagnostic {
    let default = default_of(&ty.without_null());
    let absent = MAYBE_ABSENT
        .at(span, "this value may be absent, but it is required here")
        .note("may be absent")
        .expected(ty.without_null(), ty)
        .help(format!(
            "{}, or test it with `!= null` first",
            add_default(default.as_deref())
        ));
    with_default(absent, default, |default| {
        if tight {
            wrapped(span, "(", &format!(" ?? {default})"))
        } else {
            let at = span.after();
            vec![Edit::new(at, format!(" ?? {default}"))]
        }
    })
}

/// Creates the diagnostic for a value that must be present at its place.
pub(in crate::sema::expr) fn absent_value(
    ty: &Type,
    expected: &Type,
    expectation: Expectation<'_>,
    span: Span,
    simple: bool,
) -> Diagnostic {
    let default = default_of(expected);
    let absent = MAYBE_ABSENT
        .at(
            span,
            format!("{expectation} is required, but this value may be absent"),
        )
        .note("may be absent")
        .expected(expected, ty)
        .help(format!(
            "{}, or guard the step with the same condition as the value",
            add_default(default.as_deref())
        ));
    with_default(absent, default, |default| {
        appended(span, &format!(" ?? {default}"), simple)
    })
}

/// Says that `has` around a value that may be null does not prove that it is present.
pub(in crate::sema::expr) fn only_has(absent: Diagnostic, path: &str) -> Diagnostic {
    let mut absent = absent.help(format!(
        "`has({path})` only tests that the field exists, and it may be null; write `{path} != null` instead"
    ));
    // A default would be used for each element that the condition was meant to leave out.
    absent.fix = None;
    absent
}

/// Returns true if a list only differs from the expected one in elements that may be absent.
pub(super) fn lacks_elements(actual: &Type, expected: &Type) -> bool {
    match (actual, expected) {
        (Type::List(own), Type::List(element)) => own.is_optional() && !element.is_optional(),
        _ => false,
    }
}

/// Says of a list whose elements may be absent how to leave those out.
pub(super) fn absent_elements(diagnostic: Diagnostic, span: Span, simple: bool) -> Diagnostic {
    let edits = appended(span, ".filter(x, x != null)", simple);
    diagnostic
        .help("leave out the elements that are absent: `.filter(x, x != null)`")
        .unsafe_fix("leave out the elements that are absent", edits)
}

/// Returns the advice to add a default.
fn add_default(default: Option<&str>) -> String {
    default.map_or_else(
        || "add a default with `??`".to_owned(),
        |default| format!("add a default: `?? {default}`"),
    )
}

/// Adds a fix that inserts a default, if there is one.
fn with_default(
    absent: Diagnostic,
    default: Option<String>,
    edits: impl FnOnce(&str) -> Vec<Edit>,
) -> Diagnostic {
    match default {
        Some(default) => {
            let edits = edits(&default);
            absent.unsafe_fix(format!("use {default} if it is absent"), edits)
        }
        None => absent,
    }
}

/// Adds to the diagnostic for a required value that it is a field of the context of a task, which may have changed since
/// it was tested.
pub(in crate::sema::expr) fn changing_context(
    absent: Diagnostic,
    task: &str,
    expected: &Type,
) -> Diagnostic {
    absent.help(format!(
        "{}, or name the value with `let` and test that name: the context of `{task}` may change between a test and a \
         use",
        add_default(default_of(expected).as_deref())
    ))
}

/// Returns a part of a guard as an author would write it.
pub(in crate::sema::expr) fn atom_text(atom: &Atom) -> String {
    if !atom.negated {
        return atom.text.to_string();
    }
    if let Some(path) = atom.text.strip_suffix(" == null") {
        return format!("{path} != null");
    }
    let simple = atom
        .text
        .chars()
        .all(|character| character.is_alphanumeric() || "._".contains(character));
    if simple {
        format!("!{}", atom.text)
    } else {
        format!("!({})", atom.text)
    }
}

/// Returns the default that a fix proposes for a value of this type; `None` if the author has to choose one.
fn default_of(ty: &Type) -> Option<String> {
    let text = match ty {
        Type::String => "\"\"",
        Type::Int | Type::Uint => "0",
        Type::Double => "0.0",
        Type::Bool => "false",
        Type::Duration => "0s",
        Type::List(_) => "[]",
        Type::Map(_) => "{}",
        Type::Literal(literal) => return Some(literal.to_string()),
        Type::Union(members) => return members.iter().find_map(default_of),
        Type::Never
        | Type::Any
        | Type::Invalid
        | Type::Null
        | Type::Bytes
        | Type::Timestamp
        | Type::Type
        | Type::Object(_)
        | Type::Result(_)
        | Type::Error => return None,
    };
    Some(text.to_owned())
}

fn link_text(link: &ast::Link) -> String {
    match &link.kind {
        ast::LinkKind::Field { name, .. } => format!(".{}", name.text),
        ast::LinkKind::Index { .. } => "[…]".to_owned(),
        ast::LinkKind::Call { name, .. } => format!(".{}(…)", name.text),
    }
}
