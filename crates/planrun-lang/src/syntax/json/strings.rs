//! Extracts plan text from JSON strings and maps its offsets back to the file.

use crate::characters::is_invisible;
use crate::source::Span;

/// A text extracted from a JSON string, with the position in the file of each part.
pub(super) struct Extract {
    pub text: String,
    /// Runs of the text as pairs of offsets: in the text and in the file. The last one is the end of the content.
    runs: Vec<(u32, u32)>,
}

impl Extract {
    /// Extracts the unescaped content of a JSON string; `span` includes its quotes.
    pub fn of(file: &str, span: Span) -> Self {
        let mut extract = Self {
            text: String::new(),
            runs: Vec::new(),
        };
        let content = content(span);
        for (character, at) in characters(file.get(content.range()).unwrap_or(""), content.start) {
            extract.push(character, at);
        }
        extract.end(content.end)
    }

    /// Extracts a text verbatim.
    pub fn verbatim(file: &str, span: Span) -> Self {
        let text = file.get(span.range()).unwrap_or("").to_owned();
        Self {
            text,
            runs: vec![(0, span.start)],
        }
        .end(span.end)
    }

    /// Converts the content of a `{"text": …}` to a text literal of the language: `${…}` stays code, everything else is
    /// escaped.
    pub fn literal(file: &str, span: Span) -> Self {
        let content = Self::of(file, span);
        let mut literal = Self {
            text: String::new(),
            runs: Vec::new(),
        };
        literal.push('"', literal_start(span));
        let mut rest = 0;
        while let Some(character) = content
            .text
            .get(rest..)
            .and_then(|text| text.chars().next())
        {
            let at = content.place(rest);
            let tail = content.text.get(rest..).unwrap_or("");
            if tail.starts_with("\\${") {
                literal.push_all("\\${", at);
                rest += 3;
            } else if tail.starts_with("${") {
                let end = rest + interpolation(tail);
                for (offset, character) in content.text.get(rest..end).unwrap_or("").char_indices()
                {
                    literal.push(character, content.place(rest + offset));
                }
                rest = end;
            } else {
                match character {
                    '"' | '\\' | '$' => literal.push_all(&format!("\\{character}"), at),
                    '\n' => literal.push_all("\\n", at),
                    '\r' => literal.push_all("\\r", at),
                    '\t' => literal.push_all("\\t", at),
                    control if control.is_control() => {
                        literal.push_all(&format!("\\U{:08x}", control as u32), at);
                    }
                    // An escape is visible in the file, so it may stand for an invisible character.
                    hidden
                        if is_invisible(hidden)
                            && file.as_bytes().get(at as usize) == Some(&b'\\') =>
                    {
                        literal.push_all(&format!("\\U{:08x}", hidden as u32), at);
                    }
                    plain => literal.push(plain, at),
                }
                rest += character.len_utf8();
            }
        }
        let end = content.place(content.text.len());
        literal.push('"', end);
        literal.end(end)
    }

    /// Maps an offset in the text to the file.
    pub fn place(&self, offset: usize) -> u32 {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let after = self.runs.partition_point(|(start, _)| *start <= offset);
        let Some((start, place)) = after.checked_sub(1).and_then(|index| self.runs.get(index))
        else {
            return 0;
        };
        let next = self.runs.get(after).map_or(*place, |(_, place)| *place);
        place.saturating_add(offset - start).min(next.max(*place))
    }

    /// Maps a span of the text to the file.
    pub fn span(&self, span: Span) -> Span {
        let start = self.place(span.start as usize);
        Span::from(start..self.place(span.end as usize).max(start))
    }

    fn push(&mut self, character: char, at: u32) {
        let offset = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let continues = self
            .runs
            .last()
            .is_some_and(|(start, place)| offset - start + place == at);
        if !continues {
            self.runs.push((offset, at));
        }
        self.text.push(character);
    }

    /// Appends characters that all represent the one at `at`.
    fn push_all(&mut self, characters: &str, at: u32) {
        for character in characters.chars() {
            let offset = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.runs.push((offset, at));
            self.text.push(character);
        }
    }

    fn end(mut self, place: u32) -> Self {
        let offset = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.runs.push((offset, place));
        self
    }
}

/// Returns the span between the quotes of a JSON string.
pub(super) fn content(span: Span) -> Span {
    let start = span.start.saturating_add(1).min(span.end);
    Span::from(start..span.end.saturating_sub(1).max(start))
}

fn literal_start(span: Span) -> u32 {
    content(span).start
}

/// Unescapes the content of a JSON string and yields each character with its offset.
fn characters(raw: &str, start: u32) -> impl Iterator<Item = (char, u32)> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let at = start.saturating_add(u32::try_from(raw.len() - rest.len()).unwrap_or(u32::MAX));
        let (character, length) = if first == '\\' {
            escape(rest)
        } else {
            (first, first.len_utf8())
        };
        rest = rest.get(length..).unwrap_or("");
        Some((character, at))
    })
}

/// Returns the character of an escape and the length of the escape in bytes. The JSON parser has validated its form.
fn escape(text: &str) -> (char, usize) {
    match text.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => unicode(text),
        Some(other) => (char::from(*other), 2),
        None => ('\\', 1),
    }
}

fn unicode(text: &str) -> (char, usize) {
    let unit = |from: usize| {
        let digits = text.get(from..from + 4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    let second = if text.get(6..8) == Some("\\u") {
        unit(8)
    } else {
        None
    };
    let pair = [Some(first), second].into_iter().flatten();
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, if character.len_utf16() == 2 { 12 } else { 6 }),
        Some(Err(_)) | None => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The context inside an interpolation.
enum Inside {
    /// Code, with the number of open braces.
    Code(usize),
    /// A text that may contain `${`, with its quotes.
    Text(&'static str),
}

/// Returns the length of the `${…}` at the beginning of the text; that of the whole text if it is not closed.
fn interpolation(text: &str) -> usize {
    let mut inside = vec![Inside::Code(0)];
    let mut at = 2;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        at += match inside.last_mut() {
            None => return at,
            Some(Inside::Text(quotes)) => {
                if rest.starts_with(*quotes) {
                    let length = quotes.len();
                    inside.pop();
                    length
                } else if rest.starts_with("${") {
                    inside.push(Inside::Code(0));
                    2
                } else {
                    passed(rest, false)
                }
            }
            Some(Inside::Code(braces)) => match rest.as_bytes().first() {
                Some(b'{') => {
                    *braces += 1;
                    1
                }
                Some(b'}') if *braces > 0 => {
                    *braces -= 1;
                    1
                }
                Some(b'}') => {
                    inside.pop();
                    1
                }
                Some(b'"') if !is_prefixed(text, at) => {
                    let quotes = if rest.starts_with("\"\"\"") {
                        "\"\"\""
                    } else {
                        "\""
                    };
                    inside.push(Inside::Text(quotes));
                    quotes.len()
                }
                Some(b'"' | b'\'') => verbatim(rest, is_raw(text, at)),
                _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                _ => passed(rest, true),
            },
        };
        if inside.is_empty() {
            return at;
        }
    }
    text.len()
}

/// Returns the length of the next character or, unless `plain`, escape.
fn passed(rest: &str, plain: bool) -> usize {
    let mut characters = rest.chars();
    let first = characters.next().map_or(1, char::len_utf8);
    if plain || !rest.starts_with('\\') {
        first
    } else {
        first + characters.next().map_or(0, char::len_utf8)
    }
}

/// Returns the length of a text without interpolations, from its opening quote.
fn verbatim(rest: &str, raw: bool) -> usize {
    let quotes = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quotes| rest.starts_with(quotes))
        .unwrap_or("'");
    let mut at = quotes.len();
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with(quotes) {
            return at + quotes.len();
        }
        at += passed(tail, raw);
    }
    rest.len()
}

fn is_prefixed(text: &str, quote: usize) -> bool {
    !prefix(text, quote).is_empty()
}

fn is_raw(text: &str, quote: usize) -> bool {
    prefix(text, quote).contains(['r', 'R'])
}

/// Returns the prefix letters before a quote that make a text raw or bytes.
fn prefix(text: &str, quote: usize) -> &str {
    let before = text.get(..quote).unwrap_or("");
    let word = before.rfind(|c: char| !unicode_ident::is_xid_continue(c));
    let start = word.map_or(0, |at| {
        at + before
            .get(at..)
            .and_then(|tail| tail.chars().next())
            .map_or(0, char::len_utf8)
    });
    let letters = before.get(start..).unwrap_or("");
    if letters.len() <= 2 && letters.chars().all(|c| matches!(c, 'r' | 'R' | 'b' | 'B')) {
        letters
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::{Extract, Span, interpolation};

    #[test]
    fn places_lead_back_into_the_file() {
        let file = r#"  "a\"b\u00e9\ud83d\ude00cd""#;
        let extract = Extract::of(file, Span::new(2, file.len()));
        assert_eq!(extract.text, "a\"bé😀cd");
        let place = |needle: &str| extract.place(extract.text.find(needle).unwrap()) as usize;
        assert_eq!(&file[place("b")..][..2], "b\\");
        assert_eq!(&file[place("é")..][..6], "\\u00e9");
        assert_eq!(&file[place("cd")..], "cd\"");
        assert_eq!(extract.place(extract.text.len()) as usize, file.len() - 1);
    }

    #[test]
    fn a_text_becomes_a_literal_in_which_only_interpolations_are_code() {
        let file = r#""say \"${f("}", x)}\" at C:\\temp\\${y} \\${z} $5""#;
        let extract = Extract::literal(&file.replace("\"}\"", "'}'"), Span::new(0, file.len()));
        assert_eq!(
            extract.text,
            r#""say \"${f('}', x)}\" at C:\\temp\${y} \${z} \$5""#
        );
    }

    #[test]
    fn an_interpolation_ends_where_its_brace_closes() {
        for (text, length) in [
            ("${a} }", 4),
            ("${ {b: {}} } }", 12),
            ("${'}'}", 6),
            (r#"${"}${"}"}"}x"#, 12),
            (r#"${r"\"}x"#, 7),
            (r#"${"\"}"}x"#, 8),
            ("${a", 3),
            ("${err\"}\"}", 9),
        ] {
            assert_eq!(interpolation(text), length, "{text}");
        }
    }
}
