//! Builds the messages and help texts of syntax errors from what was expected.

use super::context::{Around, Context};
use super::expected::Expected;
use super::{foreign, hints};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::TokenKind;

/// Returns the diagnostic for one damaged text.
pub(super) fn diagnostic(context: &Context<'_>) -> Diagnostic {
    let is_clause = context.damage.kind == DamageKind::Clause;
    let first = (!is_clause).then(|| hints::first_word(context)).flatten();
    if let Some(diagnostic) = first.or_else(|| foreign::foreign_syntax(context)) {
        return diagnostic;
    }
    let (message, help) = words(context);
    let diagnostic = codes::UNEXPECTED_TOKEN
        .at(context.found_span(), message)
        .help(help);
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
        .any(|mark| context.expects_mark(mark));
    let starts_value = context.expects(&Expected::Value) || context.expects(&Expected::Text);
    if starts_value && !(complete && ends_value(context)) {
        return missing_value(context);
    }
    if context.expects(&Expected::Type) && !complete {
        let key = context.before_text(1);
        return (
            format!(
                "expected a type after `{key}`, found {}",
                context.found_name()
            ),
            format!("write a type after `{key}`, such as `string`"),
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
    if context.expects(&Expected::Name) {
        let before = context.before_text(1);
        return (
            format!(
                "expected a name after `{before}`, found {}",
                context.found_name()
            ),
            format!("write a name after `{before}`"),
        );
    }
    expected_mark(context)
}

/// Returns true if the token before the position can end a value, so that a separator is missing, not a value.
fn ends_value(context: &Context<'_>) -> bool {
    !matches!(
        context.before_text(1),
        "," | "(" | "[" | "{" | ":" | "=" | "=>" | "->" | ""
    )
}

/// Returns the message and help for a statement or item whose head is incomplete.
fn incomplete_head(context: &Context<'_>) -> Option<(String, String)> {
    let found = context.found_name();
    let first = context.first_text();
    if first == "step" && context.before_text(2) == "step" && context.expects_mark("=") {
        let name = context.before_text(1);
        return Some((
            format!("a step needs `=` and a call, found {found}"),
            format!("write `step {name} = namespace.tool(…)`"),
        ));
    }
    if context.before_text(1) == "=" && first == "step" && context.expects(&Expected::Value) {
        return Some((
            format!("a step needs a call after `=`, found {found}"),
            "write a call such as `namespace.tool(argument: value)`".to_owned(),
        ));
    }
    if first == "let" && context.expects_mark("=") {
        return Some((
            format!("a `let` needs `=` and a value, found {found}"),
            "write `= value` after the name".to_owned(),
        ));
    }
    if context.before_text(1) == first
        && context.expects(&Expected::Name)
        && context.before(2).is_none()
    {
        return Some((
            format!("expected a name after `{first}`, found {found}"),
            format!("write a name after `{first}`"),
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
            format!("write a value after `{key}:`"),
        );
    }
    let in_text = context.expects(&Expected::Text) && !context.expects(&Expected::Value);
    let what = if in_text {
        "a string in quotes"
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
            "remove the extra `,`".to_owned()
        } else {
            format!("write {what} after `{before}`")
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
        format!("write {what} after `{before}`"),
    )
}

/// Returns the message and help for a complete value in brackets that neither a separator nor the end follows.
fn missing_separator(context: &Context<'_>) -> (String, String) {
    let found = context.found_name();
    let marks: Vec<&str> = [":", "=>", "=", ",", ")", "]", "}"]
        .into_iter()
        .filter(|mark| context.expects_mark(mark))
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
        (Some(mark), None) => format!("add `{mark}` at the end"),
        (None, _) => format!("remove {found}"),
    };
    (message, help)
}

/// Returns the message and help where one of a few marks and words is expected.
fn expected_mark(context: &Context<'_>) -> (String, String) {
    let found = context.found_name();
    let Some(expected) = expectation(context) else {
        return (format!("{found} is not allowed here"), remove(context));
    };
    let single: Vec<&Expected> = context
        .expected
        .iter()
        .filter(|expected| matches!(expected, Expected::Mark(_) | Expected::Word(_)))
        .collect();
    let message = format!("expected {expected}, found {found}");
    let symbol = context
        .found()
        .is_some_and(|token| !Context::is_word(Some(token)));
    let value = context
        .found()
        .is_some_and(|token| matches!(token.kind, TokenKind::Text | TokenKind::Number));
    let help = match single.as_slice() {
        _ if context.expects(&Expected::End) => remove(context),
        [only] if value => format!("put {} before it", spelled(only)),
        [only] if symbol => format!("write {} instead of {found}", spelled(only)),
        [only] if context.found().is_some() => format!("put {} before {found}", spelled(only)),
        [only] => format!("add {} at the end", spelled(only)),
        _ if context.expects(&Expected::Clause) => remove(context),
        _ => format!("write {expected}"),
    };
    (message, help)
}

fn remove(context: &Context<'_>) -> String {
    let Some(found) = context.found() else {
        return "complete it".to_owned();
    };
    let found = match found.kind {
        TokenKind::Text => "the string".to_owned(),
        _ => context.found_name(),
    };
    match whole(context.damage.kind) {
        Some(whole) => format!("remove {found}, or begin the next {whole} on a new line"),
        None => format!("remove {found}"),
    }
}

/// Returns what a damaged text that ends with its line should have been.
fn whole(kind: DamageKind) -> Option<&'static str> {
    match kind {
        DamageKind::Item => Some("item"),
        DamageKind::Statement | DamageKind::TestStatement | DamageKind::Clause => Some("statement"),
        DamageKind::Parameter
        | DamageKind::RaceArm
        | DamageKind::StepArm
        | DamageKind::Expression
        | DamageKind::Type
        | DamageKind::Pattern => None,
    }
}

/// Describes what was expected, if there are at most five alternatives. A complete statement is not said to lack the
/// parentheses that would make its last name a call.
fn expectation(context: &Context<'_>) -> Option<String> {
    const MAX_LISTED: usize = 5;
    let complete = context.expects(&Expected::End);
    let mut texts: Vec<String> = Vec::new();
    for expected in &context.expected {
        let text = match expected {
            Expected::Mark("(") if complete => continue,
            Expected::End => match whole(context.damage.kind) {
                Some(whole) => format!("the end of the {whole}"),
                None => spelled(expected),
            },
            expected => spelled(expected),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.len() > MAX_LISTED {
        let clause = context.expects(&Expected::Clause);
        return clause.then(|| "a clause or the next statement".to_owned());
    }
    (!texts.is_empty()).then(|| hints::join(&texts))
}

fn spelled(expected: &Expected) -> String {
    match expected {
        Expected::Value => "a value".to_owned(),
        Expected::Name => "a name".to_owned(),
        Expected::Type => "a type".to_owned(),
        Expected::Pattern => "a pattern".to_owned(),
        Expected::Text => "a string in quotes".to_owned(),
        Expected::Parameter => "`name: type`".to_owned(),
        Expected::Mark(mark) => format!("`{mark}`"),
        Expected::Word(word) => format!("`{word}`"),
        Expected::Clause => "a clause".to_owned(),
        Expected::Block => "a block `{ … }`".to_owned(),
        Expected::End => "the end".to_owned(),
    }
}
