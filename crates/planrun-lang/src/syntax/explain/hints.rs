//! Mistakes that have a better message than what was expected: misplaced words, misspelt ones, habits of other languages.

use super::context::Context;
use super::hint::Hint;
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit, foreign, misspelt};
use crate::source::Span;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::{ITEM_WORDS, STATEMENT_WORDS, TEST_WORDS, clause_words, is_clause_word};

/// A message for a first word that belongs elsewhere or is misspelt.
pub(super) fn first_word(context: &Context<'_>) -> Option<Diagnostic> {
    let word = context.first_text();
    let span = context.first_span();
    let misplaced = |message: String, help: &str| {
        Some(Diagnostic::new(&codes::MISPLACED_STATEMENT, span, message).help(help.to_owned()))
    };
    let kind = context.damage.kind;
    match kind {
        DamageKind::Item if STATEMENT_WORDS.contains(&word) || is_clause_word(word) => misplaced(
            format!("`{word}` stands outside of a plan"),
            "put it into the block of a plan: `plan name() { … }`",
        ),
        DamageKind::Item if TEST_WORDS.contains(&word) => misplaced(
            format!("`{word}` stands outside of a test"),
            "put it into the block of a test: `test \"…\" for plan { … }`",
        ),
        DamageKind::Statement | DamageKind::TestStatement if ITEM_WORDS.contains(&word) => {
            misplaced(
                format!("`{word}` stands inside a block, where only statements stand"),
                "move it to the top level of the file",
            )
        }
        DamageKind::Statement if is_clause_word(word) => misplaced(
            format!("`{word}` is a clause of a step, and no step stands before it"),
            "move it directly behind the step that it belongs to",
        ),
        DamageKind::Statement if TEST_WORDS.contains(&word) => misplaced(
            format!("`{word}` belongs to a test"),
            "move it into the block of a `test`",
        ),
        DamageKind::TestStatement if STATEMENT_WORDS.contains(&word) || is_clause_word(word) => {
            misplaced(
                format!("`{word}` belongs to a plan"),
                "move it into the block of a `plan`",
            )
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
        word => format!(
            "`{}` begins no {what}",
            word.chars().take(24).collect::<String>()
        ),
    };
    let diagnostic = Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, message).available(words);
    if word == "else" {
        return Some(diagnostic.help("put `else` behind the `}` of an `if`"));
    }
    let table = match context.damage.kind {
        DamageKind::Item => foreign::ITEMS,
        DamageKind::Statement => foreign::STATEMENTS,
        _ => &[],
    };
    let statement = what == "statement";
    if let Some(hint) = foreign_word(context, table, &diagnostic.message)
        .or_else(|| bare(context).filter(|_| statement))
    {
        return Some(hint.finding(context).available(words));
    }
    if word == "#" || word == "--" || word == "/" {
        return Some(diagnostic.help("a comment begins with `//`"));
    }
    let clauses = clause_words().filter(|_| statement);
    Some(match misspelt(word, words.iter().copied().chain(clauses)) {
        Some(near) => diagnostic.did_you_mean(near, span, near.name),
        None => diagnostic.help(format!("begin it with one of {}", list(words))),
    })
}

/// A message for a first word with which other languages begin.
fn foreign_word(
    context: &Context<'_>,
    table: &'static [foreign::Phrase],
    message: &str,
) -> Option<Hint> {
    let word = context.first_text();
    let span = context.first_span();
    let phrase = foreign::word(table, word)?;
    let hint = Hint::new(span, message, phrase.help(None));
    let first = |text: &str| vec![Edit::new(span, text)];
    Some(match word {
        "const" | "var" | "val" | "final" if context.damage.kind == DamageKind::Statement => {
            let step = context.calls_tool();
            let said = if step {
                "write `step`: a call is a step"
            } else {
                "write `let`"
            };
            Hint::new(span, message, said).certainly(first(if step { "step" } else { "let" }))
        }
        "return" if context.in_value_block() => {
            Hint::new(span, message, "write `yield`").certainly(first("yield"))
        }
        "return" => hint.certainly(first("reply")),
        "elif" | "elsif" | "elseif" => hint.certainly(first("else if")).behind("if true {} "),
        _ => hint,
    })
}

/// A call of a tool without a step, and a value without a `let`.
fn bare(context: &Context<'_>) -> Option<Hint> {
    let (word, span) = (context.first_text(), context.first_span());
    let add = |text: String| vec![Edit::new(Span::at(span.start as usize), text)];
    if let Some(tool) = context.bare_call() {
        let name = if context.is_taken(tool) || crate::syntax::is_reserved(tool) {
            format!("{tool}_done")
        } else {
            tool.to_owned()
        };
        let help = format!("a call is a step: write `step {name} = {word}.{tool}(…)`");
        let hint = Hint::new(span, format!("`{word}.{tool}(…)` stands alone"), help);
        return Some(if context.is_taken(&name) {
            hint
        } else {
            hint.certainly(add(format!("step {name} = ")))
        });
    }
    if !context.first_then("=") {
        return None;
    }
    let message = format!("`{word} = …` begins no statement");
    if context.is_taken(word) {
        let help = format!(
            "a value never changes: give this one a name of its own, `let {word}_2 = …`, `step {word}_2 = …` for a call"
        );
        return Some(Hint::new(span, message, help));
    }
    let first = if context.calls_tool() { "step" } else { "let" };
    let help = format!("write `step {word} = …` for a call, `let {word} = …` for a value");
    Some(Hint::new(span, message, help).certainly(add(format!("{first} "))))
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
