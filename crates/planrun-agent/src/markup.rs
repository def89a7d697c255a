//! Parses the markup of requests, rules and skills: references to files, tool calls, and macros, which are named
//! texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// Maximum number of macros.
const MAX_MACROS: usize = 100;
/// Maximum size of the value of a macro, in bytes.
const MAX_VALUE: usize = 1024;

/// Maximum size of a call between its brackets, in bytes; a longer one is plain text.
pub const MAX_CALL: usize = 16 * 1024;

/// Matches the start of a reference or call, and complete macro marks. Anything else is plain text.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
          @\[
        | @\{ define \s+ (?<key>[A-Za-z_][A-Za-z0-9_]*) \s* , (?<value> (?: [^{}\n] | \{ [^{}\n]* \} )* ) \}
        | <!-- \s* @def \s+ (?<def>[A-Za-z_][A-Za-z0-9_]*) \s* = (?<text> [^\n]*? ) \s* -->
        | @\{ (?<name>[A-Za-z_][A-Za-z0-9_]*) \}
        | <!-- \s* @echo \s+ (?<echo>[A-Za-z_][A-Za-z0-9_]*) \s* -->
        ",
    )
    .ok()
});

/// A marked part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// `@[path:1:2]`, with the text between the brackets.
    Reference(&'a str),
    /// `@[tool{"argument": 1}]`, with the text between the brackets.
    Call(&'a str),
    /// `@{define NAME, VALUE}` or `<!-- @def NAME=VALUE -->`.
    Definition { name: &'a str, value: &'a str },
    /// `@{NAME}` or `<!-- @echo NAME -->`.
    Use(&'a str),
}

/// Splits a text into its parts, in order and unchanged, each with its mark if it is one. A definition that is alone
/// on a line includes the line ending.
pub fn parts(text: &str) -> Vec<(&str, Option<Mark<'_>>)> {
    let mut parts = Vec::new();
    let mut done = 0;
    let between = |start, end| text.get(start..end).unwrap_or_default();
    let next = |from| MARKS.as_ref()?.captures_at(text, from);
    let mut from = 0;
    while let Some(found) = next(from) {
        let Some(whole) = found.get(0) else { break };
        let (start, mut end) = (whole.start(), whole.end());
        from = end;
        let mark = if whole.as_str() == "@[" {
            Mark::between_brackets(between(end, text.len()))
        } else {
            Mark::of(&found)
        };
        let Some(mark) = mark else { continue };
        if let Mark::Reference(inner) | Mark::Call(inner) = mark {
            end += inner.len() + 1;
        }
        let above = between(0, start);
        if matches!(mark, Mark::Definition { .. }) && (above.is_empty() || above.ends_with('\n')) {
            let below = between(end, text.len());
            let line_ends = ["\n", "\r\n"].into_iter();
            end += line_ends
                .filter(|line_end| below.starts_with(line_end))
                .map(str::len)
                .sum::<usize>();
        }
        parts.push((between(done, start), None));
        parts.push((between(start, end), Some(mark)));
        done = end;
        from = end;
    }
    parts.push((between(done, text.len()), None));
    parts
}

impl<'a> Mark<'a> {
    fn of(found: &Captures<'a>) -> Option<Self> {
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        if let Some(name) = group("name").or(group("echo")) {
            return Some(Self::Use(name));
        }
        let name = group("key").or(group("def"))?;
        let value = group("value").or(group("text"))?.trim();
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(value);
        Some(Self::Definition { name, value })
    }

    /// Parses the text after `@[`, up to the closing bracket. A call is a name followed by braces; a reference is on
    /// one line. Returns `None` if it is neither.
    fn between_brackets(text: &'a str) -> Option<Self> {
        if let Some(end) = call_end(text) {
            return text.get(..end).map(Self::Call);
        }
        let (inner, _) = text.lines().next()?.split_once(']')?;
        (!inner.trim().is_empty()).then_some(Self::Reference(inner))
    }
}

/// Returns the length of the call at the start of a text; `None` if there is no call followed by a closing bracket.
fn call_end(text: &str) -> Option<usize> {
    let is_of_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.');
    let name = text.find(|char| !is_of_name(char))?;
    if name == 0 || !text.get(name..)?.starts_with('{') {
        return None;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate().take(MAX_CALL).skip(name) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' if !in_text => depth += 1,
            b'}' if !in_text => {
                depth -= 1;
                if depth == 0 {
                    let end = place + 1;
                    return text.get(end..)?.starts_with(']').then_some(end);
                }
            }
            _ => {}
        }
    }
    None
}

/// Macros: names for texts, valid after their definition. The value of a macro is expanded once, when it is defined,
/// with the macros defined before it, so that no macro can refer to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Macros(BTreeMap<String, String>);

impl Macros {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a macro; `None` if it is not defined.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Defines a macro, or redefines it. Fails with a message if the macro cannot be defined; nothing is changed then.
    pub fn define(&mut self, name: &str, value: &str) -> Result<(), String> {
        let value = self.filled(value, MAX_VALUE);
        let why = match value {
            None => format!("its value has more than {MAX_VALUE} bytes"),
            Some(_) if self.0.len() == MAX_MACROS && !self.0.contains_key(name) => {
                format!("there are already {MAX_MACROS} macros")
            }
            Some(value) => {
                self.0.insert(name.to_owned(), value);
                return Ok(());
            }
        };
        Err(format!("the definition of {name} is ignored: {why}"))
    }

    /// Returns a text with the known macros replaced by their values, or `None` if the result would be longer than
    /// `max` bytes. All other marks are kept as text.
    pub fn filled(&self, text: &str, max: usize) -> Option<String> {
        let mut filled = String::new();
        for (written, mark) in parts(text) {
            let value = match mark {
                Some(Mark::Use(name)) => self.value(name),
                Some(Mark::Reference(_) | Mark::Call(_) | Mark::Definition { .. }) | None => None,
            };
            filled.push_str(value.unwrap_or(written));
            if filled.len() > max {
                return None;
            }
        }
        Some(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_25_both_forms_define_and_use_macros() {
        let mut macros = Macros::default();
        for (text, name, value) in [
            ("@{define DIR, notes}", "DIR", "notes"),
            ("@{define  DIR ,\"my notes\"}", "DIR", "my notes"),
            ("@{define _a1, 'it\"s' }", "_a1", "it\"s"),
            ("@{define EMPTY,}", "EMPTY", ""),
            ("@{define FILE, @{DIR}/a.md:1}", "FILE", "my notes/a.md:1"),
            ("@{define JSON, {1}}", "JSON", "{1}"),
            ("<!-- @def DIR=docs -->", "DIR", "docs"),
            ("<!--@def DIR = a = b-->", "DIR", "a = b"),
            ("<!-- @def FILE=<!-- -->", "FILE", "<!--"),
        ] {
            let parts = parts(text);
            let Some((
                _,
                Some(Mark::Definition {
                    name: found,
                    value: written,
                }),
            )) = parts.get(1)
            else {
                panic!("{text}: {parts:?}");
            };
            macros.define(found, written).unwrap();
            assert_eq!((*found, macros.value(name)), (name, Some(value)), "{text}");
        }
        let filled = macros.filled("@{DIR}, <!-- @echo DIR -->, @{none}", 100);
        assert_eq!(filled.unwrap(), "a = b, a = b, @{none}");
    }

    #[test]
    fn s4_25_a_name_and_braces_are_a_call_and_all_else_in_brackets_is_a_place() {
        for inner in [
            "desk.find{}",
            "desk_find{\"a\": \"]}\\\"{\", \"b\": [{}]}",
            "查询.票{\n  \"id\": @{ID}\n}",
            "a{b}",
        ] {
            let text = format!("x @[{inner}] y");
            let written = format!("@[{inner}]");
            let expected = [
                ("x ", None),
                (&*written, Some(Mark::Call(inner))),
                (" y", None),
            ];
            assert_eq!(parts(&text), expected);
        }
        let long = format!("a{{\"b\": \"{}\"}}", "c".repeat(MAX_CALL));
        for inner in [
            "{}",
            "src/{a,b}.rs",
            "a{}x",
            "a {}",
            "a{\"b",
            "a b{}",
            &long,
        ] {
            let text = format!("@[{inner}]");
            assert_eq!(parts(&text)[1].1, Some(Mark::Reference(inner)), "{text}");
        }
        let many = "@[a{\"".repeat(1_000);
        assert_eq!(parts(&many), [(&*many, None)]);
    }

    #[test]
    fn s4_25_what_is_no_mark_is_text() {
        for text in [
            "@{define A}",
            "@{define 1, b}",
            "@{define A, b",
            "@{define A, b\n}",
            "@{A.b}",
            "@{ }",
            "<!-- @def A -->",
            "<!-- @def A=b",
            "<!-- def A=b -->",
            "@[",
            "@[ ]",
            "@[x\ny]",
            "@[a.b{\"c\": 1}",
            "@[a.b{\"c\":\n1]",
        ] {
            let written: String = parts(text)
                .into_iter()
                .map(|(written, mark)| {
                    assert_eq!(mark, None, "{text}");
                    written
                })
                .collect();
            assert_eq!(written, text);
        }
    }

    #[test]
    fn s4_25_macros_are_bounded_and_never_lead_back_to_themselves() {
        let mut macros = Macros::default();
        macros.define("A", "@{A}@{B}").unwrap();
        macros.define("B", "@{A}").unwrap();
        assert_eq!(macros.filled("@{B}", 100).unwrap(), "@{A}@{B}");
        macros.define("X", "x").unwrap();
        let mut doubled = (0..20).map(|_| macros.define("X", "@{X}@{X}"));
        let refused = doubled.find_map(Result::err).unwrap();
        assert_eq!(
            refused,
            "the definition of X is ignored: its value has more than 1024 bytes"
        );
        assert_eq!(macros.value("X").unwrap().len(), MAX_VALUE);
        assert_eq!(macros.filled("@{X}", MAX_VALUE - 1), None);
        for number in 0..MAX_MACROS - 3 {
            macros.define(&format!("M{number}"), "").unwrap();
        }
        let refused = macros.define("ONE_MORE", "").unwrap_err();
        assert!(
            refused.ends_with("there are already 100 macros"),
            "{refused}"
        );
        macros.define("M0", "again").unwrap();
    }
}
