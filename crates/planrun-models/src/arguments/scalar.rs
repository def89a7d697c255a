//! Reads strings with missing or extra quotes, unquoted words, and numbers in the syntax of other languages.

use serde_json::{Number, Value as Json};

use super::repair::{Reader, Unreadable, is_blank, is_quote};

/// The place where a string ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// At a quote that is not followed by more text of the string.
    Quote,
    /// The quote is missing: the string ends before the next entry or the end of a bracket.
    Delimiter,
    /// The quote is missing: the string ends at the comma at this offset, before the next string.
    Comma(usize),
}

/// The role of a quote inside a string.
enum Quote {
    Ends,
    Inner,
    /// It belongs to another string, so this string has to end earlier.
    Earlier(End),
}

impl Reader<'_> {
    /// Reads a string, or several strings joined by `+`.
    pub(super) fn joined(&mut self) -> Result<String, Unreadable> {
        let mut text = self.string()?;
        loop {
            let end = self.at;
            self.skip();
            if self.peek() != Some('+') {
                self.at = end;
                return Ok(text);
            }
            self.step()?;
            self.skip();
            if self.peek().is_some_and(is_quote) {
                text.push_str(&self.string()?);
            }
        }
    }

    fn string(&mut self) -> Result<String, Unreadable> {
        let open = self.peek().unwrap_or_default();
        self.step()?;
        let start = self.at;
        let mut end = End::Quote;
        loop {
            self.at = start;
            match self.string_to(open, start, end)? {
                Ok(text) => return Ok(text),
                Err(earlier) => end = earlier,
            }
        }
    }

    /// Reads a string with this end; the inner error is the earlier end to try instead.
    fn string_to(
        &mut self,
        open: char,
        start: usize,
        end: End,
    ) -> Result<Result<String, End>, Unreadable> {
        let mut text = String::new();
        loop {
            let here = self.at;
            let Some(next) = self.peek() else {
                self.is_guess = true;
                let last = self.last_before(start, here).map(|(_, last)| last);
                let is_swallowed = end == End::Quote && last.is_some_and(is_delimiter);
                return Ok(if is_swallowed {
                    Err(End::Delimiter)
                } else {
                    Ok(text)
                });
            };
            let is_missing = match end {
                End::Quote => false,
                End::Delimiter => ",[]{}\n".contains(next),
                End::Comma(place) => place == here,
            };
            if is_missing {
                self.is_guess = true;
                return Ok(Ok(text.trim_end().to_owned()));
            }
            self.step()?;
            if closes(open, next) {
                let after = self.at;
                match self.quote(start, here, end) {
                    Quote::Ends => {
                        self.at = after;
                        return Ok(Ok(text));
                    }
                    Quote::Inner => {
                        self.is_guess = true;
                        text.push(next);
                    }
                    Quote::Earlier(end) => return Ok(Err(end)),
                }
                self.at = after;
            } else if next == '\\' {
                self.escape(&mut text)?;
            } else {
                text.push(next);
            }
        }
    }

    /// Returns the role of the quote at `here` in the string that starts at `start`.
    fn quote(&mut self, start: usize, here: usize, end: End) -> Quote {
        self.skip_blanks(|next| next != '\n' && is_blank(next));
        let ends = |next: char| is_delimiter(next) || is_quote(next) || next.is_ascii_digit();
        if end == End::Delimiter || self.peek().is_none_or(ends) {
            return Quote::Ends;
        }
        match self.last_before(start, here) {
            Some((place, ',')) if end == End::Quote => Quote::Earlier(End::Comma(place)),
            Some((_, last)) if end == End::Quote && is_delimiter(last) => {
                Quote::Earlier(End::Delimiter)
            }
            Some(_) | None => Quote::Inner,
        }
    }

    /// Returns the last non-blank character between two offsets, with its offset.
    pub(super) fn last_before(&self, start: usize, end: usize) -> Option<(usize, char)> {
        let text = self.text.get(start..end)?.trim_end_matches(is_blank);
        let last = text.chars().next_back()?;
        Some((start + text.len() - last.len_utf8(), last))
    }

    /// Reads the character after a backslash. A backslash that escapes nothing is literal, as in paths and patterns.
    fn escape(&mut self, text: &mut String) -> Result<(), Unreadable> {
        let Some(next) = self.peek() else {
            return Ok(());
        };
        if next == 'u' {
            self.unicode(text);
            return Ok(());
        }
        self.step()?;
        match next {
            '"' | '\\' | '/' | '\'' | '`' | '\n' => text.push(next),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            _ => {
                // Other backslashes of the string that seem to be escapes may be literal, too.
                self.is_guess = true;
                text.extend(['\\', next]);
            }
        }
        Ok(())
    }

    /// Reads a `\u` escape, or a surrogate pair of two. A truncated one is dropped, and an invalid one stays as it is.
    fn unicode(&mut self, text: &mut String) {
        let unit = |from: usize| {
            let digits = self.rest().get(from..from + 4)?;
            let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u16::from_str_radix(digits, 16).ok().filter(|_| are_digits)
        };
        let Some(first) = unit(1) else {
            let digits = self.rest().get(1..).unwrap_or_default();
            if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                self.at = self.text.len();
            } else {
                text.push('\\');
            }
            return;
        };
        let is_pair = self.rest().get(5..7) == Some("\\u");
        let units = [Some(first), if is_pair { unit(7) } else { None }];
        let mut found = char::decode_utf16(units.into_iter().flatten());
        let found = found.next().and_then(Result::ok);
        let found = found.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.at += if found.len_utf16() == 2 { 11 } else { 5 };
        text.push(found);
    }

    /// Reads a constant, a number, or an unquoted string; `None` if the text ends before it means anything.
    pub(super) fn word(&mut self) -> Result<Option<Json>, Unreadable> {
        let start = self.at;
        let ends = |next: char| ",[]{}():;".contains(next) || is_blank(next) || is_quote(next);
        let word = self.take_until(|next| ends(next) || next == '/');
        let is_last = self.rest().is_empty();
        if let Some((value, is_cut)) = constant(word, is_last) {
            let after = self.at;
            self.skip_blanks(|next| next != '\n' && is_blank(next));
            if self.peek().is_none_or(|next| next == '\n' || ends(next)) {
                self.is_guess |= is_cut;
                self.at = after;
                return Ok(Some(value));
            }
        }
        let is_whole = self.peek().is_none_or(|next| next != ':' && ends(next))
            || ["//", "/*"]
                .iter()
                .any(|comment| self.rest().starts_with(comment));
        if let Some(number) = number(word).filter(|_| is_whole) {
            self.is_guess |= is_last;
            return Ok(Some(Json::Number(number)));
        }
        match word.trim_start_matches(['+', '-']) {
            "NaN" | "Infinity" => return Err("JSON has no such number"),
            "" if is_last => {
                self.is_guess = true;
                return Ok(None);
            }
            _ => {}
        }
        self.at = start;
        self.unquoted()
    }

    /// Reads an unquoted string, up to the end of its line or the next entry.
    fn unquoted(&mut self) -> Result<Option<Json>, Unreadable> {
        let start = self.at;
        loop {
            let rest = self.rest();
            let before = self.text.get(start..self.at).unwrap_or_default();
            let is_comment =
                rest.starts_with("/*") || rest.starts_with("//") && !before.ends_with(':');
            match self.peek() {
                Some(next) if !is_comment && !",[]{}\n".contains(next) && !is_quote(next) => {
                    self.step()?;
                }
                Some(_) | None => break,
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if text.trim().is_empty() {
            return Err("a value is missing");
        }
        self.is_guess |= self.rest().is_empty();
        // The opening quote is missing.
        if self.peek() == Some('"') && !text.ends_with(char::is_whitespace) {
            self.step()?;
        }
        Ok(Some(text.trim().into()))
    }
}

/// Returns the value of a constant of JSON, Python or JavaScript, and whether it is truncated, which only the last
/// word of a text may be.
fn constant(word: &str, is_last: bool) -> Option<(Json, bool)> {
    let known = [
        ("true", Json::Bool(true)),
        ("false", Json::Bool(false)),
        ("null", Json::Null),
        ("none", Json::Null),
        ("undefined", Json::Null),
    ];
    let lower = word.to_ascii_lowercase();
    let mut known = known.into_iter();
    let (whole, value) = known.find(|(whole, _)| {
        *whole == lower || is_last && !lower.is_empty() && whole.starts_with(&lower)
    })?;
    Some((value, whole != lower))
}

/// Parses a number. Digits may be missing before or after the decimal point or in the exponent; `_` between digits, a
/// plus sign, and hexadecimal are accepted.
fn number(word: &str) -> Option<Number> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    if let Some(digits) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        let value = u64::from_str_radix(digits, 16).ok()?;
        return format!("{sign}{value}").parse().ok();
    }
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let plain = digits.replace('_', "");
    let plain = plain.trim_end_matches(['+', '-']);
    let plain = plain.strip_suffix(['e', 'E']).unwrap_or(plain);
    let plain = plain.strip_suffix('.').unwrap_or(plain);
    let zero = if plain.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{plain}").parse().ok()
}

/// Returns true if this kind of quote ends a string that began with the other.
fn closes(open: char, quote: char) -> bool {
    match open {
        '"' | '\'' => quote == open,
        '\u{201c}' | '\u{201d}' => matches!(quote, '"' | '\u{201c}' | '\u{201d}'),
        _ => matches!(quote, '\'' | '`' | '´' | '\u{2018}' | '\u{2019}'),
    }
}

/// Returns true for characters that can separate a string from what follows it.
fn is_delimiter(next: char) -> bool {
    ",:[]{}()\n+;".contains(next)
}
