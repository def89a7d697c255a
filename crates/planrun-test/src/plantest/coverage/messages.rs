//! The messages for goals that no test reaches.

use planrun_lang::sema::expr::Matcher;
use planrun_lang::types::{Denied, ErrorClass, ErrorPattern};
use planrun_lang::value::shortened;

/// Maximum number of characters that a message quotes of a condition.
const EXCERPT: usize = 60;

/// Returns the text of an expression on one line, truncated if it is long.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, EXCERPT)
}

/// The message for a condition that was never evaluated.
pub(super) fn undecided(text: &str) -> String {
    format!("`{text}` was never evaluated")
}

/// The message for an agent whose check never gave this answer.
pub(super) fn agent_check(agent: &str, verified: Option<bool>) -> String {
    let word = match verified {
        Some(true) => "reported that its work was done",
        Some(false) => "reported that its work was not done",
        None => "left open whether its work was done",
    };
    let answer = verified.map_or_else(|| "null".to_owned(), |verified| verified.to_string());
    format!("`{agent}` never {word}: no test answers `{agent}.ask` with `verified: {answer}`")
}

/// Returns the name of a `recover` arm, and its message. `is_gated`: a person may refuse the step.
pub(super) fn recover(
    name: &str,
    patterns: &[ErrorPattern],
    (tool, is_gated): (Option<&str>, bool),
) -> (String, String) {
    let names: Vec<String> = patterns.iter().map(class).collect();
    let classes = match names.split_last() {
        None => String::new(),
        Some((last, [])) => format!(" with {last}"),
        Some((last, others)) => format!(" with {} or {last}", others.join(", ")),
    };
    let arm = if names.is_empty() {
        format!("{name}.recover")
    } else {
        format!("{name}.recover {}", names.join(", "))
    };
    let who = tool.unwrap_or(name);
    let refusal = ErrorClass::Denied(Denied::Human);
    let why = match patterns {
        [ErrorPattern::Class(class)] if is_gated && *class == refusal => {
            format!("no test refuses `{name}.confirm`")
        }
        _ => format!("no test makes `{who}` fail{classes}"),
    };
    (arm, format!("`{name}.recover` was never taken: {why}"))
}

/// Formats a pattern in plan syntax.
pub(super) fn pattern(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Any => "`_`".to_owned(),
        Matcher::Value(value) => format!("`{value}`"),
        Matcher::Or(members) => members.iter().map(pattern).collect::<Vec<_>>().join(" | "),
        Matcher::Object(fields) => {
            let field = |(key, inner): &(planrun_lang::value::Key, Matcher)| {
                format!("{key}: {}", pattern(inner).replace('`', ""))
            };
            format!(
                "`{{ {} }}`",
                fields.iter().map(field).collect::<Vec<_>>().join(", ")
            )
        }
        Matcher::Declared(_, inner) => pattern(inner),
    }
}

fn class(pattern: &ErrorPattern) -> String {
    match pattern {
        ErrorPattern::Class(class) => class.to_string(),
        ErrorPattern::Family(family) => (*family).to_owned(),
    }
}
