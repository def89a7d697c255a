//! Tokens of expressions.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `$name`, without the dollar sign.
    Variable(String),
    Name(String),
    Text(String),
    /// A text with expressions in it.
    Template(Vec<Piece>),
    Number(String),
    Sign(&'static str),
}

/// A part of a text with expressions in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// The code between `\(` and `)`.
    Code(String),
}

/// The syntax of texts, which differs between the languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    Plain,
    /// Texts may contain `\(…)`.
    Templates,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "${name}"),
            Self::Name(text) | Self::Text(text) | Self::Number(text) => f.write_str(text),
            Self::Template(_) => f.write_str("a string with expressions in it"),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// Longer operators come before their prefixes.
const SIGNS: [&str; 30] = [
    "!=", "<=", ">=", "==", "~>", ":=", "//", ";", "..", "**", "=", "<", ">", "+", "-", "*", "/",
    "%", "&", "|", "(", ")", "[", "]", "{", "}", ".", ",", "?", ":",
];

/// Returns a message if a character cannot start a token, or if a text is not closed.
pub fn tokens(text: &str, texts: Texts) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let mut characters = rest.chars().peekable();
        let token = match c {
            '"' | '\'' => quoted(&mut characters, texts)?,
            '`' => {
                characters.next();
                let name: String = characters.by_ref().take_while(|c| *c != '`').collect();
                Token::Name(name)
            }
            '$' => {
                characters.next();
                Token::Variable(word(&mut characters))
            }
            '0'..='9' => Token::Number(number(&mut characters)),
            c if c.is_alphabetic() || c == '_' => Token::Name(word(&mut characters)),
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| format!("`{c}` has no counterpart"))?;
                characters = rest.get(sign.len()..).unwrap_or("").chars().peekable();
                Token::Sign(sign)
            }
        };
        tokens.push(token);
        let left: usize = characters.map(char::len_utf8).sum();
        rest = rest.get(rest.len() - left..).unwrap_or("").trim_start();
    }
    Ok(tokens)
}

fn word(characters: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    while let Some(c) = characters.next_if(|c| c.is_alphanumeric() || *c == '_') {
        word.push(c);
    }
    word
}

fn number(characters: &mut Peekable<Chars<'_>>) -> String {
    let mut number = String::new();
    while let Some(c) = characters.next_if(|c| c.is_ascii_digit() || *c == '.') {
        number.push(c);
    }
    number
}

fn quoted(characters: &mut Peekable<Chars<'_>>, texts: Texts) -> Result<Token, String> {
    let quote = characters.next();
    let mut pieces = Vec::new();
    let mut text = String::new();
    while let Some(c) = characters.next() {
        match c {
            _ if Some(c) == quote => {
                if pieces.is_empty() {
                    return Ok(Token::Text(text));
                }
                pieces.push(Piece::Text(text));
                return Ok(Token::Template(pieces));
            }
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some('u') => text.push(escaped(characters)?),
                Some('(') if texts == Texts::Templates => {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Code(code(characters)?));
                }
                Some(other) => text.push(other),
                None => break,
            },
            _ => text.push(c),
        }
    }
    Err("unterminated string".into())
}

/// Reads the rest of an escape such as `\u00e9`, which is two escapes for a character beyond four digits.
fn escaped(characters: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let mut units = Vec::new();
    units.extend(unit(characters));
    if units.iter().any(|unit| (0xd800..0xdc00).contains(unit)) {
        let is_escape = [characters.next(), characters.next()] == [Some('\\'), Some('u')];
        units.extend(unit(characters).filter(|_| is_escape));
    }
    let mut decoded = char::decode_utf16(units);
    match (decoded.next(), decoded.next()) {
        (Some(Ok(c)), None) => Ok(c),
        _ => Err("a string contains an invalid escape".into()),
    }
}

/// Reads four hexadecimal digits.
fn unit(characters: &mut Peekable<Chars<'_>>) -> Option<u16> {
    let digits: String = characters.by_ref().take(4).collect();
    let number = u16::from_str_radix(&digits, 16).ok();
    number.filter(|_| digits.len() == 4)
}

/// Reads the code up to its closing parenthesis; texts inside may contain parentheses.
fn code(characters: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut code = String::new();
    // The open delimiters: parentheses and quotes.
    let mut open = vec!['('];
    while let Some(c) = characters.next() {
        match (c, open.last()) {
            ('\\', Some('"')) => {
                code.push(c);
                let Some(next) = characters.next() else { break };
                if next == '(' {
                    open.push('(');
                }
                code.push(next);
                continue;
            }
            ('"', Some('"')) | (')', Some('(')) => {
                open.pop();
                if open.is_empty() {
                    return Ok(code);
                }
            }
            ('"' | '(', Some('(')) => open.push(c),
            _ => {}
        }
        code.push(c);
    }
    Err("unclosed expression in a string".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_their_characters() {
        let read = |text: &str| tokens(text, Texts::Templates);
        let text = |text: &str| Ok(vec![Token::Text(text.to_owned())]);
        assert_eq!(read(r#""caf\u00e9 \ud83d\ude00\n""#), text("café 😀\n"));
        for wrong in [
            r#""\u00e""#,
            r#""\ud83d""#,
            r#""\ud83d\u0041""#,
            r#""\uxyzw""#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
