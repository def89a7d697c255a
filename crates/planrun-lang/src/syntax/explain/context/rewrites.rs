//! Edits that translate the syntax of other languages.

use super::Context;
use crate::diag::Edit;
use crate::diag::foreign::{self, Certainty, MARKS};
use crate::source::Span;
use crate::syntax::scan::{Token, TokenKind};

/// The tokens of a text that could not be parsed, for edits over all of it.
pub(in super::super) struct Rewriter<'s> {
    pub(super) text: &'s str,
    pub(super) tokens: &'s [Token],
}

impl Rewriter<'_> {
    fn slice(&self, token: Token) -> &str {
        token.text(self.text)
    }

    /// Returns the edits that turn each lambda of one variable into the arguments of a macro.
    pub fn lambdas(&self) -> Vec<Edit> {
        let all = self.tokens;
        let text = |index: usize| all.get(index).map_or("", |token| self.slice(*token));
        let mut edits = Vec::new();
        for (index, token) in all.iter().enumerate() {
            let back = |count: usize| {
                index
                    .checked_sub(count)
                    .and_then(|index| all.get(index))
                    .copied()
            };
            let edit = match (self.slice(*token), back(1), back(2), back(3)) {
                ("=>" | "->", Some(close), Some(name), Some(open))
                    if self.slice(close) == ")" && self.slice(open) == "(" =>
                {
                    Edit::new(
                        open.span().to(token.span()),
                        format!("{},", self.slice(name)),
                    )
                }
                ("=>" | "->", Some(name), Some(open), _)
                    if Context::is_word(Some(name)) && self.slice(open) == "(" =>
                {
                    Edit::new(
                        name.span().to(token.span()),
                        format!("{},", self.slice(name)),
                    )
                }
                ("lambda", ..) if text(index + 2) == ":" => {
                    let Some(colon) = all.get(index + 2) else {
                        continue;
                    };
                    Edit::new(
                        token.span().to(colon.span()),
                        format!("{},", text(index + 1)),
                    )
                }
                _ => continue,
            };
            edits.push(edit);
        }
        edits
    }

    /// Returns the edits that replace the `=` of each named argument by `:`.
    pub fn named_arguments(&self) -> Vec<Edit> {
        let all = self.tokens;
        let named = |window: &&[Token]| {
            matches!(self.slice(window[0]), "(" | "{" | ",")
                && Context::is_word(Some(window[1]))
                && self.slice(window[2]) == "="
        };
        let edit = |window: &[Token]| {
            Edit::new(
                window[1].span().to(window[2].span()),
                format!("{}:", self.slice(window[1])),
            )
        };
        all.windows(3).filter(named).map(edit).collect()
    }

    /// Returns the edits that write out each entry of an object that is only a name.
    pub fn shorthand(&self) -> Vec<Edit> {
        let mut open = Vec::new();
        let mut edits = Vec::new();
        for window in self.tokens.windows(3) {
            let [before, name, after] = [0, 1, 2].map(|index| self.slice(window[index]));
            match before {
                "(" | "[" | "{" => open.push(before),
                ")" | "]" | "}" => drop(open.pop()),
                _ => {}
            }
            let alone = matches!(before, "{" | ",") && matches!(after, "," | "}");
            if alone && open.last() == Some(&"{") && Context::is_word(Some(window[1])) {
                edits.push(Edit::new(window[1].span().after(), format!(": {name}")));
            }
        }
        edits
    }

    /// Returns the spans of the first `{{` and `}}` of the damaged text.
    pub fn double_braces(&self) -> Option<(Span, Span)> {
        let pair = |mark: &str| {
            let both = |window: &&[Token]| {
                window[0].end == window[1].start
                    && window.iter().all(|token| self.slice(*token) == mark)
            };
            self.tokens
                .windows(2)
                .find(both)
                .map(|window| window[0].span().to(window[1].span()))
        };
        pair("{").zip(pair("}"))
    }

    /// Returns the edits that replace each foreign operator by that of the plan language. Empty if a `not` cannot be
    /// replaced without changing its meaning.
    pub fn translated(&self) -> Vec<Edit> {
        let all = self.tokens;
        let mut edits = Vec::new();
        let mut index = 0;
        while let Some(token) = all.get(index) {
            let next = all
                .get(index + 1)
                .filter(|next| next.start == token.end && next.kind == TokenKind::Symbol);
            let joined = next.map(|next| {
                (
                    format!("{}{}", self.slice(*token), self.slice(*next)),
                    *next,
                )
            });
            let find = |mark: &str| {
                let certain = |phrase: &&foreign::Phrase| {
                    phrase.wrong == mark && phrase.certainty == Certainty::Certain
                };
                MARKS.iter().find(certain).map(|phrase| phrase.right)
            };
            if let Some((right, last)) = joined.and_then(|(mark, last)| Some((find(&mark)?, last)))
            {
                edits.push(Edit::new(token.span().to(last.span()), right));
                index += 2;
                continue;
            }
            let word = self.slice(*token);
            match find(word).filter(|_| matches!(token.kind, TokenKind::Word | TokenKind::Symbol)) {
                Some("!") => {
                    let Some(end) = self.negatable(index) else {
                        return Vec::new();
                    };
                    edits.push(Edit::new(Span::from(token.start..end), "!"));
                }
                Some(right) => edits.push(Edit::new(token.span(), right)),
                None => {}
            }
            index += 1;
        }
        edits
    }

    /// Returns the start of the operand of a `not` if `!` would mean the same; it would not in `not a == b`, which is
    /// `!(a == b)`.
    fn negatable(&self, index: usize) -> Option<u32> {
        let rest = self.tokens.get(index + 1..)?;
        let mut depth = 0_usize;
        for token in rest {
            match (token.kind, self.slice(*token)) {
                (TokenKind::Open(_), _) => depth += 1,
                (TokenKind::Close(_), _) if depth == 0 => break,
                (TokenKind::Close(_), _) => depth -= 1,
                (
                    _,
                    "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "is" | "+" | "-" | "*" | "/"
                    | "%" | "??",
                ) if depth == 0 => {
                    return None;
                }
                (_, "and" | "or" | "&&" | "||" | "," | "?") if depth == 0 => break,
                _ => {}
            }
        }
        rest.first().map(|first| first.start)
    }

    /// Returns the edits that remove the parentheses after a word.
    pub fn without_parentheses(&self, word: &str) -> Vec<Edit> {
        let all = self.tokens;
        let Some(at) = all.iter().position(|token| self.slice(*token) == word) else {
            return Vec::new();
        };
        let Some(open) = all.get(at + 1) else {
            return Vec::new();
        };
        let close = all
            .iter()
            .skip(at)
            .find(|token| matches!(token.kind, TokenKind::Close(_)));
        let Some(close) = close else {
            return Vec::new();
        };
        vec![Edit::new(open.span(), " "), Edit::removal(close.span())]
    }
}
