//! Conditions of listeners: a status, `Any`, or statuses of tasks joined by `&&`, `||` and `!`.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr};

use super::{Board, is};
use crate::draft::excerpt;
use crate::tree;

/// Conditions that nest deeper are refused.
const MAX_DEPTH: usize = 30;

/// What a listener waits for.
pub struct Condition {
    pub on: Expr,
    /// The tasks that it names, by their ids, each with the status that it asks for.
    pub names: BTreeSet<(String, Option<&'static str>)>,
}

struct Parser<'c> {
    words: Vec<&'c str>,
    at: usize,
    depth: usize,
    span: Span,
    names: BTreeSet<(String, Option<&'static str>)>,
}

impl Board<'_, '_> {
    /// A condition over the tasks that trigger a listener; `None` where it cannot be read, which is told.
    pub fn condition(
        &mut self,
        written: &str,
        triggers: &[String],
        span: Span,
    ) -> Option<Condition> {
        let text = written.trim();
        if text.eq_ignore_ascii_case("any") {
            let names: BTreeSet<_> = triggers.iter().map(|id| (id.clone(), None)).collect();
            let subjects = triggers
                .iter()
                .filter_map(|id| Some(tree::variable(&self.tasks.get(id)?.name)));
            let on = tree::joined(subjects.collect(), BinaryOp::Or)?;
            return Some(Condition { on, names });
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if text.chars().all(is_word) {
            let status = self.status(text, span)?;
            let names = triggers
                .iter()
                .map(|id| (id.clone(), Some(status)))
                .collect();
            let subjects = triggers
                .iter()
                .filter_map(|id| Some(is(&self.tasks.get(id)?.name, status)));
            let on = tree::joined(subjects.collect(), BinaryOp::Or)?;
            return Some(Condition { on, names });
        }
        let mut parser = Parser {
            words: words(text),
            at: 0,
            depth: 0,
            span,
            names: BTreeSet::new(),
        };
        let on = parser.either(self);
        match on {
            Ok(on) if parser.at == parser.words.len() => Some(Condition {
                on,
                names: parser.names,
            }),
            other => {
                let why = other
                    .err()
                    .unwrap_or_else(|| "it goes on where it should end".to_owned());
                let what = format!("the condition `{}`", excerpt(text));
                self.draft.lost(span, what, why);
                None
            }
        }
    }
}

/// Words, texts in quotes, and the signs `&&`, `||`, `==`, `!=`, `!`, `(` and `)`.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let sign = ["&&", "||", "==", "!=", "!", "(", ")"]
            .into_iter()
            .find(|sign| rest.starts_with(sign));
        let length = match (sign, c) {
            (Some(sign), _) => sign.len(),
            (None, '"' | '\'') => rest
                .get(1..)
                .and_then(|inner| inner.find(c))
                .map_or(rest.len(), |end| end + 2),
            (None, _) => {
                let end =
                    rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
                end.unwrap_or(rest.len()).max(c.len_utf8())
            }
        };
        let (word, behind) = rest.split_at(length);
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

impl<'c> Parser<'c> {
    fn peek(&self) -> &'c str {
        self.words.get(self.at).copied().unwrap_or("")
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.peek() == sign;
        self.at += usize::from(is_there);
        is_there
    }

    fn either(&mut self, board: &mut Board<'_, '_>) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it nests too deeply".into());
        }
        let mut parts = vec![self.all(board)?];
        while self.eat("||") {
            parts.push(self.all(board)?);
        }
        self.depth -= 1;
        tree::joined(parts, BinaryOp::Or).ok_or_else(String::new)
    }

    fn all(&mut self, board: &mut Board<'_, '_>) -> Result<Expr, String> {
        let mut parts = vec![self.one(board)?];
        while self.eat("&&") {
            parts.push(self.one(board)?);
        }
        tree::joined(parts, BinaryOp::And).ok_or_else(String::new)
    }

    fn one(&mut self, board: &mut Board<'_, '_>) -> Result<Expr, String> {
        if self.eat("!") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err("it nests too deeply".into());
            }
            let inner = self.one(board)?;
            self.depth -= 1;
            return Ok(tree::not(inner));
        }
        if self.eat("(") {
            let inner = self.either(board)?;
            return if self.eat(")") {
                Ok(inner)
            } else {
                Err("a `)` is missing".into())
            };
        }
        let subject = self.peek();
        self.at += 1;
        let id = subject.strip_suffix(".status").ok_or_else(|| {
            format!(
                "`{}` is no status of a task, such as `002.status`",
                excerpt(subject)
            )
        })?;
        let Some(name) = board.tasks.get(id).map(|task| task.name.clone()) else {
            board.unknown_task(id, self.span);
            return Err(format!("there is no task `{}`", excerpt(id)));
        };
        let negated = match self.peek() {
            "==" => false,
            "!=" => true,
            _ => return Err(format!("`{}` is compared with nothing", excerpt(subject))),
        };
        self.at += 1;
        let written = self.peek().trim_matches(['"', '\'']);
        self.at += 1;
        let status = board
            .status(written, self.span)
            .ok_or_else(|| format!("`{}` is no status", excerpt(written)))?;
        self.names
            .insert((id.to_owned(), (!negated).then_some(status)));
        let test = is(&name, status);
        Ok(if negated { tree::not(test) } else { test })
    }
}
