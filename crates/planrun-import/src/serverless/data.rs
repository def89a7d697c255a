//! The data of tasks: the texts of a document that are expressions, and what they read.

use std::collections::BTreeMap;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::Expr;
use planrun_lang::yaml::{Content, Node};

use super::Workflow;
use super::jq;
use super::tasks::Task;
use crate::draft::excerpt;
use crate::expression::concatenated;
use crate::tree;
use crate::ways::Flow;
use crate::ways::value::Value;

/// What an expression of a task reads.
pub struct Data {
    pub dot: Value,
    variables: BTreeMap<String, Value>,
    /// The task, for the report.
    what: String,
}

impl Data {
    /// Of a task that has this input.
    pub fn of(task: &Task<'_>, flow: &Flow, input: &Value) -> Self {
        let mut variables = flow.variables.clone();
        let name = Value::Opaque(tree::text(task.name));
        let described = Value::object(vec![
            ("name".to_owned(), name),
            ("input".to_owned(), flow.value.clone()),
        ]);
        variables.insert("task".to_owned(), described);
        variables.insert("input".to_owned(), input.clone());
        Self {
            dot: input.clone(),
            variables,
            what: format!("task `{}`", excerpt(task.name)),
        }
    }

    /// Of the workflow as a whole.
    pub fn of_workflow(flow: &Flow) -> Self {
        Self {
            dot: flow.value.clone(),
            variables: flow.variables.clone(),
            what: "the workflow".to_owned(),
        }
    }

    /// The same, read of another value.
    pub fn on(&self, dot: Value) -> Self {
        Self {
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

impl Workflow<'_, '_, '_> {
    /// A field that is an expression, whether it stands in `${ }` or not; or data with expressions in it.
    pub fn expression(&mut self, node: &Node, data: &Data) -> Value {
        match node.text() {
            Some(text) => {
                let text = text.trim();
                let code = text
                    .strip_prefix("${")
                    .and_then(|text| text.strip_suffix('}'));
                self.code(code.unwrap_or(text), node.span, data)
            }
            None => self.template(node, data),
        }
    }

    /// Data with expressions in its texts.
    pub fn template(&mut self, node: &Node, data: &Data) -> Value {
        match &node.content {
            Content::Text(text) => self.text(text, node.span, data),
            Content::List(items) => {
                let items = items.iter().map(|item| self.template(item, data).expr());
                Value::Opaque(tree::list(items.collect()))
            }
            Content::Map(entries) => {
                let fields = entries
                    .iter()
                    .map(|entry| (entry.name.clone(), self.template(&entry.value, data)));
                Value::object(fields.collect())
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => Value::constant(node),
        }
    }

    /// A text: an expression where it is one as a whole, with `${ }` in it a template, else itself.
    fn text(&mut self, text: &str, span: Span, data: &Data) -> Value {
        let pieces = pieces(text);
        let is_blank =
            |piece: &Piece<'_>| matches!(piece, Piece::Plain(plain) if plain.trim().is_empty());
        let mut told = pieces.iter().filter(|piece| !is_blank(piece));
        if let (Some(Piece::Code(code)), None) = (told.next(), told.next()) {
            return self.code(code, span, data);
        }
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Plain(plain) => tree::text(plain),
            Piece::Code(code) => self.code(code, span, data).expr(),
        });
        Value::Opaque(concatenated(parts.collect::<Vec<_>>()))
    }

    /// An expression of jq; a hole where it has no counterpart.
    pub fn code(&mut self, code: &str, span: Span, data: &Data) -> Value {
        let scope = jq::Scope {
            dot: data.dot.clone(),
            variables: &data.variables,
            errors: &self.errors,
        };
        let read = match &self.language {
            Some(language) => Err(format!("expressions in `{language}` have no counterpart")),
            None => jq::read(code, &scope),
        };
        read.unwrap_or_else(|why| self.hole(span, &data.what, code, &why))
    }

    fn hole(&mut self, span: Span, what: &str, code: &str, why: &str) -> Value {
        let what = format!("{what}: `{}`", excerpt(code.trim()));
        Value::Opaque(self.draft.hole(span, what, why))
    }

    /// An address, in whose braces fields of the input are named.
    pub fn address(&mut self, node: &Node, data: &Data) -> Expr {
        let text = node.text().unwrap_or_default();
        if text.contains("${") {
            return self.template(node, data).expr();
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once('{')
            && let Some((name, after)) = behind.split_once('}')
        {
            parts.push(tree::text(before));
            let value = if tree::is_word(name) {
                data.dot.get(name)
            } else {
                let why = "only the name of a field stands in the braces of an address";
                self.hole(node.span, &data.what, name, why)
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
