//! Mistakes that have a better message than what was expected: misplaced words, misspelt ones, habits of other languages.

use super::context::Context;
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit, closest};
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::{CLAUSE_WORDS, ITEM_WORDS, STATEMENT_WORDS, TEST_WORDS};

/// A message for a first word that belongs elsewhere or is misspelt.
pub(super) fn first_word(context: &Context<'_>) -> Option<Diagnostic> {
    let word = context.first_text();
    let span = context.first_span();
    let misplaced = |message: String, help: &str| {
        Some(Diagnostic::new(&codes::MISPLACED_STATEMENT, span, message).help(help.to_owned()))
    };
    let kind = context.damage.kind;
    match kind {
        DamageKind::Item if STATEMENT_WORDS.contains(&word) || CLAUSE_WORDS.contains(&word) => misplaced(
            format!("`{word}` stands outside of a plan"),
            "put it into the block of a plan: `plan name() { … }`",
        ),
        DamageKind::Item if TEST_WORDS.contains(&word) => misplaced(
            format!("`{word}` stands outside of a test"),
            "put it into the block of a test: `test \"…\" for plan { … }`",
        ),
        DamageKind::Statement | DamageKind::TestStatement if ITEM_WORDS.contains(&word) => misplaced(
            format!("`{word}` stands inside a block, where only statements stand"),
            "move it to the top level of the file",
        ),
        DamageKind::Statement if CLAUSE_WORDS.contains(&word) => misplaced(
            format!("`{word}` is a clause of a step, and no step stands before it"),
            "move it directly behind the step that it belongs to",
        ),
        DamageKind::Statement if TEST_WORDS.contains(&word) => {
            misplaced(format!("`{word}` belongs to a test"), "move it into the block of a `test`")
        }
        DamageKind::TestStatement if STATEMENT_WORDS.contains(&word) || CLAUSE_WORDS.contains(&word) => {
            misplaced(format!("`{word}` belongs to a plan"), "move it into the block of a `plan`")
        }
        DamageKind::Item => unknown_word(context, &ITEM_WORDS, "item"),
        DamageKind::Statement => unknown_word(context, &STATEMENT_WORDS, "statement"),
        DamageKind::TestStatement => unknown_word(context, &TEST_WORDS, "line of a test"),
        DamageKind::Clause
        | DamageKind::Parameter
        | DamageKind::RaceArm
        | DamageKind::StepArm
        | DamageKind::Expression
        | DamageKind::Type
        | DamageKind::Pattern => None,
    }
}

/// A message for text that begins with no word of the language.
fn unknown_word(context: &Context<'_>, words: &[&'static str], what: &str) -> Option<Diagnostic> {
    let word = context.first_text();
    if words.contains(&word) {
        return None;
    }
    let span = context.first_span();
    let message = match word {
        "" => format!("this begins no {what}"),
        word => format!("`{}` begins no {what}", word.chars().take(24).collect::<String>()),
    };
    let diagnostic = Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, message).available(words);
    if word == "else" {
        return Some(diagnostic.help("put `else` behind the `}` of an `if`"));
    }
    let clauses = if what == "statement" { CLAUSE_WORDS.as_slice() } else { &[] };
    let assigned = what == "statement" && context.first_then("=");
    Some(match closest(word, words.iter().chain(clauses).copied()) {
        Some(near) => diagnostic
            .help(format!("did you mean `{near}`?"))
            .unsafe_fix(format!("write `{near}`"), vec![Edit { span, text: near.to_owned() }]),
        None if assigned => {
            diagnostic.help(format!("write `step {word} = …` for a call, `let {word} = …` for a value"))
        }
        None => diagnostic.help(format!("begin it with one of {}", list(words))),
    })
}

/// A message for a token that other languages write here.
pub(super) fn habit(context: &Context<'_>) -> Option<Diagnostic> {
    let found = context.found_text();
    let span = context.found_span();
    let near = |message: String, help: String, text: &str| {
        Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, message)
            .help(help)
            .unsafe_fix(format!("write `{text}`"), vec![Edit { span, text: text.to_owned() }])
    };
    let operator =
        |written: &str| near(format!("`{found}` is no operator here"), format!("write `{written}`"), written);
    Some(match found {
        ";" => Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, "statements end without `;`")
            .help("remove the `;`")
            .fix("remove the `;`", span, ""),
        "&" | "and" | "AND" => operator("&&"),
        "|" if !context.wants_mark("=>") => operator("||"),
        "or" | "OR" => operator("||"),
        "not" | "NOT" => operator("!"),
        "=" if context.wants.is_empty() || !context.wants_mark("=") => {
            let behind_value = Context::is_word(context.before(1)) && context.first_text() != "step";
            if !behind_value || context.wants_mark(":") {
                return None;
            }
            operator("==")
        }
        "===" | "!==" => operator("=="),
        _ => return None,
    })
}

/// `a`, `b` or `c`.
pub(super) fn list<T: std::fmt::Display>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    join(&quoted)
}

pub(super) fn join(words: &[String]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
