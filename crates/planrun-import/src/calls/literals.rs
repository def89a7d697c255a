//! Parses values in Python syntax, with references such as `$1`.

use planrun_lang::source::Span;

use super::Value;
use crate::tree;

/// The deepest nesting of values.
const MAX_DEPTH: usize = 40;

/// An argument, with its name if it is a keyword argument.
pub type Given = (Option<String>, Value);

/// Parses the arguments of a call. `offset` is the position of the text in the document.
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    offset: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str, offset: usize) -> Self {
        Self {
            text,
            at: 0,
            offset,
            depth: 0,
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, sign: char) -> bool {
        self.skip();
        let is_there = self.rest().starts_with(sign);
        self.at += if is_there { sign.len_utf8() } else { 0 };
        is_there
    }

    fn word(&mut self) -> &'t str {
        self.skip();
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '-' | '+' | '$'))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// Parses the arguments up to the closing parenthesis. Returns them and the end of the call.
    pub fn arguments(mut self) -> Result<(Vec<Given>, usize), String> {
        let mut arguments = Vec::new();
        while !self.eat(')') {
            let before = self.at;
            let word = self.word();
            let is_name = tree::is_word(word) && self.eat('=');
            if !is_name {
                self.at = before;
            }
            let value = self.value()?;
            arguments.push((is_name.then(|| word.to_owned()), value));
            if !self.eat(',') && !self.rest().trim_start().starts_with(')') {
                return Err("expected `,` or `)`".into());
            }
        }
        Ok((arguments, self.offset + self.at))
    }

    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the arguments are nested too deeply".into());
        }
        self.skip();
        let start = self.at;
        let value = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            Some('[') => {
                self.at += 1;
                Value::List(self.list(']')?)
            }
            Some('(') => {
                self.at += 1;
                Value::List(self.list(')')?)
            }
            Some('{') => {
                self.at += 1;
                self.object()?
            }
            _ => {
                let word = self.word();
                let span = Span::new(self.offset + start, self.offset + self.at);
                match word {
                    "True" | "true" => Value::Plain(tree::boolean(true)),
                    "False" | "false" => Value::Plain(tree::boolean(false)),
                    "None" | "null" => Value::Plain(tree::null()),
                    "" => return Err("expected a value".into()),
                    _ => reference(word, span)
                        .or_else(|| tree::number(word).map(Value::Plain))
                        .ok_or_else(|| {
                            format!("`{}` is not a value", crate::draft::excerpt(word))
                        })?,
                }
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self, close: char) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        while !self.eat(close) {
            values.push(self.value()?);
            if !self.eat(',') && !self.rest().trim_start().starts_with(close) {
                return Err(format!("expected `,` or `{close}`"));
            }
        }
        Ok(values)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut fields = Vec::new();
        while !self.eat('}') {
            self.skip();
            let Some(quote @ ('"' | '\'')) = self.rest().chars().next() else {
                return Err("a key is not a string".into());
            };
            let key = self.plain(quote)?;
            if !self.eat(':') {
                return Err("expected `:`".into());
            }
            fields.push((key, self.value()?));
            if !self.eat(',') && !self.rest().trim_start().starts_with('}') {
                return Err("expected `,` or `}`".into());
            }
        }
        Ok(Value::Object(fields))
    }

    /// Parses a quoted text and resolves its escapes.
    fn plain(&mut self, quote: char) -> Result<String, String> {
        let mut plain = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\n' => break,
                _ if c == quote => {
                    self.at += at + 1;
                    return Ok(plain);
                }
                '\\' => match characters.next() {
                    Some((_, c)) => plain.extend(escaped(c, &mut characters)?),
                    None => break,
                },
                _ => plain.push(c),
            }
        }
        Err("unterminated string".into())
    }

    fn quoted(&mut self, quote: char) -> Result<Value, String> {
        let start = self.at;
        let plain = self.plain(quote)?;
        let span = Span::new(self.offset + start, self.offset + self.at);
        if let Some(read) = reference(&plain, span) {
            return Ok(read);
        }
        Ok(with_references(&plain, span))
    }
}

/// Returns the character for an escape; `None` for the end of a line, which is left out. Returns a message if the
/// escape has too few digits or is no character.
fn escaped(
    letter: char,
    characters: &mut impl Iterator<Item = (usize, char)>,
) -> Result<Option<char>, String> {
    let digits = match letter {
        'n' => return Ok(Some('\n')),
        't' => return Ok(Some('\t')),
        'r' => return Ok(Some('\r')),
        '\n' => return Ok(None),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Ok(Some(other)),
    };
    let code: String = characters.take(digits).map(|(_, c)| c).collect();
    let number = u32::from_str_radix(&code, 16).ok();
    let found = number.filter(|_| code.chars().count() == digits);
    let found = found.and_then(char::from_u32);
    let found = found.ok_or_else(|| format!("`\\{letter}{code}` is not a character"))?;
    Ok(Some(found))
}

/// Parses `$1` or `${1}` as the output of the first step; steps are numbered from 1.
fn reference(word: &str, span: Span) -> Option<Value> {
    let digits = word.strip_prefix('$')?;
    let digits = digits
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or(digits);
    Some(Value::Read {
        step: digits.parse().ok()?,
        path: Vec::new(),
        span,
        written: word.to_owned(),
    })
}

/// Parses a text with references such as `$1` in it.
fn with_references(text: &str, span: Span) -> Value {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('$') {
        let behind = rest.get(at + 1..).unwrap_or("");
        let braced = behind
            .strip_prefix('{')
            .and_then(|inner| Some((inner.find('}')?, inner)));
        let digits = behind.chars().take_while(char::is_ascii_digit).count();
        let (word, length) = match braced {
            Some((end, inner)) => (inner.get(..end).unwrap_or(""), end + 2),
            None => (behind.get(..digits).unwrap_or(""), digits),
        };
        let read = reference(&format!("${word}"), span);
        let plain = if read.is_some() { at } else { at + 1 };
        parts.push(Value::Plain(tree::text(rest.get(..plain).unwrap_or(""))));
        let skipped = if read.is_some() {
            at + 1 + length
        } else {
            at + 1
        };
        parts.extend(read);
        rest = rest.get(skipped..).unwrap_or("");
    }
    if parts.is_empty() {
        return Value::Plain(tree::text(text));
    }
    parts.push(Value::Plain(tree::text(rest)));
    Value::Text(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_their_characters() {
        let read = |text: &str| {
            let arguments = Reader::new(text, 0).arguments();
            arguments.map(|(arguments, _)| format!("{arguments:?}"))
        };
        assert_eq!(read(r#""\xe9\u00e9\U0001f600\r")"#), read("\"éé😀\r\")"));
        assert!(read(r#""\u00e")"#).is_err());
    }
}
