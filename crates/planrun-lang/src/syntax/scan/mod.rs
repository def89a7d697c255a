//! Scans the raw text before pest parses it: comments, delimiters, depth, unterminated texts, confusable characters.
//!
//! Errors are reported here and repaired in a copy in which every offset stays valid, so that pest parses as if there
//! were no error, and one error yields one diagnostic. Text that cannot be repaired becomes a run of U+007F, which the
//! grammar accepts as a damaged value.

mod characters;
mod delimiters;
mod repair;
mod texts;
mod tokens;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::ast::Comment;
use crate::diag::Diagnostic;
use crate::source::Span;

pub(super) use tokens::{Bracket, Delimiter, Token, TokenKind};
pub use words::begins_plan;
pub(super) use words::{ITEM_WORDS, STATEMENT_WORDS, TEST_WORDS, clause_words, is_clause_word};
use words::{begins_item, begins_statement};

/// Maximum nesting depth of blocks.
pub const MAX_BLOCKS: usize = 128;
/// Maximum nesting depth of expressions and types, over all kinds of brackets.
pub const MAX_EXPRESSION_DEPTH: usize = 256;
/// Maximum number of errors that the scan of one file reports, and maximum number of damaged texts that are explained
/// after it; further ones seldom add information.
pub(super) const MAX_FINDINGS: usize = 200;

/// The result of a scan.
pub(super) struct Scan<'a> {
    /// The text to parse: as long as the author's, except for closing delimiters appended to it.
    pub text: Cow<'a, str>,
    /// The text as the author wrote it.
    pub author: &'a str,
    pub comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
    pub tokens: Vec<Token>,
    /// Spans of reported errors; damage that touches one is a consequence of it.
    pub reported: Vec<Span>,
    /// Closing delimiters reported as surplus; damage next to one explains it better.
    pub surplus_closers: Vec<Span>,
    /// Maximum nesting depth, all kinds counted together.
    pub depth: usize,
}

impl Scan<'_> {
    /// Returns true if the scan reported and repaired nothing.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty() && matches!(self.text, Cow::Borrowed(_))
    }

    /// Returns true for the short form: statements, but no plan or test, outside all brackets.
    pub fn is_short(&self) -> bool {
        let (mut depth, mut statement) = (0_usize, false);
        for (index, token) in self.tokens.iter().enumerate() {
            match token.kind.bracket() {
                Bracket::Opens => depth += 1,
                Bracket::Closes => depth = depth.saturating_sub(1),
                Bracket::Neither => {
                    if depth > 0 || !token.line_start || token.kind != TokenKind::Word {
                        continue;
                    }
                    let begins = matches!(token.text(self.author), "plan" | "test")
                        && begins_item(self.author, &self.tokens, index);
                    if begins {
                        return false;
                    }
                    statement |= begins_statement(self.author, &self.tokens, index);
                }
            }
        }
        statement
    }

    /// Yields the offsets at which items begin, each at the start of a line and outside all brackets. Valid only for a
    /// clean scan, whose brackets match.
    pub fn items(&self) -> impl Iterator<Item = usize> {
        let mut depth = 0_usize;
        self.tokens
            .iter()
            .enumerate()
            .filter_map(move |(index, token)| {
                match token.kind.bracket() {
                    Bracket::Opens => depth += 1,
                    Bracket::Closes => depth = depth.saturating_sub(1),
                    Bracket::Neither => {
                        let item = depth == 0
                            && token.line_start
                            && token.kind == TokenKind::Word
                            && begins_item(self.author, &self.tokens, index);
                        return item.then_some(token.start as usize);
                    }
                }
                None
            })
    }
}

impl Scan<'_> {
    /// Returns the end of the plan that an item is, and the offsets at which the statements of its body begin, each at
    /// the start of a line. Returns `None` for other items. Valid only for a clean scan.
    pub fn statements(&self, item: Range<usize>) -> Option<(usize, Vec<usize>)> {
        let before = |offset: usize| move |token: &Token| (token.start as usize) < offset;
        let first = self.tokens.partition_point(before(item.start));
        let behind = self.tokens.partition_point(before(item.end));
        if self.tokens.get(first)?.text(self.author) != "plan" {
            return None;
        }
        let (mut depth, mut end, mut statements) = (0_usize, None, Vec::new());
        for (index, token) in self.tokens.iter().enumerate().take(behind).skip(first) {
            match token.kind.bracket() {
                Bracket::Opens => {
                    // The body is the last group; parameters and types come before it.
                    if depth == 0 {
                        statements.clear();
                    }
                    depth += 1;
                }
                Bracket::Closes => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        end = Some(token.end as usize);
                    }
                }
                Bracket::Neither => {
                    if depth == 1
                        && token.line_start
                        && token.kind == TokenKind::Word
                        && begins_statement(self.author, &self.tokens, index)
                    {
                        statements.push(token.start as usize);
                    }
                }
            }
        }
        Some((end?, statements))
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
    let mut repairs = lexed.repairs;
    repairs.extend(matched.repairs);
    let errors = diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.span);
    let mut reported: Vec<Span> = errors
        .filter(|span| !matched.surplus_closers.contains(span))
        .collect();
    reported.extend(matched.reported);
    let repaired = repairs
        .iter()
        .filter(|repair| repair.reports())
        .map(repair::Repair::span);
    // A warning does not explain why a text cannot be parsed.
    let warnings = diagnostics.iter().filter(|found| !found.is_error());
    let warned: BTreeSet<Span> = warnings.map(|found| found.span).collect();
    reported.extend(
        repaired.filter(|span| !matched.surplus_closers.contains(span) && !warned.contains(span)),
    );
    let author = text;
    let text = repair::apply(text, &repairs, &matched.appended);
    Scan {
        text,
        author,
        comments: lexed.comments,
        diagnostics,
        tokens: lexed.tokens,
        reported,
        surplus_closers: matched.surplus_closers,
        depth: matched.depth,
    }
}
