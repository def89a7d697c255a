//! Conditions: comparisons that `&&`, `||`, `!` and parentheses join.

use planrun_lang::syntax::ast::{BinaryOp, Expr};

use crate::tree;

/// Conditions that nest deeper are refused.
const MAX_DEPTH: usize = 30;
/// Conditions of more words are refused.
const MAX_WORDS: usize = 500;
const SIGNS: [&str; 11] = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")"];

/// The words and signs of a condition, read from left to right.
pub struct Words<'c> {
    all: Vec<&'c str>,
    at: usize,
    depth: usize,
}

/// Reads a condition; what it joins is read by `comparison`.
///
/// # Errors
/// Why it is none.
pub fn read<'c>(
    text: &'c str,
    mut comparison: impl FnMut(&mut Words<'c>) -> Result<Expr, String>,
) -> Result<Expr, String> {
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
        return Err("it goes on where it should end".into());
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
            (None, '"' | '\'') => rest
                .get(1..)
                .and_then(|inner| inner.find(c))
                .map_or(rest.len(), |end| end + 2),
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

impl<'c> Words<'c> {
    pub fn peek(&self) -> Option<&'c str> {
        self.all.get(self.at).copied()
    }

    /// # Errors
    /// Where there is no further word.
    pub fn take(&mut self) -> Result<&'c str, String> {
        let word = self.peek().ok_or("it is not finished")?;
        self.at += 1;
        Ok(word)
    }

    /// The sign of a comparison, where one stands there.
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

    fn either<F>(&mut self, comparison: &mut F) -> Result<Expr, String>
    where
        F: FnMut(&mut Self) -> Result<Expr, String>,
    {
        let mut parts = vec![self.every(comparison)?];
        while self.eat("||") {
            parts.push(self.every(comparison)?);
        }
        tree::joined(parts, BinaryOp::Or).ok_or_else(String::new)
    }

    fn every<F>(&mut self, comparison: &mut F) -> Result<Expr, String>
    where
        F: FnMut(&mut Self) -> Result<Expr, String>,
    {
        let mut parts = vec![self.one(comparison)?];
        while self.eat("&&") {
            parts.push(self.one(comparison)?);
        }
        tree::joined(parts, BinaryOp::And).ok_or_else(String::new)
    }

    fn one<F>(&mut self, comparison: &mut F) -> Result<Expr, String>
    where
        F: FnMut(&mut Self) -> Result<Expr, String>,
    {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it nests too deeply".into());
        }
        let read = if self.eat("!") {
            tree::not(self.one(comparison)?)
        } else if self.eat("(") {
            let inner = self.either(comparison)?;
            if !self.eat(")") {
                return Err("a `)` is missing".into());
            }
            inner
        } else {
            comparison(self)?
        };
        self.depth -= 1;
        Ok(read)
    }
}
