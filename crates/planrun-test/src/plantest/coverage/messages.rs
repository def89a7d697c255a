//! The messages for goals that no test reaches.

use planrun_lang::sema::expr::Matcher;
use planrun_lang::types::ErrorPattern;
use planrun_lang::value::shortened;

/// Maximum number of characters that a message quotes of a condition.
const EXCERPT: usize = 60;

/// Returns the text of an expression on one line, truncated if it is long.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, EXCERPT)
}

pub(super) fn step(name: &str) -> String {
    format!("`{name}` was never started")
}

pub(super) fn condition(text: &str, truth: bool) -> String {
    format!("`{text}` was never {truth}")
}

/// The message for a condition that was never evaluated.
pub(super) fn undecided(text: &str) -> String {
    format!("`{text}` was never evaluated")
}

pub(super) fn ensure(text: &str, held: bool) -> String {
    if held {
        format!("`ensure {text}` never held")
    } else {
        format!("`ensure {text}` was never violated: no test makes it false")
    }
}

pub(super) fn reply(text: &str) -> String {
    format!("`{text}` was never reached")
}

pub(super) fn listener(name: &str) -> String {
    format!("listener `{name}` never fired: no test triggers it")
}

pub(super) fn error(name: &str, tool: &str, class: &str) -> String {
    format!("`{name}` never failed with {class}: no test makes `{tool}` fail with it")
}

pub(super) fn each(name: &str, some: bool) -> String {
    let list = if some {
        "a non-empty list"
    } else {
        "an empty list"
    };
    format!("`{name}` never ran over {list}")
}

pub(super) fn once(name: &str) -> String {
    format!("`{name}` never ended after its first round")
}

pub(super) fn again(name: &str) -> String {
    format!("`{name}` never started a second round")
}

pub(super) fn arm(name: &str, pattern: &str) -> String {
    format!("the arm {pattern} of `{name}` was never taken")
}

pub(super) fn input(name: &str) -> String {
    format!("`{name}` was never filled in: no test answers it")
}

pub(super) fn gate(name: &str, word: &str) -> String {
    format!("`{name}.confirm` was never {word}: no test gives this answer")
}

pub(super) fn verify(name: &str) -> String {
    format!("`{name}.verify` never ran: no test reaches it, or loses the answer of `{name}`")
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

/// The message for an agent that cannot check its work and never ran.
pub(super) fn agent_cannot_check(agent: &str) -> String {
    format!("`{agent}` never did any work that must be checked: no test reaches it")
}

pub(super) fn undo(name: &str) -> String {
    format!("`{name}.undo` never ran: no test makes the plan fail after it")
}

/// Returns the name of a `recover` arm, and its message.
pub(super) fn recover(
    name: &str,
    patterns: &[ErrorPattern],
    tool: Option<&str>,
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
    (
        arm,
        format!("`{name}.recover` was never taken: no test makes `{who}` fail{classes}"),
    )
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
