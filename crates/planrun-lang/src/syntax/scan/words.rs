//! Recognizes keywords that begin items, statements and clauses, as opposed to keys and variables of the same name.

use super::tokens::{Delimiter, Token, TokenKind};
use crate::syntax::ast::CLAUSE_WORDS;

pub(in crate::syntax) const STATEMENT_WORDS: [&str; 14] = [
    "step", "let", "if", "task", "set", "listener", "ensure", "fail", "reply", "yield", "next",
    "policy", "allow", "parallel",
];
pub(in crate::syntax) const ITEM_WORDS: [&str; 5] = ["plan", "use", "type", "tool", "test"];
pub(in crate::syntax) const TEST_WORDS: [&str; 6] =
    ["given", "mock", "answer", "signal", "expect", "snapshot"];

/// Returns true if a plan file, or a plan in short form, can begin with this word.
#[must_use]
pub fn begins_plan(word: &str) -> bool {
    STATEMENT_WORDS.contains(&word) || ITEM_WORDS.contains(&word)
}

/// Returns the keywords of clauses that any step may have, without `by`, which is an attribute in the head of an
/// `each`.
pub(in crate::syntax) fn clause_words() -> impl Iterator<Item = &'static str> + Clone {
    CLAUSE_WORDS.into_iter().filter(|word| *word != "by")
}

pub(in crate::syntax) fn is_clause_word(word: &str) -> bool {
    clause_words().any(|known| known == word)
}

/// Returns true if the token at `index`, judging by it and the next one, begins a statement.
pub(super) fn begins_statement(text: &str, tokens: &[Token], index: usize) -> bool {
    let Some(word) = word_at(text, tokens, index) else {
        return false;
    };
    if !STATEMENT_WORDS.contains(&word) || joined_to_previous(text, tokens, index) {
        return false;
    }
    let next = symbol_at(text, tokens, index + 1);
    match word {
        "policy" | "allow" | "parallel" => next == "{",
        _ => !is_key_mark(next),
    }
}

/// Returns true if the token at `index`, the first of its line, begins a statement, a clause or a line of a test.
pub(super) fn begins_line(text: &str, tokens: &[Token], index: usize) -> bool {
    if begins_statement(text, tokens, index) {
        return true;
    }
    let Some(word) = word_at(text, tokens, index) else {
        return false;
    };
    let known = is_clause_word(word) || (TEST_WORDS.contains(&word) && word != "signal");
    known && !continues_list(text, tokens, index) && value_follows(text, tokens, index)
}

/// Returns true if the token at `index`, the first of its line, begins an item.
pub(super) fn begins_item(text: &str, tokens: &[Token], index: usize) -> bool {
    let Some(word) = word_at(text, tokens, index) else {
        return false;
    };
    if joined_to_previous(text, tokens, index) {
        return false;
    }
    let next = tokens.get(index + 1);
    let next_is_word = next.is_some_and(|token| token.kind == TokenKind::Word);
    let behind = symbol_at(text, tokens, index + 2);
    match word {
        "plan" => next_is_word && behind == "(",
        "tool" => next_is_word && behind == ".",
        "type" => next_is_word && behind == "=",
        "test" => next.is_some_and(|token| token.kind == TokenKind::Text),
        "use" => next_is_word || next.is_some_and(|token| token.kind == TokenKind::Text),
        _ => false,
    }
}

/// Returns true if the tokens around the brace at `index` show that it opens a block.
pub(super) fn opens_block(text: &str, tokens: &[Token], index: usize) -> bool {
    let before = index
        .checked_sub(1)
        .and_then(|before| word_at(text, tokens, before));
    if matches!(before, Some("do" | "else" | "parallel"))
        || begins_statement(text, tokens, index + 1)
        || ends_head(text, tokens, index)
    {
        return true;
    }
    let Some(first) = word_at(text, tokens, index + 1) else {
        return false;
    };
    let second = word_at(text, tokens, index + 2);
    if TEST_WORDS.contains(&first) && !is_key_mark(symbol_at(text, tokens, index + 2)) {
        return true;
    }
    if symbol_at(text, tokens, index + 2) == "=" {
        return true;
    }
    second.is_some_and(|second| !matches!(second, "is" | "in")) && !matches!(first, "match" | "map")
}

/// Returns true if the brace at `index` follows a call and encloses its clauses, which are written without braces.
pub(super) fn encloses_clauses(text: &str, tokens: &[Token], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|before| before.kind == TokenKind::Close(Delimiter::Paren))
        && word_at(text, tokens, index + 1).is_some_and(is_clause_word)
        && value_follows(text, tokens, index + 1)
        && !ends_head(text, tokens, index)
}

/// Maximum number of tokens of the first pattern of a `match`.
const PATTERN_TOKENS: usize = 16;

/// Returns true if the brace at `index` encloses the arms of a `match` or `race`.
pub(super) fn encloses_arms(text: &str, tokens: &[Token], index: usize) -> bool {
    let before = index.checked_sub(1);
    if before.and_then(|before| word_at(text, tokens, before)) == Some("race") {
        return true;
    }
    let behind = tokens.get(index + 1..).unwrap_or_default();
    let mut pattern = behind.iter().take(PATTERN_TOKENS);
    pattern.any(|token| token.text(text) == "=>")
}

/// Maximum number of tokens of a result type to search backward for the head of a plan.
const TYPE_TOKENS: usize = 100;

/// Returns true if the brace at `index` follows `plan name(…)` or `plan name(…) -> T`, whatever its content.
fn ends_head(text: &str, tokens: &[Token], index: usize) -> bool {
    let Some(last) = index.checked_sub(1) else {
        return false;
    };
    if matches!(
        symbol_at(text, tokens, last),
        "->" | "|" | "," | ":" | "<" | "(" | "[" | "{" | "=" | "=>"
    ) {
        return false;
    }
    let mut depth = 0_usize;
    let mut arrow = false;
    for at in (index.saturating_sub(TYPE_TOKENS)..index).rev() {
        let Some(token) = tokens.get(at) else {
            return false;
        };
        match (token.kind, token.text(text)) {
            (TokenKind::Close(Delimiter::Paren), _) if depth == 0 && (arrow || at == last) => {
                return opens_parameters(text, tokens, at);
            }
            (TokenKind::Close(_), _) => depth += 1,
            (TokenKind::Open(_), _) | (TokenKind::Symbol, "=") if depth == 0 => return false,
            (TokenKind::Open(_), _) => depth -= 1,
            (TokenKind::Symbol, "->") if depth == 0 => arrow = true,
            _ => {}
        }
    }
    false
}

/// Returns true if the parenthesis that closes at `index` contains the parameters of a plan.
fn opens_parameters(text: &str, tokens: &[Token], index: usize) -> bool {
    let mut depth = 0_usize;
    for at in (0..index).rev() {
        match tokens.get(at).map(|token| token.kind) {
            Some(TokenKind::Close(_)) => depth += 1,
            Some(TokenKind::Open(_)) if depth == 0 => {
                return at
                    .checked_sub(2)
                    .is_some_and(|head| word_at(text, tokens, head) == Some("plan"));
            }
            Some(TokenKind::Open(_)) => depth -= 1,
            _ => {}
        }
    }
    false
}

pub(super) fn word_at<'t>(text: &'t str, tokens: &[Token], index: usize) -> Option<&'t str> {
    tokens
        .get(index)
        .filter(|token| token.kind == TokenKind::Word)
        .map(|token| token.text(text))
}

pub(super) fn symbol_at<'t>(text: &'t str, tokens: &[Token], index: usize) -> &'t str {
    tokens.get(index).map_or("", |token| token.text(text))
}

fn is_key_mark(symbol: &str) -> bool {
    matches!(
        symbol,
        ":" | "?" | "," | ")" | "]" | "}" | "=>" | "." | "==" | "="
    )
}

/// Returns true if the token before `index` is an arrow, a dot or a colon, so that the word continues an expression.
fn joined_to_previous(text: &str, tokens: &[Token], index: usize) -> bool {
    let Some(before) = index.checked_sub(1) else {
        return false;
    };
    matches!(symbol_at(text, tokens, before), "=>" | "." | "?." | ":")
}

/// Returns true if the word is an element of an open list or object, or continues an expression.
fn continues_list(text: &str, tokens: &[Token], index: usize) -> bool {
    let before = index
        .checked_sub(1)
        .map_or("", |before| symbol_at(text, tokens, before));
    matches!(before, "," | "(" | "[")
        || (before == "{" && symbol_at(text, tokens, index + 1) == "{")
        || joined_to_previous(text, tokens, index)
}

/// Returns true if a value follows on the same line, which it would not after an operand of an expression.
fn value_follows(text: &str, tokens: &[Token], index: usize) -> bool {
    let Some(next) = tokens.get(index + 1) else {
        return false;
    };
    if next.line_start {
        return false;
    }
    match next.kind {
        TokenKind::Word => !matches!(next.text(text), "is" | "in"),
        TokenKind::Number | TokenKind::Text => true,
        TokenKind::Open(_) => next.text(text) == "{",
        TokenKind::Close(_)
        | TokenKind::Interpolation
        | TokenKind::InterpolationEnd
        | TokenKind::Symbol
        | TokenKind::Broken => false,
    }
}
