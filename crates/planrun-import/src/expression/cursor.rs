//! A position in the tokens of an expression, and the variables that it binds.

use planrun_lang::syntax::ast::BinaryOp;

use super::tokens::Token;
use super::value::Value;
use super::{ONE, reads};

/// The deepest nesting of expressions.
const MAX_DEPTH: usize = 40;

/// The tokens of an expression, consumed from left to right.
pub struct Cursor<'t> {
    tokens: &'t [Token],
    pub at: usize,
    pub depth: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(tokens: &'t [Token], depth: usize) -> Self {
        let at = 0;
        Self { tokens, at, depth }
    }

    pub fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    pub fn after_next(&self) -> Option<&'t Token> {
        self.tokens.get(self.at + 1)
    }

    /// Returns the token `places` before the next one; 1 is the latest.
    pub fn before(&self, places: usize) -> Option<&'t Token> {
        self.tokens.get(self.at.checked_sub(places)?)
    }

    pub fn take(&mut self) -> Result<&'t Token, String> {
        let token = self.peek().ok_or("unexpected end of the expression")?;
        self.at += 1;
        Ok(token)
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(there)) if *there == sign)
    }

    pub fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    pub fn eat_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Name(there)) if there == word);
        self.at += usize::from(is_there);
        is_there
    }

    pub fn need(&mut self, sign: &str) -> Result<(), String> {
        let is_there = self.eat(sign);
        self.expect(is_there, sign)
    }

    pub fn need_word(&mut self, word: &str) -> Result<(), String> {
        let is_there = self.eat_word(word);
        self.expect(is_there, word)
    }

    fn expect(&self, is_there: bool, what: &str) -> Result<(), String> {
        let end = || "the end of the expression".to_owned();
        let found = || self.peek().map_or_else(end, |token| format!("`{token}`"));
        let message = || format!("expected `{what}`, found {}", found());
        is_there.then_some(()).ok_or_else(message)
    }

    /// Requires that nothing follows.
    pub fn end(&self) -> Result<(), String> {
        let surplus = |token| Err(format!("`{token}` has no counterpart here"));
        self.peek().map_or(Ok(()), surplus)
    }

    /// Enters a level of nesting; the caller leaves it by decreasing `depth`.
    pub fn enter(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deeply".into());
        }
        Ok(())
    }

    /// Returns the next token if it may be an operator.
    pub fn operator(&self) -> Option<&'t str> {
        match self.peek()? {
            Token::Sign(sign) => Some(sign),
            Token::Name(name) => Some(name),
            Token::Variable(_) | Token::Text(_) | Token::Template(_) | Token::Number(_) => None,
        }
    }
}

/// Returns the precedence and the meaning of an operator that all languages share.
pub fn binary(operator: &str) -> Option<(u8, BinaryOp)> {
    Some(match operator {
        "or" => (2, BinaryOp::Or),
        "and" => (3, BinaryOp::And),
        "!=" => (4, BinaryOp::NotEqual),
        "<" => (4, BinaryOp::Less),
        "<=" => (4, BinaryOp::LessEqual),
        ">" => (4, BinaryOp::Greater),
        ">=" => (4, BinaryOp::GreaterEqual),
        "+" => (5, BinaryOp::Add),
        "-" => (5, BinaryOp::Subtract),
        "*" => (6, BinaryOp::Multiply),
        "/" => (6, BinaryOp::Divide),
        "%" => (6, BinaryOp::Remainder),
        _ => return None,
    })
}

/// The variables that an expression binds, innermost last.
#[derive(Clone, Default)]
pub struct Locals {
    /// Name, value, and number of enclosing iterations when it was bound.
    all: Vec<(String, Value, usize)>,
    /// Number of enclosing iterations.
    pub level: usize,
}

impl Locals {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn bind(&mut self, name: &str, value: Value) {
        self.all.push((name.to_owned(), value, self.level));
    }

    pub fn truncate(&mut self, length: usize) {
        self.all.truncate(length);
    }

    /// Returns the value of a variable; `None` if the expression does not bind it.
    pub fn find(&self, name: &str) -> Result<Option<Value>, String> {
        let mut inside_out = self.all.iter().rev();
        match inside_out.find(|(local, ..)| local == name) {
            Some((_, value, level)) if *level != self.level && reads(&value.expr(), ONE) => {
                Err(format!(
                    "`${name}` is an element of an outer list, which is hidden by an inner one"
                ))
            }
            found => Ok(found.map(|(_, value, _)| value.clone())),
        }
    }
}
