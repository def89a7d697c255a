//! One pass over the raw text before pest: comments, delimiters, depth, unfinished texts, confusable characters.
//!
//! What it finds is reported here and mended in a copy of the same length, so that pest reads on as if the mistake
//! were not there, every offset stays true, and one mistake gives one diagnostic. Text that cannot be mended becomes
//! a run of U+007F, which the grammar takes for a damaged value.

mod characters;
mod delimiters;
mod mend;
mod texts;
mod tokens;
mod words;

use std::borrow::Cow;

use super::ast::Comment;
use crate::diag::Diagnostic;
use crate::source::Span;

pub(super) use tokens::{Delimiter, Token, TokenKind};
pub use words::begins_plan;
pub(super) use words::{ITEM_WORDS, STATEMENT_WORDS, TEST_WORDS, clause_words, is_clause_word};
use words::{begins_item, begins_statement};

/// How deep blocks may nest.
pub const MAX_BLOCKS: usize = 128;
/// How deep brackets of every kind may nest in expressions and types.
pub const MAX_EXPRESSION_DEPTH: usize = 256;
/// How many findings of the text one file reports; what follows is seldom news.
pub(super) const MAX_FINDINGS: usize = 200;

/// What the pass found.
pub(super) struct Scan<'a> {
    /// The text to parse: as long as the given one but for closing delimiters at its end.
    pub text: Cow<'a, str>,
    /// The given text.
    pub author: &'a str,
    pub comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
    pub tokens: Vec<Token>,
    /// Ranges that were reported: damage that touches one is a consequence.
    pub reported: Vec<Span>,
    /// Closing delimiters that were reported as too much: damage beside them explains them better.
    pub strays: Vec<Span>,
    /// The deepest nesting of all kinds together.
    pub depth: usize,
}

impl Scan<'_> {
    /// Whether nothing was found and nothing was mended.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty() && matches!(self.text, Cow::Borrowed(_))
    }

    /// Whether statements stand outside of all brackets, and no plan and no test does.
    pub fn is_short(&self) -> bool {
        let (mut depth, mut statement) = (0_usize, false);
        for (index, token) in self.tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Open(_) | TokenKind::Interpolation => depth += 1,
                TokenKind::Close(_) | TokenKind::InterpolationEnd => {
                    depth = depth.saturating_sub(1);
                }
                TokenKind::Word if depth == 0 && token.line_start => {
                    let begins = matches!(token.text(self.author), "plan" | "test")
                        && begins_item(self.author, &self.tokens, index);
                    if begins {
                        return false;
                    }
                    statement |= begins_statement(self.author, &self.tokens, index);
                }
                TokenKind::Word
                | TokenKind::Number
                | TokenKind::Text
                | TokenKind::Symbol
                | TokenKind::Broken => {}
            }
        }
        statement
    }

    /// Where lines begin items, outside of all brackets. Only a clean text has brackets that can be trusted.
    pub fn items(&self) -> impl Iterator<Item = usize> {
        let mut depth = 0_usize;
        self.tokens
            .iter()
            .enumerate()
            .filter_map(move |(index, token)| {
                match token.kind {
                    TokenKind::Open(_) | TokenKind::Interpolation => depth += 1,
                    TokenKind::Close(_) | TokenKind::InterpolationEnd => {
                        depth = depth.saturating_sub(1);
                    }
                    TokenKind::Word => {
                        let item = depth == 0
                            && token.line_start
                            && begins_item(self.author, &self.tokens, index);
                        return item.then_some(token.start as usize);
                    }
                    TokenKind::Number | TokenKind::Text | TokenKind::Symbol | TokenKind::Broken => {
                    }
                }
                None
            })
    }
}

/// Scans a text of at most `MAX_FILE_BYTES`.
pub(super) fn scan(text: &str) -> Scan<'_> {
    let lexed = tokens::lex(text);
    let matched = delimiters::match_all(text, &lexed.tokens);
    let mut diagnostics = lexed.diagnostics;
    diagnostics.extend(matched.diagnostics);
    let mut errors = 0;
    diagnostics.retain(|found| {
        errors += usize::from(found.is_error());
        !found.is_error() || errors <= MAX_FINDINGS
    });
    let mut mends = lexed.mends;
    mends.extend(matched.mends);
    let errors = diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.span);
    let mut reported: Vec<Span> = errors
        .filter(|span| !matched.strays.contains(span))
        .collect();
    reported.extend(matched.reported);
    let mended = mends
        .iter()
        .filter(|mend| mend.reports())
        .map(mend::Mend::span);
    reported.extend(mended.filter(|span| !matched.strays.contains(span)));
    let author = text;
    let text = mend::apply(text, &mends, &matched.appended);
    Scan {
        text,
        author,
        comments: lexed.comments,
        diagnostics,
        tokens: lexed.tokens,
        reported,
        strays: matched.strays,
        depth: matched.depth,
    }
}
