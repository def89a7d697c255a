//! The data of tasks: the texts of a document that are expressions, and what they read.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::Expr;
use planrun_lang::yaml::{Content, Node};

use super::jq;
use super::tasks::Task;
use crate::draft::{Draft, excerpt};
use crate::expression::concatenated;
use crate::expression::value::Value;
use crate::tree;
use crate::ways::Flow;

/// How expressions are read.
#[derive(Clone, Default)]
pub struct Reading {
    /// Their language, where it is another one than jq.
    pub language: Option<String>,
    /// The variables that are errors.
    pub errors: BTreeSet<String>,
}

/// What an expression of a task reads.
pub struct Data {
    reading: Reading,
    pub dot: Value,
    variables: BTreeMap<String, Value>,
    /// The task, for the report.
    what: String,
}

impl Data {
    /// Of a task that has this input.
    pub fn of(reading: &Reading, task: &Task<'_>, flow: &Flow, input: &Value) -> Self {
        let mut variables = flow.variables.clone();
        let name = Value::Opaque(tree::text(task.name));
        let described = Value::object(vec![
            ("name".to_owned(), name),
            ("input".to_owned(), flow.value.clone()),
        ]);
        variables.insert("task".to_owned(), described);
        variables.insert("input".to_owned(), input.clone());
        Self {
            reading: reading.clone(),
            dot: input.clone(),
            variables,
            what: format!("task `{}`", excerpt(task.name)),
        }
    }

    /// Of the workflow as a whole.
    pub fn of_workflow(reading: &Reading, flow: &Flow) -> Self {
        Self {
            reading: reading.clone(),
            dot: flow.value.clone(),
            variables: flow.variables.clone(),
            what: "the workflow".to_owned(),
        }
    }

    /// The same, read of another value.
    pub fn on(&self, dot: Value) -> Self {
        Self {
            reading: self.reading.clone(),
            dot,
            variables: self.variables.clone(),
            what: self.what.clone(),
        }
    }

    /// The same with one more variable.
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.variables.insert(name.to_owned(), value);
        self
    }
}

/// A piece of a text.
enum Piece<'t> {
    Plain(&'t str),
    Code(&'t str),
}

impl Data {
    /// A field that is an expression, whether it stands in `${ }` or not; or data with expressions in it.
    pub fn expression(&self, node: &Node, draft: &mut Draft<'_>) -> Value {
        match node.text() {
            Some(text) => {
                let text = text.trim();
                let code = text
                    .strip_prefix("${")
                    .and_then(|text| text.strip_suffix('}'));
                self.code(code.unwrap_or(text), node.span, draft)
            }
            None => self.template(node, draft),
        }
    }

    /// Data with expressions in its texts.
    pub fn template(&self, node: &Node, draft: &mut Draft<'_>) -> Value {
        match &node.content {
            Content::Text(text) => self.text(text, node.span, draft),
            Content::List(items) => {
                let items = items.iter().map(|item| self.template(item, draft).expr());
                Value::Opaque(tree::list(items.collect()))
            }
            Content::Map(entries) => {
                let fields = entries
                    .iter()
                    .map(|entry| (entry.name.clone(), self.template(&entry.value, draft)));
                Value::object(fields.collect())
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => Value::constant(node),
        }
    }

    /// A text: an expression where it is one as a whole, with `${ }` in it a template, else itself.
    fn text(&self, text: &str, span: Span, draft: &mut Draft<'_>) -> Value {
        let pieces = pieces(text);
        let is_blank =
            |piece: &Piece<'_>| matches!(piece, Piece::Plain(plain) if plain.trim().is_empty());
        let mut told = pieces.iter().filter(|piece| !is_blank(piece));
        if let (Some(Piece::Code(code)), None) = (told.next(), told.next()) {
            return self.code(code, span, draft);
        }
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Plain(plain) => tree::text(plain),
            Piece::Code(code) => self.code(code, span, draft).expr(),
        });
        Value::Opaque(concatenated(parts.collect::<Vec<_>>()))
    }

    /// An expression of jq; a hole where it has no counterpart.
    fn code(&self, code: &str, span: Span, draft: &mut Draft<'_>) -> Value {
        let scope = jq::Scope {
            dot: self.dot.clone(),
            variables: &self.variables,
            errors: &self.reading.errors,
        };
        let read = match &self.reading.language {
            Some(language) => Err(format!("expressions in `{language}` have no counterpart")),
            None => jq::read(code, &scope),
        };
        read.unwrap_or_else(|why| self.hole(span, code, &why, draft))
    }

    fn hole(&self, span: Span, code: &str, why: &str, draft: &mut Draft<'_>) -> Value {
        let what = format!("{}: `{}`", self.what, excerpt(code.trim()));
        Value::Opaque(draft.hole(span, what, why))
    }

    /// An address, in whose braces fields of the input are named.
    pub fn address(&self, node: &Node, draft: &mut Draft<'_>) -> Expr {
        let text = node.text().unwrap_or_default();
        if text.contains("${") {
            return self.template(node, draft).expr();
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once('{')
            && let Some((name, after)) = behind.split_once('}')
        {
            parts.push(tree::text(before));
            let value = if tree::is_word(name) {
                self.dot.get(name)
            } else {
                let why = "only the name of a field stands in the braces of an address";
                self.hole(node.span, name, why, draft)
            };
            parts.push(value.expr());
            rest = after;
        }
        parts.push(tree::text(rest));
        concatenated(parts)
    }
}

/// The pieces of a text, split at `${ }`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, behind)) = rest.split_once("${")
        && let Some(end) = closing(behind)
    {
        pieces.push(Piece::Plain(before));
        pieces.push(Piece::Code(behind.get(..end).unwrap_or("")));
        rest = behind.get(end + 1..).unwrap_or("");
    }
    pieces.push(Piece::Plain(rest));
    pieces
}

/// Where the brace closes that is open at the beginning.
fn closing(code: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in code.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted && depth == 0 => return Some(at),
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    None
}
