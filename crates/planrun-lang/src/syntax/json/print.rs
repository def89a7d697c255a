//! Writes a syntax tree in JSON form. `decode` reads it back as the same tree, except for spans, the order of clauses,
//! and an `expires` clause, which becomes `within`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::shapes::{CALL, FILE, Shape};
use super::type_names::TypeNames;
use super::values::{MAX_VALUE_DEPTH, TEXT};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, EntryKey, Expr, ExprKind, File, LinkKind, Literal, Name, TemplatePart,
};
use crate::syntax::{canonical, canonical_name};

/// Returns the file in JSON form. Comments other than doc comments are dropped.
///
/// # Errors
/// Returns a diagnostic if the tree contains anything without a JSON form: text that could not be parsed, or arguments
/// that are repeated or unnamed, which the checker rejects too.
pub fn encode(file: &File) -> Result<Value, Box<Diagnostic>> {
    Encoder {
        refused: None,
        documents: true,
        types: TypeNames::new(),
    }
    .file(file)
}

/// Returns the file in JSON form without documentation, with these names in place of its types; `None` if [`encode`]
/// would fail.
pub(super) fn without_docs(file: &File, types: TypeNames) -> Option<Value> {
    Encoder {
        refused: None,
        documents: false,
        types,
    }
    .file(file)
    .ok()
}

/// Writes trees and records the first that has no JSON form.
pub(super) struct Encoder {
    refused: Option<Box<Diagnostic>>,
    /// True if documentation is written.
    pub documents: bool,
    /// The names that are written in place of types.
    pub types: TypeNames,
}

/// The keys of an object before those of its kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Head<'a> {
    pub doc: Option<&'a Arc<str>>,
    pub name: Option<&'a Name>,
}

/// An object under construction.
pub(super) struct Object {
    pub shape: &'static Shape,
    map: Map<String, Value>,
}

impl Object {
    pub fn of(shape: &'static Shape, encoder: &Encoder, head: Head<'_>) -> Self {
        let mut object = Self {
            shape,
            map: Map::new(),
        };
        if shape.one_of {
            object.put("kind", shape.kind);
        }
        if let Some(doc) = head.doc.filter(|_| encoder.documents) {
            object.put("doc", &**doc);
        }
        if let Some(name) = head.name {
            object.put("name", &*name.text);
        }
        object
    }

    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_owned(), value.into());
    }

    /// Appends an object to the list under a key.
    pub fn add(&mut self, key: &str, element: Option<Self>) {
        let list = self
            .map
            .entry(key)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.extend(element.map(Self::done));
        }
    }

    pub fn done(self) -> Value {
        Value::Object(self.map)
    }
}

impl Encoder {
    fn file(mut self, file: &File) -> Result<Value, Box<Diagnostic>> {
        let mut object = Object::of(&FILE, &self, Head::default());
        object.write(&mut self, "doc", &file.doc);
        object.write(&mut self, "items", &file.items);
        match self.refused {
            None => Ok(object.done()),
            Some(refused) => Err(refused),
        }
    }

    /// Returns the finished object. Without one, records that the text at `place` could not be parsed.
    pub fn done(&mut self, object: Option<Object>, place: Span) -> Value {
        match object {
            Some(object) => object.done(),
            None => self.unread(place),
        }
    }

    pub fn value(&mut self, expr: &Expr) -> Value {
        self.written(expr, Null::BareInside, 0)
    }

    pub fn settings(&mut self, expr: &Expr) -> Value {
        self.written(expr, Null::NeverBare, 0)
    }

    fn written(&mut self, expr: &Expr, null: Null, depth: usize) -> Value {
        let inner = if null == Null::NeverBare {
            Null::NeverBare
        } else {
            Null::Bare
        };
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => Value::Bool(*value),
            ExprKind::Literal(Literal::Int(value)) => Value::from(*value),
            ExprKind::Literal(Literal::Double(value)) => {
                number(*value).unwrap_or_else(|| canonical(expr).into())
            }
            ExprKind::Literal(Literal::Null) if null == Null::Bare => Value::Null,
            ExprKind::Literal(Literal::String(text)) => text_value(&text.replace("${", "\\${")),
            ExprKind::Template(parts) => match template(parts) {
                Some(text) => text_value(&text),
                None => canonical(expr).into(),
            },
            ExprKind::List(elements) if depth < MAX_VALUE_DEPTH => elements
                .iter()
                .map(|element| self.written(element, inner, depth + 1))
                .collect::<Vec<_>>()
                .into(),
            ExprKind::Object(entries) if depth < MAX_VALUE_DEPTH && plain_keys(entries) => {
                let mut object = Map::new();
                for entry in entries {
                    if let EntryKey::Name(name) = &entry.key {
                        let value = self.written(&entry.value, inner, depth + 1);
                        object.insert(name.text.to_string(), value);
                    }
                }
                Value::Object(object)
            }
            ExprKind::Error => self.unread(expr.span),
            ExprKind::Literal(_)
            | ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::Path { .. }
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Chain { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Conditional { .. }
            | ExprKind::Match { .. }
            | ExprKind::Is { .. }
            | ExprKind::Signal(_) => canonical(expr).into(),
        }
    }

    /// Writes a call of a tool or plan as tool and arguments, any other expression as its text.
    pub fn call(&mut self, expr: &Expr) -> Value {
        let call = match &expr.kind {
            ExprKind::Error => return self.value(expr),
            ExprKind::Call {
                function,
                arguments,
            } => named(arguments).map(|named| (canonical_name(&function.text), named)),
            _ => tool_call(expr),
        };
        let Some((tool, named)) = call else {
            return canonical(expr).into();
        };
        let mut object = Object::of(&CALL, self, Head::default());
        object.put("tool", tool);
        if !named.is_empty() {
            let arguments = self.members(&named);
            object.put("arguments", arguments);
        }
        object.done()
    }

    /// Returns the arguments if each has a name and no name is repeated.
    pub fn arguments(&mut self, arguments: &[Argument]) -> Option<Value> {
        let named = named(arguments);
        if let (None, Some(first), Some(last)) = (&named, arguments.first(), arguments.last()) {
            let message =
                "arguments that are repeated or have no name cannot be written in the JSON form";
            self.refuse(first.span.to(last.span), message);
        }
        named.map(|named| self.members(&named))
    }

    fn members(&mut self, named: &[(&Name, &Expr)]) -> Value {
        let mut object = Map::new();
        for (name, value) in named {
            object.insert(name.text.to_string(), self.value(value));
        }
        Value::Object(object)
    }

    /// Records a text that could not be parsed.
    pub fn unread(&mut self, span: Span) -> Value {
        self.refuse(
            span,
            "this text could not be parsed, so it has no JSON form",
        );
        Value::Null
    }

    /// Records the first error.
    fn refuse(&mut self, span: Span, message: &str) {
        let finding = || {
            Box::new(
                codes::JSON_SHAPE
                    .at(span, message)
                    .help("fix the syntax errors first"),
            )
        };
        self.refused.get_or_insert_with(finding);
    }
}

/// Where the literal null may be written as JSON's null. Elsewhere JSON's null counts as left out, so the literal is
/// written as an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    Bare,
    /// Only inside lists and objects.
    BareInside,
    /// Nowhere: settings that are null count as left out.
    NeverBare,
}

/// Returns the arguments if each has a name and no name is repeated.
fn named(arguments: &[Argument]) -> Option<Vec<(&Name, &Expr)>> {
    let mut named: Vec<(&Name, &Expr)> = Vec::new();
    for argument in arguments {
        let name = argument.name.as_ref()?;
        if named.iter().any(|(other, _)| other.text == name.text) {
            return None;
        }
        named.push((name, &argument.value));
    }
    Some(named)
}

/// Returns the tool and the arguments of an expression that has the form of a tool call.
pub(super) fn tool_call(expr: &Expr) -> Option<(String, Vec<(&Name, &Expr)>)> {
    let ExprKind::Path { base, links } = &expr.kind else {
        return None;
    };
    let (ExprKind::Name(namespace), [link]) = (&base.kind, links.as_slice()) else {
        return None;
    };
    match &link.kind {
        LinkKind::Call {
            name,
            safe: false,
            arguments,
        } => Some((dotted(namespace, &name.text), named(arguments)?)),
        LinkKind::Call { .. } | LinkKind::Field { .. } | LinkKind::Index { .. } => None,
    }
}

pub(super) fn dotted(namespace: &str, name: &str) -> String {
    format!("{}.{}", canonical_name(namespace), canonical_name(name))
}

fn text_value(text: &str) -> Value {
    serde_json::json!({ TEXT: text })
}

/// Returns a double as a JSON number that reads back as the same double; `None` if it is not finite.
fn number(value: f64) -> Option<Value> {
    serde_json::from_str(&format!("{value:?}")).ok()
}

/// Returns a template as a text; `None` if a backslash precedes an interpolation, which would make it plain text.
fn template(parts: &[TemplatePart]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Text(plain) => text.push_str(&plain.replace("${", "\\${")),
            TemplatePart::Expr(_) if text.ends_with('\\') => return None,
            TemplatePart::Expr(value) => {
                text.push_str("${");
                text.push_str(&canonical(value));
                text.push('}');
            }
        }
    }
    Some(text)
}

/// Returns true if the keys can be JSON keys: distinct names, and not only `text`, which would make the object a text.
fn plain_keys(entries: &[crate::syntax::ast::Entry]) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for entry in entries {
        let EntryKey::Name(name) = &entry.key else {
            return false;
        };
        if names.contains(&&*name.text) {
            return false;
        }
        names.push(&name.text);
    }
    names.as_slice() != [TEXT]
}
