//! Puts what was expected into the words of the language, with the one edit that helps.

use super::context::{Around, Context};
use super::wants::Want;
use super::{foreign, hints};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::syntax::lower::DamageKind;

/// The finding about one damaged text.
pub(super) fn diagnostic(context: &Context<'_>) -> Diagnostic {
    let first = if context.damage.kind == DamageKind::Clause {
        None
    } else {
        hints::first_word(context)
    };
    let known_start = first.is_none();
    if let Some(diagnostic) = first {
        return diagnostic;
    }
    if let Some(diagnostic) = foreign::habit(context).filter(|_| known_start) {
        return diagnostic;
    }
    let (message, help) = words(context);
    let diagnostic =
        Diagnostic::new(&codes::UNEXPECTED_TOKEN, context.found_span(), message).help(help);
    match expectation(context) {
        Some(expected) => diagnostic.expected(expected, context.found_name()),
        None => diagnostic,
    }
}

fn words(context: &Context<'_>) -> (String, String) {
    if let Some(words) = incomplete_head(context) {
        return words;
    }
    let complete = [",", ")", "]", "}"]
        .into_iter()
        .any(|mark| context.wants_mark(mark));
    let starts_value = context.wants(&Want::Value) || context.wants(&Want::Text);
    if starts_value && !(complete && ends_value(context)) {
        return missing_value(context);
    }
    if context.wants(&Want::Type) && !complete {
        let key = context.before_text(1);
        return (
            format!(
                "expected a type after `{key}`, found {}",
                context.found_name()
            ),
            format!("write a type behind `{key}`, such as `string`"),
        );
    }
    if complete {
        return missing_separator(context);
    }
    if context.damage.kind == DamageKind::Parameter && context.before_text(1).is_empty() {
        let found = context.found_name();
        return (
            format!("expected a parameter, found {found}"),
            "write it as `name: type`".to_owned(),
        );
    }
    if context.wants(&Want::Name) {
        let before = context.before_text(1);
        return (
            format!(
                "expected a name after `{before}`, found {}",
                context.found_name()
            ),
            format!("write a name behind `{before}`"),
        );
    }
    expected_mark(context)
}

/// Whether the token before the place can end a value, so that a separator is missing and not a value.
fn ends_value(context: &Context<'_>) -> bool {
    !matches!(
        context.before_text(1),
        "," | "(" | "[" | "{" | ":" | "=" | "=>" | "->" | ""
    )
}

/// A step, plan or task that lacks what its first words ask for.
fn incomplete_head(context: &Context<'_>) -> Option<(String, String)> {
    let found = context.found_name();
    let first = context.first_text();
    if first == "step" && context.wants_mark("=") {
        let name = context.before_text(1);
        return Some((
            format!("a step needs `=` and what it calls, found {found}"),
            format!("write `step {name} = namespace.tool(…)`"),
        ));
    }
    if context.before_text(1) == "=" && first == "step" && context.wants(&Want::Value) {
        return Some((
            format!("a step needs what it calls after `=`, found {found}"),
            "write a call such as `namespace.tool(argument: value)`".to_owned(),
        ));
    }
    if first == "let" && context.wants_mark("=") {
        return Some((
            format!("a `let` needs `=` and a value, found {found}"),
            "write `= value` behind the name".to_owned(),
        ));
    }
    if context.before_text(1) == first && context.wants(&Want::Name) && context.before(2).is_none()
    {
        return Some((
            format!("expected a name after `{first}`, found {found}"),
            format!("write a name behind `{first}`"),
        ));
    }
    None
}

fn missing_value(context: &Context<'_>) -> (String, String) {
    let found = context.found_name();
    let before = context.before_text(1);
    let key = context.before_text(2);
    let (around, function) = context.around();
    if before == ":" && Context::is_word(context.before(2)) {
        let what = if around == Around::Call {
            "argument"
        } else {
            "field"
        };
        return (
            format!("expected a value for {what} `{key}`, found {found}"),
            format!("write a value behind `{key}:`"),
        );
    }
    let in_text = context.wants(&Want::Text) && !context.wants(&Want::Value);
    let what = if in_text {
        "a text in quotes"
    } else {
        "a value"
    };
    if before == "," || matches!(before, "(" | "[" | "{") {
        let what = match (around, function) {
            (Around::Call, Some(function)) => format!("an argument of `{function}`"),
            (Around::Braces, _) => "a field, `name: value`".to_owned(),
            (
                Around::Call
                | Around::Paren
                | Around::List
                | Around::Interpolation
                | Around::Nothing,
                _,
            ) => what.to_owned(),
        };
        let help = if context.found_text() == "," {
            "remove the `,` that is too much".to_owned()
        } else {
            format!("write {what} behind `{before}`")
        };
        return (
            format!("expected {what} after `{before}`, found {found}"),
            help,
        );
    }
    if before.is_empty() {
        return (
            format!("expected {what}, found {found}"),
            format!("write {what}"),
        );
    }
    (
        format!("expected {what} after `{before}`, found {found}"),
        format!("write {what} behind `{before}`"),
    )
}

/// Inside brackets a value is complete, and neither the next one nor the end follows.
fn missing_separator(context: &Context<'_>) -> (String, String) {
    let found = context.found_name();
    let marks: Vec<&str> = [":", "=>", "=", ",", ")", "]", "}"]
        .into_iter()
        .filter(|mark| context.wants_mark(mark))
        .collect();
    let (around, _) = context.around();
    let marks: Vec<&str> = marks
        .into_iter()
        .filter(|mark| *mark != ":" || around != Around::Call)
        .collect();
    let message = format!("expected {}, found {found}", hints::list(&marks));
    let help = match (marks.first(), context.found()) {
        (Some(&":"), Some(_)) if around == Around::Braces => {
            format!("write `:` and a value before {found}")
        }
        (_, Some(_)) if marks.contains(&",") => format!("put `,` before {found}"),
        (Some(mark), Some(_)) => format!("put `{mark}` before {found}"),
        (Some(mark), None) => format!("end with `{mark}`"),
        (None, _) => format!("remove {found}"),
    };
    (message, help)
}

/// One of a few marks and words is wanted.
fn expected_mark(context: &Context<'_>) -> (String, String) {
    let found = context.found_name();
    let Some(expected) = expectation(context) else {
        return (format!("{found} cannot stand here"), remove(context));
    };
    let single: Vec<&Want> = context
        .wants
        .iter()
        .filter(|want| matches!(want, Want::Mark(_) | Want::Word(_)))
        .collect();
    let message = format!("expected {expected}, found {found}");
    let symbol = context
        .found()
        .is_some_and(|token| !Context::is_word(Some(token)));
    let help = match single.as_slice() {
        [only] if symbol => format!("write {} instead of {found}", spelled(only)),
        [only] if context.found().is_some() => format!("put {} before {found}", spelled(only)),
        [only] => format!("add {} at the end", spelled(only)),
        _ if context.wants(&Want::End) || context.wants(&Want::Clause) => remove(context),
        _ => format!("write {expected}"),
    };
    (message, help)
}

fn remove(context: &Context<'_>) -> String {
    match context.found() {
        Some(_) if context.damage.kind.is_part() => format!("remove {}", context.found_name()),
        Some(_) => format!(
            "remove {}, or begin a new line with a statement",
            context.found_name()
        ),
        None => "complete it".to_owned(),
    }
}

/// At most five things that could stand here, in words.
fn expectation(context: &Context<'_>) -> Option<String> {
    const MAX_LISTED: usize = 5;
    let mut wants: Vec<String> = Vec::new();
    for want in &context.wants {
        let text = spelled(want);
        if !wants.contains(&text) {
            wants.push(text);
        }
    }
    if wants.len() > MAX_LISTED {
        let clause = context.wants(&Want::Clause);
        return clause.then(|| "a clause or the next statement".to_owned());
    }
    (!wants.is_empty()).then(|| hints::join(&wants))
}

fn spelled(want: &Want) -> String {
    match want {
        Want::Value => "a value".to_owned(),
        Want::Name => "a name".to_owned(),
        Want::Type => "a type".to_owned(),
        Want::Pattern => "a pattern".to_owned(),
        Want::Text => "a text in quotes".to_owned(),
        Want::Parameter => "`name: type`".to_owned(),
        Want::Mark(mark) => format!("`{mark}`"),
        Want::Word(word) => format!("`{word}`"),
        Want::Clause => "a clause".to_owned(),
        Want::Block => "a block `{ … }`".to_owned(),
        Want::End => "the end".to_owned(),
    }
}
