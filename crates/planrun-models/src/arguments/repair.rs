//! Repairs JSON as models write it, as far as its meaning can be determined.
//!
//! Makes one pass with a bounded number of steps and a bounded depth. The result is a guess: the caller validates it
//! against the schema of the tool before calling.

use serde_json::{Map, Value as Json};

/// Maximum nesting depth, that of `serde_json`.
const MAX_DEPTH: usize = 127;
/// Maximum length of a text that is repaired, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Number of steps allowed per byte: a text whose end has to be searched is read up to twice.
const STEPS_PER_BYTE: usize = 8;

/// The meaning of a damaged text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repaired {
    /// The values, in order.
    pub values: Vec<Json>,
    /// Whether a value may differ from what was meant or be missing: the text ends early, or the end of a string is
    /// uncertain.
    pub is_guess: bool,
}

/// Why a text cannot be read.
pub type Unreadable = &'static str;

/// Returns the values of a damaged text. Returns an error if its meaning cannot be determined, or the text is longer or
/// more deeply nested than the limits.
pub fn repair(text: &str) -> Result<Repaired, Unreadable> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return Err("they are too long to be repaired");
    }
    // The whole text may be escaped, as inside a JSON string.
    let opened = text.trim_start_matches(|next: char| next.is_whitespace() || "{[".contains(next));
    if opened.starts_with("\\\"")
        && let Ok(text) = serde_json::from_str::<String>(&format!("\"{text}\""))
    {
        return Reader::new(&text).read();
    }
    Reader::new(text).read()
}

/// A position in a text, with the number of steps left.
pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
    steps: usize,
    pub is_guess: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            steps: STEPS_PER_BYTE * text.len() + 1,
            is_guess: false,
        }
    }

    fn read(mut self) -> Result<Repaired, Unreadable> {
        let mut values = Vec::new();
        self.skip();
        while !self.peek().is_some_and(is_quote) || !values.is_empty() {
            self.skip_separators();
            match self.peek() {
                None => break,
                Some('{' | '[') => values.extend(self.value(0)?),
                Some('}' | ']' | ')' | ';') => self.step()?,
                Some(next) if !values.is_empty() && (is_quote(next) || self.is_behind_comma()) => {
                    return Err("they continue after the end of the object");
                }
                Some(_) => {
                    let prose = self.rest().find(['{', '[']).unwrap_or(self.rest().len());
                    if !values.is_empty() && prose < self.rest().len() {
                        return Err("there is text between two objects");
                    }
                    self.at += prose;
                }
            }
        }
        if values.is_empty() {
            values.extend(self.alone()?);
        }
        let is_guess = self.is_guess;
        Ok(Repaired { values, is_guess })
    }

    fn is_behind_comma(&self) -> bool {
        self.last_before(0, self.at)
            .is_some_and(|(_, last)| last == ',')
    }

    /// Reads a value that is not inside brackets.
    fn alone(&mut self) -> Result<Option<Json>, Unreadable> {
        self.at = 0;
        self.skip();
        let is_quoted = self.peek().is_some_and(is_quote);
        let value = self.value(0)?;
        self.skip_separators();
        match value {
            Some(Json::String(_)) if !is_quoted => Err("they contain no object"),
            _ if !self.rest().is_empty() => Err("they contain no object"),
            value => Ok(value),
        }
    }

    /// Reads the value at this position; `None` if the text ends before it means anything.
    fn value(&mut self, depth: usize) -> Result<Option<Json>, Unreadable> {
        if depth > MAX_DEPTH {
            return Err("they are nested too deeplyly");
        }
        match self.peek() {
            None => Ok(None),
            Some('{') => self.object(depth).map(Some),
            Some('[' | '(') => self.list(depth).map(Some),
            Some(next) if is_quote(next) => self.joined().map(|text| Some(text.into())),
            Some('\\') => Err("a backslash is outside of a string"),
            Some(_) if self.skip_function() => {
                let value = self.value(depth + 1)?;
                self.skip();
                if self.peek() == Some(')') {
                    self.step()?;
                }
                Ok(value)
            }
            Some(_) => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Unreadable> {
        self.step()?;
        let mut object = Map::new();
        loop {
            self.skip_separators();
            match self.peek() {
                Some('}') => {
                    self.step()?;
                    break;
                }
                // Braces are doubled by filled-in templates, or surround a code fence.
                Some('{') if object.is_empty() => {
                    let inner = self.value(depth + 1)?.unwrap_or_default();
                    self.skip_separators();
                    if self.peek() == Some('}') {
                        self.step()?;
                    }
                    return Ok(inner);
                }
                // The text ends, an outer bracket ends, or a value begins: the closing bracket of this object is
                // missing.
                None | Some('{' | '[' | ']' | ')') => {
                    self.is_guess = true;
                    break;
                }
                Some(_) => {}
            }
            let key = self.key()?;
            self.skip();
            if self.peek() == Some(':') {
                self.step()?;
                self.skip();
            }
            if let Some(',' | '}' | ']') = self.peek() {
                return Err("a field has no value");
            }
            let Some(value) = self.value(depth + 1)? else {
                self.is_guess = true;
                break;
            };
            self.is_guess |= object.insert(key, value).is_some();
        }
        Ok(object.into())
    }

    fn list(&mut self, depth: usize) -> Result<Json, Unreadable> {
        self.step()?;
        let mut elements = Vec::new();
        loop {
            self.skip_separators();
            match self.peek() {
                None | Some('}') => {
                    self.is_guess = true;
                    break;
                }
                Some(']' | ')') => {
                    self.step()?;
                    break;
                }
                Some(':') => return Err("a list has a field"),
                Some(_) => {}
            }
            elements.extend(self.value(depth + 1)?);
        }
        Ok(elements.into())
    }

    /// Reads the name of a field.
    fn key(&mut self) -> Result<String, Unreadable> {
        if self.peek().is_some_and(is_quote) {
            return self.joined();
        }
        let ends = |next| ",:{}[]()\\\n".contains(next) || is_quote(next);
        let key = self.take_until(ends).to_owned();
        if key.trim().is_empty() {
            return Err("a field has no name");
        }
        // The opening quote is missing.
        if self.peek().is_some_and(is_quote) && !key.ends_with(char::is_whitespace) {
            self.step()?;
        }
        Ok(key.trim().to_owned())
    }

    /// Skips the name of a function and its opening bracket, as in JavaScript callbacks and in the shells of
    /// databases. Returns true if there was one.
    fn skip_function(&mut self) -> bool {
        let is_name = |next: char| next.is_ascii_alphanumeric() || next == '_';
        let name = self.rest().find(|next| !is_name(next)).unwrap_or_default();
        let is_function = name > 0
            && self.rest().get(name..).unwrap_or_default().starts_with('(')
            && !self
                .rest()
                .starts_with(|first: char| first.is_ascii_digit());
        self.at += if is_function { name + 1 } else { 0 };
        is_function
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Advances by one character.
    pub fn step(&mut self) -> Result<(), Unreadable> {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            return Err("too much of them is damaged");
        }
        self.at += self.peek().map_or(0, char::len_utf8);
        Ok(())
    }

    pub fn take_until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let taken = self.rest().get(..length).unwrap_or_default();
        self.at += length;
        taken
    }

    /// Skips the separators of lists and objects, and ellipses for omitted entries.
    pub fn skip_separators(&mut self) {
        loop {
            self.skip();
            let rest = self.rest();
            self.at += match rest.chars().next() {
                Some(',') => 1,
                Some('…') => '…'.len_utf8(),
                Some('.') if rest.starts_with("...") => 3,
                _ => return,
            };
        }
    }

    /// Skips blanks, comments and code fences.
    pub fn skip(&mut self) {
        self.skip_blanks(is_blank);
    }

    /// Skips characters that `is_blank` accepts, comments and code fences.
    pub fn skip_blanks(&mut self, is_blank: impl Fn(char) -> bool) {
        let start = self.at;
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches(&is_blank).len();
            let rest = rest.get(blanks..).unwrap_or_default();
            let line = || rest.find('\n').unwrap_or(rest.len());
            let other = if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else if rest.starts_with("//") || rest.starts_with('#') {
                line()
            } else if let Some(behind) = rest.strip_prefix("```") {
                let word = behind.find(|next: char| !next.is_ascii_alphanumeric());
                3 + word.unwrap_or(behind.len())
            } else {
                0
            };
            self.at += blanks + other;
            if other == 0 {
                break;
            }
        }
        self.steps = self.steps.saturating_sub(self.at - start).max(1);
    }
}

pub(super) fn is_quote(next: char) -> bool {
    matches!(
        next,
        '"' | '\'' | '`' | '´' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}'
    )
}

/// Returns true for white space of any script, and for zero-width characters.
pub(super) fn is_blank(next: char) -> bool {
    next.is_whitespace()
        || matches!(
            next,
            '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
        )
}
