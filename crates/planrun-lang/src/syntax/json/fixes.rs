//! Adapts the edits of diagnostics, which contain plan text, to the strings of a file in JSON form.

use jsonc_parser::ast::Value;

use super::document::{self, span};
use super::is_json;
use super::reader::name_span;
use super::strings::content;
use crate::diag::{Diagnostic, Edit};
use crate::source::{SourceFile, Span};

/// Escapes the text that edits insert into JSON strings, and drops fixes that edit anything else, which apply only to
/// the text form. The diagnostics of text files are left as they are.
pub fn fit_fixes(source: &SourceFile, diagnostics: &mut [Diagnostic]) {
    if !is_json(source) || diagnostics.iter().all(|found| found.fix.is_none()) {
        return;
    }
    let mut strings = Vec::new();
    if let Ok(value) = document::value(source.text()) {
        collect(&value, &mut strings);
    }
    strings.sort_unstable();
    for found in diagnostics {
        found.fix = found
            .fix
            .take()
            .filter(|fix| fix.edits.iter().all(|edit| inside(&strings, edit)));
        for edit in found.fix.iter_mut().flat_map(|fix| fix.edits.iter_mut()) {
            edit.text = escaped(&edit.text);
        }
    }
}

/// Collects the spans of the contents of all strings, keys included.
fn collect(value: &Value<'_>, strings: &mut Vec<Span>) {
    match value {
        Value::StringLit(string) => strings.push(content(span(string))),
        Value::Array(array) => array
            .elements
            .iter()
            .for_each(|element| collect(element, strings)),
        Value::Object(object) => {
            for property in &object.properties {
                strings.push(content(name_span(&property.name)));
                collect(&property.value, strings);
            }
        }
        Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {}
    }
}

fn inside(strings: &[Span], edit: &Edit) -> bool {
    let after = strings.partition_point(|string| string.start <= edit.span.start);
    let string = after.checked_sub(1).and_then(|index| strings.get(index));
    string.is_some_and(|string| edit.span.end <= string.end)
}

/// Escapes a text as the content of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or("")
        .to_owned()
}
