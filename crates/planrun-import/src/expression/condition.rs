//! Parses conditions: comparisons joined by `&&`, `||`, `!` and parentheses.

use planrun_lang::syntax::ast::{BinaryOp, Expr};

use crate::tree;

/// The deepest nesting of a condition.
const MAX_DEPTH: usize = 30;
/// The most words of a condition.
const MAX_WORDS: usize = 500;
const SIGNS: [&str; 11] = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")"];

/// The result of a comparison, and how results are combined.
pub trait Truth: Sized {
    /// Returns the conjunction of the parts; `None` if there are none.
    fn every(parts: Vec<Self>) -> Option<Self>;
    /// Returns the disjunction of the parts; `None` if there are none.
    fn either(parts: Vec<Self>) -> Option<Self>;
    fn not(self) -> Self;
}

impl Truth for Expr {
    fn every(parts: Vec<Self>) -> Option<Self> {
        tree::joined(parts, BinaryOp::And)
    }

    fn either(parts: Vec<Self>) -> Option<Self> {
        tree::joined(parts, BinaryOp::Or)
    }

    fn not(self) -> Self {
        tree::not(self)
    }
}

/// The words and operators of a condition, consumed from left to right.
pub struct Words<'c> {
    all: Vec<&'c str>,
    at: usize,
    depth: usize,
}

/// Parses a condition; `comparison` parses its operands. Returns a message if the condition is invalid.
pub fn read<'c, T: Truth>(
    text: &'c str,
    mut comparison: impl FnMut(&mut Words<'c>) -> Result<T, String>,
) -> Result<T, String> {
    let mut words = Words {
        all: words(text),
        at: 0,
        depth: 0,
    };
    if words.all.len() > MAX_WORDS {
        return Err("it is too long".into());
    }
    let read = words.either(&mut comparison)?;
    if words.peek().is_some() {
        return Err("it continues after its end".into());
    }
    Ok(read)
}

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let length = match (sign, c) {
            (Some(sign), _) => sign.len(),
            (None, '"' | '\'') => quoted(rest, c),
            (None, _) => {
                let end = rest.find(|c: char| c.is_whitespace() || "&|=!<>()".contains(c));
                end.unwrap_or(rest.len()).max(c.len_utf8())
            }
        };
        let (word, behind) = rest.split_at(length);
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

/// Returns the length of a quoted text. A doubled quote stands for the quote itself.
fn quoted(text: &str, quote: char) -> usize {
    let mut quotes = text.match_indices(quote).skip(1).map(|(at, _)| at);
    while let Some(at) = quotes.next() {
        if !text
            .get(at + 1..)
            .is_some_and(|rest| rest.starts_with(quote))
        {
            return at + 1;
        }
        quotes.next();
    }
    text.len()
}

impl<'c> Words<'c> {
    pub fn peek(&self) -> Option<&'c str> {
        self.all.get(self.at).copied()
    }

    /// Returns an error if there are no more words.
    pub fn take(&mut self) -> Result<&'c str, String> {
        let word = self.peek().ok_or("it is incomplete")?;
        self.at += 1;
        Ok(word)
    }

    /// Consumes a comparison operator; `None` if the next word is not one.
    pub fn comparison(&mut self) -> Option<BinaryOp> {
        let operator = match self.peek()? {
            "==" => BinaryOp::Equal,
            "!=" => BinaryOp::NotEqual,
            "<" => BinaryOp::Less,
            "<=" => BinaryOp::LessEqual,
            ">" => BinaryOp::Greater,
            ">=" => BinaryOp::GreaterEqual,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.peek() == Some(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn either<T, F>(&mut self, comparison: &mut F) -> Result<T, String>
    where
        T: Truth,
        F: FnMut(&mut Self) -> Result<T, String>,
    {
        let mut parts = vec![self.every(comparison)?];
        while self.eat("||") {
            parts.push(self.every(comparison)?);
        }
        T::either(parts).ok_or_else(String::new)
    }

    fn every<T, F>(&mut self, comparison: &mut F) -> Result<T, String>
    where
        T: Truth,
        F: FnMut(&mut Self) -> Result<T, String>,
    {
        let mut parts = vec![self.one(comparison)?];
        while self.eat("&&") {
            parts.push(self.one(comparison)?);
        }
        T::every(parts).ok_or_else(String::new)
    }

    fn one<T, F>(&mut self, comparison: &mut F) -> Result<T, String>
    where
        T: Truth,
        F: FnMut(&mut Self) -> Result<T, String>,
    {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deeply".into());
        }
        let read = if self.eat("!") {
            self.one(comparison)?.not()
        } else if self.eat("(") {
            let inner = self.either(comparison)?;
            if !self.eat(")") {
                return Err("expected `)`".into());
            }
            inner
        } else {
            comparison(self)?
        };
        self.depth -= 1;
        Ok(read)
    }
}
