//! The data of tasks: expressions in the texts of a document, and the values that they read.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::Expr;
use planrun_lang::yaml::{Content, Node};

use super::jq;
use super::tasks::Task;
use crate::control_flow::Flow;
use crate::draft::{Draft, excerpt};
use crate::expression::value::Value;
use crate::expression::{Caveats, concatenated};
use crate::tree;

/// How expressions are read.
#[derive(Clone, Default)]
pub struct Reading {
    /// Their language, if it is not jq.
    pub language: Option<String>,
    /// The variables that hold errors.
    pub errors: BTreeSet<String>,
}

/// The values that an expression of a task reads.
pub struct Data {
    reading: Reading,
    pub dot: Value,
    variables: BTreeMap<String, Value>,
    /// Description of the task, for the report.
    what: String,
}

impl Data {
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

    /// Returns the values for the workflow as a whole.
    pub fn of_workflow(reading: &Reading, flow: &Flow) -> Self {
        Self {
            reading: reading.clone(),
            dot: flow.value.clone(),
            variables: flow.variables.clone(),
            what: "the workflow".to_owned(),
        }
    }

    /// Returns the values with another value for `.`.
    pub fn on(&self, dot: Value) -> Self {
        Self {
            reading: self.reading.clone(),
            dot,
            variables: self.variables.clone(),
            what: self.what.clone(),
        }
    }

    /// Returns the values with an additional variable.
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
    /// Translates a field that is an expression, with or without `${ }`, or data with expressions in it.
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

    /// Translates data with expressions in its texts.
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

    /// Translates a text: to an expression if all of it is one, to a template if it contains `${ }`, else to itself.
    fn text(&self, text: &str, span: Span, draft: &mut Draft<'_>) -> Value {
        let pieces = pieces(text);
        let is_blank =
            |piece: &Piece<'_>| matches!(piece, Piece::Plain(plain) if plain.trim().is_empty());
        let mut significant = pieces.iter().filter(|piece| !is_blank(piece));
        if let (Some(Piece::Code(code)), None) = (significant.next(), significant.next()) {
            return self.code(code, span, draft);
        }
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Plain(plain) => tree::text(plain),
            Piece::Code(code) => self.code(code, span, draft).expr(),
        });
        Value::Opaque(concatenated(parts.collect::<Vec<_>>()))
    }

    /// Translates an expression of jq; it becomes a hole if it has no counterpart.
    fn code(&self, code: &str, span: Span, draft: &mut Draft<'_>) -> Value {
        let scope = jq::Scope {
            dot: self.dot.clone(),
            variables: &self.variables,
            errors: &self.reading.errors,
            caveats: Caveats::default(),
        };
        let read = match &self.reading.language {
            Some(language) => Err(format!("expressions in `{language}` have no counterpart")),
            None => jq::read(code, &scope),
        };
        for why in scope.caveats.take() {
            draft.changed(span, self.described(code), why);
        }
        read.unwrap_or_else(|why| self.hole(span, code, &why, draft))
    }

    fn described(&self, code: &str) -> String {
        format!("{}: `{}`", self.what, excerpt(code.trim()))
    }

    fn hole(&self, span: Span, code: &str, why: &str, draft: &mut Draft<'_>) -> Value {
        Value::Opaque(draft.hole(span, self.described(code), why))
    }

    /// Translates an address with names of input fields in braces.
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
                let why = "braces in an address may contain only the name of a field";
                self.hole(node.span, name, why, draft)
            };
            parts.push(value.expr());
            rest = after;
        }
        parts.push(tree::text(rest));
        concatenated(parts)
    }
}

/// Splits a text at `${ }`.
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

/// Returns the offset of the brace that closes the code.
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
