//! The tokens around the position where parsing failed.

mod rewrites;

use super::expected::Expected;
use crate::diag::{Edit, fix};
use crate::source::Span;
use crate::syntax::lower::{Damage, DamageKind};
use crate::syntax::scan::{Bracket, Delimiter, STATEMENT_WORDS, Scan, Token, TokenKind};
use crate::value::shortened;
use rewrites::Rewriter;

/// Maximum number of characters of a token that a message quotes.
const MAX_QUOTED: usize = 24;

/// The position where the parser failed in a damaged text.
pub(super) struct Context<'s> {
    text: &'s str,
    tokens: &'s [Token],
    pub damage: Damage,
    /// The tokens that would be valid at this position.
    pub expected: Vec<Expected>,
    /// Index of the token at this position; one past the last token if the damaged text ends here.
    found: usize,
    first: usize,
    end: usize,
}

/// The innermost bracket that encloses the position.
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
    pub fn new(scan: &'s Scan<'_>, damage: Damage, offset: usize, expected: Vec<Expected>) -> Self {
        let tokens = scan.tokens.as_slice();
        let at = |offset: usize| tokens.partition_point(|token| (token.end as usize) <= offset);
        let first = at(damage.span.start as usize);
        let end = tokens.partition_point(|token| token.start < damage.span.end);
        Self {
            text: &scan.text,
            tokens,
            damage,
            expected,
            found: at(offset).clamp(first, end.max(first)),
            first,
            end,
        }
    }

    pub fn expects(&self, expected: &Expected) -> bool {
        self.expected.contains(expected)
    }

    pub fn expects_mark(&self, mark: &'static str) -> bool {
        self.expects(&Expected::Mark(mark))
    }

    fn token(&self, index: usize) -> Option<Token> {
        self.tokens
            .get(index)
            .copied()
            .filter(|_| index < self.end && index >= self.first)
    }

    pub fn found(&self) -> Option<Token> {
        self.token(self.found)
    }

    /// Returns the text of the token at this position; empty at the end.
    pub fn found_text(&self) -> &'s str {
        self.found().map_or("", |token| self.slice(token))
    }

    /// Returns the span of the token at this position, or of the last character if the text ends here.
    pub fn found_span(&self) -> Span {
        match self.found() {
            Some(token) => token.span(),
            None => match self.before(1) {
                Some(last) => Span::from(last.end.saturating_sub(1).max(last.start)..last.end),
                None => self.damage.span,
            },
        }
    }

    /// Returns the token `count` tokens before this one, within the damaged text.
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

    /// Returns the token `count` tokens after this one, within the damaged text.
    pub fn after(&self, count: usize) -> Option<Token> {
        self.token(self.found + count)
    }

    pub fn after_text(&self, count: usize) -> &'s str {
        self.after(count).map_or("", |token| self.slice(token))
    }

    /// Returns all tokens of the damaged text.
    pub fn all(&self) -> &'s [Token] {
        self.tokens
            .get(self.first..self.end.max(self.first))
            .unwrap_or_default()
    }

    /// Returns a rewriter for the whole damaged text.
    pub fn rewriter(&self) -> Rewriter<'s> {
        Rewriter {
            text: self.text,
            tokens: self.all(),
        }
    }

    /// Returns the tokens outside all brackets; each bracketed group is represented by its closing bracket.
    pub fn flat(&self) -> Vec<Token> {
        let mut depth = 0_usize;
        let mut flat = Vec::new();
        for token in self.all() {
            match token.kind.bracket() {
                Bracket::Opens => depth += 1,
                Bracket::Closes => depth = depth.saturating_sub(1),
                Bracket::Neither => {}
            }
            if depth == 0 {
                flat.push(*token);
            }
        }
        flat
    }

    /// Returns true if the mark occurs outside all brackets.
    pub fn has_flat(&self, mark: &str) -> bool {
        self.flat().iter().any(|token| self.slice(*token) == mark)
    }

    /// Returns true if the damaged text contains a block or is followed by one.
    pub fn opens_block(&self) -> bool {
        self.has_flat("}")
            || self
                .text
                .get(self.damage.span.end as usize..)
                .is_some_and(|rest| rest.trim_start().starts_with('{'))
    }

    /// Returns true if another token precedes the damaged text on its line.
    pub fn continues_line(&self) -> bool {
        let before = self
            .first
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before));
        let between = before.and_then(|before| {
            self.text
                .get(before.end as usize..self.first_span().start as usize)
        });
        between.is_some_and(|between| !between.contains('\n'))
    }

    /// Returns true if the statement before the damaged text is a step.
    pub fn follows_step(&self) -> bool {
        let before = self
            .tokens
            .get(..self.first)
            .unwrap_or_default()
            .iter()
            .rev();
        let mut words = before
            .filter(|token| token.kind == TokenKind::Word)
            .map(|token| self.slice(*token));
        words.find(|word| STATEMENT_WORDS.contains(word)) == Some("step")
    }

    /// Returns true if the position is in the error pattern of a `recover`.
    pub fn caught(&self) -> bool {
        let before = self
            .tokens
            .get(self.first..self.found)
            .unwrap_or_default()
            .iter()
            .rev();
        let mut texts = before.map(|token| self.slice(*token));
        texts.find(|text| matches!(*text, "recover" | "=>" | "{" | "(")) == Some("recover")
    }

    /// Returns the text of the token before the innermost open bracket.
    pub fn opener(&self) -> &'s str {
        let before = self
            .open()
            .and_then(|index| index.checked_sub(1))
            .and_then(|before| self.token(before));
        before.map_or("", |token| self.slice(token))
    }

    /// Returns true if the function is called between the beginning of the damaged text and this position.
    pub fn calls_before(&self, function: &str) -> bool {
        let tokens = self.tokens.get(self.first..self.found).unwrap_or_default();
        tokens
            .windows(2)
            .any(|pair| matches!(pair, [name, open] if self.slice(*name) == function && self.slice(*open) == "("))
    }

    /// Returns the bracket that closes the one `count` tokens after this position.
    pub fn closing(&self, count: usize) -> Option<Token> {
        let start = self.found + count;
        let mut depth = 0_usize;
        for index in start..self.end {
            let token = self.token(index)?;
            match token.kind.bracket() {
                Bracket::Opens => depth += 1,
                Bracket::Closes if depth == 1 => return Some(token),
                Bracket::Closes => depth = depth.checked_sub(1)?,
                Bracket::Neither if depth == 0 => return None,
                Bracket::Neither => {}
            }
        }
        None
    }

    /// Returns true if the position is in an expression.
    pub fn is_value(&self) -> bool {
        matches!(
            self.around().0,
            Around::Call | Around::Paren | Around::List | Around::Interpolation
        ) || self.damage.kind == DamageKind::Expression
            || matches!(self.first_text(), "let" | "reply" | "yield" | "next")
    }

    /// Returns true if an arrow follows the next closing bracket.
    pub fn arrow_behind(&self) -> bool {
        let rest = self.tokens.get(self.found..self.end).unwrap_or_default();
        let close = rest
            .iter()
            .position(|token| matches!(token.kind, TokenKind::Close(_)));
        let arrow = close.and_then(|close| rest.get(close + 1));
        arrow.is_some_and(|token| matches!(self.slice(*token), "=>" | "->"))
    }

    /// Returns the mark that the found token forms with the symbol directly before it: `===`, `<>`, `**`.
    pub fn joined(&self) -> (String, Span) {
        let mut span = self.found_span();
        let mut text = self.found_text().to_owned();
        if let Some(before) = self
            .before(1)
            .filter(|before| before.end == span.start && before.kind == TokenKind::Symbol)
        {
            text = format!("{}{text}", self.slice(before));
            span = before.span().to(span);
        }
        (text, span)
    }

    /// Returns true if the value of the statement begins with the word and an opening parenthesis.
    pub fn second_from_value(&self, word: &str) -> bool {
        let texts: Vec<&str> = self
            .all()
            .iter()
            .take(5)
            .map(|token| self.slice(*token))
            .collect();
        matches!(texts.as_slice(), [_, _, "=", first, "("] if *first == word)
    }

    /// Returns true if the damaged text, with the edits applied and `above` put before it, parses.
    pub fn reads_with(&self, above: &str, edits: &[Edit]) -> bool {
        let span = self.damage.span;
        let inside = |edit: &Edit| edit.span.start >= span.start && edit.span.end <= span.end;
        let Some(slice) = self
            .text
            .get(span.range())
            .filter(|_| edits.iter().all(inside))
        else {
            return false;
        };
        let shifted: Vec<Edit> = edits
            .iter()
            .map(|edit| {
                Edit::new(
                    Span::from(edit.span.start - span.start..edit.span.end - span.start),
                    edit.text.clone(),
                )
            })
            .collect();
        let Some(fixed) = fix::apply(slice, &shifted) else {
            return false;
        };
        let behind = self.text.get(span.end as usize..).unwrap_or("");
        let body = if behind.trim_start().starts_with('{') {
            " {}"
        } else {
            ""
        };
        let headed = format!("{above}{fixed}{body}");
        super::failure(super::rule(self.damage.kind), &headed).is_none()
    }

    /// Returns true if the assigned value has the form of a tool call: `ns.tool(name: …)`, or `ns.tool()`.
    pub fn calls_tool(&self) -> bool {
        let texts: Vec<&str> = self
            .all()
            .iter()
            .skip_while(|token| self.slice(**token) != "=")
            .skip(1)
            .take(6)
            .map(|token| self.slice(*token))
            .collect();
        matches!(
            texts.as_slice(),
            [_, ".", _, "(", ")", ..] | [_, ".", _, "(", _, ":"]
        )
    }

    /// Returns the tool's name if the damaged text begins with `ns.tool(`.
    pub fn bare_call(&self) -> Option<&'s str> {
        let start: Vec<Token> = self.all().iter().take(4).copied().collect();
        let [namespace, point, tool, open] = start.as_slice() else {
            return None;
        };
        let words = Self::is_word(Some(*namespace)) && Self::is_word(Some(*tool));
        (words && self.slice(*point) == "." && self.slice(*open) == "(").then(|| self.slice(*tool))
    }

    /// Returns true if the name is already declared elsewhere in the file.
    pub fn is_taken(&self, name: &str) -> bool {
        let text = |index: usize| {
            self.tokens
                .get(index)
                .map_or("", |token| self.slice(*token))
        };
        let mut parameters = 0_usize;
        for (index, token) in self.tokens.iter().enumerate() {
            let before = index.checked_sub(1).map_or("", text);
            match token.kind {
                TokenKind::Open(Delimiter::Paren)
                    if parameters > 0 || index.checked_sub(2).map_or("", text) == "plan" =>
                {
                    parameters += 1;
                }
                TokenKind::Close(Delimiter::Paren) => parameters = parameters.saturating_sub(1),
                TokenKind::Word
                    if (index < self.first || index >= self.end) && self.slice(*token) == name =>
                {
                    let introduced = matches!(before, "step" | "let" | "task" | "listener" | "as");
                    let parameter = parameters == 1 && matches!(text(index + 1), ":" | "?");
                    if introduced || parameter {
                        return true;
                    }
                }
                TokenKind::Word
                | TokenKind::Number
                | TokenKind::Text
                | TokenKind::Open(_)
                | TokenKind::Close(_)
                | TokenKind::Interpolation
                | TokenKind::InterpolationEnd
                | TokenKind::Symbol
                | TokenKind::Broken => {}
            }
        }
        false
    }

    /// Returns true if the innermost block around the damaged text returns its value with `yield`.
    pub fn in_value_block(&self) -> bool {
        let mut depth = 0_usize;
        for index in (0..self.first).rev() {
            let Some(token) = self.tokens.get(index) else {
                break;
            };
            match token.kind {
                TokenKind::Close(Delimiter::Brace) => depth += 1,
                TokenKind::Open(Delimiter::Brace) if depth > 0 => depth -= 1,
                TokenKind::Open(Delimiter::Brace) => {
                    let head = self.tokens.get(..index).unwrap_or_default().iter().rev();
                    let mut head = head.map(|token| self.slice(*token)).peekable();
                    // In `each … parallel 3 {`, the word is not directly before the brace.
                    if head.peek() == Some(&"parallel") {
                        continue;
                    }
                    let word = head.find(|word| {
                        matches!(
                            *word,
                            "do" | "each" | "repeat" | "plan" | "listener" | "if" | "else" | "test"
                        )
                    });
                    match word {
                        Some("if" | "else") => {}
                        word => return matches!(word, Some("do" | "each" | "repeat")),
                    }
                }
                TokenKind::Word
                | TokenKind::Number
                | TokenKind::Text
                | TokenKind::Open(_)
                | TokenKind::Close(_)
                | TokenKind::Interpolation
                | TokenKind::InterpolationEnd
                | TokenKind::Symbol
                | TokenKind::Broken => {}
            }
        }
        false
    }

    /// Returns true if the mark is the second token of the damaged text.
    pub fn first_then(&self, mark: &str) -> bool {
        self.token(self.first + 1)
            .is_some_and(|token| self.slice(token) == mark)
    }

    pub fn is_word(token: Option<Token>) -> bool {
        token.is_some_and(|token| token.kind == TokenKind::Word)
    }

    /// Returns the name of the token at this position for a message.
    pub fn found_name(&self) -> String {
        match self.found() {
            None => match self.damage.kind {
                DamageKind::Clause => "the end of the clause".to_owned(),
                DamageKind::Expression | DamageKind::Type | DamageKind::Pattern => {
                    "the end of the text".to_owned()
                }
                DamageKind::Item if self.first_text() != "plan" => "the end of the item".to_owned(),
                DamageKind::Item
                | DamageKind::Statement
                | DamageKind::TestStatement
                | DamageKind::Parameter
                | DamageKind::RaceArm
                | DamageKind::StepArm => "the end".to_owned(),
            },
            Some(token) if token.kind == TokenKind::Text => "a string".to_owned(),
            Some(token) => format!("`{}`", shortened(self.slice(token), MAX_QUOTED)),
        }
    }

    /// Returns what encloses the position and, for a call, the word before its parenthesis.
    pub fn around(&self) -> (Around, Option<&'s str>) {
        let open = self
            .open()
            .and_then(|index| Some((index, self.token(index)?)));
        open.map_or((Around::Nothing, None), |(index, token)| {
            self.opened(index, token)
        })
    }

    /// Returns the index of the innermost open bracket.
    fn open(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for index in (self.first..self.found).rev() {
            match self.token(index)?.kind.bracket() {
                Bracket::Closes => depth += 1,
                Bracket::Opens if depth > 0 => depth -= 1,
                Bracket::Opens => return Some(index),
                Bracket::Neither => {}
            }
        }
        None
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

    pub fn slice(&self, token: Token) -> &'s str {
        token.text(self.text)
    }
}
