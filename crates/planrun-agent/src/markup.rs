//! What requests, rules and skills contain beside words: references to files, and macros, which are names for texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// So many macros are defined at most.
const MAX_MACROS: usize = 100;
/// Bytes of what one of them stands for.
const MAX_VALUE: usize = 1024;

/// All marks. Whatever looks different is text.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
          @\[ (?<reference> [^\]\n]* [^\]\s] [^\]\n]* ) \]
        | @\{ define \s+ (?<key>[A-Za-z_][A-Za-z0-9_]*) \s* , (?<value> (?: [^{}\n] | \{ [^{}\n]* \} )* ) \}
        | <!-- \s* @def \s+ (?<def>[A-Za-z_][A-Za-z0-9_]*) \s* = (?<text> [^\n]*? ) \s* -->
        | @\{ (?<name>[A-Za-z_][A-Za-z0-9_]*) \}
        | <!-- \s* @echo \s+ (?<echo>[A-Za-z_][A-Za-z0-9_]*) \s* -->
        ",
    )
    .ok()
});

/// What a part of a text is that is not just text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// `@[…]`: what stands between the brackets.
    Reference(&'a str),
    /// `@{define NAME, VALUE}` or `<!-- @def NAME=VALUE -->`.
    Definition { name: &'a str, value: &'a str },
    /// `@{NAME}` or `<!-- @echo NAME -->`.
    Use(&'a str),
}

/// The parts of a text in their order, as they are written, with the marks among them. The end of a line belongs to a definition
/// that stands alone in it.
#[must_use]
pub fn parts(text: &str) -> Vec<(&str, Option<Mark<'_>>)> {
    let mut parts = Vec::new();
    let mut done = 0;
    let between = |start, end| text.get(start..end).unwrap_or_default();
    for found in MARKS.iter().flat_map(|marks| marks.captures_iter(text)) {
        let (Some(whole), Some(mark)) = (found.get(0), Mark::of(&found)) else {
            continue;
        };
        let (start, mut end) = (whole.start(), whole.end());
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
    }
    parts.push((between(done, text.len()), None));
    parts
}

impl<'a> Mark<'a> {
    fn of(found: &Captures<'a>) -> Option<Self> {
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        if let Some(written) = group("reference") {
            return Some(Self::Reference(written));
        }
        if let Some(name) = group("name").or(group("echo")) {
            return Some(Self::Use(name));
        }
        let name = group("key").or(group("def"))?;
        let value = group("value").or(group("text"))?.trim();
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(value);
        Some(Self::Definition { name, value })
    }
}

/// Names that stand for texts from where they are defined on. A value is filled in once, where it is defined, with the macros
/// above it, so that no macro can lead back to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Macros(BTreeMap<String, String>);

impl Macros {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a name stands for.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Defines a name, also one that stood for something else until here.
    ///
    /// # Errors
    /// Why not, in words; nothing has changed then.
    pub fn define(&mut self, name: &str, value: &str) -> Result<(), String> {
        let value = self.filled(value, MAX_VALUE);
        let why = match value {
            None => format!("its value has more than {MAX_VALUE} bytes"),
            Some(_) if self.0.len() == MAX_MACROS && !self.0.contains_key(name) => {
                format!("there are {MAX_MACROS} macros already")
            }
            Some(value) => {
                self.0.insert(name.to_owned(), value);
                return Ok(());
            }
        };
        Err(format!("the definition of {name} does not count: {why}"))
    }

    /// A text with values in the places of known names, where it has no more than so many bytes then. All else in it is text.
    #[must_use]
    pub fn filled(&self, text: &str, most: usize) -> Option<String> {
        let mut filled = String::new();
        for (written, mark) in parts(text) {
            let value = match mark {
                Some(Mark::Use(name)) => self.value(name),
                Some(Mark::Reference(_) | Mark::Definition { .. }) | None => None,
            };
            filled.push_str(value.unwrap_or(written));
            if filled.len() > most {
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
            "the definition of X does not count: its value has more than 1024 bytes"
        );
        assert_eq!(macros.value("X").unwrap().len(), MAX_VALUE);
        assert_eq!(macros.filled("@{X}", MAX_VALUE - 1), None);
        for number in 0..MAX_MACROS - 3 {
            macros.define(&format!("M{number}"), "").unwrap();
        }
        let refused = macros.define("ONE_MORE", "").unwrap_err();
        assert!(
            refused.ends_with("there are 100 macros already"),
            "{refused}"
        );
        macros.define("M0", "again").unwrap();
    }
}
