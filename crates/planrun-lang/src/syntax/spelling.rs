//! Writes names and literals in canonical spelling.

use std::fmt::Write as _;

use super::ast::Literal;
use super::lower::{is_reserved, spelled_duration};
use crate::characters::{is_invisible, is_plain_word};

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
