//! What stands around the place where reading stopped.

use super::wants::Want;
use crate::source::Span;
use crate::syntax::lower::{Damage, DamageKind};
use crate::syntax::scan::{Scan, Token, TokenKind};

/// The place where a damaged text could not be read on.
pub(super) struct Context<'s> {
    text: &'s str,
    tokens: &'s [Token],
    pub damage: Damage,
    /// What could have stood here.
    pub wants: Vec<Want>,
    /// The token here; behind the last where the damaged text ends.
    found: usize,
    first: usize,
    end: usize,
}

/// What encloses the place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    /// The parentheses of a call or of parameters.
    Call,
    Paren,
    List,
    /// Fields, arms or settings.
    Braces,
    Interpolation,
}

impl<'s> Context<'s> {
    pub fn new(scan: &'s Scan<'_>, damage: Damage, offset: usize, wants: Vec<Want>) -> Self {
        let tokens = scan.tokens.as_slice();
        let at = |offset: usize| tokens.partition_point(|token| (token.end as usize) <= offset);
        let first = at(damage.span.start as usize);
        let end = tokens.partition_point(|token| token.start < damage.span.end);
        Self { text: &scan.text, tokens, damage, wants, found: at(offset).clamp(first, end.max(first)), first, end }
    }

    pub fn wants(&self, want: &Want) -> bool {
        self.wants.contains(want)
    }

    pub fn wants_mark(&self, mark: &'static str) -> bool {
        self.wants(&Want::Mark(mark))
    }

    fn token(&self, index: usize) -> Option<Token> {
        self.tokens.get(index).copied().filter(|_| index < self.end && index >= self.first)
    }

    pub fn found(&self) -> Option<Token> {
        self.token(self.found)
    }

    /// The text of the token here; empty at the end.
    pub fn found_text(&self) -> &'s str {
        self.found().map_or("", |token| self.slice(token))
    }

    /// The token here, or the last character before the end.
    pub fn found_span(&self) -> Span {
        match self.found() {
            Some(token) => token.span(),
            None => match self.before(1) {
                Some(last) => Span { start: last.end.saturating_sub(1).max(last.start), end: last.end },
                None => self.damage.span,
            },
        }
    }

    /// The token so many places before this one, in the damaged text.
    pub fn before(&self, count: usize) -> Option<Token> {
        self.token(self.found.checked_sub(count)?)
    }

    pub fn before_text(&self, count: usize) -> &'s str {
        self.before(count).map_or("", |token| self.slice(token))
    }

    pub fn first_text(&self) -> &'s str {
        self.token(self.first).map_or("", |token| self.slice(token))
    }

    pub fn first_span(&self) -> Span {
        self.token(self.first).map_or(self.damage.span, Token::span)
    }

    /// Whether this mark is the second token.
    pub fn first_then(&self, mark: &str) -> bool {
        self.token(self.first + 1).is_some_and(|token| self.slice(token) == mark)
    }

    pub fn is_word(token: Option<Token>) -> bool {
        token.is_some_and(|token| token.kind == TokenKind::Word)
    }

    /// How the token here is called in a message.
    pub fn found_name(&self) -> String {
        match self.found() {
            None => match self.damage.kind {
                DamageKind::Clause => "the end of the clause".to_owned(),
                DamageKind::Expression | DamageKind::Type | DamageKind::Pattern => "the end of the text".to_owned(),
                DamageKind::Item if self.first_text() != "plan" => "the end of the item".to_owned(),
                DamageKind::Item
                | DamageKind::Statement
                | DamageKind::TestStatement
                | DamageKind::Parameter
                | DamageKind::RaceArm
                | DamageKind::StepArm => "the end".to_owned(),
            },
            Some(token) if token.kind == TokenKind::Text => "a text".to_owned(),
            Some(token) => format!("`{}`", shortened(self.slice(token))),
        }
    }

    /// What encloses the place, and the word before it where it is a call.
    pub fn around(&self) -> (Around, Option<&'s str>) {
        let mut depth = 0_usize;
        for index in (self.first..self.found).rev() {
            let Some(token) = self.token(index) else { break };
            match token.kind {
                TokenKind::Close(_) | TokenKind::InterpolationEnd => depth += 1,
                TokenKind::Open(_) | TokenKind::Interpolation if depth > 0 => depth -= 1,
                TokenKind::Open(_) | TokenKind::Interpolation => return self.opened(index, token),
                TokenKind::Word | TokenKind::Number | TokenKind::Text | TokenKind::Symbol | TokenKind::Broken => {}
            }
        }
        (Around::Nothing, None)
    }

    fn opened(&self, index: usize, token: Token) -> (Around, Option<&'s str>) {
        let before = index.checked_sub(1).and_then(|before| self.token(before));
        match self.slice(token) {
            "(" if Self::is_word(before) => (Around::Call, before.map(|token| self.slice(token))),
            "(" => (Around::Paren, None),
            "[" => (Around::List, None),
            "${" => (Around::Interpolation, None),
            _ => (Around::Braces, None),
        }
    }

    fn slice(&self, token: Token) -> &'s str {
        token.text(self.text)
    }
}

/// A token that a message can hold.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 24;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{start}…")
}
