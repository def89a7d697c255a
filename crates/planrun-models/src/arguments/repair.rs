//! JSON as models write it, read as far as it can be told what was meant.
//!
//! One pass with a bounded number of steps and a bounded depth. What comes out is a guess: whoever calls with it holds it
//! against the schema of the tool first.

use serde_json::{Map, Value as Json};

/// The deepest nesting that is read, that of `serde_json`.
const MAX_DEPTH: usize = 127;
/// The longest text that is repaired, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// How many steps a character may take: texts whose end has to be searched are read up to twice.
const STEPS_PER_BYTE: usize = 8;

/// What a damaged text seems to mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repaired {
    /// The values that follow each other.
    pub values: Vec<Json>,
    /// Whether a value may be another than the one that was meant, or one be missing: the text stops before its end, or it is
    /// not sure where a string ends.
    pub is_guess: bool,
}

/// Why a text cannot be read, in words.
pub type Unreadable = &'static str;

/// The values of a damaged text.
///
/// # Errors
/// Nothing tells what was meant, or the text is longer or deeper than what is repaired.
pub fn repair(text: &str) -> Result<Repaired, Unreadable> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return Err("they are too long to be guessed at");
    }
    // All of it may stand in the form that it has within a string.
    let opened = text.trim_start_matches(|next: char| next.is_whitespace() || "{[".contains(next));
    if opened.starts_with("\\\"")
        && let Ok(text) = serde_json::from_str::<String>(&format!("\"{text}\""))
    {
        return Reader::new(&text).read();
    }
    Reader::new(text).read()
}

/// Where a text goes on, and how much work is left for it.
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
                    return Err("they go on after the end of the object");
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

    /// The value of a text without brackets.
    fn alone(&mut self) -> Result<Option<Json>, Unreadable> {
        self.at = 0;
        self.skip();
        let is_quoted = self.peek().is_some_and(is_quote);
        let value = self.value(0)?;
        self.skip_separators();
        match value {
            Some(Json::String(_)) if !is_quoted => Err("there is no object in them"),
            _ if !self.rest().is_empty() => Err("there is no object in them"),
            value => Ok(value),
        }
    }

    /// The value that begins here; nothing where it was cut before it says anything.
    fn value(&mut self, depth: usize) -> Result<Option<Json>, Unreadable> {
        if depth > MAX_DEPTH {
            return Err("they are nested too deep");
        }
        match self.peek() {
            None => Ok(None),
            Some('{') => self.object(depth).map(Some),
            Some('[' | '(') => self.list(depth).map(Some),
            Some(next) if is_quote(next) => self.joined().map(|text| Some(text.into())),
            Some('\\') => Err("a backslash stands outside of a string"),
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
                // Braces are doubled where a template was filled in, or stand around a fence.
                Some('{') if object.is_empty() => {
                    let inner = self.value(depth + 1)?.unwrap_or_default();
                    self.skip_separators();
                    if self.peek() == Some('}') {
                        self.step()?;
                    }
                    return Ok(inner);
                }
                // The text ends, an outer bracket ends, or a value begins: its own bracket is missing.
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

    /// The name of a field.
    fn key(&mut self) -> Result<String, Unreadable> {
        if self.peek().is_some_and(is_quote) {
            return self.joined();
        }
        let ends = |next| ",:{}[]()\\\n".contains(next) || is_quote(next);
        let key = self.take_until(ends).to_owned();
        if key.trim().is_empty() {
            return Err("a field has no name");
        }
        // The quote before it is missing.
        if self.peek().is_some_and(is_quote) && !key.ends_with(char::is_whitespace) {
            self.step()?;
        }
        Ok(key.trim().to_owned())
    }

    /// The name of a function with its bracket, as around answers in JavaScript and in front of values in the shells of
    /// databases.
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

    /// One character further.
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

    /// Past what separates the entries of lists and objects, and what stands for those that were left out.
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

    /// Past blanks, comments and fences.
    pub fn skip(&mut self) {
        self.skip_blanks(is_blank);
    }

    /// Past what is blank by this measure, comments and fences.
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

/// White space of any script, and characters without a width.
pub(super) fn is_blank(next: char) -> bool {
    next.is_whitespace()
        || matches!(
            next,
            '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
        )
}
