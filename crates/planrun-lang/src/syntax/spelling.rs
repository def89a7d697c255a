//! Writes names and literals in canonical spelling.

use std::fmt::Write as _;

use super::ast::Literal;
use super::lower::{is_reserved, spelled_duration};
use crate::characters::{is_invisible, is_plain_word};
use crate::value::Value;

/// Writes a literal.
pub fn write_literal(out: &mut String, literal: &Literal) {
    let _ = match literal {
        Literal::Null => write!(out, "null"),
        Literal::Bool(value) => write!(out, "{value}"),
        Literal::Int(value) => write!(out, "{value}"),
        Literal::Uint(value) => write!(out, "{value}u"),
        Literal::Double(value) => write!(out, "{value:?}"),
        Literal::Duration(nanoseconds) => write!(out, "{}", spelled_duration(*nanoseconds)),
        Literal::String(text) => {
            write_text(out, text);
            Ok(())
        }
        Literal::Bytes(bytes) => {
            out.push_str("b\"");
            bytes.iter().for_each(|byte| {
                let _ = write!(out, "\\x{byte:02x}");
            });
            write!(out, "\"")
        }
    };
}

/// Writes a text in quotes.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    write_escaped(out, text);
    out.push('"');
}

/// Writes a part of a text, escaped, without the quotes.
pub fn write_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' => out.push_str("\\$"),
            // Plans may contain characters that nobody can see only as escapes.
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
            c => out.push(c),
        }
    }
}

/// Writes the name of a variable, where reserved words need back quotes.
pub fn write_variable(out: &mut String, name: &str) {
    if is_reserved(name) || matches!(name, "match" | "signal") {
        let _ = write!(out, "`{name}`");
    } else {
        write_word(out, name);
    }
}

/// Writes a field, argument or state, where any word can be written without back quotes.
pub fn write_word(out: &mut String, name: &str) {
    if is_plain_word(name) {
        out.push_str(name);
    } else {
        let _ = write!(out, "`{name}`");
    }
}

/// Returns a value as an expression of the language.
#[must_use]
pub fn value_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::List(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_value(out, element);
            }
            out.push(']');
        }
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::Map(map) => {
            out.push_str("{ ");
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_key(out, &key.to_string());
                out.push_str(": ");
                write_value(out, value);
            }
            out.push_str(" }");
        }
        Value::String(text) => write_text(out, text),
        Value::Bytes(bytes) => write_literal(out, &Literal::Bytes(bytes.as_ref().into())),
        Value::Timestamp(_) => {
            let _ = write!(out, "timestamp({})", value.to_json_text());
        }
        Value::Duration(_) => {
            let _ = write!(out, "duration({})", value.to_json_text());
        }
        other => out.push_str(&other.to_json_text()),
    }
}

/// Writes a key as a name if it is one, otherwise as a text.
fn write_key(out: &mut String, key: &str) {
    if is_plain_word(key) && !matches!(key, "true" | "false" | "null") {
        out.push_str(key);
    } else {
        write_text(out, key);
    }
}
