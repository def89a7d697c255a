//! The diagnostics of the expression checker, with one constructor each.

mod absence;
mod bools;
mod choices;
mod functions;
mod names;
mod values;

pub(super) use absence::{
    absent_operand, absent_value, always_absent, atom_text, changing_context, maybe_absent,
    never_null, only_has,
};
pub(super) use bools::{meant_choice, meant_default, not_a_bool};
pub(super) use choices::{impossible_pattern, non_exhaustive, unreachable_arm};
pub(super) use functions::{
    as_function, bind_arguments, has_takes_a_field, joined_tool, map_with_position, map_with_value,
    named_argument, no_overload, on_time, static_key, unknown_clause, unknown_function,
    unknown_method, valueless, variable_expected, winner_of_no_race, without_clause,
};
pub(super) use names::{
    call_in_expression, foreign_root, hides, is_null, later, misplaced_signal, names_of_fixes,
    namespace_as_value, no_context, not_an_object, own_result, plan_as_value, state_of_no_step,
    status_of_task, unknown_field, unknown_name, unknown_status,
};
pub(super) use values::{
    as_text, as_time, extra_field, interpolated_value, lossy_number, missing_fields,
    negative_position, never_equal, never_in, no_binary, no_elements, no_key, no_order, no_unary,
    not_a_list, not_an_entry, wrong_key, wrong_position, wrong_type,
};

use crate::diag::{Diagnostic, Edit, Near, codes, nearest};
use crate::source::Span;
use crate::syntax::canonical_name;
use crate::types::{Literal, Type};
use crate::value::shortened;

/// The text at a name that has no value, unless more is known about it.
pub(in crate::sema) const NOT_KNOWN: &str = "not known here";

/// Creates the diagnostic for a name that has no value.
fn no_value(name: &str, span: Span) -> Diagnostic {
    let message = format!("there is no value named `{name}` here");
    codes::names::UNKNOWN_NAME.at(span, message).note(NOT_KNOWN)
}

/// Adds the names that exist, the nearest first, and a fix with it if there is one.
fn with_names(
    diagnostic: Diagnostic,
    word: &str,
    place: Span,
    names: &[impl AsRef<str>],
) -> Diagnostic {
    // A one-letter word is near to every other one, so they must have a letter in common.
    let alike = names
        .iter()
        .map(AsRef::as_ref)
        .filter(|name| name.contains(|letter| word.contains(letter)));
    with_near(diagnostic, nearest(word, alike), place, names)
}

fn with_near(
    diagnostic: Diagnostic,
    near: Option<Near<'_>>,
    place: Span,
    names: &[impl AsRef<str>],
) -> Diagnostic {
    let Some(near) = near else {
        return diagnostic.available(names.iter().map(AsRef::as_ref));
    };
    let others = names
        .iter()
        .map(AsRef::as_ref)
        .filter(|name| *name != near.name);
    diagnostic
        .available(std::iter::once(near.name).chain(others))
        .did_you_mean(near, place, canonical_name(near.name))
}

/// Returns a type for a message, cut off at 100 characters. The full type is in `expected` and `actual`.
fn short(ty: &Type) -> String {
    const MAX_CHARACTERS: usize = 100;
    shortened(&ty.to_string(), MAX_CHARACTERS)
}

/// Adds the fix that writes the intended string.
fn meant(diagnostic: Diagnostic, near: Near<'_>, span: Span) -> Diagnostic {
    let quoted = Literal::String(near.name.into()).to_string();
    let mut diagnostic = diagnostic
        .did_you_mean(near, span, quoted.clone())
        .help(format!("did you mean {quoted}?"));
    if let Some(fix) = &mut diagnostic.fix {
        fix.title = format!("write {quoted}");
    }
    diagnostic
}

/// Returns the edits that wrap an expression.
fn wrapped(span: Span, before: &str, after: &str) -> Vec<Edit> {
    vec![
        Edit::new(span.before(), before),
        Edit::new(span.after(), after),
    ]
}

/// Returns the edits that append text to an expression, in parentheses if the text would bind to a part of it.
fn appended(span: Span, after: &str, simple: bool) -> Vec<Edit> {
    if simple {
        return vec![Edit::new(span.after(), after)];
    }
    wrapped(span, "(", &format!("){after}"))
}
