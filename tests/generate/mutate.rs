//! Makes plans that are probably wrong: one to three small changes to a correct one.

use super::{Dice, Project};

/// Returns the project with small changes in its main plan. Some mutants still pass the check.
pub fn mutated(project: &Project, seed: u64) -> Project {
    let mut dice = Dice::new(seed ^ 0x6d75_7461_7465);
    let mut mutant = project.clone();
    for _ in 0..dice.between(1, 3) {
        let text = mutant.plans[0].1.clone();
        let words = words(&text);
        if let Some(changed) = (0..8).find_map(|_| change(&mut dice, &text, &words)) {
            mutant.plans[0].1 = changed;
        }
    }
    mutant
}

/// The byte range of a word or operator.
type Place = std::ops::Range<usize>;

/// Returns the words and operators below the `tool` items. Changing an item would make it differ from the tool.
fn words(text: &str) -> Vec<Place> {
    let contracts = text.rfind("\ntool ").map_or(0, |last| last + 1);
    let first = contracts + text[contracts..].find('\n').unwrap_or(0);
    let mut places = Vec::new();
    let mut rest = text
        .char_indices()
        .skip_while(|(at, _)| *at < first)
        .peekable();
    while let Some((start, first)) = rest.next() {
        let mut end = start + first.len_utf8();
        let alike = |next: char| {
            if first.is_alphanumeric() || first == '_' {
                next.is_alphanumeric() || next == '_'
            } else {
                "?=!<>&|".contains(first) && "?=.&|>".contains(next)
            }
        };
        while let Some((at, next)) = rest.peek().copied() {
            if !alike(next) {
                break;
            }
            end = at + next.len_utf8();
            rest.next();
        }
        if !first.is_whitespace() {
            places.push(start..end);
        }
    }
    places
}

fn change(dice: &mut Dice, text: &str, words: &[Place]) -> Option<String> {
    let place = dice.pick(words).clone();
    let word = &text[place.clone()];
    let replaced = |new: &&str| {
        Some(format!(
            "{}{new}{}",
            &text[..place.start],
            &text[place.end..]
        ))
    };
    let letter = word.starts_with(|first: char| first.is_alphabetic());
    match word {
        "?" | "?." if dice.one_in(2) => replaced(&if word == "?" { "" } else { "." }),
        "." if dice.one_in(3) => replaced(&"?."),
        "??" => replaced(dice.pick(&["+", "==", "&&"])),
        "+" | "-" | "*" => replaced(dice.pick(&["+", "-", "*", "%", "<", "??"])),
        "<" | ">" | "==" | "!=" | "<=" | ">=" => {
            replaced(dice.pick(&["==", "!=", "<", ">=", "in", "+"]))
        }
        "&&" | "||" => replaced(dice.pick(&["&&", "||", "=="])),
        "string" | "int" | "double" | "bool" | "timestamp" | "duration" => replaced(dice.pick(&[
            "string",
            "int",
            "double",
            "bool",
            "timestamp",
            "duration",
            "any",
        ])),
        "has" | "size" | "json" | "sum" | "exists" | "filter" | "map" | "all" | "sort"
        | "flatten" => replaced(dice.pick(&[
            "size", "json", "sum", "string", "exists", "filter", "map", "sort", "entries",
        ])),
        "null" => replaced(dice.pick(&["0", "\"\"", "[]", "{}", "true"])),
        "true" | "false" => replaced(dice.pick(&["null", "1", "\"true\"", "[]"])),
        _ if word.starts_with(|first: char| first.is_ascii_digit()) => {
            // A call that always fails would be retried forever.
            let attempts = text[..place.start].ends_with("attempts: ");
            let new = dice.pick(&["1.5", "\"1\"", "null", "-1", MAX_INT, "[1]", "0"]);
            if attempts && *new == MAX_INT {
                None
            } else {
                replaced(new)
            }
        }
        _ if letter && !KEYWORDS.contains(&word) => {
            // Replaces a name with another one of the same text: a variable, a field, a tool, a value of an
            // enumeration.
            let other = dice.pick(words).clone();
            let other = &text[other];
            let name = other.starts_with(|first: char| first.is_alphabetic())
                && !KEYWORDS.contains(&other);
            if name && other != word {
                replaced(&other)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The largest integer.
const MAX_INT: &str = "9223372036854775807";

/// Keywords. They are not changed, because tests of the parser cover them.
const KEYWORDS: [&str; 64] = [
    "use",
    "type",
    "tool",
    "plan",
    "step",
    "let",
    "if",
    "else",
    "ensure",
    "fail",
    "reply",
    "yield",
    "next",
    "do",
    "each",
    "in",
    "max",
    "parallel",
    "by",
    "settle",
    "repeat",
    "race",
    "match",
    "when",
    "after",
    "timeout",
    "within",
    "retry",
    "until",
    "every",
    "recover",
    "as",
    "policy",
    "allow",
    "net",
    "read",
    "effect",
    "pure",
    "idempotent",
    "fails",
    "attempts",
    "delay",
    "factor",
    "jitter",
    "on",
    "deadline",
    "concurrency",
    "other",
    "undo",
    "verify",
    "gives",
    "wait",
    "input",
    "on_failure",
    "pause",
    "budget",
    "calls",
    "tokens",
    "cost",
    "time",
    "on_exhausted",
    "expires",
    "known",
    "confirm",
];
