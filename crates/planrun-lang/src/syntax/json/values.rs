//! Reads values, calls and tool names of the JSON form as syntax trees.

use std::sync::Arc;

use jsonc_parser::ast::{Object, Value};

use super::document::span;
use super::reader::{Fields, Reader, is_name, key_of, missing, name_span, nameless, opening};
use super::relocate::Relocate;
use super::shapes::CALL;
use super::strings::{Extract, content};
use crate::diag::codes::text as codes;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{
    Argument, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal, Name,
};
use crate::syntax::part::{self, Part};

/// Maximum nesting depth of lists and objects in a value; deeper ones are written as an expression.
pub(super) const MAX_VALUE_DEPTH: usize = 32;
/// Maximum length, in bytes, of a text that a help repeats.
const MAX_EXAMPLE: usize = 60;
/// The only key of an object that is a text.
pub(super) const TEXT: &str = "text";

impl Reader<'_> {
    /// Reads a call as the expression that it is in the language.
    pub fn call(&mut self, value: &Value<'_>) -> Expr {
        if matches!(value, Value::StringLit(_)) {
            return read_expression(self, value, false, 0);
        }
        let Some(call) = self.fields(value, &CALL) else {
            return missing(span(value));
        };
        let plan = read_plan_name(self, &call, "tool");
        let (namespace, name) = match &plan {
            Some(plan) => (plan.clone(), plan.clone()),
            None => self.tool(&call, "tool"),
        };
        let arguments: Vec<Argument> = call.read(self, "arguments");
        let end = arguments.last().map_or(name.span, |last| last.span);
        let whole = namespace.span.to(end);
        if let Some(function) = plan {
            let kind = ExprKind::Call {
                function,
                arguments,
            };
            return Expr::new(whole, kind);
        }
        let base = Box::new(Expr::new(namespace.span, ExprKind::Name(namespace.text)));
        let link = Link {
            span: Span::from(name.span.start..whole.end.max(name.span.end)),
            kind: LinkKind::Call {
                name,
                safe: false,
                arguments,
            },
        };
        let links = vec![link];
        Expr::new(whole, ExprKind::Path { base, links })
    }

    /// Reads the namespace and name of a tool; both are empty, after reporting it, if they are missing.
    pub fn tool(&mut self, fields: &Fields<'_>, key: &str) -> (Name, Name) {
        let tool = fields.get(key).and_then(|value| self.tool_name(value, key));
        tool.unwrap_or_else(|| (nameless(fields.span), nameless(fields.span)))
    }

    /// Reads the namespace and name of a tool. Returns `None`, after reporting it, if the value is not a tool's name.
    pub fn tool_name(&mut self, value: &Value<'_>, key: &str) -> Option<(Name, Name)> {
        let Value::StringLit(string) = value else {
            self.mistyped(value, &format!("`{key}`"), "a string such as \"mail.send\"");
            return None;
        };
        let extract = Extract::of(self.text, span(string));
        if let Some((namespace, name)) = halves(&extract.text) {
            let place =
                |range: std::ops::Range<usize>| extract.span(Span::new(range.start, range.end));
            let half = |range: std::ops::Range<usize>| {
                let text = extract
                    .text
                    .get(range.clone())
                    .unwrap_or("")
                    .trim_matches('`');
                Name::new(Arc::from(text), place(range))
            };
            return Some((half(namespace), half(name)));
        }
        let message = format!(
            "`{}` is not the name of a tool: its namespace or its name is missing",
            extract.text
        );
        let finding = codes::JSON_SHAPE.at(content(span(string)), message);
        self.report(
            finding
                .help("write the namespace and the name separated by a dot, such as `mail.send`"),
        );
        None
    }

    /// Reads named arguments. Returns `None`, after reporting it, if the value is not an object.
    pub fn arguments(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<Argument>> {
        let Value::Object(object) = value else {
            self.mistyped(
                value,
                &format!("`{key}`"),
                "an object of argument names and values",
            );
            return None;
        };
        let mut arguments = Vec::new();
        for (name, value) in named_members(self, object) {
            // An argument that is null counts as left out, as does every key of the form.
            if !matches!(value, Value::NullKeyword(_)) {
                let value = read_expression(self, value, false, 0);
                arguments.push(Argument {
                    span: name.span.to(value.span),
                    name: Some(name),
                    value,
                });
            }
        }
        Some(arguments)
    }
}

pub(super) fn read_expression(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    settings: bool,
    depth: usize,
) -> Expr {
    let place = span(value);
    if depth > MAX_VALUE_DEPTH {
        let message =
            format!("lists and objects in a value can be nested at most {MAX_VALUE_DEPTH} deep");
        let finding = codes::TOO_DEEP.at(opening(place), message);
        reader.report(finding.help("write the inner part as an expression in a string"));
        return missing(place);
    }
    match value {
        Value::StringLit(_) => {
            let extract = Extract::of(reader.text, place);
            let before = reader.diagnostics.len();
            let read = read_part(reader, &extract);
            explain_text(reader, place, before);
            read
        }
        Value::NumberLit(_) | Value::BooleanLit(_) => {
            let extract = Extract::verbatim(reader.text, place);
            read_part(reader, &extract)
        }
        Value::NullKeyword(_) => Expr::new(place, ExprKind::Literal(Literal::Null)),
        Value::Array(array) => {
            let elements = array
                .elements
                .iter()
                .map(|element| read_expression(reader, element, settings, depth + 1));
            Expr::new(place, ExprKind::List(elements.collect()))
        }
        Value::Object(object) => match text_of(object) {
            Some(string) => {
                let extract = Extract::literal(reader.text, span(string));
                let literal: Expr = read_part(reader, &extract);
                Expr::new(span(string), literal.kind)
            }
            None => read_object_literal(reader, object, settings, depth),
        },
    }
}

/// Replaces the remedy for a string that cannot be read since it holds a plain text, such as `"All done."`: a second
/// word, or a `$`, follows a word. `before` is the number of diagnostics before it was read.
fn explain_text(reader: &mut Reader<'_>, place: Span, before: usize) {
    let text = reader.text;
    let Some(found) = reader.diagnostics.get_mut(before) else {
        return;
    };
    let written = text.get(place.range()).unwrap_or("");
    let is_second =
        found.message.starts_with("expected the end") || found.message.starts_with("`$`");
    let words = text
        .get(content(place).start as usize..found.span.start as usize)
        .filter(|words| !words.is_empty() && is_second);
    let is_word = |c: char| c.is_alphanumeric() || c.is_whitespace();
    if words.is_some_and(|words| words.chars().all(is_word)) {
        let example = if written.len() <= MAX_EXAMPLE {
            written
        } else {
            "\"…\""
        };
        found.help = Some(format!("if this is a text, write {{\"text\": {example}}}"));
        found.fix = None;
    }
}

fn read_object_literal(
    reader: &mut Reader<'_>,
    object: &Object<'_>,
    settings: bool,
    depth: usize,
) -> Expr {
    let mut entries: Vec<Entry> = Vec::new();
    for (name, value) in named_members(reader, object) {
        if settings && matches!(value, Value::NullKeyword(_)) {
            continue;
        }
        let value_tree = read_expression(reader, value, settings, depth + 1);
        let whole = name.span.to(value_tree.span);
        entries.push(Entry {
            span: whole,
            key: EntryKey::Name(name),
            value: value_tree,
        });
    }
    Expr::new(span(object), ExprKind::Object(entries))
}

/// Returns the members of an object whose keys are names chosen by the author.
fn named_members<'v>(
    reader: &mut Reader<'_>,
    object: &'v Object<'v>,
) -> Vec<(Name, &'v Value<'v>)> {
    let mut members: Vec<(Name, &'v Value<'v>)> = Vec::new();
    for property in &object.properties {
        let (text, place) = (key_of(&property.name), content(name_span(&property.name)));
        if let Some((first, _)) = members.iter().find(|(name, _)| &*name.text == text) {
            let first = first.span;
            reader.repeated(text, place, first);
        } else if is_name(text) {
            members.push((Name::new(Arc::from(text), place), &property.value));
        } else {
            let message = format!("the key `{text}` is not a valid name");
            let finding = codes::JSON_SHAPE.at(place, message);
            reader.report(finding.help("write the object as an expression in a string"));
        }
    }
    members
}

/// Parses plan text and moves the spans of the tree and its diagnostics to the file.
pub(super) fn read_part<T: Part + Relocate>(reader: &mut Reader<'_>, extract: &Extract) -> T {
    let (mut tree, mut diagnostics): (T, _) =
        part::parse(&SourceFile::new("", extract.text.as_str()));
    tree.relocate(extract);
    diagnostics.relocate(extract);
    reader.diagnostics.extend(diagnostics);
    tree
}

/// Reads the name of a plan in the file; `None` if the value has a namespace.
fn read_plan_name(reader: &Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Name> {
    let Some(Value::StringLit(string)) = fields.get(key) else {
        return None;
    };
    let extract = Extract::of(reader.text, span(string));
    let quoted = extract
        .text
        .strip_prefix('`')
        .and_then(|name| name.strip_suffix('`'));
    let name = quoted.or_else(|| (!extract.text.contains('.')).then_some(&*extract.text))?;
    let place = || extract.span(Span::new(0, extract.text.len()));
    is_name(name).then(|| Name::new(Arc::from(name), place()))
}

/// Returns true if an expression begins with a text, as the language requires of messages for people.
pub(super) fn begins_with_text(expr: &Expr) -> bool {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Literal(Literal::String(_) | Literal::Bytes(_))
            | ExprKind::Template(_)
            | ExprKind::Error => {
                return true;
            }
            ExprKind::Path { base, .. } => base,
            ExprKind::Chain { first, .. } => first,
            ExprKind::Is { subject, .. } => subject,
            ExprKind::Coalesce(operands) => match operands.first() {
                Some(first) => first,
                None => return false,
            },
            ExprKind::Conditional { arms, .. } => match arms.first() {
                Some((condition, _)) => condition,
                None => return false,
            },
            ExprKind::Literal(_)
            | ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Match { .. }
            | ExprKind::Signal(_) => return false,
        };
    }
}

/// Returns the string of an object that is a text.
fn text_of<'v>(object: &'v Object<'v>) -> Option<&'v jsonc_parser::ast::StringLit<'v>> {
    match object.properties.as_slice() {
        [only] if key_of(&only.name) == TEXT => only.value.as_string_lit(),
        _ => None,
    }
}

/// Returns the ranges of namespace and name in `namespace.name`; either may be in back quotes.
fn halves(text: &str) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let dot = match text.strip_prefix('`') {
        Some(rest) => rest.find('`')? + 2,
        None => text.find('.')?,
    };
    let sound = |half: &str| {
        is_name(
            half.strip_prefix('`')
                .and_then(|half| half.strip_suffix('`'))
                .unwrap_or(half),
        )
    };
    let (namespace, name) = (text.get(..dot)?, text.get(dot..)?.strip_prefix('.')?);
    (sound(namespace) && sound(name)).then(|| (0..dot, dot + 1..text.len()))
}
