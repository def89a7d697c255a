//! Pairs opening and closing delimiters, locates missing and surplus ones, and limits their nesting.
//!
//! Delimiters are first paired by kind alone. If that leaves a brace unpaired, they are paired again using indentation,
//! which indicates best where the brace is missing.

mod unmatched;

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::scan::repair::Repair;
use crate::syntax::scan::tokens::{Bracket, Delimiter, Token, TokenKind};
use crate::syntax::scan::words::{
    begins_item, begins_line, encloses_arms, encloses_clauses, is_clause_word, opens_block,
    symbol_at, word_at,
};
use crate::syntax::scan::{MAX_BLOCKS, MAX_EXPRESSION_DEPTH, MAX_FINDINGS};

/// Maximum number of tokens of a line to look ahead.
const NEAR: usize = 200;

/// The result of pairing.
#[derive(Default)]
pub(in crate::syntax::scan) struct Matched {
    pub diagnostics: Vec<Diagnostic>,
    pub repairs: Vec<Repair>,
    /// Spans whose damage was reported.
    pub reported: Vec<Span>,
    /// Closing delimiters to append to the end of the text.
    pub appended: String,
    pub depth: usize,
    /// Closing delimiters that were reported as surplus.
    pub surplus_closers: Vec<Span>,
    lost_brace: bool,
    spare_brace: bool,
}

/// Pairs all delimiters of the text.
pub(in crate::syntax::scan) fn match_all(text: &str, tokens: &[Token]) -> Matched {
    let plain = Matcher::new(text, tokens, false, false).run();
    if !plain.lost_brace && !plain.spare_brace {
        return plain;
    }
    let indented = Matcher::new(text, tokens, plain.lost_brace, plain.spare_brace).run();
    if indented.diagnostics.is_empty() || indented.diagnostics.len() > plain.diagnostics.len() {
        plain
    } else {
        indented
    }
}

/// An open delimiter.
#[derive(Clone, Copy)]
struct Frame {
    token: usize,
    /// `None` for `${`.
    delimiter: Option<Delimiter>,
    block: bool,
    /// Whether it encloses the clauses of a call, which have no braces.
    clauses: bool,
    /// Number of constructs that nest without brackets (`map<`, `Result<`, `match`) when the delimiter was opened.
    unbracketed: usize,
    /// Nesting depth of the content read so far.
    height: usize,
}

struct Matcher<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// Whether to use indentation to locate missing closing braces.
    seek_lost: bool,
    /// Whether to use indentation to locate surplus closing braces.
    seek_spare: bool,
    frames: Vec<Frame>,
    blocks: usize,
    unbracketed: usize,
    /// Number of `!` and `-` before the next operand, each of which adds a level of nesting.
    signs: usize,
    /// Nesting depth of the element that has just ended; each `[]` after it adds a level.
    height: usize,
    /// Lines with an unterminated text, which may have swallowed brackets.
    breaks: Vec<u32>,
    /// Whether the head of an item was reported as never closed, so that the brace that ends its body seems surplus.
    lost_head: bool,
    found: Matched,
}

impl<'a> Matcher<'a> {
    fn new(text: &'a str, tokens: &'a [Token], seek_lost: bool, seek_spare: bool) -> Self {
        let broken = tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Broken);
        let breaks = broken.map(|token| token.line).collect();
        Self {
            text,
            tokens,
            seek_lost,
            seek_spare,
            frames: Vec::new(),
            blocks: 0,
            unbracketed: 0,
            signs: 0,
            height: 0,
            breaks,
            lost_head: false,
            found: Matched::default(),
        }
    }

    fn run(mut self) -> Matched {
        let mut index = 0;
        while let Some(token) = self.tokens.get(index).copied() {
            if token.line_start && !self.frames.is_empty() {
                self.begin_line(index, token);
            }
            index = match token.kind {
                TokenKind::Open(delimiter) => self.open(index, Some(delimiter)),
                TokenKind::Interpolation => self.open(index, None),
                TokenKind::Close(delimiter) => self.close(index, token, delimiter),
                TokenKind::InterpolationEnd => self.end_interpolation(index),
                TokenKind::Word => self.word(index, token),
                TokenKind::Symbol => self.symbol(index, token),
                TokenKind::Number | TokenKind::Text | TokenKind::Broken => self.operand(index),
            };
        }
        if !self.frames.is_empty() {
            self.close_lost(0, self.tokens.len());
        }
        self.found
    }

    /// Closes the brackets that cannot contain the statement or item that the line begins with.
    fn begin_line(&mut self, index: usize, token: Token) {
        let item = begins_item(self.text, self.tokens, index);
        if !item && (!begins_line(self.text, self.tokens, index) || self.is_in_arm(index, token)) {
            return;
        }
        let groups = self
            .frames
            .iter()
            .rev()
            .take_while(|frame| !frame.block)
            .count();
        if groups > 0 {
            self.close_lost(self.frames.len() - groups, index);
        }
        let outermost = self
            .frames
            .first()
            .and_then(|frame| self.tokens.get(frame.token));
        let outside = outermost.is_some_and(|open| token.indent <= open.indent);
        let nested_plan = symbol_at(self.text, self.tokens, index) == "plan" && token.indent == 0;
        if item && (outside || nested_plan) && !self.frames.is_empty() {
            self.close_lost(0, index);
        }
        if self.seek_lost {
            self.dedent(index, token.indent, false);
        }
    }

    /// Returns true if the line begins with a clause in the braces around the arms of a `match` or `race`.
    fn is_in_arm(&self, index: usize, token: Token) -> bool {
        let clause = word_at(self.text, self.tokens, index).is_some_and(is_clause_word);
        let frame = self
            .frames
            .last()
            .filter(|frame| clause && frame.delimiter == Some(Delimiter::Brace) && !frame.block);
        frame.is_some_and(|frame| {
            let open = self.tokens.get(frame.token);
            open.is_some_and(|open| token.indent > open.indent)
                && encloses_arms(self.text, self.tokens, frame.token)
        })
    }

    /// Closes the blocks that the indentation of a line shows to have ended.
    fn dedent(&mut self, index: usize, indent: u32, closing: bool) {
        while let Some(frame) = self.frames.last().copied() {
            let Some(open) = self.tokens.get(frame.token) else {
                return;
            };
            let over = if closing {
                indent < open.indent
            } else {
                indent <= open.indent
            };
            let brace = frame.delimiter == Some(Delimiter::Brace) && (frame.block || closing);
            if !brace || !over || open.line == self.tokens.get(index).map_or(0, |token| token.line)
            {
                return;
            }
            self.close_lost(self.frames.len() - 1, index);
        }
    }

    /// Returns the current nesting depth of expressions and types.
    fn groups(&self) -> usize {
        self.frames.len() - self.blocks + self.unbracketed + self.signs
    }

    /// Handles an operand that adds no nesting.
    fn operand(&mut self, index: usize) -> usize {
        self.signs = 0;
        self.merge_height();
        index + 1
    }

    /// Merges the depth of the element that has ended into the enclosing frame.
    fn merge_height(&mut self) {
        let height = std::mem::take(&mut self.height);
        if let Some(frame) = self.frames.last_mut() {
            frame.height = frame.height.max(height);
        }
    }

    /// Returns true if `[]` begins here, which adds a level around the element before it.
    fn is_suffix(&self, index: usize) -> bool {
        let next = self.tokens.get(index + 1).map(|token| token.kind);
        next == Some(TokenKind::Close(Delimiter::Bracket))
    }

    fn suffix(&mut self, index: usize) -> usize {
        if self.groups() + self.height >= MAX_EXPRESSION_DEPTH {
            return self.too_deep(index, false);
        }
        self.height += 1;
        self.reach(self.height);
        index + 2
    }

    /// Updates the maximum depth for an element that itself nests `height` levels.
    fn reach(&mut self, height: usize) {
        let depth = self.frames.len() + self.unbracketed + self.signs + height;
        self.found.depth = self.found.depth.max(depth);
    }

    fn open(&mut self, index: usize, delimiter: Option<Delimiter>) -> usize {
        if delimiter == Some(Delimiter::Bracket) && self.is_suffix(index) {
            return self.suffix(index);
        }
        self.merge_height();
        let brace = delimiter == Some(Delimiter::Brace);
        let clauses = brace && encloses_clauses(self.text, self.tokens, index);
        let block = clauses || brace && opens_block(self.text, self.tokens, index);
        let limit = if block {
            self.blocks >= MAX_BLOCKS
        } else {
            self.groups() >= MAX_EXPRESSION_DEPTH
        };
        if limit {
            return self.too_deep(index, block);
        }
        let unbracketed = self.unbracketed;
        self.unbracketed = unbracketed.saturating_sub(usize::from(brace));
        self.frames.push(Frame {
            token: index,
            delimiter,
            block,
            clauses,
            unbracketed: self.unbracketed,
            height: 0,
        });
        self.blocks += usize::from(block);
        self.unbracketed += std::mem::take(&mut self.signs);
        self.reach(0);
        index + 1
    }

    fn close(&mut self, index: usize, token: Token, delimiter: Delimiter) -> usize {
        if delimiter == Delimiter::Brace && self.is_surplus_brace(token) {
            self.stray(index, token, delimiter);
            return index + 1;
        }
        if self.seek_lost && token.line_start && delimiter == Delimiter::Brace {
            self.dedent(index, token.indent, true);
        }
        if self.closed_later(index, token) {
            self.stray(index, token, delimiter);
            return index + 1;
        }
        let reachable = self
            .frames
            .iter()
            .rposition(|frame| frame.delimiter == Some(delimiter))
            .filter(|at| {
                let above = self.frames.get(at + 1..).unwrap_or_default();
                above
                    .iter()
                    .all(|frame| !frame.block && frame.delimiter.is_some())
            });
        match reachable {
            Some(at) => {
                if at + 1 < self.frames.len() {
                    self.close_lost(at + 1, index);
                }
                if let Some(frame) = self.frames.last().copied().filter(|frame| frame.clauses) {
                    self.remove_braces(frame, token);
                }
                self.pop();
            }
            None => match self.frames.last().copied() {
                Some(frame) if self.is_meant_to_close(frame, token) => {
                    self.report_wrong_closer(frame, token);
                    self.pop();
                }
                Some(_) | None => self.stray(index, token, delimiter),
            },
        }
        index + 1
    }

    /// Returns true if a closing delimiter of another kind was meant to close this frame: always for brackets, for
    /// braces if both are on one line or in one column.
    fn is_meant_to_close(&self, frame: Frame, token: Token) -> bool {
        let Some(open) = self.tokens.get(frame.token) else {
            return false;
        };
        let aligned = open.line == token.line || (token.line_start && token.indent == open.indent);
        frame.delimiter.is_some() && (frame.delimiter != Some(Delimiter::Brace) || aligned)
    }

    /// Returns true if a closing delimiter of the wrong kind is surplus because the rest of its line closes everything
    /// that was opened on the line.
    fn closed_later(&self, index: usize, token: Token) -> bool {
        let Some(top) = self.frames.last() else {
            return false;
        };
        let TokenKind::Close(kind) = token.kind else {
            return false;
        };
        if top.delimiter == Some(kind) || top.delimiter.is_none() {
            return false;
        }
        let opened = self.frames.iter().rev().take_while(|frame| {
            frame.delimiter.is_some()
                && self
                    .tokens
                    .get(frame.token)
                    .is_some_and(|open| open.line == token.line)
        });
        let opened = opened.count();
        let rest = self
            .tokens
            .get(index + 1..)
            .unwrap_or_default()
            .iter()
            .take(NEAR);
        let mut depth = 0_usize;
        let mut closed = 0;
        for next in rest.take_while(|next| next.line == token.line) {
            match next.kind.bracket() {
                Bracket::Opens => depth += 1,
                Bracket::Closes if depth == 0 => closed += 1,
                Bracket::Closes => depth -= 1,
                Bracket::Neither => {}
            }
        }
        opened > 0 && closed >= opened
    }

    /// Returns true if the indentation shows that a `}` is surplus.
    fn is_surplus_brace(&self, token: Token) -> bool {
        if !self.seek_spare {
            return false;
        }
        let Some(open) = self
            .frames
            .last()
            .and_then(|frame| self.tokens.get(frame.token))
        else {
            return false;
        };
        let brace = self
            .frames
            .last()
            .is_some_and(|frame| frame.delimiter == Some(Delimiter::Brace));
        brace && open.line != token.line && (!token.line_start || token.indent > open.indent)
    }

    fn end_interpolation(&mut self, index: usize) -> usize {
        if let Some(at) = self
            .frames
            .iter()
            .rposition(|frame| frame.delimiter.is_none())
        {
            if at + 1 < self.frames.len() {
                self.close_lost(at + 1, index);
            }
            self.pop();
        }
        index + 1
    }

    /// Handles a word; `match`, `map<` and `Result<` nest without brackets and count toward the same limit.
    fn word(&mut self, index: usize, token: Token) -> usize {
        self.operand(index);
        let word = token.text(self.text);
        let nests = match word {
            "match" => self
                .tokens
                .get(index + 1)
                .is_some_and(|next| next.kind == TokenKind::Word),
            "map" | "Result" => symbol_at(self.text, self.tokens, index + 1) == "<",
            _ => false,
        };
        if !nests {
            if token.line_start && begins_line(self.text, self.tokens, index) {
                self.unbracketed = 0;
            }
            return index + 1;
        }
        if self.groups() >= MAX_EXPRESSION_DEPTH {
            return self.too_deep(index, false);
        }
        self.unbracketed += 1;
        self.reach(0);
        index + 1
    }

    fn symbol(&mut self, index: usize, token: Token) -> usize {
        match token.text(self.text) {
            ">" => {
                self.unbracketed = self.unbracketed.saturating_sub(1);
                self.operand(index)
            }
            "!" | "-" if self.groups() >= MAX_EXPRESSION_DEPTH => self.too_deep(index, false),
            "!" | "-" => {
                self.merge_height();
                self.signs += 1;
                self.reach(0);
                index + 1
            }
            "?" => index + 1,
            _ => self.operand(index),
        }
    }

    fn pop(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.blocks -= usize::from(frame.block);
            self.unbracketed = frame.unbracketed;
            self.signs = 0;
            let height = std::mem::take(&mut self.height).max(frame.height) + 1;
            self.height = if frame.block { 0 } else { height };
        }
    }

    /// Reports nesting beyond the limits and removes the whole group from the text.
    fn too_deep(&mut self, index: usize, block: bool) -> usize {
        let mut depth = 0_usize;
        let mut end = index;
        while let Some(token) = self.tokens.get(end) {
            if end > index && token.line_start && begins_item(self.text, self.tokens, end) {
                break;
            }
            match token.kind.bracket() {
                Bracket::Opens => depth += 1,
                Bracket::Closes if depth == 0 => break,
                Bracket::Closes => depth -= 1,
                Bracket::Neither => {}
            }
            end += 1;
            let bracket = self
                .tokens
                .get(index)
                .is_some_and(|first| !matches!(first.kind, TokenKind::Word | TokenKind::Symbol));
            let continues = match symbol_at(self.text, self.tokens, end) {
                "?" => true,
                "[" => self.is_suffix(end),
                _ => false,
            };
            if depth == 0 && bracket && !continues {
                break;
            }
        }
        (self.signs, self.height) = (0, 0);
        let start = self.tokens.get(index).copied();
        let last = end.checked_sub(1).and_then(|last| self.tokens.get(last));
        if let Some((start, last)) = start.zip(last) {
            let (what, limit) = if block {
                ("blocks", MAX_BLOCKS)
            } else {
                ("expressions and types", MAX_EXPRESSION_DEPTH)
            };
            self.push(
                codes::TOO_DEEP
                    .at(
                        start.span(),
                        format!("{what} are nested more than {limit} deep here"),
                    )
                    .help("move the inner part to a `let`, a step or a plan of its own"),
            );
            self.found
                .repairs
                .push(Repair::Damaged(Span::from(start.start..last.end)));
        }
        if end >= self.tokens.len() {
            self.abandon();
        }
        end.max(index + 1)
    }

    /// Closes all frames at the end of a text whose nesting was already reported.
    fn abandon(&mut self) {
        let lost = self.frames.split_off(0);
        self.found.appended.push('\n');
        self.found
            .appended
            .extend(lost.iter().rev().map(|frame| closing(frame.delimiter)));
        (self.blocks, self.signs, self.height) = (0, 0, 0);
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.diagnostics.len() < MAX_FINDINGS {
            self.found.diagnostics.push(diagnostic);
        }
    }
}

fn closing(delimiter: Option<Delimiter>) -> char {
    match delimiter {
        Some(Delimiter::Paren) => ')',
        Some(Delimiter::Bracket) => ']',
        Some(Delimiter::Brace) | None => '}',
    }
}
