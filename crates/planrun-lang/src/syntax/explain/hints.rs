//! Better messages than a list of what was expected: for misplaced and misspelled words and the syntax of other
//! languages.

use super::context::Context;
use super::hint::Hint;
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit, foreign, misspelt};
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::{ITEM_WORDS, STATEMENT_WORDS, TEST_WORDS, clause_words, is_clause_word};

/// Returns a diagnostic for a first word that is misplaced or misspelled.
pub(super) fn first_word(context: &Context<'_>) -> Option<Diagnostic> {
    let word = context.first_text();
    let span = context.first_span();
    let misplaced = |message: String, help: &str| {
        Some(
            codes::MISPLACED_STATEMENT
                .at(span, message)
                .help(help.to_owned()),
        )
    };
    let kind = context.damage.kind;
    match kind {
        DamageKind::Item if STATEMENT_WORDS.contains(&word) || is_clause_word(word) => misplaced(
            format!("`{word}` is only allowed inside a plan"),
            "move it into the block of a plan: `plan name() { … }`",
        ),
        DamageKind::Item if TEST_WORDS.contains(&word) => misplaced(
            format!("`{word}` is only allowed inside a test"),
            "move it into the block of a test: `test \"…\" for plan { … }`",
        ),
        DamageKind::Statement | DamageKind::TestStatement if ITEM_WORDS.contains(&word) => {
            misplaced(
                format!(
                    "`{word}` is not allowed inside a block, which may contain only statements"
                ),
                "move it to the top level of the file",
            )
        }
        DamageKind::Statement if is_clause_word(word) => misplaced(
            format!("`{word}` is a clause of a step, but it does not follow a step"),
            "move it directly after the step that it belongs to",
        ),
        DamageKind::Statement if TEST_WORDS.contains(&word) => misplaced(
            format!("`{word}` is only allowed inside a test"),
            "move it into the block of a `test`",
        ),
        DamageKind::TestStatement if STATEMENT_WORDS.contains(&word) || is_clause_word(word) => {
            misplaced(
                format!("`{word}` is only allowed inside a plan"),
                "move it into the block of a `plan`",
            )
        }
        DamageKind::Item => unknown_word(context, &ITEM_WORDS, "an item"),
        DamageKind::Statement => unknown_word(context, &STATEMENT_WORDS, "a statement"),
        DamageKind::TestStatement => unknown_word(context, &TEST_WORDS, "a line of a test"),
        DamageKind::Clause
        | DamageKind::Parameter
        | DamageKind::RaceArm
        | DamageKind::StepArm
        | DamageKind::Expression
        | DamageKind::Type
        | DamageKind::Pattern => None,
    }
}

/// Returns a diagnostic for text that does not begin with one of the words.
fn unknown_word(context: &Context<'_>, words: &[&'static str], what: &str) -> Option<Diagnostic> {
    let word = context.first_text();
    if words.contains(&word) {
        return None;
    }
    let span = context.first_span();
    let message = match word {
        "" => format!("expected {what}"),
        word => format!(
            "expected {what}, found `{}`",
            word.chars().take(24).collect::<String>()
        ),
    };
    let diagnostic = codes::UNEXPECTED_TOKEN.at(span, message).available(words);
    if word == "else" {
        return Some(diagnostic.help("put `else` after the `}` of an `if`"));
    }
    let table = match context.damage.kind {
        DamageKind::Item => foreign::ITEMS,
        DamageKind::Statement => foreign::STATEMENTS,
        DamageKind::TestStatement => foreign::TEST_LINES,
        _ => &[],
    };
    let statement = what == "a statement";
    if let Some(hint) = foreign_word(context, table, &diagnostic.message)
        .or_else(|| bare(context).filter(|_| statement))
    {
        return Some(hint.finding(context).available(words));
    }
    if statement && Context::is_word(context.all().first().copied()) && context.first_then(":") {
        let help = format!(
            "move `{word}: …` into the parentheses of its call, or into the braces of its object"
        );
        return Some(diagnostic.help(help));
    }
    if word == "#" || word == "--" || word == "/" {
        return Some(diagnostic.help("a comment begins with `//`"));
    }
    let clauses = clause_words().filter(|_| statement);
    Some(match misspelt(word, words.iter().copied().chain(clauses)) {
        Some(near) => diagnostic.did_you_mean(near, span, near.name),
        None => diagnostic.help(format!("begin it with {}", list(words))),
    })
}

/// Returns a hint if the first word begins an item or statement in other languages.
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
            let help = if step {
                "write `step`: a call is a step"
            } else {
                "write `let`"
            };
            Hint::new(span, message, help).certainly(first(if step { "step" } else { "let" }))
        }
        "return" if context.in_value_block() => {
            Hint::new(span, message, "write `yield`").certainly(first("yield"))
        }
        "return" => hint.certainly(first("reply")),
        "assert" if context.damage.kind == DamageKind::TestStatement => {
            hint.certainly(first("expect"))
        }
        "import" if context.damage.kind == DamageKind::Item => match context.flat().get(1) {
            Some(name) if Context::is_word(Some(*name)) => Hint::new(
                span,
                message,
                format!("write `use {}`", context.slice(*name)),
            ),
            _ => hint,
        },
        "elif" | "elsif" | "elseif" => hint.certainly(first("else if")).behind("if true {} "),
        _ => hint,
    })
}

/// Returns a hint for a tool call without a `step`, or a value without a `let`.
fn bare(context: &Context<'_>) -> Option<Hint> {
    let (word, span) = (context.first_text(), context.first_span());
    let add = |text: String| vec![Edit::new(span.before(), text)];
    if let Some(tool) = context.bare_call() {
        let name = if context.is_taken(tool) || crate::syntax::is_reserved(tool) {
            format!("{tool}_done")
        } else {
            tool.to_owned()
        };
        let help = format!("write `step {name} = {word}.{tool}(…)`: a call is a step");
        let hint = Hint::new(
            span,
            format!("`{word}.{tool}(…)` is not part of a step"),
            help,
        );
        return Some(if context.is_taken(&name) {
            hint
        } else {
            hint.certainly(add(format!("step {name} = ")))
        });
    }
    if let Some(mark) = reassignment(context) {
        let message = format!("`{word} {mark}` is not a statement");
        let advice = "values cannot be reassigned; use a new name, such as `let m = n + 1`";
        return Some(Hint::new(span, message, advice));
    }
    if !context.first_then("=") {
        return None;
    }
    let message = format!("`{word} = …` is not a statement");
    if context.is_taken(word) {
        let help = format!(
            "values cannot be reassigned; use a new name: `let {word}_2 = …`, or `step {word}_2 = …` for a call"
        );
        return Some(Hint::new(span, message, help));
    }
    let first = if context.calls_tool() { "step" } else { "let" };
    let help = format!("write `step {word} = …` for a call, `let {word} = …` for a value");
    Some(Hint::new(span, message, help).certainly(add(format!("{first} "))))
}

/// Returns `+=`, `++` and the like if they follow the first word.
fn reassignment(context: &Context<'_>) -> Option<String> {
    let marks = context.all().get(1..3)?.iter();
    let mark: String = marks.map(|token| context.slice(*token)).collect();
    matches!(&*mark, "+=" | "-=" | "*=" | "/=" | "++" | "--").then_some(mark)
}

/// Formats the words as `` `a`, `b` or `c` ``.
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
